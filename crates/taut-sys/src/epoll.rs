//! Epoll, edge-triggered: a descriptor is registered once and stays so until it is taken out, or
//! until it and all copies of it are closed.

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags};
use taut_types::Nanos;

use crate::error::{SysError, SysResult};

/// What a descriptor is ready for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Something arrived, or the end did.
    pub readable: bool,
    /// The kernel takes bytes again, or a connection ended its set-up.
    pub writable: bool,
    /// The peer closed its sending half, or the connection failed: read on until the end, for no
    /// further edge announces it.
    pub ended: bool,
}

impl Readiness {
    pub(crate) fn from_bits(bits: u32) -> Self {
        let has = |mask: i32| bits & mask.cast_unsigned() != 0;
        // An error condition alone ends nothing: an ICMP answer, or a send timestamp that waits. A
        // connection that broke hangs up besides.
        let ended = has(libc::EPOLLRDHUP | libc::EPOLLHUP);
        Self {
            readable: has(libc::EPOLLIN | libc::EPOLLERR) || ended,
            writable: has(libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR),
            ended,
        }
    }
}

/// What to report of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Both directions.
    Both,
    /// Reading only.
    Read,
    /// Writing only: somebody else looks for what arrives.
    Write,
}

impl Interest {
    pub(crate) const fn bits(self) -> u32 {
        let bits = match self {
            Self::Both => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP,
            Self::Read => libc::EPOLLIN | libc::EPOLLRDHUP,
            Self::Write => libc::EPOLLOUT,
        };
        bits.cast_unsigned()
    }
}

/// An epoll set with room for the events of one wait.
pub struct Epoll {
    fd: OwnedFd,
    events: Box<[libc::epoll_event]>,
}

impl Epoll {
    /// A set that takes at most `events_max` events at a time.
    ///
    /// # Errors
    /// What `epoll_create1(2)` says.
    pub fn new(events_max: usize) -> Result<Self, SysError> {
        let fd = epoll::create(CreateFlags::CLOEXEC).during("create epoll")?;
        let empty = libc::epoll_event { events: 0, u64: 0 };
        Ok(Self { fd, events: vec![empty; events_max.max(1)].into_boxed_slice() })
    }

    /// Reports edges of `fd` as `token` from now on; what is ready already is reported first.
    ///
    /// # Errors
    /// What `epoll_ctl(2)` says; `EPERM` for a regular file.
    pub fn add(&self, fd: &impl AsFd, token: u64, interest: Interest) -> Result<(), SysError> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest)
    }

    /// Changes what is reported; what is ready is reported again.
    ///
    /// # Errors
    /// What `epoll_ctl(2)` says.
    pub fn change(&self, fd: &impl AsFd, token: u64, interest: Interest) -> Result<(), SysError> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest)
    }

    /// Reports nothing of `fd` any more. Closing does that only where no other process, and no copy
    /// in this one, holds the same open file.
    ///
    /// # Errors
    /// What `epoll_ctl(2)` says: `ENOENT` for one that is not in the set.
    pub fn remove(&self, fd: &impl AsFd) -> Result<(), SysError> {
        // Its interest is not looked at.
        self.control(libc::EPOLL_CTL_DEL, fd, 0, Interest::Both)
    }

    /// Waits until something is ready or the span is over; no span waits for ever, a zero one not
    /// at all. Returns how many events [`Epoll::event`] holds. Nanosecond spans. Cost: one system
    /// call.
    ///
    /// # Errors
    /// What `epoll_pwait2(2)` says; an interruption is no event.
    #[inline]
    pub fn wait(&mut self, span: Option<Nanos>) -> Result<usize, SysError> {
        let fd = self.fd.as_raw_fd();
        let room = i32::try_from(self.events.len()).unwrap_or(i32::MAX);
        let events = self.events.as_mut_ptr();
        let got = match span {
            // SAFETY: the kernel writes at most `room` events, the length of the slice.
            Some(Nanos(..=0)) => unsafe { libc::epoll_wait(fd, events, room, 0) },
            span => {
                let time = span.map(|span| libc::timespec {
                    tv_sec: span.0 / 1_000_000_000,
                    tv_nsec: span.0 % 1_000_000_000,
                });
                let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
                // SAFETY: as above; the time is null or lives until the end of the call, and no
                // signal mask is given.
                unsafe { libc::epoll_pwait2(fd, events, room, time, std::ptr::null()) }
            }
        };
        match usize::try_from(got) {
            Ok(count) => Ok(count),
            Err(_) => match SysError::last("wait") {
                error if error.errno() == libc::EINTR => Ok(0),
                error => Err(error),
            },
        }
    }

    /// The event at `index` of the last wait: its token and what is ready.
    #[inline]
    #[must_use]
    pub fn event(&self, index: usize) -> Option<(u64, Readiness)> {
        let event = self.events.get(index)?;
        Some((event.u64, Readiness::from_bits(event.events)))
    }

    fn control(
        &self,
        operation: i32,
        fd: &impl AsFd,
        token: u64,
        interest: Interest,
    ) -> Result<(), SysError> {
        let events = interest.bits() | libc::EPOLLET.cast_unsigned();
        let mut event = libc::epoll_event { events, u64: token };
        let (set, fd) = (self.fd.as_raw_fd(), fd.as_fd().as_raw_fd());
        // SAFETY: both descriptors are borrowed and open; the kernel only reads the event.
        let result = unsafe { libc::epoll_ctl(set, operation, fd, &raw mut event) };
        if result == 0 { Ok(()) } else { Err(SysError::last("register")) }
    }
}

/// The set is readable while an event waits: for a wait within a wait.
impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl fmt::Debug for Epoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epoll").field("fd", &self.fd).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Socket;

    #[test]
    fn reports_an_edge_once_and_the_end_with_it() {
        let (near, far) = Socket::pair().expect("pair");
        let mut epoll = Epoll::new(4).expect("epoll");
        epoll.add(&near, 7, Interest::Read).expect("add");
        assert_eq!(epoll.wait(Some(Nanos::ZERO)), Ok(0));
        far.send(b"tick").expect("send");
        assert_eq!(epoll.wait(None), Ok(1));
        let (token, ready) = epoll.event(0).expect("event");
        assert!(token == 7 && ready.readable && !ready.ended);
        assert_eq!(epoll.wait(Some(Nanos(1))), Ok(0), "the edge was reported");
        drop(far);
        assert_eq!(epoll.wait(None), Ok(1));
        assert!(epoll.event(0).expect("event").1.ended);
    }
}
