//! `cargo xtask soak`: what is too long for every run of the tests.

use std::path::Path;
use std::process::Command;

/// Runs so many schedules of gateway and venue, from seed 0 on.
///
/// # Errors
/// In words: a schedule failed.
pub fn schedules(root: &Path, count: u64) -> Result<String, String> {
    let test = ["test", "--release", "-p", "taut-tests", "--test", "gateway_schedules"];
    let status = crate::cargo()
        .args(test)
        .args(["--", "--ignored", "--nocapture"])
        .env("TAUT_SEEDS", format!("0..{count}"))
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if status.success() {
        Ok(format!("soak: {count} schedules kept gateway and venue equal"))
    } else {
        Err(format!(
            "a schedule failed; alone: TAUT_SEED=n cargo {} -- --ignored --nocapture",
            test.join(" ")
        ))
    }
}

/// Venue, gateway and strategies, killed at random while they trade: how often, and the seed that
/// repeats a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    kills: u64,
    seed: u64,
}

impl Gateway {
    /// Reads `--kills N` and `--seed N`.
    ///
    /// # Errors
    /// The word that is none of these.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut soak = Self { kills: 20, seed: 1 };
        for pair in words.chunks(2) {
            let value = pair.get(1).and_then(|value| value.parse().ok());
            match (pair, value) {
                (["--kills", _], Some(kills)) => soak.kills = kills,
                (["--seed", _], Some(seed)) => soak.seed = seed,
                _ => return Err(pair.join(" ")),
            }
        }
        Ok(soak)
    }

    /// Builds the programs and runs.
    ///
    /// # Errors
    /// In words, when something cannot be built, or is not as it should be at the end.
    pub fn run(self, root: &Path, target: &Path) -> Result<String, String> {
        cargo(root, target, &["-p", "taut-cli", "--bin", "taut"])?;
        cargo(root, target, &["-p", "taut-tests", "--example", "soak_gateway"])?;
        let built = target.join("debug");
        let status = Command::new(built.join("examples/soak_gateway"))
            .arg(built.join("taut"))
            .args([self.kills, self.seed].map(|number| number.to_string()))
            .status()
            .map_err(|error| format!("soak_gateway: {error}"))?;
        let Self { kills, seed } = self;
        match status.success() {
            true => Ok(format!("soak gateway: all is well after {kills} kills, seed {seed}")),
            false => Err(format!("soak gateway --kills {kills} --seed {seed}: {status}")),
        }
    }
}

/// Builds a program.
///
/// # Errors
/// In words, when it does not build.
pub fn cargo(root: &Path, target: &Path, arguments: &[&str]) -> Result<(), String> {
    let status = crate::cargo()
        .args(["build", "--locked", "--quiet", "--target-dir"])
        .arg(target)
        .args(arguments)
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{arguments:?} does not build")) }
}

#[cfg(test)]
mod tests {
    use super::Gateway;

    #[test]
    fn its_words_are_numbers_with_names() {
        let parse = |text: &str| Gateway::parse(&text.split_whitespace().collect::<Vec<_>>());
        assert_eq!(parse(""), Ok(Gateway { kills: 20, seed: 1 }));
        assert_eq!(parse("--kills 7 --seed 3"), Ok(Gateway { kills: 7, seed: 3 }));
        assert_eq!(parse("--kills"), Err("--kills".to_owned()));
        assert_eq!(parse("--kill 7"), Err("--kill 7".to_owned()));
    }
}
