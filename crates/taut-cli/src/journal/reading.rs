//! Reads a journal that somebody may be writing.

use std::path::Path;

use taut_journal::{JournalError, Recovered, Shown, read, writing_process};

use crate::exit::Failure;

/// How often a journal is read again that is written meanwhile.
const READS_MAX: u32 = 5;
/// How many executions are remembered, as the gateway does by default.
const EXECUTIONS_MAX: usize = 65_536;

/// Reads a journal. While somebody writes it, what looks damaged may be half of what is written
/// at this moment: then it is read again.
pub fn read_all(folder: &Path, visit: &mut dyn FnMut(&Shown)) -> Result<Recovered, Failure> {
    let is_folder = std::fs::read_dir(folder).map(drop);
    is_folder.map_err(|error| Failure::unreadable(folder, error))?;
    let mut reads = 1;
    loop {
        match read(folder, EXECUTIONS_MAX, visit) {
            Ok(found) if found.segments.is_empty() => {
                let folder = folder.display();
                return Err(Failure::Usage(format!("{folder}: no journal: no segment is there")));
            }
            Ok(found) => return Ok(found),
            Err(JournalError::Damaged(_) | JournalError::File { .. })
                if reads < READS_MAX && writing_process(folder).is_some() =>
            {
                reads += 1;
            }
            Err(error) => return Err(Failure::run(&folder.display().to_string(), error)),
        }
    }
}
