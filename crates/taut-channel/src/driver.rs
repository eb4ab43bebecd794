//! What a channel's driver has to do, for each end.
//!
//! A driver is an object that is polled by the caller's thread: no thread, no clock of its own, no
//! sleep. What it needs of time it is told as `now` (CLOCK_MONOTONIC). Its sockets are sources of
//! the loop that it is given with each call, always the same one; a channel in memory has none.
//!
//! A driver notes what the loop completes, and acts on it in its duty: so one order of events holds
//! on a loop of its own and on a shared one.

use taut_io::{Completion, Handle, Io, Kernel};
use taut_sys::Address;
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
    /// Where session ids, nonces and secrets come from, so that a run can be replayed: for tests.
    /// Without it they are the system's random numbers.
    pub seed: Option<u64>,
}

/// The publishing end of a channel.
pub(crate) trait PublicationDriver {
    /// Takes a message, given in parts, or says why not. What is taken may wait for
    /// [`PublicationDriver::work`] before it is sent. Returns the position behind it.
    fn offer<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        topic: &[u8],
        parts: &[&[u8]],
    ) -> Result<u64, OfferError>;

    /// As [`PublicationDriver::offer`], and the payload's parts stay parts.
    fn offer_multipart<K: Kernel>(
        &mut self,
        _io: &mut Io<K>,
        _now: Nanos,
        _topic: &[u8],
        _payload: &[u8],
        _part_ends: &[usize],
    ) -> Result<u64, OfferError> {
        Err(OfferError::NoParts)
    }

    /// Whether a message of this length would be taken now; if so, the next offer takes it.
    fn room<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        bytes: usize,
    ) -> Result<(), OfferError>;

    /// The duty: sends what waits, receives what peers say, keeps the timers. Returns how much
    /// there was to do; 0 means idle.
    fn work<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> usize;

    /// The next event, if there is one.
    fn poll_event(&mut self) -> Option<Event>;

    /// What a spy of it is told of the stream.
    fn spied(&self) -> Spied {
        Spied::default()
    }

    /// So many spies look on now.
    fn set_spies(&mut self, _count: usize) {}

    /// Subscribers now.
    fn subscriber_count(&self) -> usize;

    /// Bytes that were taken and that some subscriber, as far as is known, does not have.
    fn unacknowledged_bytes(&self) -> u64;

    /// Takes no more, and ends the stream in good order while `work` is called.
    fn close<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos);

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

    /// Notes what the loop completed; whether it was of one of its sources.
    fn complete(&mut self, _completion: &Completion<'_>) -> bool {
        false
    }

    /// Whether a loop that it has for itself is to take a turn now; if so it does. A driver that
    /// reads its sockets whenever it is called needs none.
    fn wants_turn(&mut self, _now: Nanos) -> bool {
        false
    }

    /// Does what cannot wait until after a sleep. Returns how long of a span the loop may sleep:
    /// nothing where there is something to do, or where the driver has slept by itself.
    fn before_sleep<K: Kernel>(&mut self, _io: &mut Io<K>, span: Nanos) -> Nanos {
        span
    }

    /// Closes its sources.
    fn release<K: Kernel>(&mut self, _io: &mut Io<K>) {}

    /// Where it is bound, with the real port.
    fn local_address(&self) -> Option<Address> {
        None
    }
}

/// The subscribing end of a channel.
pub(crate) trait SubscriptionDriver {
    /// The duty, and hands over at most `limit` messages. Returns how many. Of a message that the
    /// handler [aborts](Action::Abort) nothing is consumed.
    fn poll<K, H>(&mut self, io: &mut Io<K>, now: Nanos, limit: usize, handler: &mut H) -> usize
    where
        K: Kernel,
        H: FnMut(Message<'_>) -> Action;

    /// The next event, if there is one.
    fn poll_event(&mut self) -> Option<Event>;

    /// Images now.
    fn image_count(&self) -> usize;

    /// Leaves: says so where the wire can.
    fn close<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos);

    /// Whether it has left.
    fn is_closed(&self) -> bool;

    /// What it has done; the poll gap is not its business.
    fn counters(&self) -> Counters;

    /// When `poll` must be called at the latest.
    fn next_timeout(&self) -> Option<Nanos>;

    /// Notes what the loop completed; whether it was of one of its sources.
    fn complete(&mut self, _completion: &Completion<'_>) -> bool {
        false
    }

    /// Whether a loop that it has for itself is to take a turn now; if so it does. A driver that
    /// reads its sockets whenever it is called needs none.
    fn wants_turn(&mut self, _now: Nanos) -> bool {
        false
    }

    /// Does what cannot wait until after a sleep. Returns how long of a span the loop may sleep:
    /// nothing where there is something to do, or where the driver has slept by itself.
    fn before_sleep<K: Kernel>(&mut self, _io: &mut Io<K>, span: Nanos) -> Nanos {
        span
    }

    /// Closes its sources.
    fn release<K: Kernel>(&mut self, _io: &mut Io<K>) {}

    /// Where it is bound, with the real port.
    fn local_address(&self) -> Option<Address> {
        None
    }
}

/// A message as one run of bytes: gathered, where it comes in several parts.
#[inline]
pub(crate) fn joined<'a>(parts: &[&'a [u8]], gathered: &'a mut Vec<u8>) -> &'a [u8] {
    match parts {
        [message] => message,
        parts => {
            gathered.clear();
            parts.iter().for_each(|part| gathered.extend_from_slice(part));
            gathered
        }
    }
}

/// Takes a source off the loop. One that is gone already is what was wanted.
pub(crate) fn close_source<K: Kernel>(io: &mut Io<K>, source: Handle) {
    let _ = io.discard(source);
}
