//! Named memory: files of a memory file system that processes map, and locks that die with their
//! holder.
//!
//! A file appears under its name only when it is whole: its space is reserved and its content
//! written while it has no name. A lock belongs to the open file of its holder: the kernel releases
//! it when the process ends, however it ends, and it means the same in every PID namespace.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FallocateFlags, FileType, Gid, Mode, OFlags};

use crate::error::{SysError, SysResult};
use crate::memory::Mapping;

/// Who may use a file that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only: this process cannot change or truncate it.
    Read,
    /// Read and write.
    Write,
}

/// What is known about an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Its size in bytes.
    pub bytes: u64,
    /// The user who owns it.
    pub owner: u32,
    /// The group that it belongs to.
    pub group: u32,
    /// Permission bits.
    pub mode: u32,
    /// It is a regular file, not a link, directory, pipe or device.
    pub regular: bool,
    /// It still has a name.
    pub linked: bool,
    /// When it was created or last changed by a system call, seconds of UTC.
    pub changed_s: i64,
}

/// An open file in a memory file system.
#[derive(Debug)]
pub struct MemoryFile {
    fd: OwnedFd,
}

/// The user that this process acts as.
#[must_use]
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Bytes that are free in the file system of a directory.
///
/// # Errors
/// What `statvfs(3)` says.
pub fn free_bytes(directory: &Path) -> Result<u64, SysError> {
    let status = rustix::fs::statvfs(directory).during("file system status")?;
    Ok(status.f_bavail.saturating_mul(status.f_frsize))
}

/// Removes a name. The memory stays with those who have it open.
///
/// # Errors
/// What `unlink(2)` says.
pub fn unlink(path: &Path) -> Result<(), SysError> {
    rustix::fs::unlink(path).during("unlink")
}

impl MemoryFile {
    /// A zeroed file of `bytes` bytes in `directory`, without a name yet. All its space is reserved
    /// here, so that a full file system is an error now and not a signal later.
    ///
    /// # Errors
    /// `ENOSPC` without room; what `open(2)` with `O_TMPFILE` and `fallocate(2)` say.
    pub fn unnamed(directory: &Path, bytes: u64, mode: u32) -> Result<Self, SysError> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let fd = rustix::fs::open(directory, flags, Mode::from_raw_mode(mode))
            .during("create memory file")?;
        // The mode is what was asked for, whatever the umask says.
        rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode)).during("memory file mode")?;
        rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, bytes)
            .during("reserve memory file")?;
        Ok(Self { fd })
    }

    /// Gives it permission bits, whatever the umask says, and to a group.
    ///
    /// # Errors
    /// What `fchown(2)` and `fchmod(2)` say; `EPERM` for a group that this process is not in.
    pub fn permit(&self, mode: u32, group: Option<u32>) -> Result<(), SysError> {
        // The group first: a change of it takes permissions away.
        if let Some(group) = group {
            rustix::fs::fchown(&self.fd, None, Some(Gid::from_raw(group)))
                .during("memory file group")?;
        }
        rustix::fs::fchmod(&self.fd, Mode::from_raw_mode(mode)).during("memory file mode")
    }

    /// Gives an unnamed file its name; it appears whole. Returns false when the name is taken.
    ///
    /// # Errors
    /// What `linkat(2)` says.
    pub fn link(&self, path: &Path) -> Result<bool, SysError> {
        let own = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        match rustix::fs::linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::EXIST) => Ok(false),
            Err(errno) => Err(SysError::new("link memory file", errno)),
        }
    }

    /// Opens a file by name, never through a symbolic link; nothing when there is none.
    ///
    /// # Errors
    /// What `open(2)` says.
    pub fn open(path: &Path, access: Access) -> Result<Option<Self>, SysError> {
        let access = if access == Access::Write { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = access | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd })),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(errno) => Err(SysError::new("open memory file", errno)),
        }
    }

    /// Opens an empty file by name, and creates it if need be; never through a symbolic link.
    ///
    /// # Errors
    /// What `open(2)` says.
    pub fn open_or_create(path: &Path, mode: u32) -> Result<Self, SysError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let flags = flags | OFlags::NONBLOCK;
        let fd = rustix::fs::open(path, flags, Mode::from_raw_mode(mode))
            .during("open or create memory file")?;
        Ok(Self { fd })
    }

    /// What is known about it.
    ///
    /// # Errors
    /// What `fstat(2)` says.
    pub fn status(&self) -> Result<FileStatus, SysError> {
        let status = rustix::fs::fstat(&self.fd).during("memory file status")?;
        Ok(FileStatus {
            bytes: u64::try_from(status.st_size).unwrap_or(0),
            owner: status.st_uid,
            group: status.st_gid,
            mode: status.st_mode & 0o7777,
            regular: FileType::from_raw_mode(status.st_mode) == FileType::RegularFile,
            linked: status.st_nlink > 0,
            changed_s: status.st_ctime,
        })
    }

    /// Makes what was written to it, through mappings too, safe from a power cut; not its times.
    ///
    /// # Errors
    /// What `fdatasync(2)` says: what was not safe by then may be lost.
    pub fn sync_data(&self) -> Result<(), SysError> {
        rustix::fs::fdatasync(&self.fd).during("synchronise")
    }

    /// Maps all of it.
    ///
    /// # Errors
    /// What `mmap(2)` says.
    pub fn map(&self, access: Access, prefault: bool) -> Result<Mapping, SysError> {
        let bytes = usize::try_from(self.status()?.bytes).unwrap_or(0);
        Mapping::of(self.fd.as_fd(), bytes, access == Access::Write, prefault)
    }

    /// Takes the lock of a byte for this open file, alone or with others; false when somebody else
    /// has it. The kernel releases it when the last copy of the descriptor is closed.
    ///
    /// # Errors
    /// What `F_OFD_SETLK` says.
    pub fn lock(&self, byte: u64, shared: bool) -> Result<bool, SysError> {
        let kind = if shared { libc::F_RDLCK } else { libc::F_WRLCK };
        self.set_lock(byte, kind)
    }

    /// Gives the lock of a byte back.
    ///
    /// # Errors
    /// What `F_OFD_SETLK` says.
    pub fn unlock(&self, byte: u64) -> Result<(), SysError> {
        self.set_lock(byte, libc::F_UNLCK).map(|_| ())
    }

    /// Gives all of its locks back. A process that was forked and has not yet run its program has
    /// a copy of each descriptor: what is only closed stays locked until then.
    ///
    /// # Errors
    /// What `F_OFD_SETLK` says.
    pub fn unlock_all(&self) -> Result<(), SysError> {
        // A length of zero reaches to the end of any file.
        self.set(&libc::flock { l_len: 0, ..byte_lock(0, libc::F_UNLCK) }).map(|_| ())
    }

    /// Whether another open file has the lock of a byte.
    ///
    /// # Errors
    /// What `F_OFD_GETLK` says.
    pub fn is_locked_by_another(&self, byte: u64) -> Result<bool, SysError> {
        let mut lock = byte_lock(byte, libc::F_WRLCK);
        // SAFETY: the structure is initialised and outlives the call; the descriptor is open.
        let result = unsafe { libc::fcntl(self.fd.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
        if result != 0 {
            return Err(SysError::last("look at lock"));
        }
        Ok(i32::from(lock.l_type) != libc::F_UNLCK)
    }

    fn set_lock(&self, byte: u64, kind: libc::c_int) -> Result<bool, SysError> {
        self.set(&byte_lock(byte, kind))
    }

    fn set(&self, lock: &libc::flock) -> Result<bool, SysError> {
        let lock: *const libc::flock = lock;
        // SAFETY: the structure is initialised and outlives the call; the descriptor is open.
        let result = unsafe { libc::fcntl(self.fd.as_raw_fd(), libc::F_OFD_SETLK, lock) };
        if result == 0 {
            return Ok(true);
        }
        let error = SysError::last("lock");
        let taken = [libc::EAGAIN, libc::EACCES].contains(&error.errno());
        if taken { Ok(false) } else { Err(error) }
    }
}

impl AsFd for MemoryFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn byte_lock(byte: u64, kind: libc::c_int) -> libc::flock {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = i64::try_from(byte).unwrap_or(i64::MAX);
    lock.l_len = 1;
    lock
}

/// The names in a directory that begin with `prefix`.
///
/// # Errors
/// What `getdents(2)` says.
pub fn names_in(directory: &Path, prefix: &str) -> Result<Vec<String>, SysError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(directory, flags, Mode::empty()).during("open directory")?;
    let mut names: Vec<String> = rustix::fs::Dir::read_from(&fd)
        .during("read directory")?
        .filter_map(|entry| entry.ok().map(|entry| entry.file_name().to_owned()))
        .filter_map(|name| CStr::to_str(&name).ok().map(str::to_owned))
        .filter(|name| name.starts_with(prefix))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn path(name: &str) -> PathBuf {
        Path::new("/dev/shm").join(format!("taut-sys-test-{}-{name}", std::process::id()))
    }

    #[test]
    fn a_file_appears_whole_and_once() {
        let path = path("link");
        let file = MemoryFile::unnamed(Path::new("/dev/shm"), 4096, 0o600).expect("unnamed");
        assert!(MemoryFile::open(&path, Access::Read).expect("open").is_none());
        assert!(file.link(&path).expect("link"));
        assert!(!file.link(&path).expect("link again"));
        let other = MemoryFile::open(&path, Access::Read).expect("open").expect("there");
        let status = other.status().expect("status");
        assert_eq!((status.bytes, status.mode, status.regular), (4096, 0o600, true));
        assert_eq!(status.owner, effective_user());
        unlink(&path).expect("unlink");
        assert!(!other.status().expect("status").linked);
    }

    #[test]
    fn a_symbolic_link_is_not_followed() {
        let path = path("symlink");
        std::os::unix::fs::symlink("/dev/null", &path).expect("symlink");
        assert!(MemoryFile::open(&path, Access::Write).is_err());
        assert!(MemoryFile::open_or_create(&path, 0o600).is_err());
        unlink(&path).expect("unlink");
    }

    #[test]
    fn more_than_there_is_room_for_is_refused_at_creation() {
        let error = MemoryFile::unnamed(Path::new("/dev/shm"), 1 << 50, 0o600).err();
        assert!(error.is_some_and(|error| error.is_no_room()), "{error:?}");
        assert!(free_bytes(Path::new("/dev/shm")).expect("free") < 1 << 50);
    }

    #[test]
    fn a_lock_belongs_to_one_open_file_and_ends_with_it() {
        let path = path("lock");
        let first = MemoryFile::open_or_create(&path, 0o600).expect("open");
        let second = MemoryFile::open_or_create(&path, 0o600).expect("open");
        assert_eq!(first.lock(7, false), Ok(true));
        assert_eq!(second.lock(7, false), Ok(false));
        assert_eq!(second.is_locked_by_another(7), Ok(true));
        assert_eq!(first.is_locked_by_another(7), Ok(false));
        assert_eq!(second.lock(8, true), Ok(true));
        assert_eq!(first.lock(8, true), Ok(true));
        drop(first);
        assert_eq!(second.is_locked_by_another(7), Ok(false));
        assert_eq!(second.lock(7, false), Ok(true));
        assert_eq!(second.unlock(7), Ok(()));
        unlink(&path).expect("unlink");
    }

    /// As between fork and exec.
    #[test]
    fn locks_that_are_given_back_are_free_while_a_copy_of_the_descriptor_is_open() {
        let path = path("copies");
        let first = MemoryFile::open_or_create(&path, 0o600).expect("open");
        let second = MemoryFile::open_or_create(&path, 0o600).expect("open");
        assert_eq!((first.lock(7, false), first.lock(u64::MAX >> 2, true)), (Ok(true), Ok(true)));
        let copy = first.as_fd().try_clone_to_owned().expect("a copy");
        assert_eq!(first.unlock_all(), Ok(()));
        drop(first);
        let far = u64::MAX >> 2;
        assert_eq!((second.lock(7, false), second.lock(far, false)), (Ok(true), Ok(true)));
        drop(copy);
        unlink(&path).expect("unlink");
    }
}
