//! Base64 with padding (RFC 4648, section 4).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes the text of the bytes and returns how long it is; what does not fit is cut.
pub fn encode(bytes: &[u8], out: &mut [u8]) -> usize {
    let mut len = 0;
    for (three, room) in bytes.chunks(3).zip(out.chunks_exact_mut(4)) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (at, letter) in room.iter_mut().enumerate() {
            let index = (word >> (18 - 6 * at) & 63) as usize;
            let is_padding = at > three.len();
            *letter = if is_padding { b'=' } else { ALPHABET.get(index).copied().unwrap_or(b'=') };
        }
        len += 4;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn gives_the_vectors_of_the_standard() {
        for (plain, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = [0; 8];
            let len = encode(plain.as_bytes(), &mut out);
            assert_eq!(&out[..len], expected.as_bytes());
        }
    }
}
