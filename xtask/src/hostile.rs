//! `cargo xtask hostile`: every listener against peers that mean no good.
//!
//! A program of `tests/examples` plays the peers of several stages. It is told the path of `taut`,
//! the stage, for how many seconds, and whether the times count; it prints what it measured, and
//! fails when the listener did not hold its thresholds. A new stage is one row of [`STAGES`]. Where
//! the times count, `taut` and the program are built optimised.

use std::path::Path;
use std::process::Command;

use crate::soak::build;

/// One listener, and who comes to it.
struct Stage {
    /// What the stage is called, here and in its program.
    name: &'static str,
    /// The example of `taut-tests` that plays it.
    program: &'static str,
    /// It is played with `--long`, or when it is named: it asks for a machine of its own.
    is_long: bool,
}

const fn tcp(name: &'static str) -> Stage {
    Stage { name, program: "hostile_tcp", is_long: false }
}

/// A flood of handshakes keeps a CPU busy with signatures.
const fn tls(name: &'static str) -> Stage {
    Stage { name, program: "hostile_tcp", is_long: true }
}

const fn udp(name: &'static str) -> Stage {
    Stage { name, program: "hostile_udp", is_long: false }
}

/// All stages.
const STAGES: &[Stage] = &[
    tcp("zmtp-publisher"),
    tcp("zmtp-subscriber"),
    tcp("websocket"),
    tls("tls-websocket"),
    tcp("fix"),
    tls("tls-fix"),
    tcp("venue-orders"),
    tcp("drop-copies"),
    tcp("web-http"),
    tcp("web-fix"),
    tcp("recorded-stream"),
    udp("aeron-publication"),
    udp("aeron-subscription"),
    udp("lease"),
    udp("retransmission"),
    udp("feed"),
    udp("shared-memory"),
];

/// How long a stage takes, and whether the times of a good peer count: they say something on a
/// quiet machine only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hostile {
    seconds: u32,
    times_count: bool,
    /// A part of the names of the stages to run.
    part: String,
}

impl Hostile {
    /// Reads `--long`, `--seconds N` and a part of a stage's name.
    ///
    /// # Errors
    /// The word that is none of these.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut hostile = Self { seconds: 2, times_count: false, part: String::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--long" => (hostile.seconds, hostile.times_count) = (60, true),
                "--seconds" => match words.next().map(|seconds| seconds.parse()) {
                    Some(Ok(seconds @ 1..)) => hostile.seconds = seconds,
                    _ => return Err((*word).to_owned()),
                },
                part if !part.starts_with('-') && hostile.part.is_empty() => {
                    part.clone_into(&mut hostile.part);
                }
                other => return Err(other.to_owned()),
            }
        }
        let is_any = hostile.stages().next().is_some();
        if is_any { Ok(hostile) } else { Err(hostile.part) }
    }

    fn stages(&self) -> impl Iterator<Item = &'static Stage> {
        let is_all = self.times_count || !self.part.is_empty();
        let stages = STAGES.iter().filter(|stage| stage.name.contains(&self.part));
        stages.filter(move |stage| is_all || !stage.is_long)
    }

    /// Builds the programs and runs the stages.
    ///
    /// # Errors
    /// In words, when something cannot be built, or the stages that failed.
    pub fn run(&self, root: &Path, target: &Path) -> Result<String, String> {
        // Times are those of the program that people run.
        let mut programs: Vec<_> = self.stages().map(|stage| stage.program).collect();
        programs.dedup();
        let built = build(root, target, self.times_count, &programs)?;
        let (mut count, mut failed) = (0, Vec::new());
        for stage in self.stages() {
            println!("-- {}", stage.name);
            let status = Command::new(built.join("examples").join(stage.program))
                .arg(built.join("taut"))
                .args([stage.name, &self.seconds.to_string()])
                .args(self.times_count.then_some("--times"))
                .status()
                .map_err(|error| format!("{}: {error}", stage.program))?;
            count += 1;
            if !status.success() {
                failed
                    .push(format!("cargo xtask hostile --seconds {} {}", self.seconds, stage.name));
            }
        }
        match failed.is_empty() {
            true => Ok(format!("hostile: {count} stages held, {} s each", self.seconds)),
            false => Err(format!("these did not hold:\n{}", failed.join("\n"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Hostile, STAGES};

    #[test]
    fn its_words_are_a_length_and_a_part_of_a_name() {
        let parse = |text: &str| Hostile::parse(&text.split_whitespace().collect::<Vec<_>>());
        let short = Hostile { seconds: 2, times_count: false, part: String::new() };
        assert_eq!(parse(""), Ok(short.clone()));
        assert_eq!(
            parse("--seconds 7 fix"),
            Ok(Hostile { seconds: 7, part: "fix".into(), ..short })
        );
        assert!(parse("--long").is_ok_and(|it| it.times_count && it.seconds == 60));
        let count = |text| parse(text).expect("words").stages().count();
        assert_eq!((count("--long"), count("tls"), count("")), (STAGES.len(), 2, STAGES.len() - 2));
        for wrong in ["--seconds", "--seconds 0", "--short", "nothing-like-it"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_two_stages_share_a_name() {
        let mut names: Vec<_> = STAGES.iter().map(|stage| stage.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
