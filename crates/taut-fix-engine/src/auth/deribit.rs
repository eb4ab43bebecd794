//! Deribit: RawData (96) is a time and a nonce, Password (554) their hash with the secret.

use core::fmt;

use base64ct::{Base64, Encoding};
use sha2::{Digest, Sha256};
use taut_fix::Writer;
use taut_sys::tape;
use taut_types::Nanos;

/// Random bytes of a nonce: the least that Deribit takes.
pub const NONCE_BYTES: usize = 32;
/// The text of a nonce, and of a hash.
const NONCE_TEXT_BYTES: usize = 44;
/// Twenty digits, a point and the nonce.
const RAW_DATA_BYTES_MAX: usize = 20 + 1 + NONCE_TEXT_BYTES;

/// The credentials of one client for one Logon; make a new one, with new random bytes, for each.
#[derive(Clone)]
pub struct DeribitLogon<'k> {
    client_id: &'k [u8],
    secret: &'k [u8],
    nonce: [u8; NONCE_BYTES],
    /// The last time that was written, milliseconds: it must rise strictly.
    last_ms: i64,
}

/// Neither secret nor nonce is shown.
impl fmt::Debug for DeribitLogon<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeribitLogon").finish_non_exhaustive()
    }
}

impl<'k> DeribitLogon<'k> {
    /// For this client; `nonce` comes from the operating system's generator.
    #[must_use]
    pub const fn new(client_id: &'k [u8], secret: &'k [u8], nonce: [u8; NONCE_BYTES]) -> Self {
        Self { client_id, secret, nonce, last_ms: 0 }
    }

    /// Times at or before this one were used already: go on behind it.
    #[must_use]
    pub const fn after(mut self, last: Nanos) -> Self {
        self.last_ms = last.0 / 1_000_000;
        self
    }

    /// Writes RawDataLength (95), RawData (96), Username (553) and Password (554).
    pub fn write(&mut self, utc: Nanos, writer: &mut Writer<'_>) {
        let ms = (utc.0 / 1_000_000).max(self.last_ms.saturating_add(1));
        self.last_ms = ms;
        let mut raw = [0; RAW_DATA_BYTES_MAX];
        let raw = raw_data(ms.unsigned_abs(), &self.nonce, &mut raw);
        let mut password = [b'='; NONCE_TEXT_BYTES];
        tape::signature(&mut password, &mut |room| {
            let hash = Sha256::new().chain_update(raw).chain_update(self.secret).finalize();
            // The text is as long as its room.
            let _ = Base64::encode(&hash, room);
        });
        writer.data::<95, 96>(raw);
        writer.text::<553>(self.client_id);
        writer.text::<554>(&password);
    }
}

/// Whether the Password (554) of a Logon is the hash of its RawData (96) with this secret, and its
/// nonce is as long as Deribit asks for: the venue's side.
#[must_use]
pub fn check_deribit(raw_data: &[u8], password: &[u8], secret: &[u8]) -> bool {
    let nonce = raw_data.iter().position(|byte| *byte == b'.');
    let nonce = nonce.and_then(|point| raw_data.get(point + 1..)).unwrap_or_default();
    let hash = Sha256::new().chain_update(raw_data).chain_update(secret).finalize();
    let mut expected = [0; NONCE_TEXT_BYTES];
    let expected = Base64::encode(&hash, &mut expected).unwrap_or_default().as_bytes();
    // Looks at every byte, so that the time it takes says nothing about them.
    let differs = expected.iter().zip(password).fold(0, |all, (one, other)| all | (one ^ other));
    let is_long_enough = nonce.len() * 6 / 8 >= NONCE_BYTES;
    is_long_enough && expected.len() == password.len() && differs == 0
}

/// `MILLISECONDS.NONCE`, in the front of `out`.
fn raw_data<'o>(ms: u64, nonce: &[u8], out: &'o mut [u8; RAW_DATA_BYTES_MAX]) -> &'o [u8] {
    let digits = ms.checked_ilog10().map_or(1, |log| log as usize + 1);
    let mut rest = ms;
    if let Some(room) = out.get_mut(..digits) {
        for digit in room.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
    if let Some(point) = out.get_mut(digits) {
        *point = b'.';
    }
    let text = out.get_mut(digits + 1..).unwrap_or_default();
    let len = Base64::encode(nonce, text).map_or(0, str::len);
    out.get(..digits + 1 + len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{DeribitLogon, check_deribit};
    use std::string::String;
    use taut_fix::{Precision, StampCache, Writer};
    use taut_types::Nanos;

    fn written(logon: &mut DeribitLogon<'_>, utc: Nanos) -> String {
        let mut stamps = StampCache::new(Precision::Millis);
        let mut out = [0; 512];
        let mut writer = Writer::begin(&mut out, &mut stamps, b"A");
        logon.write(utc, &mut writer);
        let range = writer.finish().unwrap();
        String::from_utf8(out[range].to_vec()).unwrap().replace('\x01', "|")
    }

    #[test]
    fn raw_data_and_password_are_as_another_implementation_makes_them() {
        let nonce = core::array::from_fn(|at| at as u8);
        let mut logon = DeribitLogon::new(b"me", b"secret", nonce);
        let text = written(&mut logon, Nanos(1_789_000_000_123_456_789));
        let raw = "1789000000123.AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
        assert!(
            text.contains(&std::format!(
                "95=58|96={raw}|553=me|554=vkzfeeQQ5732QQCjKO8ZlxOh75F8bE63pXZuiUR22s8=|"
            )),
            "{text}"
        );
    }

    #[test]
    fn the_time_rises_strictly_even_when_the_clock_does_not() {
        let mut logon = DeribitLogon::new(b"me", b"secret", [7; 32]).after(Nanos(5_000_000));
        assert!(written(&mut logon, Nanos(3_000_000)).contains("96=6."));
        assert!(written(&mut logon, Nanos(3_000_000)).contains("96=7."));
        assert!(written(&mut logon, Nanos(9_000_000)).contains("96=9."));
    }

    #[test]
    fn the_venue_takes_the_right_secret_alone() {
        let mut logon = DeribitLogon::new(b"me", b"secret", [7; 32]);
        let text = written(&mut logon, Nanos(3_000_000));
        let value = |tag: &str| text.split('|').find_map(|field| field.strip_prefix(tag)).unwrap();
        let (raw, password) = (value("96=").as_bytes(), value("554=").as_bytes());
        assert!(check_deribit(raw, password, b"secret"));
        assert!(!check_deribit(raw, password, b"Secret"));
        assert!(!check_deribit(raw, &password[1..], b"secret"));
        assert!(!check_deribit(b"", b"", b"secret"));
        assert!(!check_deribit(&raw[..30], password, b"secret"));
    }

    #[test]
    fn secrets_do_not_show() {
        let logon = DeribitLogon::new(b"me", b"secret", [7; 32]);
        assert_eq!(std::format!("{logon:?}"), "DeribitLogon { .. }");
    }
}
