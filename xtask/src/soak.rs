//! `cargo xtask soak`: what is too long for every run of the tests.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Runs so many schedules of gateway and venue, from seed 0 on.
///
/// # Errors
/// In words: a schedule failed.
pub fn schedules(root: &Path, count: u64) -> Result<String, String> {
    let test = ["-p", "taut-tests", "--test", "gateway_schedules"];
    seeded(root, &test, &["--ignored"], count)?;
    Ok(format!("soak: {count} schedules kept gateway and venue equal"))
}

/// Runs so many schedules of a venue and its standby on two machines, from seed 0 on.
///
/// # Errors
/// In words: a schedule failed.
pub fn fail_over(root: &Path, count: u64) -> Result<String, String> {
    seeded(root, &["-p", "taut-venue", "--test", "fail_over"], &[], count)?;
    Ok(format!("soak fail-over: {count} schedules, in which the two acknowledged as one venue"))
}

/// Runs the seeds 0 to `count` of a test.
fn seeded(root: &Path, test: &[&str], filter: &[&str], count: u64) -> Result<(), String> {
    let status = crate::cargo()
        .args(["test", "--release", "--locked"])
        .args(test)
        .args(["--", "--nocapture"])
        .args(filter)
        .env("TAUT_SEEDS", format!("0..{count}"))
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!(
            "a schedule failed; alone: TAUT_SEED=n cargo test --release {} -- --nocapture {}",
            test.join(" "),
            filter.join(" ")
        )),
    }
}

/// Has the page of `taut desk` open in Chromium for so many minutes, beside a gateway that trades.
///
/// # Errors
/// In words: the page or the desk grew, the page complained, or no Chromium is there.
pub fn desk(root: &Path, minutes: u64) -> Result<String, String> {
    let minutes = minutes.to_string();
    let (test, minutes_key) = ("a_page_that_stays_open_does_not_grow", "TAUT_MINUTES");
    let said = ignored(root, &[], test, 1, (minutes_key, &minutes))
        .ok_or("the page or the desk grew, or complained: see above")?;
    match said.contains("skipped:") {
        true => Err("no Chromium on the PATH".to_owned()),
        false => Ok(format!("soak desk: {minutes} minutes, neither the page nor the desk grew")),
    }
}

/// Makes a gateway that trades suffer, and has each tool that looks at it name the cause; and holds
/// its stages with all of them attached against those without.
///
/// # Errors
/// In words: a tool did not name a cause within two seconds, or they change a stage.
pub fn observers(root: &Path) -> Result<String, String> {
    ignored(root, &["--release"], "trials::", 2, ("RUST_TEST_THREADS", "1"))
        .map(|_| {
            "soak observers: each tool names each cause within two seconds, and all of them \
             together change no stage"
                .to_owned()
        })
        .ok_or_else(|| "a tool did not name a cause, or they change a stage: see above".to_owned())
}

/// Runs ignored tests of the tools, and prints what they say; nothing unless so many passed.
fn ignored(
    root: &Path,
    profile: &[&str],
    filter: &str,
    count: u32,
    (key, value): (&str, &str),
) -> Option<String> {
    let test = ["test", "--locked", "-p", "taut-cli", "--test", "tools"];
    let ran = crate::cargo()
        .args(test)
        .args(profile)
        .arg("--")
        .args(["--ignored", "--nocapture", filter])
        .env(key, value)
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output();
    let ran = ran.map_err(|error| println!("cargo: {error}")).ok()?;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    println!("{said}");
    let have_passed = ran.status.success() && said.contains(&format!(" {count} passed"));
    have_passed.then_some(said)
}

/// Seeds of faults that one program takes, and programs at once: each has a thread for each
/// language.
const SEEDS_AT_A_TIME: usize = 20;
const PROGRAMS: usize = 1;

/// Runs the fault tests of gateways at the simulated Deribit, Binance and OKX with so many seeds,
/// on virtual time and simulated networks: a seed gives the same run on any machine.
///
/// # Errors
/// In words: something does not build, or which seeds failed.
pub fn venues(root: &Path, count: u64) -> Result<String, String> {
    let test = ["test", "--locked", "--quiet", "-p", "taut-tests", "--test", "web_venues"];
    let run = |arguments: &[&str], seeds: &Range<u64>| {
        let mut cargo = crate::cargo();
        cargo.args(test).args(arguments).current_dir(root);
        cargo.env("TAUT_SEEDS", format!("{}..{}", seeds.start, seeds.end));
        let ran = cargo.output().map_err(|error| format!("cargo: {error}"))?;
        let said = [ran.stdout, ran.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        match ran.status.success() {
            true if said[0].contains(" 0 passed") => Err("no test ran".to_owned()),
            true => Ok(()),
            false => Err(said.concat()),
        }
    };
    run(&["--no-run"], &(0..1))?;
    let from = (0..count).step_by(SEEDS_AT_A_TIME);
    let shares = from.map(|from| from..(from + SEEDS_AT_A_TIME as u64).min(count));
    let (shares, done, wrong) = (Mutex::new(shares), Mutex::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..PROGRAMS {
            scope.spawn(|| {
                loop {
                    let Some(seeds) = locked(&shares).next() else { return };
                    if let Err(said) = run(&["--", "under_faults"], &seeds) {
                        println!("{said}");
                        locked(&wrong).push(seeds.clone());
                    }
                    let mut done = locked(&done);
                    *done += seeds.end - seeds.start;
                    println!("{done} of {count} seeds");
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    if wrong.is_empty() {
        return Ok(format!("soak venues: {count} seeds, gateways and venues agree in the end"));
    }
    let again = |seeds: &Range<u64>| {
        let range = format!("{}..{}", seeds.start, seeds.end);
        format!("TAUT_SEEDS={range} cargo {} -- under_faults", test.join(" "))
    };
    Err(wrong.iter().map(again).collect::<Vec<_>>().join("\n"))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Venue, gateway and strategies, killed at random while they trade: how often, the seed that
/// repeats a run, and under which load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    kills: u64,
    seed: u64,
    /// Orders per second of each strategy.
    rate: u64,
    instruments: u64,
    /// Commands per second of the venue's own market.
    flow: u64,
    /// Seconds of load before the first kill, in which nothing may be lost.
    steady: u64,
    is_release: bool,
}

impl Gateway {
    /// Reads `--kills N`, `--seed N`, `--rate N`, `--instruments N`, `--flow N`, `--steady N` and
    /// `--release`.
    ///
    /// # Errors
    /// The word that is none of these.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut soak = Self {
            kills: 20,
            seed: 1,
            rate: 500,
            instruments: 2,
            flow: 1_000,
            steady: 0,
            is_release: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let number = match *word {
                "--release" => {
                    soak.is_release = true;
                    continue;
                }
                "--kills" => &mut soak.kills,
                "--seed" => &mut soak.seed,
                "--rate" => &mut soak.rate,
                "--instruments" => &mut soak.instruments,
                "--flow" => &mut soak.flow,
                "--steady" => &mut soak.steady,
                other => return Err(other.to_owned()),
            };
            let value = words.next().copied().unwrap_or_default();
            *number = value.parse().map_err(|_| format!("{word} {value}").trim().to_owned())?;
        }
        Ok(soak)
    }

    /// Builds the programs and runs.
    ///
    /// # Errors
    /// In words, when something cannot be built, or is not as it should be at the end.
    pub fn run(self, root: &Path, target: &Path) -> Result<String, String> {
        let Self { kills, seed, rate, instruments, flow, steady, is_release } = self;
        let built = build(root, target, is_release, &["soak_gateway"])?;
        let numbers = [kills, seed, rate, instruments, flow, steady];
        let status = Command::new(built.join("examples/soak_gateway"))
            .arg(built.join("taut"))
            .args(numbers.map(|number| number.to_string()))
            .status()
            .map_err(|error| format!("soak_gateway: {error}"))?;
        match status.success() {
            true => Ok(format!("soak gateway: all is well after {kills} kills, seed {seed}")),
            false => Err(format!("soak gateway --kills {kills} --seed {seed}: {status}")),
        }
    }
}

/// Builds `taut` and these examples of taut-tests; returns the folder of `taut`, in which
/// `examples` has the others.
///
/// No package is named: cargo chooses the features of dependencies for the packages that it is
/// given together, and compiles what differs again. Unoptimised, all is as `cargo test` has built
/// it. Optimised, `taut` is built by itself, as people do.
///
/// # Errors
/// In words, when something does not build.
pub fn build(
    root: &Path,
    target: &Path,
    is_release: bool,
    examples: &[&str],
) -> Result<PathBuf, String> {
    let examples = examples.iter().flat_map(|example| ["--example", example]);
    let (taut, examples) = (["--bin", "taut"], examples.collect::<Vec<_>>());
    if is_release {
        // Beside an example it may be asked for any verb.
        let full: &[&str] = match examples.is_empty() {
            true => &[],
            false => &["--features", "taut-cli/full"],
        };
        cargo(root, target, &[&taut[..], &["--release"], full].concat())?;
        if !examples.is_empty() {
            cargo(root, target, &[&examples[..], &["--release"]].concat())?;
        }
        return Ok(target.join("release"));
    }
    cargo(root, target, &[&taut[..], &examples].concat())?;
    Ok(target.join("debug"))
}

fn cargo(root: &Path, target: &Path, arguments: &[&str]) -> Result<(), String> {
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
        let usual = Gateway {
            kills: 20,
            seed: 1,
            rate: 500,
            instruments: 2,
            flow: 1_000,
            steady: 0,
            is_release: false,
        };
        assert_eq!(parse(""), Ok(usual));
        assert_eq!(parse("--kills 7 --seed 3"), Ok(Gateway { kills: 7, seed: 3, ..usual }));
        let loaded = Gateway { rate: 9_000, instruments: 50, flow: 9, is_release: true, ..usual };
        let words = "--release --rate 9000 --instruments 50 --flow 9";
        assert_eq!(parse(words), Ok(loaded));
        assert_eq!(parse("--steady 300"), Ok(Gateway { steady: 300, ..usual }));
        assert_eq!(parse("--kills"), Err("--kills".to_owned()));
        assert_eq!(parse("--kills x"), Err("--kills x".to_owned()));
        assert_eq!(parse("--kill 7"), Err("--kill".to_owned()));
    }
}
