//! Who asks: the signature of a connection, and of an HTTP request.

use crate::sign::{HMAC_HEX_BYTES, HmacKey};
use crate::text::{NUMBER_BYTES_MAX, Text, decimal};

/// The signature of `public/auth` with the grant type `client_signature`: of the timestamp, the
/// nonce and the data, which may be empty, a line feed between them. The timestamp is milliseconds
/// of UTC and good for a minute, the nonce for one request.
#[must_use]
pub fn client_signature(
    key: &HmacKey,
    timestamp_ms: u64,
    nonce: &[u8],
    data: &[u8],
) -> [u8; HMAC_HEX_BYTES] {
    let mut digits = [0; NUMBER_BYTES_MAX];
    key.sign_hex(&[decimal(timestamp_ms, &mut digits), b"\n", nonce, b"\n", data])
}

/// What is signed of an HTTP request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpRequest<'a> {
    /// `GET` or `POST`.
    pub method: &'a [u8],
    /// The path with its query.
    pub uri: &'a [u8],
    /// The body, which may be empty.
    pub body: &'a [u8],
}

impl HttpRequest<'_> {
    /// The signature of `deri-hmac-sha256`: of the timestamp, the nonce, the method, the URI and
    /// the body, a line feed behind each.
    #[must_use]
    pub fn signature(
        &self,
        key: &HmacKey,
        timestamp_ms: u64,
        nonce: &[u8],
    ) -> [u8; HMAC_HEX_BYTES] {
        let mut digits = [0; NUMBER_BYTES_MAX];
        let time = decimal(timestamp_ms, &mut digits);
        let Self { method, uri, body } = *self;
        key.sign_hex(&[time, b"\n", nonce, b"\n", method, b"\n", uri, b"\n", body, b"\n"])
    }

    /// Writes the value of the header `Authorization`; nothing when there is no room for it.
    pub fn authorization<'o>(
        &self,
        client_id: &[u8],
        key: &HmacKey,
        timestamp_ms: u64,
        nonce: &[u8],
        room: &'o mut [u8],
    ) -> Option<&'o [u8]> {
        let mut text = Text::new(room);
        text.put(b"deri-hmac-sha256 id=");
        text.put(client_id);
        text.put(b",ts=");
        text.put_number(timestamp_ms);
        text.put(b",sig=");
        text.put(&self.signature(key, timestamp_ms, nonce));
        text.put(b",nonce=");
        text.put(nonce);
        text.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_signature_of_every_line() {
        let key = HmacKey::new(b"secret");
        let request = HttpRequest {
            method: b"GET",
            uri: b"/api/v2/private/get_account_summary?currency=BTC",
            body: b"",
        };
        let text =
            b"1576074319000\n1iqt2wls\nGET\n/api/v2/private/get_account_summary?currency=BTC\n\n";
        let signature = request.signature(&key, 1_576_074_319_000, b"1iqt2wls");
        assert_eq!(signature, key.sign_hex(&[text]));
        let mut room = [0; 256];
        let header =
            request.authorization(b"me", &key, 1_576_074_319_000, b"1iqt2wls", &mut room).unwrap();
        let header = core::str::from_utf8(header).unwrap();
        assert!(header.starts_with("deri-hmac-sha256 id=me,ts=1576074319000,sig="));
        assert!(header.ends_with(",nonce=1iqt2wls"));
        assert!(header.contains(core::str::from_utf8(&signature).unwrap()));
        assert_eq!(request.authorization(b"me", &key, 1, b"n", &mut [0; 60]), None);
    }
}
