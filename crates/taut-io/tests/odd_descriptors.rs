//! Descriptors that are not what a loop likes best: shared with somebody else, whose reads stop
//! short, whose every receive fails; and tables that are full.
#![forbid(unsafe_code)]

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use taut_io::{
    Admission, Completion, EpollKernel, EventLoop, Handle, Io, IoError, Kernel, LoopConfig,
    Operation, SimConfig, SimKernel, UringKernel, WaitStrategy,
};
use taut_sys::{Address, ControlSocket, Socket, StreamOptions};
use taut_types::Nanos;

const SOURCES: usize = 8;
const CONFIG: LoopConfig = LoopConfig {
    sources_max: SOURCES,
    timers_max: 1,
    posts_max: 8,
    write_bytes_max: 4096,
    writes_max: 8,
    receives_per_visit: 4,
    completions_per_turn: 256,
};

fn adopt<K: Kernel>(events: &mut EventLoop<K>, fd: impl Into<OwnedFd>) -> Handle {
    events.io().adopt(Socket::adopt(fd.into()).unwrap()).unwrap()
}

/// Looks without waiting until a look finds nothing.
fn settle<K: Kernel>(events: &mut EventLoop<K>) {
    while events.poll(&mut |_: &mut Io<K>, _: Completion<'_>| {}).unwrap() > 0 {}
}

fn receives_all_that_waits<K: Kernel>(kernel: K) {
    let mut events = EventLoop::new(kernel, CONFIG).unwrap();
    // Each read takes one message, however much room there is.
    let (near, far) = ControlSocket::pair().unwrap();
    far.send(b"one ", &[]).unwrap();
    far.send(b"two", &[]).unwrap();
    let near = adopt(&mut events, near);
    events.io().receive(near).unwrap();
    let mut received = Vec::new();
    let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
        if let Completion::Received { bytes, .. } = completion {
            received.extend_from_slice(bytes);
        }
        if received.len() == 7 {
            io.stop();
        }
    };
    events.run_for(&mut handler, WaitStrategy::Block, Nanos::from_millis(500)).unwrap();
    assert_eq!(String::from_utf8_lossy(&received), "one two");
}

#[test]
fn what_a_short_read_left_behind_is_received_without_another_arrival() {
    receives_all_that_waits(EpollKernel::new(SOURCES).unwrap());
    match UringKernel::new(SOURCES) {
        Ok(kernel) => receives_all_that_waits(kernel),
        Err(refused) => println!("skipped: {refused}"),
    }
}

#[test]
fn a_descriptor_that_somebody_else_holds_too_is_not_heard_of_after_its_close() {
    let mut events = EventLoop::new(EpollKernel::new(SOURCES).unwrap(), CONFIG).unwrap();
    let (near, mut far) = UnixStream::pair().unwrap();
    let shared = near.try_clone().unwrap();
    let near = adopt(&mut events, near);
    settle(&mut events);
    events.io().close(near).unwrap();
    settle(&mut events);
    // Another source has its place now, and must not be told what happens to it.
    let (other, _end) = UnixStream::pair().unwrap();
    assert_eq!(adopt(&mut events, other).index(), near.index());
    settle(&mut events);
    let before = events.io().calls().io;
    far.write_all(b"for the other holder").unwrap();
    settle(&mut events);
    assert_eq!(events.io().calls().io, before, "nothing happened to a source of this loop");
    drop(shared);
}

#[test]
fn a_datagram_socket_whose_every_receive_fails_does_not_hold_the_turn() {
    let mut events = EventLoop::new(EpollKernel::new(SOURCES).unwrap(), CONFIG).unwrap();
    let (read, write) = Socket::pipe().unwrap();
    write.send(b"no datagram").unwrap();
    let socket = events.io().adopt_datagram(read, false).unwrap();
    events.io().receive(socket).unwrap();
    let mut failures = 0;
    let mut handler = |_: &mut Io<EpollKernel>, completion: Completion<'_>| {
        assert!(matches!(completion, Completion::Failed { .. }), "{completion:?}");
        failures += 1;
        assert!(failures <= 10 * CONFIG.completions_per_turn, "the turn has no end");
    };
    events.poll(&mut handler).unwrap();
    assert!(failures >= 1);
}

#[test]
fn draining_closes_what_no_timer_is_left_for() {
    let mut events = EventLoop::new(EpollKernel::new(SOURCES).unwrap(), CONFIG).unwrap();
    let (near, _far) = UnixStream::pair().unwrap();
    adopt(&mut events, near);
    events.io().timer_at(Nanos::MAX, 0).unwrap();
    let soon = events.io().now() + Nanos::from_secs(1);
    events.io().drain(soon);
    settle(&mut events);
    assert_eq!(events.io().source_count(), 0);
}

#[test]
fn a_deadline_that_is_set_behind_a_cancel_holds() {
    let config = LoopConfig { timers_max: 4, ..CONFIG };
    let mut events = EventLoop::new(EpollKernel::new(SOURCES).unwrap(), config).unwrap();
    let (near, _far) = UnixStream::pair().unwrap();
    let near = adopt(&mut events, near);
    let io = events.io();
    io.receive(near).unwrap();
    io.cancel(near, Operation::Receive).unwrap();
    io.receive(near).unwrap();
    let soon = taut_sys::monotonic() + Nanos::from_millis(5);
    io.set_receive_deadline(near, Some(soon)).unwrap();
    let mut errors = Vec::new();
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        if let Completion::Failed { error, .. } = completion {
            errors.push(error);
        }
        if errors.len() == 2 {
            io.stop();
        }
    };
    events.run_for(&mut handler, WaitStrategy::Block, Nanos::from_millis(500)).unwrap();
    assert_eq!(errors, [IoError::Cancelled, IoError::TimedOut]);
}

#[test]
fn connections_that_break_while_they_wait_hold_up_none_behind_them() {
    const CONNECTIONS: usize = 100;
    for (seed, aborted_per_mille) in [(1, 300), (2, 900)] {
        let sim = SimConfig { seed, aborted_per_mille, ..SimConfig::default() };
        let config = LoopConfig { sources_max: 3 * CONNECTIONS, timers_max: 4, ..CONFIG };
        let kernel = SimKernel::new(config.sources_max, sim);
        let mut events = EventLoop::new(kernel, config).unwrap();
        let at = Address::Inet("127.0.0.1:7000".parse().unwrap());
        events.io().listen(&at, &StreamOptions::default(), &Admission::OPEN).unwrap();
        for _ in 0..CONNECTIONS {
            events.io().connect(&at, &StreamOptions::default(), None).unwrap();
        }
        let (mut accepted, mut connected, mut broken) = (0, 0, 0);
        let mut handler = |_: &mut Io<SimKernel>, completion: Completion<'_>| match completion {
            Completion::Accepted { .. } => accepted += 1,
            Completion::Connected { .. } => connected += 1,
            Completion::Failed { operation: Operation::Connect, .. } => broken += 1,
            Completion::Closed { .. } => {}
            other => panic!("{other:?}"),
        };
        let span = Nanos::from_millis(10);
        events.run_for(&mut handler, WaitStrategy::Block, span).unwrap();
        assert_eq!((accepted, connected + broken), (connected, CONNECTIONS));
        assert!(connected > 0 && broken > 0);
    }
}
