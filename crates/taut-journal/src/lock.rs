//! One writer for a folder.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use taut_sys::{SysError, process_id};

use crate::error::JournalError;

const NAME: &str = "lock";

/// The lock of a folder, with the process that has it in the file. The kernel takes it back when
/// the process ends, however it ends.
#[derive(Debug)]
pub struct FolderLock {
    file: File,
}

impl FolderLock {
    /// Makes the folder, if need be, and locks it.
    ///
    /// # Errors
    /// [`JournalError::Locked`] where another process has it; what the system says.
    pub fn take(folder: &Path) -> Result<Self, JournalError> {
        let mut file = open(folder)?;
        match file.try_lock() {
            Ok(()) => Self::own(file),
            Err(TryLockError::WouldBlock) => {
                Err(JournalError::Locked { process: holder(&mut file) })
            }
            Err(TryLockError::Error(error)) => Err(failed("lock", &error)),
        }
    }

    /// The same, once the process that has it ends or lets it go: sleeps until then.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait(folder: &Path) -> Result<Self, JournalError> {
        let file = open(folder)?;
        loop {
            match file.lock() {
                Ok(()) => return Self::own(file),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("lock", &error)),
            }
        }
    }

    /// It is locked: says by whom.
    fn own(mut file: File) -> Result<Self, JournalError> {
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", process_id()));
        written.map_err(|error| failed("write the lock", &error))?;
        Ok(Self { file })
    }
}

/// The file of a folder's lock; both are made if need be.
fn open(folder: &Path) -> Result<File, JournalError> {
    make(folder).map_err(|error| failed("make the folder", &error))?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(folder.join(NAME)).map_err(|error| failed("open the lock", &error))
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing alone would leave the lock with every copy of the descriptor: a child that
        // another thread has forked has one until it executes its program.
        let _ = self.file.unlock();
    }
}

/// Makes a folder and those that it is in, where they are not there. What is made has a name that
/// outlives a power cut: what is put in it would be gone with it.
fn make(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    make(parent)?;
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => made?,
    }
    // Who may make a folder in another may not be allowed to read that.
    File::open(parent).map_or(Ok(()), |parent| parent.sync_all())
}

/// The process that writes the journal of this folder now.
#[must_use]
pub fn writing_process(folder: &Path) -> Option<u32> {
    let mut file = File::open(folder.join(NAME)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(holder(&mut file)),
        _ => None,
    }
}

/// Who says to have the lock; 0 when nobody has said so yet.
fn holder(file: &mut File) -> u32 {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}

fn failed(operation: &'static str, error: &std::io::Error) -> JournalError {
    JournalError::Folder(SysError::from_errno(operation, error.raw_os_error().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_dropped_is_free_though_a_forked_child_has_its_descriptor() {
        let folder = tempfile::tempdir().expect("a folder");
        let lock = FolderLock::take(folder.path()).expect("the lock");
        let _of_a_child = lock.file.try_clone().expect("a descriptor");
        FolderLock::take(folder.path()).expect_err("one writer");
        drop(lock);
        FolderLock::take(folder.path()).expect("the lock is free");
    }
}
