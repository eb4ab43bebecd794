//! Commands: a name and data in a frame marked so (ZMTP 3.1, "Commands").

use alloc::vec::Vec;

use taut_types::Nanos;

use crate::error::Violation;
use crate::frame::{self, COMMAND};

/// The longest context of a PING.
pub const CONTEXT_BYTES_MAX: usize = 16;

/// A command of a peer; its parts borrow from the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// The handshake is over, says the peer; metadata, for CURVE in a box.
    Ready(&'a [u8]),
    /// The handshake failed; why.
    Error(&'a [u8]),
    /// The client's first word with PLAIN or CURVE.
    Hello(&'a [u8]),
    /// The server's answer.
    Welcome(&'a [u8]),
    /// The client's second word.
    Initiate(&'a [u8]),
    /// A frame in a box (CURVE).
    Message(&'a [u8]),
    /// A prefix.
    Subscribe(&'a [u8]),
    /// A prefix.
    Cancel(&'a [u8]),
    /// A heartbeat.
    Ping {
        /// How long the peer's silence may last; zero is not said.
        time_to_live: Nanos,
        /// To be echoed.
        context: &'a [u8],
    },
    /// The answer to a heartbeat.
    Pong(&'a [u8]),
    /// One that we do not know.
    Unknown,
}

impl<'a> Command<'a> {
    /// The command in the body of a frame.
    ///
    /// # Errors
    /// Its parts do not fit its size.
    pub fn parse(body: &'a [u8]) -> Result<Self, Violation> {
        let (length, rest) = body.split_first().ok_or(Violation::CommandSyntax)?;
        let named =
            rest.split_at_checked(usize::from(*length)).filter(|(name, _)| !name.is_empty());
        let (name, data) = named.ok_or(Violation::CommandSyntax)?;
        Ok(match name {
            b"READY" => Self::Ready(data),
            b"ERROR" => match data.split_first() {
                Some((length, reason)) if reason.len() == usize::from(*length) => {
                    Self::Error(reason)
                }
                _ => return Err(Violation::CommandSyntax),
            },
            b"HELLO" => Self::Hello(data),
            b"WELCOME" => Self::Welcome(data),
            b"INITIATE" => Self::Initiate(data),
            b"MESSAGE" => Self::Message(data),
            b"SUBSCRIBE" => Self::Subscribe(data),
            b"CANCEL" => Self::Cancel(data),
            b"PING" => match data.split_first_chunk() {
                Some((tenths, context)) if context.len() <= CONTEXT_BYTES_MAX => Self::Ping {
                    time_to_live: Nanos(i64::from(u16::from_be_bytes(*tenths)) * 100_000_000),
                    context,
                },
                _ => return Err(Violation::CommandSyntax),
            },
            b"PONG" if data.len() > CONTEXT_BYTES_MAX => return Err(Violation::CommandSyntax),
            b"PONG" => Self::Pong(data),
            _ => Self::Unknown,
        })
    }
}

/// Appends a command's body: its name and the pieces of its data.
pub fn write_body(out: &mut Vec<u8>, name: &str, pieces: &[&[u8]]) {
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
    for piece in pieces {
        out.extend_from_slice(piece);
    }
}

/// Appends a command as a frame.
pub fn write_command(out: &mut Vec<u8>, name: &str, pieces: &[&[u8]]) {
    let body_bytes = 1 + name.len() + pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let mut header = [0; frame::HEADER_BYTES_MAX];
    let written = frame::write_header(&mut header, COMMAND, body_bytes);
    out.extend_from_slice(header.get(..written).unwrap_or(&[]));
    write_body(out, name, pieces);
}

/// A span as the tenths of a second that a PING carries, rounded up.
pub const fn time_to_live_bytes(span: Nanos) -> [u8; 2] {
    let tenths = span.0 / 100_000_000 + (span.0 % 100_000_000 > 0) as i64;
    let tenths = if tenths > u16::MAX as i64 { u16::MAX } else { tenths as u16 };
    tenths.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames as the standard's examples and grammar give them.
    #[test]
    fn the_standard_s_commands_are_read_and_written_byte_for_byte() {
        let mut out = Vec::new();
        write_command(&mut out, "SUBSCRIBE", &[b"BTC"]);
        assert_eq!(out, b"\x04\x0D\x09SUBSCRIBEBTC");
        assert_eq!(Command::parse(&out[2..]), Ok(Command::Subscribe(b"BTC")));
        out.clear();
        write_command(&mut out, "PING", &[&time_to_live_bytes(Nanos::from_secs(3)), b"x"]);
        assert_eq!(out, b"\x04\x08\x04PING\x00\x1Ex");
        let ping = Command::Ping { time_to_live: Nanos::from_secs(3), context: b"x" };
        assert_eq!(Command::parse(&out[2..]), Ok(ping));
        assert_eq!(Command::parse(b"\x05ERROR\x03400"), Ok(Command::Error(b"400")));
        assert_eq!(Command::parse(b"\x05READYab"), Ok(Command::Ready(b"ab")));
        assert_eq!(Command::parse(b"\x04JOINgroup"), Ok(Command::Unknown));
    }

    #[test]
    fn what_does_not_fit_its_size_is_refused() {
        let cases: [&[u8]; 8] = [
            b"",
            b"\0",
            b"\x05READ",
            b"\x04PING",
            b"\x04PING\0",
            b"\x04PING\0\x01_17_bytes_context",
            b"\x05ERROR\x04400",
            b"\x04PONG_17_bytes_context",
        ];
        for body in cases {
            assert_eq!(Command::parse(body), Err(Violation::CommandSyntax), "{body:?}");
        }
    }

    #[test]
    fn a_time_to_live_is_rounded_up_and_saturates() {
        assert_eq!(time_to_live_bytes(Nanos(1)), [0, 1]);
        assert_eq!(time_to_live_bytes(Nanos::ZERO), [0, 0]);
        assert_eq!(time_to_live_bytes(Nanos::from_secs(100_000)), [0xFF, 0xFF]);
    }
}
