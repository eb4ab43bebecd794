//! Folders of files of which nobody ever sees a half.

use std::fs;
use std::io::{self, Write};
use std::path::{self, Path};

use crate::whole_file::{WholeFile, unfinished};

/// Writes files into `dir`, each under its path there.
///
/// A new directory appears at once with everything in it; in one that exists each file is replaced
/// at once. On failure nothing is left behind but parents that had to be made.
///
/// # Errors
/// What the file system says, with the path.
pub fn write<N, B>(dir: &Path, files: &[(N, B)]) -> io::Result<()>
where
    N: AsRef<Path>,
    B: AsRef<[u8]>,
{
    let dir = path::absolute(dir)?;
    if dir.exists() { replace_files(&dir, files) } else { new_dir(&dir, files) }
}

/// Builds the directory beside its place and moves it there.
fn new_dir(dir: &Path, files: &[(impl AsRef<Path>, impl AsRef<[u8]>)]) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent).map_err(|error| named(parent, &error))?;
    }
    let building = unfinished(dir);
    let built = || {
        fs::create_dir(&building).map_err(|error| named(&building, &error))?;
        for (name, bytes) in files {
            write_one(&building.join(name), bytes.as_ref())?;
        }
        fs::rename(&building, dir).map_err(|error| named(dir, &error))
    };
    built().inspect_err(|_| drop(fs::remove_dir_all(&building)))
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

/// Writes a file, and makes its folder.
fn write_one(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| fs::write(path, bytes)).map_err(|error| named(path, &error))
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
    fn folders_in_a_directory_are_made_and_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("new");
        for text in ["one", "two"] {
            super::write(&dir, &[("a", text), ("b/c", text)]).unwrap();
            assert_eq!(names(&dir), ["a", "b"]);
            assert_eq!(names(&dir.join("b")), ["c"]);
            assert_eq!(fs::read_to_string(dir.join("b/c")).unwrap(), text);
        }
        assert_eq!(names(temp.path()), ["new"]);
    }
}
