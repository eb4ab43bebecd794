//! A message of a log: said, or held back because too much was said.

use taut_log::LogMemory;
use taut_log::messages::Gaps;
use taut_types::Nanos;

use crate::{Outcome, count, one_of};

/// Slots of the ring: nothing is taken while it is counted.
const SLOTS: usize = 1 << 17;

pub fn run(words: &[&str]) -> Outcome {
    let what = one_of(words.first(), &["say", "hold-back"])?;
    let count = count(words.get(1))?;
    let memory = LogMemory::new(SLOTS);
    let (mut log, _reader) = memory.ends().map_err(|error| format!("the log: {error}"))?;
    let step = if what == "say" { Nanos::from_secs(1) } else { Nanos::ZERO };
    let mut now = Nanos::from_secs(1);
    for total in 0..count.min(SLOTS as u64) {
        now = now + step;
        log.say(now, &Gaps { count: 1, total });
    }
    Ok(())
}
