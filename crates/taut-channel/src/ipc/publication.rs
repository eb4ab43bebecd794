//! The publishing end.

use taut_io::{Io, Kernel};
use taut_ipc::OwnedLogPublication;
use taut_ring::Policy;
use taut_ring::log::ClaimError;
use taut_types::Nanos;

use super::place::{self, LOOK_EVERY, STREAM};
use crate::counters::{Counters, SubscriberCounters};
use crate::driver::{Opening, PublicationDriver, joined};
use crate::error::ChannelError;
use crate::event::{Event, Events};
use crate::offer::{MessageLimit, OfferError};
use crate::reader_slots::ReaderSlots;
use crate::uri::IpcUri;

/// How often the places of subscriptions are looked at: a few loads.
const COUNT_EVERY: Nanos = Nanos::from_millis(1);

/// Writes the log of a shared-memory channel.
#[derive(Debug)]
pub(crate) struct IpcPublication {
    log: OwnedLogPublication,
    slots: ReaderSlots,
    events: Events,
    counters: Counters,
    gathered: Vec<u8>,
    count_at: Nanos,
    reap_at: Nanos,
    is_closing: bool,
    is_closed: bool,
}

impl IpcPublication {
    pub(crate) fn open(uri: &IpcUri, opening: &Opening) -> Result<Self, ChannelError> {
        refuse_loss(opening)?;
        let channel = place::enter(uri)?;
        let capacity = place::capacity(&channel).unwrap_or(0);
        let log = OwnedLogPublication::open(channel, STREAM, 0, Policy::Block)?;
        Ok(Self {
            log,
            slots: ReaderSlots::default(),
            events: Events::at_most(2 * place::SUBSCRIBERS_MAX),
            counters: Counters::default(),
            gathered: Vec::with_capacity(capacity / 8),
            count_at: opening.now,
            reap_at: opening.now,
            is_closing: false,
            is_closed: false,
        })
    }

    /// Looks who is there.
    #[inline]
    fn look(&mut self, now: Nanos) {
        if now >= self.count_at {
            self.look_now(now);
        }
    }

    #[cold]
    fn look_now(&mut self, now: Nanos) {
        self.count_at = now + COUNT_EVERY;
        if now >= self.reap_at {
            self.reap_at = now + LOOK_EVERY;
            self.log.with(|log| log.reap());
        }
        let taken = self.log.with(|log| log.readers().fold(0, |bits, (slot, _)| bits | 1 << slot));
        let Self { log, slots, events, counters, .. } = self;
        slots.look(taken, counters.sent, |slot| log.behind_of(slot), events);
    }

    fn behind(&self, slot: usize) -> u64 {
        self.log.behind_of(slot)
    }

    fn check(&mut self, now: Nanos) -> Result<(), OfferError> {
        self.look(now);
        let is_refused = self.is_closing || self.slots.count() == 0;
        if is_refused { Err(self.refusal()) } else { Ok(()) }
    }

    #[cold]
    const fn refusal(&self) -> OfferError {
        if self.is_closing { OfferError::Closed } else { OfferError::NotConnected }
    }

    fn refused(&mut self, error: ClaimError, bytes: usize) -> OfferError {
        match error {
            ClaimError::TooLong { bytes_max } => {
                OfferError::TooLong { bytes, bytes_max, limit: MessageLimit::Capacity }
            }
            ClaimError::Full => {
                self.counters.back_pressured += 1;
                OfferError::BackPressured
            }
        }
    }
}

/// Memory has no datagrams to lose.
pub(super) fn refuse_loss(opening: &Opening) -> Result<(), ChannelError> {
    let remedy = "inject it on a channel over UDP";
    match opening.loss {
        Some(_) => Err(ChannelError::Unsupported { what: "loss in shared memory", remedy }),
        None => Ok(()),
    }
}

impl PublicationDriver for IpcPublication {
    #[inline]
    fn offer<K: Kernel>(
        &mut self,
        _io: &mut Io<K>,
        now: Nanos,
        topic: &[u8],
        parts: &[&[u8]],
    ) -> Result<u64, OfferError> {
        self.check(now)?;
        if !topic.is_empty() {
            return Err(OfferError::NoTopics);
        }
        let message = joined(parts, &mut self.gathered);
        let bytes = message.len();
        match self.log.with(|log| log.append(message).map(|()| log.position())) {
            Ok(position) => {
                self.counters.sent += 1;
                self.counters.sent_bytes += bytes as u64;
                Ok(position)
            }
            Err(error) => Err(self.refused(error, bytes)),
        }
    }

    fn room<K: Kernel>(
        &mut self,
        _io: &mut Io<K>,
        now: Nanos,
        bytes: usize,
    ) -> Result<(), OfferError> {
        self.check(now)?;
        // A claim that is dropped leaves no trace.
        let claimed = self.log.with(|log| log.claim(bytes).map(drop));
        claimed.map_err(|error| self.refused(error, bytes))
    }

    fn work<K: Kernel>(&mut self, _io: &mut Io<K>, now: Nanos) -> usize {
        self.look(now);
        if self.is_closing && !self.is_closed && self.unacknowledged_bytes() == 0 {
            self.log.with(|log| log.resign());
            self.is_closed = true;
            return 1;
        }
        0
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.next()
    }

    fn subscriber_count(&self) -> usize {
        self.slots.count()
    }

    fn unacknowledged_bytes(&self) -> u64 {
        self.log.behind()
    }

    fn close<K: Kernel>(&mut self, _io: &mut Io<K>, now: Nanos) {
        self.is_closing = true;
        self.look_now(now);
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn subscribers(&self) -> Vec<SubscriberCounters> {
        self.slots.subscribers(self.counters.sent, |slot| self.behind(slot))
    }

    fn next_timeout(&self) -> Option<Nanos> {
        Some(self.count_at)
    }

    fn before_sleep<K: Kernel>(&mut self, _io: &mut Io<K>, span: Nanos) -> Nanos {
        // Nobody rings for a writer: readers make room without a word.
        span.min(Nanos::from_micros(50))
    }
}

impl Drop for IpcPublication {
    fn drop(&mut self) {
        self.log.with(|log| log.resign());
    }
}
