//! The report's files, of which nobody ever sees a half.

use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};
use std::process;

use super::hlog::hlog;
use super::html::html;
use super::json::run_json;
use super::model::RunReport;

const HTML: &str = "report.html";

/// Writes `report.html`, `stages.hlog` and `run.json` into `dir` and returns the absolute path of
/// `report.html`.
///
/// A new directory appears at once with everything in it; in one that exists each file is replaced
/// at once. On failure nothing is left behind but parents of `dir` that had to be made.
///
/// # Errors
/// What the file system says, with the path.
pub fn write_all(dir: &Path, report: &RunReport) -> io::Result<PathBuf> {
    let dir = path::absolute(dir)?;
    let html_path = dir.join(HTML);
    let files = [
        (HTML, html(report).into_bytes()),
        ("stages.hlog", hlog(report)?),
        ("run.json", run_json(report, &html_path).into_bytes()),
    ];
    let written = if dir.exists() { replace_files(&dir, &files) } else { new_dir(&dir, &files) };
    written.map(|()| html_path)
}

/// Builds the directory beside its place and moves it there.
fn new_dir(dir: &Path, files: &[(&str, Vec<u8>)]) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent).map_err(|error| named(parent, &error))?;
    }
    let building = unfinished(dir);
    let built = || {
        fs::create_dir(&building).map_err(|error| named(&building, &error))?;
        for (name, bytes) in files {
            let path = building.join(name);
            fs::write(&path, bytes).map_err(|error| named(&path, &error))?;
        }
        fs::rename(&building, dir).map_err(|error| named(dir, &error))
    };
    built().inspect_err(|_| drop(fs::remove_dir_all(&building)))
}

/// Writes each file beside its place and moves it there, when all are written.
fn replace_files(dir: &Path, files: &[(&str, Vec<u8>)]) -> io::Result<()> {
    let places: Vec<_> = files.iter().map(|(name, _)| dir.join(name)).collect();
    let replaced = || {
        for (place, (_, bytes)) in places.iter().zip(files) {
            fs::write(unfinished(place), bytes).map_err(|error| named(place, &error))?;
        }
        for place in &places {
            fs::rename(unfinished(place), place).map_err(|error| named(place, &error))?;
        }
        Ok(())
    };
    replaced().inspect_err(|_| {
        places.iter().for_each(|place| drop(fs::remove_file(unfinished(place))));
    })
}

/// A hidden sibling of `path`, of this process alone.
fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.unfinished-{}", process::id()))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample_report;
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_new_directory_has_the_three_files_and_no_other() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("runs").join("first");
        let html = write_all(&dir, &sample_report()).unwrap();
        assert_eq!(html, dir.join("report.html"));
        assert!(html.is_absolute());
        assert_eq!(names(&dir), ["report.html", "run.json", "stages.hlog"]);
        assert_eq!(names(dir.parent().unwrap()), ["first"]);
    }

    #[test]
    fn an_old_directory_keeps_what_else_it_holds() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("mine.txt"), "mine").unwrap();
        fs::write(temp.path().join("run.json"), "old").unwrap();
        write_all(temp.path(), &sample_report()).unwrap();
        assert_eq!(names(temp.path()), ["mine.txt", "report.html", "run.json", "stages.hlog"]);
        assert_ne!(fs::read(temp.path().join("run.json")).unwrap(), b"old");
    }

    #[test]
    fn a_failure_names_the_path_and_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        let error = write_all(&file.join("below"), &sample_report()).unwrap_err();
        assert!(error.to_string().contains("file"), "{error}");
        let error = write_all(&file, &sample_report()).unwrap_err();
        assert!(error.to_string().contains("report.html"), "{error}");
        assert_eq!(names(temp.path()), ["file"]);
    }

    #[test]
    fn files_that_cannot_be_replaced_leave_no_half() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("report.html")).unwrap();
        write_all(temp.path(), &sample_report()).unwrap_err();
        assert_eq!(names(temp.path()), ["report.html"]);
    }
}
