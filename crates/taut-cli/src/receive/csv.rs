//! Every message as a line.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::channel::stamp::Stamp;
use crate::exit::Failure;

/// The file of `--csv`.
#[derive(Debug)]
pub struct Csv {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Csv {
    /// Creates the file, with its heading.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let failed =
            |error| Failure::Usage(format!("--csv {}: cannot be written: {error}", path.display()));
        let mut file = BufWriter::with_capacity(1 << 18, File::create(path).map_err(failed)?);
        writeln!(file, "sequence,intended_ns,sent_ns,received_ns").map_err(failed)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// A message.
    pub fn line(&mut self, stamp: &Stamp, received_ns: u64) -> Result<(), Failure> {
        let Stamp { sequence, intended_ns, sent_ns } = stamp;
        writeln!(self.file, "{sequence},{intended_ns},{sent_ns},{received_ns}")
            .map_err(|error| Failure::run(&self.path.display().to_string(), error))
    }

    /// Everything is in the file.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.file.flush().map_err(|error| Failure::run(&self.path.display().to_string(), error))
    }
}
