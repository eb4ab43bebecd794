//! What the hot paths cost: each does one thing COUNT times, to be counted by callgrind
//! (`valgrind --tool=callgrind hot-paths PATH ...`, twice with different counts: the difference is
//! the operation's own). `cargo xtask instructions` does that, and holds the figures.
//!
//! One program rather than one for each path: it is linked once, and what a path shares with the
//! others is compiled as in a program that uses both.
#![forbid(unsafe_code)]

mod aeron;
mod binance;
mod channel;
mod deribit;
mod engine;
mod feed;
mod fix;
mod journal;
mod log;
mod risk;
mod tick;
mod websocket;
mod zmtp;

use std::error::Error;
use std::process::ExitCode;

type Outcome = Result<(), Box<dyn Error>>;

/// A path: its name, what follows it on the command line, and what it does.
type HotPath = (&'static str, &'static str, fn(&[&str]) -> Outcome);

const PATHS: [HotPath; 13] = [
    ("tick", "COUNT [journal | record]", tick::run),
    ("engine", "COUNT", engine::run),
    ("risk", "check|fill COUNT [INSTRUMENTS]", risk::run),
    ("fix", "index|check|encode|keep|all ROUNDS|0 [order|report [avx2|sse2|portable]]", fix::run),
    ("feed", "COUNT", feed::run),
    ("binance", "depth|top|trade COUNT", binance::run),
    ("deribit", "decode|book|ticker|okx COUNT", deribit::run),
    ("journal", "COUNT [FOLDER]", journal::run),
    ("log", "say|hold-back COUNT", log::run),
    ("channel", "ipc|inproc|aeron|lease|zmtp COUNT", channel::run),
    ("aeron", "COUNT", aeron::run),
    ("zmtp", "send|receive COUNT", zmtp::run),
    (
        "websocket",
        "parse|parse-masked|encode|encode-masked|mask|mask-naive|nothing BYTES COUNT",
        websocket::run,
    ),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let chosen = words.split_first().and_then(|(name, rest)| {
        let path = PATHS.iter().find(|path| path.0 == *name)?;
        Some((path, rest))
    });
    let Some(((name, usage, run), rest)) = chosen else {
        eprintln!("hot-paths PATH ..., PATH one of:");
        PATHS.iter().for_each(|(name, usage, _)| eprintln!("  {name} {usage}"));
        return ExitCode::from(2);
    };
    match run(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}\nhot-paths {name} {usage}");
            ExitCode::from(2)
        }
    }
}

/// A word that is one of these.
fn one_of<'w>(word: Option<&&'w str>, words: &[&str]) -> Result<&'w str, Box<dyn Error>> {
    let all = words.join(", ");
    let word = *word.ok_or_else(|| format!("one of {all} is missing"))?;
    if words.contains(&word) { Ok(word) } else { Err(format!("{word} is none of {all}").into()) }
}

/// A count among the words.
fn count(word: Option<&&str>) -> Result<u64, Box<dyn Error>> {
    let word = *word.ok_or("COUNT is missing")?;
    word.parse().map_err(|_| format!("{word} is no count").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that `cargo xtask instructions` measures, at a smoke size.
    #[test]
    fn every_path_runs() {
        for line in [
            "tick 40",
            "tick 40 journal",
            "tick 40 record",
            "engine 100",
            "risk check 100",
            "risk check 100 7",
            "risk fill 100",
            "fix all 1 order",
            "fix index 1 report sse2",
            "feed 10",
            "binance depth 10",
            "binance top 10",
            "binance trade 10",
            "deribit decode 10",
            "deribit book 10",
            "deribit ticker 10",
            "deribit okx 10",
            "journal 10",
            "log say 10",
            "log hold-back 20",
            "channel ipc 20",
            "channel inproc 20",
            "channel aeron 20",
            "channel lease 20",
            "channel zmtp 20",
            "aeron 100",
            "zmtp send 500",
            "zmtp receive 500",
            "websocket parse 128 10",
            "websocket parse-masked 128 10",
            "websocket encode 128 10",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let path = PATHS.iter().find(|path| path.0 == words[0]).expect(line);
            path.2(&words[1..]).expect(line);
        }
    }

    #[test]
    fn what_a_path_does_not_know_is_refused() {
        for line in [
            "tick many",
            "tick 40 diary",
            "risk chek 100",
            "risk check 100 2001",
            "fix parse 1",
            "fix index 1 cancel",
            "fix index 1 order mmx",
            "binance ticker 10",
            "deribit bok 10",
            "channel pipe 20",
            "zmtp 500",
            "websocket unmask 128 10",
            "websocket parse 128",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let path = PATHS.iter().find(|path| path.0 == words[0]).expect(line);
            path.2(&words[1..]).expect_err(line);
        }
    }
}
