//! Peers that mean no good, at every listener over UDP and at every kind of shared memory: a stage
//! of `cargo xtask hostile`. Told the path of `taut`, the stage, for how many seconds, and
//! `--times` where those count, it prints what it measured and fails when the listener did not hold
//! its thresholds.

mod channels;
mod feed;
mod flood;
mod frames;
mod memory;
mod retransmission;

use std::process::ExitCode;

/// How long a stage takes, and whether the times of a good peer count: they say something on a
/// quiet machine only.
#[derive(Clone, Copy, Debug)]
struct Terms {
    seconds: u32,
    times_count: bool,
}

/// What a stage measured, in words, or what did not hold.
type Outcome = Result<String, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (taut, stage, seconds, times_count) = match words[..] {
        [taut, stage, seconds] => (taut, stage, seconds, false),
        [taut, stage, seconds, "--times"] => (taut, stage, seconds, true),
        _ => return refuse("hostile_udp TAUT STAGE SECONDS [--times]"),
    };
    let Ok(seconds @ 1..) = seconds.parse() else { return refuse("SECONDS is a number") };
    let terms = Terms { seconds, times_count };
    let outcome = match stage {
        "aeron-publication" => channels::publication(terms),
        "aeron-subscription" => channels::subscription(terms),
        "lease" => channels::lease(terms),
        "retransmission" => retransmission::run(terms).and_then(|cost| {
            let served = feed::ask_again(taut, terms)?;
            Ok(format!("{cost}; {served}"))
        }),
        "feed" => feed::follow(taut, terms),
        "shared-memory" => memory::run(terms),
        _ => return refuse("there is no such stage"),
    };
    match outcome {
        Ok(measured) => {
            println!("{stage}: {measured}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{stage}: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}
