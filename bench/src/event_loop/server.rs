//! The sender: one busy thread, open loop, without the library's loop, so that every client is
//! measured against the same thing.
//!
//! Each connection has a schedule of its own that never moves: a message that leaves late keeps its
//! intended time, and none is left out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use serde::Serialize;
use taut_sys::{Address, Socket, StreamOptions, monotonic};
use taut_types::Nanos;

use super::message::{HEADER_BYTES, Message};
use crate::cpus;
use taut_report::Failure;
use taut_report::terminal;

/// When the connections' schedules start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Phase {
    /// Each when it is accepted.
    Accept,
    /// Spread evenly over a period.
    Stagger,
    /// All at once.
    Burst,
}

/// The arguments of `taut-bench loop-server`.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Where to listen; port 0 lets the kernel choose, and the first line of output says which
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Connections to wait for
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    connections: u32,
    /// Messages per second on each connection
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
    /// Bytes of a message
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(32..=65_536))]
    size: u32,
    /// When the connections' schedules start
    #[arg(long, value_enum, default_value = "stagger")]
    phase: Phase,
    /// How long to send
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// The CPU to run on
    #[arg(long)]
    cpu: Option<usize>,
}

/// What the sender prints at its end.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    sent: u64,
    msgs_per_s: f64,
    would_block: u64,
    lag_ns_max: i64,
}

struct Connection {
    socket: Socket,
    intended: Nanos,
    sequence: u64,
    /// The rest of a message that the kernel did not take whole.
    rest: Vec<u8>,
}

/// Runs the sender.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    cpus::pin("--cpu", arguments.cpu)?;
    let at = Address::Inet(arguments.listen);
    let listener = Socket::listen(&at, &StreamOptions::default())
        .map_err(|error| Failure::run(&format!("listen on {at}"), error))?;
    let bound = listener.local_address().map_err(|error| Failure::run("local address", error))?;
    terminal::print(format_args!("listening on {bound}"))?;
    let mut connections = accept(&listener, arguments)?;
    let outcome = send(&mut connections, arguments)?;
    terminal::print_json(&outcome)
}

/// Waits for every connection, and sets the schedules.
fn accept(listener: &Socket, arguments: &Arguments) -> Result<Vec<Connection>, Failure> {
    let failed = |error| Failure::run("accept", error);
    let mut connections = Vec::new();
    let period = 1_000_000_000 / i64::from(arguments.rate);
    while connections.len() < arguments.connections as usize {
        let Some((socket, _)) = listener.accept().map_err(failed)? else { continue };
        socket.apply(&StreamOptions::default()).map_err(failed)?;
        let intended = monotonic() + Nanos(period);
        connections.push(Connection { socket, intended, sequence: 0, rest: Vec::new() });
    }
    // The clients' set-up is over by then.
    let start = monotonic() + Nanos::from_millis(50);
    let count = i64::from(arguments.connections);
    for (index, connection) in (0i64..).zip(&mut connections) {
        connection.intended = match arguments.phase {
            Phase::Accept => {
                // The schedule runs since the connection was accepted.
                let passed = start.since(connection.intended).0;
                connection.intended + Nanos((passed / period + 1) * period)
            }
            Phase::Stagger => start + Nanos(index * period / count),
            Phase::Burst => start,
        };
    }
    Ok(connections)
}

fn send(connections: &mut [Connection], arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut block = vec![0x5a; arguments.size as usize];
    let mut outcome = Outcome::default();
    let period = Nanos(1_000_000_000 / i64::from(arguments.rate));
    let mut due: BinaryHeap<_> =
        (0..connections.len()).map(|index| Reverse((connections[index].intended, index))).collect();
    let started = monotonic();
    let end = started + Nanos::from_secs(i64::from(arguments.seconds));
    loop {
        let now = monotonic();
        if now >= end {
            break;
        }
        let Some(&Reverse((at, index))) = due.peek() else { break };
        if now < at {
            continue;
        }
        due.pop();
        let connection = &mut connections[index];
        match step(connection, &mut block, index as u32, arguments, &mut outcome) {
            Ok(true) => {
                connection.intended = connection.intended + period;
                due.push(Reverse((connection.intended, index)));
            }
            // Its buffer is full: the others first, then again.
            Ok(false) => due.push(Reverse((now + Nanos::from_micros(20), index))),
            Err(error) if error.is_peer_gone() => {}
            Err(error) => return Err(Failure::run("send", error)),
        }
    }
    let passed = monotonic().since(started).0;
    outcome.msgs_per_s = outcome.sent as f64 * 1e9 / passed as f64;
    finish(connections);
    Ok(outcome)
}

/// Sends one message, or the rest of one; false when there is no room.
fn step(
    connection: &mut Connection,
    block: &mut [u8],
    index: u32,
    arguments: &Arguments,
    outcome: &mut Outcome,
) -> Result<bool, taut_sys::SysError> {
    if !connection.rest.is_empty() {
        let taken = connection.socket.send(&connection.rest)?.unwrap_or(0);
        connection.rest.drain(..taken);
        if !connection.rest.is_empty() {
            outcome.would_block += 1;
            return Ok(false);
        }
    }
    let now = monotonic();
    let message = Message {
        sent_ns: now.0,
        intended_ns: connection.intended.0,
        sequence: connection.sequence,
        connection: index,
        connections: arguments.connections,
    };
    if let Some(header) = block.first_chunk_mut::<HEADER_BYTES>() {
        message.write(header);
    }
    match connection.socket.send(block)? {
        None => {
            outcome.would_block += 1;
            Ok(false)
        }
        Some(taken) => {
            connection.rest.extend_from_slice(&block[taken..]);
            connection.sequence += 1;
            outcome.sent += 1;
            outcome.lag_ns_max = outcome.lag_ns_max.max(now.since(connection.intended).0);
            Ok(true)
        }
    }
}

/// Sends what is left of the last messages, for at most a second, and ends the streams.
fn finish(connections: &mut [Connection]) {
    let end = monotonic() + Nanos::from_secs(1);
    for connection in connections {
        while !connection.rest.is_empty() && monotonic() < end {
            match connection.socket.send(&connection.rest) {
                Ok(taken) => drop(connection.rest.drain(..taken.unwrap_or(0))),
                Err(_) => break,
            }
        }
        let _ = connection.socket.shut_down_send();
    }
}
