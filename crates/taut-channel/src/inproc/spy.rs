//! A spy: a subscription on a publication of this process.

use taut_io::{Io, Kernel};
use taut_ring::broadcast::{Polled, Start};
use taut_ring::log::{LogReader, message_bytes_max};
use taut_types::Nanos;

use super::memory::{Memory, SUBSCRIBERS_MAX};
use crate::counters::Counters;
use crate::driver::SubscriptionDriver;
use crate::error::ChannelError;
use crate::event::{EndReason, Event, Events};
use crate::message::{Action, Message};
use crate::spied::Spied;

const EVENTS_MAX: usize = 64;
/// Two positions before each message.
pub(super) const HEADER_BYTES: usize = 16;

/// Reads the log of a publication's spies.
#[derive(Debug)]
pub(crate) struct SpySubscription {
    reader: Option<LogReader<'static>>,
    memory: &'static Memory,
    slot: u32,
    buffer: Box<[u8]>,
    /// The record in the buffer: its length, and the position behind it.
    unconsumed: Option<(usize, u64)>,
    session: u64,
    /// Up to where everything was seen or is known to be lost.
    position: u64,
    events: Events,
    counters: Counters,
    is_live: bool,
}

impl SpySubscription {
    pub(super) fn open(
        memory: &'static Memory,
        stream: Spied,
        is_tethered: bool,
    ) -> Result<Self, ChannelError> {
        let slot =
            memory.take_seat().ok_or(ChannelError::SubscribersFull { count: SUBSCRIBERS_MAX })?;
        let (words, layout, start) = (&memory.words, memory.layout, Start::Latest);
        let reader = match is_tethered {
            true => LogReader::registered(words, layout, start, slot as usize),
            false => LogReader::passive(words, layout, start),
        };
        let reader = reader.inspect_err(|_| memory.give_back(slot))?;
        let Spied { session, position, .. } = stream;
        let mut events = Events::at_most(EVENTS_MAX);
        events.tell(Event::ImageAvailable { session, position, peer: None });
        Ok(Self {
            reader: Some(reader),
            memory,
            slot,
            buffer: vec![0; message_bytes_max(layout.capacity_bytes)].into_boxed_slice(),
            unconsumed: None,
            session,
            position,
            events,
            counters: Counters::default(),
            is_live: true,
        })
    }

    /// Takes the next record out of the log, if there is one.
    fn fetch(&mut self) -> bool {
        let Some(reader) = &mut self.reader else { return false };
        // Before the look at the log: what a publication wrote before it went is still seen.
        let has_writer = self.memory.has_writer();
        loop {
            match reader.poll(&mut self.buffer) {
                Polled::Message(bytes) => break self.keep(bytes),
                // The next record says from where to where it was overtaken.
                Polled::Lapped(_) | Polled::NewWriter(_) => {}
                Polled::Empty => {
                    if self.is_live && !has_writer {
                        self.is_live = false;
                        let (session, position) = (self.session, self.position);
                        let reason = EndReason::Closed;
                        let end = Event::ImageUnavailable { session, position, reason };
                        self.events.tell(end);
                    }
                    break false;
                }
            }
        }
    }

    fn keep(&mut self, bytes: usize) -> bool {
        let position_at = |at: usize| {
            let bytes = self.buffer.get(at..at + 8).and_then(|bytes| bytes.first_chunk());
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        let (start, end) = (position_at(0), position_at(8));
        if start > self.position {
            let (session, position) = (self.session, self.position);
            let length = start - position;
            self.counters.lost += length;
            self.events.tell(Event::Gap { session, position, length });
        }
        self.position = start;
        self.unconsumed = Some((bytes, end));
        true
    }

    fn leave(&mut self) {
        if self.reader.take().is_some() {
            self.memory.give_back(self.slot);
        }
    }
}

impl SubscriptionDriver for SpySubscription {
    #[inline]
    fn poll<K, H>(&mut self, _io: &mut Io<K>, _now: Nanos, limit: usize, handler: &mut H) -> usize
    where
        K: Kernel,
        H: FnMut(Message<'_>) -> Action,
    {
        let mut count = 0;
        while count < limit && (self.unconsumed.is_some() || self.fetch()) {
            let Some((bytes, position)) = self.unconsumed else { break };
            let payload = self.buffer.get(HEADER_BYTES..bytes).unwrap_or(&[]);
            let bytes = payload.len() as u64;
            let session = self.session;
            let action =
                handler(Message { payload, part_ends: &[], topic: &[], session, position });
            if action == Action::Abort {
                break;
            }
            (self.unconsumed, self.position) = (None, position);
            self.counters.received += 1;
            self.counters.received_bytes += bytes;
            count += 1;
            if action == Action::Break {
                break;
            }
        }
        count
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.next()
    }

    fn image_count(&self) -> usize {
        usize::from(self.is_live)
    }

    fn close<K: Kernel>(&mut self, _io: &mut Io<K>, _now: Nanos) {
        self.leave();
    }

    fn is_closed(&self) -> bool {
        self.reader.is_none()
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn next_timeout(&self) -> Option<Nanos> {
        None
    }

    fn before_sleep<K: Kernel>(&mut self, _io: &mut Io<K>, span: Nanos) -> Nanos {
        if let Some(reader) = &self.reader {
            self.memory.sleep(span, || !reader.has_next());
        }
        Nanos::ZERO
    }
}

impl Drop for SpySubscription {
    fn drop(&mut self) {
        self.leave();
    }
}
