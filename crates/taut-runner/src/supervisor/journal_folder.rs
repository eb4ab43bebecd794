//! Where the journal of a run's venue is.

use tempfile::TempDir;

use crate::error::RunnerError;

/// A folder for the journal of a venue that is killed: in memory, where the machine has such a file
/// system and nobody says otherwise, for a process that is killed is not gone before the disk has
/// what it was writing.
pub fn make() -> Result<TempDir, RunnerError> {
    const IN_MEMORY: &str = "/dev/shm";
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("taut-venue-journal-");
    let is_asked = std::env::var_os("TMPDIR").is_some();
    let in_memory = if is_asked { None } else { builder.tempdir_in(IN_MEMORY).ok() };
    let folder = in_memory.map_or_else(|| builder.tempdir(), Ok);
    folder.map_err(|error| RunnerError::run("journal", error))
}
