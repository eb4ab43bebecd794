//! A ring whose memory is mapped twice in a row: whatever is committed, and whatever is free, is
//! one contiguous slice, for any count of pages.

use std::fmt;
use std::ptr::NonNull;

use rustix::fs::{FallocateFlags, MemfdFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::error::{SysError, SysResult};

/// A byte ring for one thread, mapped twice.
///
/// The write position is `read + used`; both are brought below the size by subtraction and not by
/// a mask, so that the size may be any multiple of a page.
pub struct MirroredBuffer {
    start: NonNull<u8>,
    bytes: usize,
    read: usize,
    used: usize,
    huge_pages: bool,
}

// SAFETY: the mappings belong to this value alone (the file is closed and was never passed on), so
// it may move to another thread like a `Vec`.
unsafe impl Send for MirroredBuffer {}

impl MirroredBuffer {
    /// A ring of at least `bytes`, rounded up to whole pages.
    ///
    /// # Errors
    /// `EINVAL` for no bytes; what `memfd_create(2)`, `fallocate(2)` and `mmap(2)` say.
    pub fn new(bytes: usize) -> Result<Self, SysError> {
        Self::build(bytes, false)
    }

    /// As [`MirroredBuffer::new`], on huge pages where the machine has reserved some (rounded up to
    /// 2 MiB), else on ordinary ones: [`MirroredBuffer::has_huge_pages`] says which.
    ///
    /// # Errors
    /// As [`MirroredBuffer::new`].
    pub fn with_huge_pages(bytes: usize) -> Result<Self, SysError> {
        Self::build(bytes, true).or_else(|_| Self::build(bytes, false))
    }

    fn build(bytes: usize, huge_pages: bool) -> Result<Self, SysError> {
        let page = if huge_pages { 2 << 20 } else { rustix::param::page_size() };
        let size = bytes.checked_next_multiple_of(page).filter(|size| *size > 0);
        let size = size.filter(|size| *size <= usize::MAX / 4);
        let Some(size) = size else {
            return Err(SysError::from_errno("mirrored buffer", libc::EINVAL));
        };
        let flags = if huge_pages { MemfdFlags::HUGETLB } else { MemfdFlags::empty() };
        let fd = rustix::fs::memfd_create(c"taut-mirror", flags | MemfdFlags::CLOEXEC)
            .during("create mirrored buffer")?;
        rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, size as u64)
            .during("reserve mirrored buffer")?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // Room for both, aligned to the page: one page more, of which the ends are never used.
        // SAFETY: a fresh reservation at an address of the kernel's choice replaces nothing.
        let room = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                2 * size + page,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .during("reserve addresses")?;
        let lead = room.addr().next_multiple_of(page) - room.addr();
        let first = room.cast::<u8>().wrapping_add(lead);
        let second = first.wrapping_add(size);
        let tail = second.wrapping_add(size);
        let result = [first, second].into_iter().try_for_each(|at| {
            // SAFETY: both ranges lie within the reservation just made, which nobody else knows;
            // the file has `size` bytes, reserved above.
            unsafe {
                rustix::mm::mmap(
                    at.cast(),
                    size,
                    protection,
                    MapFlags::SHARED | MapFlags::FIXED | MapFlags::POPULATE,
                    &fd,
                    0,
                )
            }
            .map(drop)
        });
        // SAFETY: what is in front of the first mapping and behind the second is part of the
        // reservation and used by nobody.
        unsafe {
            if lead > 0 {
                let _ = rustix::mm::munmap(room, lead);
            }
            if page > lead {
                let _ = rustix::mm::munmap(tail.cast(), page - lead);
            }
        }
        let Some(start) = NonNull::new(first) else {
            return Err(SysError::from_errno("mirrored buffer", libc::ENOMEM));
        };
        // From here on dropping it undoes the mappings.
        let buffer = Self { start, bytes: size, read: 0, used: 0, huge_pages };
        result.during("map mirrored buffer")?;
        Ok(buffer)
    }

    /// Its size.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.bytes
    }

    /// Bytes committed and not consumed.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.used
    }

    /// Whether nothing is committed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Bytes free.
    #[must_use]
    pub const fn free(&self) -> usize {
        self.bytes - self.used
    }

    /// Whether it lies on huge pages.
    #[must_use]
    pub const fn has_huge_pages(&self) -> bool {
        self.huge_pages
    }

    /// All that is free, as one slice, to write into before [`MirroredBuffer::commit`].
    #[must_use]
    pub const fn claim(&mut self) -> &mut [u8] {
        let write = self.wrapped(self.read + self.used);
        // SAFETY: `write` is below the size and the length at most the size, so the slice lies
        // within the two mappings; they are exclusively ours, and no two bytes of the slice are the
        // same byte of the file since it is no longer than the file.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(write), self.free()) }
    }

    /// The first `bytes` of what was claimed are content now; more than is free counts as all.
    pub const fn commit(&mut self, bytes: usize) {
        let free = self.free();
        self.used += if bytes < free { bytes } else { free };
    }

    /// All that is committed, as one slice.
    #[must_use]
    pub const fn committed(&self) -> &[u8] {
        // SAFETY: as for `claim`; a shared borrow of what nobody else can write.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(self.read), self.used) }
    }

    /// The first `bytes` of the content are done with; more than there is counts as all.
    pub const fn consume(&mut self, bytes: usize) {
        let bytes = if bytes < self.used { bytes } else { self.used };
        self.read = self.wrapped(self.read + bytes);
        self.used -= bytes;
    }

    /// A position below twice the size, brought below the size.
    const fn wrapped(&self, position: usize) -> usize {
        if position >= self.bytes { position - self.bytes } else { position }
    }
}

impl Drop for MirroredBuffer {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the two mappings, which nobody else unmaps; borrows
        // of the memory carry this value's lifetime.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), 2 * self.bytes) };
    }
}

impl fmt::Debug for MirroredBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MirroredBuffer({} of {})", self.used, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn three_pages_keep_the_first_when_the_second_is_written() {
        let page = rustix::param::page_size();
        let mut ring = MirroredBuffer::new(3 * page).expect("ring");
        assert_eq!(ring.capacity(), 3 * page);
        let first = ring.claim().as_ptr();
        ring.claim()[..page].fill(1);
        ring.commit(page);
        let second = ring.claim().as_ptr();
        assert_ne!(first, second);
        ring.claim()[..page].fill(2);
        ring.commit(page);
        assert!(ring.committed()[..page].iter().all(|byte| *byte == 1));
        assert!(ring.committed()[page..].iter().all(|byte| *byte == 2));
    }

    #[test]
    fn behaves_like_a_queue_for_every_count_of_pages() {
        let page = rustix::param::page_size();
        let mut random = fastrand::Rng::with_seed(7);
        let mut draw = |most: usize| random.usize(..=most);
        for pages in 1..=17 {
            let mut ring = MirroredBuffer::new(pages * page).expect("ring");
            let mut oracle = VecDeque::new();
            for step in 0..300 {
                let count = draw(ring.free());
                let bytes: Vec<u8> = (0..count).map(|n| (n * 7 + step) as u8).collect();
                ring.claim()[..count].copy_from_slice(&bytes);
                ring.commit(count);
                oracle.extend(bytes);
                assert_eq!(ring.len(), oracle.len());
                let take = draw(ring.len());
                let taken: Vec<u8> = oracle.drain(..take).collect();
                assert_eq!(ring.committed()[..take], taken[..], "{pages} pages");
                ring.consume(take);
            }
        }
    }

    #[test]
    fn huge_pages_are_an_option_that_says_what_it_got() {
        let ring = MirroredBuffer::with_huge_pages(1).expect("ring");
        let page = if ring.has_huge_pages() { 2 << 20 } else { rustix::param::page_size() };
        assert_eq!(ring.capacity(), page);
        assert!(MirroredBuffer::new(0).is_err() && MirroredBuffer::new(usize::MAX).is_err());
    }
}
