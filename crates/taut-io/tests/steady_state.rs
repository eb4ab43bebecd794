//! What the loop costs once it runs: no allocation, and few system calls. What it holds: many
//! connections, on descriptors of any number.
#![forbid(unsafe_code)]

use taut_io::{
    Admission, Completion, EpollKernel, EventLoop, Handle, Io, Kernel, LoopConfig, UringKernel,
    WaitStrategy,
};
use taut_sys::{Address, DatagramOptions, Socket, StreamOptions};
use taut_types::Nanos;

const CONFIG: LoopConfig = LoopConfig {
    sources_max: 32,
    timers_max: 64,
    posts_max: 64,
    write_bytes_max: 64 * 1024,
    writes_max: 64,
    receives_per_visit: 4,
    completions_per_turn: 256,
};

fn any() -> Address {
    Address::Inet("127.0.0.1:0".parse().unwrap())
}

/// Two connected streams that receive.
fn pair<K: Kernel>(events: &mut EventLoop<K>) -> (Handle, Handle) {
    let listener = events.io().listen(&any(), &StreamOptions::default(), &Admission::OPEN).unwrap();
    let to = events.io().local_address(listener).unwrap();
    let near = events.io().connect(&to, &StreamOptions::default(), None).unwrap();
    let (mut far, mut stands) = (None, false);
    while far.is_none() || !stands {
        let mut handler = |_: &mut Io<K>, completion: Completion<'_>| match completion {
            Completion::Accepted { stream, .. } => far = Some(stream),
            Completion::Connected { .. } => stands = true,
            _ => {}
        };
        events.poll(&mut handler).unwrap();
    }
    let far = far.unwrap();
    events.io().receive(near).unwrap();
    events.io().receive(far).unwrap();
    events.io().close(listener).unwrap();
    (near, far)
}

/// Plays `rounds` of ping-pong, with a timer, a post and a datagram in each; returns completions.
fn play<K: Kernel>(
    events: &mut EventLoop<K>,
    (near, far): (Handle, Handle),
    (sender, receiver): (Handle, Handle),
    rounds: u64,
) -> u64 {
    let (mut pongs, mut completed) = (0, 0);
    let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
        completed += 1;
        match completion {
            Completion::Received { stream, bytes } if stream == far => {
                io.write_parts(far, &[&bytes[..1], &bytes[1..]], Some(1)).unwrap();
            }
            Completion::Received { .. } => {
                pongs += 1;
                io.post(&[pongs; 7]).unwrap();
            }
            Completion::Posted { .. } => {
                let now = io.now();
                io.timer_at(now, 1).unwrap();
                let cancelled = io.timer_at(now + Nanos::from_secs(9), 2).unwrap();
                io.cancel_timer(cancelled);
                io.set_receive_deadline(near, Some(now + Nanos::from_secs(9))).unwrap();
            }
            Completion::Timer { .. } => {
                io.send_to(sender, b"tick", None).unwrap();
            }
            Completion::Datagram { socket, .. } => {
                assert_eq!(socket, receiver);
                if pongs < rounds {
                    io.write(near, &[7; 1024], None).unwrap();
                } else {
                    io.stop();
                }
            }
            _ => {}
        }
    };
    events.io().write(near, &[7; 1024], None).unwrap();
    events.run(&mut handler, WaitStrategy::Spin).unwrap();
    completed
}

fn nothing_allocates<K: Kernel>(kernel: K) {
    let mut events = EventLoop::new(kernel, CONFIG).unwrap();
    let streams = pair(&mut events);
    let receiver = events.io().datagram(&any(), &DatagramOptions::default()).unwrap();
    let peer = events.io().local_address(receiver).unwrap().inet();
    let options = DatagramOptions { peer, ..DatagramOptions::default() };
    let sender = events.io().datagram(&any(), &options).unwrap();
    events.io().receive(receiver).unwrap();
    let poster = events.io().poster();
    play(&mut events, streams, (sender, receiver), 100);
    let mut completed = 0;
    let allocations = allocation_counter::measure(|| {
        poster.post(&[1; 7]).unwrap();
        completed = play(&mut events, streams, (sender, receiver), 2_000);
    });
    assert!(completed > 10_000);
    assert_eq!(allocations.count_total, 0, "allocations in {completed} completions");
}

#[test]
fn reads_writes_datagrams_timers_and_posts_allocate_nothing_through_epoll() {
    nothing_allocates(EpollKernel::new(CONFIG.sources_max).unwrap());
}

#[test]
fn reads_writes_datagrams_timers_and_posts_allocate_nothing_through_io_uring() {
    match UringKernel::new(CONFIG.sources_max) {
        Ok(kernel) => nothing_allocates(kernel),
        Err(refused) => println!("skipped: {refused}"),
    }
}

/// System calls of the receiving side per message, one message at a time: the loop is given time to
/// see each before the next is sent, which is the staggered arrival.
fn calls_per_message<K: Kernel>(kernel: K, hot: bool, waits: WaitStrategy) -> f64 {
    let mut events = EventLoop::new(kernel, CONFIG).unwrap();
    calls_beside(&mut events, hot, waits)
}

/// As above, beside whatever the loop has to do already.
fn calls_beside<K: Kernel>(events: &mut EventLoop<K>, hot: bool, waits: WaitStrategy) -> f64 {
    const MESSAGES: usize = 1000;
    let listener = Socket::listen(&any(), &StreamOptions::default()).unwrap();
    let to = listener.local_address().unwrap();
    let stream = events.io().connect(&to, &StreamOptions::default(), None).unwrap();
    let mut stands = false;
    while !stands {
        let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
            if let Completion::Connected { stream } = completion {
                if hot {
                    io.set_hot(stream, true).unwrap();
                }
                io.receive(stream).unwrap();
                stands = true;
            }
        };
        events.poll(&mut handler).unwrap();
    }
    let far = loop {
        if let Some((far, _)) = listener.accept().unwrap() {
            break far;
        }
    };
    let before = events.io().calls().io;
    for _ in 0..MESSAGES {
        far.send(&[7; 1024]).unwrap();
        let mut received = 0;
        let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
            if let Completion::Received { bytes, .. } = completion {
                received += bytes.len();
                if received == 1024 {
                    io.stop();
                }
            }
        };
        events.run(&mut handler, waits).unwrap();
        assert_eq!(received, 1024);
    }
    let calls = events.io().calls().io - before;
    events.io().close(stream).unwrap();
    calls as f64 / MESSAGES as f64
}

#[test]
fn a_message_costs_two_calls_through_epoll_and_one_when_hot_or_through_io_uring() {
    let epoll = || EpollKernel::new(CONFIG.sources_max).unwrap();
    for strategy in WaitStrategy::ALL {
        let calls = calls_per_message(epoll(), false, strategy);
        assert!(calls <= 2.05, "epoll, {}: {calls}", strategy.name());
        if let Ok(kernel) = UringKernel::new(CONFIG.sources_max) {
            let calls = calls_per_message(kernel, false, strategy);
            assert!(calls <= 1.05, "io_uring, {}: {calls}", strategy.name());
        }
    }
    let calls = calls_per_message(epoll(), true, WaitStrategy::Spin);
    assert!(calls <= 1.05, "hot: {calls}");
}

/// Ten streams whose peers never read: everything between is full, and writes wait behind it.
fn fill_ten_slow_readers<K: Kernel>(events: &mut EventLoop<K>) -> Vec<Socket> {
    let listener = Socket::listen(&any(), &StreamOptions::default()).unwrap();
    let to = listener.local_address().unwrap();
    let slow: Vec<_> = (0..10)
        .map(|_| events.io().connect(&to, &StreamOptions::default(), None).unwrap())
        .collect();
    let mut standing = 0;
    while standing < slow.len() {
        let mut handler = |_: &mut Io<K>, completion: Completion<'_>| {
            standing += usize::from(matches!(completion, Completion::Connected { .. }));
        };
        events.poll(&mut handler).unwrap();
    }
    // The kernel still takes some after the first refusal: until it does not.
    for _ in 0..20 {
        for stream in &slow {
            while events.io().write(*stream, &[7; 16 * 1024], None).is_ok() {}
        }
        let handler = &mut |_: &mut Io<K>, _: Completion<'_>| {};
        events.run_for(handler, WaitStrategy::Block, Nanos::from_millis(2)).unwrap();
    }
    std::iter::from_fn(|| listener.accept().unwrap()).map(|(peer, _)| peer).collect()
}

fn slow_readers_cost_nothing<K: Kernel>(kernel: K, calls_max: f64) {
    let mut events = EventLoop::new(kernel, CONFIG).unwrap();
    let peers = fill_ten_slow_readers(&mut events);
    assert_eq!(peers.len(), 10);
    for strategy in [WaitStrategy::Spin, WaitStrategy::Block] {
        let calls = calls_beside(&mut events, false, strategy);
        assert!(calls <= calls_max, "{}: {calls}", strategy.name());
    }
}

#[test]
fn ten_readers_that_do_not_read_cost_the_others_no_call() {
    slow_readers_cost_nothing(EpollKernel::new(CONFIG.sources_max).unwrap(), 2.05);
    match UringKernel::new(CONFIG.sources_max) {
        Ok(kernel) => slow_readers_cost_nothing(kernel, 1.05),
        Err(refused) => println!("skipped: {refused}"),
    }
}

#[test]
fn a_post_from_another_thread_wakes_a_loop_that_sleeps() {
    let mut events = EventLoop::new(EpollKernel::new(CONFIG.sources_max).unwrap(), CONFIG).unwrap();
    events.io().datagram(&any(), &DatagramOptions::default()).unwrap();
    let poster = events.io().poster();
    let thread = std::thread::spawn(move || {
        for n in 0..5_000 {
            while poster.post(&[n; 7]).is_err() {
                std::thread::yield_now();
            }
        }
    });
    let mut expected = 0;
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        if let Completion::Posted { payload } = completion {
            assert_eq!(payload, [expected; 7]);
            expected += 1;
            if expected == 5_000 {
                io.stop();
            }
        }
    };
    events.run(&mut handler, WaitStrategy::Block).unwrap();
    thread.join().unwrap();
}

/// Many connections on one loop, both ends of each: every one carries bytes both ways.
fn holds_many<K: Kernel>(kernel: K, connections: usize) {
    let config = LoopConfig {
        sources_max: 2 * connections + 1,
        write_bytes_max: 4096,
        writes_max: 4,
        ..CONFIG
    };
    let mut events = EventLoop::new(kernel, config).unwrap();
    let listener = events.io().listen(&any(), &StreamOptions::default(), &Admission::OPEN).unwrap();
    let to = events.io().local_address(listener).unwrap();
    let connect = |io: &mut Io<K>| {
        io.connect(&to, &StreamOptions::default(), None).unwrap();
    };
    let (mut started, mut answered) = (0, 0);
    while started < connections.min(100) {
        started += 1;
        connect(events.io());
    }
    let mut handler = |io: &mut Io<K>, completion: Completion<'_>| match completion {
        Completion::Accepted { stream, .. } => io.receive(stream).unwrap(),
        Completion::Connected { stream } => {
            io.receive(stream).unwrap();
            io.write(stream, b"ping", None).unwrap();
        }
        Completion::Received { stream, bytes: b"ping" } => io.write(stream, b"pong", None).unwrap(),
        Completion::Received { bytes, .. } => {
            assert_eq!(bytes, b"pong");
            answered += 1;
            if started < connections {
                started += 1;
                connect(io);
            }
            if answered == connections {
                io.stop();
            }
        }
        other => panic!("{other:?}"),
    };
    events.run(&mut handler, WaitStrategy::Block).unwrap();
    assert_eq!(answered, connections);
    assert_eq!(events.io().source_count(), 2 * connections + 1, "all are held at the same time");
}

#[test]
fn holds_connections_on_descriptors_far_beyond_1024_and_4096() {
    // 10,000 descriptors: both ends of 5,000 connections.
    holds_many(EpollKernel::new(10_001).unwrap(), 5_000);
}
