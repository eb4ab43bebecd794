//! The arguments of `taut saturate`.

use std::path::PathBuf;

use clap::Args;

use crate::channel::arguments::Wait;
use crate::exit::Failure;

/// Raise the rate of a channel until latency or loss gives way; draw the curves.
///
/// Runs `taut receive` and `taut send` as processes at ever higher rates (at ever lower ones when
/// the first fails), then halves the interval around the knee, the highest rate that held. A rate
/// holds when the sender kept it to 5%, nothing more than --loss was lost, and p99 from the
/// intended time stayed below --p99-us. One that did not is tried again, three times in all: a
/// hiccup of the machine is not the channel's knee. A run as fast as it goes is beside it.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The channel, between processes; or TAUT_CHANNEL
    #[arg(long, value_name = "URI")]
    pub channel: Option<String>,
    /// Bytes of a message, at least 24
    #[arg(long, default_value_t = 70)]
    pub size: usize,
    /// The first rate, messages a second
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub from: u64,
    /// No rate above this is tried
    #[arg(
        long,
        default_value_t = 50_000_000,
        value_parser = clap::value_parser!(u64).range(1..=100_000_000)
    )]
    pub to: u64,
    /// How long each rate is held
    #[arg(long, default_value_t = 1.0)]
    pub seconds: f64,
    /// The p99 that gives way, in microseconds
    #[arg(long, default_value_t = 10_000.0)]
    pub p99_us: f64,
    /// The share of messages that may be lost
    #[arg(long, default_value_t = 0.0)]
    pub loss: f64,
    /// How both ends wait
    #[arg(long, value_enum, default_value = "yield")]
    pub wait: Wait,
    /// The sender's CPU and the receiver's, such as 0,1
    #[arg(long, value_delimiter = ',', num_args = 1..=2)]
    pub cpus: Vec<usize>,
    /// Write the curves to this HTML file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
}

impl Arguments {
    /// Refuses what cannot be before anything starts.
    pub fn check(&self) -> Result<(), Failure> {
        let wrong = |text: String| Err(Failure::Usage(text));
        if !(24..=1 << 26).contains(&self.size) {
            return wrong(format!("--size {}: must be 24 to 67108864 bytes", self.size));
        }
        if !(0.05..=3600.0).contains(&self.seconds) {
            return wrong(format!("--seconds {}: must be 0.05 to 3600", self.seconds));
        }
        if !(0.0..1.0).contains(&self.loss) {
            return wrong(format!("--loss {}: must be at least 0 and below 1", self.loss));
        }
        if self.from > self.to {
            return wrong(format!("--from {} is above --to {}", self.from, self.to));
        }
        Ok(())
    }
}
