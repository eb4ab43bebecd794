//! Random numbers that a seed repeats.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        self.word() % bound
    }

    /// True so many times in a thousand.
    pub const fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1_000) < per_mille
    }
}
