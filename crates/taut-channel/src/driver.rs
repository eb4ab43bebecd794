//! What a channel's driver has to do, for each end.
//!
//! A driver is an object that is polled by the caller's thread: no thread, no clock of its own, no
//! sleep outside `block`. What it needs of time it is told as `now` (CLOCK_MONOTONIC).

use std::os::fd::BorrowedFd;

use taut_sys::{Address, POLL_FDS_MAX, Wanted, wait_ready};
use taut_types::Nanos;

use crate::counters::{Counters, SubscriberCounters};
use crate::event::Event;
use crate::loss::Loss;
use crate::message::{Action, Message};
use crate::offer::OfferError;
use crate::spied::Spied;

/// What every driver is told when it is opened, besides its URI.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening {
    /// The time.
    pub now: Nanos,
    /// Loss to inject, per datagram. A driver without datagrams refuses it.
    pub loss: Option<Loss>,
}

/// The publishing end of a channel.
pub(crate) trait PublicationDriver {
    /// Takes a message, given in parts, or says why not. What is taken may wait for
    /// [`PublicationDriver::work`] before it is sent. Returns the position behind it.
    fn offer(&mut self, now: Nanos, topic: &[u8], parts: &[&[u8]]) -> Result<u64, OfferError>;

    /// Whether a message of this length would be taken now; if so, the next offer takes it.
    fn room(&mut self, now: Nanos, bytes: usize) -> Result<(), OfferError>;

    /// The duty: sends what waits, receives what peers say, keeps the timers. Returns how much
    /// there was to do; 0 means idle.
    fn work(&mut self, now: Nanos) -> usize;

    /// The next event, if there is one.
    fn poll_event(&mut self) -> Option<Event>;

    /// What a spy of it is told of the stream.
    fn spied(&self) -> Spied {
        Spied::default()
    }

    /// Spies look on now, or not.
    fn set_spied(&mut self, _is_spied: bool) {}

    /// Subscribers now.
    fn subscriber_count(&self) -> usize;

    /// Bytes that were taken and that some subscriber, as far as is known, does not have.
    fn unacknowledged_bytes(&self) -> u64;

    /// Takes no more, and ends the stream in good order while `work` is called.
    fn close(&mut self, now: Nanos);

    /// Whether the stream has ended: everybody has everything, or is gone.
    fn is_closed(&self) -> bool;

    /// What it has done; the poll gap is not its business.
    fn counters(&self) -> Counters;

    /// What it counted for each subscriber, and for those that left lately.
    fn subscribers(&self) -> Vec<SubscriberCounters> {
        Vec::new()
    }

    /// When `work` must be called at the latest.
    fn next_timeout(&self) -> Option<Nanos>;

    /// What to wait for.
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::default()
    }

    /// Sleeps until something may be to do, at most for a span.
    fn block(&mut self, span: Nanos) {
        self.descriptors().wait(span);
    }

    /// Where it is bound, with the real port.
    fn local_address(&self) -> Option<Address> {
        None
    }
}

/// The subscribing end of a channel.
pub(crate) trait SubscriptionDriver {
    /// The duty, and hands over at most `limit` messages. Returns how many. Of a message that the
    /// handler [aborts](Action::Abort) nothing is consumed.
    fn poll<H>(&mut self, now: Nanos, limit: usize, handler: &mut H) -> usize
    where
        H: FnMut(Message<'_>) -> Action;

    /// The next event, if there is one.
    fn poll_event(&mut self) -> Option<Event>;

    /// Images now.
    fn image_count(&self) -> usize;

    /// Leaves: says so where the wire can.
    fn close(&mut self, now: Nanos);

    /// Whether it has left.
    fn is_closed(&self) -> bool;

    /// What it has done; the poll gap is not its business.
    fn counters(&self) -> Counters;

    /// When `poll` must be called at the latest.
    fn next_timeout(&self) -> Option<Nanos>;

    /// What to wait for.
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::default()
    }

    /// Sleeps until something may be to do, at most for a span.
    fn block(&mut self, span: Nanos) {
        self.descriptors().wait(span);
    }

    /// Where it is bound, with the real port.
    fn local_address(&self) -> Option<Address> {
        None
    }
}

/// Descriptors that end a wait: at most [`POLL_FDS_MAX`]. A driver of many sockets has one epoll
/// set for them and names that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Descriptors<'a> {
    wanted: [Option<Wanted<'a>>; POLL_FDS_MAX],
    count: usize,
}

impl<'a> Descriptors<'a> {
    /// These descriptors, and one more: readable, and writable if `write`. Beyond the most there is
    /// no room, and a wait ends by its span.
    #[must_use]
    pub fn and(mut self, fd: BorrowedFd<'a>, write: bool) -> Self {
        if let Some(place) = self.wanted.get_mut(self.count) {
            *place = Some(Wanted { fd, write });
            self.count += 1;
        }
        self
    }

    /// They, one by one.
    pub fn iter(&self) -> impl Iterator<Item = Wanted<'a>> + '_ {
        self.wanted.iter().flatten().copied()
    }

    /// Waits until one of them is ready, at most for a span.
    pub fn wait(&self, span: Nanos) {
        let mut wanted = self.iter();
        let Some(first) = wanted.next() else {
            let _ = wait_ready(&[], Some(span));
            return;
        };
        let mut all = [first; POLL_FDS_MAX];
        for (place, next) in all.iter_mut().skip(1).zip(wanted) {
            *place = next;
        }
        // An interruption, and a failure too, is a look at the work.
        let _ = wait_ready(&all[..self.count], Some(span));
    }
}
