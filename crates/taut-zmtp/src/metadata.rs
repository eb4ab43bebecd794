//! Metadata: named properties in READY and INITIATE (ZMTP 3.1, "Connection Metadata").

use alloc::vec::Vec;

use crate::error::Violation;
use crate::socket_type::SocketType;

const SOCKET_TYPE: &[u8] = b"Socket-Type";

/// Appends our metadata.
pub fn write_metadata(out: &mut Vec<u8>, socket_type: SocketType) {
    let value = socket_type.name();
    out.push(SOCKET_TYPE.len() as u8);
    out.extend_from_slice(SOCKET_TYPE);
    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
    out.extend_from_slice(value);
}

/// The socket type that a peer's metadata name. Every property is checked for its form; those
/// that we do not know are skipped.
pub fn read_socket_type(mut metadata: &[u8]) -> Result<SocketType, Violation> {
    let mut named = None;
    while !metadata.is_empty() {
        let (name, value, rest) = property(metadata).ok_or(Violation::CommandSyntax)?;
        if name.eq_ignore_ascii_case(SOCKET_TYPE) {
            named = Some(SocketType::from_name(value).ok_or(Violation::SocketType)?);
        }
        metadata = rest;
    }
    named.ok_or(Violation::SocketType)
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

    #[test]
    fn the_socket_type_is_found_by_any_case_among_others() {
        let mut metadata = b"\x08Identity\0\0\0\x02ab\x0Bsocket-TYPE\0\0\0\x04XPUB".to_vec();
        assert_eq!(read_socket_type(&metadata), Ok(SocketType::Xpub));
        metadata.extend_from_slice(b"\x05X-App\0\0\0\x01");
        assert_eq!(read_socket_type(&metadata), Err(Violation::CommandSyntax), "cut short");
        assert_eq!(read_socket_type(&[]), Err(Violation::SocketType), "missing");
        let unknown = b"\x0BSocket-Type\0\0\0\x03REQ";
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
            write_metadata(&mut out, socket_type);
            assert_eq!(read_socket_type(&out), Ok(socket_type));
        }
    }
}
