//! A publication, a subscription and a TCP echo on one loop, on every kernel and every channel.

use taut_channel::{ChannelUri, Closing, Opening, PublishingEnd, SubscribingEnd};
use taut_io::{
    Admission, Completion, EpollKernel, EventLoop, Handle, Handler, Io, Kernel, LoopConfig,
    SimConfig, SimKernel, UringKernel, WaitStrategy,
};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;

const MESSAGES: u64 = 300;
const ECHOES: usize = 50;
const SOURCES: usize = 64;

/// A client that sends a word whenever the last one came back, and a server that sends all back.
struct Echo {
    client: Handle,
    server: Option<Handle>,
    came_back: usize,
}

impl Echo {
    const WORD: &[u8] = b"8=FIX.4.4";

    fn open<K: Kernel>(io: &mut Io<K>) -> Self {
        let at = Address::Inet("127.0.0.1:0".parse().expect("an address"));
        let listener = io.listen(&at, &StreamOptions::default(), &Admission::OPEN).expect("listen");
        let to = io.local_address(listener).expect("address");
        let client = io.connect(&to, &StreamOptions::default(), None).expect("connect");
        Self { client, server: None, came_back: 0 }
    }

    fn complete<K: Kernel>(&mut self, io: &mut Io<K>, completion: &Completion<'_>) {
        match *completion {
            Completion::Accepted { stream, .. } => {
                self.server = Some(stream);
                io.receive(stream).expect("receive");
            }
            Completion::Connected { stream } if stream == self.client => {
                io.receive(stream).expect("receive");
                io.write(stream, Self::WORD, None).expect("write");
            }
            Completion::Received { stream, bytes } if Some(stream) == self.server => {
                io.write(stream, bytes, None).expect("write");
            }
            Completion::Received { stream, bytes } if stream == self.client => {
                let words = self.came_back / Self::WORD.len();
                self.came_back += bytes.len();
                if self.came_back / Self::WORD.len() > words {
                    io.write(stream, Self::WORD, None).expect("write");
                }
            }
            _ => {}
        }
    }
}

/// All of it: one handler of one loop.
struct Together {
    publication: PublishingEnd,
    subscription: SubscribingEnd,
    echo: Echo,
    offered: u64,
    /// Which ones came: a lease lets one overtake another.
    came: Vec<bool>,
    received: u64,
}

impl Together {
    fn is_over(&self) -> bool {
        self.received == MESSAGES && self.echo.came_back >= ECHOES * Echo::WORD.len()
    }
}

impl<K: Kernel> Handler<K> for Together {
    fn complete(&mut self, io: &mut Io<K>, completion: Completion<'_>) {
        let now = io.now();
        if self.publication.complete(&completion) {
            // A few at a time, so that everything has its turn in between.
            for _ in 0..3 {
                let message = self.offered.to_le_bytes();
                let wanted = self.publication.is_connected() && self.offered < MESSAGES;
                if wanted && self.publication.offer(io, now, &message).is_ok() {
                    self.offered += 1;
                }
            }
            self.publication.work(io, now);
        } else if self.subscription.complete(&completion) {
            let Self { subscription, received, came, .. } = self;
            subscription.poll(io, now, 2, |message| {
                let number = message.payload.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
                let place = number.and_then(|number| came.get_mut(number as usize));
                assert!(!std::mem::replace(place.expect("a number"), true), "none twice");
                *received += 1;
            });
        } else {
            self.echo.complete(io, &completion);
        }
        if self.is_over() {
            io.stop();
        }
    }
}

fn run<K: Kernel>(kernel: K, bound: &str, connected: &str) {
    let config = LoopConfig { sources_max: SOURCES, ..LoopConfig::default() };
    let mut events = EventLoop::new(kernel, config).expect("a loop");
    let io = events.io();
    let before = io.source_count();
    let now = io.now();
    let opening = |seed| Opening { now, seed: Some(seed), ..Opening::default() };
    let uri = |text: &str| -> ChannelUri { text.parse().expect(text) };
    let at = |bound: Option<Address>| {
        uri(&connected.replace("AT", &bound.expect("a bound end").to_string()))
    };
    let (publication, subscription) = if bound.starts_with("aeron") {
        let subscription = SubscribingEnd::open(&uri(bound), &opening(1), io).expect(bound);
        let to = at(subscription.local_address());
        (PublishingEnd::open(&to, &opening(2), io).expect(connected), subscription)
    } else {
        let publication = PublishingEnd::open(&uri(bound), &opening(3), io).expect(bound);
        let to = at(publication.local_address());
        let subscription = SubscribingEnd::open(&to, &opening(4), io).expect(connected);
        (publication, subscription)
    };
    let echo = Echo::open(io);
    let came = vec![false; MESSAGES as usize];
    let mut all = Together { publication, subscription, echo, offered: 0, came, received: 0 };
    // A message is offered when the publication has something to do: here a timer of its own says
    // so now and then, for a stream that is idle has nothing.
    let deadline = Nanos::from_secs(20);
    let end = events.io().now() + deadline;
    while !all.is_over() {
        assert!(events.io().now() < end, "{bound}: {} of {MESSAGES} came", all.received);
        events.run_for(&mut all, WaitStrategy::Block, Nanos::from_millis(1)).expect("run");
        let now = events.io().now();
        if all.offered < MESSAGES && all.publication.is_connected() {
            let message = all.offered.to_le_bytes();
            all.offered += u64::from(all.publication.offer(events.io(), now, &message).is_ok());
        }
        all.publication.work(events.io(), now);
    }
    // They leave nothing on the loop.
    let now = events.io().now();
    all.subscription.close(events.io(), now);
    all.publication.close(events.io(), now);
    let Together { mut publication, subscription, echo, .. } = all;
    assert_ne!(publication.closing(), Closing::Open);
    publication.work(events.io(), now);
    publication.abandon(events.io());
    subscription.abandon(events.io());
    let left = if echo.server.is_some() { 3 } else { 2 };
    assert_eq!(events.io().source_count(), before + left, "{bound}");
}

const CHANNELS: [(&str, &str); 3] = [
    ("aeron:udp?endpoint=127.0.0.1:0|stream-id=7", "aeron:udp?endpoint=AT|stream-id=7"),
    ("lease:udp?endpoint=127.0.0.1:0", "lease:udp?endpoint=AT"),
    ("tcp://127.0.0.1:0", "tcp://AT"),
];

#[test]
fn a_publication_a_subscription_and_an_echo_share_one_loop_over_epoll() {
    for (bound, connected) in CHANNELS {
        run(EpollKernel::new(SOURCES).expect("epoll"), bound, connected);
    }
}

#[test]
fn a_publication_a_subscription_and_an_echo_share_one_loop_over_io_uring() {
    for (bound, connected) in CHANNELS {
        match UringKernel::new(SOURCES) {
            Ok(kernel) => run(kernel, bound, connected),
            Err(refused) => println!("skipped: {refused}"),
        }
    }
}

#[test]
fn a_publication_a_subscription_and_an_echo_share_one_loop_in_a_simulated_network() {
    for (bound, connected) in CHANNELS {
        for seed in 1..20 {
            let config = SimConfig { seed, ..SimConfig::default() };
            run(SimKernel::new(SOURCES, config), bound, connected);
        }
    }
}
