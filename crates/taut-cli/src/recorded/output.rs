//! The file that a conversion makes: whole or not at all, and never in the place of another one
//! unless that was asked for.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use taut_report::files::WholeFile;

use crate::exit::Failure;

/// Where it belongs.
#[derive(Clone, Debug)]
pub struct Output {
    path: PathBuf,
}

impl Output {
    /// A file that is not there, or may be replaced, and is none of those that are read.
    pub fn new(path: &Path, may_replace: bool, read: &[PathBuf]) -> Result<Self, Failure> {
        let name = path.display();
        if let Ok(found) = fs::metadata(path) {
            let is_it = |other: &PathBuf| {
                let other = fs::metadata(other).ok();
                other.is_some_and(|it| (it.dev(), it.ino()) == (found.dev(), found.ino()))
            };
            if read.iter().any(is_it) {
                return Err(Failure::Usage(format!("{name}: it is read; name another file")));
            }
            if found.is_dir() {
                return Err(Failure::Usage(format!("{name}: it is a folder; name a file in it")));
            }
            if found.is_file() && !may_replace {
                return Err(Failure::Usage(format!(
                    "{name}: it is there already; name another file, or replace it with -f"
                )));
            }
        }
        Ok(Self { path: path.to_owned() })
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Whether it is a file that can be named, and no pipe that others read.
    pub fn is_plain(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|found| found.is_file())
    }

    /// Begins it.
    pub fn create(&self) -> Result<WholeFile, Failure> {
        WholeFile::create(&self.path).map_err(|error| {
            let name = self.path.display();
            Failure::Usage(format!("{name}: cannot write it ({error}); check the folder"))
        })
    }

    /// Writes all of it.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut file = self.create()?;
        let written = std::io::Write::write_all(&mut file, bytes);
        written.map_err(|error| Failure::run(&self.name(), error))?;
        self.finish(file).map(drop)
    }

    /// Puts it in its place. Its bytes.
    pub fn finish(&self, file: WholeFile) -> Result<u64, Failure> {
        file.finish().map_err(|error| Failure::run(&self.name(), error))?;
        Ok(fs::metadata(&self.path).map_or(0, |found| found.len()))
    }
}
