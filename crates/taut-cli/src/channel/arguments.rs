//! Arguments that every tool over a channel takes.

use clap::{Args, ValueEnum};
use taut_channel::{ChannelUri, Loss, Opening, WaitStrategy};
use taut_sys::{Tuning, monotonic};

use crate::exit::{Failure, catch_stop_signals};

/// How a tool waits when there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wait {
    /// Look again at once
    Spin,
    /// Look again after the processor's pause
    Pause,
    /// Let others run first
    Yield,
    /// Spin, yield, then sleep ever longer, at most a millisecond
    Backoff,
    /// Sleep in the kernel until something arrives
    Block,
}

impl Wait {
    pub const fn strategy(self) -> WaitStrategy {
        match self {
            Self::Spin => WaitStrategy::Spin,
            Self::Pause => WaitStrategy::Pause,
            Self::Yield => WaitStrategy::Yield,
            Self::Backoff => WaitStrategy::BackOff,
            Self::Block => WaitStrategy::Block,
        }
    }
}

/// Whose time the stamps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockName {
    /// CLOCK_MONOTONIC: both ends on one machine
    Monotonic,
    /// UTC: the ends on two machines, whose clocks must agree
    Utc,
}

/// How the tool's thread runs.
#[derive(Args, Clone, Debug)]
pub struct Thread {
    /// How to wait when there is nothing to do
    #[arg(long, value_enum, default_value = "yield")]
    pub wait: Wait,
    /// The CPU to run on
    #[arg(long)]
    pub cpu: Option<usize>,
    /// Run as SCHED_FIFO with this priority; needs the right to
    #[arg(long, value_name = "PRIO", value_parser = clap::value_parser!(i32).range(1..=99))]
    pub fifo: Option<i32>,
}

impl Thread {
    /// Puts the calling thread where it was asked to be.
    pub fn apply(&self) -> Result<(), Failure> {
        let tuning = Tuning { cpu: self.cpu, fifo_priority: self.fifo, ..Tuning::default() };
        let tuned = tuning.apply();
        if let (Some(Err(error)), Some(cpu)) = (tuned.cpu, self.cpu) {
            return Err(Failure::Usage(format!("--cpu {cpu}: {error}; see `taskset -p $$`")));
        }
        if let (Some(Err(error)), Some(priority)) = (tuned.fifo, self.fifo) {
            let text = format!("--fifo {priority}: {error}; it needs root or CAP_SYS_NICE");
            return Err(Failure::Usage(text));
        }
        // A timed wait shall not end 50 us late; what cannot be had costs only that.
        let _ = taut_sys::set_timer_slack(taut_types::Nanos(1));
        Ok(())
    }
}

/// Loss on purpose.
#[derive(Args, Clone, Debug)]
pub struct Injection {
    /// Drop this share of the datagrams, such as 0.01; for channels over UDP
    #[arg(long, value_name = "P")]
    pub inject_loss: Option<f64>,
    /// The seed of the loss
    #[arg(long, value_name = "S", default_value_t = 1, requires = "inject_loss")]
    pub seed: u64,
}

impl Injection {
    /// How a channel is opened.
    pub fn opening(&self) -> Result<Opening, Failure> {
        let loss = match self.inject_loss {
            None => None,
            Some(share) => Some(Loss::new(share, self.seed).ok_or_else(|| {
                Failure::Usage(format!("--inject-loss {share}: must be at least 0 and below 1"))
            })?),
        };
        Ok(Opening { now: monotonic(), loss, ..Opening::default() })
    }
}

/// What both ends of a channel take.
#[derive(Args, Clone, Debug)]
pub struct End {
    /// The channel, such as ipc:NAME, aeron:udp?endpoint=H:P|stream-id=N, tcp://H:P,
    /// lease:udp?endpoint=H:P; or TAUT_CHANNEL
    #[arg(long, value_name = "URI")]
    pub channel: Option<String>,
    #[command(flatten)]
    pub thread: Thread,
    #[command(flatten)]
    pub injection: Injection,
    /// Whose time the stamps are; the same on both ends
    #[arg(long, value_enum, default_value = "monotonic")]
    pub clock: ClockName,
    /// Report everything that this end of the channel counted
    #[arg(long)]
    pub counters: bool,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
}

impl End {
    /// The channel, that of the answers, and how both are opened, before anything starts; then the
    /// thread is put where it was asked to be.
    pub fn begin(
        &self,
        reply: Option<&str>,
    ) -> Result<(ChannelUri, Option<ChannelUri>, Opening), Failure> {
        let uri = channel(self.channel.as_deref())?;
        let reply = reply.map(|text| channel(Some(text))).transpose()?;
        let opening = self.injection.opening()?;
        catch_stop_signals()?;
        self.thread.apply()?;
        Ok((uri, reply, opening))
    }
}

/// The channel of an argument, or of the environment, whose other end is another process.
pub fn channel(argument: Option<&str>) -> Result<ChannelUri, Failure> {
    let uri = ChannelUri::from_argument_or_environment(argument)
        .map_err(|error| Failure::Usage(format!("--channel: {error}")))?;
    if uri.scheme() == "inproc" {
        let text = format!("{uri}: the ends are processes of their own; use ipc:NAME");
        return Err(Failure::Usage(text));
    }
    Ok(uri)
}
