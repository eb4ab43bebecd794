//! Walks the fields of a message.

use taut_types::{Nanos, Price, Qty};

use crate::codec::data_tags::DataTags;
use crate::codec::number;
use crate::codec::tag;
use crate::codec::text::InlineText;
use crate::codec::timestamp::parse_timestamp;
use crate::error::{FixError, RejectReason, Violation};

const SOH: u8 = 1;

/// One field: `tag=value`, without its delimiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The number before the equals sign.
    pub tag: u32,
    /// The bytes after it: at least one.
    pub value: &'a [u8],
    /// Where the field starts in the message.
    pub offset: usize,
}

/// An iterator over fields. It ends after the first error.
///
/// Tag syntax is checked (digits, no leading zero, at most nine of them), an empty value is an
/// error, and a data field (RawData and its like) is taken by the length that precedes it.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    data_tags: &'a DataTags,
    /// The data field that the last length field announced, and its length.
    data: Option<(u32, usize)>,
}

impl<'a> Fields<'a> {
    /// The fields of `bytes` from `start` on, with the data fields of the standard.
    #[must_use]
    pub const fn new(bytes: &'a [u8], start: usize) -> Self {
        Self::with(bytes, start, DataTags::STANDARD)
    }

    /// As [`Fields::new`], with these data fields.
    #[must_use]
    pub const fn with(bytes: &'a [u8], start: usize, data_tags: &'a DataTags) -> Self {
        Self { bytes, at: start, data_tags, data: None }
    }

    /// Tag and value of every field from the start of a message on, for people to look at: what is
    /// no field is passed over, empty values are kept.
    pub fn tolerant(
        message: &'a [u8],
        data_tags: &'a DataTags,
    ) -> impl Iterator<Item = (u32, &'a [u8])> {
        let mut rest = message;
        // What the field before announced: a data field and its length.
        let mut data: Option<(u32, usize)> = None;
        core::iter::from_fn(move || {
            while !rest.is_empty() {
                let equals = rest.iter().position(|byte| *byte == b'=')?;
                let name = rest.get(..equals)?;
                let behind = rest.get(equals + 1..)?;
                let tag = number::parse_u64(name).and_then(|tag| u32::try_from(tag).ok());
                let len = match data.take() {
                    Some((data_tag, len))
                        if tag == Some(data_tag) && behind.get(len) == Some(&SOH) =>
                    {
                        len
                    }
                    _ => find_delimiter(behind).unwrap_or(behind.len()),
                };
                rest = behind.get(len + 1..).unwrap_or(&[]);
                if let (Some(tag), Some(value)) = (tag, behind.get(..len)) {
                    let length = number::parse_u64(value).and_then(|len| usize::try_from(len).ok());
                    data = data_tags.data_tag(tag).zip(length);
                    return Some((tag, value));
                }
            }
            None
        })
    }

    /// Where the next field starts, or the end.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.at
    }

    #[inline]
    fn read(&mut self, rest: &'a [u8]) -> Result<Field<'a>, FixError> {
        let offset = self.at;
        let mut number: u32 = 0;
        let mut digits = 0;
        for byte in rest.iter().take(10) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            number = number.wrapping_mul(10).wrapping_add(u32::from(digit));
            digits += 1;
        }
        let leading_zero = rest.first() == Some(&b'0');
        if digits == 0 || digits > 9 || leading_zero || rest.get(digits) != Some(&b'=') {
            return Err(FixError::Malformed { offset: offset + digits.min(9) });
        }
        let behind = rest.get(digits + 1..).unwrap_or(&[]);
        let len = match self.data.take() {
            Some((data_tag, len)) if data_tag == number && behind.get(len) == Some(&SOH) => len,
            _ => find_delimiter(behind).ok_or(FixError::Malformed { offset: self.bytes.len() })?,
        };
        let value = behind.get(..len).unwrap_or(&[]);
        let field = Field { tag: number, value, offset };
        if value.is_empty() {
            return Err(field.violates(RejectReason::TagWithoutValue));
        }
        if let Some(data_tag) = self.data_tags.data_tag(number) {
            let len = number::parse_u64(value).and_then(|n| usize::try_from(n).ok());
            self.data = len.map(|len| (data_tag, len));
        }
        self.at = offset + digits + 1 + len + 1;
        Ok(field)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, FixError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..)?;
        if rest.is_empty() {
            return None;
        }
        let field = self.read(rest);
        if field.is_err() {
            self.at = self.bytes.len();
        }
        Some(field)
    }
}

/// Typed values. Each names the reason that a Reject (3) gives for what is none.
impl Field<'_> {
    /// The error of a field that breaks a rule.
    #[must_use]
    pub const fn violates(&self, reason: RejectReason) -> FixError {
        FixError::PeerViolation(Violation::Field { reason, tag: self.tag, offset: self.offset })
    }

    /// An integer of digits.
    ///
    /// # Errors
    /// [`RejectReason::IncorrectDataFormat`].
    pub fn number(&self) -> Result<u64, FixError> {
        number::parse_u64(self.value).ok_or(self.violates(RejectReason::IncorrectDataFormat))
    }

    /// An integer of digits that fits 32 bits.
    ///
    /// # Errors
    /// [`RejectReason::IncorrectDataFormat`].
    pub fn number_u32(&self) -> Result<u32, FixError> {
        let number = u32::try_from(self.number()?);
        number.map_err(|_| self.violates(RejectReason::IncorrectDataFormat))
    }

    /// A quantity, at least zero, with as many decimals as it needs: `100` and `100.0` are the
    /// same.
    ///
    /// # Errors
    /// [`RejectReason::IncorrectDataFormat`], or [`RejectReason::ValueIncorrect`] below zero.
    #[inline]
    pub fn qty(&self) -> Result<Qty, FixError> {
        match Qty::parse(self.value) {
            Ok(qty) if qty.mantissa >= 0 => Ok(qty),
            Ok(_) => Err(self.violates(RejectReason::ValueIncorrect)),
            Err(_) => Err(self.violates(RejectReason::IncorrectDataFormat)),
        }
    }

    /// A price, exact at 1e-9.
    ///
    /// # Errors
    /// [`RejectReason::IncorrectDataFormat`].
    pub fn price(&self) -> Result<Price, FixError> {
        Price::parse(self.value).map_err(|_| self.violates(RejectReason::IncorrectDataFormat))
    }

    /// A UTC timestamp.
    ///
    /// # Errors
    /// [`RejectReason::IncorrectDataFormat`].
    pub fn timestamp(&self) -> Result<Nanos, FixError> {
        parse_timestamp(self.value).ok_or(self.violates(RejectReason::IncorrectDataFormat))
    }

    /// A Boolean.
    ///
    /// # Errors
    /// [`RejectReason::IncorrectDataFormat`].
    pub fn flag(&self) -> Result<bool, FixError> {
        match self.value {
            b"Y" => Ok(true),
            b"N" => Ok(false),
            _ => Err(self.violates(RejectReason::IncorrectDataFormat)),
        }
    }

    /// A text of up to `N` printable bytes.
    ///
    /// # Errors
    /// [`RejectReason::ValueIncorrect`] when it is longer, [`RejectReason::IncorrectDataFormat`]
    /// when it is not printable ASCII.
    pub fn short<const N: usize>(&self) -> Result<InlineText<N>, FixError> {
        if self.value.len() > N {
            return Err(self.violates(RejectReason::ValueIncorrect));
        }
        InlineText::new(self.value).ok_or(self.violates(RejectReason::IncorrectDataFormat))
    }

    /// One of a set of one-byte codes.
    ///
    /// # Errors
    /// [`RejectReason::ValueIncorrect`] when `from_byte` knows none, which a longer value is too.
    pub fn code<T>(&self, from_byte: impl FnOnce(u8) -> Option<T>) -> Result<T, FixError> {
        let known = match self.value {
            [byte] => from_byte(*byte),
            _ => None,
        };
        known.ok_or(self.violates(RejectReason::ValueIncorrect))
    }

    /// Keeps the value, unless the field was there before.
    ///
    /// # Errors
    /// [`RejectReason::TagAppearsTwice`].
    #[inline]
    pub(crate) fn once<T>(&self, slot: &mut Option<T>, value: T) -> Result<(), FixError> {
        if slot.is_some() {
            return Err(self.violates(RejectReason::TagAppearsTwice));
        }
        *slot = Some(value);
        Ok(())
    }

    /// A field that its message does not use: passes, unless it belongs before the body.
    ///
    /// # Errors
    /// [`RejectReason::TagOutOfOrder`].
    #[inline]
    pub(crate) fn ignored(&self) -> Result<(), FixError> {
        if tag::is_header(self.tag) {
            return Err(self.violates(RejectReason::TagOutOfOrder));
        }
        Ok(())
    }
}

/// The value of a field that must be there.
///
/// # Errors
/// [`RejectReason::RequiredTagMissing`], with the offset of the message's end.
#[inline]
pub(crate) fn required<T>(slot: Option<T>, tag: u32, end: usize) -> Result<T, FixError> {
    let reason = RejectReason::RequiredTagMissing;
    slot.ok_or(FixError::PeerViolation(Violation::Field { reason, tag, offset: end }))
}

/// The value of a field that this message needs although the standard does not always.
///
/// # Errors
/// [`Violation::ConditionallyRequired`].
#[inline]
pub(crate) fn needed<T>(slot: Option<T>, tag: u32) -> Result<T, FixError> {
    slot.ok_or(FixError::PeerViolation(Violation::ConditionallyRequired { tag }))
}

/// The first delimiter, eight bytes at a time: most values end within the first eight.
#[inline]
pub(crate) fn find_delimiter(bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        // A delimiter becomes zero; the lowest zero byte is the lowest high bit that is set.
        let word = u64::from_le_bytes(*chunk) ^ (LOW * SOH as u64);
        let zeros = word.wrapping_sub(LOW) & !word & HIGH;
        if zeros != 0 {
            return Some(at + zeros.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let tail = bytes.get(at..)?;
    tail.iter().position(|byte| *byte == SOH).map(|end| at + end)
}

#[cfg(test)]
mod tests {
    use super::{Field, Fields, find_delimiter};
    use crate::error::{FixError, RejectReason, Violation};
    use std::vec;
    use std::vec::Vec;
    use taut_types::{Price, Qty};

    fn walk(text: &str) -> Vec<Result<(u32, std::string::String), FixError>> {
        let bytes = text.replace('|', "\x01").into_bytes();
        Fields::new(&bytes, 0)
            .map(|field| {
                let field = field?;
                Ok((field.tag, std::string::String::from_utf8_lossy(field.value).into_owned()))
            })
            .collect()
    }

    #[test]
    fn walks_tags_and_values() {
        let expected =
            vec![Ok((35, "D".into())), Ok((11, "a=b".into())), Ok((999_999_999, "x".into()))];
        assert_eq!(walk("35=D|11=a=b|999999999=x|"), expected);
        assert_eq!(walk(""), vec![]);
    }

    #[test]
    fn refuses_broken_tags_with_their_offset() {
        for (text, offset) in [
            ("=x|", 0),
            ("011=x|", 3),
            ("0=x|", 1),
            ("4garbled9=TW|", 1),
            ("-1=x|", 0),
            ("|", 0),
            ("1234567890=x|", 9),
            ("11", 2),
            ("11=x", 4),
        ] {
            assert_eq!(walk(text), vec![Err(FixError::Malformed { offset })], "{text}");
        }
    }

    #[test]
    fn an_empty_value_names_its_tag_and_ends_the_walk() {
        let reason = RejectReason::TagWithoutValue;
        let violation = Violation::Field { reason, tag: 55, offset: 5 };
        let expected = vec![Ok((11, "x".into())), Err(FixError::PeerViolation(violation))];
        assert_eq!(walk("11=x|55=|54=1|"), expected);
    }

    #[test]
    fn a_data_field_may_hold_delimiters() {
        let expected =
            vec![Ok((95, "5".into())), Ok((96, "a\x01b=c".into())), Ok((58, "x".into()))];
        assert_eq!(walk("95=5|96=a|b=c|58=x|"), expected);
        // A length that does not end at a delimiter is not believed.
        let expected = vec![Ok((95, "9".into())), Ok((96, "a".into())), Ok((58, "x".into()))];
        assert_eq!(walk("95=9|96=a|58=x|"), expected);
        // Nor is one that another field follows.
        let expected = vec![Ok((95, "3".into())), Ok((58, "a".into())), Ok((9, "x".into()))];
        assert_eq!(walk("95=3|58=a|9=x|"), expected);
    }

    #[test]
    fn typed_values_say_what_is_wrong_with_them() {
        let field = |value: &'static [u8]| Field { tag: 38, value, offset: 7 };
        let wrong =
            |reason| FixError::PeerViolation(Violation::Field { reason, tag: 38, offset: 7 });
        let (format, range) =
            (wrong(RejectReason::IncorrectDataFormat), wrong(RejectReason::ValueIncorrect));
        assert_eq!(field(b"100").qty(), Ok(Qty::whole(100)));
        assert_eq!(field(b"100.0").qty(), Ok(Qty::whole(100)));
        assert_eq!(field(b"100.50").qty(), Ok(Qty { mantissa: 1005, decimals: 1 }));
        assert_eq!(field(b"0.00001").qty(), Ok(Qty { mantissa: 1, decimals: 5 }));
        assert_eq!(field(b"-1").qty(), Err(range));
        assert_eq!(field(b"-0.1").qty(), Err(range));
        for wrong in
            [&b"1.0.5"[..], b".5", b"1e5", b"0.00000000000000000001x", b"9999999999999999999"]
        {
            let field = Field { tag: 38, value: wrong, offset: 7 };
            assert_eq!(field.qty(), Err(format), "{wrong:?}");
        }
        assert_eq!(field(b"+1").qty(), Err(format));
        assert_eq!(field(b"4294967296").number_u32(), Err(format));
        assert_eq!(field(b"-0.5").price(), Ok(Price(-500_000_000)));
        assert_eq!(field(b"1.0000000001").price(), Err(format));
        assert_eq!(field(b"y").flag(), Err(format));
        assert_eq!(field(b"12").code(Some), Err(range));
        assert_eq!(field(b"123456789012345678901234").short::<23>(), Err(range));
        assert_eq!(field(b"\xff").short::<23>(), Err(format));
    }

    #[test]
    fn finds_the_delimiter_at_every_place() {
        for len in 0..40 {
            for at in 0..len {
                // 0x00 and 0x02 next to it: neighbours must not be mistaken for it.
                let mut bytes = vec![if at % 2 == 0 { 0 } else { 2 }; len];
                bytes[at] = 1;
                if at + 3 < len {
                    bytes[at + 3] = 1;
                }
                assert_eq!(find_delimiter(&bytes), Some(at));
            }
            assert_eq!(find_delimiter(&vec![0x81; len]), None);
        }
    }
}
