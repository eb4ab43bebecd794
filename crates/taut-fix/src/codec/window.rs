//! A short field is stored in whole words into a window of the buffer, each over the end of the one
//! before: no store asks how long its text is.

use crate::codec::number::{
    EIGHT_DIGITS, FOUR_DIGITS, eight_digits, fraction_text, short_text, tiny_text, two_digits,
};

const SOH: u8 = 1;
/// Room that a field of a tag and a short value never leaves: with so much left it is written in
/// whole words, each of which may run over the next part's place.
pub const WINDOW: usize = 48;

/// Room for a short field and some more.
#[inline(always)]
pub fn window(out: &mut [u8], at: u32) -> Option<&mut [u8; WINDOW]> {
    let at = at as usize;
    out.get_mut(at..at + WINDOW)?.first_chunk_mut()
}

/// Stores bytes at a place of a window; what would run over its end is not stored.
#[inline(always)]
pub fn put<const N: usize>(room: &mut [u8; WINDOW], at: usize, bytes: &[u8; N]) {
    if let Some(place) = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<N>) {
        *place = *bytes;
    }
}

/// Stores a value of `N` to `2 * N` bytes by its two ends; returns whether it has no delimiter.
#[inline(always)]
pub fn put_ends<const N: usize>(room: &mut [u8; WINDOW], at: usize, value: &[u8]) -> bool {
    let (Some(first), Some(last)) = (value.first_chunk::<N>(), value.last_chunk::<N>()) else {
        return false;
    };
    put(room, at, first);
    put(room, at + value.len() - N, last);
    let is_clean = |bytes: &[u8; N]| bytes.iter().fold(true, |all, byte| all & (*byte != SOH));
    is_clean(first) & is_clean(last)
}

/// Stores the digits of a number of at most sixteen and a delimiter; returns where that stands.
#[inline(always)]
pub fn put_number(room: &mut [u8; WINDOW], at: usize, value: u64) -> usize {
    if value < FOUR_DIGITS {
        let (text, len) = tiny_text(value as u32);
        put(room, at, &text);
        return at + len;
    }
    let end = if value < EIGHT_DIGITS {
        let (text, len) = short_text(value as u32);
        put(room, at, &text);
        at + len
    } else {
        let head = value / EIGHT_DIGITS;
        let last = at + put_head(room, at, head as u32);
        put(room, last, &eight_digits((value - head * EIGHT_DIGITS) as u32));
        last + 8
    };
    put(room, end, &[SOH]);
    end
}

/// Stores what a number has before its last eight digits; returns how many they are.
#[inline(always)]
fn put_head(room: &mut [u8; WINDOW], at: usize, head: u32) -> usize {
    if head < 100 {
        let [tens, units] = two_digits(head);
        let is_one = usize::from(tens == b'0');
        put(room, at, &[if is_one == 1 { units } else { tens }, units]);
        return 2 - is_one;
    }
    let (text, len) =
        if u64::from(head) < FOUR_DIGITS { tiny_text(head) } else { short_text(head) };
    put(room, at, &text);
    len
}

/// Stores the point and what stands behind it of a number of billionths, and a delimiter; for
/// none, nothing. Returns where the delimiter stands.
#[inline(always)]
pub fn put_fraction(room: &mut [u8; WINDOW], at: usize, billionths: u32) -> usize {
    /// A hundredth, in billionths.
    const CENT: u32 = 10_000_000;
    if billionths == 0 {
        return at;
    }
    let cents = billionths / CENT;
    let end = if cents * CENT == billionths {
        let [tens, units] = two_digits(cents);
        put(room, at, &[b'.', tens, units, SOH]);
        at + 2 + usize::from(units != b'0')
    } else {
        let (text, len) = fraction_text(billionths / 10);
        put(room, at, b".");
        put(room, at + 1, &text);
        match billionths % 10 {
            0 => at + 1 + len,
            last => {
                put(room, at + 9, &[b'0' + last as u8]);
                at + 10
            }
        }
    };
    put(room, end, &[SOH]);
    end
}

/// A tag as it is written.
pub struct Tag<const TAG: u32>;

impl<const TAG: u32> Tag<TAG> {
    const TEXT: ([u8; 8], usize) = {
        assert!(TAG > 0 && TAG <= 9999, "a tag of one to four digits");
        tag_text(TAG)
    };
    /// `TAG=`, zeros behind it.
    pub const WORD: [u8; 8] = Self::TEXT.0;
    /// How many bytes of the word count.
    pub const LEN: usize = Self::TEXT.1;
}

/// `TAG=` as text, padded with zeros, and its length.
const fn tag_text(tag: u32) -> ([u8; 8], usize) {
    let mut word = b'=' as u64;
    let mut len = 1;
    let mut rest = tag;
    while rest > 0 {
        word = word << 8 | (b'0' + (rest % 10) as u8) as u64;
        rest /= 10;
        len += 1;
    }
    (word.to_le_bytes(), len)
}
