//! io_uring as far as the loop uses it, behind a safe surface: multishot receive into buffers that
//! the ring owns, readiness as completions, registered files, deferred task work.
//!
//! The memory that the kernel writes to belongs to a [`UringBuffers`], which ring and caller share.
//! A completion of received bytes carries a [`BufferLease`]: the kernel does not touch that buffer
//! until the lease is given back. A lease that is dropped instead is a buffer lost, not a danger.

use std::fmt;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::Arc;

use io_uring::types::{BufRingEntry, Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::mm::{MapFlags, ProtFlags};
use taut_sync::atomic::{AtomicU16, AtomicU64, Ordering};
use taut_types::Nanos;

use crate::epoll::{Interest, Readiness};
use crate::error::{SysError, SysResult};

/// Sizes of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UringConfig {
    /// Submissions that one enter can carry.
    pub submissions: u32,
    /// Completions that can wait.
    pub completions: u32,
    /// Receive buffers; a power of two, at most 32768.
    pub buffers: u16,
    /// Bytes of one buffer.
    pub buffer_bytes: u32,
    /// Places for registered files.
    pub files: u32,
}

/// How many rings there have been: a lease names its ring by a number, for addresses come again.
static RINGS: AtomicU64 = AtomicU64::new(0);

/// The one buffer group of a ring.
const GROUP: u16 = 0;

/// Anonymous memory that the kernel and this process share.
struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process and not to a thread; who dereferences it answers for
// races, and here one ring's thread does.
unsafe impl Send for Memory {}
// SAFETY: as for Send.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(bytes: usize) -> Result<Self, SysError> {
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice replaces nothing.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::POPULATE,
            )
        }
        .during("map ring buffers")?;
        match NonNull::new(start.cast::<u8>()) {
            Some(start) => Ok(Self { start, bytes }),
            None => Err(SysError::from_errno("map ring buffers", libc::ENOMEM)),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the mmap that made this value; nobody holds a
        // borrow of it, since borrows go through an `Arc` of this value.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// The receive buffers of a ring.
#[derive(Clone)]
pub struct UringBuffers {
    memory: Arc<Memory>,
    /// Which ring's.
    ring: u64,
    buffer_bytes: u32,
}

/// A received run of bytes: a buffer that the kernel left to us.
pub struct BufferLease {
    /// Which ring's buffer it is.
    ring: u64,
    id: u16,
    length: u32,
}

impl BufferLease {
    /// Which buffer of its ring it is, below the count of buffers.
    #[must_use]
    pub const fn id(&self) -> u16 {
        self.id
    }

    /// How many bytes were received.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.length as usize
    }
}

impl UringBuffers {
    /// The bytes of a lease; empty if it is another ring's.
    #[inline]
    #[must_use]
    pub fn bytes<'b>(&'b self, lease: &'b BufferLease) -> &'b [u8] {
        if lease.ring != self.ring || lease.length > self.buffer_bytes {
            return &[];
        }
        let offset = usize::from(lease.id) * self.buffer_bytes as usize;
        // SAFETY: the ring makes leases only for buffers inside this memory (same ring) that the
        // kernel has handed over, and the kernel does not write to one again before the lease is
        // consumed by `Uring::give_back`, which this borrow of the lease forbids. The length is at
        // most the buffer's. The memory lives as long as `self`.
        unsafe {
            std::slice::from_raw_parts(
                self.memory.start.as_ptr().add(offset),
                lease.length as usize,
            )
        }
    }
}

/// What a completion says.
#[derive(Debug)]
pub struct UringCompletion {
    /// The tag of its submission.
    pub tag: u64,
    /// A count of bytes or a set of poll bits, or the error of the operation.
    pub result: Result<u32, SysError>,
    /// The buffer that holds what was received.
    pub lease: Option<BufferLease>,
    /// The submission stays in force and completes again.
    pub continues: bool,
}

impl UringCompletion {
    /// The result of a readiness submission.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        Readiness::from_bits(self.result.unwrap_or(libc::EPOLLERR.cast_unsigned()))
    }
}

/// An io_uring instance that one thread owns.
pub struct Uring {
    // Before the memory: the kernel must let go of the buffers first.
    ring: IoUring,
    buffers: UringBuffers,
    entries: Memory,
    buffer_count: u16,
    tail: u16,
    files: u32,
    leased: u32,
}

impl Uring {
    /// Sets up a ring with deferred task work, registered files and a ring of provided buffers.
    ///
    /// # Errors
    /// What the kernel refuses, by name: `ENOSYS`/`EPERM` without io_uring, `EINVAL` for a kernel
    /// before 6.1 (deferred task work) or 5.19 (provided buffer rings).
    pub fn new(config: UringConfig) -> Result<Self, SysError> {
        if !config.buffers.is_power_of_two() || config.buffer_bytes == 0 {
            return Err(SysError::from_errno("ring buffers", libc::EINVAL));
        }
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_cqsize(config.completions)
            .setup_clamp()
            .dontfork()
            .build(config.submissions)
            .map_err(|error| from_io("set up ring", &error))?;
        ring.submitter()
            .register_files_sparse(config.files)
            .map_err(|error| from_io("register files", &error))?;
        let bytes = usize::from(config.buffers) * config.buffer_bytes as usize;
        let buffers = UringBuffers {
            memory: Arc::new(Memory::new(bytes)?),
            // Relaxed: that no two are the same is all that counts.
            ring: RINGS.fetch_add(1, Ordering::Relaxed),
            buffer_bytes: config.buffer_bytes,
        };
        let entries = Memory::new(usize::from(config.buffers) * size_of::<BufRingEntry>())?;
        let address = entries.start.as_ptr() as u64;
        // SAFETY: the address is of a page-aligned mapping of `buffers` entries, which this value
        // owns and unmaps only after the ring is gone (field order).
        unsafe { ring.submitter().register_buf_ring_with_flags(address, config.buffers, GROUP, 0) }
            .map_err(|error| from_io("register buffers", &error))?;
        let (buffer_count, files) = (config.buffers, config.files);
        let mut uring = Self { ring, buffers, entries, buffer_count, tail: 0, files, leased: 0 };
        (0..config.buffers).for_each(|id| uring.provide(id));
        Ok(uring)
    }

    /// The memory of the receive buffers, to read leases with.
    #[must_use]
    pub fn buffers(&self) -> UringBuffers {
        self.buffers.clone()
    }

    /// Buffers that are leased out.
    #[must_use]
    pub const fn leased(&self) -> u32 {
        self.leased
    }

    /// Registers a file in a place, so that operations need not look it up.
    ///
    /// # Errors
    /// `EINVAL` beyond the places; what the kernel says.
    pub fn register_file(&self, place: u32, fd: &impl AsFd) -> Result<(), SysError> {
        self.update_file(place, fd.as_fd().as_raw_fd())
    }

    /// Forgets the file in a place.
    ///
    /// # Errors
    /// As for [`Uring::register_file`].
    pub fn forget_file(&self, place: u32) -> Result<(), SysError> {
        self.update_file(place, -1)
    }

    /// Receives from the stream in `place` until told otherwise: each arrival completes with a
    /// leased buffer.
    ///
    /// # Errors
    /// When the submission queue cannot be emptied.
    pub fn receive_multishot(&mut self, place: u32, tag: u64) -> Result<(), SysError> {
        self.submit(&opcode::RecvMulti::new(Fixed(place), GROUP).build().user_data(tag))
    }

    /// Completes when the file in `place` is ready; `every_time` for each edge, else once.
    ///
    /// # Errors
    /// When the submission queue cannot be emptied.
    pub fn report_readiness(
        &mut self,
        place: u32,
        interest: Interest,
        every_time: bool,
        tag: u64,
    ) -> Result<(), SysError> {
        let poll = opcode::PollAdd::new(Fixed(place), interest.bits()).multi(every_time);
        self.submit(&poll.build().user_data(tag))
    }

    /// As [`Uring::report_readiness`], every time, for a file that is not registered: the doorbell.
    ///
    /// # Errors
    /// When the submission queue cannot be emptied.
    pub fn watch(&mut self, fd: &impl AsFd, tag: u64) -> Result<(), SysError> {
        let fd = Fd(fd.as_fd().as_raw_fd());
        let poll = opcode::PollAdd::new(fd, Interest::Read.bits()).multi(true);
        self.submit(&poll.build().user_data(tag))
    }

    /// Takes the submission of a tag back; it completes once more, with `ECANCELED`, and the
    /// cancellation itself completes as `tag_of_cancel`.
    ///
    /// # Errors
    /// When the submission queue cannot be emptied.
    pub fn cancel(&mut self, tag: u64, tag_of_cancel: u64) -> Result<(), SysError> {
        self.submit(&opcode::AsyncCancel::new(tag).build().user_data(tag_of_cancel))
    }

    /// Whether an enter would do something: submissions wait, or the kernel has work for us. A look
    /// at shared memory, no system call.
    #[inline]
    #[must_use]
    pub fn has_work(&mut self) -> bool {
        let submissions = self.ring.submission();
        submissions.taskrun() || submissions.cq_overflow() || !submissions.is_empty()
    }

    /// Submits, runs the kernel's deferred work, and waits for a completion for at most `span` (no
    /// span waits for ever, a zero one not at all). Cost: one system call.
    ///
    /// # Errors
    /// What `io_uring_enter(2)` says; the end of the span and an interruption are not errors.
    pub fn enter(&mut self, span: Option<Nanos>) -> Result<(), SysError> {
        let submitter = self.ring.submitter();
        let result = match span {
            Some(Nanos(..=0)) => submitter.submit(),
            None => submitter.submit_and_wait(1),
            Some(span) => {
                let time = Timespec::from(std::time::Duration::from_nanos(span.0.unsigned_abs()));
                submitter.submit_with_args(1, &SubmitArgs::new().timespec(&time))
            }
        };
        match result {
            Ok(_) => Ok(()),
            Err(error) => match from_io("enter ring", &error) {
                ended if matches!(ended.errno(), libc::ETIME | libc::EINTR | libc::EBUSY) => Ok(()),
                error => Err(error),
            },
        }
    }

    /// The next completion, if there is one. No system call.
    #[inline]
    pub fn next_completion(&mut self) -> Option<UringCompletion> {
        let entry = self.ring.completion().next()?;
        let (flags, result) = (entry.flags(), entry.result());
        let length = result.max(0).cast_unsigned();
        let lease = cqueue::buffer_select(flags).map(|id| {
            self.leased += 1;
            BufferLease { ring: self.buffers.ring, id, length }
        });
        let result = if result < 0 {
            Err(SysError::from_errno("receive", -result))
        } else {
            Ok(result.cast_unsigned())
        };
        Some(UringCompletion {
            tag: entry.user_data(),
            result,
            lease,
            continues: cqueue::more(flags),
        })
    }

    /// Gives a buffer back to the kernel. No system call.
    #[inline]
    pub fn give_back(&mut self, lease: BufferLease) {
        if lease.ring == self.buffers.ring {
            self.leased = self.leased.saturating_sub(1);
            self.provide(lease.id);
        }
    }

    fn provide(&mut self, id: u16) {
        let place = usize::from(self.tail & (self.buffer_count - 1));
        let entries = self.entries.start.as_ptr().cast::<BufRingEntry>();
        let buffer_bytes = self.buffers.buffer_bytes;
        let offset = usize::from(id) * buffer_bytes as usize;
        // SAFETY: `place` is below the count of entries in the mapping, which is a power of two.
        // The kernel reads an entry only after the tail below has passed it, so this thread alone
        // touches it now; the count of buffers bounds `id`, so the address lies in the memory.
        unsafe {
            let entry = &mut *entries.add(place);
            entry.set_addr(self.buffers.memory.start.as_ptr().add(offset) as u64);
            entry.set_len(buffer_bytes);
            entry.set_bid(id);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail is a u16 inside the first entry of this mapping, aligned to two bytes,
        // alive as long as `self`; the kernel only reads it, and we write it atomically.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut()) };
        // Release: the kernel, which acquires the tail, sees the entry.
        tail.store(self.tail, Ordering::Release);
    }

    fn submit(&mut self, entry: &squeue::Entry) -> Result<(), SysError> {
        for _ in 0..2 {
            // SAFETY: the entries made above hold no pointer to memory of ours except through the
            // buffer group, which outlives the ring; descriptors are registered or are watched for
            // as long as the ring's owner keeps them, and a closed one fails with EBADF.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            // Full: the kernel takes what is queued.
            self.enter(Some(Nanos::ZERO))?;
        }
        Err(SysError::from_errno("submit", libc::EBUSY))
    }

    fn update_file(&self, place: u32, fd: i32) -> Result<(), SysError> {
        if place >= self.files {
            return Err(SysError::from_errno("register file", libc::EINVAL));
        }
        let updated = self.ring.submitter().register_files_update(place, &[fd]);
        updated.map(drop).map_err(|error| from_io("register file", &error))
    }
}

fn from_io(operation: &'static str, error: &std::io::Error) -> SysError {
    SysError::from_errno(operation, error.raw_os_error().unwrap_or(libc::EIO))
}

impl fmt::Debug for Uring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uring").field("leased", &self.leased).finish_non_exhaustive()
    }
}

impl fmt::Debug for UringBuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UringBuffers").field("bytes", &self.memory.bytes).finish_non_exhaustive()
    }
}

impl fmt::Debug for BufferLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferLease({}, {} bytes)", self.id, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Socket;

    const CONFIG: UringConfig =
        UringConfig { submissions: 8, completions: 64, buffers: 4, buffer_bytes: 64, files: 4 };

    #[test]
    fn each_arrival_completes_with_a_buffer_and_the_end_with_nothing() {
        let Ok(mut ring) = Uring::new(CONFIG) else {
            println!("skipped: this kernel refuses io_uring");
            return;
        };
        let buffers = ring.buffers();
        let (near, far) = Socket::pair().expect("pair");
        ring.register_file(2, &near).expect("register");
        ring.receive_multishot(2, 42).expect("receive");
        ring.enter(Some(Nanos::ZERO)).expect("enter");
        for round in 0..20u8 {
            far.send(&[round; 5]).expect("send");
            ring.enter(Some(Nanos::from_secs(5))).expect("enter");
            let completion = ring.next_completion().expect("a completion");
            assert!(completion.continues && completion.tag == 42);
            let lease = completion.lease.expect("a buffer");
            assert_eq!(buffers.bytes(&lease), [round; 5]);
            ring.give_back(lease);
        }
        drop(far);
        ring.enter(Some(Nanos::from_secs(5))).expect("enter");
        let end = ring.next_completion().expect("the end");
        assert_eq!((end.result, end.continues), (Ok(0), false));
    }

    #[test]
    fn a_lease_of_a_ring_that_is_gone_reads_nothing_of_the_next_one() {
        // The next ring's memory may be where the first one's was, and its buffers may be fewer.
        for _ in 0..64 {
            let large = UringConfig { buffers: 1024, buffer_bytes: 64 * 1024, ..CONFIG };
            let Ok(mut first) = Uring::new(large) else {
                println!("skipped: this kernel refuses io_uring");
                return;
            };
            let (near, far) = Socket::pair().expect("pair");
            first.register_file(0, &near).expect("register");
            first.receive_multishot(0, 1).expect("receive");
            far.send(b"secret").expect("send");
            first.enter(Some(Nanos::from_secs(5))).expect("enter");
            let lease = first.next_completion().and_then(|done| done.lease).expect("a buffer");
            drop(first);
            let mut second = Uring::new(CONFIG).expect("a ring");
            assert_eq!(second.buffers().bytes(&lease), b"", "another ring's buffer");
            let leased = second.leased();
            second.give_back(lease);
            assert_eq!(second.leased(), leased);
        }
    }
}
