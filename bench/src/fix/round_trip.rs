//! Round trips over loopback TCP, two threads that never sleep: sessions and bare bytes in turns.

use std::thread;

use taut_fix::{Event, FieldIndex, MemoryStore, Now, Role, Session, SimdLevel};
use taut_sys::Socket;
use taut_types::Nanos;

use crate::fix::messages::{DISTINCT, Order, encode, session, store};
use crate::ping_pong::{Answerer, failed, in_turns, send_all, streams};
use taut_report::Failure;
use taut_report::Spread;

/// Orders in flight when throughput is measured.
const WINDOW: u32 = 64;
/// Bytes of an order and of a report, the shortest of each.
const WIRE_BYTES: [usize; 2] = [174, 228];
/// A peer that says nothing for so long is gone.
const PATIENCE: Nanos = Nanos::from_secs(10);

/// What was measured.
pub struct Trips {
    pub session: Spread,
    pub bare: Spread,
    pub messages_per_second: f64,
}

fn clock() -> Now {
    Now { mono: taut_sys::monotonic(), utc: taut_sys::utc() }
}

/// A connection, its session and its buffers.
struct End {
    stream: Socket,
    session: Session<MemoryStore>,
    index: FieldIndex,
    input: Box<[u8]>,
    filled: usize,
    output: Box<[u8]>,
}

impl End {
    fn new(stream: Socket, role: Role, level: SimdLevel) -> Result<Self, Failure> {
        let mut session = session(role, level, store())?;
        session.connect(clock());
        Ok(Self {
            stream,
            session,
            index: FieldIndex::with_level(64, level),
            input: vec![0; 64 * 1024].into_boxed_slice(),
            filled: 0,
            output: vec![0; 64 * 1024].into_boxed_slice(),
        })
    }

    /// Takes what came and hands each application message to `on_message`. `false` at the end.
    fn poll(&mut self, mut on_message: impl FnMut(&mut Self)) -> Result<bool, Failure> {
        let room = self.input.get_mut(self.filled..).unwrap_or_default();
        match self.stream.receive(room).map_err(failed)? {
            None => return Ok(true),
            Some(0) => return Ok(false),
            Some(bytes) => self.filled += bytes,
        }
        let now = clock();
        let mut at = 0;
        loop {
            let bytes = self.input.get(at..self.filled).unwrap_or_default();
            let made = self.session.handle_bytes(now, bytes, &mut self.index);
            at += made.consumed;
            if matches!(made.event, Some(Event::Application { .. })) {
                on_message(self);
            }
            self.transmit(now)?;
            if made.consumed == 0 {
                break;
            }
        }
        self.input.copy_within(at..self.filled, 0);
        self.filled -= at;
        Ok(true)
    }

    fn transmit(&mut self, now: Now) -> Result<(), Failure> {
        while let Some(range) = self.session.poll_transmit(now, &mut self.output) {
            send_all(&self.stream, self.output.get(range).unwrap_or_default())?;
        }
        Ok(())
    }

    fn send(&mut self, number: u64, is_report: bool) -> Result<(), Failure> {
        let order = Order::numbered(number % DISTINCT as u64);
        let range = encode(&mut self.session, clock(), &order, is_report, &mut self.output)
            .map_err(|error| Failure::Run(format!("cannot send: {error}")))?;
        send_all(&self.stream, self.output.get(range).unwrap_or_default())
    }
}

/// Measures both kinds in turns, then throughput.
pub fn measure(round_trips: u32, level: SimdLevel) -> Result<Trips, Failure> {
    let (near, far) = streams()?;
    let (bare_near, bare_far) = streams()?;
    thread::scope(|scope| {
        let answering = scope.spawn(|| answer(End::new(far, Role::Acceptor, level)?, &bare_far));
        let measured = ask(End::new(near, Role::Initiator, level)?, &bare_near, round_trips);
        let answered = answering.join().map_err(|_| failed("the other thread died"))?;
        answered.and(measured)
    })
}

/// The acceptor: a report for each order, and bytes for bytes.
fn answer(mut end: End, bare: &Socket) -> Result<(), Failure> {
    let mut bare = Answerer::new(bare, WIRE_BYTES);
    let mut number = 0;
    loop {
        let mut result = Ok(());
        let goes_on = end.poll(|end| {
            result = end.send(number, true);
            number += 1;
        })?;
        result?;
        bare.poll()?;
        if !goes_on {
            return Ok(());
        }
    }
}

/// The initiator: one trip at a time, then many at once.
fn ask(mut end: End, bare: &Socket, round_trips: u32) -> Result<Trips, Failure> {
    let started = taut_sys::monotonic();
    end.transmit(clock())?;
    while !end.session.is_active() {
        end.poll(|_| {})?;
        if taut_sys::monotonic() - started > PATIENCE {
            return Err(failed("no answer to the Logon"));
        }
    }
    let mut number = 0;
    let [session, bare] = in_turns(bare, WIRE_BYTES, round_trips, || {
        number += 1;
        session_trip(&mut end, number)
    })?;
    let messages_per_second = throughput(&mut end, round_trips, number + 1)?;
    Ok(Trips { session, bare, messages_per_second })
}

fn session_trip(end: &mut End, number: u64) -> Result<u64, Failure> {
    let start = taut_sys::monotonic();
    end.send(number, false)?;
    let mut is_back = false;
    while !is_back {
        if !end.poll(|_| is_back = true)? {
            return Err(failed("closed by the other side"));
        }
    }
    Ok((taut_sys::monotonic() - start).0.unsigned_abs())
}

/// Orders and reports a second with a window of orders in flight.
fn throughput(end: &mut End, count: u32, mut number: u64) -> Result<f64, Failure> {
    let start = taut_sys::monotonic();
    let (mut sent, mut back) = (0, 0);
    while back < count {
        while sent < count && sent - back < WINDOW {
            end.send(number, false)?;
            number += 1;
            sent += 1;
        }
        if !end.poll(|_| back += 1)? {
            return Err(failed("closed by the other side"));
        }
    }
    let span = taut_sys::monotonic() - start;
    Ok(f64::from(count) * 2.0 / (span.0 as f64 / 1e9))
}
