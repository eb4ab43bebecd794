//! A file that nobody ever sees a half of.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file under way. It is written beside its place, moved there by [`WholeFile::finish`], and gone
/// when it is dropped before. What is no plain file, such as a pipe, is written as it is.
#[derive(Debug)]
pub struct WholeFile {
    out: BufWriter<File>,
    /// Where it is written, and where it belongs.
    unfinished: Option<(PathBuf, PathBuf)>,
}

impl WholeFile {
    /// Begins the file at `path`.
    ///
    /// # Errors
    /// What the file system says.
    pub fn create(path: &Path) -> io::Result<Self> {
        let is_plain = fs::metadata(path).map_or(true, |found| found.is_file());
        if !is_plain {
            let out = BufWriter::new(File::options().write(true).open(path)?);
            return Ok(Self { out, unfinished: None });
        }
        // Through a link, to what it names.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let building = unfinished(&place);
        let out = BufWriter::new(File::create(&building)?);
        Ok(Self { out, unfinished: Some((building, place)) })
    }

    /// Puts the whole file in its place.
    ///
    /// # Errors
    /// What the file system says.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        if let Some((building, place)) = &self.unfinished {
            fs::rename(building, place)?;
            self.unfinished = None;
        }
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some((building, _)) = &self.unfinished {
            let _ = fs::remove_file(building);
        }
    }
}

/// A hidden sibling of `path`, of this process alone.
pub fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.unfinished-{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(names(), 0);
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        file.finish().unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), names()), (&b"whole"[..], 1));
    }

    #[test]
    fn what_is_no_plain_file_is_written_as_it_is() {
        WholeFile::create(Path::new("/dev/null")).unwrap().finish().unwrap();
        assert!(WholeFile::create(Path::new("/dev")).is_err());
    }
}
