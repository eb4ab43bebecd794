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

/// Reads a text, white space skipped, into `out` and returns how many bytes it holds; `None` when
/// it is no such text or does not fit.
pub fn decode(text: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut letters = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    let mut room = out.iter_mut();
    let (mut word, mut bits, mut bytes) = (0u32, 0u32, 0);
    for letter in letters.by_ref().take_while(|letter| **letter != b'=') {
        let value = ALPHABET.iter().position(|known| known == letter)?;
        word = word << 6 | u32::try_from(value).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            *room.next()? = (word >> bits & 0xff) as u8;
            bytes += 1;
        }
    }
    letters.all(|letter| *letter == b'=').then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

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
            let mut back = [0; 8];
            let len = decode(expected.as_bytes(), &mut back).unwrap();
            assert_eq!(&back[..len], plain.as_bytes());
        }
    }

    #[test]
    fn refuses_what_is_no_base64() {
        let mut out = [0; 4];
        for text in ["Zm9v!", "Zg==Z", "Zm9vYmFy"] {
            assert_eq!(decode(text.as_bytes(), &mut out), None, "{text}");
        }
        assert_eq!(decode(b"Zm\n9v", &mut out), Some(3));
    }
}
