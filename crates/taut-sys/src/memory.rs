//! Memory that processes share: anonymous files (memfd) and their mappings.
//!
//! An anonymous file has no name: it appears in no directory, and when the last process that holds
//! it is gone, however it ended, the kernel takes it back. It is sealed against shrinking, so that
//! no peer can turn an access into SIGBUS.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::error::{SysError, SysResult};

/// An anonymous file of fixed size that can be passed to other processes.
#[derive(Debug)]
pub struct SharedMemory {
    fd: OwnedFd,
    bytes: usize,
}

impl SharedMemory {
    /// Zeroed shared memory. The name is for `/proc/PID/maps` only. The space is reserved here, so
    /// that a machine without room fails now and not with a signal later.
    ///
    /// # Errors
    /// What `memfd_create(2)`, `fallocate(2)` and sealing say; `ENOMEM`/`ENOSPC` without room.
    pub fn create(name: &str, bytes: usize) -> Result<Self, SysError> {
        let name = CString::new(name)
            .map_err(|_| SysError::new("shared memory name", rustix::io::Errno::INVAL))?;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create(name, flags).during("create shared memory")?;
        rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, bytes as u64)
            .during("reserve shared memory")?;
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)
            .during("seal shared memory")?;
        Ok(Self { fd, bytes })
    }

    /// Shared memory that another process made and passed on. It must be sealed against shrinking.
    ///
    /// # Errors
    /// `EPERM` when it is not sealed; what `fstat(2)` says.
    pub fn adopt(fd: OwnedFd) -> Result<Self, SysError> {
        let seals = rustix::fs::fcntl_get_seals(&fd).during("shared memory seals")?;
        if !seals.contains(SealFlags::SHRINK) {
            return Err(SysError::new("unsealed shared memory", rustix::io::Errno::PERM));
        }
        let size = rustix::fs::fstat(&fd).during("shared memory size")?.st_size;
        Ok(Self { fd, bytes: usize::try_from(size).unwrap_or(0) })
    }

    /// Its size in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Maps all of it for reading and writing, with its pages present.
    ///
    /// # Errors
    /// What `mmap(2)` says.
    pub fn map(&self) -> Result<Mapping, SysError> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice replaces nothing; the length
        // is the file's, which the seal keeps from shrinking.
        let pointer = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), self.bytes, protection, flags, &self.fd, 0)
        }
        .during("map shared memory")?;
        match NonNull::new(pointer.cast::<u8>()) {
            Some(start) => Ok(Mapping { start, bytes: self.bytes }),
            None => Err(SysError::new("map shared memory", rustix::io::Errno::NOMEM)),
        }
    }
}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A mapping of shared memory, undone when dropped.
///
/// Other processes write to it at any time: it must be read and written with atomics only.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and this type hands out nothing but
// its address; who dereferences it answers for data races.
unsafe impl Send for Mapping {}
// SAFETY: as for Send.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Its first byte, aligned to a page.
    #[must_use]
    pub const fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its length in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the mmap that made this value, which nobody else
        // unmaps; borrows of the memory carry this value's lifetime.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_show_the_same_memory_and_it_cannot_shrink() {
        let memory = SharedMemory::create("taut-test", 8192).expect("memory");
        let (first, second) = (memory.map().expect("map"), memory.map().expect("map"));
        // SAFETY: both addresses are of live mappings of 8192 bytes; one thread touches them.
        unsafe { first.start().add(4096).write_volatile(7) };
        // SAFETY: as above.
        assert_eq!(unsafe { second.start().add(4096).read_volatile() }, 7);
        assert!(rustix::fs::ftruncate(&memory, 4096).is_err());
        let passed_on = memory.fd.try_clone().expect("duplicate");
        assert_eq!(SharedMemory::adopt(passed_on).expect("adopt").bytes(), 8192);
    }
}
