//! A publication and a subscription on one loop in a simulated network.

use taut_channel::{Action, ChannelUri, Event, Opening, PublishingEnd, SubscribingEnd};
use taut_io::{Completion, EventLoop, Handler, Io, LoopConfig, SimConfig, SimKernel, WaitStrategy};
use taut_testkit::{Draw, Random};
use taut_types::Nanos;

const SOURCES: usize = 16;
/// Bytes of a message in front of those that follow from its number.
const NUMBER_BYTES: usize = 8;

/// What the network does to what it carries.
pub struct Faults(SimConfig);

impl Faults {
    pub fn datagrams(random: &mut Random) -> Self {
        Self(SimConfig {
            lost_per_mille: random.pick(&[0, 0, 10, 100]),
            duplicated_per_mille: random.pick(&[0, 0, 10, 100]),
            full_per_mille: random.pick(&[0, 0, 10, 100]),
            ..Self::any(random)
        })
    }

    pub fn streams(random: &mut Random) -> Self {
        Self(SimConfig {
            aborted_per_mille: random.pick(&[0, 0, 100, 400]),
            window_bytes: 64 + random.below(20_000) as usize,
            ..Self::any(random)
        })
    }

    fn any(random: &mut Random) -> SimConfig {
        SimConfig {
            seed: random.u64(..),
            delay_ns_max: random.pick(&[1_000, 20_000, 300_000, 2_000_000]),
            is_partial: random.bool(),
            ..SimConfig::default()
        }
    }
}

/// Both ends, and what came out.
pub struct Ends {
    pub publication: PublishingEnd,
    pub subscription: SubscribingEnd,
    pub came: Vec<u64>,
    random: Random,
}

pub struct World {
    events: EventLoop<SimKernel>,
    pub ends: Ends,
    pub offered: u64,
    message: Vec<u8>,
}

impl World {
    pub fn new(published: &str, subscribed: &str, faults: Faults, random: &mut Random) -> Self {
        let config = LoopConfig { sources_max: SOURCES, timers_max: 8, ..LoopConfig::default() };
        let kernel = SimKernel::new(SOURCES, faults.0);
        let mut events = EventLoop::new(kernel, config).expect("a loop");
        let io = events.io();
        let uri = |text: &str| -> ChannelUri { text.parse().expect(text) };
        let now = io.now();
        let opening = |seed| Opening { now, seed: Some(seed), ..Opening::default() };
        let publication = PublishingEnd::open(&uri(published), &opening(random.u64(..)), io);
        let subscription = SubscribingEnd::open(&uri(subscribed), &opening(random.u64(..)), io);
        let ends = Ends {
            publication: publication.expect(published),
            subscription: subscription.expect(subscribed),
            came: Vec::new(),
            random: Random::with_seed(random.u64(..)),
        };
        Self { events, ends, offered: 0, message: Vec::new() }
    }

    pub fn received(&self) -> u64 {
        self.ends.came.len() as u64
    }

    pub fn is_connected(&self) -> bool {
        self.ends.publication.is_connected() && self.ends.subscription.image_count() == 1
    }

    /// Virtual time passes.
    pub fn run(&mut self, span: Nanos) {
        self.events.run_for(&mut self.ends, WaitStrategy::Block, span).expect("run");
    }

    /// Until a condition holds, at most for a span of virtual time.
    pub fn until(&mut self, what: &str, most: Nanos, done: impl Fn(&Self) -> bool) {
        let deadline = self.events.io().now() + most;
        let mut step = Nanos::from_micros(100);
        while !done(self) {
            assert!(self.events.io().now() < deadline, "not in {most:?}: {what}");
            self.run(step);
            step = Nanos((step.0 * 2).min(50_000_000));
        }
    }

    /// Offers a few messages, as far as they are taken.
    pub fn offer_some(&mut self, random: &mut Random, most: u64, bytes_max: u64) {
        let now = self.events.io().now();
        for _ in 0..random.below(12) {
            if self.offered >= most {
                break;
            }
            let number = self.offered;
            let bytes = NUMBER_BYTES + random.below(bytes_max) as usize;
            self.message.clear();
            self.message.extend(number.to_le_bytes());
            self.message.extend((NUMBER_BYTES..bytes).map(|at| byte_at(number, at)));
            if self.ends.publication.offer(self.events.io(), now, &self.message).is_err() {
                break;
            }
            self.offered += 1;
        }
        self.ends.publication.work(self.events.io(), now);
    }

    pub fn break_a_stream(&mut self, random: &mut Random) {
        let place = random.below(SOURCES as u64) as u32;
        self.events.io().kernel_mut().reset(place);
    }

    pub fn close_publication(&mut self) {
        let now = self.events.io().now();
        self.ends.publication.close(self.events.io(), now);
        self.ends.publication.work(self.events.io(), now);
    }

    pub fn events_of_subscription(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.ends.subscription.poll_event()).collect()
    }

    /// What a run has come to: its time and its calls into the kernel.
    pub fn trace(&mut self) -> (Nanos, taut_io::Calls) {
        (self.events.io().now(), self.events.io().calls())
    }
}

impl Handler<SimKernel> for Ends {
    fn complete(&mut self, io: &mut Io<SimKernel>, completion: Completion<'_>) {
        let Self { publication, subscription, came, random } = self;
        let now = io.now();
        if publication.complete(&completion) {
            publication.work(io, now);
        } else if subscription.complete(&completion) {
            let limit = 1 + random.below(30) as usize;
            subscription.poll_controlled(io, now, limit, |message| {
                let (number, rest) = message.payload.split_first_chunk().expect("a number");
                let number = u64::from_le_bytes(*number);
                let is_whole = rest
                    .iter()
                    .enumerate()
                    .all(|(at, byte)| *byte == byte_at(number, NUMBER_BYTES + at));
                assert!(is_whole, "message {number} is not what was sent");
                came.push(number);
                if random.per_mille(20) { Action::Break } else { Action::Continue }
            });
        }
    }
}

fn byte_at(number: u64, at: usize) -> u8 {
    (number as usize * 31 + at * 7) as u8
}
