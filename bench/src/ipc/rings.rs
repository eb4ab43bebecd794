//! The kinds of rings, and the log's two ways, behind one face.

use taut_ipc::{Channel, IpcError, Join, LogPublication, LogSubscription};
use taut_ipc::{TickPublication, TickSubscription};
use taut_ring::broadcast::{Polled, Start};
use taut_ring::{Payload, Policy};

use crate::ipc::content::{Content, stamp, stamp_in_place};
use crate::ipc::plan::{Arguments, InPlace, Kind};

/// The writing end.
pub enum Out<'c> {
    Tick {
        publication: TickPublication<'c>,
        batch: Vec<Payload>,
    },
    Log {
        publication: LogPublication<'c>,
        message: Vec<u8>,
        batch: usize,
    },
    /// The log, written where the reader reads it.
    Place {
        publication: LogPublication<'c>,
        size: usize,
    },
}

impl<'c> Out<'c> {
    pub fn open(channel: &'c Channel, name: &str, plan: &Arguments) -> Result<Self, IpcError> {
        let policy = if plan.overwriting { Policy::Overwrite } else { Policy::Block };
        Ok(match plan.kind {
            Kind::Tick => {
                let publication = channel.publish_ticks(name, 0, policy)?;
                Self::Tick { publication, batch: vec![[0; 7]; plan.batch] }
            }
            Kind::Log => {
                let publication = channel.publish_log(name, 0, policy)?;
                if plan.in_place == InPlace::Both {
                    return Ok(Self::Place { publication, size: plan.size });
                }
                Self::Log { publication, message: vec![0; plan.size], batch: plan.batch }
            }
        })
    }

    /// Sends one message, as soon as there is room.
    #[inline]
    pub fn send(&mut self, content: Content) {
        let Content { number, intended_ns, sent_ns } = content;
        match self {
            Self::Tick { publication, .. } => {
                let payload = [number, intended_ns, sent_ns, number, number, number, number];
                while publication.publish(&payload).is_err() {
                    taut_sync::spin_loop();
                }
            }
            Self::Log { publication, message, .. } => {
                stamp(message, content);
                while publication.append(message).is_err() {
                    taut_sync::spin_loop();
                }
            }
            Self::Place { publication, size } => {
                loop {
                    if let Ok(claim) = publication.claim(*size) {
                        stamp_in_place(claim.words(), *size, content);
                        break claim.commit();
                    }
                    taut_sync::spin_loop();
                }
                publication.wake();
            }
        }
    }

    /// Sends a batch of unstamped messages from this number on; returns the number behind it.
    #[inline]
    pub fn send_batch(&mut self, first: u64) -> u64 {
        match self {
            Self::Tick { publication, batch } => {
                let mut number = first;
                for payload in batch.iter_mut() {
                    *payload = [number, 0, 0, number, number, number, number];
                    number += 1;
                }
                while publication.publish_batch(batch).is_err() {
                    taut_sync::spin_loop();
                }
                number
            }
            Self::Log { publication, message, batch } => {
                let behind = first + *batch as u64;
                for number in first..behind {
                    stamp(message, Content { number, ..Content::default() });
                    while publication.append_to_batch(message).is_err() {
                        publication.flush();
                        taut_sync::spin_loop();
                    }
                }
                publication.flush();
                behind
            }
            Self::Place { .. } => {
                self.send(Content { number: first, ..Content::default() });
                first + 1
            }
        }
    }
}

/// The reading end.
pub enum In<'c> {
    Tick(TickSubscription<'c>),
    Log(LogSubscription<'c>, Vec<u8>),
    Place(LogSubscription<'c>),
}

impl<'c> In<'c> {
    pub fn open(channel: &'c Channel, name: &str, plan: &Arguments) -> Result<Self, IpcError> {
        let join = if plan.overwriting { Join::Passive } else { Join::Registered };
        Ok(match plan.kind {
            Kind::Tick => Self::Tick(channel.subscribe_ticks(name, 0, Start::Oldest, join)?),
            Kind::Log => {
                let reader = channel.subscribe_log(name, 0, Start::Oldest, join)?;
                if plan.in_place != InPlace::None {
                    return Ok(Self::Place(reader));
                }
                Self::Log(reader, vec![0; plan.size.next_multiple_of(8)])
            }
        })
    }

    /// Takes the next message, if there is one, and says whether it was whole. What it says goes
    /// into `content`, field by field: returned, it would be stored as words and copied as vectors,
    /// which wait for the stores, and that would be measured.
    #[inline]
    pub fn poll(&mut self, content: &mut Content) -> Polled<bool> {
        match self {
            Self::Tick(reader) => match reader.poll() {
                Polled::Message(payload) => Polled::Message(content.take_tick(&payload)),
                Polled::Empty => Polled::Empty,
                Polled::Lapped(lost) => Polled::Lapped(lost),
                Polled::NewWriter(epoch) => Polled::NewWriter(epoch),
            },
            Self::Place(reader) => {
                reader.poll_with(|words, size| content.take_in_place(words, size))
            }
            Self::Log(reader, buffer) => match reader.poll(buffer) {
                Polled::Message(bytes) => {
                    let message = buffer.get(..bytes);
                    Polled::Message(message.is_some_and(|message| content.take(message)))
                }
                Polled::Empty => Polled::Empty,
                Polled::Lapped(lost) => Polled::Lapped(lost),
                Polled::NewWriter(epoch) => Polled::NewWriter(epoch),
            },
        }
    }
}
