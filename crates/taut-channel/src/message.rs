//! A received message, and what the handler says to it.

/// A message, assembled. It borrows the driver's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its bytes.
    pub payload: &'a [u8],
    /// Where its parts end, but for the last, where the channel has messages of several parts
    /// (ZeroMQ's; the first one is the topic there, but where it is empty it is a part, that ends
    /// at 0); empty for a payload in one piece.
    pub part_ends: &'a [usize],
    /// Its topic, where the channel has topics; empty elsewhere.
    pub topic: &'a [u8],
    /// The publication's session.
    pub session: u64,
    /// The position behind it, in the channel's measure: the next message's.
    pub position: u64,
}

impl<'a> Message<'a> {
    /// The parts of the payload: one for most channels and messages.
    pub fn parts(&self) -> impl Iterator<Item = &'a [u8]> {
        parts(self.payload, self.part_ends)
    }
}

/// A payload, cut where its parts end.
pub(crate) fn parts<'a>(payload: &'a [u8], ends: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let starts = core::iter::once(0).chain(ends.iter().copied());
    let ends = ends.iter().copied().chain(core::iter::once(payload.len()));
    starts.zip(ends).map(move |(start, end)| payload.get(start..end).unwrap_or_default())
}

/// What a controlled poll does after a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Goes on to the next one.
    #[default]
    Continue,
    /// The message is consumed; the poll ends.
    Break,
    /// The message is not consumed and comes again with the next poll; this one ends.
    Abort,
}

/// Reads typed messages out of bytes, such as a generated SBE decoder.
pub trait Decoder {
    /// The message, which borrows the bytes.
    type Message<'a>;

    /// The message, or nothing when the bytes are none.
    fn decode<'a>(&self, bytes: &'a [u8]) -> Option<Self::Message<'a>>;
}
