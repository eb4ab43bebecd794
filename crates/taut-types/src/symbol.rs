//! Instrument names.

use core::fmt;

/// The longest symbol, in bytes.
pub const SYMBOL_BYTES_MAX: usize = 15;

/// A short printable ASCII name, stored in line (16 bytes with its length).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol {
    bytes: [u8; SYMBOL_BYTES_MAX],
    len: u8,
}

impl Symbol {
    /// The symbol with this name: 1 to 15 printable ASCII bytes without a space.
    #[must_use]
    pub fn new(name: &[u8]) -> Option<Self> {
        if name.is_empty() || !name.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        let mut bytes = [0; SYMBOL_BYTES_MAX];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(Self { bytes, len: u8::try_from(name.len()).ok()? })
    }

    /// The name's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("")
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Symbol({})", self.as_str())
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Symbol;

    #[test]
    fn keeps_its_name_and_refuses_what_is_not_one() {
        assert_eq!(Symbol::new(b"AAPL").map(|s| s.as_bytes().len()), Some(4));
        assert!(Symbol::new(b"").is_none());
        assert!(Symbol::new(b"WITH SPACE").is_none());
        assert!(Symbol::new(b"SIXTEENBYTESLONG").is_none());
        assert!(Symbol::new(b"A\x01B").is_none());
    }
}
