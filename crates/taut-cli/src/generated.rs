//! Files that the program makes of what it knows of itself: printed, or written into a folder.

use std::path::{Path, PathBuf};

use clap::Args;
use taut_report::files;

use crate::exit::Failure;
use crate::terminal;

/// Where they go.
#[derive(Args, Clone, Debug)]
pub struct Destination {
    /// Write into this folder; printed without it
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Replace files that are there already
    #[arg(short, long, requires = "to")]
    force: bool,
}

impl Destination {
    /// Whether a folder is named.
    pub const fn is_folder(&self) -> bool {
        self.to.is_some()
    }

    /// Writes them, each whole or not at all and none over another one that was not to be replaced;
    /// or prints them, one behind the other. Returns what was written.
    pub fn put(&self, made: &[(String, String)]) -> Result<Vec<PathBuf>, Failure> {
        let Some(folder) = &self.to else {
            made.iter().try_for_each(|(_, text)| terminal::print(text.trim_end()))?;
            return Ok(Vec::new());
        };
        let paths: Vec<PathBuf> = made.iter().map(|(name, _)| folder.join(name)).collect();
        if !self.force
            && let Some(there) = paths.iter().find(|path| path.symlink_metadata().is_ok())
        {
            return Err(Failure::Usage(format!(
                "{}: it is there already; name another folder, or replace it with -f",
                there.display()
            )));
        }
        write(folder, made)?;
        Ok(paths)
    }
}

fn write(folder: &Path, made: &[(String, String)]) -> Result<(), Failure> {
    // The words of the failure name the path.
    files::write_all(folder, made).map_err(|error| Failure::Usage(error.to_string()))
}
