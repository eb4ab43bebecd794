//! The epoll kernel: edge-triggered, one registration for the life of a socket. A message costs one
//! wait and one receive; a burst shares the wait.

use core::fmt;

use taut_sys::{Doorbell, Epoll, Interest, Readiness, Socket, SysError};
use taut_types::Nanos;

use super::linux::{Class, Linux, Notifier};
use super::{Calls, Received};

/// Events of one wait.
const EVENTS_MAX: usize = 256;
const BELL: u64 = u64::MAX;

/// A loop's kernel over epoll.
pub type EpollKernel = Linux<EpollNotifier>;

/// Learns readiness from epoll.
pub struct EpollNotifier {
    epoll: Epoll,
}

impl EpollKernel {
    /// A kernel with places for `sources_max` sockets.
    ///
    /// # Errors
    /// What epoll says.
    pub fn new(sources_max: usize) -> Result<Self, SysError> {
        let (epoll, bell) = (Epoll::new(EVENTS_MAX)?, Doorbell::new()?);
        // Each ring is an edge: the counter is never read.
        epoll.add(&bell, BELL, Interest::Read)?;
        Ok(Self::with(EpollNotifier { epoll }, sources_max, bell))
    }

    /// The set itself, readable when a wait would report something: for a caller that sleeps on
    /// more than the loop's sources.
    #[must_use]
    pub const fn set(&self) -> &Epoll {
        &self.notifier().epoll
    }
}

impl Notifier for EpollNotifier {
    type Lease = core::convert::Infallible;
    type Buffers = ();

    fn buffers(&mut self) {}

    fn bytes<'b>((): &'b (), lease: &'b Self::Lease) -> &'b [u8] {
        match *lease {}
    }

    fn release(&mut self, lease: Self::Lease) {
        match lease {}
    }

    fn attach(&mut self, place: u32, socket: &Socket, class: Class) -> Result<(), SysError> {
        let interest = match class {
            // A datagram that finds no room is its sender's to repeat: nobody is told of room.
            Class::Listener | Class::Datagram => Interest::Read,
            Class::Stream | Class::Plain => Interest::Both,
        };
        self.epoll.add(socket, u64::from(place), interest)
    }

    fn connected(&mut self, _place: u32) -> Result<(), SysError> {
        Ok(())
    }

    fn detach(&mut self, _place: u32, socket: &Socket) {
        // Closing takes it out of the set only if nobody else holds it too, as a parent or a child
        // may; whoever has the place next would hear of it.
        let _ = self.epoll.remove(socket);
    }

    fn start_receiving(&mut self, _place: u32) -> Result<(), SysError> {
        // An edge that came before is remembered by the loop.
        Ok(())
    }

    fn watch(&mut self, _place: u32) -> Result<(), SysError> {
        Ok(())
    }

    fn stop_receiving(&mut self, _place: u32) -> Result<(), SysError> {
        Ok(())
    }

    fn want_writable(&mut self, _place: u32) -> Result<(), SysError> {
        Ok(())
    }

    fn set_hot(&mut self, place: u32, socket: &Socket, hot: bool) -> Result<(), SysError> {
        let interest = if hot { Interest::Write } else { Interest::Both };
        self.epoll.change(socket, u64::from(place), interest)
    }

    fn take(&mut self, _place: u32) -> Option<Result<Received<Self::Lease>, SysError>> {
        None
    }

    #[inline]
    fn wait(
        &mut self,
        span: Option<Nanos>,
        calls: &mut Calls,
        report: &mut impl FnMut(u32, Readiness),
    ) -> Result<usize, SysError> {
        let count = self.epoll.wait(span)?;
        if count == 0 && span == Some(Nanos::ZERO) {
            calls.idle += 1;
            return Ok(0);
        }
        calls.io += 1;
        for index in 0..count {
            if let Some((token, ready)) = self.epoll.event(index)
                && let Ok(place) = u32::try_from(token)
            {
                report(place, ready);
            }
        }
        Ok(count)
    }
}

impl fmt::Debug for EpollNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EpollNotifier")
    }
}
