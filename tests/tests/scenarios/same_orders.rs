//! What a strategy looks up is the same in the gateway's thread and in a process of its own: its
//! orders and its position, at every event that it is told of.

use taut_gateway::{
    Client, EventInfo, FusedClient, GatewayEvent, GatewayState, Hub, OpenOrder, OrderFilter,
    OrderUpdate, Position, Regions, Request, Strategy, StrategyRegions, StrategyRunner, TickStamps,
    Trading,
};
use taut_ipc::Segment;
use taut_market_data::{BestPrices, Event, EventKind};
use taut_sys::Clock;
use taut_tests::live::hub;
use taut_tests::lockstep::{Conditions, Lockstep, START};
use taut_tests::setup::{instrument, synthetic_flow, venue_config};
use taut_types::{AccountId, ClientOrderId, Lots, Nanos, OrderTerms, Price, Side};

/// When it begins: both of it have been told the whole book by then.
const BEGIN: Nanos = Nanos(START.0 + 50_000_000);
const STEPS: u32 = if cfg!(debug_assertions) { 250 } else { 3_000 };

/// What it finds.
#[derive(Debug, PartialEq)]
struct Found {
    at: Nanos,
    event: String,
    orders: Vec<OpenOrder>,
    position: Position,
    info: EventInfo,
}

/// Creates, modifies and cancels, many at a time, and writes down what it finds at each event.
#[derive(Default)]
struct Busy {
    sent: Vec<ClientOrderId>,
    turn: u64,
    found: Vec<Found>,
}

impl Busy {
    fn look(&mut self, at: Nanos, event: String, trading: &impl Trading) {
        let orders: Vec<_> = self.sent.iter().filter_map(|id| trading.order(*id)).collect();
        let mut visited = Vec::new();
        trading.visit_orders(&mut |order| visited.push(*order));
        visited.sort_unstable_by_key(|order| order.id.0);
        assert_eq!(visited, orders);
        let position = trading.position(instrument().id(), AccountId(0));
        // A fused gateway publishes nothing, so the two runs differ in the time of publication.
        let none = Nanos::ZERO;
        let info = EventInfo { publish_time: none, publish_time_utc: none, ..trading.info() };
        assert_eq!(info.receive_time, at);
        self.found.push(Found { at, event, orders, position, info });
    }

    fn act(&mut self, top: BestPrices, trading: &mut impl Trading) {
        let (Some((bid, _)), Some((ask, _))) = (top.bid, top.ask) else { return };
        self.turn += 1;
        let side = if self.turn.is_multiple_of(2) { Side::Buy } else { Side::Sell };
        let tick = instrument().tick().0;
        let touch = if side == Side::Buy { bid } else { ask };
        let away = |ticks: i64| Price(touch.0 - side.sign() * ticks * tick);
        let open: Vec<_> = self.sent.iter().filter_map(|id| trading.order(*id)).collect();
        match (self.turn % 7, open.iter().find(|order| order.terms.side == side)) {
            (0 | 1, _) | (_, None) if open.len() < 12 => {
                let terms = OrderTerms::limit(instrument().id(), side, away(0), Lots(5));
                self.sent.extend(trading.create(&terms));
                // It is there at once.
                let id = *self.sent.last().expect("an order");
                assert!(trading.order(id).is_some_and(|order| order.terms == terms));
            }
            (2 | 3, Some(order)) => {
                // One after the other, before the first is answered.
                assert!(trading.modify(order.id, away(1), Lots(4)));
                assert!(trading.modify(order.id, away(2), Lots(6)));
                let asked = trading.order(order.id).expect("an open order");
                assert_eq!((asked.price_asked, asked.lots_asked), (away(2), Lots(6)));
            }
            (4, Some(order)) => assert!(trading.modify(order.id, away(0), Lots(3))),
            (5, Some(order)) => {
                assert!(trading.cancel(order.id));
                assert!(trading.order(order.id).is_some_and(|it| it.is_being_cancelled()));
            }
            (6, _) if self.turn % 63 == 6 => assert!(trading.cancel_all(OrderFilter::ALL)),
            _ => {}
        }
    }
}

impl Strategy for Busy {
    fn on_market(&mut self, now: Nanos, event: &Event, trading: &mut impl Trading) {
        if now < BEGIN {
            return;
        }
        self.look(now, format!("{event:?}"), trading);
        if let EventKind::Top(top) = event.kind {
            self.act(top, trading);
        }
    }

    fn on_batch_end(&mut self, now: Nanos, trading: &mut impl Trading) {
        if now >= BEGIN {
            self.look(now, "the end of a packet".to_owned(), trading);
        }
    }

    fn on_order(&mut self, now: Nanos, update: &OrderUpdate, trading: &mut impl Trading) {
        self.look(now, format!("{update:?}"), trading);
    }

    fn on_timer(&mut self, now: Nanos, trading: &mut impl Trading) {
        if now >= BEGIN {
            self.look(now, "timer".to_owned(), trading);
        }
    }
}

/// The same strategy twice, fused and split, at one gateway. What both ask for is the same, and
/// asked for once.
struct Both<'m> {
    fused: FusedClient<Busy>,
    hub: Hub<'m>,
    runner: StrategyRunner<'m, Busy>,
}

impl Both<'_> {
    fn settle(&mut self, clock: &Clock, state: &impl GatewayState) {
        while self.runner.poll(clock) | self.hub.idle(state, clock) {}
    }
}

impl Client for Both<'_> {
    fn market(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        stamps: TickStamps,
        events: &[Event],
    ) {
        self.fused.market(clock, state, stamps, events);
        self.hub.market(clock, state, stamps, events);
        self.settle(clock, state);
    }

    fn order_update(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        update: &OrderUpdate,
    ) {
        self.fused.order_update(clock, state, now, update);
        self.hub.order_update(clock, state, now, update);
        self.settle(clock, state);
    }

    fn gateway_event(
        &mut self,
        clock: &Clock,
        state: &impl GatewayState,
        now: Nanos,
        event: &GatewayEvent,
    ) {
        self.fused.gateway_event(clock, state, now, event);
        self.hub.gateway_event(clock, state, now, event);
        self.settle(clock, state);
    }

    fn number_after(&mut self, highest: ClientOrderId) {
        self.fused.number_after(highest);
        self.hub.number_after(highest);
    }

    fn next_request(&mut self) -> Option<Request> {
        let of = |request: Request| (request.id, request.kind, request.tag);
        let fused = self.fused.next_request();
        assert_eq!(self.hub.next_request().map(of), fused.map(of));
        fused
    }

    fn timer(&mut self, clock: &Clock, state: &impl GatewayState, now: Nanos) {
        self.fused.timer(clock, state, now);
        self.hub.timer(clock, state, now);
        self.settle(clock, state);
        self.runner.timer(clock);
    }
}

#[test]
fn orders_and_positions_are_found_the_same_fused_and_split() {
    let segment = Segment::create("same-orders", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let own = Segment::create("same-orders", &StrategyRegions::LAYOUT).expect("a segment");
    let own = StrategyRegions::of(&own).expect("regions");
    let hub = hub(&regions, &own);
    let runner = StrategyRunner::new(&regions, &own, None, Busy::default()).expect("rings");
    let client = Both { fused: FusedClient::new(Busy::default()), hub, runner };
    let conditions = Conditions::default();
    let mut pair =
        Lockstep::open(&venue_config(), synthetic_flow(71, 20_000), conditions, &regions, client);
    for _ in 0..STEPS {
        pair.step();
    }
    let counters = pair.gateway.counters();
    println!("{counters:?}");
    assert!(counters.replaced > 50 && counters.fills > 20 && counters.cancels > 10);
    let Both { fused, runner, .. } = pair.gateway.client();
    let (fused, split) = (&fused.strategy().found, &runner.strategy().found);
    for (fused, split) in fused.iter().zip(split) {
        assert_eq!(fused, split);
    }
    assert_eq!(fused.len(), split.len());
    assert!(fused.iter().any(|found| found.position.lots != Lots(0)));
    let is_modified = |order: &OpenOrder| order.version > 1 && order.terms.lots == Lots(6);
    assert!(fused.iter().any(|found| found.orders.iter().any(is_modified)));
}
