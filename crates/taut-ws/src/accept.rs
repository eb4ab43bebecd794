//! `Sec-WebSocket-Key` and `Sec-WebSocket-Accept` (RFC 6455, 4.1 and 4.2.2).

use base64ct::{Base64, Encoding};
use sha1::{Digest, Sha1};

/// Sixteen bytes in base64.
pub const KEY_BYTES: usize = 24;
/// A SHA-1 digest in base64.
pub const ACCEPT_BYTES: usize = 28;

const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The key that stands for these random bytes.
pub fn key(nonce: [u8; 16]) -> [u8; KEY_BYTES] {
    base64(&nonce)
}

/// What a server answers to a key.
pub fn accept(key: &str) -> [u8; ACCEPT_BYTES] {
    let mut digest = Sha1::new();
    digest.update(key.as_bytes());
    digest.update(GUID);
    let digest: [u8; 20] = digest.finalize().into();
    base64(&digest)
}

/// Whether it is sixteen bytes in base64.
pub fn is_key(text: &str) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len() == KEY_BYTES
        && text.strip_suffix("==").is_some_and(|digits| digits.as_bytes().iter().all(is_digit))
}

fn base64<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut text = [b'='; N];
    // The text is as long as its room.
    let _ = Base64::encode(bytes, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_section_1_3_comes_out() {
        let answer = accept("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(&answer, b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(&key(*b"the sample nonce"), b"dGhlIHNhbXBsZSBub25jZQ==");
    }

    #[test]
    fn a_key_has_sixteen_bytes() {
        assert!(is_key("dGhlIHNhbXBsZSBub25jZQ==") && is_key("+/++AAAAAAAAAAAAAAAAAA=="));
        for text in
            ["", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQA=", "*GhlIHNhbXBsZSBub25jZQ=="]
        {
            assert!(!is_key(text), "{text}");
        }
    }
}
