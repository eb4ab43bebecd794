//! The arguments of `taut send`.

use std::str::FromStr;

use clap::Args;

use crate::channel::arguments::End;
use crate::channel::stamp::STAMP_BYTES;
use crate::exit::Failure;

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// So many messages a second, at their times, whatever happened to those before.
    Hz(u64),
    /// As fast as the channel takes them.
    Max,
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let in_range = |rate: &u64| (1..=100_000_000).contains(rate);
        match text {
            "max" => Ok(Self::Max),
            _ => text
                .parse()
                .ok()
                .filter(in_range)
                .map(Self::Hz)
                .ok_or_else(|| "must be `max` or 1 to 100000000 messages a second".to_owned()),
        }
    }
}

/// Send timed messages into any channel.
///
/// A message begins with the time it was sent, the time it was to be sent (nanoseconds) and its
/// sequence from 0, each 8 bytes little endian; the rest is filler. Waits for the first subscriber,
/// and at the end until every subscriber has everything.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    #[command(flatten)]
    pub end: End,
    /// Bytes of a message, at least 24
    #[arg(long, default_value_t = 70)]
    pub size: usize,
    /// Messages a second, or `max`, where 64 messages at a time have one time: their first one's
    #[arg(long, default_value = "1000")]
    pub rate: Rate,
    /// How many messages; without it until interrupted
    #[arg(long)]
    pub count: Option<u64>,
    /// The topic of the messages, on channels that have topics
    #[arg(long)]
    pub topic: Option<String>,
    /// Begin at once, though nobody listens: what nobody hears is gone
    #[arg(long)]
    pub no_wait: bool,
    /// Seconds to wait at the end for slow subscribers
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub linger: f64,
    /// Measure round trips: `taut receive --pong` sends each message back
    #[arg(long, requires = "reply_channel")]
    pub ping: bool,
    /// The channel of the answers
    #[arg(long, value_name = "URI", requires = "ping")]
    pub reply_channel: Option<String>,
}

impl Arguments {
    /// Refuses what cannot be before anything starts.
    pub fn check(&self) -> Result<(), Failure> {
        let wrong = |text: String| Err(Failure::Usage(text));
        if !(STAMP_BYTES..=1 << 26).contains(&self.size) {
            return wrong(format!("--size {}: must be 24 to 67108864 bytes", self.size));
        }
        if !(0.0..=86_400.0).contains(&self.linger) {
            return wrong(format!("--linger {}: must be 0 to 86400 seconds", self.linger));
        }
        Ok(())
    }
}
