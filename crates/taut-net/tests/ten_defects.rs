//! The ten defects that were reproduced in another event loop for trading, each as a test of its
//! own through the public surface. (What is tested in more depth elsewhere: `taut-sys` for options
//! and buffers, the conformance suite of `taut-io` for every kernel.)
#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

use taut_io::{
    Admission, Completion, EpollKernel, EventLoop, Handle, Io, IoError, LoopConfig, Operation,
    WaitStrategy,
};
use taut_net::{Connecting, Connector, Feed, FeedSender, Target};
use taut_sys::{
    Address, DatagramOptions, Interface, MirroredBuffer, Socket, StreamOptions, interfaces,
};
use taut_testkit::{Deadline, Random};
use taut_types::Nanos;

type Epoll = Io<EpollKernel>;

const SOURCES: usize = 64;
const PATIENCE: Nanos = Nanos::from_secs(20);
const PAGE: usize = 4096;

fn events() -> EventLoop<EpollKernel> {
    let config = LoopConfig { sources_max: SOURCES, ..LoopConfig::default() };
    EventLoop::new(EpollKernel::new(SOURCES).unwrap(), config).unwrap()
}

fn at(text: &str) -> Address {
    Address::Inet(text.parse().unwrap())
}

/// Runs until `step` says that it is done.
fn until(
    events: &mut EventLoop<EpollKernel>,
    mut step: impl FnMut(&mut Epoll, &Completion<'_>) -> bool,
) {
    let mut done = false;
    let mut handler = |io: &mut Epoll, completion: Completion<'_>| {
        done |= step(io, &completion);
        if done {
            io.stop();
        }
    };
    events.run_for(&mut handler, WaitStrategy::Block, PATIENCE).unwrap();
    assert!(done, "not in time");
}

/// Two connected streams that receive, and the peer's address as the accepting end saw it.
fn pair(
    events: &mut EventLoop<EpollKernel>,
    listen: &Address,
    options: &StreamOptions,
) -> (Handle, Handle, Address) {
    let listener = events.io().listen(listen, &StreamOptions::default(), &Admission::OPEN).unwrap();
    let bound = events.io().local_address(listener).unwrap().inet().unwrap();
    let host: IpAddr = match (bound.ip().is_unspecified(), bound.is_ipv4()) {
        (true, true) => IpAddr::from([127, 0, 0, 1]),
        (true, false) => "::1".parse().unwrap(),
        (false, _) => bound.ip(),
    };
    let target = Target::from(Address::Inet(SocketAddr::new(host, bound.port())));
    let deadline = events.io().now() + PATIENCE;
    let mut connector = Connector::start(events.io(), &target, options, deadline).unwrap();
    let (mut near, mut far) = (None, None);
    until(events, |io, completion| {
        match connector.handle(io, completion) {
            Connecting::Connected(stream) => near = Some(stream),
            Connecting::Failed(error) => panic!("{error}"),
            Connecting::Underway | Connecting::NotMine => {}
        }
        if let Completion::Accepted { stream, peer, .. } = completion {
            far = Some((*stream, *peer));
        }
        near.is_some() && far.is_some()
    });
    let (near, (far, peer)) = (near.unwrap(), far.unwrap());
    events.io().receive(near).unwrap();
    events.io().receive(far).unwrap();
    events.io().close(listener).unwrap();
    (near, far, peer)
}

/// An interface that takes multicast, with an IPv4 or IPv6 address.
fn multicast_interface(ipv6: bool) -> Option<(Interface, IpAddr)> {
    let is_wanted = |at: &IpAddr| match at {
        IpAddr::V4(_) => !ipv6,
        IpAddr::V6(at) => ipv6 && !at.is_unicast_link_local(),
    };
    let found = interfaces().unwrap().into_iter().find_map(|interface| {
        let at = interface.addresses.iter().copied().find(is_wanted)?;
        interface.multicast.then_some((interface, at))
    });
    if found.is_none() {
        println!("skipped: no multicast interface, ipv6 {ipv6}");
    }
    found
}

#[test]
fn defect_01_a_mirrored_buffer_of_any_page_count_keeps_what_was_committed() {
    let mut ring = MirroredBuffer::new(3 * PAGE).unwrap();
    let first = ring.claim().as_ptr();
    ring.claim()[..PAGE].fill(1);
    ring.commit(PAGE);
    assert_ne!(ring.claim().as_ptr(), first);
    ring.claim()[..PAGE].fill(2);
    assert!(ring.committed().iter().all(|byte| *byte == 1));
    for pages in 1..=17 {
        let mut ring = MirroredBuffer::new(pages * PAGE).unwrap();
        let (mut written, mut read, mut random) = (0u64, 0u64, Random::with_seed(7));
        for _ in 0..200 {
            let count = random.usize(..=ring.free());
            for byte in &mut ring.claim()[..count] {
                *byte = (written % 251) as u8;
                written += 1;
            }
            ring.commit(count);
            let taken = random.usize(..=ring.len());
            for byte in &ring.committed()[..taken] {
                assert_eq!(u64::from(*byte), read % 251, "{pages} pages");
                read += 1;
            }
            ring.consume(taken);
        }
    }
}

#[test]
fn defect_02_a_posted_handler_posts_again_in_a_later_turn_and_a_panic_is_not_swallowed() {
    let mut events = events();
    events.io().post(&[1; 7]).unwrap();
    let mut seen = Vec::new();
    for turn in 1..=2u64 {
        let mut handler = |io: &mut Epoll, completion: Completion<'_>| {
            let Completion::Posted { payload } = completion else { panic!("{completion:?}") };
            seen.push(payload[0]);
            if payload[0] == 1 {
                io.post(&[2; 7]).unwrap();
            }
        };
        assert_eq!(events.poll(&mut handler), Ok(1), "turn {turn}");
    }
    assert_eq!(seen, [1, 2]);
    // One that always posts again starves no stream.
    let (near, far, _) = pair(&mut events, &at("127.0.0.1:0"), &StreamOptions::default());
    events.io().write(near, b"tick", None).unwrap();
    events.io().post(&[3; 7]).unwrap();
    until(&mut events, |io, completion| match completion {
        Completion::Posted { payload } => {
            io.post(payload).unwrap();
            false
        }
        Completion::Received { stream, .. } => *stream == far,
        _ => false,
    });
    let mut handler = |_: &mut Epoll, _: Completion<'_>| panic!("the handler's own");
    let outcome = catch_unwind(AssertUnwindSafe(|| events.poll(&mut handler)));
    assert!(outcome.is_err(), "a panic comes out");
}

#[test]
fn defect_03_the_multicast_loop_reads_back_as_it_was_set_and_does_what_it_says() {
    let Some((interface, _)) = multicast_interface(false) else { return };
    let mut events = events();
    let free = Socket::datagram(&at("0.0.0.0:0"), &DatagramOptions::default()).unwrap();
    let port = free.local_address().unwrap().port();
    drop(free);
    let group = SocketAddr::from(([239, 255, 77, 3], port));
    let feed = Feed { interface: interface.index, ..Feed::new(group) };
    let feed = feed.open(events.io()).unwrap();
    for loopback in [true, false, true] {
        let sender =
            FeedSender { group, source: None, interface: interface.index, hops: 0, loopback };
        let sender = sender.open(events.io()).unwrap();
        assert_eq!(events.io().socket(sender).unwrap().multicast_loop(), Ok(loopback));
        assert_eq!(events.io().send_to(sender, b"tick", None), Ok(true));
        let mut arrived = false;
        let mut handler = |io: &mut Epoll, completion: Completion<'_>| {
            arrived |= matches!(completion, Completion::Datagram { socket, .. } if socket == feed);
            io.stop();
        };
        let span = if loopback { PATIENCE } else { Nanos::from_millis(2) };
        events.run_for(&mut handler, WaitStrategy::Block, span).unwrap();
        assert_eq!(arrived, loopback);
    }
}

#[test]
fn defect_04_the_outbound_interface_is_the_one_that_was_set_and_an_unknown_one_is_an_error() {
    let socket = Socket::datagram(&at("0.0.0.0:0"), &DatagramOptions::default()).unwrap();
    for interface in interfaces().unwrap() {
        for address in interface.addresses {
            if let IpAddr::V4(address) = address {
                socket.set_outbound_ipv4(address).unwrap();
                assert_eq!(socket.outbound_ipv4(), Ok(address));
            }
        }
    }
    assert!(socket.set_outbound_ipv4(Ipv4Addr::new(203, 0, 113, 9)).is_err());
    assert!(socket.set_outbound(99_999).is_err());
}

#[test]
fn defect_05_listens_on_every_form_of_any_port_and_reports_the_real_one() {
    let mut events = events();
    for listen in ["0.0.0.0:0", "[::]:0", "127.0.0.1:0", "[::1]:0"] {
        let (near, _, _) = pair(&mut events, &at(listen), &StreamOptions::default());
        let peer = events.io().peer_address(near).unwrap().unwrap();
        assert_ne!(peer.port(), 0, "{listen}");
    }
}

#[test]
fn defect_06_connects_from_a_chosen_address_and_port_which_the_peer_sees() {
    let mut events = events();
    let free = Socket::listen(&at("127.0.0.2:0"), &StreamOptions::default()).unwrap();
    let local = free.local_address().unwrap().inet();
    drop(free);
    let options = StreamOptions { local, ..StreamOptions::default() };
    let (_, _, peer) = pair(&mut events, &at("127.0.0.1:0"), &options);
    assert_eq!(peer.inet(), local);
}

#[test]
fn defect_07_two_datagram_sockets_share_a_port_and_an_option_is_applied_or_an_error() {
    let mut events = events();
    let io = events.io();
    let options = DatagramOptions {
        reuse_port: true,
        receive_buffer_bytes: Some(32_768),
        ..DatagramOptions::default()
    };
    let first = io.datagram(&at("127.0.0.1:0"), &options).unwrap();
    let address = io.local_address(first).unwrap();
    let second = io.datagram(&address, &options).expect("the same port");
    for socket in [first, second] {
        let granted = io.granted(socket).unwrap();
        assert!(granted.reuse_port && granted.receive_buffer_bytes == 32_768);
    }
    let without = io.datagram(&address, &DatagramOptions::default());
    assert!(matches!(without, Err(IoError::System(error)) if error.is_address_in_use()));
}

#[test]
fn defect_08_reads_writes_datagrams_multicast_timers_and_posts_allocate_nothing() {
    let mut events = events();
    let (near, far, _) = pair(&mut events, &at("127.0.0.1:0"), &StreamOptions::default());
    let unicast = events.io().datagram(&at("127.0.0.1:0"), &DatagramOptions::default()).unwrap();
    let mut to = events.io().local_address(unicast).unwrap().inet().unwrap();
    let mut sender = events.io().datagram(&at("127.0.0.1:0"), &DatagramOptions::default()).unwrap();
    let mut receiver = unicast;
    if let Some((interface, _)) = multicast_interface(false) {
        to = SocketAddr::from(([239, 255, 77, 8], to.port()));
        let index = interface.index;
        let feed = Feed { interface: index, ..Feed::new(to) };
        receiver = feed.open(events.io()).unwrap();
        let feed =
            FeedSender { group: to, source: None, interface: index, hops: 0, loopback: true };
        sender = feed.open(events.io()).unwrap();
    }
    events.io().receive(unicast).unwrap();
    events.io().receive(receiver).unwrap();
    let poster = events.io().poster();
    let mut round = || {
        events.io().write(near, &[7; 1024], Some(1)).unwrap();
        let mut left = 1000;
        let mut handler = |io: &mut Epoll, completion: Completion<'_>| match completion {
            Completion::Received { stream, bytes } if stream == far => {
                io.write_parts(far, &[&bytes[..1], &bytes[1..]], Some(2)).unwrap();
            }
            Completion::Received { .. } => poster.post(&[1; 7]).unwrap(),
            Completion::Posted { .. } => drop(io.timer_at(io.now(), 1).unwrap()),
            Completion::Timer { .. } => assert!(io.send_to(sender, b"tick", Some(&to)).unwrap()),
            Completion::Datagram { .. } if left > 0 => {
                left -= 1;
                io.write(near, &[7; 1024], Some(1)).unwrap();
            }
            Completion::Datagram { .. } => io.stop(),
            _ => {}
        };
        events.run_for(&mut handler, WaitStrategy::Block, PATIENCE).unwrap();
        assert_eq!(left, 0);
    };
    round();
    assert_eq!(allocation_counter::measure(round).count_total, 0);
}

#[test]
fn defect_09_deadlines_fire_as_typed_errors_and_ipv6_groups_are_joined() {
    let mut events = events();
    let (near, _, _) = pair(&mut events, &at("127.0.0.1:0"), &StreamOptions::default());
    let soon = events.io().now() + Nanos::from_millis(2);
    events.io().set_receive_deadline(near, Some(soon)).unwrap();
    until(&mut events, |io, completion| match completion {
        Completion::Failed { source, operation: Operation::Receive, error, .. } => {
            assert!(io.now() >= soon);
            (*source, *error) == (near, IoError::TimedOut)
        }
        _ => false,
    });
    // A peer that never reads: it stays in the listener's queue.
    let deaf = Socket::listen(&at("127.0.0.1:0"), &StreamOptions::default()).unwrap();
    let bound = deaf.local_address().unwrap();
    let (socket, _) = Socket::connect(&bound, &StreamOptions::default()).unwrap();
    let near = events.io().adopt(socket).unwrap();
    while events.io().unsent_bytes(near) == Ok(0) {
        events.io().write(near, &[7; 16 * 1024], None).unwrap();
    }
    let soon = events.io().now() + Nanos::from_millis(2);
    events.io().set_write_deadline(near, Some(soon)).unwrap();
    until(&mut events, |_, completion| {
        matches!(completion, Completion::Closed { source, reason: Some(IoError::TimedOut) }
            if *source == near)
    });
    let Some((interface, source)) = multicast_interface(true) else { return };
    for (group, source) in [("[ff12::79]:7079", None), ("[ff32::8000:79]:7079", Some(source))] {
        let index = interface.index;
        let feed = Feed { interface: index, source, ..Feed::new(group.parse().unwrap()) };
        let handle = feed.open(events.io()).expect(group);
        feed.leave(events.io(), handle).expect(group);
    }
}

#[test]
fn defect_10_connects_and_accepts_on_descriptors_beyond_1024_and_4096() {
    let mut filler = Vec::new();
    let mut events = events();
    let (mut beyond, deadline) = (0, Deadline::default());
    while beyond < 20 {
        // The tests beside this one close descriptors, which are given out again.
        let mut last = 0;
        while last <= 5000 {
            match std::fs::File::open("/dev/null") {
                Ok(file) => {
                    last = file.as_raw_fd();
                    filler.push(file);
                }
                Err(error) => return println!("skipped: {error}; raise the limit of open files"),
            }
        }
        let (near, far, _) = pair(&mut events, &at("127.0.0.1:0"), &StreamOptions::default());
        let ends = [near, far].map(|end| events.io().socket(end).unwrap().as_fd().as_raw_fd());
        beyond += u32::from(ends.iter().all(|descriptor| *descriptor > 4096));
        deadline.check("twenty pairs beyond 4096", || format!("{ends:?}, {beyond} so far"));
        events.io().write(near, b"ping", None).unwrap();
        until(&mut events, |io, completion| {
            if let Completion::Received { stream, bytes: b"ping" } = completion {
                io.write(*stream, b"pong", None).unwrap();
            }
            matches!(completion, Completion::Received { bytes: b"pong", .. })
        });
        events.io().close(near).unwrap();
        until(&mut events, |io, completion| {
            if let Completion::Ended { stream } = completion {
                io.close(*stream).unwrap();
            }
            matches!(completion, Completion::Closed { source, .. } if *source == far)
        });
    }
    assert_eq!(events.io().source_count(), 0);
}
