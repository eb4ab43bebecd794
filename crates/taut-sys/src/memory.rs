//! Memory that processes share: anonymous files (memfd) and their mappings.
//!
//! An anonymous file has no name: it appears in no directory, and when the last process that holds
//! it is gone, however it ended, the kernel takes it back. It is sealed against shrinking, so that
//! no peer can turn an access into SIGBUS.

use std::ffi::CString;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use taut_sync::atomic::AtomicU64;

use crate::error::{SysError, SysResult};

/// Gives the pages of freed memory back to the system. The allocator of glibc keeps them once a
/// large piece has been freed, for the next one: a server whose peers have left goes on holding
/// what they took. With another allocator nothing happens. Cost: a look at every freed piece, and a
/// page fault for each page that is used again.
pub fn return_freed_memory() {
    // SAFETY: the call takes the allocator's own locks and touches nothing that is allocated.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

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

    /// Shared memory that holds these bytes, for who takes it with [`read`](Self::read).
    ///
    /// # Errors
    /// As [`create`](Self::create); what `write(2)` says.
    pub fn holding(name: &str, bytes: &[u8]) -> Result<Self, SysError> {
        let memory = Self::create(name, bytes.len())?;
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            written += rustix::io::pwrite(&memory.fd, rest, written as u64)
                .during("write shared memory")?;
        }
        Ok(memory)
    }

    /// A copy of its bytes, at most so many.
    ///
    /// # Errors
    /// `EFBIG` when there are more; what `read(2)` says.
    pub fn read(&self, bytes_max: usize) -> Result<Vec<u8>, SysError> {
        if self.bytes > bytes_max {
            return Err(SysError::new("read shared memory", rustix::io::Errno::FBIG));
        }
        let mut bytes = vec![0; self.bytes];
        let mut got = 0;
        while let Some(rest) = bytes.get_mut(got..).filter(|rest| !rest.is_empty()) {
            match rustix::io::pread(&self.fd, rest, got as u64).during("read shared memory")? {
                0 => return Err(SysError::new("read shared memory", rustix::io::Errno::IO)),
                more => got += more,
            }
        }
        Ok(bytes)
    }

    /// Its size in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// A descriptor of it by which nobody can write, for a process that only looks.
    ///
    /// # Errors
    /// What opening `/proc/self/fd/N` says: there must be a `/proc`.
    pub fn read_only(&self) -> Result<OwnedFd, SysError> {
        let path = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .during("open shared memory for reading")
    }

    /// Maps all of it for reading: who stores to it is ended by SIGSEGV.
    ///
    /// # Errors
    /// What `mmap(2)` says.
    pub fn map_to_read(&self) -> Result<Mapping, SysError> {
        Mapping::of(self.fd.as_fd(), self.bytes, false, true)
    }

    /// Maps all of it for reading and writing, with its pages present.
    ///
    /// # Errors
    /// What `mmap(2)` says.
    pub fn map(&self) -> Result<Mapping, SysError> {
        Mapping::of(self.fd.as_fd(), self.bytes, true, true)
    }
}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Bytes that are not in the mapping: `EINVAL`.
const OUTSIDE: SysError = SysError::from_errno("range of a mapping", libc::EINVAL);

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

/// What was granted of what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryOptions {
    /// Pages of 2 MiB, where the file system's policy allows them.
    pub huge_pages: bool,
    /// Every page is present, so that no access faults.
    pub prefault: bool,
    /// The pages stay in memory.
    pub lock: bool,
}

impl Mapping {
    /// Maps a file whose size is `bytes`, with its pages present if asked for.
    pub(crate) fn of(
        fd: BorrowedFd<'_>,
        bytes: usize,
        write: bool,
        prefault: bool,
    ) -> Result<Self, SysError> {
        let write = if write { ProtFlags::WRITE } else { ProtFlags::empty() };
        let populate = if prefault { MapFlags::POPULATE } else { MapFlags::empty() };
        let (protection, flags) = (ProtFlags::READ | write, MapFlags::SHARED | populate);
        // SAFETY: a fresh mapping at an address of the kernel's choice replaces nothing; the length
        // is the file's, which is sealed against shrinking or in the hands of its owner alone.
        let pointer =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, flags, fd, 0) }
                .during("map shared memory")?;
        match NonNull::new(pointer.cast::<u8>()) {
            Some(start) => Ok(Self { start, bytes }),
            None => Err(SysError::new("map shared memory", rustix::io::Errno::NOMEM)),
        }
    }

    /// Asks for what makes access even, and says what was granted: a machine without huge pages or
    /// without the right to lock memory is slower, not broken.
    #[must_use]
    pub fn tune(&self, wanted: MemoryOptions) -> MemoryOptions {
        use rustix::mm::{Advice, madvise, mlock};
        let (start, bytes) = (self.start.as_ptr().cast(), self.bytes);
        // SAFETY: the range is this mapping's, and the advice changes no content.
        let advise = |advice| unsafe { madvise(start, bytes, advice) }.is_ok();
        // SAFETY: the range is this mapping's; locking it changes no content.
        let lock = || unsafe { mlock(start, bytes) }.is_ok();
        MemoryOptions {
            huge_pages: wanted.huge_pages && advise(Advice::LinuxHugepage),
            prefault: wanted.prefault && advise(Advice::LinuxPopulateRead),
            lock: wanted.lock && lock(),
        }
    }

    /// Makes the pages with these bytes present and writable, so that no store to them waits for
    /// the file system. Whatever writes them back takes that away again.
    ///
    /// # Errors
    /// What `MADV_POPULATE_WRITE` says; `EINVAL` for bytes that are not all in the mapping.
    pub fn populate(&self, bytes: Range<usize>) -> Result<(), SysError> {
        let (first, len) = self.pages(&bytes).ok_or(OUTSIDE)?;
        // SAFETY: the range lies in this mapping, and the advice changes no content.
        unsafe { rustix::mm::madvise(first, len, rustix::mm::Advice::LinuxPopulateWrite) }
            .during("populate")
    }

    /// Makes the pages with these bytes of its file safe from a power cut, and no others: they are
    /// not writable without a fault afterwards.
    ///
    /// # Errors
    /// What `msync(2)` says: what was not safe by then may be lost. `EINVAL` for bytes that are not
    /// all in the mapping.
    pub fn sync(&self, bytes: Range<usize>) -> Result<(), SysError> {
        let (first, len) = self.pages(&bytes).ok_or(OUTSIDE)?;
        // SAFETY: the range lies in this mapping, and synchronising changes no content.
        unsafe { rustix::mm::msync(first, len, rustix::mm::MsyncFlags::SYNC) }.during("synchronise")
    }

    /// Address and length from the start of the page with the first byte to the last one.
    fn pages(&self, bytes: &Range<usize>) -> Option<(*mut core::ffi::c_void, usize)> {
        if bytes.start > bytes.end || bytes.end > self.bytes {
            return None;
        }
        let start = bytes.start - bytes.start % rustix::param::page_size();
        // SAFETY: at most `bytes`, the length of the mapping, from its start.
        let first = unsafe { self.start.as_ptr().add(start) };
        Some((first.cast(), bytes.end - start))
    }

    /// All of it in words. Who maps it read-only stores nothing.
    #[must_use]
    pub const fn words(&self) -> &[AtomicU64] {
        const { assert!(align_of::<AtomicU64>() <= 4096) };
        let start = self.start.cast::<AtomicU64>();
        // SAFETY: the mapping covers so many words from its start, which is aligned to a page, for
        // as long as it lives (the borrow); its file is sealed against shrinking or its owner's
        // alone; every bit pattern is a valid AtomicU64; and all access, here and in other
        // processes, is by atomics, so that concurrent writes are no data races.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), self.bytes / size_of::<AtomicU64>()) }
    }

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
    use taut_sync::atomic::Ordering;

    #[test]
    fn two_mappings_show_the_same_memory_and_it_cannot_shrink() {
        let memory = SharedMemory::create("taut-test", 8192).expect("memory");
        let (first, second) = (memory.map().expect("map"), memory.map().expect("map"));
        // SAFETY: both addresses are of live mappings of 8192 bytes; one thread touches them.
        unsafe { first.start().add(4096).write_volatile(7) };
        // SAFETY: as above.
        assert_eq!(unsafe { second.start().add(4096).read_volatile() }, 7);
        assert!(rustix::fs::ftruncate(&memory, 4096).is_err());
        assert_eq!(first.words().len(), 1024);
        second.words()[1].store(9, Ordering::Release);
        assert_eq!(first.words()[1].load(Ordering::Acquire), 9);
        assert_eq!(first.populate(1..8192), Ok(()));
        assert!(first.populate(0..8193).is_err());
        assert_eq!(first.sync(4097..8192), Ok(()));
        assert!(first.sync(0..8193).is_err());
        let passed_on = memory.fd.try_clone().expect("duplicate");
        let wanted = MemoryOptions { huge_pages: false, prefault: true, lock: true };
        let granted = first.tune(wanted);
        assert!(granted.prefault && !granted.huge_pages);
        assert_eq!(SharedMemory::adopt(passed_on).expect("adopt").bytes(), 8192);
    }
}
