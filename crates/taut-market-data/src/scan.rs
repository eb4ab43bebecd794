//! A pull scanner over JSON: the caller asks for what it expects next.
//!
//! All of the text must be JSON (RFC 8259), what is skipped too: brackets that fit, keys and commas
//! in their places, numbers and words of its grammar, strings in UTF-8 whose escapes there are. It
//! does not recurse, and copies only a string that has escapes. What it cannot give is `None`, and
//! [`Scanner::error`] then says where and why.

use taut_types::{DecimalForm, leading_digits, parse_decimal_prefix};

use crate::error::{Expected, MarketDataError};

/// How deep a skipped value may be nested.
const DEPTH_MAX: u32 = u128::BITS;

/// A place in a JSON text.
#[derive(Clone, Debug)]
pub struct Scanner<'a> {
    rest: &'a [u8],
    len: usize,
    error: Option<MarketDataError>,
}

impl<'a> Scanner<'a> {
    /// The beginning of a text.
    #[must_use]
    pub const fn new(text: &'a [u8]) -> Self {
        Self { rest: text, len: text.len(), error: None }
    }

    /// Where it stands, in bytes.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.len - self.rest.len()
    }

    /// What is left: to look ahead with, and to come [`back_to`](Self::back_to).
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Goes on here, which is a tail of the text.
    #[inline]
    pub const fn back_to(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    /// Why the last call gave nothing.
    #[cold]
    pub fn error(&self) -> MarketDataError {
        let offset = self.offset();
        self.error.unwrap_or(MarketDataError::Malformed { offset, expected: Expected::Json })
    }

    /// Gives nothing, for this reason, here.
    #[cold]
    pub const fn refuse<T>(&mut self, expected: Expected) -> Option<T> {
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
    pub fn peek(&mut self) -> Option<u8> {
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
    pub fn take(&mut self, expected: u8) -> Option<()> {
        if self.take_if(expected)? { Some(()) } else { self.refuse(Expected::Json) }
    }

    /// Takes this byte if it comes next.
    #[inline]
    pub fn take_if(&mut self, byte: u8) -> Option<bool> {
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
    pub fn text(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        self.text_tail()
    }

    /// What is left of a string behind its first quote; the last one is taken.
    #[inline]
    pub fn text_tail(&mut self) -> Option<&'a [u8]> {
        let end = special(self.rest);
        match self.rest.split_at_checked(end) {
            Some((text, [b'"', rest @ ..])) => {
                self.rest = rest;
                Some(text)
            }
            _ => self.other_text_tail(),
        }
    }

    /// The same with characters beyond ASCII.
    #[cold]
    fn other_text_tail(&mut self) -> Option<&'a [u8]> {
        let is_end = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
        let end = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
        match self.rest.split_at_checked(end) {
            Some((text, [b'"', rest @ ..])) if core::str::from_utf8(text).is_ok() => {
                self.rest = rest;
                Some(text)
            }
            _ => self.refuse(Expected::Text),
        }
    }

    /// A string with or without escapes, without its quotes, as it reads: in `room`.
    #[cold]
    pub(crate) fn unescaped<'r>(&mut self, room: &'r mut [u8]) -> Option<&'r [u8]> {
        self.take(b'"')?;
        let mut len = 0;
        loop {
            let mut bytes = [0; 4];
            let piece = match self.rest {
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    let text = room.get(..len)?;
                    let is_text = core::str::from_utf8(text).is_ok();
                    return if is_text { Some(text) } else { self.refuse(Expected::Text) };
                }
                [b'\\', ..] => {
                    let read = self.escape()?;
                    let Some(character) = char::from_u32(read) else {
                        return self.refuse(Expected::Text);
                    };
                    character.encode_utf8(&mut bytes).as_bytes()
                }
                [byte @ 0x20..=0xff, rest @ ..] => {
                    self.rest = rest;
                    core::slice::from_ref(byte)
                }
                _ => return self.refuse(Expected::Text),
            };
            let Some(to) = room.get_mut(len..len + piece.len()) else {
                return self.refuse(Expected::Text);
            };
            to.copy_from_slice(piece);
            len += piece.len();
        }
    }

    /// An escape, its backslash included: what it stands for, two of them when they are one
    /// character's halves; a half that stands alone comes as it is.
    #[cold]
    fn escape(&mut self) -> Option<u32> {
        let (read, rest) = match self.rest {
            [b'\\', simple, rest @ ..] if *simple != b'u' => {
                let read = match simple {
                    b'"' | b'\\' | b'/' => *simple,
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    _ => return self.refuse(Expected::Text),
                };
                (read.into(), rest)
            }
            text => match unicode_escape(text) {
                Some((high @ 0xD800..0xDC00, rest)) => match unicode_escape(rest) {
                    Some((low @ 0xDC00..0xE000, rest)) => {
                        (0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00), rest)
                    }
                    _ => (high, rest),
                },
                Some(found) => found,
                None => return self.refuse(Expected::Text),
            },
        };
        self.rest = rest;
        Some(read)
    }

    /// A key of an object and its colon, in `room` when it has escapes.
    #[inline]
    pub fn key<'r>(&mut self, room: &'r mut [u8]) -> Option<&'r [u8]>
    where
        'a: 'r,
    {
        self.peek()?;
        // Keys of one letter are what feeds are made of.
        if let [b'"', key, b'"', b':', rest @ ..] = self.rest
            && key.is_ascii_alphabetic()
        {
            self.rest = rest;
            return Some(core::slice::from_ref(key));
        }
        self.long_key(room)
    }

    fn long_key<'r>(&mut self, room: &'r mut [u8]) -> Option<&'r [u8]>
    where
        'a: 'r,
    {
        let here = self.rest;
        let key = match self.text() {
            Some(key) => key,
            None => {
                self.rest = here;
                self.skip_string()?;
                let behind = self.rest;
                self.rest = here;
                // One that is longer than the room is none of ours.
                let key = self.unescaped(room).unwrap_or_default();
                self.rest = behind;
                key
            }
        };
        self.take(b':')?;
        Some(key)
    }

    /// An integer that 64 bits hold.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
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

    /// A JSON number, with or without an exponent, as an integer at `decimals` places.
    #[inline]
    pub fn decimal(&mut self, decimals: u8) -> Option<i64> {
        self.peek()?;
        let read = match parse_decimal_prefix(self.rest, decimals) {
            Ok((value, len)) => self.rest.get(len..).map(|rest| (value, rest)),
            Err(_) => None,
        };
        match read {
            Some((value, rest)) if !matches!(rest, [b'e' | b'E', ..]) => {
                self.rest = rest;
                Some(value)
            }
            _ => self.scientific(decimals),
        }
    }

    /// Any number, digit by digit.
    #[cold]
    fn scientific(&mut self, decimals: u8) -> Option<i64> {
        match scientific(self.rest, decimals) {
            Some((value, rest)) => {
                self.rest = rest;
                Some(value)
            }
            None => self.refuse(Expected::Decimal),
        }
    }

    /// Skips what is left of an object behind one of its values, and its end.
    #[inline]
    pub fn finish_object(&mut self) -> Option<()> {
        while self.take_if(b',')? {
            self.peek()?;
            self.skip_key()?;
            self.skip_value()?;
        }
        self.take(b'}')
    }

    /// Calls `visit` with each key of an object, which takes the value; the object's end is taken.
    #[inline]
    pub fn object(&mut self, mut visit: impl FnMut(&mut Self, &[u8]) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        if self.take_if(b'}')? {
            return Some(());
        }
        let mut room = [0; KEY_BYTES];
        loop {
            let key = self.key(&mut room)?;
            visit(self, key)?;
            if !self.take_if(b',')? {
                return self.take(b'}');
            }
        }
    }

    /// Calls `visit` at each value of an array, which takes it; the array's end is taken.
    #[inline]
    pub fn array(&mut self, mut visit: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.take_if(b']')? {
            return Some(());
        }
        loop {
            visit(self)?;
            if !self.take_if(b',')? {
                return self.take(b']');
            }
        }
    }

    /// A decimal of zero or more in a string whose first quote is taken; the last one is, too.
    #[inline]
    pub(crate) fn decimal_tail(&mut self, column: &mut Column) -> Option<i64> {
        let (value, rest) = column.read(self.rest)?;
        self.rest = rest;
        (value >= 0).then_some(value)
    }

    /// Skips a value of any kind, which must be one.
    pub fn skip_value(&mut self) -> Option<()> {
        // A bit for each open bracket, the innermost the lowest: whether it is an object's.
        let (mut open, mut depth) = (0u128, 0);
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                bracket @ (b'{' | b'[') => {
                    self.skip_byte();
                    // In ASCII what closes them stands two behind.
                    if !self.take_if(bracket + 2)? {
                        if depth == DEPTH_MAX {
                            return self.refuse(Expected::Json);
                        }
                        let is_object = bracket == b'{';
                        (open, depth) = ((open << 1) | u128::from(is_object), depth + 1);
                        if is_object {
                            self.skip_key()?;
                        }
                        continue;
                    }
                }
                _ => self.skip_scalar()?,
            }
            // A value has ended, and with it perhaps what holds it.
            loop {
                if depth == 0 {
                    return Some(());
                }
                let is_object = open & 1 == 1;
                if self.take_if(b',')? {
                    if is_object {
                        self.skip_key()?;
                    }
                    break;
                }
                self.take(if is_object { b'}' } else { b']' })?;
                (open, depth) = (open >> 1, depth - 1);
            }
        }
    }

    fn skip_key(&mut self) -> Option<()> {
        self.skip_string()?;
        self.take(b':')
    }

    /// A value as it stands there; it is skipped.
    pub fn value(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let from = self.rest;
        self.skip_value()?;
        from.get(..from.len() - self.rest.len())
    }

    /// Whether nothing but white space is left.
    pub fn is_at_end(&mut self) -> bool {
        self.rest.is_empty() || self.peek().is_none()
    }

    /// A number or a word.
    fn skip_scalar(&mut self) -> Option<()> {
        for word in [&b"true"[..], b"false", b"null"] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Some(());
            }
        }
        let len = number_len(self.rest);
        match self.rest.get(len..).filter(|_| len > 0) {
            Some(rest) => {
                self.rest = rest;
                Some(())
            }
            None => self.refuse(Expected::Json),
        }
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
                Some(escape @ [b'\\', ..]) => {
                    self.rest = escape;
                    self.escape()?;
                }
                Some(text @ [0x80..=0xff, ..]) => {
                    self.rest = text;
                    self.skip_character()?;
                }
                _ => return self.refuse(Expected::Text),
            }
        }
    }

    /// One character beyond ASCII.
    #[cold]
    fn skip_character(&mut self) -> Option<()> {
        let is_one = |len: &usize| {
            self.rest.get(..*len).is_some_and(|head| core::str::from_utf8(head).is_ok())
        };
        match (2..=4).find(is_one).and_then(|len| self.rest.get(len..)) {
            Some(rest) => {
                self.rest = rest;
                Some(())
            }
            None => self.refuse(Expected::Text),
        }
    }
}

/// Room for a key with escapes; one that is longer is none of those that are looked for.
const KEY_BYTES: usize = 40;

/// `\uXXXX` and what follows it.
fn unicode_escape(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.strip_prefix(b"\\u")?.split_first_chunk::<4>()?;
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let value = digits.iter().try_fold(0, |value, byte| Some((value << 4) | digit(byte)?))?;
    Some((value, rest))
}

/// The length of the number that a text begins with; 0 when it begins with none.
fn number_len(text: &[u8]) -> usize {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let at = |at: usize| text.get(at).copied();
    let mut len = usize::from(at(0) == Some(b'-'));
    len += match (at(len), digits(len)) {
        (_, 0) => return 0,
        (Some(b'0'), _) => 1,
        (_, count) => count,
    };
    if at(len) == Some(b'.') {
        match digits(len + 1) {
            0 => return 0,
            count => len += 1 + count,
        }
    }
    if matches!(at(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(at(len + 1), Some(b'+' | b'-')));
        match digits(len + 1 + sign) {
            0 => return 0,
            count => len += 1 + sign + count,
        }
    }
    len
}

/// The JSON number that a text begins with, exactly, at `decimals` places; and what follows it.
fn scientific(text: &[u8], decimals: u8) -> Option<(i64, &[u8])> {
    let (is_negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mut mantissa = 0_i128;
    let mut power = i32::from(decimals);
    let (mut digit_count, mut is_fraction) = (0_u32, false);
    while let [byte, tail @ ..] = rest {
        match byte {
            b'0'..=b'9' => {
                mantissa = mantissa.checked_mul(10)?.checked_add((byte - b'0').into())?;
                digit_count += 1;
                power -= i32::from(is_fraction);
            }
            b'.' if !is_fraction && digit_count > 0 => is_fraction = true,
            _ => break,
        }
        rest = tail;
    }
    if digit_count == 0 {
        return None;
    }
    if let [b'e' | b'E', tail @ ..] = rest {
        let (sign, tail) = match tail {
            [b'-', tail @ ..] => (-1, tail),
            [b'+', tail @ ..] => (1, tail),
            _ => (1, tail),
        };
        let (exponent, len) = leading_number(tail)?;
        power = power.checked_add(sign * i32::try_from(exponent).ok().filter(|e| *e < 1_000)?)?;
        rest = tail.get(len..)?;
    }
    let scaled = if mantissa == 0 {
        0
    } else if power >= 0 {
        mantissa.checked_mul(10_i128.checked_pow(power.unsigned_abs())?)?
    } else {
        let divisor = 10_i128.checked_pow(power.unsigned_abs())?;
        if mantissa % divisor != 0 {
            return None;
        }
        mantissa / divisor
    };
    let value = if is_negative { -scaled } else { scaled };
    Some((i64::try_from(value).ok()?, rest))
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
    /// How long the last one was that was not in the form.
    other_len: usize,
    decimals: u8,
}

impl Column {
    pub(crate) const fn new(decimals: u8) -> Self {
        Self { form: None, other_len: 0, decimals }
    }

    /// From here on decimals are read at so many places.
    #[inline]
    pub(crate) const fn set_decimals(&mut self, decimals: u8) {
        if self.decimals != decimals {
            *self = Self::new(decimals);
        }
    }

    /// A decimal with a quote behind it, and what follows the quote.
    #[inline]
    pub(crate) fn read<'a>(&mut self, text: &'a [u8]) -> Option<(i64, &'a [u8])> {
        self.read_until::<b'"'>(text)
    }

    /// A decimal with this byte behind it, and what follows the byte.
    #[inline]
    pub(crate) fn read_until<'a, const END: u8>(
        &mut self,
        text: &'a [u8],
    ) -> Option<(i64, &'a [u8])> {
        if let Some(form) = &self.form
            && let Some([end, rest @ ..]) = text.get(form.byte_count()..)
            && *end == END
            && let Some(value) = form.read(text)
        {
            return Some((value, rest));
        }
        self.read_other::<END>(text)
    }

    /// A call of its own, or else the compiler would see that an expected length is the found one.
    #[inline(never)]
    fn read_other<'a, const END: u8>(&mut self, text: &'a [u8]) -> Option<(i64, &'a [u8])> {
        let (value, len) = parse_decimal_prefix(text, self.decimals).ok()?;
        let (decimal, behind) = text.split_at_checked(len)?;
        // A form costs more than a decimal: it is for what comes again.
        if len == self.other_len {
            self.form = DecimalForm::of(decimal, self.decimals);
        }
        self.other_len = len;
        match behind {
            [end, rest @ ..] if *end == END => Some((value, rest)),
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

/// The place of the first quote, backslash, control character or byte beyond ASCII, or the length.
#[inline]
fn special(text: &[u8]) -> usize {
    let mut at = 0;
    let mut rest = text;
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let marks = zero_bytes(word ^ QUOTES) | zero_bytes(word ^ BACKSLASHES) | outside(word);
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
        rest = behind;
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20 | 0x80..=0xff);
    at + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// The place of the first such byte, or the length.
#[inline]
pub(crate) fn place_of<const BYTE: u8>(text: &[u8]) -> usize {
    let mut at = 0;
    let mut rest = text;
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        let marks = zero_bytes(u64::from_le_bytes(*word) ^ u64::from_ne_bytes([BYTE; 8]));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
        rest = behind;
    }
    at + rest.iter().position(|byte| *byte == BYTE).unwrap_or(rest.len())
}

const ONES: u64 = 0x0101_0101_0101_0101;
const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);

/// The high bit of every byte that is zero, and perhaps of some above the first such byte.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// The high bit of every byte below a space or beyond ASCII, and perhaps of some above the first
/// such byte.
const fn outside(word: u64) -> u64 {
    (word.wrapping_sub(ONES * 0x20) | word) & (ONES << 7)
}

#[cfg(test)]
mod tests;
