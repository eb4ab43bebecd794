//! A pull scanner over JSON: the caller asks for what it expects next.
//!
//! It looks at no more than it is asked for: what is skipped is skipped by its structure (strings,
//! brackets), without a check of its inside. It neither recurses nor copies. What it cannot give
//! is `None`, and [`Scanner::error`] then says where and why.

use taut_types::{DecimalForm, leading_digits, parse_decimal_prefix};

use crate::error::{Expected, MarketDataError};

/// A place in a JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    rest: &'a [u8],
    len: usize,
    error: Option<MarketDataError>,
}

impl<'a> Scanner<'a> {
    pub(crate) const fn new(text: &'a [u8]) -> Self {
        Self { rest: text, len: text.len(), error: None }
    }

    /// Where it stands, in bytes.
    #[inline]
    pub(crate) const fn offset(&self) -> usize {
        self.len - self.rest.len()
    }

    /// What is left: to look ahead with, and to come [`back_to`](Self::back_to).
    #[inline]
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Goes on here, which is a tail of the text.
    #[inline]
    pub(crate) const fn back_to(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    /// Why the last call gave nothing.
    #[cold]
    pub(crate) fn error(&self) -> MarketDataError {
        let offset = self.offset();
        self.error.unwrap_or(MarketDataError::Malformed { offset, expected: Expected::Json })
    }

    /// Gives nothing, for this reason, here.
    #[cold]
    pub(crate) const fn refuse<T>(&mut self, expected: Expected) -> Option<T> {
        let offset = self.offset();
        self.error = Some(MarketDataError::Malformed { offset, expected });
        None
    }

    /// Gives nothing, for want of room.
    #[cold]
    pub(crate) const fn overflow<T>(&mut self, levels_max: usize) -> Option<T> {
        self.error = Some(MarketDataError::TooManyLevels { levels_max });
        None
    }

    /// The next byte that is not white space, which stays where it is.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        match self.rest.first() {
            Some(&byte) if byte > b' ' => Some(byte),
            _ => self.peek_behind_space(),
        }
    }

    #[cold]
    fn peek_behind_space(&mut self) -> Option<u8> {
        while let Some((&byte, rest)) = self.rest.split_first() {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.rest = rest;
        }
        self.refuse(Expected::Json)
    }

    /// Takes this byte and no other.
    #[inline]
    pub(crate) fn take(&mut self, expected: u8) -> Option<()> {
        if self.take_if(expected)? { Some(()) } else { self.refuse(Expected::Json) }
    }

    /// Takes this byte if it comes next.
    #[inline]
    pub(crate) fn take_if(&mut self, byte: u8) -> Option<bool> {
        let is_next = self.peek()? == byte;
        if is_next {
            self.skip_byte();
        }
        Some(is_next)
    }

    #[inline]
    fn skip_byte(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    /// Takes these bytes if they come next; nothing else is said about what does.
    #[inline]
    pub(crate) fn literal<const N: usize>(&mut self, bytes: &[u8; N]) -> Option<()> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        if head != bytes {
            return None;
        }
        self.rest = rest;
        Some(())
    }

    /// A string without escapes, without its quotes.
    #[inline]
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        self.text_tail()
    }

    /// What is left of a string behind its first quote; the last one is taken.
    #[inline]
    pub(crate) fn text_tail(&mut self) -> Option<&'a [u8]> {
        let end = special(self.rest);
        match self.rest.split_at_checked(end) {
            Some((text, [b'"', rest @ ..])) => {
                self.rest = rest;
                Some(text)
            }
            _ => self.refuse(Expected::Text),
        }
    }

    /// A key of an object and its colon; an empty one for a key with escapes, which is none of
    /// ours.
    #[inline]
    pub(crate) fn key(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        // Keys of one letter are what feeds are made of.
        if let [b'"', key, b'"', b':', rest @ ..] = self.rest
            && *key != b'\\'
        {
            self.rest = rest;
            return Some(core::slice::from_ref(key));
        }
        self.long_key()
    }

    fn long_key(&mut self) -> Option<&'a [u8]> {
        let here = self.rest;
        let key = match self.text() {
            Some(key) => key,
            None => {
                self.rest = here;
                self.skip_string()?;
                &[]
            }
        };
        self.take(b':')?;
        Some(key)
    }

    /// An integer that 64 bits hold.
    #[inline]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let first = self.peek()?;
        if let Some((value, len)) = leading_number(self.rest)
            && let Some(rest) = self.rest.get(len..)
            && !matches!(rest, [b'.' | b'e' | b'E', ..])
            && (first != b'0' || len == 1)
        {
            self.rest = rest;
            return Some(value);
        }
        self.refuse(Expected::Number)
    }

    /// A decimal of zero or more in a string whose first quote is taken; the last one is, too.
    #[inline]
    pub(crate) fn decimal_tail(&mut self, column: &mut Column) -> Option<i64> {
        let (value, rest) = column.read(self.rest)?;
        self.rest = rest;
        (value >= 0).then_some(value)
    }

    /// Skips a value of any kind.
    pub(crate) fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    self.skip_byte();
                    depth += 1;
                    continue;
                }
                b'}' | b']' if depth > 0 => {
                    self.skip_byte();
                    depth -= 1;
                }
                b',' | b':' if depth > 0 => {
                    self.skip_byte();
                    continue;
                }
                b'}' | b']' | b',' | b':' => return self.refuse(Expected::Json),
                _ => self.skip_scalar(),
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Whether nothing but white space is left.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.rest.is_empty() || self.peek().is_none()
    }

    /// A number or a word.
    fn skip_scalar(&mut self) {
        let is_end = |byte: &u8| *byte <= b' ' || matches!(byte, b',' | b'}' | b']' | b':' | b'"');
        let len = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
        // At least one byte: the caller has seen that none of the ends comes first.
        self.rest = self.rest.get(len.max(1)..).unwrap_or_default();
    }

    fn skip_string(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            let end = special(self.rest);
            match self.rest.get(end..) {
                Some([b'"', rest @ ..]) => {
                    self.rest = rest;
                    return Some(());
                }
                Some([b'\\', _, rest @ ..]) => self.rest = rest,
                _ => return self.refuse(Expected::Text),
            }
        }
    }
}

/// A decimal with a quote behind it, and what follows the quote.
#[inline]
pub(crate) fn decimal_and_quote(text: &[u8], decimals: u8) -> Option<(i64, &[u8])> {
    let (value, len) = parse_decimal_prefix(text, decimals).ok()?;
    match text.get(len..) {
        Some([b'"', rest @ ..]) => Some((value, rest)),
        _ => None,
    }
}

/// Decimals that come one below the other, and mostly in the same form.
///
/// Where a decimal ends depends on its digits, and so would the place of the next one: the
/// processor would wait for each before it begins another. In the form of the one before, which is
/// only checked, it reads several at a time.
#[derive(Debug)]
pub(crate) struct Column {
    form: Option<DecimalForm>,
    decimals: u8,
}

impl Column {
    pub(crate) const fn new(decimals: u8) -> Self {
        Self { form: None, decimals }
    }

    /// A decimal with a quote behind it, and what follows the quote.
    #[inline]
    pub(crate) fn read<'a>(&mut self, text: &'a [u8]) -> Option<(i64, &'a [u8])> {
        if let Some(form) = &self.form
            && let Some([b'"', rest @ ..]) = text.get(form.byte_count()..)
            && let Some(value) = form.read(text)
        {
            return Some((value, rest));
        }
        self.read_other(text)
    }

    /// A call of its own, or else the compiler would see that an expected length is the found one.
    #[inline(never)]
    fn read_other<'a>(&mut self, text: &'a [u8]) -> Option<(i64, &'a [u8])> {
        let (value, len) = parse_decimal_prefix(text, self.decimals).ok()?;
        let (decimal, behind) = text.split_at_checked(len)?;
        self.form = DecimalForm::of(decimal, self.decimals);
        match behind {
            [b'"', rest @ ..] => Some((value, rest)),
            _ => None,
        }
    }
}

/// The number that a text begins with and its length, if 64 bits hold it.
#[inline]
fn leading_number(text: &[u8]) -> Option<(u64, usize)> {
    // Ids and times have up to sixteen digits: two words.
    if let Some((head, tail)) = text.split_first_chunk::<8>()
        && let Some(tail) = tail.first_chunk::<8>()
    {
        let (high, high_len) = leading_digits(u64::from_le_bytes(*head));
        if high_len < 8 {
            return (high_len > 0).then_some((high, high_len));
        }
        let (low, low_len) = leading_digits(u64::from_le_bytes(*tail));
        if low_len < 8 {
            return Some((high * POWERS.get(low_len)? + low, 8 + low_len));
        }
    }
    let mut value = 0u64;
    let mut len = 0;
    for &byte in text.iter().take_while(|byte| byte.is_ascii_digit()) {
        value = value.checked_mul(10)?.checked_add((byte - b'0').into())?;
        len += 1;
    }
    (len > 0).then_some((value, len))
}

const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The place of the first quote or backslash, or the length.
#[inline]
fn special(text: &[u8]) -> usize {
    let mut at = 0;
    let mut rest = text;
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let marks = zero_bytes(word ^ QUOTES) | zero_bytes(word ^ BACKSLASHES);
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
        rest = behind;
    }
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(rest.len())
}

const ONES: u64 = 0x0101_0101_0101_0101;
const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);

/// The high bit of every byte that is zero, and perhaps of some above the first such byte.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_quote_or_backslash_wherever_it_stands() {
        for len in 0..20 {
            for at in 0..len {
                for byte in [b'"', b'\\'] {
                    let mut text = std::vec![b'!'; len];
                    text[at] = byte;
                    assert_eq!(special(&text), at);
                    text[len - 1] = b'"';
                    assert_eq!(special(&text), at);
                }
            }
            assert_eq!(special(&std::vec![0xA2; len]), len);
        }
    }

    #[test]
    fn skips_every_kind_of_value_and_nothing_behind_it() {
        for value in [
            "1",
            "-1.5e9",
            "true",
            "null",
            "\"\"",
            "\"a\\\"]\\\\\"",
            "[]",
            "{}",
            "[1,[2,{\"a\":[]}]]",
            "{ \"a\" : \"}\" , \"b\" : [ 1 ] }",
        ] {
            let text = std::format!("{value}, 7");
            let mut scanner = Scanner::new(text.as_bytes());
            assert_eq!(scanner.skip_value(), Some(()));
            assert_eq!(scanner.take(b','), Some(()), "{value}");
            assert_eq!(scanner.number(), Some(7));
            assert!(scanner.is_at_end());
        }
        for value in ["", "\"", "\"\\", "[", "{\"a\"", "]", ",", "[[1]"] {
            assert!(Scanner::new(value.as_bytes()).skip_value().is_none(), "{value}");
        }
    }

    #[test]
    fn a_number_is_an_integer_of_64_bits() {
        for value in [0, 7, 12_345_678, 123_456_789, 5_123_107_837_557, 1 << 53, u64::MAX] {
            for behind in ["", ",", ", 12345678901234567890"] {
                let text = std::format!("{value}{behind}");
                assert_eq!(Scanner::new(text.as_bytes()).number(), Some(value), "{text}");
            }
        }
        for text in ["18446744073709551616", "-1", "01", "1.0", "1e3", "", "x", "\"1\""] {
            assert!(Scanner::new(text.as_bytes()).number().is_none(), "{text}");
        }
    }
}
