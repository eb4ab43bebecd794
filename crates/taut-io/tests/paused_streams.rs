//! Streams that are paused with bytes that have arrived already, on io_uring: hundreds of them hold
//! nothing that the others need.
#![forbid(unsafe_code)]

use taut_io::{
    Completion, EventLoop, Handle, Io, LoopConfig, Operation, UringKernel, WaitStrategy,
};
use taut_sys::Socket;
use taut_types::Nanos;

const PAUSED: usize = 200;
const SOURCES: usize = PAUSED + 1;
const BYTES: usize = 128 * 1024;

/// What is sent: any two parts of it that change places are noticed.
fn text(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 1000) as u8).collect()
}

#[test]
fn hundreds_of_paused_streams_starve_nobody_and_lose_nothing() {
    let kernel = match UringKernel::new(SOURCES) {
        Ok(kernel) => kernel,
        Err(refused) => return println!("skipped: {refused}"),
    };
    let config = LoopConfig { sources_max: SOURCES, ..LoopConfig::default() };
    let mut events = EventLoop::new(kernel, config).unwrap();
    let adopt = |events: &mut EventLoop<UringKernel>| {
        let (near, far) = Socket::pair().unwrap();
        (events.io().adopt(near).unwrap(), far)
    };
    let pairs: Vec<(Handle, Socket)> = (0..PAUSED).map(|_| adopt(&mut events)).collect();
    let (live, live_far) = adopt(&mut events);
    let sent: Vec<usize> =
        pairs.iter().map(|(_, far)| far.send(&text(BYTES)).unwrap().unwrap()).collect();
    let mut received = vec![Vec::new(); PAUSED];
    let place = |stream| pairs.iter().position(|(near, _)| *near == stream).unwrap();

    // Each is paused at its first bytes, when more has arrived behind them.
    pairs.iter().for_each(|(near, _)| events.io().receive(*near).unwrap());
    let mut cancelled = 0;
    let mut pause = |io: &mut Io<UringKernel>, completion: Completion<'_>| match completion {
        Completion::Received { stream, bytes } => {
            received[place(stream)].extend_from_slice(bytes);
            io.cancel(stream, Operation::Receive).unwrap();
        }
        Completion::Failed { .. } => {
            cancelled += 1;
            if cancelled == PAUSED {
                io.stop();
            }
        }
        _ => {}
    };
    events.run_for(&mut pause, WaitStrategy::Block, Nanos::from_secs(5)).unwrap();
    assert_eq!(cancelled, PAUSED);
    assert!(received.iter().zip(&sent).any(|(received, sent)| received.len() < *sent));

    live_far.send(b"for the one that goes on").unwrap();
    events.io().receive(live).unwrap();
    let mut has_received = false;
    let mut live_only = |io: &mut Io<UringKernel>, completion: Completion<'_>| {
        has_received |= matches!(completion, Completion::Received { stream, .. } if stream == live);
        io.stop();
    };
    events.run_for(&mut live_only, WaitStrategy::Block, Nanos::from_millis(500)).unwrap();
    assert!(has_received, "the paused ones hold every buffer");

    pairs.iter().for_each(|(near, _)| events.io().receive(*near).unwrap());
    let mut left: usize = sent.iter().sum::<usize>() - received.iter().map(Vec::len).sum::<usize>();
    let mut go_on = |io: &mut Io<UringKernel>, completion: Completion<'_>| {
        if let Completion::Received { stream, bytes } = completion {
            received[place(stream)].extend_from_slice(bytes);
            left -= bytes.len();
        }
        if left == 0 {
            io.stop();
        }
    };
    events.run_for(&mut go_on, WaitStrategy::Block, Nanos::from_secs(5)).unwrap();
    for (received, sent) in received.iter().zip(&sent) {
        assert!(*received == text(*sent), "{} of {sent}", received.len());
    }
}
