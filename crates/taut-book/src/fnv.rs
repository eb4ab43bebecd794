//! FNV-1a, the hash by which states are compared.

/// FNV-1a with 64 bits over little-endian words.
///
/// It tells two states apart that differ by accident, not by malice. Source: the FNV
/// specification (offset basis 0xcbf29ce484222325, prime 0x100000001b3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv1a(u64);

impl Fnv1a {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;

    /// The hash of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(Self::OFFSET_BASIS)
    }

    /// Appends the eight bytes of a word, lowest first.
    pub fn write_u64(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(Self::PRIME);
        }
    }

    /// Appends the eight bytes of a signed word, lowest first.
    pub fn write_i64(&mut self, word: i64) {
        self.write_u64(word.cast_unsigned());
    }

    /// The hash of what was written.
    #[must_use]
    pub const fn finish(self) -> u64 {
        self.0
    }
}

impl Default for Fnv1a {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::Fnv1a;

    #[test]
    fn takes_bytes_one_by_one_from_the_lowest() {
        assert_eq!(Fnv1a::new().finish(), 0xcbf2_9ce4_8422_2325, "the offset basis");
        let mut hash = Fnv1a::new();
        hash.write_u64(0x61);
        // The published hash of "a", then seven zero bytes: multiplications only.
        let expected = (0..7).fold(0xaf63_dc4c_8601_ec8c_u64, |h, _| h.wrapping_mul(Fnv1a::PRIME));
        assert_eq!(hash.finish(), expected);
    }
}
