//! What is signed in a request.
//!
//! Source: binance-spot-api-docs, "Request security" of REST and of the WebSocket API, and
//! "Signature computation" of the FIX API.
//!
//! | request | what is signed |
//! |---|---|
//! | REST | the query and then the body, as they are sent: percent-encoded |
//! | WebSocket API | parameters but the signature, sorted: `a=1&b=2`, not encoded |
//! | Logon | MsgType, both CompIDs, MsgSeqNum, SendingTime; a delimiter between them |

use crate::sign::{ED25519_TEXT_BYTES, Ed25519Key, HMAC_HEX_BYTES, HmacKey};
use crate::text::{NUMBER_BYTES_MAX, Text, decimal};

/// The most parameters of a request: more than any method has.
pub const PARAMETERS_MAX: usize = 48;
/// MsgType, two CompIDs, twenty digits, a timestamp, and four delimiters.
const LOGON_BYTES_MAX: usize = 1 + 31 + 31 + NUMBER_BYTES_MAX + 30 + 4;

/// Signs a REST request: its query without the signature and its body, either of which may be
/// empty.
#[must_use]
pub fn rest_signature(key: &HmacKey, query: &[u8], body: &[u8]) -> [u8; HMAC_HEX_BYTES] {
    key.sign_hex(&[query, body])
}

/// Writes the text of a WebSocket request that is signed, of parameters in any order; nothing when
/// there is no room for it, or there are more than [`PARAMETERS_MAX`].
pub fn request_text<'o>(parameters: &[(&[u8], &[u8])], room: &'o mut [u8]) -> Option<&'o [u8]> {
    let mut order = [0_usize; PARAMETERS_MAX];
    let order = order.get_mut(..parameters.len())?;
    (0..).zip(order.iter_mut()).for_each(|(index, slot)| *slot = index);
    order.sort_unstable_by_key(|index| parameters.get(*index).map(|(name, _)| *name));
    let mut text = Text::new(room);
    for (at, (name, value)) in order.iter().filter_map(|index| parameters.get(*index)).enumerate() {
        if at > 0 {
            text.put(b"&");
        }
        text.put(name);
        text.put(b"=");
        text.put(value);
    }
    text.finish()
}

/// Writes a value as it stands in a query: all but letters, digits, `-`, `.`, `_` and `~` as a
/// percent sign and two hexadecimal digits (RFC 3986, 2.1 and 2.3). Nothing when there is no room.
pub fn percent_encode<'o>(value: &[u8], room: &'o mut [u8]) -> Option<&'o [u8]> {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    let mut text = Text::new(room);
    for &byte in value {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            text.put(&[byte]);
        } else {
            let digit = |of: u8| DIGITS.get(usize::from(of)).copied().unwrap_or_default();
            text.put(&[b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    text.finish()
}

/// Signs a FIX Logon: RawData (96). Nothing when the names are longer than CompIDs are.
#[must_use]
pub fn logon_signature(
    key: &Ed25519Key,
    [sender, target]: [&[u8]; 2],
    sequence: u64,
    sending_time: &[u8],
) -> Option<[u8; ED25519_TEXT_BYTES]> {
    let (mut digits, mut room) = ([0; NUMBER_BYTES_MAX], [0; LOGON_BYTES_MAX]);
    let mut text = Text::new(&mut room);
    text.put(b"A");
    for part in [sender, target, decimal(sequence, &mut digits), sending_time] {
        text.put(b"\x01");
        text.put(part);
    }
    text.finish().map(|text| key.sign_base64(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_signed_by_their_names_in_their_order() {
        let mut room = [0; 64];
        let parameters: [(&[u8], &[u8]); 4] =
            [(b"type", b"LIMIT"), (b"apiKey", b"k"), (b"price", b"1.50"), (b"side", b"BUY")];
        let text = b"apiKey=k&price=1.50&side=BUY&type=LIMIT";
        assert_eq!(request_text(&parameters, &mut room), Some(&text[..]));
        assert_eq!(request_text(&[], &mut room), Some(&b""[..]));
        assert_eq!(request_text(&parameters, &mut [0; 38]), None);
        let many: [(&[u8], &[u8]); PARAMETERS_MAX + 1] = [(b"a", b""); PARAMETERS_MAX + 1];
        assert_eq!(request_text(&many, &mut [0; 256]), None);
    }

    #[test]
    fn a_value_is_encoded_byte_by_byte() {
        let mut room = [0; 32];
        let encoded = percent_encode("a-._~1+/= １".as_bytes(), &mut room);
        assert_eq!(encoded, Some(&b"a-._~1%2B%2F%3D%20%EF%BC%91"[..]));
        assert_eq!(percent_encode(b"//", &mut [0; 5]), None);
    }

    #[test]
    fn a_logon_of_names_that_are_too_long_is_not_signed() {
        let key = Ed25519Key::new(&[7; 32]);
        let long = [b'x'; 64];
        assert!(logon_signature(&key, [b"A", b"B"], u64::MAX, b"20240627-11:17:25.223").is_some());
        assert!(logon_signature(&key, [&long, &long], 1, b"").is_none());
    }
}
