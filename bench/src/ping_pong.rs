//! The bare ping-pong that a protocol is measured beside: loopback streams, two threads that never
//! sleep, as many bytes there and back as the protocol's own.

use std::net::Ipv4Addr;

use taut_sys::{Address, Socket, StreamOptions, monotonic};

use taut_report::Failure;
use taut_report::terminal::print;
use taut_report::{Latency, Spread};

/// Turns between the protocol and the bare bytes.
const TURNS: u32 = 8;
/// More than either way has.
const BUFFER_BYTES: usize = 1024;

/// A failure of a connection.
pub fn failed(cause: impl std::fmt::Display) -> Failure {
    Failure::run("the benchmark's connection", cause)
}

/// Two connected streams.
pub fn streams() -> Result<(Socket, Socket), Failure> {
    let (at, options) = ((Ipv4Addr::LOCALHOST, 0).into(), StreamOptions::default());
    let listener = Socket::listen(&Address::Inet(at), &options).map_err(failed)?;
    let at = listener.local_address().map_err(failed)?;
    let (near, _) = Socket::connect(&at, &options).map_err(failed)?;
    loop {
        if let Some((far, _)) = listener.accept().map_err(failed)? {
            far.apply(&options).map_err(failed)?;
            return Ok((near, far));
        }
    }
}

/// Sends all of it, however often the kernel must be asked.
pub fn send_all(stream: &Socket, mut bytes: &[u8]) -> Result<(), Failure> {
    while !bytes.is_empty() {
        let sent = stream.send(bytes).map_err(failed)?.unwrap_or(0);
        bytes = bytes.get(sent..).unwrap_or_default();
    }
    Ok(())
}

/// Trips of the protocol and bare trips of as many bytes, turn by turn.
pub fn in_turns(
    bare: &Socket,
    bytes: [usize; 2],
    round_trips: u32,
    mut trip: impl FnMut() -> Result<u64, Failure>,
) -> Result<[Spread; 2], Failure> {
    let mut spreads = [Latency::new(), Latency::new()];
    // The first turn warms up and is not counted.
    for turn in 0..=TURNS {
        for at in 0..2 * (round_trips / TURNS) {
            let is_bare = at >= round_trips / TURNS;
            let ns = if is_bare { bare_trip(bare, bytes)? } else { trip()? };
            if turn > 0 {
                spreads[usize::from(is_bare)].record(ns);
            }
        }
    }
    let [ours, bare] = spreads.each_mut().map(Latency::spread);
    ours.zip(bare)
        .map(|(ours, bare)| [ours, bare])
        .ok_or_else(|| Failure::Run("no round trip was measured".to_owned()))
}

/// A trip of so many bytes there and back, in nanoseconds.
fn bare_trip(stream: &Socket, [there, back]: [usize; 2]) -> Result<u64, Failure> {
    let mut buffer = [0; BUFFER_BYTES];
    let start = monotonic();
    send_all(stream, buffer.get(..there).unwrap_or_default())?;
    let mut got = 0;
    while got < back {
        got += stream.receive(&mut buffer).map_err(failed)?.unwrap_or(0);
    }
    Ok((monotonic() - start).0.unsigned_abs())
}

/// The other end of bare trips.
pub struct Answerer<'s> {
    stream: &'s Socket,
    bytes: [usize; 2],
    got: usize,
}

impl<'s> Answerer<'s> {
    /// It answers so many bytes with so many.
    pub const fn new(stream: &'s Socket, bytes: [usize; 2]) -> Self {
        Self { stream, bytes, got: 0 }
    }

    /// Takes what came, and answers when that is all.
    pub fn poll(&mut self) -> Result<(), Failure> {
        let mut buffer = [0; BUFFER_BYTES];
        let [there, back] = self.bytes;
        if let Some(bytes) = self.stream.receive(&mut buffer).map_err(failed)? {
            self.got += bytes;
            if self.got >= there {
                self.got -= there;
                send_all(self.stream, buffer.get(..back).unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

/// A line for people.
pub fn print_trips(name: &str, s: &Spread) -> Result<(), Failure> {
    print(format_args!(
        "{name:28} min {:7} p50 {:7} p99 {:7} p99.9 {:7} max {:8} ns, {} trips",
        s.min, s.p50, s.p99, s.p999, s.max, s.count
    ))
}
