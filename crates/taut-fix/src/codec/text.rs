//! Short texts stored in line.

use core::fmt;

use taut_types::Symbol;

use crate::codec::number;

/// A printable ASCII text of 1 to `N` bytes, stored in line. `N` is at most 255.
///
/// It can hold no field delimiter, so what is written from it cannot forge a field.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct InlineText<const N: usize> {
    len: u8,
    bytes: [u8; N],
}

/// Symbol, Account, and ids of our own such as ClOrdID: up to 23 bytes (24 with its length).
pub type ShortText = InlineText<23>;

/// Ids that another side chose, such as OrderID and ExecID: up to 39 bytes (40 with its length), as
/// much as a UUID needs.
pub type LongText = InlineText<39>;

/// A CompID of a session of any version: up to 31 bytes (32 with its length).
pub type CompId = InlineText<31>;

/// TestReqID (112), echoed in a Heartbeat: up to 63 bytes.
pub type TestReqId = InlineText<63>;

impl<const N: usize> InlineText<N> {
    /// The text, when it is 1 to `N` printable ASCII bytes (0x20 to 0x7e).
    #[must_use]
    pub fn new(text: &[u8]) -> Option<Self> {
        if text.is_empty() || text.len() > N {
            return None;
        }
        let mut bytes = [0; N];
        let mut printable = true;
        for (room, byte) in bytes.iter_mut().zip(text) {
            printable &= matches!(byte, 0x20..=0x7e);
            *room = *byte;
        }
        printable.then_some(Self { len: u8::try_from(text.len()).ok()?, bytes })
    }

    /// `0`: for what a text of known bytes cannot come to.
    pub(crate) const fn zero() -> Self {
        Self { len: 1, bytes: [b'0'; N] }
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len()).unwrap_or(&[])
    }

    /// Its characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("")
    }

    /// How many bytes it has: at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a text is never empty")]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// All the bytes that are stored, zeros after [`InlineText::len`].
    pub(crate) const fn padded(&self) -> &[u8; N] {
        &self.bytes
    }
}

impl<const N: usize> InlineText<N> {
    /// The decimal digits of a number. 20 at the most: a text with less room becomes `0`.
    #[must_use]
    pub fn from_u64(value: u64) -> Self {
        let len = number::digit_count(value);
        if len > N {
            return Self::zero();
        }
        let mut bytes = [0; N];
        if let Some(room) = bytes.get_mut(..len) {
            number::fill(room, value);
        }
        Self { len: u8::try_from(len).unwrap_or(0), bytes }
    }

    /// The number that it spells: digits only, no leading zero, at most `u64::MAX`.
    #[must_use]
    pub fn to_u64(&self) -> Option<u64> {
        let text = self.as_bytes();
        if text.len() > 1 && text.first() == Some(&b'0') {
            return None;
        }
        number::parse_u64(text)
    }

    /// The instrument name that it spells, when it is short enough and has no space.
    #[must_use]
    pub fn to_symbol(&self) -> Option<Symbol> {
        Symbol::new(self.as_bytes())
    }
}

impl From<ShortText> for LongText {
    fn from(text: ShortText) -> Self {
        let mut bytes = [0; 39];
        if let Some(room) = bytes.first_chunk_mut() {
            *room = text.bytes;
        }
        Self { len: text.len, bytes }
    }
}

impl From<u64> for ShortText {
    fn from(value: u64) -> Self {
        Self::from_u64(value)
    }
}

impl From<Symbol> for ShortText {
    fn from(symbol: Symbol) -> Self {
        let name = symbol.as_bytes();
        let mut bytes = [0; 23];
        if let Some(room) = bytes.get_mut(..name.len()) {
            room.copy_from_slice(name);
        }
        Self { len: u8::try_from(name.len()).unwrap_or(0), bytes }
    }
}

impl<const N: usize> fmt::Debug for InlineText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<const N: usize> fmt::Display for InlineText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ShortText;
    use proptest::prelude::*;
    use taut_types::Symbol;

    #[test]
    fn holds_23_printable_bytes_and_nothing_else() {
        assert_eq!(ShortText::new(b"ORDER-1").map(|t| t.len()), Some(7));
        assert!(ShortText::new(&[b'x'; 23]).is_some());
        assert!(ShortText::new(&[b'x'; 24]).is_none());
        assert!(ShortText::new(b"").is_none());
        assert!(ShortText::new(b"A\x01B").is_none());
        assert!(ShortText::new(b"A\xffB").is_none());
    }

    #[test]
    fn only_the_canonical_spelling_is_a_number() {
        for (text, value) in
            [("0", Some(0)), ("00", None), ("18446744073709551615", Some(u64::MAX))]
        {
            assert_eq!(ShortText::new(text.as_bytes()).unwrap().to_u64(), value);
        }
        for text in ["18446744073709551616", "12a", "-1", "+1", "01"] {
            assert_eq!(ShortText::new(text.as_bytes()).unwrap().to_u64(), None);
        }
    }

    #[test]
    fn a_symbol_survives_the_round_trip() {
        let symbol = Symbol::new(b"AAPL").unwrap();
        assert_eq!(ShortText::from(symbol).to_symbol(), Some(symbol));
        assert_eq!(ShortText::from(symbol).as_str(), "AAPL");
    }

    proptest! {
        #[test]
        fn a_number_survives_the_round_trip(value in any::<u64>()) {
            prop_assert_eq!(ShortText::from_u64(value).to_u64(), Some(value));
        }
    }
}
