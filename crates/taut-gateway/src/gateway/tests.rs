//! What is to be cancelled while there is no session with the venue is cancelled once there is one;
//! on virtual time, against a venue that follows a script.

use std::cell::RefCell;
use std::rc::Rc;

use taut_fix::CompId;
use taut_io::{SimConfig, SimKernel};
use taut_ipc::Segment;
use taut_market_data::{BestPrices, Event, FeedCounters, FollowError, MarketSink, Soundness};
use taut_sys::{DatagramOptions, TickMapping};
use taut_types::{ClientOrderId, Lots, OrderTerms, Price, Qty, Side, Symbol};

mod added;
mod messages;
mod overtakes;
mod told;

use super::*;
use crate::config::SessionSettings;
use crate::feed::{FeedSocket, FeedSockets};
use crate::hub::{Hub, SlotId};
use crate::order_entry::hostile::venue::ScriptedVenue;
use crate::owner::Owner;
use crate::regions::StrategyRegions;
use crate::runner::StrategyRunner;
use crate::strategy::{Strategy, Trading};
use taut_oms::{KillCause, KillScope};

const ADDRESS: &str = "127.0.0.1:9881";
const LINE: &str = "127.0.0.1:9882";
const SNAPSHOTS: &str = "127.0.0.1:9883";
const UTC_OFFSET: Nanos = Nanos::from_secs(1_340_285_400);
const PRICE: Price = Price(10_000_000_000);

/// What happened, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Packet,
    Order,
}

type Log = Rc<RefCell<Vec<Seen>>>;

/// A market that stands still.
#[derive(Default)]
struct Standing {
    contradicted: Option<InstrumentId>,
    log: Log,
}

impl FeedHandler for Standing {
    type Frame<'f> = ();

    fn follow(&mut self, _: &Instrument, _: InstrumentId, _: &[u8]) -> Result<(), FollowError> {
        Ok(())
    }
    fn decode(&mut self, _: Nanos, _: Source, _: &[u8]) -> Option<()> {
        self.log.borrow_mut().push(Seen::Packet);
        None
    }
    fn apply(&mut self, (): (), _: &mut impl MarketSink) {}
    fn is_settled(&self) -> bool {
        true
    }
    fn is_whole(&self) -> bool {
        true
    }
    fn recover(&mut self, _: Nanos, _: &mut impl MarketSink) {}
    fn handle_timeout(&mut self, _: Nanos) {}
    fn poll_timeout(&self) -> Option<Nanos> {
        None
    }
    fn poll_request(&mut self) -> Option<FeedRequest> {
        None
    }
    fn poll_contradiction(&mut self) -> Option<InstrumentId> {
        self.contradicted.take()
    }
    fn soundness(&self, _: InstrumentId) -> Soundness {
        Soundness::Sound
    }
    fn best(&self, _: InstrumentId) -> BestPrices {
        let at = |price| Some((Price(price), Lots(1)));
        BestPrices { bid: at(9_990_000_000), ask: at(10_010_000_000) }
    }
    fn book(&self, _: InstrumentId) -> Option<&LevelBook> {
        None
    }
    fn lost(&self, _: SequenceNumber) -> u64 {
        0
    }
    fn counters(&self) -> FeedCounters {
        FeedCounters::default()
    }
    fn events_max(&self) -> usize {
        1
    }
}

/// The venue, at the gateway's own loop.
#[derive(Default)]
struct Venue {
    script: Option<ScriptedVenue>,
    /// Where packets of its feed go out.
    feed: Option<Handle>,
    log: Log,
}

impl Observer for Venue {
    fn on_start(&mut self, io: &mut Io<impl Kernel>, _: &Clock) -> Result<(), GatewayError> {
        self.script = Some(ScriptedVenue::listen(io, ADDRESS));
        let peer = address(LINE).inet();
        let options = DatagramOptions { peer, ..DatagramOptions::default() };
        self.feed = Some(io.datagram(&address("127.0.0.1:0"), &options)?);
        Ok(())
    }

    fn on_completion(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
    ) -> Result<(), GatewayError> {
        self.script.iter_mut().for_each(|venue| venue.complete(io, completion));
        Ok(())
    }

    fn on_order_sent(&mut self, _: &[u8]) {
        self.log.borrow_mut().push(Seen::Order);
    }
}

/// Has one order, sent when the first session begins.
#[derive(Default)]
struct Once {
    sent: Option<ClientOrderId>,
    instrument: InstrumentId,
    /// A timer is no occasion to send.
    waits_for_word: bool,
}

impl Strategy for Once {
    fn on_market(&mut self, _: Nanos, _: &Event, _: &mut impl Trading) {}

    fn on_timer(&mut self, now: Nanos, trading: &mut impl Trading) {
        if !self.waits_for_word {
            self.on_gateway(now, &GatewayEvent::DownloadEnd, trading);
        }
    }

    fn on_gateway(&mut self, _: Nanos, _: &GatewayEvent, trading: &mut impl Trading) {
        if trading.is_order_entry_up(InstrumentId(0)) && self.sent.is_none() {
            let terms = OrderTerms::limit(self.instrument, Side::Buy, PRICE, Lots(10));
            self.sent = trading.create(&terms);
        }
    }
}

struct World<'m> {
    gateway: Gateway<'m, Hub<'m>, Standing, SimKernel, Venue>,
    slot: SlotId,
    runner: StrategyRunner<'m, Once>,
    log: Log,
}

impl<'m> World<'m> {
    /// Its order rests at the venue.
    fn new(regions: &Regions<'m>, own: &StrategyRegions<'m>, config: &GatewayConfig) -> Self {
        let mut hub = Hub::new(regions).unwrap();
        let slot = hub.add_slot(own, None).unwrap();
        assert!(hub.attach(slot, Owner::default()));
        let runner = StrategyRunner::new(regions, own, None, Once::default()).unwrap();
        let sim = SimConfig {
            is_partial: false,
            delay_ns_max: 0,
            window_bytes: 1 << 20,
            ..SimConfig::default()
        };
        let (kernel, clock) = (SimKernel::new(16, sim), clock_at(Nanos::ZERO));
        let socket = |at| FeedSocket::At(address(at), DatagramOptions::default());
        let input = FeedInput::Datagrams(FeedSockets {
            incremental: socket(LINE),
            incremental_b: None,
            snapshot: socket(SNAPSHOTS),
            retransmission: None,
        });
        let log = Log::default();
        let feed = Standing { log: Rc::clone(&log), ..Standing::default() };
        let venue = Venue { log: Rc::clone(&log), ..Venue::default() };
        let gateway = Gateway::on_kernel(kernel, config, clock, input, feed, hub, regions)
            .and_then(|gateway| gateway.with_observer(venue))
            .unwrap();
        let mut world = Self { gateway, slot, runner, log };
        world.pass(Nanos::from_millis(50));
        assert_eq!(world.venue().count("|35=D|"), 1);
        world.act("er", "0 0 X1 0 0");
        // Asked, it says that the order stands.
        world.act("status", "er I 0 0 0 0");
        world
    }

    fn venue(&self) -> &ScriptedVenue {
        self.gateway.core.observer.script.as_ref().unwrap()
    }

    fn act(&mut self, verb: &str, rest: &str) {
        let Gateway { events, core, .. } = &mut self.gateway;
        core.observer.script.as_mut().unwrap().act(events.io(), verb, rest);
        self.pass(Nanos::from_millis(5));
    }

    /// Virtual time goes by.
    fn pass(&mut self, span: Nanos) {
        let end = self.gateway.events.io().now() + span;
        while self.gateway.events.io().now() < end {
            let Gateway { events, core, .. } = &mut self.gateway;
            events.wait(core, Nanos::from_millis(1)).unwrap();
            let now = events.io().now();
            core.clock = clock_at(now);
            self.gateway.poll().unwrap();
            self.gateway.housekeeping().unwrap();
            while self.runner.poll(&clock_at(now)) {}
        }
    }

    fn cancels(&self) -> usize {
        self.venue().count("|35=F|")
    }

    fn is_up(&self) -> bool {
        self.gateway.core.orders.is_active()
    }
}

/// One instrument, no wait for the venue that is long.
fn config() -> GatewayConfig {
    let symbol = Symbol::new(b"AAPL").unwrap();
    let instrument =
        Instrument::new(InstrumentId(0), symbol, Price(10_000_000), Qty::whole(1)).unwrap();
    let std::net::SocketAddr::V4(order_address) = ADDRESS.parse().unwrap() else { unreachable!() };
    GatewayConfig {
        instruments: vec![instrument],
        order_address,
        sender_comp_id: CompId::new(b"GATEWAY").unwrap(),
        target_comp_id: CompId::new(b"VENUE").unwrap(),
        heartbeat_interval: Nanos::from_secs(30),
        session: SessionSettings {
            waits_for_venue: true,
            reconnect: (Nanos::from_millis(100), Nanos::from_secs(1)),
            ..SessionSettings::default()
        },
        order_capacity: 8,
        risk: GatewayConfig::default_risk().into(),
        hot: false,
        keeps_warm: false,
    }
}

fn address(text: &str) -> Address {
    Address::Inet(text.parse().unwrap())
}

/// A clock that stands at a moment of the loop's.
fn clock_at(now: Nanos) -> Clock {
    let words = [0, 0, (now.0 + 1_000_000_000).cast_unsigned(), 0, UTC_OFFSET.0.cast_unsigned()];
    Clock::new(TickMapping::from_words(words))
}

fn with_world(act: impl FnOnce(&mut World<'_>)) {
    with_world_of(&config(), act);
}

fn with_world_of(config: &GatewayConfig, act: impl FnOnce(&mut World<'_>)) {
    let segment = Segment::create("taut-test", &Regions::LAYOUT).unwrap();
    let own = Segment::create("taut-test", &StrategyRegions::LAYOUT).unwrap();
    let regions = Regions::of(&segment).unwrap();
    act(&mut World::new(&regions, &StrategyRegions::of(&own).unwrap(), config));
}

#[test]
fn the_orders_of_a_strategy_that_left_without_a_session_are_cancelled_in_the_next_one() {
    with_world(|world| {
        world.act("cut", "");
        assert!(!world.is_up());
        world.gateway.client_mut().detach(world.slot);
        world.pass(Nanos::from_millis(10));
        assert!(!world.is_up() && world.cancels() == 0);
        world.pass(Nanos::from_secs(3));
        assert!(world.is_up());
        assert_eq!(world.cancels(), 1);
    });
}

#[test]
fn the_orders_of_a_strategy_that_left_are_cancelled_again_when_the_session_broke() {
    with_world(|world| {
        world.gateway.client_mut().detach(world.slot);
        world.pass(Nanos::from_millis(10));
        assert_eq!(world.cancels(), 1);
        // Whether it arrived nobody says.
        world.act("cut", "");
        world.pass(Nanos::from_secs(3));
        assert!(world.is_up());
        assert_eq!(world.cancels(), 2);
    });
}

#[test]
fn a_successor_s_orders_stay_when_the_session_breaks() {
    with_world(|world| {
        world.gateway.client_mut().detach(world.slot);
        world.pass(Nanos::from_millis(10));
        world.act("er", "4 4 X2 0 0 11={2}|41={1}");
        world.act("status", "plain");
        assert!(world.gateway.client_mut().attach(world.slot, Owner::default()));
        // The same process, which sends once more.
        world.runner.strategy_mut().sent = None;
        world.pass(Nanos::from_millis(50));
        assert_eq!((world.venue().count("|35=D|"), world.cancels()), (2, 1));
        world.act("cut", "");
        world.pass(Nanos::from_secs(3));
        assert!(world.is_up());
        assert_eq!(world.cancels(), 1);
    });
}

#[test]
fn what_was_killed_without_a_session_is_cancelled_in_the_next_one() {
    with_world(|world| {
        world.act("cut", "");
        assert!(world.gateway.kill(KillScope::All, KillCause::Command).unwrap());
        assert_eq!(world.cancels(), 0);
        world.pass(Nanos::from_secs(3));
        assert!(world.is_up());
        assert_eq!(world.cancels(), 1);
    });
}

#[test]
fn an_instrument_that_the_feed_defines_otherwise_is_stopped() {
    with_world(|world| {
        world.gateway.core.market.feed_mut().contradicted = Some(InstrumentId(0));
        world.pass(Nanos::from_millis(5));
        let latched = world.gateway.kill_switch().latched().next().unwrap();
        assert_eq!(latched.scope, KillScope::Instrument(InstrumentId(0)));
        assert_eq!(latched.cause, KillCause::ReferenceData);
        assert_eq!(world.cancels(), 1);
    });
}
