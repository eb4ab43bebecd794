//! What it costs a thread to say something: the best of many rounds, each into a ring of its own
//! that nobody reads meanwhile.

use clap::Args;
use taut_log::messages::{Gaps, OrdersRefused};
use taut_log::{LINES_A_SECOND, LogMemory, LogWriter};
use taut_report::Failure;
use taut_report::terminal::print;
use taut_types::Nanos;

use crate::timing::best;

/// Messages of one turn's time each, with numbers and with a venue's words, and held back ones.
#[derive(Args, Debug)]
pub struct Arguments {}

/// Messages of a round.
const COUNT: u32 = 512;
/// Rounds of `best`, and slots of a message with text.
const SLOTS: usize = 1 << 18;

pub fn run(_: &Arguments) -> Result<(), Failure> {
    let gaps = Gaps { count: 1, total: 7 };
    let numbers = measure(COUNT, |log, now, _| log.say(now, &gaps))?;
    let words = "Account has insufficient balance for requested action";
    let text = measure(COUNT, |log, now, _| log.say_text(now, &OrdersRefused {}, words))?;
    let held_back = measure(COUNT, |log, _, start| log.say(start, &gaps))?;
    print(format_args!(
        "a message with two numbers {numbers} ns, with {} bytes of text {text} ns, one that is \
         held back {held_back} ns",
        words.len()
    ))
}

/// Nanoseconds of a call; each finds its message's budget open, as its time is a second later.
fn measure(
    count: u32,
    mut say: impl FnMut(&mut LogWriter<'_>, Nanos, Nanos),
) -> Result<f64, Failure> {
    let memory = LogMemory::new(SLOTS);
    let (mut log, mut reader) =
        memory.ends().map_err(|error| Failure::Run(format!("the log: {error}")))?;
    let start = Nanos::from_secs(1);
    let mut now = start;
    // Whoever says always the same at one time has no budget left.
    (0..LINES_A_SECOND).for_each(|_| log.say(start, &Gaps { count: 1, total: 7 }));
    let ns = best(count as usize, || {
        for _ in 0..count {
            now = now + Nanos::from_secs(1);
            say(&mut log, now, start);
        }
    });
    let mut said = 0_u64;
    while reader.poll(|at| at, |_| None).is_some() {
        said += 1;
    }
    print(format_args!("# {said} messages were read"))?;
    Ok(ns)
}
