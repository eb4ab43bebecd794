//! The arguments of `taut receive`.

use std::path::PathBuf;

use clap::Args;

use crate::channel::arguments::End;
use crate::exit::Failure;

/// Receive messages from any channel, with latency and losses.
///
/// Ends when `--count` messages are received or known to be lost, at the end of the stream, or
/// `--seconds` after the first message; the sender's own count travels at its end, so that a lost
/// last message is known. What one look at the channel finds, 128 messages at most, has one
/// receive time, read when all of it is there.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    #[command(flatten)]
    pub end: End,
    /// End after so many messages, received or lost
    #[arg(long)]
    pub count: Option<u64>,
    /// End so long after the first message
    #[arg(long, value_name = "S")]
    pub seconds: Option<f64>,
    /// Write `sequence,intended_ns,sent_ns,received_ns` of every message to a file
    #[arg(long, value_name = "FILE", conflicts_with = "raw")]
    pub csv: Option<PathBuf>,
    /// Count any message, of whatever sender: no stamps, no losses
    #[arg(long)]
    pub raw: bool,
    /// Send every message back: the other end of `taut send --ping`
    #[arg(long, requires = "reply_channel")]
    pub pong: bool,
    /// The channel of the answers
    #[arg(long, value_name = "URI", requires = "pong")]
    pub reply_channel: Option<String>,
}

impl Arguments {
    /// Refuses what cannot be before anything starts.
    pub fn check(&self) -> Result<(), Failure> {
        match self.seconds {
            Some(seconds) if !(0.0..=86_400.0 * 365.0).contains(&seconds) => {
                Err(Failure::Usage(format!("--seconds {seconds}: must be 0 or more")))
            }
            _ => Ok(()),
        }
    }
}
