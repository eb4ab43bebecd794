//! Files, and folders of files, of which nobody ever sees a half.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{self, Path, PathBuf};

use tempfile::{Builder, TempPath};

/// A file under way. It is written beside its place, moved there by [`WholeFile::finish`], and gone
/// when it is dropped before. What is no plain file, such as a pipe, is written as it is.
#[derive(Debug)]
pub struct WholeFile {
    out: BufWriter<File>,
    /// Where it is written, and where it belongs.
    unfinished: Option<(TempPath, PathBuf)>,
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
        let place = fs::canonicalize(path).or_else(|_| path::absolute(path))?;
        let folder = place.parent().unwrap_or(Path::new("/"));
        let temporary = unfinished(0o666).tempfile_in(folder)?;
        let (file, temporary) = temporary.into_parts();
        Ok(Self { out: BufWriter::new(file), unfinished: Some((temporary, place)) })
    }

    /// Puts the whole file in its place.
    ///
    /// # Errors
    /// What the file system says.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        let Some((temporary, place)) = self.unfinished else { return Ok(()) };
        Ok(temporary.persist(place)?)
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

impl Seek for WholeFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

/// Hidden files and folders with the permissions that the user's mask leaves of these.
fn unfinished(mode: u32) -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".unfinished-").permissions(Permissions::from_mode(mode));
    builder
}

/// Writes files into `dir`, each under its path there.
///
/// A new directory appears at once with everything in it; in one that exists each file is replaced
/// at once. On failure nothing is left behind but parents that had to be made.
///
/// # Errors
/// What the file system says, with the path.
pub fn write_all<N, B>(dir: &Path, files: &[(N, B)]) -> io::Result<()>
where
    N: AsRef<Path>,
    B: AsRef<[u8]>,
{
    let dir = path::absolute(dir)?;
    if dir.exists() {
        return replace_files(&dir, files);
    }
    let parent = dir.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(|error| named(parent, &error))?;
    let building = unfinished(0o777).tempdir_in(parent).map_err(|error| named(&dir, &error))?;
    replace_files(building.path(), files)?;
    fs::rename(building.path(), &dir).map_err(|error| named(&dir, &error))?;
    // It is not there any more.
    let _ = building.keep();
    Ok(())
}

/// Writes each file beside its place and moves it there, when all are written.
fn replace_files(dir: &Path, files: &[(impl AsRef<Path>, impl AsRef<[u8]>)]) -> io::Result<()> {
    let mut written = Vec::with_capacity(files.len());
    for (name, bytes) in files {
        let place = dir.join(name);
        let begun = || {
            place.parent().map_or(Ok(()), fs::create_dir_all)?;
            let mut file = WholeFile::create(&place)?;
            file.write_all(bytes.as_ref())?;
            file.flush().map(|()| file)
        };
        written.push((begun().map_err(|error| named(&place, &error))?, place));
    }
    for (file, place) in written {
        file.finish().map_err(|error| named(&place, &error))?;
    }
    Ok(())
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(names(folder.path()).len(), 0);
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        file.finish().unwrap();
        assert_eq!(
            (fs::read(&path).unwrap().as_slice(), names(folder.path()).len()),
            (&b"whole"[..], 1)
        );
        let plain = folder.path().join("plain");
        fs::write(&plain, b"").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain), "others may read it as any file of this user");
    }

    #[test]
    fn what_is_no_plain_file_is_written_as_it_is() {
        WholeFile::create(Path::new("/dev/null")).unwrap().finish().unwrap();
        assert!(WholeFile::create(Path::new("/dev")).is_err());
    }

    #[test]
    fn folders_in_a_directory_are_made_and_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("runs").join("new");
        for text in ["one", "two"] {
            super::write_all(&dir, &[("a", text), ("b/c", text)]).unwrap();
            assert_eq!(names(&dir), ["a", "b"]);
            assert_eq!(names(&dir.join("b")), ["c"]);
            assert_eq!(fs::read_to_string(dir.join("b/c")).unwrap(), text);
        }
        assert_eq!(names(&temp.path().join("runs")), ["new"]);
    }

    #[test]
    fn an_old_directory_keeps_what_else_it_holds() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("mine.txt"), "mine").unwrap();
        fs::write(temp.path().join("b"), "old").unwrap();
        super::write_all(temp.path(), &[("a", "new"), ("b", "new")]).unwrap();
        assert_eq!(names(temp.path()), ["a", "b", "mine.txt"]);
        assert_eq!(fs::read(temp.path().join("b")).unwrap(), b"new");
    }

    #[test]
    fn a_failure_names_the_path_and_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        let error = super::write_all(&file.join("below"), &[("a", "")]).unwrap_err();
        assert!(error.to_string().contains("file"), "{error}");
        let error = super::write_all(&file, &[("a", "")]).unwrap_err();
        assert!(error.to_string().contains("file/a"), "{error}");
        assert_eq!(names(temp.path()), ["file"]);
        fs::create_dir(temp.path().join("a")).unwrap();
        super::write_all(temp.path(), &[("a", "")]).unwrap_err();
        assert_eq!(names(temp.path()), ["a", "file"]);
    }
}
