//! Keys, their text form (Z85, RFC 32), and the randomness of a connection.

use core::fmt;

use zeroize::{Zeroize, Zeroizing};

use crate::error::ZmtpError;

const DIGITS: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
const TEXT_BYTES: usize = 40;

/// A public key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(pub [u8; 32]);

/// A secret key: wiped when dropped, and never printed.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<[u8; 32]>);

/// The randomness of one connection, from the operating system's generator. It must never be used
/// twice: it is taken by value, and wiped when dropped.
pub struct Seed {
    pub(crate) short_secret: [u8; 32],
    pub(crate) cookie_key: [u8; 32],
    pub(crate) nonce: [u8; 16],
    pub(crate) cookie_nonce: [u8; 16],
}

/// How many random bytes a [`Seed`] takes.
pub const SEED_BYTES: usize = 96;

impl PublicKey {
    /// From its 40 characters of Z85.
    ///
    /// # Errors
    /// Where the text is wrong.
    pub fn from_z85(text: &str) -> Result<Self, ZmtpError> {
        decode(text).map(|bytes| Self(*bytes))
    }

    /// Its 40 characters of Z85.
    #[must_use]
    pub fn to_z85(self) -> [u8; TEXT_BYTES] {
        encode(&self.0)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::str::from_utf8(&self.to_z85()).unwrap_or(""))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl SecretKey {
    /// From its bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// From its 40 characters of Z85.
    ///
    /// # Errors
    /// Where the text is wrong.
    pub fn from_z85(text: &str) -> Result<Self, ZmtpError> {
        decode(text).map(Self)
    }

    /// The text form, to write a new key to its file. The caller wipes it.
    #[must_use]
    pub fn to_z85(&self) -> Zeroizing<[u8; TEXT_BYTES]> {
        Zeroizing::new(encode(&self.0))
    }

    /// The public key that belongs to it.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(*self.scalar().public_key().as_bytes())
    }

    pub(crate) fn scalar(&self) -> crypto_box::SecretKey {
        crypto_box::SecretKey::from(*self.0)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

impl Seed {
    /// From random bytes.
    #[must_use]
    pub fn new(mut random: [u8; SEED_BYTES]) -> Self {
        let mut seed = Self {
            short_secret: [0; 32],
            cookie_key: [0; 32],
            nonce: [0; 16],
            cookie_nonce: [0; 16],
        };
        let places = seed.short_secret.iter_mut().chain(&mut seed.cookie_key);
        let places = places.chain(&mut seed.nonce).chain(&mut seed.cookie_nonce);
        for (place, byte) in places.zip(&random) {
            *place = *byte;
        }
        random.zeroize();
        seed
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        self.short_secret.zeroize();
        self.cookie_key.zeroize();
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

fn encode(bytes: &[u8; 32]) -> [u8; TEXT_BYTES] {
    let mut text = [0; TEXT_BYTES];
    let (words, _) = bytes.as_chunks::<4>();
    let (groups, _) = text.as_chunks_mut::<5>();
    for (group, word) in groups.iter_mut().zip(words) {
        let mut value = u32::from_be_bytes(*word);
        for place in group.iter_mut().rev() {
            *place = DIGITS.get((value % 85) as usize).copied().unwrap_or(0);
            value /= 85;
        }
    }
    text
}

fn decode(text: &str) -> Result<Zeroizing<[u8; 32]>, ZmtpError> {
    let malformed = |offset| ZmtpError::Malformed { offset };
    if text.len() != TEXT_BYTES {
        return Err(malformed(text.len().min(TEXT_BYTES)));
    }
    let mut bytes = Zeroizing::new([0; 32]);
    let (groups, _) = text.as_bytes().as_chunks::<5>();
    let (words, _) = bytes.as_chunks_mut::<4>();
    for (at, (word, group)) in words.iter_mut().zip(groups).enumerate() {
        let mut value = 0u64;
        for (digit_at, character) in group.iter().enumerate() {
            let digit = DIGITS.iter().position(|digit| digit == character);
            value = value * 85 + digit.ok_or(malformed(at * 5 + digit_at))? as u64;
        }
        *word = u32::try_from(value).map_err(|_| malformed(at * 5))?.to_be_bytes();
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    /// The test keys of RFC 26's reference implementation and of ZeroMQ's manual.
    const PUBLIC: &str = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
    const SECRET: &str = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";

    #[test]
    fn the_manual_s_pair_of_keys_belongs_together() {
        let secret = SecretKey::from_z85(SECRET).unwrap();
        assert_eq!(secret.public(), PublicKey::from_z85(PUBLIC).unwrap());
        assert_eq!(format!("{}", secret.public()), PUBLIC);
        assert_eq!(secret.to_z85()[..], *SECRET.as_bytes());
    }

    #[test]
    fn nothing_secret_is_printed() {
        let secret = SecretKey::from_z85(SECRET).unwrap();
        assert_eq!(format!("{secret:?}"), "SecretKey(..)");
        assert_eq!(format!("{:?}", Seed::new([7; SEED_BYTES])), "Seed(..)");
    }

    #[test]
    fn a_wrong_text_is_refused_where_it_is_wrong() {
        let wrong = |text: &str| PublicKey::from_z85(text).unwrap_err();
        assert_eq!(wrong("abc"), ZmtpError::Malformed { offset: 3 });
        let text = PUBLIC.replace('T', "~");
        assert_eq!(wrong(&text), ZmtpError::Malformed { offset: 20 });
        let overflow = format!("#####{}", &PUBLIC[5..]);
        assert_eq!(wrong(&overflow), ZmtpError::Malformed { offset: 0 });
    }
}
