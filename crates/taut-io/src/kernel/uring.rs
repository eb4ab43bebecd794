//! The io_uring kernel: streams are received by multishot into provided buffers, the rest is
//! readiness as completions. While the loop spins, an idle turn is a look at shared memory and no
//! system call; a turn with arrivals is one.
//!
//! Sends go straight by `send(2)`: one system call either way, and no waiting for the end of the
//! turn.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use taut_sys::{
    BufferLease, Doorbell, Interest, Readiness, Socket, SysError, Uring, UringBuffers, UringConfig,
};
use taut_types::Nanos;

use super::linux::{Class, Linux, Notifier};
use super::{Calls, Received};

/// A loop's kernel over io_uring.
///
/// All its streams receive into 1,024 buffers of 16 KiB. A stream that receives holds one from its
/// arrival to its completion. A stream that is paused holds none: what arrives before the pause
/// takes effect is copied out of the buffers, which allocates, and is at most what the socket's own
/// receive buffer held.
pub type UringKernel = Linux<UringNotifier>;

const NONE: u16 = u16::MAX;
const BUFFERS: u16 = 1024;
const BUFFER_BYTES: u32 = 16 * 1024;

/// What a submission was for, in the highest byte of its tag.
const RECEIVE: u64 = 1;
const POLL: u64 = 2;
const POLL_WRITE: u64 = 3;
const IGNORED: u64 = 4;
const BELL: u64 = 5;

/// Why io_uring is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UringRefused {
    /// What the kernel said.
    pub error: SysError,
}

impl UringRefused {
    /// The reason in words.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self.error.errno() {
            38 => "this kernel was built without io_uring",
            1 | 13 => "io_uring is forbidden here (kernel.io_uring_disabled, or a seccomp filter)",
            22 => "this kernel is older than 6.1: no deferred task work or no provided buffers",
            12 => "too little locked memory is allowed (RLIMIT_MEMLOCK)",
            _ => "the kernel refused the ring",
        }
    }
}

impl fmt::Display for UringRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.reason(), self.error)
    }
}

impl core::error::Error for UringRefused {}

/// What is known of a place.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Of its submissions; what an earlier socket of this place submitted is told apart by it.
    generation: u32,
    class: Class,
    is_open: bool,
    /// Bytes are wanted.
    receiving: bool,
    /// A receive is in force.
    armed: bool,
    /// The receive stopped for want of buffers.
    starved: bool,
    /// How the stream ended.
    end: Option<Result<(), SysError>>,
    /// Buffers that wait to be taken, first and last.
    first: u16,
    last: u16,
}

const VACANT: Place = Place {
    generation: 0,
    class: Class::Plain,
    is_open: false,
    receiving: false,
    armed: false,
    starved: false,
    end: None,
    first: NONE,
    last: NONE,
};

/// Bytes that were received.
#[derive(Debug)]
pub enum UringLease {
    /// In a buffer of the ring.
    Buffer(BufferLease),
    /// Copied out of one.
    Kept(Box<[u8]>),
}

/// Learns readiness, and receives streams, through io_uring.
pub struct UringNotifier {
    ring: Uring,
    bell: Doorbell,
    places: Box<[Place]>,
    /// Leases that wait, by buffer, and which buffer follows each.
    waiting: Box<[(Option<BufferLease>, u16)]>,
    /// What paused streams had received, by place: it comes before what waits in buffers.
    kept: Box<[VecDeque<Box<[u8]>>]>,
    memory: UringBuffers,
    starved: Vec<u32>,
}

impl UringKernel {
    /// A kernel with places for `sources_max` sockets.
    ///
    /// # Errors
    /// [`UringRefused`] with the reason: fall back to [`EpollKernel`](super::epoll::EpollKernel).
    pub fn new(sources_max: usize) -> Result<Self, UringRefused> {
        Self::try_new(sources_max).map_err(|error| UringRefused { error })
    }

    fn try_new(sources_max: usize) -> Result<Self, SysError> {
        let (notifier, bell) = UringNotifier::new(sources_max)?;
        Ok(Self::with(notifier, sources_max, bell))
    }
}

fn tag(kind: u64, place: u32, generation: u32) -> u64 {
    kind << 56 | u64::from(generation & 0xff_ffff) << 32 | u64::from(place)
}

impl UringNotifier {
    fn new(sources_max: usize) -> Result<(Self, Doorbell), SysError> {
        let files = u32::try_from(sources_max).unwrap_or(u32::MAX);
        let mut ring = Uring::new(UringConfig {
            submissions: 256,
            completions: 4096,
            buffers: BUFFERS,
            buffer_bytes: BUFFER_BYTES,
            files,
        })?;
        let bell = Doorbell::new()?;
        ring.watch(&bell, BELL << 56)?;
        let notifier = Self {
            memory: ring.buffers(),
            kept: (0..sources_max).map(|_| VecDeque::new()).collect(),
            ring,
            bell: bell.try_clone()?,
            places: alloc::vec![VACANT; sources_max].into_boxed_slice(),
            waiting: (0..BUFFERS).map(|_| (None, NONE)).collect(),
            starved: Vec::with_capacity(sources_max),
        };
        Ok((notifier, bell))
    }

    fn place(&mut self, place: u32) -> Result<&mut Place, SysError> {
        self.places.get_mut(place as usize).ok_or(SysError::from_errno("source", 9))
    }

    /// Puts a receive in force, if bytes are wanted and none is.
    fn arm(&mut self, place: u32) -> Result<(), SysError> {
        let at = self.place(place)?;
        if !at.is_open || !at.receiving || at.armed || at.end.is_some() {
            return Ok(());
        }
        let tag = tag(RECEIVE, place, at.generation);
        self.ring.receive_multishot(place, tag)?;
        self.place(place)?.armed = true;
        Ok(())
    }

    /// Receives again later, when buffers have come back.
    fn starve(&mut self, place: u32) {
        if let Ok(at) = self.place(place)
            && !at.starved
        {
            at.starved = true;
            self.starved.push(place);
        }
    }

    fn append(&mut self, place: u32, lease: BufferLease) {
        let id = lease.id();
        let Some(at) = self.places.get_mut(place as usize) else { return };
        if !at.receiving {
            return self.keep(place, lease);
        }
        if let Some(waiting) = self.waiting.get_mut(usize::from(id)) {
            *waiting = (Some(lease), NONE);
        }
        match self.waiting.get_mut(usize::from(at.last)) {
            Some(before) => before.1 = id,
            None => at.first = id,
        }
        at.last = id;
    }

    /// Copies bytes that nobody wants now, for a stream may be paused for ever, and gives their
    /// buffer back.
    fn keep(&mut self, place: u32, lease: BufferLease) {
        if let Some(kept) = self.kept.get_mut(place as usize) {
            kept.push_back(self.memory.bytes(&lease).into());
        }
        self.ring.give_back(lease);
    }

    fn pop(&mut self, place: u32) -> Option<BufferLease> {
        let at = self.places.get_mut(place as usize)?;
        let (lease, next) = self.waiting.get_mut(usize::from(at.first))?;
        at.first = *next;
        if at.first == NONE {
            at.last = NONE;
        }
        lease.take()
    }

    /// A receive completed: says whether the place has something to take.
    fn received(
        &mut self,
        place: u32,
        result: Result<u32, SysError>,
        lease: Option<BufferLease>,
        continues: bool,
    ) -> bool {
        const NO_BUFFERS: i32 = 105;
        const CANCELLED: i32 = 125;
        let has_bytes = lease.is_some();
        if let Some(lease) = lease {
            self.append(place, lease);
        }
        let Ok(at) = self.place(place) else { return false };
        at.armed = continues;
        let ends = match result {
            Ok(0) if !has_bytes => {
                at.end = Some(Ok(()));
                true
            }
            Err(error) if error.errno() == NO_BUFFERS => {
                self.starve(place);
                false
            }
            Err(error) if error.errno() == CANCELLED => false,
            Err(error) => {
                at.end = Some(Err(error));
                true
            }
            Ok(_) => false,
        };
        if !continues && !ends && !self.places[place as usize].starved && self.arm(place).is_err() {
            // The kernel ended the multishot for a reason of its own, and takes no other one now.
            self.starve(place);
        }
        has_bytes || ends
    }

    /// Buffers came back: those that ran out of them receive again.
    fn feed_the_starved(&mut self) {
        while self.ring.leased() < u32::from(BUFFERS) / 2
            && let Some(place) = self.starved.pop()
        {
            if let Ok(at) = self.place(place) {
                at.starved = false;
                if self.arm(place).is_err() {
                    return self.starve(place);
                }
            }
        }
    }

    /// Hands out every completion that waits. Returns how many places were reported.
    fn drain(&mut self, report: &mut impl FnMut(u32, Readiness)) -> usize {
        let mut reported = 0;
        while let Some(done) = self.ring.next_completion() {
            let place = done.tag as u32;
            let generation = (done.tag >> 32) as u32 & 0xff_ffff;
            let kind = done.tag >> 56;
            let current = self
                .places
                .get(place as usize)
                .is_some_and(|at| at.is_open && at.generation & 0xff_ffff == generation);
            if kind == BELL {
                if !done.continues {
                    // The kernel lets go of what completes again and again when the completions
                    // that wait are too many.
                    let _ = self.ring.watch(&self.bell, BELL << 56);
                }
                reported += 1;
                continue;
            }
            if !current || kind == IGNORED {
                done.lease.into_iter().for_each(|lease| self.ring.give_back(lease));
                continue;
            }
            let ready = match kind {
                RECEIVE => {
                    if !self.received(place, done.result, done.lease, done.continues) {
                        continue;
                    }
                    Readiness { readable: true, writable: false, ended: false }
                }
                _ => done.readiness(),
            };
            if kind == POLL && !done.continues && done.result.is_ok() {
                let poll = tag(POLL, place, generation);
                let _ = self.ring.report_readiness(place, Interest::Read, true, poll);
            }
            reported += 1;
            report(place, ready);
        }
        if !self.starved.is_empty() {
            self.feed_the_starved();
        }
        reported
    }
}

impl Notifier for UringNotifier {
    type Lease = UringLease;
    type Buffers = UringBuffers;

    fn buffers(&mut self) -> UringBuffers {
        self.ring.buffers()
    }

    #[inline]
    fn bytes<'b>(buffers: &'b UringBuffers, lease: &'b UringLease) -> &'b [u8] {
        match lease {
            UringLease::Buffer(lease) => buffers.bytes(lease),
            UringLease::Kept(bytes) => bytes,
        }
    }

    #[inline]
    fn release(&mut self, lease: UringLease) {
        let UringLease::Buffer(lease) = lease else { return };
        self.ring.give_back(lease);
        if !self.starved.is_empty() {
            self.feed_the_starved();
        }
    }

    fn attach(&mut self, place: u32, socket: &Socket, class: Class) -> Result<(), SysError> {
        self.ring.register_file(place, socket)?;
        let at = self.place(place)?;
        let generation = at.generation;
        *at = Place { generation, class, is_open: true, ..VACANT };
        match class {
            Class::Stream | Class::Datagram => Ok(()),
            Class::Listener => {
                let tag = tag(POLL, place, generation);
                self.ring.report_readiness(place, Interest::Read, true, tag)
            }
            Class::Plain => {
                let write = tag(POLL_WRITE, place, generation);
                self.ring.report_readiness(place, Interest::Write, false, write)
            }
        }
    }

    fn connected(&mut self, place: u32) -> Result<(), SysError> {
        self.place(place)?.class = Class::Stream;
        Ok(())
    }

    fn detach(&mut self, place: u32, _socket: &Socket) {
        let Ok(at) = self.place(place) else { return };
        let (generation, armed, class) = (at.generation, at.armed, at.class);
        at.is_open = false;
        at.generation = generation.wrapping_add(1);
        while let Some(lease) = self.pop(place) {
            self.ring.give_back(lease);
        }
        self.kept[place as usize].clear();
        self.starved.retain(|starved| *starved != place);
        let ignored = IGNORED << 56;
        if armed {
            let _ = self.ring.cancel(tag(RECEIVE, place, generation), ignored);
        }
        if class != Class::Stream || !armed {
            let _ = self.ring.cancel(tag(POLL, place, generation), ignored);
        }
        let _ = self.ring.cancel(tag(POLL_WRITE, place, generation), ignored);
        // Now, for an operation in force keeps the socket open after its descriptor is closed.
        let _ = self.ring.enter(Some(Nanos::ZERO));
        let _ = self.ring.forget_file(place);
    }

    fn start_receiving(&mut self, place: u32) -> Result<(), SysError> {
        let at = self.place(place)?;
        at.receiving = true;
        let generation = at.generation;
        match at.class {
            // What could not be started is not wanted: the caller is told, and may ask again.
            Class::Stream => self.arm(place).inspect_err(|_| {
                let _ = self.place(place).map(|at| at.receiving = false);
            }),
            _ => {
                let tag = tag(POLL, place, generation);
                self.ring.report_readiness(place, Interest::Read, true, tag)
            }
        }
    }

    fn watch(&mut self, place: u32) -> Result<(), SysError> {
        // It is read by calls: what the ring took before would be overtaken.
        let at = self.place(place)?;
        if at.first != NONE || at.armed {
            return Err(SysError::from_errno("watch while receiving", 16));
        }
        if at.class == Class::Stream {
            at.class = Class::Plain;
        }
        self.start_receiving(place)
    }

    fn stop_receiving(&mut self, place: u32) -> Result<(), SysError> {
        let at = self.place(place)?;
        at.receiving = false;
        let kind = if at.class == Class::Stream { RECEIVE } else { POLL };
        let generation = at.generation;
        while let Some(lease) = self.pop(place) {
            self.keep(place, lease);
        }
        if !self.starved.is_empty() {
            self.feed_the_starved();
        }
        self.ring.cancel(tag(kind, place, generation), IGNORED << 56)
    }

    fn want_writable(&mut self, place: u32) -> Result<(), SysError> {
        let generation = self.place(place)?.generation;
        let tag = tag(POLL_WRITE, place, generation);
        self.ring.report_readiness(place, Interest::Write, false, tag)
    }

    fn set_hot(&mut self, place: u32, _socket: &Socket, hot: bool) -> Result<(), SysError> {
        // A hot stream is received by calls: what the ring took before would be overtaken.
        if hot {
            let has_kept = self.kept.get(place as usize).is_some_and(|kept| !kept.is_empty());
            let at = self.place(place)?;
            if at.first != NONE || at.armed || has_kept {
                return Err(SysError::from_errno("set hot while receiving", 16));
            }
            at.class = Class::Plain;
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, place: u32) -> Option<Result<Received<UringLease>, SysError>> {
        let at = *self.places.get(place as usize)?;
        if at.class != Class::Stream {
            return None;
        }
        let kept = self.kept.get_mut(place as usize)?;
        let lease = match kept.pop_front() {
            Some(bytes) => Some(UringLease::Kept(bytes)),
            None => self.pop(place).map(UringLease::Buffer),
        };
        if let Some(lease) = lease {
            let at = self.places.get(place as usize)?;
            let has_kept = self.kept.get(place as usize).is_some_and(|kept| !kept.is_empty());
            let more = has_kept || at.first != NONE || at.end.is_some();
            return Some(Ok(Received::Some { lease, more }));
        }
        Some(match at.end {
            None => Ok(Received::Nothing),
            Some(Ok(())) => Ok(Received::End),
            Some(Err(error)) => Err(error),
        })
    }

    #[inline]
    fn wait(
        &mut self,
        span: Option<Nanos>,
        calls: &mut Calls,
        report: &mut impl FnMut(u32, Readiness),
    ) -> Result<usize, SysError> {
        if span == Some(Nanos::ZERO) {
            if !self.ring.has_work() {
                return Ok(self.drain(report));
            }
            self.ring.enter(span)?;
            let reported = self.drain(report);
            if reported == 0 {
                calls.idle += 1;
            } else {
                calls.io += 1;
            }
            return Ok(reported);
        }
        let reported = self.drain(report);
        if reported > 0 {
            return Ok(reported);
        }
        calls.io += 1;
        self.ring.enter(span)?;
        Ok(self.drain(report))
    }
}

impl fmt::Debug for UringNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UringNotifier").field("ring", &self.ring).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
