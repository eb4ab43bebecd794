//! UTF-8 that arrives in pieces: what is wrong shows with the first byte that cannot be right.

use crate::error::Violation;

/// The state between two pieces: the bytes of a character that was cut, at most three.
#[derive(Clone, Copy, Debug, Default)]
pub struct Utf8 {
    cut: [u8; 4],
    length: usize,
}

impl Utf8 {
    /// Takes the next piece.
    ///
    /// # Errors
    /// No continuation makes UTF-8 of what came so far.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), Violation> {
        let mut rest = piece;
        while self.length > 0
            && let [byte, after @ ..] = rest
        {
            if let Some(place) = self.cut.get_mut(self.length) {
                *place = *byte;
                self.length += 1;
            }
            rest = after;
            match core::str::from_utf8(self.cut()) {
                Ok(_) => self.length = 0,
                Err(error) if error.error_len().is_some() => return Err(Violation::Utf8),
                Err(_) => {}
            }
        }
        match simdutf8::compat::from_utf8(rest) {
            Ok(_) => Ok(()),
            Err(error) if error.error_len().is_some() => Err(Violation::Utf8),
            Err(error) => {
                let cut = rest.get(error.valid_up_to()..).unwrap_or(&[]);
                if let Some(place) = self.cut.get_mut(..cut.len()) {
                    place.copy_from_slice(cut);
                    self.length = cut.len();
                }
                Ok(())
            }
        }
    }

    fn cut(&self) -> &[u8] {
        self.cut.get(..self.length).unwrap_or(&[])
    }

    /// Whether the text may end here.
    #[cfg(test)]
    const fn is_whole(self) -> bool {
        self.length == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// After how many bytes the violation shows, when they come one by one.
    fn noticed_at(bytes: &[u8]) -> Option<usize> {
        let mut utf8 = Utf8::default();
        bytes.iter().position(|byte| utf8.push(&[*byte]).is_err()).map(|at| at + 1)
    }

    #[test]
    fn an_invalid_byte_is_noticed_when_it_comes_and_not_later() {
        let cases: [(&[u8], Option<usize>); 10] = [
            ("κόσμε \u{10ffff} é".as_bytes(), None),
            (b"\xce\xba\xe1\xbd", None),
            (b"\xf4\x90\x80\x80", Some(2)),
            (b"\xf4\x8f\xbf\xbf", None),
            (b"\xed\xa0\x80", Some(2)),
            (b"\xc0\xaf", Some(1)),
            (b"\xe0\x80\x80", Some(2)),
            (b"a\x80", Some(2)),
            (b"\xf8\x88\x80\x80\x80", Some(1)),
            (b"\xe2\x82a", Some(3)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(noticed_at(bytes), expected, "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_agree_with_the_whole(
            text in ".{0,60}",
            junk in proptest::collection::vec(any::<u8>(), 0..3),
            cuts in proptest::collection::vec(1usize..9, 0..20),
        ) {
            let bytes: Vec<u8> = [text.as_bytes(), &junk[..]].concat();
            let mut utf8 = Utf8::default();
            let (mut rest, mut result) = (&bytes[..], Ok(()));
            for cut in cuts.iter().chain(core::iter::repeat(&7)) {
                if rest.is_empty() || result.is_err() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                result = utf8.push(piece);
                rest = after;
            }
            let whole = result.is_ok() && utf8.is_whole();
            prop_assert_eq!(whole, core::str::from_utf8(&bytes).is_ok());
        }
    }
}
