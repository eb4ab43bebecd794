//! Round trips over loopback TCP, two threads that never sleep: WebSocket and bare bytes in turns.

use std::thread;

use taut_sys::{Socket, monotonic};
use taut_ws::{Connection, Event};

use crate::ping_pong::{Answerer, failed, in_turns, send_all, streams};
use crate::ws::codec;
use crate::ws::texts::PAYLOAD_BYTES;
use taut_report::Failure;
use taut_report::Spread;

/// What a frame of this length is on the wire: to the server (masked), and back.
const WIRE_BYTES: [usize; 2] = [PAYLOAD_BYTES + 8, PAYLOAD_BYTES + 4];

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

/// Measures both kinds in turns: WebSocket, and bare TCP.
pub fn measure(texts: &[String], round_trips: u32) -> Result<[Spread; 2], Failure> {
    let (near, far) = streams()?;
    let (bare_near, bare_far) = streams()?;
    let (client, server) = codec::pair()?;
    thread::scope(|scope| {
        let answering = scope.spawn(|| answer(End::new(far, server), &bare_far));
        let measured = ask(End::new(near, client), &bare_near, texts, round_trips);
        let answered = answering.join().map_err(|_| failed("the other thread died"))?;
        answered.and(measured)
    })
}

/// The server: a text for a text, and bytes for bytes.
fn answer(mut end: End, bare: &Socket) -> Result<(), Failure> {
    let mut bare = Answerer::new(bare, WIRE_BYTES);
    while end.poll(true)?.is_some() {
        bare.poll()?;
    }
    Ok(())
}

/// The client: one trip at a time. Its streams close when it is done, and the server ends.
fn ask(
    mut end: End,
    bare: &Socket,
    texts: &[String],
    round_trips: u32,
) -> Result<[Spread; 2], Failure> {
    let mut texts = texts.iter().cycle();
    in_turns(bare, WIRE_BYTES, round_trips, || {
        ws_trip(&mut end, texts.next().map_or("", String::as_str))
    })
}

fn ws_trip(end: &mut End, text: &str) -> Result<u64, Failure> {
    let start = monotonic();
    end.send(text)?;
    while end.poll(false)?.ok_or_else(|| failed("closed by the other side"))? == 0 {}
    Ok((monotonic() - start).0.unsigned_abs())
}
