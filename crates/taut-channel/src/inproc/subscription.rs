//! The subscribing end.

use taut_io::{Io, Kernel};
use taut_ring::broadcast::{Polled, Start};
use taut_ring::log::{LogReader, message_bytes_max};
use taut_types::Nanos;

use super::memory::{Memory, SUBSCRIBERS_MAX};
use super::publication::refuse_loss;
use crate::counters::Counters;
use crate::driver::{Opening, SubscriptionDriver};
use crate::error::ChannelError;
use crate::event::{EndReason, Event, Events};
use crate::message::{Action, Message};
use crate::unconsumed::Unconsumed;
use crate::uri::InprocUri;

const EVENTS_MAX: usize = 64;

/// Reads a log of this process.
#[derive(Debug)]
pub(crate) struct InprocSubscription {
    reader: Option<LogReader<'static>>,
    memory: &'static Memory,
    slot: u32,
    buffer: Box<[u8]>,
    unconsumed: Unconsumed,
    events: Events,
    counters: Counters,
    writer: Option<u64>,
    /// Where the next image begins.
    begins_at: u64,
}

impl InprocSubscription {
    pub(crate) fn open(uri: &InprocUri, opening: &Opening) -> Result<Self, ChannelError> {
        refuse_loss(opening)?;
        let memory = Memory::named(&uri.name, uri.capacity_bytes)?;
        let count = SUBSCRIBERS_MAX;
        let slot = memory.take_seat().ok_or(ChannelError::SubscribersFull { count })?;
        let (words, layout) = (&memory.words, memory.layout);
        let reader = LogReader::registered(words, layout, Start::Latest, slot as usize)?;
        Ok(Self::over(reader, memory, slot))
    }

    fn over(reader: LogReader<'static>, memory: &'static Memory, slot: u32) -> Self {
        let bytes_max = message_bytes_max(memory.layout.capacity_bytes);
        let begins_at = reader.position();
        Self {
            reader: Some(reader),
            memory,
            slot,
            buffer: vec![0; bytes_max].into_boxed_slice(),
            unconsumed: Unconsumed::default(),
            events: Events::at_most(EVENTS_MAX),
            counters: Counters::default(),
            writer: None,
            begins_at,
        }
    }

    /// Nothing came: is there anybody to send it?
    fn look(&mut self) {
        let Some(reader) = &self.reader else { return };
        let (session, position) = (reader.writer_epoch(), reader.position());
        match (self.memory.has_writer(), self.writer) {
            (true, None) => self.begin(session, self.begins_at),
            (false, Some(_)) => self.end(position, EndReason::Closed),
            _ => {}
        }
    }

    fn begin(&mut self, session: u64, position: u64) {
        self.writer = Some(session);
        self.events.tell(Event::ImageAvailable { session, position, peer: None });
    }

    fn end(&mut self, position: u64, reason: EndReason) {
        if let Some(session) = self.writer.take() {
            self.begins_at = position;
            self.events.tell(Event::ImageUnavailable { session, position, reason });
        }
    }

    /// Takes the next message out of the ring, if there is one.
    #[inline]
    fn fetch(&mut self) -> bool {
        loop {
            let Some(reader) = &mut self.reader else { return false };
            let polled = reader.poll(&mut self.buffer);
            let (epoch, position) = (reader.epoch(), reader.position());
            match polled {
                Polled::Message(bytes) => {
                    self.unconsumed.set(bytes, epoch, position);
                    return true;
                }
                Polled::NewWriter(epoch) if self.writer == Some(epoch) => {}
                Polled::NewWriter(epoch) => {
                    self.end(position, EndReason::Replaced);
                    self.begin(epoch, position);
                }
                Polled::Lapped(length) => {
                    self.counters.lost += length;
                    let position = position.saturating_sub(length);
                    self.events.tell(Event::Gap { session: epoch, position, length });
                }
                Polled::Empty => {
                    self.look();
                    return false;
                }
            }
        }
    }

    fn leave(&mut self) {
        if let Some(mut reader) = self.reader.take() {
            // The writer's account of this reader shall end with what it has read.
            reader.report();
            drop(reader);
            self.memory.give_back(self.slot);
        }
    }
}

impl SubscriptionDriver for InprocSubscription {
    #[inline]
    fn poll<K, H>(&mut self, _io: &mut Io<K>, _now: Nanos, limit: usize, handler: &mut H) -> usize
    where
        K: Kernel,
        H: FnMut(Message<'_>) -> Action,
    {
        let mut count = 0;
        while count < limit && (self.unconsumed.is_some() || self.fetch()) {
            let message = self.unconsumed.message(&self.buffer);
            let bytes = message.payload.len() as u64;
            let action = handler(message);
            if action == Action::Abort {
                break;
            }
            self.unconsumed.clear();
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
        usize::from(self.writer.is_some())
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

impl Drop for InprocSubscription {
    fn drop(&mut self) {
        self.leave();
    }
}
