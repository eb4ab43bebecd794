//! The two kinds of rings behind one face. A message says its number; a stamped one also when it
//! was meant to be sent and when it was.

use taut_ipc::{Channel, IpcError, Join, LogPublication, LogSubscription};
use taut_ipc::{TickPublication, TickSubscription};
use taut_ring::broadcast::{Polled, Start};
use taut_ring::{Payload, Policy};

use crate::bench::ipc::plan::{Arguments, Kind};

/// What a message says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    pub number: u64,
    pub intended_ns: u64,
    pub sent_ns: u64,
}

/// The writing end.
pub enum Out<'c> {
    Tick { publication: TickPublication<'c>, batch: Vec<Payload> },
    Log { publication: LogPublication<'c>, message: Vec<u8>, batch: usize },
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
        }
    }
}

/// Number, stamps, and the number again in all that follows. Every byte is written, none twice:
/// what is stored in two pieces and then loaded as one would be measured, and not the log.
#[inline]
fn stamp(message: &mut [u8], content: Content) {
    let Content { number, intended_ns, sent_ns } = content;
    let (words, rest) = message.as_chunks_mut::<8>();
    for (place, value) in words.iter_mut().zip([number, intended_ns, sent_ns]) {
        *place = value.to_ne_bytes();
    }
    words.iter_mut().skip(3).for_each(|place| *place = number.to_ne_bytes());
    let (fours, rest) = rest.as_chunks_mut::<4>();
    fours.iter_mut().for_each(|place| *place = (number as u32).to_ne_bytes());
    let (twos, ones) = rest.as_chunks_mut::<2>();
    twos.iter_mut().for_each(|place| *place = (number as u16).to_ne_bytes());
    ones.iter_mut().for_each(|place| *place = number as u8);
}

/// The reading end.
pub enum In<'c> {
    Tick(TickSubscription<'c>),
    Log(LogSubscription<'c>, Vec<u8>),
}

impl<'c> In<'c> {
    pub fn open(channel: &'c Channel, name: &str, plan: &Arguments) -> Result<Self, IpcError> {
        let join = if plan.overwriting { Join::Passive } else { Join::Registered };
        Ok(match plan.kind {
            Kind::Tick => Self::Tick(channel.subscribe_ticks(name, 0, Start::Oldest, join)?),
            Kind::Log => {
                let reader = channel.subscribe_log(name, 0, Start::Oldest, join)?;
                Self::Log(reader, vec![0; plan.size.next_multiple_of(8)])
            }
        })
    }

    /// Takes the next message; nothing when it was torn.
    #[inline]
    pub fn poll(&mut self) -> Polled<Option<Content>> {
        match self {
            Self::Tick(reader) => match reader.poll() {
                Polled::Message([number, intended_ns, sent_ns, rest @ ..]) => {
                    let whole = rest == [number; 4];
                    Polled::Message(whole.then_some(Content { number, intended_ns, sent_ns }))
                }
                Polled::Empty => Polled::Empty,
                Polled::Lapped(lost) => Polled::Lapped(lost),
                Polled::NewWriter(epoch) => Polled::NewWriter(epoch),
            },
            Self::Log(reader, buffer) => match reader.poll(buffer) {
                Polled::Message(bytes) => Polled::Message(buffer.get(..bytes).and_then(content)),
                Polled::Empty => Polled::Empty,
                Polled::Lapped(lost) => Polled::Lapped(lost),
                Polled::NewWriter(epoch) => Polled::NewWriter(epoch),
            },
        }
    }
}

/// What a message says, if all of it says the same.
#[inline]
fn content(message: &[u8]) -> Option<Content> {
    let (words, rest) = message.as_chunks::<8>();
    let ([number, intended, sent], words) = words.split_first_chunk::<3>()?;
    let number = u64::from_ne_bytes(*number);
    let mut same = words.iter().fold(true, |same, word| same & (*word == number.to_ne_bytes()));
    let (fours, rest) = rest.as_chunks::<4>();
    let (twos, ones) = rest.as_chunks::<2>();
    fours.iter().for_each(|four| same &= *four == (number as u32).to_ne_bytes());
    twos.iter().for_each(|two| same &= *two == (number as u16).to_ne_bytes());
    ones.iter().for_each(|one| same &= *one == number as u8);
    let [intended_ns, sent_ns] = [*intended, *sent].map(u64::from_ne_bytes);
    same.then_some(Content { number, intended_ns, sent_ns })
}
