//! Text into a room that may be too small for it.

use taut_types::{DECIMAL_BYTES_MAX, format_decimal};

/// What has been written so far. What does not fit makes all of it void.
#[derive(Debug)]
pub(crate) struct Text<'o> {
    room: &'o mut [u8],
    len: usize,
    is_cut: bool,
}

impl<'o> Text<'o> {
    pub(crate) const fn new(room: &'o mut [u8]) -> Self {
        Self { room, len: 0, is_cut: false }
    }

    /// Where it is inlined, what is known when it is compiled is copied without a call.
    #[inline(always)]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        match self.room.get_mut(self.len..).and_then(|room| room.split_at_mut_checked(bytes.len()))
        {
            Some((room, _)) => {
                room.copy_from_slice(bytes);
                self.len += bytes.len();
            }
            None => self.is_cut = true,
        }
    }

    /// Bytes that are few and whose number is not known: two pieces that may overlap cost less than
    /// a call.
    #[inline]
    pub(crate) fn put_short(&mut self, bytes: &[u8]) {
        let room = self.room.get_mut(self.len..).and_then(|room| room.get_mut(..bytes.len()));
        let Some(room) = room else {
            self.is_cut = true;
            return;
        };
        if !copy_ends::<8>(bytes, room) && !copy_ends::<16>(bytes, room) {
            room.copy_from_slice(bytes);
        }
        self.len += bytes.len();
    }

    #[inline]
    pub(crate) fn put_number(&mut self, number: u64) {
        match i64::try_from(number) {
            Ok(number) => self.put_decimal(number, 0),
            Err(_) => self.put(decimal(number, &mut [0; NUMBER_BYTES_MAX])),
        }
    }

    /// A decimal without an exponent, as short as it can be.
    #[inline]
    pub(crate) fn put_decimal(&mut self, value: i64, decimals: u8) {
        let room = self.room.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut);
        if let Some(room) = room {
            self.len += format_decimal(value, decimals, room);
            return;
        }
        let mut digits = [0; DECIMAL_BYTES_MAX];
        let len = format_decimal(value, decimals, &mut digits);
        self.put(digits.get(..len).unwrap_or_default());
    }

    /// What was written, if all of it fitted.
    pub(crate) fn finish(self) -> Option<&'o [u8]> {
        let Self { room, len, is_cut } = self;
        if is_cut { None } else { room.get(..len) }
    }
}

/// Copies `N` to `2 * N` bytes; whether they were so many.
#[inline(always)]
fn copy_ends<const N: usize>(from: &[u8], to: &mut [u8]) -> bool {
    if from.len() > 2 * N || from.len() != to.len() {
        return false;
    }
    let (Some(head), Some(tail)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else {
        return false;
    };
    to.first_chunk_mut::<N>().into_iter().for_each(|to| *to = *head);
    to.last_chunk_mut::<N>().into_iter().for_each(|to| *to = *tail);
    true
}

/// Digits of the largest number.
pub(crate) const NUMBER_BYTES_MAX: usize = 20;

/// A number's digits.
pub(crate) fn decimal(mut number: u64, out: &mut [u8; NUMBER_BYTES_MAX]) -> &[u8] {
    let mut start = out.len();
    for room in out.iter_mut().rev() {
        *room = b'0' + (number % 10) as u8;
        number /= 10;
        start -= 1;
        if number == 0 {
            break;
        }
    }
    out.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn numbers_are_written_as_they_print() {
        for number in [0, 9, 10, 1_234_567_890, u64::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }

    #[test]
    fn what_does_not_fit_is_nothing() {
        let mut room = [0; 6];
        let mut text = Text::new(&mut room);
        text.put(b"a=");
        text.put_decimal(-15, 1);
        assert_eq!(text.finish(), Some(&b"a=-1.5"[..]));
        let mut text = Text::new(&mut room);
        text.put_number(1_234_567);
        text.put(b"8");
        assert_eq!(text.finish(), None);
    }
}
