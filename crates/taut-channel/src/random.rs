//! Session ids, nonces, secrets and back-off.

use taut_sys::{SysError, random_bytes};

use crate::driver::Opening;

/// The system's random numbers, or those of a seed, so that a run can be replayed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random {
    seed: Option<u64>,
}

impl Random {
    pub(crate) const fn new(opening: &Opening) -> Self {
        Self { seed: opening.seed }
    }

    pub(crate) fn bytes<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], SysError> {
        let mut bytes = [0; COUNT];
        let Some(seed) = &mut self.seed else {
            random_bytes(&mut bytes)?;
            return Ok(bytes);
        };
        for chunk in bytes.chunks_mut(8) {
            // SplitMix64.
            *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut bits = *seed;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            bits ^= bits >> 31;
            chunk.copy_from_slice(&bits.to_le_bytes()[..chunk.len()]);
        }
        Ok(bytes)
    }
}
