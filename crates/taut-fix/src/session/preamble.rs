//! What stands behind MsgSeqNum (34) in nearly every header: SenderCompID (49), SendingTime (52),
//! TargetCompID (56).

use taut_types::Nanos;

use crate::codec::text::CompId;
use crate::codec::timestamp::{NANOS_PER_SECOND, Precision, SECOND_BYTES, StampCache, millis_text};
use crate::codec::writer::Writer;

/// `49=`, `52=`, `56=` and their delimiters; two names of 31 bytes; a time with milliseconds.
const TEXT_BYTES: usize = 12 + 2 * 31 + SECOND_BYTES + 4;

/// The text of the three fields, as it was at a second: a message gets a copy of it and the
/// milliseconds of its own.
#[derive(Clone, Debug)]
pub struct Preamble {
    text: [u8; TEXT_BYTES],
    len: usize,
    /// Where the time starts.
    time_at: usize,
    /// The second that is written there, UTC, modulo 2^64.
    second: i64,
}

impl Preamble {
    /// The fields of these two; `None` when times are not written in milliseconds.
    pub fn new(sender: &CompId, target: &CompId, precision: Precision) -> Option<Self> {
        let mut made = Self { text: [0; TEXT_BYTES], len: 0, time_at: 0, second: 0 };
        made.push(b"49=");
        made.push(sender.as_bytes());
        made.push(b"\x0152=");
        made.time_at = made.len;
        made.push(b"19700101-00:00:00.000\x0156=");
        made.push(target.as_bytes());
        made.push(b"\x01");
        (precision == Precision::Millis).then_some(made)
    }

    /// Writes the fields; `false`, and nothing is written, where there is little room.
    #[inline(always)]
    pub fn write(&mut self, writer: &mut Writer<'_>, utc: Nanos) -> bool {
        if self.below_second(utc) >= NANOS_PER_SECOND.unsigned_abs() {
            self.write_second(utc);
        }
        let millis = millis_text(self.below_second(utc));
        writer.copy(&self.text, self.len, self.time_at + SECOND_BYTES, millis)
    }

    #[inline(always)]
    const fn below_second(&self, utc: Nanos) -> u64 {
        utc.0.wrapping_sub(self.second).cast_unsigned()
    }

    #[cold]
    fn write_second(&mut self, utc: Nanos) {
        let mut stamps = StampCache::new(Precision::Millis);
        let (second, ..) = stamps.stamp(utc);
        if let Some(room) = self.text.get_mut(self.time_at..).and_then(<[u8]>::first_chunk_mut) {
            *room = *second;
        }
        self.second = utc.0.div_euclid(NANOS_PER_SECOND).wrapping_mul(NANOS_PER_SECOND);
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(room) = self.text.get_mut(self.len..self.len + bytes.len()) {
            room.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }
}
