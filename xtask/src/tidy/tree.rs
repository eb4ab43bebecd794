//! The repository's files: loaded from disk, or made by a test.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// What holds no source, wherever it stands.
const SKIPPED_NAMES: &[&str] = &["target", ".git", "taut-out"];
/// Folders that hold no source, by their path.
const SKIPPED_PATHS: &[&str] = &["fuzz/corpus", "fuzz/artifacts"];

/// Path (relative, with `/`) to file.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, File>,
}

/// A file: its size, and its text if it is UTF-8.
#[derive(Clone, Debug)]
pub struct File {
    /// Its size.
    pub bytes: usize,
    /// Its text; none when it is binary.
    pub text: Option<String>,
}

impl Tree {
    /// All files below `root` that could be tracked; symbolic links are not followed.
    ///
    /// # Errors
    /// When a file or a folder that exists cannot be read.
    pub fn load(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.load_folder(root, "")?;
        Ok(tree)
    }

    /// Adds or replaces a file.
    pub fn insert(&mut self, path: &str, content: Vec<u8>) {
        let bytes = content.len();
        self.files.insert(path.into(), File { bytes, text: String::from_utf8(content).ok() });
    }

    /// Takes a file away.
    #[cfg(test)]
    pub fn remove(&mut self, path: &str) {
        self.files.remove(path);
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// All files by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// All text files by path.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter_map(|(path, file)| Some((path, file.text.as_deref()?)))
    }

    /// The text of one file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.text.as_deref()
    }

    fn load_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            // In a linked worktree `.git` is a file.
            if SKIPPED_NAMES.contains(&&*name) || SKIPPED_PATHS.contains(&&*path) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.load_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() {
                match fs::read(entry.path()) {
                    Ok(content) => self.insert(&path, content),
                    // An editor's temporary file may go while we look.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}
