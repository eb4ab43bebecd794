//! A message as words of a ring: a head of one slot, and its text in up to three more.
//!
//! | word | of the head |
//! |---|---|
//! | 0 | number (16 bits), bytes of its text (8), flags (8), how often it was held back (32) |
//! | 1 | when it was said, in ns of the writer's clock |
//! | 2 to 6 | its values |

use taut_ring::Payload;
use taut_types::Nanos;

/// Values of a message at the most.
pub const VALUES_MAX: usize = 5;
/// Bytes of text that a message carries at the most; what is more is cut off.
pub const TEXT_BYTES_MAX: usize = 3 * SLOT_BYTES;

/// Slots of a record at the most.
pub(crate) const SLOTS_MAX: usize = 4;
/// Bytes of text in a slot.
pub(crate) const SLOT_BYTES: usize = size_of::<Payload>();

/// It has no values: it only says how often its message was held back.
const IS_COUNT: u64 = 1 << 24;

/// The head of a record, in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub number: u16,
    pub text_bytes: u8,
    pub is_count: bool,
    pub repeated: u32,
    pub at: Nanos,
    pub values: [u64; VALUES_MAX],
}

impl Head {
    #[inline]
    pub const fn to_payload(self) -> Payload {
        let Self { number, text_bytes, is_count, repeated, at, values } = self;
        let flags = if is_count { IS_COUNT } else { 0 };
        let first = number as u64 | (text_bytes as u64) << 16 | flags | (repeated as u64) << 32;
        let [a, b, c, d, e] = values;
        [first, at.0.cast_unsigned(), a, b, c, d, e]
    }

    pub const fn from_payload(payload: &Payload) -> Self {
        let [first, at, a, b, c, d, e] = *payload;
        Self {
            number: first as u16,
            text_bytes: (first >> 16) as u8,
            is_count: first & IS_COUNT != 0,
            repeated: (first >> 32) as u32,
            at: Nanos(at.cast_signed()),
            values: [a, b, c, d, e],
        }
    }
}

/// A slot of text; bytes beyond it are 0.
pub(crate) fn text_payload(bytes: &[u8]) -> Payload {
    let mut padded = [0; SLOT_BYTES];
    padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    let (words, _) = padded.as_chunks::<8>();
    let mut payload = Payload::default();
    payload.iter_mut().zip(words).for_each(|(to, from)| *to = u64::from_le_bytes(*from));
    payload
}

/// The bytes of a slot of text.
pub(crate) fn text_bytes(payload: &Payload) -> [u8; SLOT_BYTES] {
    let mut bytes = [0; SLOT_BYTES];
    let all = payload.iter().flat_map(|word| word.to_le_bytes());
    bytes.iter_mut().zip(all).for_each(|(to, from)| *to = from);
    bytes
}
