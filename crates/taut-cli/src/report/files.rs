//! The report's files, of which nobody ever sees a half.

use std::io;
use std::path::{self, Path, PathBuf};

use super::hlog::hlog;
use super::html::html;
use super::json::run_json;
use super::model::RunReport;
use crate::whole_files;

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
    whole_files::write(&dir, &files).map(|()| html_path)
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample_report;
    use super::*;
    use std::fs;

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
