//! What stands around messages: from bytes to frames, and back.

use taut_sbe_gen::{ByteOrder, Composite, Field, Primitive, Schema, Type, Value};

/// The encoding types of SBE 1.0 in a Simple Open Framing Header.
const SOFH_LITTLE: u64 = 0xEB50;
const SOFH_BIG: u64 = 0x5BE0;

/// The packet header of MDP 3.0: sequence number and sending time.
const PACKET_HEADER_BYTES: usize = 12;

/// A message and where it stands.
#[derive(Debug)]
pub(super) struct Frame<'b> {
    /// In the file or the datagram.
    pub(super) offset: usize,
    pub(super) bytes: &'b [u8],
}

/// A framing header that cannot be: where, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) offset: usize,
    pub(super) problem: &'static str,
}

/// An integer of a framing header.
#[derive(Clone, Copy, Debug)]
struct Part {
    offset: usize,
    bytes: usize,
}

/// The shape of a Simple Open Framing Header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sofh {
    length: Part,
    kind: Part,
    bytes: usize,
    header_order: ByteOrder,
    payload_order: ByteOrder,
}

impl Sofh {
    /// The schema's own composite of length and encoding type; the standard's without one.
    pub(super) fn of(schema: &Schema) -> Self {
        let own = schema.composites.iter().find_map(|composite| {
            let length = part(composite, "messageLength")?;
            let kind = part(composite, "encodingType")?;
            Some((length, kind, composite.size))
        });
        let standard = (Part { offset: 0, bytes: 4 }, Part { offset: 4, bytes: 2 }, 6);
        let (length, kind, bytes) = own.unwrap_or(standard);
        let header_order = if own.is_some() { schema.byte_order } else { ByteOrder::Big };
        Self { length, kind, bytes, header_order, payload_order: schema.byte_order }
    }

    fn encoding(&self) -> u64 {
        match self.payload_order {
            ByteOrder::Little => SOFH_LITTLE,
            ByteOrder::Big => SOFH_BIG,
        }
    }

    pub(super) fn split<'b>(&self, bytes: &'b [u8]) -> Result<Vec<Frame<'b>>, Broken> {
        let mut frames = Vec::new();
        let mut offset = 0;
        while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
            let broken = |problem| Broken { offset, problem };
            let cut = "a framing header is cut short";
            let number = |part: Part| {
                let bytes = rest.get(part.offset..part.offset + part.bytes);
                bytes.map(|bytes| unsigned(self.header_order, bytes)).ok_or(broken(cut))
            };
            if number(self.kind)? != self.encoding() {
                return Err(broken("the framing header does not say SBE of this byte order"));
            }
            let length = usize::try_from(number(self.length)?).unwrap_or(usize::MAX);
            let message = rest
                .get(self.bytes..length)
                .ok_or(broken("the framing header's length is not that of a message"))?;
            frames.push(Frame { offset: offset + self.bytes, bytes: message });
            offset += length;
        }
        Ok(frames)
    }

    /// The header and the message, or nothing when it is too long.
    pub(super) fn join(&self, message: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = vec![0; self.bytes];
        let length = (self.bytes + message.len()) as u64;
        for (part, value) in [(self.length, length), (self.kind, self.encoding())] {
            let little = value.to_le_bytes();
            let (low, high) = little.split_at_checked(part.bytes)?;
            if high.iter().any(|&byte| byte != 0) {
                return None;
            }
            let to = bytes.get_mut(part.offset..part.offset + part.bytes)?;
            to.copy_from_slice(low);
            if self.header_order == ByteOrder::Big {
                to.reverse();
            }
        }
        bytes.extend(message);
        Some(bytes)
    }
}

fn part(composite: &Composite, name: &str) -> Option<Part> {
    let field: &Field = composite.fields.iter().find(|field| field.name == name)?;
    match &field.kind {
        Type::Plain(plain) if matches!(plain.primitive, Primitive::Int { signed: false, .. }) => {
            Some(Part { offset: field.offset, bytes: field.size })
        }
        _ => None,
    }
}

fn unsigned(order: ByteOrder, bytes: &[u8]) -> u64 {
    let push = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    match order {
        ByteOrder::Little => bytes.iter().rev().fold(0, push),
        ByteOrder::Big => bytes.iter().fold(0, push),
    }
}

/// The packet of an MDP 3.0 datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) sequence: u32,
    pub(super) sending_time: u64,
}

impl Packet {
    /// What it says, as a record.
    pub(super) fn values(self) -> Vec<(String, Value)> {
        vec![
            ("sequence".to_owned(), Value::Int(self.sequence.into())),
            ("sending_time".to_owned(), Value::Int(self.sending_time.into())),
        ]
    }

    /// The header of a datagram.
    pub(super) fn bytes(self) -> Vec<u8> {
        [&self.sequence.to_le_bytes()[..], &self.sending_time.to_le_bytes()].concat()
    }
}

/// The messages of an MDP 3.0 datagram.
pub(super) fn split_mdp3(bytes: &[u8]) -> Result<(Packet, Vec<Frame<'_>>), Broken> {
    let broken = |offset, problem| Broken { offset, problem };
    let Some((&[s0, s1, s2, s3, time @ ..], mut rest)) =
        bytes.split_first_chunk::<PACKET_HEADER_BYTES>()
    else {
        return Err(broken(0, "the packet header is cut short"));
    };
    let packet = Packet {
        sequence: u32::from_le_bytes([s0, s1, s2, s3]),
        sending_time: u64::from_le_bytes(time),
    };
    let mut frames = Vec::new();
    while let Some((size, _)) = rest.split_first_chunk::<2>() {
        let offset = bytes.len() - rest.len();
        let (message, behind) = rest
            .split_at_checked(u16::from_le_bytes(*size).into())
            .ok_or(broken(offset, "the message size is beyond the datagram"))?;
        let message =
            message.get(2..).ok_or(broken(offset, "the message size is below its own length"))?;
        frames.push(Frame { offset: offset + 2, bytes: message });
        rest = behind;
    }
    match rest {
        [] => Ok((packet, frames)),
        _ => Err(broken(bytes.len() - rest.len(), "a message size is cut short")),
    }
}
