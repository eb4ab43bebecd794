//! The agreed key of a connection and its counters: each frame travels in a MESSAGE command's body.

use alloc::vec::Vec;

use crypto_box::SalsaBox;

use crate::curve::boxes::{TAG_BYTES, open, seal, short_nonce};
use crate::error::Violation;
use crate::frame::{self, COMMAND, MORE};

/// What a frame grows by: command name, counter, tag and flags.
pub const SEALED_BYTES: usize = NAME.len() + 8 + TAG_BYTES + 1;

const NAME: &[u8; 8] = b"\x07MESSAGE";
const FROM_CLIENT: &[u8; 16] = b"CurveZMQMESSAGEC";
const FROM_SERVER: &[u8; 16] = b"CurveZMQMESSAGES";
/// The flags within a box: a command is 2 there, not 4 as on a frame.
const SEALED_COMMAND: u8 = 2;

/// The counters of both directions. They only rise, so that no box opens twice; within the stream
/// by one, so that nobody on the wire leaves a box out and is not found out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    sent: u64,
    received: u64,
}

impl Counters {
    /// The next one of ours, as the wire has it.
    pub const fn next(&mut self) -> [u8; 8] {
        self.sent += 1;
        self.sent.to_be_bytes()
    }

    /// Takes one of the peer's, of its handshake.
    ///
    /// # Errors
    /// It is not higher than the one before.
    pub fn take(&mut self, counter: [u8; 8]) -> Result<(), Violation> {
        let counter = u64::from_be_bytes(counter);
        if counter <= self.received {
            return Err(Violation::Nonce);
        }
        self.received = counter;
        Ok(())
    }

    /// Takes one of the peer's, of its stream: libzmq, and who else is known, counts by one there.
    ///
    /// # Errors
    /// It is not the next one.
    pub fn take_next(&mut self, counter: [u8; 8]) -> Result<(), Violation> {
        let counter = u64::from_be_bytes(counter);
        if self.received.checked_add(1) != Some(counter) {
            return Err(Violation::Nonce);
        }
        self.received = counter;
        Ok(())
    }
}

/// An encrypted connection.
pub struct CurveStream {
    pub(crate) cipher: SalsaBox,
    pub(crate) counters: Counters,
    pub(crate) is_server: bool,
}

impl CurveStream {
    /// Appends a frame: the pieces of its body, in a box.
    pub fn seal(&mut self, flags: u8, pieces: &[&[u8]], out: &mut Vec<u8>) {
        let body_bytes = pieces.iter().map(|piece| piece.len()).sum::<usize>() + SEALED_BYTES;
        let mut header = [0; frame::HEADER_BYTES_MAX];
        // The frame around a box has no flags, as libzmq writes it: they are within.
        let written = frame::write_header(&mut header, 0, body_bytes);
        out.extend_from_slice(header.get(..written).unwrap_or(&[]));
        let counter = self.counters.next();
        out.extend_from_slice(NAME);
        out.extend_from_slice(&counter);
        let prefix = if self.is_server { FROM_SERVER } else { FROM_CLIENT };
        let command = if flags & COMMAND != 0 { SEALED_COMMAND } else { 0 };
        let flags = [flags & MORE | command];
        let start = [&flags[..]];
        let nonce = short_nonce(prefix, counter);
        match pieces {
            [body] => seal(&self.cipher, nonce, &[&flags, body], out),
            _ => {
                let all: Vec<&[u8]> = start.iter().chain(pieces).copied().collect();
                seal(&self.cipher, nonce, &all, out);
            }
        }
    }

    /// Opens the body of a frame into `opened` and returns its flags; the content is
    /// `opened[1..]`.
    ///
    /// # Errors
    /// It is no MESSAGE, is not the next one, or does not open.
    pub fn open(&mut self, body: &[u8], opened: &mut Vec<u8>) -> Result<u8, Violation> {
        let rest = body.strip_prefix(NAME).ok_or(Violation::UnexpectedMessage)?;
        let (counter, sealed) = rest.split_first_chunk::<8>().ok_or(Violation::CommandSyntax)?;
        let prefix = if self.is_server { FROM_CLIENT } else { FROM_SERVER };
        open(&self.cipher, short_nonce(prefix, *counter), sealed, opened)?;
        self.counters.take_next(*counter)?;
        match opened.first() {
            Some(&flags) if flags & !MORE == 0 => Ok(flags),
            Some(&SEALED_COMMAND) => Ok(COMMAND),
            Some(_) => Err(Violation::FrameFlags),
            None => Err(Violation::CommandSyntax),
        }
    }
}

impl core::fmt::Debug for CurveStream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CurveStream").field("counters", &self.counters).finish_non_exhaustive()
    }
}
