//! Venue and gateway in one thread, on a clock that the test turns.

use taut_gateway::{Client, FeedSocket, FeedSockets, Gateway, GatewayConfig, Regions};
use taut_io::{EpollKernel, Kernel};
use taut_market_data::native::NativeFeed;
use taut_sys::{Clock, TickMapping};
use taut_testkit::{Deadline, Faults};
use taut_types::{Instrument, Nanos, Price, SequenceNumber};
use taut_venue::{FeedOutput, Flow, Now, Venue, VenueConfig};

use crate::lossy_link::LossyLink;
use crate::setup::{gateway_config, native_feed, open_venue, requests};

/// Where the clock starts; nothing depends on it but that it is not 0.
pub const START: Nanos = Nanos::from_secs(1_000);
/// Any day will do.
const UTC_OFFSET: Nanos = Nanos::from_secs(1_340_285_400);
/// How far the clock turns in a step.
pub const STEP: Nanos = Nanos::from_millis(1);

/// A mapping by which every tick is at `now`: a clock that stands still.
#[must_use]
pub const fn standing_at(now: Nanos) -> TickMapping {
    TickMapping::from_words([0, 0, now.0.cast_unsigned(), 0, UTC_OFFSET.0.cast_unsigned()])
}

/// A clock that stands at the beginning.
#[must_use]
pub const fn clock() -> Clock {
    Clock::new(standing_at(START))
}

/// The weather on the lines and channels of the feed, and its seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditions {
    /// On the incremental channel.
    pub incremental: Faults,
    /// On line B, if there is one.
    pub line_b: Option<Faults>,
    /// On the snapshot channel.
    pub snapshot: Faults,
    /// Whether the gateway may ask for packets.
    pub retransmission: bool,
    /// The gateway's price step, where it does not know the venue's: finer, so that the venue
    /// refuses what the gateway lets pass.
    pub gateway_tick: Option<Price>,
    /// Of all.
    pub seed: u64,
}

/// Sockets of the gateway.
const SOURCES: usize = 16;

/// A venue and a gateway that take turns.
#[derive(Debug)]
pub struct Lockstep<'m, C, K: Kernel = EpollKernel> {
    /// The venue.
    pub venue: Venue,
    /// The gateway.
    pub gateway: Gateway<'m, C, NativeFeed, K>,
    /// The incremental channel between them.
    pub incremental: LossyLink,
    /// Line B of it.
    pub line_b: Option<LossyLink>,
    /// The snapshot channel.
    pub snapshot: LossyLink,
    now: Nanos,
}

impl<'m, C: Client> Lockstep<'m, C> {
    /// A venue with this flow, and a gateway that is logged on to it. The flow runs.
    ///
    /// # Panics
    /// When they do not come together.
    pub fn open(
        config: &VenueConfig,
        flow: Flow,
        conditions: Conditions,
        regions: &Regions<'m>,
        client: C,
    ) -> Self {
        let kernel = EpollKernel::new(SOURCES).expect("a kernel");
        Self::open_on((kernel, clock()), config, flow, conditions, regions, client)
    }
}

impl<'m, C: Client, K: Kernel> Lockstep<'m, C, K> {
    /// The same, with a gateway on this kernel, whose clock stands at the beginning.
    ///
    /// # Panics
    /// When they do not come together.
    pub fn open_on(
        (kernel, clock): (K, Clock),
        config: &VenueConfig,
        flow: Flow,
        conditions: Conditions,
        regions: &Regions<'m>,
        client: C,
    ) -> Self {
        let Conditions { incremental, line_b, snapshot, retransmission, gateway_tick, seed } =
            conditions;
        let (incremental_out, incremental, incremental_in) = LossyLink::new(incremental, seed);
        let (snapshot_out, snapshot, snapshot_in) = LossyLink::new(snapshot, !seed);
        let line_b = line_b.map(|weather| LossyLink::new(weather, seed ^ 0xb));
        let (b_out, line_b, b_in) = match line_b {
            Some((out, link, at)) => (Some(out), Some(link), Some(at)),
            None => (None, None, None),
        };
        let (retransmitting, asking) = retransmission.then(requests).unzip();
        let output = FeedOutput {
            incremental: incremental_out.into(),
            incremental_b: b_out.map(Into::into),
            snapshot: snapshot_out.into(),
            retransmission: retransmitting.map(Into::into),
        };
        let sockets = FeedSockets {
            incremental: incremental_in.into(),
            incremental_b: b_in.map(FeedSocket::from),
            snapshot: snapshot_in.into(),
            retransmission: asking.map(FeedSocket::from),
        };
        let (venue, at) = open_venue(config, flow, output);
        // How long line B waits is for the clock on the wall.
        let known = |venues: &Instrument| match gateway_tick {
            None => *venues,
            Some(tick) => Instrument::new(venues.id(), venues.symbol(), tick, venues.lot())
                .expect("an instrument"),
        };
        let instruments: Vec<Instrument> = config.instruments.iter().map(known).collect();
        // The feed would name a contradiction, and the gateway trade no more.
        let instrument = config.instruments[0];
        let config = GatewayConfig { instruments, hot: false, ..gateway_config(at) };
        let (input, feed) = native_feed(instrument, sockets, START);
        let gateway = Gateway::on_kernel(kernel, &config, clock, input, feed, client, regions);
        let gateway = gateway.expect("a connection to the venue");
        let mut pair = Self { venue, gateway, incremental, line_b, snapshot, now: START };
        pair.log_on();
        pair.step_until("a session and a book", |pair| pair.gateway.is_ready());
        pair.venue.start_flow(pair.now);
        pair
    }

    /// Lets the two come together while the clock stands: the strategy's timer has not run then.
    fn log_on(&mut self) {
        let deadline = Deadline::default();
        while self.gateway.counters().logged_on == 0 {
            let now = Now { mono: self.now, utc: self.now + UTC_OFFSET };
            self.venue.poll(now).expect("the venue goes on");
            self.gateway.poll().expect("the gateway goes on");
            deadline.check("a session", || format!("{:?}", self.venue.counters()));
        }
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Nanos {
        self.now
    }

    /// One turn of each: the clock, the venue, the feed, and the gateway until it has nothing to
    /// do.
    ///
    /// # Panics
    /// When one of them cannot go on.
    pub fn step(&mut self) {
        self.step_watching(|_, _| {});
    }

    /// A step that shows the gateway before and after each of its rounds.
    ///
    /// # Panics
    /// When one of them cannot go on.
    pub fn step_watching(&mut self, mut watch: impl FnMut(Round, &Gateway<'m, C, NativeFeed, K>)) {
        self.now = self.now + STEP;
        self.gateway.clock_mut().set_mapping(standing_at(self.now));
        let now = Now { mono: self.now, utc: self.now + UTC_OFFSET };
        self.venue.poll(now).expect("the venue goes on");
        let counters = self.venue.counters();
        let sent = counters.published + counters.heartbeats;
        self.incremental.pass_on(sent - counters.lost_on_a);
        self.line_b.iter_mut().for_each(|line| line.pass_on(sent - counters.lost_on_b));
        self.snapshot.pass_on(counters.snapshot_packets);
        loop {
            watch(Round::Before, &self.gateway);
            let worked = self.gateway.poll_one().expect("the gateway goes on");
            watch(Round::After, &self.gateway);
            if !worked {
                break;
            }
        }
        self.gateway.housekeeping().expect("the gateway goes on");
    }

    /// Steps until it is as the test wants it.
    ///
    /// # Panics
    /// When that takes too long.
    pub fn step_until(&mut self, awaited: &str, done: impl Fn(&mut Self) -> bool) {
        let deadline = Deadline::default();
        while !done(self) {
            self.step();
            deadline.check(awaited, || {
                format!("{:?}, {:?}", self.gateway.counters(), self.venue.counters())
            });
        }
    }

    /// Ends the flow and lets the gateway catch up with all that was published.
    ///
    /// # Panics
    /// When it cannot.
    pub fn catch_up(&mut self) {
        self.venue.stop_flow();
        self.step_until("the gateway to catch up", |pair| {
            let published = SequenceNumber(pair.venue.counters().published);
            pair.gateway.has_caught_up_with(published)
        });
    }
}

/// A moment of [`Lockstep::step_watching`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Before a round of the gateway.
    Before,
    /// After it.
    After,
}
