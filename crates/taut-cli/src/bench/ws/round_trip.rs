//! Round trips over loopback TCP, two threads that never sleep: WebSocket and bare bytes in turns.

use std::net::Ipv4Addr;
use std::thread;

use taut_sys::{Address, Socket, StreamOptions, monotonic};
use taut_ws::{Connection, Event};

use crate::bench::ws::codec;
use crate::bench::ws::texts::PAYLOAD_BYTES;
use crate::channel::latency::Latency;
use crate::exit::Failure;

/// Turns between WebSocket and bare bytes.
const TURNS: u32 = 8;
/// What a frame of this length is on the wire: to the server (masked), and back.
const WIRE_BYTES: [usize; 2] = [PAYLOAD_BYTES + 8, PAYLOAD_BYTES + 4];

/// What was measured.
pub struct Trips {
    pub ws: Latency,
    pub bare: Latency,
}

fn failed(cause: impl std::fmt::Display) -> Failure {
    Failure::run("the benchmark's connection", cause)
}

/// A stream, its connection and its buffer.
struct End {
    stream: Socket,
    connection: Connection,
    input: Box<[u8]>,
}

impl End {
    fn new(stream: Socket, connection: Connection) -> Self {
        Self { stream, connection, input: vec![0; 64 * 1024].into_boxed_slice() }
    }

    fn send(&mut self, text: &str) -> Result<(), Failure> {
        self.connection.outbox().text(text).map_err(failed)?;
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Failure> {
        send_all(&self.stream, self.connection.poll_transmit())?;
        let sent = self.connection.poll_transmit().len();
        self.connection.transmitted(sent);
        Ok(())
    }

    /// Takes what came; texts are sent back if this end echoes. How many there were, or `None` at
    /// the end.
    fn poll(&mut self, echoes: bool) -> Result<Option<u32>, Failure> {
        let got = match self.stream.receive(&mut self.input).map_err(failed)? {
            None => return Ok(Some(0)),
            Some(0) => return Ok(None),
            Some(got) => got,
        };
        let now = monotonic();
        let (mut at, mut texts) = (0, 0);
        while at < got {
            let bytes = self.input.get_mut(at..got).unwrap_or_default();
            let handled = self.connection.handle_bytes_mut(now, bytes);
            at += handled.consumed;
            if let Some(Event::Text(text)) = handled.event {
                texts += 1;
                if echoes {
                    handled.outbox.text(text).map_err(failed)?;
                }
            }
        }
        self.flush()?;
        Ok(Some(texts))
    }
}

fn send_all(stream: &Socket, mut bytes: &[u8]) -> Result<(), Failure> {
    while !bytes.is_empty() {
        let sent = stream.send(bytes).map_err(failed)?.unwrap_or(0);
        bytes = bytes.get(sent..).unwrap_or_default();
    }
    Ok(())
}

/// Two connected streams.
fn streams() -> Result<(Socket, Socket), Failure> {
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

/// Measures both kinds in turns.
pub fn measure(texts: &[String], round_trips: u32) -> Result<Trips, Failure> {
    let (near, far) = streams()?;
    let (bare_near, bare_far) = streams()?;
    let (client, server) = codec::pair()?;
    thread::scope(|scope| {
        let answering = scope.spawn(|| answer(End::new(far, server), &bare_far));
        let measured = ask(End::new(near, client), bare_near, texts, round_trips);
        let answered = answering.join().map_err(|_| failed("the other thread died"))?;
        answered.and(measured)
    })
}

/// The server: a text for a text, and bytes for bytes.
fn answer(mut end: End, bare: &Socket) -> Result<(), Failure> {
    let mut buffer = [0; 1024];
    let [there, back] = WIRE_BYTES;
    let mut bare_bytes = 0;
    while end.poll(true)?.is_some() {
        if let Some(bytes) = bare.receive(&mut buffer).map_err(failed)? {
            bare_bytes += bytes;
            if bare_bytes >= there {
                bare_bytes -= there;
                send_all(bare, buffer.get(..back).unwrap_or_default())?;
            }
        }
    }
    Ok(())
}

/// The client: one trip at a time. Its streams close when it is done, and the server ends.
fn ask(mut end: End, bare: Socket, texts: &[String], round_trips: u32) -> Result<Trips, Failure> {
    let mut trips = Trips { ws: Latency::new(), bare: Latency::new() };
    // The first turn warms up and is not counted.
    for turn in 0..=TURNS {
        for text in texts.iter().cycle().take((round_trips / TURNS) as usize) {
            let trip = ws_trip(&mut end, text)?;
            if turn > 0 {
                trips.ws.record(trip);
            }
        }
        for _ in 0..round_trips / TURNS {
            let trip = bare_trip(&bare)?;
            if turn > 0 {
                trips.bare.record(trip);
            }
        }
    }
    Ok(trips)
}

fn ws_trip(end: &mut End, text: &str) -> Result<u64, Failure> {
    let start = monotonic();
    end.send(text)?;
    while end.poll(false)?.ok_or_else(|| failed("closed by the other side"))? == 0 {}
    Ok((monotonic() - start).0.unsigned_abs())
}

fn bare_trip(bare: &Socket) -> Result<u64, Failure> {
    let [there, back] = WIRE_BYTES;
    let mut buffer = [0; 1024];
    let start = monotonic();
    send_all(bare, buffer.get(..there).unwrap_or_default())?;
    let mut got = 0;
    while got < back {
        got += bare.receive(&mut buffer).map_err(failed)?.unwrap_or(0);
    }
    Ok((monotonic() - start).0.unsigned_abs())
}
