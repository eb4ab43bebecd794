//! Loss on purpose, for tests and measurements: each datagram is dropped with a probability.

/// The loss to inject: it replays from its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Of 2^32 datagrams, how many are dropped.
    threshold: u32,
    state: u64,
}

impl Loss {
    /// Drops with this probability, which must be at least 0 and below 1.
    #[must_use]
    pub fn new(probability: f64, seed: u64) -> Option<Self> {
        let fits = (0.0..1.0).contains(&probability);
        // In range by the check; a probability is no money.
        fits.then_some(Self { threshold: (probability * 4_294_967_296.0) as u32, state: seed })
    }

    /// Whether the next datagram is dropped (SplitMix64).
    #[inline]
    pub fn drops(&mut self) -> bool {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((bits ^ (bits >> 31)) >> 32) as u32) < self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::Loss;

    #[test]
    fn drops_about_its_share_and_the_same_ones_for_a_seed() {
        let run = |probability, seed| -> Vec<bool> {
            let mut loss = Loss::new(probability, seed).expect("in range");
            (0..100_000).map(|_| loss.drops()).collect()
        };
        let dropped = run(0.05, 1).iter().filter(|dropped| **dropped).count();
        assert!((4_500..5_500).contains(&dropped), "{dropped}");
        assert_eq!(run(0.05, 1), run(0.05, 1));
        assert_ne!(run(0.05, 1), run(0.05, 2));
        assert!(!run(0.0, 1).contains(&true));
        assert!(Loss::new(1.0, 1).is_none() && Loss::new(-0.1, 1).is_none());
        assert!(Loss::new(f64::NAN, 1).is_none());
    }
}
