//! The subscribing end.

use taut_io::{Io, Kernel};
use taut_ipc::{Join, OwnedLogSubscription, Writer};
use taut_ring::broadcast::{Polled, Start};
use taut_ring::log::message_bytes_max;
use taut_types::Nanos;

use super::place::{self, LOOK_EVERY, STREAM};
use super::publication::refuse_loss;
use crate::counters::Counters;
use crate::driver::{Opening, SubscriptionDriver};
use crate::error::ChannelError;
use crate::event::{EndReason, Event, Events};
use crate::message::{Action, Message};
use crate::unconsumed::Unconsumed;
use crate::uri::IpcUri;

const EVENTS_MAX: usize = 64;
/// What is no message and may come within one poll: another writer, a loss.
const OTHERS_MAX: u32 = 16;

/// Reads the log of a shared-memory channel, as a reader that the writer waits for.
#[derive(Debug)]
pub(crate) struct IpcSubscription {
    log: Option<OwnedLogSubscription>,
    buffer: Box<[u8]>,
    unconsumed: Unconsumed,
    events: Events,
    counters: Counters,
    /// The epoch of the writer that lives, or lived at the last look.
    writer: Option<u64>,
    look_at: Nanos,
    /// Where the next image begins.
    begins_at: u64,
}

impl IpcSubscription {
    pub(crate) fn open(uri: &IpcUri, opening: &Opening) -> Result<Self, ChannelError> {
        refuse_loss(opening)?;
        let channel = place::enter(uri)?;
        let bytes_max = message_bytes_max(place::capacity(&channel).unwrap_or(0).max(4096));
        let mut log =
            OwnedLogSubscription::open(channel, STREAM, 0, Start::Latest, Join::Registered)?;
        Ok(Self {
            begins_at: log.with(|log| log.position()),
            log: Some(log),
            buffer: vec![0; bytes_max].into_boxed_slice(),
            unconsumed: Unconsumed::default(),
            events: Events::at_most(EVENTS_MAX),
            counters: Counters::default(),
            writer: None,
            look_at: opening.now,
        })
    }

    /// Looks whether the writer lives. Cost: a few system calls.
    #[cold]
    fn look(&mut self, now: Nanos) {
        self.look_at = now + LOOK_EVERY;
        let Some(log) = &mut self.log else { return };
        let state = log.channel().writer(STREAM).unwrap_or(Writer::None);
        let (epoch, position) = log.with(|log| (log.writer_epoch(), log.position()));
        match (state, self.writer) {
            (Writer::Alive { .. } | Writer::Stalled { .. }, None) => {
                self.begin(epoch, self.begins_at);
            }
            (Writer::None, Some(_)) => self.end(position, EndReason::Closed),
            (Writer::Gone { .. }, Some(_)) => self.end(position, EndReason::Lost),
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

    /// Another writer goes on in place.
    #[cold]
    fn replaced(&mut self, epoch: u64, position: u64) {
        if self.writer != Some(epoch) {
            self.end(position, EndReason::Replaced);
            self.begin(epoch, position);
        }
    }

    #[cold]
    fn lapped(&mut self, lost: u64, position: u64) {
        self.counters.lost = self.counters.lost.saturating_add(lost);
        let session = self.writer.unwrap_or(0);
        let position = position.saturating_sub(lost);
        self.events.tell(Event::Gap { session, position, length: lost });
    }

    fn leave(&mut self) {
        if let Some(mut log) = self.log.take() {
            // The writer's account of this reader shall end with what it has read.
            log.with(|log| log.report());
        }
    }
}

impl SubscriptionDriver for IpcSubscription {
    #[inline]
    fn poll<K, H>(&mut self, _io: &mut Io<K>, now: Nanos, limit: usize, handler: &mut H) -> usize
    where
        K: Kernel,
        H: FnMut(Message<'_>) -> Action,
    {
        // What is no message counts too, so that nothing in the memory can hold the caller.
        let (mut count, mut others) = (0, 0);
        while count < limit && others < OTHERS_MAX {
            if !self.unconsumed.is_some() {
                let Some(log) = &mut self.log else { return count };
                let (polled, epoch, position) = log.with(|log| {
                    let polled = log.poll(&mut self.buffer);
                    (polled, log.epoch(), log.position())
                });
                match polled {
                    Polled::Message(bytes) => self.unconsumed.set(bytes, epoch, position),
                    Polled::NewWriter(epoch) => {
                        self.replaced(epoch, position);
                        others += 1;
                        continue;
                    }
                    Polled::Lapped(lost) => {
                        self.lapped(lost, position);
                        others += 1;
                        continue;
                    }
                    Polled::Empty => {
                        // Only when idle: a busy stream's writer lives.
                        if now >= self.look_at {
                            self.look(now);
                        }
                        return count;
                    }
                }
            }
            let message = self.unconsumed.message(&self.buffer);
            let bytes = message.payload.len() as u64;
            let action = handler(message);
            if action == Action::Abort {
                return count;
            }
            self.unconsumed.clear();
            self.counters.received += 1;
            self.counters.received_bytes += bytes;
            count += 1;
            if action == Action::Break {
                return count;
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
        self.log.is_none()
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn next_timeout(&self) -> Option<Nanos> {
        Some(self.look_at)
    }

    fn before_sleep<K: Kernel>(&mut self, _io: &mut Io<K>, span: Nanos) -> Nanos {
        if let Some(log) = &mut self.log {
            log.with(|log| log.sleep(span));
        }
        Nanos::ZERO
    }
}

impl Drop for IpcSubscription {
    fn drop(&mut self) {
        self.leave();
    }
}
