//! Tables by order id. The venue gives the ids itself, so nobody can choose ones that collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use taut_types::OrderId;

/// A table by order id.
pub type ById<V> = HashMap<OrderId, V, BuildHasherDefault<IdHasher>>;

const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;

/// Fibonacci hashing of a number: high bits and low bits of what comes out are as good.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    #[inline]
    fn write_u64(&mut self, id: u64) {
        let product = (self.0 ^ id).wrapping_mul(GOLDEN_RATIO);
        self.0 = product ^ product >> 32;
    }
}
