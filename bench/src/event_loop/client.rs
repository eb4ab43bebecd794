//! The receiver: many connections on one loop.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use taut_io::{
    Completion, EpollKernel, EventLoop, Handle, Handler, Io, Kernel, LoopConfig, UringKernel,
    WaitStrategy,
};
use taut_lat::new_words;
use taut_sys::{Address, Socket, StreamOptions, SysError, monotonic, wait_readable};
use taut_types::Nanos;

use super::meter::{Meter, Outcome, warm_up};
use super::parse_wait;
use crate::cpus;
use taut_report::Failure;
use taut_report::terminal;

/// Which kernel is under the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// Edge-triggered epoll.
    Epoll,
    /// io_uring, multishot; epoll where it is refused, with the reason on standard error.
    Uring,
}

/// The arguments of `taut-bench loop-client`.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The server
    #[arg(long)]
    connect: SocketAddr,
    /// Connections to open
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    connections: u32,
    /// Messages per second of each connection: says how long the warm-up is
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
    /// Bytes of a message
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(32..=65_536))]
    size: u32,
    /// How long to receive at most; the server's end ends the client too
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// Which kernel is under the loop
    #[arg(long, value_enum, default_value = "epoll")]
    backend: Backend,
    /// How the loop waits: spin, pause, yield, backoff, block
    #[arg(long, value_parser = parse_wait, default_value = "spin")]
    wait: WaitStrategy,
    /// The CPU to run on
    #[arg(long)]
    cpu: Option<usize>,
    /// Receive from every connection in every turn, without epoll; for few connections
    #[arg(long)]
    hot: bool,
    /// Run an epoll receiver without the loop instead: the floor
    #[arg(long, conflicts_with_all = ["hot", "backend"])]
    bare: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Runs the receiver.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    cpus::pin("--cpu", arguments.cpu)?;
    let words = [new_words(), new_words()];
    let histograms = [&words[0][..], &words[1][..]];
    let size = arguments.size as usize;
    let meter = Meter::new(arguments.connections, arguments.rate, size, histograms);
    let Some(mut meter) = meter else {
        return Err(Failure::Run("no room for the histograms".to_owned()));
    };
    let backend = match (arguments.bare, arguments.backend) {
        (true, _) => bare(arguments, &mut meter).map(|()| "bare"),
        (false, Backend::Epoll) => epoll(arguments, &mut meter),
        (false, Backend::Uring) => uring(arguments, &mut meter),
    }
    .map_err(|error| Failure::run(&format!("receive from {}", arguments.connect), error))?;
    if meter.messages() == 0 {
        return Err(nothing(arguments));
    }
    let wait = arguments.wait.name();
    let outcome = meter.outcome(backend, wait, arguments.rate);
    if outcome.count == 0 {
        terminal::tell(format_args!(
            "nothing is counted: the first {} messages of a connection are its warm-up; receive \
             for longer",
            warm_up(arguments.rate)
        ));
    }
    if arguments.json { terminal::print_json(&outcome) } else { terminal::print(human(&outcome)) }
}

/// Why there is nothing to report, as far as this end can know.
fn nothing(arguments: &Arguments) -> Failure {
    let Arguments { connect, connections, size, seconds, .. } = arguments;
    Failure::Run(format!(
        "no message of {size} bytes came from {connect} over {connections} connections within \
         {seconds} s; a taut server waits for all its --connections first"
    ))
}

fn human(outcome: &Outcome) -> String {
    let Outcome { backend, wait, connections, rate, count, .. } = outcome;
    let us = |ns: u64| ns as f64 / 1000.0;
    let latency = outcome.latency_ns;
    format!(
        "{backend} {wait}, {connections} connections at {rate} Hz: {count} messages, {} out of \
         sequence\nlatency us: p50 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.1}\n{:.3} system calls \
         and {:.1} idle looks a message, {:.0} % CPU, {} context switches",
        outcome.out_of_sequence,
        us(latency.p50),
        us(latency.p99),
        us(latency.p999),
        us(latency.max),
        outcome.syscalls_per_message,
        outcome.idle_calls_per_message,
        outcome.cpu_percent,
        outcome.context_switches,
    )
}

fn bare(arguments: &Arguments, meter: &mut Meter<'_>) -> Result<(), SysError> {
    let to = Address::Inet(arguments.connect);
    let mut sockets = Vec::new();
    for _ in 0..arguments.connections {
        let (socket, _) = Socket::connect(&to, &StreamOptions::default())?;
        sockets.push(socket);
    }
    // The first bytes say that the connection stands.
    if let Some(first) = sockets.first() {
        wait_readable(&[std::os::fd::AsFd::as_fd(first)], Some(Nanos::from_secs(10)))?;
    }
    let end = monotonic() + Nanos::from_secs(i64::from(arguments.seconds));
    super::bare::receive(&sockets, arguments.wait == WaitStrategy::Block, end, meter)
}

fn epoll(arguments: &Arguments, meter: &mut Meter<'_>) -> Result<&'static str, SysError> {
    receive(EpollKernel::new(arguments.connections as usize)?, arguments, meter)?;
    Ok("epoll")
}

fn uring(arguments: &Arguments, meter: &mut Meter<'_>) -> Result<&'static str, SysError> {
    match UringKernel::new(arguments.connections as usize) {
        Ok(kernel) => {
            receive(kernel, arguments, meter)?;
            Ok("uring")
        }
        Err(refused) => {
            terminal::tell(format_args!("io_uring is refused, using epoll: {refused}"));
            epoll(arguments, meter)
        }
    }
}

fn receive<K: Kernel>(
    kernel: K,
    arguments: &Arguments,
    meter: &mut Meter<'_>,
) -> Result<(), SysError> {
    let config = LoopConfig {
        sources_max: arguments.connections as usize,
        timers_max: arguments.connections as usize,
        write_bytes_max: 4096,
        ..LoopConfig::default()
    };
    let mut events = EventLoop::new(kernel, config)?;
    let to = Address::Inet(arguments.connect);
    for _ in 0..arguments.connections {
        let deadline = events.io().now() + Nanos::from_secs(10);
        let connect = events.io().connect(&to, &StreamOptions::default(), Some(deadline));
        connect.map_err(|error| match error {
            taut_io::IoError::System(error) => error,
            _ => SysError::timed_out("connect"),
        })?;
    }
    let mut client = Client { meter, hot: arguments.hot };
    let span = Nanos::from_secs(i64::from(arguments.seconds));
    events.run_for(&mut client, arguments.wait, span)
}

struct Client<'c, 'm> {
    meter: &'c mut Meter<'m>,
    hot: bool,
}

impl<K: Kernel> Handler<K> for Client<'_, '_> {
    #[inline]
    fn complete(&mut self, io: &mut Io<K>, completion: Completion<'_>) {
        match completion {
            Completion::Received { stream, bytes } => {
                let calls = io.calls();
                self.meter.received(stream.index(), bytes, calls);
            }
            Completion::Connected { stream } => self.connected(io, stream),
            Completion::Ended { stream } => drop(io.close(stream)),
            Completion::Closed { reason: Some(reason), .. }
                if reason != taut_io::IoError::Cancelled =>
            {
                terminal::tell(format_args!("a connection closed: {reason}"));
            }
            _ => {}
        }
    }
}

impl Client<'_, '_> {
    fn connected<K: Kernel>(&self, io: &mut Io<K>, stream: Handle) {
        if self.hot
            && let Err(error) = io.set_hot(stream, true)
        {
            terminal::tell(format_args!("not hot: {error}"));
        }
        if let Err(error) = io.receive(stream) {
            terminal::tell(format_args!("cannot receive: {error}"));
        }
    }
}
