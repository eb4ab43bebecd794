//! The greeting: 64 bytes each way: signature, version, mechanism (ZMTP 3.1, "Greeting").

use crate::error::Violation;

/// Its size.
pub const GREETING_BYTES: usize = 64;

const MECHANISM: core::ops::Range<usize> = 12..32;

/// What we send: version 3.1.
#[must_use]
pub fn greeting(mechanism: &str, as_server: bool) -> [u8; GREETING_BYTES] {
    let mut greeting = [0; GREETING_BYTES];
    let signature = [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 1];
    for (place, byte) in greeting.iter_mut().zip(signature.iter().chain(mechanism.as_bytes())) {
        *place = *byte;
    }
    if let Some(place) = greeting.get_mut(MECHANISM.end) {
        *place = u8::from(as_server);
    }
    greeting
}

/// A peer's greeting as far as it has come.
#[derive(Clone, Copy, Debug)]
pub struct PeerGreeting {
    bytes: [u8; GREETING_BYTES],
    length: usize,
}

impl PeerGreeting {
    /// Nothing of it.
    pub const fn new() -> Self {
        Self { bytes: [0; GREETING_BYTES], length: 0 }
    }

    /// Takes what belongs to it and returns how many bytes that were. What is wrong is seen as
    /// early as possible, since an old peer waits for our answer before it sends the rest.
    ///
    /// # Errors
    /// The peer does not speak ZMTP 3.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let mut taken = 0;
        for (place, byte) in self.bytes.iter_mut().skip(self.length).zip(bytes) {
            *place = *byte;
            taken += 1;
            self.length += 1;
            match (self.length, *byte) {
                (1, first) if first != 0xFF => return Err(Violation::NotZmtp),
                (10, last) if last != 0x7F => return Err(Violation::NotZmtp),
                (11, revision) if revision < 3 => return Err(Violation::OldVersion { revision }),
                _ => {}
            }
        }
        Ok(taken)
    }

    /// Whether it is whole.
    pub const fn is_whole(&self) -> bool {
        self.length == GREETING_BYTES
    }

    /// Whether the peer names this mechanism. The as-server byte is not looked at: libzmq always
    /// sends 0 there.
    pub fn names(&self, mechanism: &str) -> bool {
        let expected = mechanism.as_bytes().iter().chain(core::iter::repeat(&0));
        self.bytes.get(MECHANISM).is_some_and(|named| named.iter().eq(expected.take(20)))
    }

    /// The minor version in force: 0 or 1.
    pub const fn minor(&self) -> u8 {
        match self.bytes {
            [_, _, _, _, _, _, _, _, _, _, 3, 0, ..] => 0,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_is_the_standard_s() {
        let bytes = greeting("CURVE", true);
        let expected = b"\xFF\0\0\0\0\0\0\0\x01\x7F\x03\x01CURVE";
        assert_eq!(bytes[..17], expected[..]);
        assert!(bytes[17..32].iter().chain(&bytes[33..]).all(|byte| *byte == 0));
        assert_eq!(bytes[32], 1);
    }

    #[test]
    fn any_split_gives_the_same_greeting() {
        for step in 1..=64 {
            let mut peer = PeerGreeting::new();
            for chunk in greeting("NULL", false).chunks(step) {
                assert_eq!(peer.take(chunk), Ok(chunk.len()));
            }
            assert!(peer.is_whole() && peer.names("NULL") && peer.minor() == 1);
            assert!(!peer.names("NUL") && !peer.names("PLAIN"));
            assert_eq!(peer.take(b"\x04"), Ok(0), "what follows is not the greeting's");
        }
    }

    #[test]
    fn old_versions_are_refused_as_soon_as_they_show() {
        let mut peer = PeerGreeting::new();
        assert_eq!(peer.take(b"GET / HTTP/1.1"), Err(Violation::NotZmtp));
        let mut peer = PeerGreeting::new();
        assert_eq!(peer.take(b"\x01\0"), Err(Violation::NotZmtp), "ZMTP 1: an anonymous identity");
        let mut peer = PeerGreeting::new();
        let old = b"\xFF\0\0\0\0\0\0\0\x01\x7F\x01\x02";
        assert_eq!(peer.take(old), Err(Violation::OldVersion { revision: 1 }));
    }

    #[test]
    fn a_later_major_version_counts_as_ours() {
        let mut bytes = greeting("NULL", false);
        (bytes[10], bytes[11]) = (4, 0);
        let mut peer = PeerGreeting::new();
        assert_eq!(peer.take(&bytes), Ok(64));
        assert_eq!(peer.minor(), 1);
        (bytes[10], bytes[11]) = (3, 0);
        let mut peer = PeerGreeting::new();
        assert_eq!(peer.take(&bytes), Ok(64));
        assert_eq!(peer.minor(), 0);
    }
}
