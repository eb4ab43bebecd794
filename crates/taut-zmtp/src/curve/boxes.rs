//! NaCl's box and secretbox in the layout of the wire: the tag in front, nonces from a prefix.

use alloc::vec::Vec;

use crypto_box::SalsaBox;
use crypto_box::aead::AeadInPlace;
use crypto_box::aead::generic_array::GenericArray;
use crypto_secretbox::{KeyInit, XSalsa20Poly1305};

use crate::curve::keys::PublicKey;
use crate::error::Violation;

/// What a box adds to its content.
pub const TAG_BYTES: usize = 16;

/// A nonce of 24 bytes.
pub type Nonce = [u8; 24];

/// A nonce of a text of 16 bytes and a counter.
pub fn short_nonce(prefix: &[u8; 16], counter: [u8; 8]) -> Nonce {
    join(prefix, &counter)
}

/// A nonce of a text of 8 bytes and 16 random ones.
pub fn long_nonce(prefix: &[u8; 8], random: &[u8; 16]) -> Nonce {
    join(prefix, random)
}

fn join(first: &[u8], second: &[u8]) -> Nonce {
    let mut nonce = [0; 24];
    for (place, byte) in nonce.iter_mut().zip(first.iter().chain(second)) {
        *place = *byte;
    }
    nonce
}

/// The key agreed between a public and a secret key.
pub fn agree(public: &PublicKey, secret: &crypto_box::SecretKey) -> SalsaBox {
    SalsaBox::new(&crypto_box::PublicKey::from(public.0), secret)
}

/// The cookie's cipher.
pub fn cookie_cipher(key: &[u8; 32]) -> XSalsa20Poly1305 {
    XSalsa20Poly1305::new(GenericArray::from_slice(key))
}

/// Appends a box of the pieces.
pub fn seal<C>(cipher: &C, nonce: Nonce, pieces: &[&[u8]], out: &mut Vec<u8>)
where
    C: AeadInPlace<
            NonceSize = crypto_box::aead::consts::U24,
            TagSize = crypto_box::aead::consts::U16,
        >,
{
    let start = out.len();
    out.extend_from_slice(&[0; TAG_BYTES]);
    for piece in pieces {
        out.extend_from_slice(piece);
    }
    let Some((place, content)) = out.get_mut(start..).and_then(<[u8]>::split_first_chunk_mut)
    else {
        return;
    };
    let nonce = GenericArray::from(nonce);
    // It fails beyond 2^38 bytes only, where the tag stays zero and the peer refuses the box.
    if let Ok(tag) = cipher.encrypt_in_place_detached(&nonce, &[], content) {
        let place: &mut [u8; TAG_BYTES] = place;
        *place = tag.into();
    }
}

/// Opens a box into `out`, whose former content goes.
///
/// # Errors
/// It is too short, or was not made with this key and nonce.
pub fn open<C>(cipher: &C, nonce: Nonce, sealed: &[u8], out: &mut Vec<u8>) -> Result<(), Violation>
where
    C: AeadInPlace<
            NonceSize = crypto_box::aead::consts::U24,
            TagSize = crypto_box::aead::consts::U16,
        >,
{
    let (tag, content) = sealed.split_first_chunk::<TAG_BYTES>().ok_or(Violation::Cryptography)?;
    out.clear();
    out.extend_from_slice(content);
    let (nonce, tag) = (GenericArray::from(nonce), GenericArray::from(*tag));
    cipher.decrypt_in_place_detached(&nonce, &[], out, &tag).map_err(|_| Violation::Cryptography)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NaCl's own test vector ("tests/box.c"): keys of Alice and Bob, nonce, 131 bytes of text.
    #[test]
    fn a_box_is_nacl_s() {
        const ALICE: [u8; 32] = [
            0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2,
            0x66, 0x45, 0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5,
            0x1d, 0xb9, 0x2c, 0x2a,
        ];
        const BOB: [u8; 32] = [
            0xde, 0x9e, 0xdb, 0x7d, 0x7b, 0x7d, 0xc1, 0xb4, 0xd3, 0x5b, 0x61, 0xc2, 0xec, 0xe4,
            0x35, 0x37, 0x3f, 0x83, 0x43, 0xc8, 0x5b, 0x78, 0x67, 0x4d, 0xad, 0xfc, 0x7e, 0x14,
            0x6f, 0x88, 0x2b, 0x4f,
        ];
        const NONCE: Nonce = [
            0x69, 0x69, 0x6e, 0xe9, 0x55, 0xb6, 0x2b, 0x73, 0xcd, 0x62, 0xbd, 0xa8, 0x75, 0xfc,
            0x73, 0xd6, 0x82, 0x19, 0xe0, 0x03, 0x6b, 0x7a, 0x0b, 0x37,
        ];
        let cipher = agree(&PublicKey(BOB), &crypto_box::SecretKey::from(ALICE));
        let text = [0xbe, 0x07, 0x5f, 0xc5, 0x3c, 0x81, 0xf2, 0xd5, 0xcf, 0x14, 0x13, 0x16];
        let mut sealed = Vec::new();
        seal(&cipher, NONCE, &[&text[..5], &text[5..]], &mut sealed);
        // The cipher is a stream: the start of the vector's text gives the start of its box.
        let expected = [0x8e, 0x99, 0x3b, 0x9f, 0x48, 0x68, 0x12, 0x73, 0xc2, 0x96, 0x50, 0xba];
        assert_eq!(sealed[TAG_BYTES..], expected);
        let mut opened = Vec::new();
        open(&cipher, NONCE, &sealed, &mut opened).unwrap();
        assert_eq!(opened, text);
        sealed[3] ^= 1;
        assert_eq!(open(&cipher, NONCE, &sealed, &mut opened), Err(Violation::Cryptography));
        assert_eq!(open(&cipher, NONCE, &[0; 15], &mut opened), Err(Violation::Cryptography));
    }
}
