//! Keys that nobody can guess (RFC 6455, 5.3 and 10.3), from a seed that the driver brings: no
//! system call per frame.

use core::hash::Hasher;

use siphasher::sip::SipHasher24;

/// Sixteen secret bytes from the system's generator, new for every connection.
#[derive(Clone, Copy)]
pub struct Seed([u8; 16]);

impl Seed {
    /// Any sixteen bytes that nobody else knows.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl core::fmt::Debug for Seed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Seed")
    }
}

/// A pseudo-random function of a counter: two masks for each call of it.
#[derive(Clone, Debug)]
pub struct Keys {
    seed: Seed,
    counter: u64,
    spare: Option<[u8; 4]>,
}

impl Keys {
    pub const fn new(seed: Seed) -> Self {
        Self { seed, counter: 0, spare: None }
    }

    fn next(&mut self) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.seed.0);
        hasher.write_u64(self.counter);
        self.counter = self.counter.wrapping_add(1);
        hasher.finish()
    }

    /// A masking key.
    #[inline]
    pub fn mask(&mut self) -> [u8; 4] {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let word = self.next();
        self.spare = Some(((word >> 32) as u32).to_le_bytes());
        (word as u32).to_le_bytes()
    }

    /// The sixteen bytes of `Sec-WebSocket-Key`.
    pub fn nonce(&mut self) -> [u8; 16] {
        let mut nonce = [0; 16];
        for half in nonce.as_chunks_mut::<8>().0 {
            *half = self.next().to_le_bytes();
        }
        nonce
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn masks_differ_from_frame_to_frame_and_from_seed_to_seed() {
        let mut seen = HashSet::new();
        for seed in 0..4 {
            let mut keys = Keys::new(Seed::new([seed; 16]));
            assert!((0..1_000).all(|_| seen.insert(keys.mask())));
        }
    }

    #[test]
    fn a_seed_is_not_printed() {
        assert_eq!(std::format!("{:?}", Seed::new([7; 16])), "Seed");
    }
}
