//! Where a channel lives: its name, its two files, and the locks that say who uses it.
//!
//! The data file appears whole or not at all. The lock file is empty; its byte 0 is locked (shared)
//! by whoever uses the channel, further bytes by the writer and the registered readers of each
//! stream. Who locks byte 0 alone may remove both files, so nothing is removed that is in use, and
//! what a killed process left behind is removed, or taken over, by the next.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use taut_sys::{Access, MemoryFile, effective_user, free_bytes, names_in, unlink};

use crate::error::IpcError;

const PREFIX: &str = "taut.";
const LOCK_SUFFIX: &str = ".lock";
const NAME_BYTES_MAX: usize = 64;
/// The byte that everybody who uses a channel has locked.
const USE: u64 = 0;
/// The byte of the first stream's writer, and how far apart the streams are.
const WRITER: u64 = 4096;
const STREAM_STEP: u64 = 4096;

/// The byte of a stream's writer.
pub(crate) const fn writer_byte(stream: usize) -> u64 {
    WRITER + stream as u64 * STREAM_STEP
}

/// The byte of a registered reader of a stream.
pub(crate) const fn reader_byte(stream: usize, place: usize) -> u64 {
    writer_byte(stream) + 1 + place as u64
}

/// Whose files are made, and whose are trusted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permissions {
    pub mode: u32,
    pub group: Option<u32>,
    /// A user, besides this one and root, whose files are trusted.
    pub owner: Option<u32>,
}

/// An open lock file: its locks are given back with it.
#[derive(Debug)]
pub(crate) struct LockFile(MemoryFile);

impl Drop for LockFile {
    fn drop(&mut self) {
        // A process that another thread has just forked has a copy of the descriptor, which would
        // keep the locks until its program begins.
        let _ = self.0.unlock_all();
    }
}

impl Deref for LockFile {
    type Target = MemoryFile;

    fn deref(&self) -> &MemoryFile {
        &self.0
    }
}

/// The place of a channel.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    directory: PathBuf,
    name: String,
}

impl Place {
    /// The place of a name, with or without the scheme `ipc:`.
    pub(crate) fn new(directory: &Path, name: &str) -> Result<Self, IpcError> {
        let name = name.strip_prefix("ipc:").unwrap_or(name);
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let sound = (1..=NAME_BYTES_MAX).contains(&name.len())
            && name.bytes().all(letter)
            && !name.starts_with('.')
            && !name.ends_with(LOCK_SUFFIX);
        if !sound {
            return Err(IpcError::Name);
        }
        Ok(Self { directory: directory.to_owned(), name: name.to_owned() })
    }

    /// The names of all channels in a directory.
    pub(crate) fn names(directory: &Path) -> Result<Vec<String>, IpcError> {
        let bare = |file: &String| {
            let name = file.strip_prefix(PREFIX)?;
            Some(name.strip_suffix(LOCK_SUFFIX).unwrap_or(name).to_owned())
        };
        let mut names: Vec<String> = names_in(directory, PREFIX)?.iter().filter_map(bare).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join(format!("{PREFIX}{}", self.name))
    }

    fn lock(&self) -> PathBuf {
        self.directory.join(format!("{PREFIX}{}{LOCK_SUFFIX}", self.name))
    }

    /// Reserves the memory of a new data file.
    pub(crate) fn reserve(&self, bytes: u64, by: Permissions) -> Result<MemoryFile, IpcError> {
        let file = MemoryFile::unnamed(&self.directory, bytes, by.mode).map_err(|error| {
            let have = free_bytes(&self.directory).unwrap_or(0);
            if error.is_no_room() { IpcError::NoRoom { need: bytes, have } } else { error.into() }
        })?;
        if by.group.is_some() {
            file.permit(by.mode, by.group)?;
        }
        Ok(file)
    }

    /// Opens the data file, if there is one, and it is ours to trust.
    pub(crate) fn open_data(
        &self,
        access: Access,
        owner: Option<u32>,
    ) -> Result<Option<MemoryFile>, IpcError> {
        let Some(file) = MemoryFile::open(&self.data(), access)? else { return Ok(None) };
        trust(&file, owner)?;
        Ok(Some(file))
    }

    /// Another handle of the lock file of a channel that this process uses.
    pub(crate) fn open_lock(&self, owner: Option<u32>) -> Result<LockFile, IpcError> {
        let file = MemoryFile::open(&self.lock(), Access::Write)?.ok_or(IpcError::NotFound)?;
        trust(&file, owner)?;
        Ok(LockFile(file))
    }

    /// Enters the channel: from now on, and until the handle is dropped, nobody removes it.
    pub(crate) fn enter(&self, by: Permissions) -> Result<LockFile, IpcError> {
        // Who may read but not write the data has no business with the locks.
        let mode = 0o600 | by.mode & (by.mode & 0o222).wrapping_mul(3);
        loop {
            let file = LockFile(MemoryFile::open_or_create(&self.lock(), mode)?);
            trust(&file, by.owner)?;
            let status = file.status()?;
            // A new one: the umask took bits from it, and it is not yet the group's.
            let theirs = by.group.is_some_and(|group| mode & 0o070 != 0 && group != status.group);
            if status.owner == effective_user() && (status.mode & mode != mode || theirs) {
                file.permit(mode, by.group)?;
            }
            // Somebody may be removing it, which takes no longer than two system calls.
            if file.lock(USE, true)? && file.status()?.linked {
                return Ok(file);
            }
            taut_sys::yield_cpu();
        }
    }

    /// Whether nobody else uses the channel; if so, nobody can enter it until [`Place::share`].
    pub(crate) fn claim_alone(lock: &LockFile) -> Result<bool, IpcError> {
        Ok(lock.lock(USE, false)?)
    }

    /// Lets others enter again.
    pub(crate) fn share(lock: &LockFile) -> Result<(), IpcError> {
        lock.lock(USE, true)?;
        Ok(())
    }

    /// Removes the data file of a channel that is claimed alone.
    pub(crate) fn remove_data(&self) -> Result<(), IpcError> {
        if MemoryFile::open(&self.data(), Access::Read)?.is_some() {
            unlink(&self.data())?;
        }
        Ok(())
    }

    /// Removes a channel if nobody uses it; returns whether it did. `lock` is the handle with which
    /// the channel was entered, and is left with this.
    pub(crate) fn remove_if_unused(&self, lock: &LockFile) -> Result<bool, IpcError> {
        // Left first: of two who leave at once, neither would be alone while both are in.
        lock.unlock(USE)?;
        if !Self::claim_alone(lock)? || !lock.status()?.linked {
            return Ok(false);
        }
        self.remove_data()?;
        unlink(&self.lock())?;
        Ok(true)
    }

    /// Whether anybody uses the channel, told without entering it.
    pub(crate) fn is_used(&self) -> Result<bool, IpcError> {
        match MemoryFile::open(&self.lock(), Access::Read)? {
            Some(file) => Ok(file.is_locked_by_another(USE)?),
            None => Ok(false),
        }
    }

    /// Whether a byte of the lock file is locked; nothing when the file may not be looked at.
    pub(crate) fn is_locked(&self, byte: u64) -> Option<bool> {
        let file = MemoryFile::open(&self.lock(), Access::Read).ok()??;
        file.is_locked_by_another(byte).ok()
    }
}

/// Refuses files that another user put in our way.
fn trust(file: &MemoryFile, owner: Option<u32>) -> Result<(), IpcError> {
    let status = file.status()?;
    let known = [Some(effective_user()), Some(0), owner].contains(&Some(status.owner));
    if status.regular && known && status.mode & 0o002 == 0 {
        return Ok(());
    }
    Err(IpcError::NotOurs { owner: status.owner })
}
