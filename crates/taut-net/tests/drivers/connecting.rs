//! Names, addresses in turn, deadlines.

use std::net::SocketAddr;
use std::sync::Mutex;

use taut_io::{Admission, Completion, IoError, Kernel};
use taut_net::{Connecting, Connector, NetError, Target, tcp};
use taut_sys::StreamOptions;
use taut_types::Nanos;

use crate::rig::{at, events, finish, patience, until};

/// A port that nobody listens at: it is reserved, and below those that the kernel gives out.
const NOBODY: u16 = 1;

fn name(port: u16) -> Target {
    Target::parse(&format!("venue.invalid:{port}")).expect("a target")
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

pub fn a_name_is_looked_up_and_its_addresses_are_tried_in_turn<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    let io = events.io();
    let listener =
        io.listen(&at("127.0.0.1:0"), &StreamOptions::default(), &Admission::OPEN).unwrap();
    let port = io.local_address(listener).unwrap().port();
    let deadline = io.now() + patience();
    let lookup = |host: &str, port| {
        assert_eq!(host, "venue.invalid");
        Ok(vec![local(NOBODY), SocketAddr::from(([127, 0, 0, 3], NOBODY)), local(port)])
    };
    let options = StreamOptions::default();
    let mut connector = Connector::start_with(io, &name(port), &options, deadline, lookup).unwrap();
    let stream = finish(&mut events, &mut connector).expect("the third address answers");
    let peer = events.io().peer_address(stream).unwrap().and_then(|peer| peer.inet());
    assert_eq!(peer, Some(local(port)));
}

pub fn localhost_is_found_by_the_systems_resolver<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    let io = events.io();
    let listener =
        io.listen(&at("127.0.0.1:0"), &StreamOptions::default(), &Admission::OPEN).unwrap();
    let port = io.local_address(listener).unwrap().port();
    let deadline = io.now() + patience();
    let target = Target::parse(&format!("localhost:{port}")).unwrap();
    let options = StreamOptions::default();
    let mut connector = Connector::start(io, &target, &options, deadline).unwrap();
    finish(&mut events, &mut connector).expect("localhost");
}

pub fn a_name_without_an_address_fails_by_name<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    let deadline = events.io().now() + patience();
    let options = StreamOptions::default();
    for lookup in [|_: &str, _| Ok(Vec::new()), |_: &str, _| Err(std::io::Error::other("no"))] {
        let connector = Connector::start_with(events.io(), &name(80), &options, deadline, lookup);
        let failed = finish(&mut events, &mut connector.unwrap());
        assert_eq!(failed, Err(NetError::UnknownName));
    }
    // An address of the other family than the one to start from is none.
    let options = StreamOptions { local: Some("[::1]:0".parse().unwrap()), ..options };
    let lookup = |_: &str, port| Ok(vec![local(port)]);
    let connector = Connector::start_with(events.io(), &name(80), &options, deadline, lookup);
    assert_eq!(finish(&mut events, &mut connector.unwrap()), Err(NetError::UnknownName));
}

pub fn every_address_refused_fails_with_the_last_refusal<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    let deadline = events.io().now() + patience();
    let lookup = |_: &str, _| Ok(vec![local(NOBODY), local(NOBODY)]);
    let options = StreamOptions::default();
    let connector = Connector::start_with(events.io(), &name(80), &options, deadline, lookup);
    match finish(&mut events, &mut connector.unwrap()) {
        Err(NetError::Io(IoError::System(error))) => assert!(error.is_peer_gone(), "{error}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(events.io().source_count(), 0);
}

pub fn a_resolver_that_hangs_holds_nobody_up_and_ends_at_the_deadline<K: Kernel>(kernel: K) {
    static HANGS: Mutex<()> = Mutex::new(());
    let guard = HANGS.lock().unwrap();
    let mut events = events(kernel);
    let io = events.io();
    let now = io.now();
    let lookup = |_: &str, port| {
        drop(HANGS.lock());
        Ok(vec![local(port)])
    };
    let deadline = now + Nanos::from_millis(30);
    let options = StreamOptions::default();
    let mut connector = Connector::start_with(io, &name(80), &options, deadline, lookup).unwrap();
    let tick = Nanos::from_millis(1);
    let ticking = events.io().timer_every(now + tick, tick, 7).unwrap();
    let mut ticks = 0;
    until(&mut events, "the deadline", |io, completion| {
        if let Completion::Timer { token: 7, missed, .. } = completion {
            ticks += 1 + missed;
        }
        match connector.handle(io, completion) {
            Connecting::Failed(error) => {
                assert_eq!(error, NetError::Io(IoError::TimedOut));
                assert!(io.now() >= deadline);
                true
            }
            _ => false,
        }
    });
    assert!(ticks >= 20, "the loop went on meanwhile: {ticks}");
    events.io().cancel_timer(ticking);
    drop(guard);
}

pub fn a_given_up_connection_leaves_nothing_behind<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    let deadline = events.io().now() + patience();
    let options = StreamOptions::default();
    let lookup = |_: &str, port| Ok(vec![local(port)]);
    let mut by_name =
        Connector::start_with(events.io(), &name(80), &options, deadline, lookup).unwrap();
    by_name.cancel(events.io());
    let listener = events.io().listen(&at("127.0.0.1:0"), &options, &Admission::OPEN).unwrap();
    let to = Target::from(events.io().local_address(listener).unwrap());
    let mut by_address = Connector::start(events.io(), &to, &options, deadline).unwrap();
    by_address.cancel(events.io());
    events.io().close(listener).unwrap();
    let mut closed = 0;
    until(&mut events, "both are closed", |io, completion| {
        assert_eq!(by_name.handle(io, completion), Connecting::NotMine);
        assert_eq!(by_address.handle(io, completion), Connecting::NotMine);
        if let Completion::Accepted { stream, .. } = completion {
            io.close(*stream).unwrap();
        }
        closed += usize::from(matches!(completion, Completion::Closed { .. }));
        closed >= 2 && io.source_count() == 0
    });
}

pub fn a_dual_stack_listener_takes_both_families<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    let options = StreamOptions { ipv6_only: false, ..StreamOptions::default() };
    let listener = events.io().listen(&at("[::]:0"), &options, &Admission::OPEN).unwrap();
    let port = events.io().local_address(listener).unwrap().port();
    for host in ["127.0.0.1", "[::1]"] {
        let target = Target::parse(&format!("{host}:{port}")).unwrap();
        let deadline = events.io().now() + patience();
        let options = StreamOptions::default();
        let mut connector = Connector::start(events.io(), &target, &options, deadline).unwrap();
        finish(&mut events, &mut connector).expect(host);
    }
}

pub fn a_smaller_buffer_than_asked_is_noticed<K: Kernel>(kernel: K) {
    let mut events = events(kernel);
    let io = events.io();
    let options = tcp::order_session(Nanos::from_secs(7));
    let options = StreamOptions { receive_buffer_bytes: Some(32_768), ..options };
    let listener = io.listen(&at("127.0.0.1:0"), &options, &Admission::OPEN).unwrap();
    let granted = tcp::check_buffers(io, listener, None, Some(32_768)).expect("granted");
    assert_eq!(granted.receive_buffer_bytes, 32_768);
    let asked = 1 << 40;
    match tcp::check_buffers(io, listener, None, Some(asked)) {
        Err(NetError::LessBuffer { asked: 0x100_0000_0000, granted: 32_768 }) => {}
        other => panic!("{other:?}"),
    }
}
