//! Positions: a stream is a log of terms, and a position counts its bytes from the first term.

use crate::error::{Error, Parameter};

/// Frames start at multiples of this, in the log and in a datagram.
pub const FRAME_ALIGNMENT: i32 = 32;
/// The shortest term.
pub const TERM_LENGTH_MIN: i32 = 64 * 1024;
/// The longest term.
pub const TERM_LENGTH_MAX: i32 = 1024 * 1024 * 1024;
/// The longest message of any stream.
pub const MESSAGE_BYTES_MAX: i32 = 16 * 1024 * 1024;

/// A frame's length with its padding.
#[must_use]
#[inline]
pub const fn aligned(frame_length: i64) -> i64 {
    const MASK: i64 = FRAME_ALIGNMENT as i64 - 1;
    (frame_length + MASK) & !MASK
}

/// The terms of one stream: which was the first, and how long each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    initial_term_id: i32,
    bits: u32,
}

impl Terms {
    /// # Errors
    /// [`Parameter::TermLength`] unless it is a power of two from 64 KiB to 1 GiB.
    pub const fn new(initial_term_id: i32, term_length: i32) -> Result<Self, Error> {
        let fits = term_length >= TERM_LENGTH_MIN && term_length <= TERM_LENGTH_MAX;
        if !fits || term_length.count_ones() != 1 {
            return Err(Error::Misuse(Parameter::TermLength));
        }
        Ok(Self { initial_term_id, bits: term_length.trailing_zeros() })
    }

    /// The id of the first term.
    #[must_use]
    pub const fn initial_term_id(&self) -> i32 {
        self.initial_term_id
    }

    /// The length of a term.
    #[must_use]
    #[inline]
    pub const fn length(&self) -> i64 {
        1 << self.bits
    }

    /// The end of the last term that has an id.
    #[must_use]
    pub const fn position_max(&self) -> i64 {
        1 << (self.bits + 31)
    }

    /// The longest message: an eighth of a term.
    #[must_use]
    pub const fn message_bytes_max(&self) -> usize {
        let eighth = 1usize << (self.bits - 3);
        if eighth < MESSAGE_BYTES_MAX as usize { eighth } else { MESSAGE_BYTES_MAX as usize }
    }

    /// Where a frame is; nothing for a term before the first or an offset outside the term. Ids
    /// wrap around.
    #[must_use]
    #[inline]
    pub const fn position(&self, term_id: i32, term_offset: i32) -> Option<i64> {
        let count = term_id.wrapping_sub(self.initial_term_id);
        if count < 0 || term_offset < 0 || term_offset as i64 > self.length() {
            return None;
        }
        Some(((count as i64) << self.bits) + term_offset as i64)
    }

    /// The term that a position lies in.
    #[must_use]
    #[inline]
    pub const fn term_id(&self, position: i64) -> i32 {
        self.initial_term_id.wrapping_add((position >> self.bits) as i32)
    }

    /// A position's offset in its term.
    #[must_use]
    #[inline]
    pub const fn offset(&self, position: i64) -> i32 {
        (position & (self.length() - 1)) as i32
    }

    /// The bytes from a position to the end of its term.
    #[must_use]
    #[inline]
    pub const fn remaining(&self, position: i64) -> i64 {
        self.length() - (position & (self.length() - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::{Terms, aligned};
    use crate::error::{Error, Parameter};

    #[test]
    fn a_position_and_its_term_and_offset_are_one_thing_also_where_ids_wrap() {
        for initial in [0, 7, -1, i32::MAX, i32::MAX - 1, i32::MIN] {
            for length in [64 * 1024, 1024 * 1024 * 1024] {
                let terms = Terms::new(initial, length).unwrap();
                let last = terms.position_max() - 32;
                for position in [0, 32, terms.length() - 32, terms.length(), last] {
                    let (id, offset) = (terms.term_id(position), terms.offset(position));
                    assert_eq!(terms.position(id, offset), Some(position));
                    assert_eq!(terms.remaining(position) + i64::from(offset), terms.length());
                }
                assert_eq!(terms.position(initial.wrapping_sub(1), 0), None);
                assert_eq!(terms.position(initial, -32), None);
                assert_eq!(terms.position(initial, length), Some(terms.length()));
            }
        }
    }

    #[test]
    fn a_term_is_a_power_of_two_from_64_kib_to_1_gib() {
        for length in [0, -65_536, 32 * 1024, 65_537, 96 * 1024, i32::MIN, i32::MAX] {
            let error = Err(Error::Misuse(Parameter::TermLength));
            assert_eq!(Terms::new(0, length), error, "{length}");
        }
        assert_eq!(Terms::new(0, 64 * 1024).unwrap().message_bytes_max(), 8 * 1024);
        assert_eq!(Terms::new(0, 1 << 30).unwrap().message_bytes_max(), 16 * 1024 * 1024);
    }

    #[test]
    fn frames_are_padded_to_32_bytes() {
        assert_eq!([0, 1, 32, 33, 102].map(aligned), [0, 32, 32, 64, 128]);
    }
}
