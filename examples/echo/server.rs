//! Sends back whatever comes, on as many connections as come: one thread, one loop.
//!
//! usage: `echo-server [ADDRESS:PORT]`

use std::error::Error;
use std::process::ExitCode;

use taut::io::{Admission, Completion, EpollKernel, EventLoop, Io, LoopConfig, WaitStrategy};
use taut::prelude::Nanos;
use taut::sys::{Address, StreamOptions, catch_stop_signals, stop_requests};
use taut_examples::told;

const LOOK: Nanos = Nanos::from_millis(50);
const CONNECTIONS_MAX: usize = 1024;

fn main() -> ExitCode {
    told(run())
}

fn run() -> Result<(), Box<dyn Error>> {
    let at = std::env::args().nth(1);
    let at = Address::Inet(at.as_deref().unwrap_or("127.0.0.1:19895").parse()?);
    let sizes = LoopConfig { sources_max: CONNECTIONS_MAX, ..LoopConfig::default() };
    let mut events = EventLoop::new(EpollKernel::new(CONNECTIONS_MAX)?, sizes)?;
    let io = events.io();
    // There is no handshake to wait for: whoever connects is served, from one address half of all.
    let admission = Admission {
        connections_max: CONNECTIONS_MAX - 1,
        per_source_max: CONNECTIONS_MAX / 2,
        handshake_timeout: None,
    };
    let listener = io.listen(&at, &StreamOptions::default(), &admission)?;
    println!("listening on {}", io.local_address(listener)?);

    catch_stop_signals()?;
    // A signal alone wakes no loop: a timer looks whether one came.
    io.timer_every(io.now() + LOOK, LOOK, 0)?;
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| match completion {
        Completion::Accepted { stream, .. } => {
            let _ = io.receive(stream);
        }
        Completion::Received { stream, bytes } => {
            let written = io.write(stream, bytes, None);
            // Refused: a peer that does not read what it gets back has filled its share of memory.
            let _ = written.or_else(|_| io.close(stream));
        }
        Completion::Ended { stream } => {
            let deadline = io.now() + Nanos::from_secs(1);
            let _ = io.close_gracefully(stream, deadline);
        }
        Completion::Timer { .. } if stop_requests() > 0 => io.stop(),
        _ => {}
    };
    events.run(&mut handler, WaitStrategy::Block)?;
    Ok(())
}
