//! A received message, and what the handler says to it.

/// A message, assembled. It borrows the driver's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its bytes.
    pub payload: &'a [u8],
    /// Its topic, where the channel has topics; empty elsewhere.
    pub topic: &'a [u8],
    /// The publication's session.
    pub session: u64,
    /// The position behind it, in the channel's measure: the next message's.
    pub position: u64,
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
