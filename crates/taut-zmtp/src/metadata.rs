//! Metadata: named properties in READY and INITIATE (ZMTP 3.1, "Connection Metadata").

use alloc::vec::Vec;

use crate::error::Violation;
use crate::socket_type::SocketType;

const SOCKET_TYPE: &[u8] = b"Socket-Type";
const IDENTITY: &[u8] = b"Identity";
/// The longest name that a peer may give itself.
pub const ROUTING_ID_BYTES_MAX: usize = 255;

/// Appends our metadata.
pub fn write_metadata(out: &mut Vec<u8>, socket_type: SocketType, routing_id: &[u8]) {
    write_property(out, SOCKET_TYPE, socket_type.name());
    if socket_type.has_routing_id() {
        write_property(out, IDENTITY, routing_id);
    }
}

fn write_property(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.push(name.len() as u8);
    out.extend_from_slice(name);
    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
    out.extend_from_slice(value);
}

/// What a peer's metadata say: its socket type, and its name, which may be empty. Every property is
/// checked for its form; those that we do not know are skipped.
pub fn read_metadata(mut metadata: &[u8]) -> Result<(SocketType, &[u8]), Violation> {
    let (mut named, mut routing_id) = (None, &[][..]);
    while !metadata.is_empty() {
        let (name, value, rest) = property(metadata).ok_or(Violation::CommandSyntax)?;
        if name.eq_ignore_ascii_case(SOCKET_TYPE) {
            named = Some(SocketType::from_name(value).ok_or(Violation::SocketType)?);
        }
        if name.eq_ignore_ascii_case(IDENTITY) {
            if value.len() > ROUTING_ID_BYTES_MAX {
                return Err(Violation::RoutingId);
            }
            routing_id = value;
        }
        metadata = rest;
    }
    Ok((named.ok_or(Violation::SocketType)?, routing_id))
}

fn property(metadata: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (length, rest) = metadata.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(*length))?;
    let is_legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(byte);
    if name.is_empty() || !name.iter().all(is_legal) {
        return None;
    }
    let (length, rest) = rest.split_first_chunk()?;
    // The standard's limit is 2^31 - 1; what does not fit the command ends the parse anyway.
    let length = u32::from_be_bytes(*length);
    let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((name, value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_socket_type(metadata: &[u8]) -> Result<SocketType, Violation> {
        read_metadata(metadata).map(|(socket_type, _)| socket_type)
    }

    #[test]
    fn the_socket_type_is_found_by_any_case_among_others() {
        let mut metadata = b"\x08Identity\0\0\0\x02ab\x0Bsocket-TYPE\0\0\0\x04XPUB".to_vec();
        assert_eq!(read_socket_type(&metadata), Ok(SocketType::Xpub));
        metadata.extend_from_slice(b"\x05X-App\0\0\0\x01");
        assert_eq!(read_socket_type(&metadata), Err(Violation::CommandSyntax), "cut short");
        assert_eq!(read_socket_type(&[]), Err(Violation::SocketType), "missing");
        let unknown = b"\x0BSocket-Type\0\0\0\x03ABC";
        assert_eq!(read_socket_type(unknown), Err(Violation::SocketType));
        assert_eq!(read_socket_type(b"\0\0\0\0\0"), Err(Violation::CommandSyntax), "no name");
        assert_eq!(read_socket_type(b"\x01 \0\0\0\0"), Err(Violation::CommandSyntax), "a blank");
        let huge = b"\x01a\xFF\xFF\xFF\xFFx";
        assert_eq!(read_socket_type(huge), Err(Violation::CommandSyntax));
    }

    #[test]
    fn what_is_written_is_read() {
        for socket_type in SocketType::ALL {
            let mut out = Vec::new();
            write_metadata(&mut out, socket_type, b"me");
            let name = if socket_type.has_routing_id() { &b"me"[..] } else { b"" };
            assert_eq!(read_metadata(&out), Ok((socket_type, name)));
        }
    }

    #[test]
    fn a_name_that_is_too_long_is_refused() {
        for (bytes, is_good) in [(255, true), (256, false)] {
            let mut out = Vec::new();
            write_metadata(&mut out, SocketType::Dealer, &std::vec![7; bytes]);
            assert_eq!(read_metadata(&out).is_ok(), is_good);
        }
    }
}
