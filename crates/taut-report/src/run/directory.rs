//! Where the report goes.

use std::path::{Path, PathBuf};

use taut_sys::check_writable_directory;
use taut_types::Nanos;

use crate::exit::Failure;
use crate::units::utc_text;

/// What holds the directories of all runs that name none.
const BASE: &str = "taut-out";

/// The directory of a report: the one that was asked for, or one of this run's own, named by its
/// start.
#[must_use]
pub fn choose(out: Option<&Path>, started_utc: Nanos) -> PathBuf {
    out.map_or_else(|| new_directory(Path::new(BASE), started_utc), Path::to_path_buf)
}

/// Whether a report can be written there: better to know now than after the run. That of another
/// run is replaced only where its user says so.
///
/// # Errors
/// The directory, why it cannot be, and what to do.
pub fn check(out: Option<&Path>, may_overwrite: bool) -> Result<(), Failure> {
    check_for(out.unwrap_or(Path::new(BASE)), &super::FILES, may_overwrite)
}

/// Whether files of these names can be written to a directory, as [`check`].
///
/// # Errors
/// As [`check`].
pub fn check_for(out: &Path, files: &[&str], may_overwrite: bool) -> Result<(), Failure> {
    let name = format!("--out {}", out.display());
    let full =
        std::path::absolute(out).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    // The nearest thing that is there: the directory itself, or what it will be made in.
    let there = full.ancestors().find(|path| path.symlink_metadata().is_ok());
    let there = there.unwrap_or(Path::new("/"));
    if !there.is_dir() {
        return Err(Failure::Usage(format!(
            "{name}: {} is not a directory; name one that is, or does not exist yet",
            there.display()
        )));
    }
    let other = files.iter().find(|file| !may_overwrite && full.join(file).exists());
    if let Some(file) = other {
        return Err(Failure::Usage(format!(
            "{name}: there is a {file} of another run; name another directory, or give --overwrite"
        )));
    }
    check_writable_directory(there).map_err(|error| {
        Failure::Run(format!(
            "{name}: cannot write to {}: {error}; choose another directory with --out",
            there.display()
        ))
    })
}

fn new_directory(base: &Path, started_utc: Nanos) -> PathBuf {
    // 2026-11-20 10:40:03 UTC becomes 20261120-104003.
    let text = utc_text(started_utc.0);
    let mut digits = text.chars().filter(char::is_ascii_digit);
    let date: String = digits.by_ref().take(8).collect();
    let time: String = digits.take(6).collect();
    let first = base.join(format!("{date}-{time}"));
    let numbered = (2..).map(|n: u32| base.join(format!("{date}-{time}-{n}")));
    let mut free = std::iter::once(first.clone()).chain(numbered).filter(|path| !path.exists());
    free.next().unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const START: Nanos = Nanos(1_795_171_203_000_000_000);

    #[test]
    fn a_run_without_a_directory_gets_one_by_its_time_and_no_other_run_gets_it_again() {
        let temp = tempfile::tempdir().expect("directory");
        let first = new_directory(temp.path(), START);
        assert_eq!(first, temp.path().join("20261120-104003"));
        fs::create_dir(&first).expect("create");
        assert_eq!(new_directory(temp.path(), START), temp.path().join("20261120-104003-2"));
        assert_eq!(choose(Some(Path::new("here")), START), Path::new("here"));
    }

    #[test]
    fn a_place_that_can_be_written_is_left_as_it_was() {
        let temp = tempfile::tempdir().expect("directory");
        for out in [temp.path().to_path_buf(), temp.path().join("a/b/c")] {
            check(Some(&out), false).expect("can be written");
        }
        assert_eq!(fs::read_dir(temp.path()).expect("list").count(), 0);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let temp = tempfile::tempdir().expect("directory");
        let (file, link) = (temp.path().join("file"), temp.path().join("link"));
        fs::write(&file, "").expect("file");
        std::os::unix::fs::symlink("nowhere", &link).expect("link");
        for out in [&file, &file.join("below"), &link] {
            let refused = check(Some(out), true);
            assert!(matches!(&refused, Err(Failure::Usage(text)) if text.contains("directory")));
        }
        let refused = check(Some(Path::new("/proc/taut/report")), false);
        assert!(matches!(&refused, Err(Failure::Run(text)) if text.contains("--out /proc/taut")));
        assert!(matches!(check(Some(Path::new("")), false), Err(Failure::Usage(_))));
    }

    #[test]
    fn the_report_of_another_run_is_replaced_only_when_that_is_said() {
        let temp = tempfile::tempdir().expect("directory");
        fs::write(temp.path().join("mine.txt"), "").expect("file");
        check(Some(temp.path()), false).expect("it holds no report");
        fs::write(temp.path().join("stages.hlog"), "").expect("file");
        let refused = check(Some(temp.path()), false);
        let words = ["stages.hlog of another run", "--overwrite"];
        assert!(
            matches!(&refused, Err(Failure::Usage(text)) if words.iter().all(|w| text.contains(w)))
        );
        check(Some(temp.path()), true).expect("it was said");
    }
}
