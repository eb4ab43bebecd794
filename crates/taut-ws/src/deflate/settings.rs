//! What a side says about compression before it starts.

use crate::error::{Misuse, WsError};

/// The largest window that there is, and what holds where nothing is said.
pub const WINDOW_BITS_MAX: u8 = 15;
/// The smallest one that may be asked for.
const WINDOW_BITS_MIN: u8 = 8;
/// The deflate library's smallest window. It reaches back 262 bytes less than its window is long,
/// which fits in one of 8 bits too.
const LIBRARY_WINDOW_BITS_MIN: u8 = 9;

/// The parameters of permessage-deflate (RFC 7692, 7.1): of an offer, of a server's limits, and of
/// what both agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeflateParameters {
    /// The server compresses each message by itself: its client needs no memory of earlier ones. It
    /// costs the server 200,000 instructions a message, which clears what it knows, and small
    /// messages hardly become shorter.
    pub server_no_context_takeover: bool,
    /// The client does.
    pub client_no_context_takeover: bool,
    /// The server refers back two to the power of this at the most, 8 to 15.
    pub server_max_window_bits: u8,
    /// The client does.
    pub client_max_window_bits: u8,
}

impl Default for DeflateParameters {
    fn default() -> Self {
        Self {
            server_no_context_takeover: false,
            client_no_context_takeover: false,
            server_max_window_bits: WINDOW_BITS_MAX,
            client_max_window_bits: WINDOW_BITS_MAX,
        }
    }
}

impl DeflateParameters {
    pub(crate) fn check(&self) -> Result<(), WsError> {
        let bits = [self.server_max_window_bits, self.client_max_window_bits];
        let are_bits = |bits: &u8| (WINDOW_BITS_MIN..=WINDOW_BITS_MAX).contains(bits);
        if bits.iter().all(are_bits) { Ok(()) } else { Err(WsError::Misuse(Misuse::Deflate)) }
    }
}

/// Compression of messages, where the peer agrees: see
/// [`WsConfig::deflate`](crate::WsConfig::deflate).
///
/// Memory, beside that of messages and only once a compressed message passes in that direction:
/// [`Deflate::sending_bytes_max`] to send, [`Deflate::RECEIVING_BYTES_MAX`] to receive. Neither
/// grows, and no message allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deflate {
    /// A client offers these, behind those of its request
    /// ([`ClientRequest::deflate`](crate::ClientRequest::deflate)). A server accepts the first
    /// offer that is well formed, and bounds its own window and context by these, and its client's
    /// where the offer lets it.
    pub parameters: DeflateParameters,
    /// From 1, the fastest, to 9, the smallest.
    pub level: u8,
    /// The compressor's memory beside its window, from 1 to 9.
    pub memory_level: u8,
    /// A shorter message is sent as it is: it would cost more than it saves.
    pub threshold_bytes: usize,
}

impl Default for Deflate {
    fn default() -> Self {
        Self {
            parameters: DeflateParameters::default(),
            level: 1,
            memory_level: 8,
            threshold_bytes: 64,
        }
    }
}

impl Deflate {
    /// What receiving compressed messages takes: a window of 32 KiB, whatever was agreed on, and
    /// the tables of codes.
    pub const RECEIVING_BYTES_MAX: usize = 56 << 10;

    /// What sending them takes, with these settings and a window of so many bits: twice the window,
    /// a chain of places as long as the window, 128 KiB of places by their hashes, and the symbols
    /// and codes of a block.
    #[must_use]
    pub const fn sending_bytes_max(&self, window_bits: u8) -> usize {
        let symbols = 1 << (self.memory_level + 6);
        let window = 1 << library_window_bits(window_bits);
        4 * window + (128 << 10) + 7 * symbols + (8 << 10)
    }

    pub(crate) fn check(&self) -> Result<(), WsError> {
        let are_levels =
            [self.level, self.memory_level].iter().all(|level| (1..=9).contains(level));
        if are_levels { self.parameters.check() } else { Err(WsError::Misuse(Misuse::Deflate)) }
    }
}

/// The library's window that stays within this one.
pub const fn library_window_bits(window_bits: u8) -> u8 {
    if window_bits < LIBRARY_WINDOW_BITS_MIN { LIBRARY_WINDOW_BITS_MIN } else { window_bits }
}
