//! An instrument that the venue halts: the feed says so, no order leaves, and strategies know it,
//! those that attach later too.
#![forbid(unsafe_code)]

use taut_gateway::{
    Hub, OrderUpdate, Owner, Refusal, Regions, SlotId, Strategy, StrategyRegions, StrategyRunner,
    Trading, UpdateKind,
};
use taut_ipc::Segment;
use taut_market_data::{Event, EventKind, TradingStatus};
use taut_oms::RiskReject;
use taut_sys::Clock;
use taut_testkit::Deadline;
use taut_tests::lockstep::{Conditions, Lockstep, standing_at};
use taut_tests::setup::{instrument, synthetic_flow, venue_config};
use taut_types::{Lots, Nanos, OrderTerms, Side, StrategyId, TimeInForce, UserId};
use taut_venue::Now;

/// Notes what it hears; one of them sends an order with each top of the book.
#[derive(Debug, Default)]
struct Eager {
    sends: bool,
    statuses: Vec<TradingStatus>,
    refused: Vec<Refusal>,
    accepted: u64,
}

impl Strategy for Eager {
    fn on_market(&mut self, _: Nanos, event: &Event, trading: &mut impl Trading) {
        match event.kind {
            EventKind::Status(status) => {
                assert_eq!(trading.trading_status(event.instrument), Some(status));
                self.statuses.push(status);
            }
            EventKind::Top(top) if self.sends => {
                let Some((price, _)) = top.bid else { return };
                let terms = OrderTerms::limit(event.instrument, Side::Buy, price, Lots(1));
                let time_in_force = TimeInForce::ImmediateOrCancel;
                trading.create(&OrderTerms { time_in_force, ..terms });
            }
            _ => {}
        }
    }

    fn on_order(&mut self, _: Nanos, update: &OrderUpdate, _: &mut impl Trading) {
        match update.kind {
            UpdateKind::Refused(reason) => self.refused.push(reason),
            UpdateKind::Accepted => self.accepted += 1,
            _ => {}
        }
    }
}

struct Place<'m> {
    runner: StrategyRunner<'m, Eager>,
    owner: Owner,
    slot: SlotId,
}

impl<'m> Place<'m> {
    fn new(
        hub: &mut Hub<'m>,
        regions: &Regions<'m>,
        own: &StrategyRegions<'m>,
        number: u8,
    ) -> Self {
        let owner = Owner { user: UserId(0), strategy: StrategyId(number) };
        let slot = hub.add_slot(own, None).expect("a place");
        let strategy = Eager { sends: number == 1, ..Eager::default() };
        let runner = StrategyRunner::new(regions, own, None, strategy).expect("a runner");
        Self { runner, owner, slot }
    }

    fn attach(&self, hub: &mut Hub<'m>) {
        assert!(hub.attach(self.slot, self.owner));
    }

    const fn heard(&self) -> &Eager {
        self.runner.strategy()
    }

    fn poll(&mut self, now: Nanos) {
        while self.runner.poll(&Clock::new(standing_at(now))) {}
    }
}

#[test]
fn orders_are_refused_while_the_venue_halts_an_instrument_and_every_strategy_is_told() {
    let segment = Segment::create("halted", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let own = [(); 2].map(|()| Segment::create("halted", &StrategyRegions::LAYOUT));
    let own = own.map(|own| own.expect("a segment"));
    let own = own.each_ref().map(|own| StrategyRegions::of(own).expect("regions"));
    let mut hub = Hub::new(&regions).expect("a hub");
    let early = Place::new(&mut hub, &regions, &own[0], 1);
    let late = Place::new(&mut hub, &regions, &own[1], 2);
    early.attach(&mut hub);
    let flow = synthetic_flow(3, 20_000);
    let mut pair = Lockstep::open(&venue_config(), flow, Conditions::default(), &regions, hub);
    let (trading, halted) = (TradingStatus::Trading, TradingStatus::Halted);
    let set_halted = |pair: &mut Lockstep<'_, Hub<'_>>, is_halted| {
        let mono = pair.now();
        let utc = pair.gateway.clock_mut().utc_at(mono);
        pair.venue.set_halted(Now { mono, utc }, instrument().id(), is_halted).expect("the feed");
    };

    let places = &mut [early, late];
    step_until(&mut pair, places, "the first order to be taken", |[early, _]| early.accepted > 0);
    let [early, _] = places;
    assert_eq!(early.heard().statuses, [trading]);
    assert_eq!(early.heard().refused, []);

    set_halted(&mut pair, true);
    step_until(&mut pair, places, "a refusal", |[early, _]| !early.refused.is_empty());
    let [early, late] = places;
    assert_eq!(early.heard().statuses, [trading, halted]);
    let halt = Refusal::Risk(RiskReject::Halted);
    assert!(early.heard().refused.iter().all(|reason| *reason == halt));

    late.attach(pair.gateway.client_mut());
    let what = "the late one to be told";
    step_until(&mut pair, places, what, |[_, late]| !late.statuses.is_empty());
    let [early, late] = places;
    assert_eq!(late.heard().statuses, [halted]);

    set_halted(&mut pair, false);
    let accepted = early.heard().accepted;
    let what = "orders to be taken again";
    step_until(&mut pair, places, what, |[early, _]| early.accepted > accepted);
    let [early, late] = places;
    assert_eq!(early.heard().statuses, [trading, halted, trading]);
    assert_eq!(late.heard().statuses, [halted, trading]);
}

/// Everybody has his turn until what the two have heard is as the test wants it.
fn step_until(
    pair: &mut Lockstep<'_, Hub<'_>>,
    places: &mut [Place<'_>; 2],
    awaited: &str,
    done: impl Fn([&Eager; 2]) -> bool,
) {
    let deadline = Deadline::default();
    while !done(places.each_ref().map(Place::heard)) {
        pair.step();
        let now = pair.now();
        places.iter_mut().for_each(|place| place.poll(now));
        deadline.check(awaited, || format!("{:?}", pair.gateway.counters()));
    }
}
