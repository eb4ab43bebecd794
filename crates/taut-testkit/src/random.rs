//! Random numbers that a seed repeats.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The generator of all tests: `fastrand`'s (wyrand). The same seed gives the same numbers.
pub use fastrand::Rng as Random;

/// What schedules draw most often.
pub trait Draw {
    /// A number below `end`; 0 when there is none.
    fn below(&mut self, end: u64) -> u64;

    /// True in so many of a thousand cases.
    fn per_mille(&mut self, chance: u64) -> bool {
        self.below(1_000) < chance
    }

    /// One of these, each as likely as the others.
    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

impl Draw for Random {
    fn below(&mut self, end: u64) -> u64 {
        self.u64(..end.max(1))
    }
}

/// So many schedules fail before the others are not run any more.
const FAILURES_MAX: usize = 10;

/// Runs a schedule for each of these seeds; a failure does not keep the others from being run.
/// `TAUT_SEED=n` in the environment replays one alone (see [`seeds`]).
///
/// # Panics
/// When a schedule did, with the seeds that failed.
pub fn for_each_seed(all: Range<u64>, mut schedule: impl FnMut(u64, Random)) {
    let mut failed = Vec::new();
    for seed in seeds(all) {
        let one = AssertUnwindSafe(|| schedule(seed, Random::with_seed(seed)));
        if catch_unwind(one).is_err() {
            eprintln!("seed {seed} failed; TAUT_SEED={seed} replays it alone");
            failed.push(seed);
        }
        if failed.len() == FAILURES_MAX {
            break;
        }
    }
    assert!(failed.is_empty(), "these seeds failed: {failed:?}");
}

/// The seeds to run: `all`, or the one of `TAUT_SEED=n`, or those of `TAUT_SEEDS=from..to`.
#[must_use]
pub fn seeds(all: Range<u64>) -> Range<u64> {
    let given = |name| std::env::var(name).ok();
    let one = || Some(parsed("TAUT_SEED", &given("TAUT_SEED")?)).map(|seed| seed..seed + 1);
    let some = || {
        let text = given("TAUT_SEEDS")?;
        let (from, to) = text.split_once("..").expect("TAUT_SEEDS=from..to");
        Some(parsed("TAUT_SEEDS", from)..parsed("TAUT_SEEDS", to))
    };
    one().or_else(some).unwrap_or(all)
}

fn parsed(name: &str, text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{name}: {text} is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_numbers() {
        let draw = |seed| {
            let mut random = Random::with_seed(seed);
            [random.below(1 << 40), random.below(6), u64::from(random.per_mille(500))]
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_eq!(Random::with_seed(1).below(0), 0);
    }

    #[test]
    fn every_seed_has_its_turn() {
        let mut seen = Vec::new();
        for_each_seed(3..6, |seed, _| seen.push(seed));
        assert_eq!(seen, seeds(3..6).collect::<Vec<_>>());
    }

    #[test]
    #[should_panic(expected = "these seeds failed: [4, 6]")]
    fn every_seed_that_fails_is_named() {
        for_each_seed(3..8, |seed, _| assert!(seed % 2 == 1, "an even seed"));
    }
}
