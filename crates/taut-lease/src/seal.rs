//! The tag that proves a datagram to who has the key.

use core::fmt;
use core::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};

/// Bytes of a tag.
pub const TAG_BYTES: usize = 16;

/// A pre-shared key of 128 bits. It is not printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// A key of these bytes, which must be random.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The keyed hash of parts of a whole.
    #[inline(never)]
    pub(crate) fn hash(&self, parts: &[&[u8]]) -> [u8; TAG_BYTES] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        parts.iter().for_each(|part| hasher.write(part));
        hasher.finish128().as_bytes()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Whether two tags are equal, told in a time that does not depend on where they differ.
pub(crate) fn same(one: &[u8; TAG_BYTES], other: &[u8; TAG_BYTES]) -> bool {
    one.iter().zip(other).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// Puts the tag behind the first `length` bytes of a datagram, if there is a key; returns its
/// length then. Nothing when there is no room.
#[inline]
pub(crate) fn seal(key: Option<&Key>, datagram: &mut [u8], length: usize) -> Option<usize> {
    let Some(key) = key else { return Some(length) };
    let (bytes, rest) = datagram.split_at_mut_checked(length)?;
    *rest.first_chunk_mut()? = key.hash(&[bytes]);
    Some(length + TAG_BYTES)
}

/// The datagram without its tag; nothing when the tag is wrong or missing.
#[inline]
pub(crate) fn unseal<'a>(key: Option<&Key>, datagram: &'a [u8]) -> Option<&'a [u8]> {
    let Some(key) = key else { return Some(datagram) };
    let (bytes, tag) = datagram.split_last_chunk::<TAG_BYTES>()?;
    same(tag, &key.hash(&[bytes])).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn a_sealed_datagram_opens_with_its_key_and_no_other_and_no_changed_bit() {
        let (key, other) = (Key::new([1; 16]), Key::new([2; 16]));
        let mut datagram = [7; 64];
        let length = seal(Some(&key), &mut datagram, 40).expect("room");
        assert_eq!(length, 56);
        assert_eq!(unseal(Some(&key), &datagram[..length]), Some(&[7; 40][..]));
        assert_eq!(unseal(Some(&other), &datagram[..length]), None);
        for bit in 0..length * 8 {
            let mut changed = datagram;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unseal(Some(&key), &changed[..length]), None, "bit {bit}");
        }
        assert_eq!(unseal(Some(&key), &[1; 15]), None);
        assert_eq!(seal(Some(&key), &mut datagram, 60), None);
        assert_eq!(unseal(None, &[1, 2]), Some(&[1, 2][..]));
        assert_eq!(format!("{key:?}"), "Key(..)");
    }
}
