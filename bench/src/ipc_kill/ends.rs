//! The ends of the three kinds of rings, behind one face. A message says where it stands: its
//! position, or the number of a request, in every word.

use taut_ipc::{
    Channel, IpcError, Join, LogPublication, LogSubscription, RequestPublication, Requests,
    TickPublication, TickSubscription,
};
use taut_ring::Policy;
use taut_ring::broadcast::{Polled, Start};

use crate::ipc_kill::plan::{LOG_BYTES, MESSAGE_BYTES, RECORD_BYTES, Ring};

pub enum Writer<'c> {
    Ticks(TickPublication<'c>),
    Log(LogPublication<'c>),
    Requests { publication: RequestPublication<'c>, sent: u64 },
}

impl<'c> Writer<'c> {
    pub fn open(channel: &'c Channel, ring: Ring) -> Result<Self, IpcError> {
        Ok(match ring {
            Ring::Ticks => Self::Ticks(channel.publish_ticks("ticks", 0, Policy::Block)?),
            Ring::Log => Self::Log(channel.publish_log("log", 0, Policy::Block)?),
            Ring::Requests => {
                Self::Requests { publication: channel.publish_requests("requests", 0)?, sent: 0 }
            }
        })
    }

    /// Up to where messages are committed.
    pub const fn committed(&self) -> u64 {
        match self {
            Self::Ticks(publication) => publication.position(),
            Self::Log(publication) => publication.position(),
            Self::Requests { sent, .. } => *sent,
        }
    }

    /// Sends the next message; whether there was room.
    pub fn send(&mut self) -> bool {
        let position = self.committed();
        match self {
            // Every fourth time a batch, so that victims also die in one.
            Self::Ticks(publication) if position.is_multiple_of(4) => {
                let batch: [_; 4] = std::array::from_fn(|n| [position + n as u64; 7]);
                publication.publish_batch(&batch).is_ok()
            }
            Self::Ticks(publication) => publication.publish(&[position; 7]).is_ok(),
            Self::Log(publication) => publication.append(&message(position)).is_ok(),
            Self::Requests { publication, sent } => {
                let done = publication.send(&[*sent; 7]).is_ok();
                *sent += u64::from(done);
                done
            }
        }
    }
}

enum Subscription<'c> {
    Ticks(TickSubscription<'c>),
    Log(LogSubscription<'c>),
    /// With the number of the next request.
    Requests(Requests<'c>, u64),
}

/// A reading end, which counts.
pub struct Reader<'c> {
    subscription: Subscription<'c>,
    pub messages: u64,
    pub torn: u64,
    pub lost: u64,
}

/// What a poll found.
enum Found {
    Nothing,
    NewWriter,
    Lost(u64),
    /// A message, and whether it was whole.
    Message(bool),
}

impl<T> From<(Polled<T>, bool)> for Found {
    fn from((polled, whole): (Polled<T>, bool)) -> Self {
        match polled {
            Polled::Empty => Self::Nothing,
            Polled::Message(_) => Self::Message(whole),
            Polled::Lapped(lost) => Self::Lost(lost),
            Polled::NewWriter(_) => Self::NewWriter,
        }
    }
}

impl<'c> Reader<'c> {
    pub fn open(channel: &'c Channel, ring: Ring) -> Result<Self, IpcError> {
        let (start, join) = (Start::Latest, Join::Registered);
        let subscription = match ring {
            Ring::Ticks => Subscription::Ticks(channel.subscribe_ticks("ticks", 0, start, join)?),
            Ring::Log => Subscription::Log(channel.subscribe_log("log", 0, start, join)?),
            Ring::Requests => Subscription::Requests(channel.read_requests("requests", 0)?, 0),
        };
        Ok(Self { subscription, messages: 0, torn: 0, lost: 0 })
    }

    /// Up to where it has read; of requests, how many of its writer's.
    pub const fn position(&self) -> u64 {
        match &self.subscription {
            Subscription::Ticks(reader) => reader.position(),
            Subscription::Log(reader) => reader.position(),
            Subscription::Requests(_, next) => *next,
        }
    }

    /// Takes everything there is, a ring full at most.
    pub fn drain(&mut self) {
        for _ in 0..512 {
            if !self.take() {
                return;
            }
        }
    }

    /// Takes the next message, if there is one.
    pub fn take(&mut self) -> bool {
        match self.poll() {
            Found::Nothing => return false,
            Found::NewWriter => {}
            Found::Lost(lost) => self.lost += lost,
            Found::Message(whole) => {
                self.messages += 1;
                self.torn += u64::from(!whole);
            }
        }
        true
    }

    fn poll(&mut self) -> Found {
        match &mut self.subscription {
            Subscription::Ticks(reader) => {
                let at = reader.position();
                let polled = reader.poll();
                (polled, polled == Polled::Message([at; 7])).into()
            }
            Subscription::Log(reader) => {
                let mut bytes = [0; LOG_BYTES / 8];
                let at = reader.position();
                let polled = reader.poll(&mut bytes);
                let sound = is_sound(&bytes, at, reader.position());
                (polled, polled == Polled::Message(MESSAGE_BYTES) && sound).into()
            }
            Subscription::Requests(reader, next) => match reader.poll() {
                None => Found::Nothing,
                Some(payload) => {
                    let expected = *next;
                    *next = payload[0].wrapping_add(1);
                    Found::Message(payload == [expected; 7])
                }
            },
        }
    }

    /// Goes on behind a dead reader of requests, which had noted that it took `noted` of them: it
    /// may have taken one more.
    pub fn succeed(&mut self, noted: u64) {
        if let Subscription::Requests(reader, next) = &mut self.subscription
            && let Some(payload) = reader.poll()
        {
            let first = payload[0];
            *next = first.wrapping_add(1);
            self.messages += 1;
            let fits = payload == [first; 7] && (noted..=noted + 1).contains(&first);
            self.torn += u64::from(!fits);
        }
    }
}

/// A message of the log at this position.
fn message(position: u64) -> [u8; MESSAGE_BYTES] {
    let mut bytes = [0; MESSAGE_BYTES];
    let (words, rest) = bytes.as_chunks_mut::<8>();
    words.iter_mut().for_each(|word| *word = position.to_ne_bytes());
    rest.copy_from_slice(&position.to_ne_bytes()[..rest.len()]);
    bytes
}

/// Whether a message says where it stands: where its writer was before it, which is where the
/// reader was before it, or begins, unless padding lies between.
fn is_sound(bytes: &[u8], before: u64, after: u64) -> bool {
    let says = bytes.first_chunk().map_or(0, |first| u64::from_ne_bytes(*first));
    let begins = after.wrapping_sub(RECORD_BYTES);
    let padded =
        begins.is_multiple_of(LOG_BYTES as u64) && begins.wrapping_sub(says) <= RECORD_BYTES;
    bytes[..MESSAGE_BYTES] == message(says) && (says == before || says == begins || padded)
}
