//! Measures round trips to an echo server. The median is the figure to look at.
//!
//! usage: `echo-client [NAME:PORT [COUNT]]`

use std::error::Error;
use std::process::ExitCode;

use taut::io::{Completion, EpollKernel, EventLoop, Io, LoopConfig, WaitStrategy};
use taut::net::{Connecting, Connector, Target};
use taut::prelude::Nanos;
use taut::sys::{StreamOptions, monotonic};
use taut_examples::told;

const MESSAGE: &[u8] = b"one line of text, there and back";

fn main() -> ExitCode {
    told(run())
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = Target::parse(arguments.next().as_deref().unwrap_or("localhost:19895"))?;
    let count: usize = arguments.next().as_deref().unwrap_or("10000").parse()?;

    let mut events = EventLoop::new(EpollKernel::new(16)?, LoopConfig::default())?;
    let io = events.io();
    let deadline = io.now() + Nanos::from_secs(5);
    let mut connector = Connector::start(io, &target, &StreamOptions::default(), deadline)?;
    let mut failure = None;
    let (mut sent_at, mut echoed_bytes) = (Nanos::ZERO, 0);
    let mut round_trips = Vec::with_capacity(count);
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        match connector.handle(io, &completion) {
            Connecting::Connected(stream) => {
                sent_at = monotonic();
                let sent = io.receive(stream).and_then(|()| io.write(stream, MESSAGE, None));
                failure = sent.err().map(|error| error.to_string());
                return;
            }
            Connecting::Failed(error) => {
                failure = Some(error.to_string());
                io.stop();
                return;
            }
            Connecting::Underway | Connecting::NotMine => {}
        }
        match completion {
            // TCP keeps no borders: an echo may come in pieces.
            Completion::Received { stream, bytes } => {
                echoed_bytes += bytes.len();
                if echoed_bytes < MESSAGE.len() {
                    return;
                }
                round_trips.push(monotonic() - sent_at);
                if round_trips.len() == count {
                    io.stop();
                    return;
                }
                (echoed_bytes, sent_at) = (0, monotonic());
                failure = io.write(stream, MESSAGE, None).err().map(|error| error.to_string());
            }
            Completion::Closed { .. } | Completion::Ended { .. } => {
                failure = Some(String::from("the server hung up"));
                io.stop();
            }
            _ => {}
        }
        if failure.is_some() {
            io.stop();
        }
    };
    events.run(&mut handler, WaitStrategy::Spin)?;
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    round_trips.sort_unstable();
    let at = |part: usize| round_trips.get(count * part / 100).copied().unwrap_or_default();
    println!("{count} round trips: p50 {}, p99 {}", at(50), at(99));
    Ok(())
}
