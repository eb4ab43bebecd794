//! A pull scanner over JSON: the caller asks for what it expects next.
//!
//! It looks at no more than it is asked for: what is skipped is skipped by its structure (strings,
//! brackets), without a check of its inside. It neither recurses nor copies.

use crate::error::{Expected, MarketDataError};

/// A place in a JSON text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanner<'a> {
    rest: &'a [u8],
    len: usize,
}

type Scanned<T> = Result<T, MarketDataError>;

impl<'a> Scanner<'a> {
    pub(crate) const fn new(text: &'a [u8]) -> Self {
        Self { rest: text, len: text.len() }
    }

    /// Where it stands, in bytes.
    pub(crate) const fn offset(&self) -> usize {
        self.len - self.rest.len()
    }

    /// What is wrong here.
    #[cold]
    pub(crate) const fn wrong(&self, expected: Expected) -> MarketDataError {
        MarketDataError::Malformed { offset: self.offset(), expected }
    }

    /// The next byte that is not white space, which stays where it is.
    #[inline]
    pub(crate) fn peek(&mut self) -> Scanned<u8> {
        match self.rest.first() {
            Some(&byte) if byte > b' ' => Ok(byte),
            _ => self.peek_behind_space(),
        }
    }

    #[cold]
    fn peek_behind_space(&mut self) -> Scanned<u8> {
        while let Some((&byte, rest)) = self.rest.split_first() {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Ok(byte);
            }
            self.rest = rest;
        }
        Err(self.wrong(Expected::Json))
    }

    /// Takes the next byte that is not white space.
    #[inline]
    pub(crate) fn next(&mut self) -> Scanned<u8> {
        let byte = self.peek()?;
        self.rest = self.rest.get(1..).unwrap_or_default();
        Ok(byte)
    }

    /// Takes this byte and no other.
    #[inline]
    pub(crate) fn take(&mut self, expected: u8) -> Scanned<()> {
        if self.peek()? == expected {
            self.rest = self.rest.get(1..).unwrap_or_default();
            return Ok(());
        }
        Err(self.wrong(Expected::Json))
    }

    /// Takes this byte if it comes next.
    #[inline]
    pub(crate) fn take_if(&mut self, byte: u8) -> Scanned<bool> {
        let is_next = self.peek()? == byte;
        if is_next {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        Ok(is_next)
    }

    /// A string without escapes, without its quotes.
    #[inline]
    pub(crate) fn text(&mut self) -> Scanned<&'a [u8]> {
        self.take(b'"')?;
        let end = special(self.rest);
        match self.rest.split_at_checked(end) {
            Some((text, [b'"', rest @ ..])) => {
                self.rest = rest;
                Ok(text)
            }
            _ => Err(self.wrong(Expected::Text)),
        }
    }

    /// A key of an object and its colon; nothing for a key with escapes, which is none of ours.
    #[inline]
    pub(crate) fn key(&mut self) -> Scanned<Option<&'a [u8]>> {
        // Keys of one letter are what feeds are made of.
        if let [b'"', key, b'"', b':', rest @ ..] = self.rest
            && *key != b'"'
            && *key != b'\\'
        {
            self.rest = rest;
            return Ok(Some(core::slice::from_ref(key)));
        }
        let here = *self;
        let key = match self.text() {
            Ok(key) => Some(key),
            Err(_) => {
                *self = here;
                self.skip_string()?;
                None
            }
        };
        self.take(b':')?;
        Ok(key)
    }

    /// An integer that 64 bits hold.
    #[inline]
    pub(crate) fn number(&mut self) -> Scanned<u64> {
        let first = self.peek()?;
        let mut value = 0u64;
        let mut rest = self.rest;
        while let Some((&byte, behind)) = rest.split_first() {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            let next = value.checked_mul(10).and_then(|v| v.checked_add(digit.into()));
            value = next.ok_or_else(|| self.wrong(Expected::Number))?;
            rest = behind;
        }
        let len = self.rest.len() - rest.len();
        let goes_on = matches!(rest.first(), Some(b'.' | b'e' | b'E'));
        if len == 0 || goes_on || (first == b'0' && len > 1) {
            return Err(self.wrong(Expected::Number));
        }
        self.rest = rest;
        Ok(value)
    }

    /// Skips a value of any kind.
    pub(crate) fn skip_value(&mut self) -> Scanned<()> {
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    self.next()?;
                    depth += 1;
                    continue;
                }
                b'}' | b']' if depth > 0 => {
                    self.next()?;
                    depth -= 1;
                }
                b',' | b':' if depth > 0 => {
                    self.next()?;
                    continue;
                }
                b'}' | b']' | b',' | b':' => return Err(self.wrong(Expected::Json)),
                _ => self.skip_scalar(),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Whether nothing but white space is left.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.peek().is_err()
    }

    /// A number or a word.
    fn skip_scalar(&mut self) {
        let is_end = |byte: &u8| *byte <= b' ' || matches!(byte, b',' | b'}' | b']' | b':' | b'"');
        let len = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
        // At least one byte: the caller has seen that none of the ends comes first.
        self.rest = self.rest.get(len.max(1)..).unwrap_or_default();
    }

    fn skip_string(&mut self) -> Scanned<()> {
        self.take(b'"')?;
        loop {
            let end = special(self.rest);
            match self.rest.get(end..) {
                Some([b'"', rest @ ..]) => {
                    self.rest = rest;
                    return Ok(());
                }
                Some([b'\\', _, rest @ ..]) => self.rest = rest,
                _ => return Err(self.wrong(Expected::Text)),
            }
        }
    }
}

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
            scanner.skip_value().unwrap();
            assert_eq!(scanner.take(b','), Ok(()), "{value}");
            assert_eq!(scanner.number(), Ok(7));
            assert!(scanner.is_at_end());
        }
        for value in ["", "\"", "\"\\", "[", "{\"a\"", "]", ",", "[[1]"] {
            assert!(Scanner::new(value.as_bytes()).skip_value().is_err(), "{value}");
        }
    }

    #[test]
    fn a_number_is_an_integer_of_64_bits() {
        for (text, value) in [("0", Some(0)), ("18446744073709551615", Some(u64::MAX))] {
            assert_eq!(Scanner::new(text.as_bytes()).number().ok(), value);
        }
        for text in ["18446744073709551616", "-1", "01", "1.0", "1e3", "", "x", "\"1\""] {
            assert!(Scanner::new(text.as_bytes()).number().is_err(), "{text}");
        }
    }
}
