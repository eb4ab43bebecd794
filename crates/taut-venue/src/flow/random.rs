//! SplitMix64: a small deterministic generator of random numbers (Steele, Lea, Flood: "Fast
//! splittable pseudorandom number generators", OOPSLA 2014). Not for secrets.

/// The generator; the same seed gives the same numbers everywhere.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that starts from this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, or 0 when that is 0. The bias is at most `bound` in 2^64.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// True in `per_mille` of 1,000 cases.
    pub const fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1_000) < per_mille
    }

    /// How often a coin of `per_mille` falls before it does not, at most `limit`: geometric.
    pub const fn run_length(&mut self, per_mille: u64, limit: u64) -> u64 {
        let mut length = 0;
        while length < limit && self.chance(per_mille) {
            length += 1;
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn gives_the_published_numbers() {
        // The reference implementation's first outputs from seed 1234567.
        let mut random = SplitMix64::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(expected.map(|_| random.next_u64()), expected);
    }

    #[test]
    fn stays_below_its_bound() {
        let mut random = SplitMix64::new(7);
        assert_eq!(random.below(0), 0);
        assert!((0..1_000).all(|_| random.below(6) < 6));
        assert!((0..1_000).all(|_| random.run_length(900, 9) <= 9));
    }
}
