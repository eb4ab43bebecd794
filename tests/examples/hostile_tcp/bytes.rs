//! What peers of each protocol say, byte by byte: no code of the listener's takes part in it.

use base64ct::{Base64, Encoding};
use sha2::{Digest, Sha256};
use taut_sys::utc;

/// The start of a ZMTP 3.1 connection without security, of a SUB or PUB socket.
pub fn zmtp_hello(socket_type: &[u8; 3]) -> Vec<u8> {
    let mut bytes = b"\xFF\0\0\0\0\0\0\0\0\x7F\x03\x01NULL".to_vec();
    bytes.resize(64, 0);
    bytes.extend_from_slice(b"\x04\x19\x05READY\x0BSocket-Type\0\0\0\x03");
    bytes.extend_from_slice(socket_type);
    bytes
}

/// A SUBSCRIBE command with a short prefix.
pub fn zmtp_subscribe(prefix: &[u8]) -> Vec<u8> {
    let mut bytes = vec![4, 10 + prefix.len() as u8];
    bytes.extend_from_slice(b"\x09SUBSCRIBE");
    bytes.extend_from_slice(prefix);
    bytes
}

/// A PING command with a context of eight bytes, and without a promise.
pub fn zmtp_ping(context: u64) -> Vec<u8> {
    let mut bytes = b"\x04\x0F\x04PING\0\0".to_vec();
    bytes.extend_from_slice(&context.to_be_bytes());
    bytes
}

/// The request of a WebSocket.
pub const WEBSOCKET_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    Sec-WebSocket-Version: 13\r\n\r\n";

/// A request that a venue with a web interface answers to everybody.
pub const HTTP_REQUEST: &[u8] = b"GET /api/v2/public/test HTTP/1.1\r\nHost: a\r\n\r\n";

/// The request of a WebSocket on which a recorded venue says its book.
pub const BOOK_REQUEST: &[u8] = b"GET /ws-api/v3 HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    Sec-WebSocket-Version: 13\r\n\r\n";

/// What it is asked there.
pub const BOOK_QUESTION: &[u8] = b"{\"id\":1,\"method\":\"depth\"}";

/// A short text to a server, masked with zeros.
pub fn websocket_text(text: &[u8]) -> Vec<u8> {
    [&[0x81, 0x80 | text.len() as u8, 0, 0, 0, 0], text].concat()
}

/// The header of a binary frame to a server, masked with zeros.
pub fn websocket_header(payload_bytes: u64) -> Vec<u8> {
    let mut bytes = vec![0x82];
    match payload_bytes {
        short @ 0..=125 => bytes.push(0x80 | short as u8),
        long => {
            bytes.push(0x80 | 127);
            bytes.extend_from_slice(&long.to_be_bytes());
        }
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes
}

/// A FIX 4.4 message of a sender to HOST; `more` ends with a delimiter.
pub fn fix(msg_type: &str, number: u64, sender: &str, more: &str) -> Vec<u8> {
    fix_to("HOST", msg_type, number, sender, more)
}

/// A FIX 4.4 message of a sender.
pub fn fix_to(target: &str, msg_type: &str, number: u64, sender: &str, more: &str) -> Vec<u8> {
    let body = format!(
        "35={msg_type}\x0134={number}\x0149={sender}\x0152={}\x0156={target}\x01{more}",
        stamp(utc().0 / 1_000_000_000)
    );
    let text = format!("8=FIX.4.4\x019={}\x01{body}", body.len());
    let sum = text.bytes().fold(0u8, u8::wrapping_add);
    format!("{text}10={sum:03}\x01").into_bytes()
}

/// A second since 1970 as FIX writes it.
fn stamp(second: i64) -> String {
    // A year that begins in March, so that a leap day is its last; eras of 400 years.
    let day = second.div_euclid(86_400) + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3_600 % 24, second / 60 % 60);
    format!("{year:04}{month:02}{date:02}-{hour:02}:{minute:02}:{:02}", second % 60)
}

/// A Logon that starts both sides' numbers anew.
pub fn fix_logon(sender: &str, more: &str) -> Vec<u8> {
    fix("A", 1, sender, &format!("98=0\x01108=30\x01141=Y\x01{more}"))
}

/// A Logon as Deribit wants it: signed with a key's secret, with a time that never comes again.
pub fn web_fix_logon(sender: &str, key: &str, secret: &str) -> Vec<u8> {
    let raw = format!("{}.{}", utc().0 / 1_000, "A".repeat(44));
    let hash = Sha256::new().chain_update(&raw).chain_update(secret).finalize();
    let password = Base64::encode_string(&hash);
    let signed = format!("95={}\x0196={raw}\x01553={key}\x01554={password}\x01", raw.len());
    fix_to("DERIBITSERVER", "A", 1, sender, &format!("98=0\x01108=30\x01141=Y\x01{signed}"))
}
