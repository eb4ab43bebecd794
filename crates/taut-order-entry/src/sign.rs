//! Keys, and what they sign.

use core::fmt;

use base64ct::{Base64, Encoding};
use ed25519_dalek::{Signer, SigningKey};
use sha2::{Digest, Sha256};

/// Bytes of an HMAC-SHA256.
pub const HMAC_BYTES: usize = 32;
/// Its hexadecimal text.
pub const HMAC_HEX_BYTES: usize = 2 * HMAC_BYTES;
/// Its base64 text.
pub const HMAC_BASE64_BYTES: usize = 44;
/// Bytes of the seed that an Ed25519 key is made of.
pub const SEED_BYTES: usize = 32;
/// The base64 text of an Ed25519 signature.
pub const ED25519_TEXT_BYTES: usize = 88;

/// What SHA-256 takes at a time.
const BLOCK_BYTES: usize = 64;
/// What stands before the seed in a PKCS #8 file of an Ed25519 key (RFC 8410, section 7).
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
/// The head and the seed in base64.
const PKCS8_TEXT_BYTES: usize = 64;

/// Who is asked for a signature: gets its room, and what fills it with the key. Whoever has turns
/// [recorded](HmacKey::through) gives back what was signed then, without a key.
pub type Through = fn(&mut [u8], &mut dyn FnMut(&mut [u8]));

/// The key itself.
fn directly(room: &mut [u8], sign: &mut dyn FnMut(&mut [u8])) {
    sign(room);
}

/// A secret for HMAC-SHA256 (RFC 2104). Cost of a signature: two blocks of SHA-256 beside the
/// text's own, as the secret's have been taken already.
#[derive(Clone)]
pub struct HmacKey {
    inner: Sha256,
    outer: Sha256,
    through: Through,
}

/// The secret is not shown.
impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HmacKey").finish_non_exhaustive()
    }
}

impl HmacKey {
    /// The key of this secret.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        let mut block = [0; BLOCK_BYTES];
        let digest = Sha256::digest(secret);
        let key = if secret.len() > BLOCK_BYTES { digest.as_slice() } else { secret };
        block.iter_mut().zip(key).for_each(|(room, byte)| *room = *byte);
        let state = |pad: u8| Sha256::new().chain_update(block.map(|byte| byte ^ pad));
        Self { inner: state(0x36), outer: state(0x5c), through: directly }
    }

    /// The same, that is asked through this.
    #[must_use]
    pub fn through(self, through: Through) -> Self {
        Self { through, ..self }
    }

    /// Signs the text that these parts make, one behind the other.
    #[must_use]
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; HMAC_BYTES] {
        let mut signature = [0; HMAC_BYTES];
        (self.through)(&mut signature, &mut |room| {
            let text = parts.iter().fold(self.inner.clone(), Sha256::chain_update);
            let signed = self.outer.clone().chain_update(text.finalize()).finalize();
            room.iter_mut().zip(signed).for_each(|(room, byte)| *room = byte);
        });
        signature
    }

    /// The same in small hexadecimal digits.
    #[must_use]
    pub fn sign_hex(&self, parts: &[&[u8]]) -> [u8; HMAC_HEX_BYTES] {
        const DIGITS: [u8; 16] = *b"0123456789abcdef";
        let mut text = [0; HMAC_HEX_BYTES];
        for (room, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.sign(parts)) {
            let digit = |of: u8| DIGITS.get(usize::from(of)).copied().unwrap_or_default();
            *room = [digit(byte >> 4), digit(byte & 15)];
        }
        text
    }

    /// The same in base64.
    #[must_use]
    pub fn sign_base64(&self, parts: &[&[u8]]) -> [u8; HMAC_BASE64_BYTES] {
        let mut text = [b'='; HMAC_BASE64_BYTES];
        // The text is as long as its room.
        let _ = Base64::encode(&self.sign(parts), &mut text);
        text
    }

    /// Whether this is the text's signature, in hexadecimal digits of either case: the venue's
    /// side. It looks at every digit, so that the time it takes says nothing about them.
    #[must_use]
    pub fn is_signed_hex(&self, parts: &[&[u8]], signature: &[u8]) -> bool {
        let expected = self.sign_hex(parts);
        let pairs = expected.iter().zip(signature);
        let differs = pairs.fold(0, |all, (one, other)| all | (one ^ other.to_ascii_lowercase()));
        signature.len() == expected.len() && differs == 0
    }
}

/// A private key for Ed25519 (RFC 8032).
#[derive(Clone)]
pub struct Ed25519Key(SigningKey, Through);

/// The key is not shown.
impl fmt::Debug for Ed25519Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ed25519Key").finish_non_exhaustive()
    }
}

impl Ed25519Key {
    /// The key of this seed.
    #[must_use]
    pub fn new(seed: &[u8; SEED_BYTES]) -> Self {
        Self(SigningKey::from_bytes(seed), directly)
    }

    /// The same, that is asked through this.
    #[must_use]
    pub fn through(self, through: Through) -> Self {
        Self(self.0, through)
    }

    /// The public key that belongs to it.
    #[must_use]
    pub fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    /// Signs a text, in base64: it has to be one piece, as it is read twice.
    #[must_use]
    pub fn sign_base64(&self, text: &[u8]) -> [u8; ED25519_TEXT_BYTES] {
        let mut out = [b'='; ED25519_TEXT_BYTES];
        // The text is as long as its room.
        (self.1)(&mut out, &mut |room| {
            let _ = Base64::encode(&self.0.sign(text).to_bytes(), room);
        });
        out
    }
}

/// The seed in a private key file: PKCS #8 in PEM, as `openssl genpkey -algorithm ed25519` makes
/// it. `None` for any other kind of key or file.
#[must_use]
pub fn seed_from_pem(pem: &[u8]) -> Option<[u8; SEED_BYTES]> {
    const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
    const END: &str = "-----END PRIVATE KEY-----";
    let text = core::str::from_utf8(pem).ok()?;
    let (_, rest) = text.split_once(BEGIN)?;
    let (inner, _) = rest.split_once(END)?;
    seed_from_pkcs8(inner.as_bytes())
}

/// The seed in a PKCS #8 key in base64, lines broken or not.
#[must_use]
pub fn seed_from_pkcs8(base64: &[u8]) -> Option<[u8; SEED_BYTES]> {
    let mut text = [0; PKCS8_TEXT_BYTES];
    let mut len = 0;
    for letter in base64.iter().filter(|letter| !letter.is_ascii_whitespace()) {
        *text.get_mut(len)? = *letter;
        len += 1;
    }
    let mut key = [0; PKCS8_HEAD.len() + SEED_BYTES];
    let decoded = Base64::decode(text.get(..len)?, &mut key).ok()?;
    let (head, seed) = decoded.split_first_chunk()?;
    (*head == PKCS8_HEAD).then(|| seed.try_into().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    fn hex(key: &HmacKey, parts: &[&[u8]]) -> String {
        String::from_utf8(key.sign_hex(parts).to_vec()).unwrap()
    }

    /// RFC 4231, 4.2 to 4.8 (without 4.6, which is cut).
    #[test]
    fn hmac_gives_what_its_standard_gives() {
        let vectors: [(Vec<u8>, Vec<u8>, &str); 6] = [
            (
                [0x0b; 20].into(),
                b"Hi There".into(),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".into(),
                b"what do ya want for nothing?".into(),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                [0xaa; 20].into(),
                [0xdd; 50].into(),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                (1..=25).collect(),
                [0xcd; 50].into(),
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
            (
                [0xaa; 131].into(),
                b"Test Using Larger Than Block-Size Key - Hash Key First".into(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                [0xaa; 131].into(),
                concat!(
                    "This is a test using a larger than block-size key and a larger than ",
                    "block-size data. The key needs to be hashed before being used by the ",
                    "HMAC algorithm."
                )
                .into(),
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (secret, text, expected) in vectors {
            let key = HmacKey::new(&secret);
            assert_eq!(hex(&key, &[&text]), expected);
            let (head, tail) = text.split_at(text.len() / 2);
            assert_eq!(hex(&key, &[head, b"", tail]), expected);
        }
    }

    #[test]
    fn the_venue_takes_the_right_secret_alone_in_either_case() {
        let key = HmacKey::new(b"secret");
        let signature = key.sign_hex(&[b"text"]);
        assert!(key.is_signed_hex(&[b"te", b"xt"], &signature));
        assert!(key.is_signed_hex(&[b"text"], &signature.to_ascii_uppercase()));
        assert!(!key.is_signed_hex(&[b"Text"], &signature));
        assert!(!key.is_signed_hex(&[b"text"], &signature[1..]));
        assert!(!key.is_signed_hex(&[b"text"], b""));
        assert!(!HmacKey::new(b"Secret").is_signed_hex(&[b"text"], &signature));
    }

    /// The key of the example in Binance's document.
    const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u\n\
        -----END PRIVATE KEY-----\n";

    #[test]
    fn other_keys_and_files_are_refused() {
        assert!(seed_from_pem(PEM.as_bytes()).is_some());
        assert!(seed_from_pem(PEM.replace('\n', "\r\n").as_bytes()).is_some());
        assert!(seed_from_pem(b"").is_none());
        assert!(seed_from_pem(PEM.replace("MC4C", "MC5C").as_bytes()).is_none());
        assert!(seed_from_pem(PEM.replace("m89u", "").as_bytes()).is_none());
        assert!(seed_from_pem(PEM.replace("m89u", "m89um89u").as_bytes()).is_none());
        assert!(seed_from_pem(PEM.replace("PRIVATE", "PUBLIC").as_bytes()).is_none());
    }

    #[test]
    fn secrets_do_not_show() {
        let given: Through = |room, _| room.fill(b'=');
        let (hmac, ed25519) = (HmacKey::new(b"ABCD"), Ed25519Key::new(&[7; 32]));
        assert_eq!(hmac.clone().through(given).sign(&[b"text"]), [b'='; HMAC_BYTES]);
        assert_eq!(ed25519.clone().through(given).sign_base64(b"x"), [b'='; ED25519_TEXT_BYTES]);
        let shown = format!("{hmac:?} {ed25519:?}");
        assert_eq!(shown, "HmacKey { .. } Ed25519Key { .. }");
    }
}
