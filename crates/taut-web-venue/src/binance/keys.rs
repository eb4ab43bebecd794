//! Keys and how their signatures are checked.

use base64ct::{Base64, Encoding};
use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use taut_order_entry::sign::HmacKey;

use crate::binance::settings::ApiKeySettings;

/// What stands before the 32 bytes in a public key file (RFC 8410, section 4).
const SPKI_HEAD: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// A key.
#[derive(Debug)]
pub struct ApiKey {
    pub account: usize,
    pub read_only: bool,
    proof: Proof,
}

/// How its signatures are checked.
#[derive(Debug)]
enum Proof {
    Hmac(Box<HmacKey>),
    Ed25519(Box<VerifyingKey>),
}

/// An account's user data stream by its key.
#[derive(Clone, Copy, Debug)]
pub struct ListenKey {
    pub account: usize,
    pub expires_ms: i64,
}

impl ApiKey {
    pub fn new(account: usize, settings: &ApiKeySettings) -> Result<Self, String> {
        let proof = match (&settings.secret, &settings.public_key) {
            (Some(secret), None) => Proof::Hmac(Box::new(HmacKey::new(secret.as_bytes()))),
            (None, Some(text)) => {
                let key = public_key(text).ok_or_else(|| {
                    format!("accounts.keys.public_key = {text:?}: an Ed25519 key in base64")
                })?;
                Proof::Ed25519(Box::new(key))
            }
            _ => {
                let id = &settings.id;
                return Err(format!(
                    "accounts.keys.id = {id:?}: secret or public_key, one of them"
                ));
            }
        };
        Ok(Self { account, read_only: settings.read_only, proof })
    }

    /// Whether it can log a session on.
    pub const fn is_ed25519(&self) -> bool {
        matches!(self.proof, Proof::Ed25519(_))
    }

    pub fn has_signed(&self, text: &str, signature: &str) -> bool {
        match &self.proof {
            Proof::Hmac(key) => key.is_signed_hex(&[text.as_bytes()], signature.as_bytes()),
            Proof::Ed25519(key) => {
                let mut room = [0; 64];
                let decoded = Base64::decode(signature, &mut room);
                let signature = decoded.ok().and_then(|it| Signature::from_slice(it).ok());
                signature.is_some_and(|it| key.verify(text.as_bytes(), &it).is_ok())
            }
        }
    }
}

fn public_key(text: &str) -> Option<VerifyingKey> {
    let bytes = Base64::decode_vec(text.trim()).ok()?;
    let key = bytes.strip_prefix(&SPKI_HEAD[..]).unwrap_or(&bytes);
    VerifyingKey::from_bytes(key.try_into().ok()?).ok()
}
