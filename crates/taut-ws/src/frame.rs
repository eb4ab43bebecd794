//! Frame headers (RFC 6455, 5.2).

use crate::config::Role;
use crate::error::Violation;

/// The longest header: two bytes, a length of eight, a key of four.
pub const HEADER_BYTES_MAX: usize = 14;
/// The longest payload of a control frame.
pub const CONTROL_BYTES_MAX: usize = 125;

const FIN: u8 = 0x80;
/// The bit of permessage-deflate (RFC 7692, 6): the message is compressed.
const RSV1: u8 = 0x40;
/// Bits that have no meaning here, when nothing was agreed on.
pub const RESERVED: u8 = 0x70;
/// The same, when compression was agreed on.
pub const RESERVED_BESIDE_DEFLATE: u8 = RESERVED & !RSV1;
const MASKED: u8 = 0x80;
const CONTROL: u8 = 0x08;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

impl Opcode {
    const fn new(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    /// Close, ping and pong, which may come between fragments.
    pub const fn is_control(self) -> bool {
        self as u8 & CONTROL != 0
    }
}

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    pub opcode: Opcode,
    /// The last frame of its message.
    pub is_final: bool,
    /// The first frame of a compressed message.
    pub is_compressed: bool,
    pub payload_bytes: u64,
    pub key: Option<[u8; 4]>,
}

impl FrameHeader {
    /// Reads the header at the start of these bytes, with its length: `None` when more are needed.
    /// What is wrong is found with the first byte that shows it. `role` is who reads, `reserved`
    /// the bits that no frame may have.
    ///
    /// # Errors
    /// A rule of 5.1, 5.2 or 5.5 is broken.
    #[inline]
    pub fn parse(
        bytes: &[u8],
        role: Role,
        reserved: u8,
    ) -> Result<Option<(Self, usize)>, Violation> {
        let Some((first, rest)) = bytes.split_first() else { return Ok(None) };
        let (opcode, is_final) = Self::parse_first(*first, reserved)?;
        let is_compressed = first & RSV1 != 0;
        let Some((second, rest)) = rest.split_first() else { return Ok(None) };
        let is_masked = second & MASKED != 0;
        match role {
            Role::Server if !is_masked => return Err(Violation::NotMasked),
            Role::Client if is_masked => return Err(Violation::Masked),
            _ => {}
        }
        let short = second & !MASKED;
        if opcode.is_control() && usize::from(short) > CONTROL_BYTES_MAX {
            return Err(Violation::ControlBytes);
        }
        let (payload_bytes, rest, length_bytes) = match short {
            126 => {
                let Some((length, rest)) = rest.split_first_chunk::<2>() else { return Ok(None) };
                (u64::from(u16::from_be_bytes(*length)), rest, 2)
            }
            127 => {
                let Some((length, rest)) = rest.split_first_chunk::<8>() else { return Ok(None) };
                (u64::from_be_bytes(*length), rest, 8)
            }
            short => (u64::from(short), rest, 0),
        };
        let is_shortest = match length_bytes {
            2 => payload_bytes > 125,
            8 => payload_bytes > 0xffff && payload_bytes >> 63 == 0,
            _ => true,
        };
        if !is_shortest {
            return Err(Violation::LengthEncoding);
        }
        let (key, key_bytes) = if is_masked {
            let Some(key) = rest.first_chunk::<4>() else { return Ok(None) };
            (Some(*key), 4)
        } else {
            (None, 0)
        };
        let header = Self { opcode, is_final, is_compressed, payload_bytes, key };
        Ok(Some((header, 2 + length_bytes + key_bytes)))
    }

    #[inline]
    fn parse_first(first: u8, reserved: u8) -> Result<(Opcode, bool), Violation> {
        if first & reserved != 0 {
            return Err(Violation::ReservedBits);
        }
        let opcode = Opcode::new(first & 0x0f).ok_or(Violation::ReservedOpcode)?;
        // A message is compressed as a whole: its first frame says so, and no control frame does.
        if first & RSV1 != 0 && !matches!(opcode, Opcode::Text | Opcode::Binary) {
            return Err(Violation::ReservedBits);
        }
        let is_final = first & FIN != 0;
        if opcode.is_control() && !is_final {
            return Err(Violation::ControlFragmented);
        }
        Ok((opcode, is_final))
    }

    /// How long the header is on the wire.
    #[inline]
    pub const fn bytes(&self) -> usize {
        let length = match self.payload_bytes {
            0..=125 => 0,
            126..=0xffff => 2,
            _ => 8,
        };
        2 + length + if self.key.is_some() { 4 } else { 0 }
    }

    /// The header, and how many of the bytes it has.
    #[inline]
    pub fn encode(&self) -> ([u8; HEADER_BYTES_MAX], usize) {
        let mut bytes = [0; HEADER_BYTES_MAX];
        let [first, second, rest @ ..] = &mut bytes;
        *first = self.opcode as u8
            | if self.is_final { FIN } else { 0 }
            | if self.is_compressed { RSV1 } else { 0 };
        let masked = if self.key.is_some() { MASKED } else { 0 };
        let after = match self.payload_bytes {
            short @ 0..=125 => {
                *second = masked | short as u8;
                rest.as_mut_slice()
            }
            medium @ 126..=0xffff => {
                *second = masked | 126;
                let (length, after) = rest.split_at_mut(2);
                length.copy_from_slice(&(medium as u16).to_be_bytes());
                after
            }
            long => {
                *second = masked | 127;
                let (length, after) = rest.split_at_mut(8);
                length.copy_from_slice(&long.to_be_bytes());
                after
            }
        };
        if let (Some(key), Some(place)) = (self.key, after.first_chunk_mut::<4>()) {
            *place = key;
        }
        (bytes, self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn parse(bytes: &[u8], role: Role) -> Result<Option<(FrameHeader, usize)>, Violation> {
        FrameHeader::parse(bytes, role, RESERVED)
    }

    #[test]
    fn the_bit_of_compression_is_on_the_first_frame_of_a_message_alone() {
        for first in 0..=255u8 {
            let made = FrameHeader::parse(&[first, 1], Role::Client, RESERVED_BESIDE_DEFLATE);
            let opcode = first & 15;
            let is_reserved = first & 0x30 != 0 || (first & RSV1 != 0 && !matches!(opcode, 1 | 2));
            let expected = match opcode {
                _ if first & 0x30 != 0 => Err(Violation::ReservedBits),
                3..=7 | 11.. => Err(Violation::ReservedOpcode),
                _ if is_reserved => Err(Violation::ReservedBits),
                8.. if first & FIN == 0 => Err(Violation::ControlFragmented),
                _ => Ok(Some(first & RSV1 != 0)),
            };
            let made = made.map(|made| made.map(|(header, _)| header.is_compressed));
            assert_eq!(made, expected, "{first:#x}");
        }
    }

    #[test]
    fn each_pair_of_first_bytes_is_taken_or_refused_as_section_5_2_says() {
        for first in 0..=255u8 {
            for second in 0..=255u8 {
                let mut bytes = Vec::from([first, second]);
                bytes.extend([0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4]);
                let (opcode, length) = (first & 15, second & 0x7f);
                for role in [Role::Client, Role::Server] {
                    let made = parse(&bytes, role).map(|header| header.is_some());
                    let expected = if first & 0x70 != 0 {
                        Err(Violation::ReservedBits)
                    } else if matches!(opcode, 3..=7 | 11..) {
                        Err(Violation::ReservedOpcode)
                    } else if opcode >= 8 && first & 0x80 == 0 {
                        Err(Violation::ControlFragmented)
                    } else if role == Role::Server && second & 0x80 == 0 {
                        Err(Violation::NotMasked)
                    } else if role == Role::Client && second & 0x80 != 0 {
                        Err(Violation::Masked)
                    } else if opcode >= 8 && length > 125 {
                        Err(Violation::ControlBytes)
                    } else if length == 126 {
                        Err(Violation::LengthEncoding)
                    } else {
                        Ok(true)
                    };
                    assert_eq!(made, expected, "{first:#x} {second:#x} {role:?}");
                }
            }
        }
    }

    #[test]
    fn a_length_has_its_shortest_form_and_no_sign_bit() {
        let cases: [(&[u8], Result<u64, Violation>); 8] = [
            (&[0x82, 126, 0, 125], Err(Violation::LengthEncoding)),
            (&[0x82, 126, 0, 126], Ok(126)),
            (&[0x82, 126, 0xff, 0xff], Ok(0xffff)),
            (&[0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff], Err(Violation::LengthEncoding)),
            (&[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0], Ok(0x1_0000)),
            (&[0x82, 127, 0x7f, 0, 0, 0, 0, 0, 0, 0], Ok(0x7f << 56)),
            (&[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], Err(Violation::LengthEncoding)),
            (&[0x82, 125], Ok(125)),
        ];
        for (bytes, expected) in cases {
            let made = parse(bytes, Role::Client).map(|made| made.unwrap().0.payload_bytes);
            assert_eq!(made, expected, "{bytes:x?}");
        }
    }

    #[test]
    fn every_header_reads_back_and_every_prefix_of_it_asks_for_more() {
        use Opcode::{Binary, Close, Continuation, Ping, Pong, Text};
        for opcode in [Continuation, Text, Binary, Close, Ping, Pong] {
            for payload_bytes in [0, 1, 125, 126, 0xffff, 0x1_0000, u64::MAX >> 1] {
                for key in [None, Some([1, 2, 3, 4])] {
                    for is_final in [true, false] {
                        let is_compressed = false;
                        let header =
                            FrameHeader { opcode, is_final, is_compressed, payload_bytes, key };
                        if opcode.is_control() && (!is_final || payload_bytes > 125) {
                            continue;
                        }
                        let role = if key.is_some() { Role::Server } else { Role::Client };
                        let (bytes, length) = header.encode();
                        for cut in 0..length {
                            assert_eq!(parse(&bytes[..cut], role), Ok(None));
                        }
                        assert_eq!(parse(&bytes[..length], role), Ok(Some((header, length))));
                    }
                }
            }
        }
    }
}
