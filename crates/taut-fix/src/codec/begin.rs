//! BeginString (8): which version of the protocol a message is in.

/// A version of the session layer, oldest first. FIX 5.0 and later speak [`BeginString::Fixt11`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BeginString {
    /// FIX.4.0
    Fix40,
    /// FIX.4.1
    Fix41,
    /// FIX.4.2
    Fix42,
    /// FIX.4.3
    Fix43,
    /// FIX.4.4
    Fix44,
    /// FIXT.1.1
    Fixt11,
}

impl BeginString {
    /// Every version.
    pub const ALL: [Self; 6] =
        [Self::Fix40, Self::Fix41, Self::Fix42, Self::Fix43, Self::Fix44, Self::Fixt11];

    /// The value on the wire.
    #[must_use]
    pub const fn as_bytes(self) -> &'static [u8] {
        self.as_str().as_bytes()
    }

    /// The value as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fix40 => "FIX.4.0",
            Self::Fix41 => "FIX.4.1",
            Self::Fix42 => "FIX.4.2",
            Self::Fix43 => "FIX.4.3",
            Self::Fix44 => "FIX.4.4",
            Self::Fixt11 => "FIXT.1.1",
        }
    }

    /// The version with this value.
    #[must_use]
    pub fn from_bytes(value: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|begin| begin.as_bytes() == value)
    }

    /// `8=` to `9=`: what every message of the version starts with.
    pub(crate) const fn prefix(self) -> &'static [u8] {
        match self {
            Self::Fix40 => b"8=FIX.4.0\x019=",
            Self::Fix41 => b"8=FIX.4.1\x019=",
            Self::Fix42 => b"8=FIX.4.2\x019=",
            Self::Fix43 => b"8=FIX.4.3\x019=",
            Self::Fix44 => b"8=FIX.4.4\x019=",
            Self::Fixt11 => b"8=FIXT.1.1\x019=",
        }
    }

    /// [`BeginString::prefix`] of the versions that have one of twelve bytes: all but FIXT.1.1.
    #[inline]
    pub(crate) fn usual_prefix(self) -> Option<&'static [u8; 12]> {
        const PREFIXES: [[u8; 12]; 5] = [
            *b"8=FIX.4.0\x019=",
            *b"8=FIX.4.1\x019=",
            *b"8=FIX.4.2\x019=",
            *b"8=FIX.4.3\x019=",
            *b"8=FIX.4.4\x019=",
        ];
        PREFIXES.get(self as usize)
    }

    /// The sum of the bytes of [`BeginString::prefix`] modulo 256.
    pub(crate) const fn prefix_sum(self) -> u8 {
        const SUMS: [u8; 6] = {
            let mut sums = [0; 6];
            let mut at = 0;
            #[expect(clippy::indexing_slicing, reason = "evaluated when compiled")]
            while at < sums.len() {
                sums[at] = sum(BeginString::ALL[at].prefix());
                at += 1;
            }
            sums
        };
        // In the order of the versions.
        #[expect(clippy::indexing_slicing, reason = "one for each version")]
        SUMS[self as usize]
    }
}

/// The sum of the bytes modulo 256, when compiled.
const fn sum(mut bytes: &[u8]) -> u8 {
    let mut sum = 0u8;
    while let [first, rest @ ..] = bytes {
        sum = sum.wrapping_add(*first);
        bytes = rest;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::BeginString;

    #[test]
    fn every_version_round_trips_and_starts_its_messages() {
        for begin in BeginString::ALL {
            assert_eq!(BeginString::from_bytes(begin.as_bytes()), Some(begin));
            let expected = std::format!("8={}\x019=", begin.as_str());
            assert_eq!(begin.prefix(), expected.as_bytes());
            let usual = begin.usual_prefix().map(<[u8; 12]>::as_slice);
            assert_eq!(usual, Some(begin.prefix()).filter(|prefix| prefix.len() == 12));
            assert_eq!(begin.prefix_sum(), taut_simd::sum(begin.prefix()));
        }
        assert_eq!(BeginString::from_bytes(b"FIX.3.9"), None);
        assert!(BeginString::Fix44 < BeginString::Fixt11);
    }
}
