//! The publishing end.

use taut_io::{Io, Kernel};
use taut_ring::log::{Appender, ClaimError};
use taut_ring::{Control, Policy};
use taut_types::Nanos;

use super::memory::{Memory, WRITER};
use crate::counters::{Counters, SubscriberCounters};
use crate::driver::{Opening, PublicationDriver, joined};
use crate::error::ChannelError;
use crate::event::{Event, Events};
use crate::offer::{MessageLimit, OfferError};
use crate::reader_slots::ReaderSlots;
use crate::uri::InprocUri;

/// How often the places of subscriptions are looked at: a few loads.
const COUNT_EVERY: Nanos = Nanos::from_micros(100);

/// Writes a log of this process.
#[derive(Debug)]
pub(crate) struct InprocPublication {
    appender: Appender<'static>,
    control: Control<'static>,
    memory: &'static Memory,
    slots: ReaderSlots,
    events: Events,
    counters: Counters,
    gathered: Vec<u8>,
    count_at: Nanos,
    is_closing: bool,
    is_closed: bool,
}

impl InprocPublication {
    pub(crate) fn open(uri: &InprocUri, opening: &Opening) -> Result<Self, ChannelError> {
        refuse_loss(opening)?;
        let memory = Memory::named(&uri.name, uri.capacity_bytes)?;
        if !memory.take(WRITER) {
            return Err(ChannelError::WriterExists { name: uri.name.clone() });
        }
        let appender = Appender::resume(&memory.words, memory.layout, Policy::Block)?;
        let control = Control::of(&memory.words, memory.layout.reader_count)?;
        Ok(Self {
            appender,
            control,
            memory,
            slots: ReaderSlots::default(),
            events: Events::at_most(64),
            counters: Counters::default(),
            gathered: Vec::with_capacity(memory.layout.capacity_bytes / 8),
            count_at: opening.now,
            is_closing: false,
            is_closed: false,
        })
    }

    fn check(&mut self, now: Nanos) -> Result<(), OfferError> {
        if now >= self.count_at {
            self.look(now);
        }
        let is_refused = self.is_closing || self.slots.count() == 0;
        if is_refused { Err(self.refusal()) } else { Ok(()) }
    }

    #[cold]
    const fn refusal(&self) -> OfferError {
        if self.is_closing { OfferError::Closed } else { OfferError::NotConnected }
    }

    #[cold]
    fn look(&mut self, now: Nanos) {
        self.count_at = now + COUNT_EVERY;
        let active = |slot: &usize| self.control.reader(*slot).is_some_and(|view| view.active);
        let taken =
            (0..self.control.reader_count()).filter(active).fold(0, |bits, at| bits | 1 << at);
        let Self { appender, control, slots, events, counters, .. } = self;
        let behind = |slot| behind(appender, control, slot);
        slots.look(taken, counters.sent, behind, events);
    }

    fn behind(&self, slot: usize) -> u64 {
        behind(&self.appender, &self.control, slot)
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

/// How many bytes a place's reader is behind, or was when it went.
fn behind(appender: &Appender<'_>, control: &Control<'_>, slot: usize) -> u64 {
    let cursor = control.reader(slot).map(|view| view.cursor);
    cursor.map_or(0, |cursor| appender.position().saturating_sub(cursor))
}

/// A ring has no datagrams to lose.
pub(super) fn refuse_loss(opening: &Opening) -> Result<(), ChannelError> {
    let remedy = "inject it on a channel over UDP";
    match opening.loss {
        Some(_) => Err(ChannelError::Unsupported { what: "loss within a process", remedy }),
        None => Ok(()),
    }
}

impl PublicationDriver for InprocPublication {
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
        match self.appender.append(message) {
            Ok(()) => {
                self.memory.ring();
                self.counters.sent += 1;
                self.counters.sent_bytes += bytes as u64;
                Ok(self.appender.position())
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
        let claimed = self.appender.claim(bytes).map(drop);
        claimed.map_err(|error| self.refused(error, bytes))
    }

    fn work<K: Kernel>(&mut self, _io: &mut Io<K>, now: Nanos) -> usize {
        if now >= self.count_at {
            self.look(now);
        }
        if self.is_closing && !self.is_closed && self.unacknowledged_bytes() == 0 {
            // Its subscriptions see the end, and the next publication may begin.
            self.is_closed = true;
            self.memory.give_back(WRITER);
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
        let head = self.appender.position();
        let readers = (0..self.control.reader_count()).filter_map(|slot| self.control.reader(slot));
        let behind = readers.filter(|view| view.active).map(|view| head.wrapping_sub(view.cursor));
        behind.max().unwrap_or(0)
    }

    fn close<K: Kernel>(&mut self, _io: &mut Io<K>, now: Nanos) {
        self.is_closing = true;
        self.look(now);
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

impl Drop for InprocPublication {
    fn drop(&mut self) {
        if !self.is_closed {
            self.memory.give_back(WRITER);
        }
    }
}
