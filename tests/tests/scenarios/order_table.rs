//! Every request is answered once, and gateway, strategy and venue agree on what happened.

use std::collections::BTreeMap;

use taut_gateway::{
    FusedClient, GatewayCounters, OrderUpdate, Refusal, Regions, Strategy, Trading, UpdateKind,
};
use taut_ipc::Segment;
use taut_market_data::{BestPrices, Event, EventKind};
use taut_oms::VenueReject;
use taut_tests::ledger::{Account, Ledger};
use taut_tests::live::{Outcome, fused, split};
use taut_tests::lockstep::{Conditions, Lockstep};
use taut_tests::setup::{synthetic_flow, venue_config};
use taut_types::{
    ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderTerms, OrderType, Price, Qty, Side,
    TimeInForce,
};
use taut_venue::{VenueConfig, VenueCounters};

const ORDERS: u64 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };
const STEPS: u32 = if cfg!(debug_assertions) { 800 } else { 5_000 };

/// What must hold when everything has come to rest.
fn check(gateway: &GatewayCounters, venue: &VenueCounters, account: &Account, position: Lots) {
    println!("{gateway:?}\n{venue:?}");
    assert_eq!(gateway.orders, gateway.acks + gateway.order_rejects);
    assert_eq!(gateway.cancel_requests, gateway.cancels + gateway.cancel_rejects);
    assert_eq!(gateway.unanswered, 0);
    assert_eq!(gateway.ticks + gateway.recovered, venue.published);

    // The venue's account of the session.
    assert_eq!(venue.orders, gateway.orders);
    assert_eq!(venue.order_rejects, gateway.order_rejects);
    assert_eq!(venue.fills, gateway.fills);
    assert_eq!(venue.cancel_requests, gateway.cancel_requests);
    assert_eq!(venue.cancels, gateway.cancels);
    assert_eq!(venue.cancel_rejects, gateway.cancel_rejects);
    assert_eq!((venue.sessions, venue.cancels_on_disconnect), (1, 0));
    let answers = gateway.acks + gateway.order_rejects + gateway.cancels + gateway.cancel_rejects;
    let asked = gateway.status_reports;
    assert_eq!(venue.reports, answers + gateway.fills + gateway.expired + asked);
    assert_eq!((asked, gateway.foreign_reports, gateway.troubles), (1, 0, 0));

    // The strategy's.
    let told = |kind: UpdateKind| account.count(|other| *other == kind);
    // The book may be live before the session is logged on.
    let too_early = told(UpdateKind::Refused(Refusal::NotConnected));
    let too_late = told(UpdateKind::Refused(Refusal::NotWorking));
    assert_eq!(account.orders, gateway.orders + gateway.risk_rejects + too_early);
    assert_eq!(account.cancels, gateway.cancel_requests + too_late);
    assert_eq!(gateway.refused, too_early + too_late);
    assert_eq!(account.fills, gateway.fills);
    assert_eq!(told(UpdateKind::Accepted), gateway.acks);
    let rejected = account.count(|kind| matches!(kind, UpdateKind::Rejected(_)));
    assert_eq!(rejected, gateway.order_rejects);
    assert_eq!(told(UpdateKind::Cancelled), gateway.cancels);
    let cancel_rejected = account.count(|kind| matches!(kind, UpdateKind::CancelRejected(_)));
    assert_eq!(cancel_rejected, gateway.cancel_rejects);
    // Each with its reason: a price off the tick, and a cancel that came too late.
    assert_eq!(told(UpdateKind::Rejected(VenueReject::Price)), gateway.rejected_price);
    assert_eq!(told(UpdateKind::CancelRejected(VenueReject::TooLate)), gateway.rejected_too_late);
    assert_eq!(gateway.rejected_price, gateway.order_rejects);
    assert_eq!(gateway.rejected_too_late, gateway.cancel_rejects);
    assert_eq!(told(UpdateKind::Expired), gateway.expired);
    let refused = account.count(|kind| matches!(kind, UpdateKind::Refused(_)));
    assert_eq!(refused, gateway.risk_rejects + gateway.refused);

    // The position is the sum of the fills.
    assert_eq!(account.position, position);
}

fn check_live(outcome: &Outcome) {
    check(&outcome.gateway, &outcome.venue, &outcome.account, outcome.position);
    assert_eq!(outcome.strategy_position, outcome.position);
}

fn enough(counters: &GatewayCounters) -> bool {
    counters.orders >= ORDERS && counters.fills >= 100 && counters.cancels >= 100
}

#[test]
fn a_fused_session_adds_up() {
    let segment = Segment::create("orders-fused", &Regions::LAYOUT).expect("a segment");
    check_live(&fused(&Regions::of(&segment).expect("regions"), 31, enough));
}

#[test]
fn a_split_session_adds_up() {
    let segment = Segment::create("orders-split", &Regions::LAYOUT).expect("a segment");
    check_live(&split(&Regions::of(&segment).expect("regions"), 32, enough));
}

/// A strategy that does everything that it should not, and some things too late.
#[derive(Default)]
struct Unruly {
    top: BestPrices,
    turn: u64,
    stopped: bool,
    /// Its orders that may still trade, with their prices.
    open: BTreeMap<ClientOrderId, Price>,
}

impl Unruly {
    /// One of many kinds of orders, most of which are no good.
    fn next_order(&mut self) -> Option<OrderTerms> {
        use TimeInForce::{FillOrKill, GoodTillCancel, ImmediateOrCancel};
        let ((bid, _), (ask, _)) = (self.top.bid?, self.top.ask?);
        self.turn += 1;
        let side = if (self.turn / 8).is_multiple_of(2) { Side::Buy } else { Side::Sell };
        let (near, far) = if side == Side::Buy { (bid, ask) } else { (ask, bid) };
        let (order_type, time_in_force, price, lots) = match self.turn % 8 {
            // Rests at the touch, and may be filled in parts.
            0..=2 => (OrderType::Limit, GoodTillCancel, near, 9),
            // Trades what there is and expires.
            3 => (OrderType::Limit, ImmediateOrCancel, far, 300),
            4 => (OrderType::Market, ImmediateOrCancel, far, 2),
            // Cannot be filled whole at this price, or just so.
            5 => (OrderType::Limit, FillOrKill, far, 200),
            // Off the tick, which the venue refuses.
            6 => (OrderType::Limit, GoodTillCancel, Price(near.0 + 1_000_000), 1),
            // Far off the market, which the gateway refuses.
            _ => (OrderType::Limit, GoodTillCancel, Price(near.0 / 2), 1),
        };
        let limit = OrderTerms::limit(InstrumentId(0), side, price, Lots(lots));
        Some(OrderTerms { order_type, time_in_force, ..limit })
    }
}

impl Strategy for Unruly {
    fn on_market(&mut self, _now: Nanos, event: &Event, trading: &mut impl Trading) {
        match event.kind {
            EventKind::Top(top) => self.top = top,
            // A trade at the price of an order of ours: it is too late now, at least in part.
            EventKind::Trade(trade) => {
                let hit = self.open.iter().filter(|(_, price)| **price == trade.price);
                hit.for_each(|(id, _)| assert!(trading.cancel(*id)));
            }
            _ => {}
        }
    }

    fn on_order(&mut self, _now: Nanos, update: &OrderUpdate, _trading: &mut impl Trading) {
        if update.state.is_done() {
            self.open.remove(&update.id);
        }
    }

    fn on_timer(&mut self, _now: Nanos, trading: &mut impl Trading) {
        // The oldest order goes, and nobody looks whether it is going already.
        if let Some(id) = self.open.keys().next()
            && (self.stopped || self.open.len() > 6)
        {
            assert!(trading.cancel(*id));
        }
        if !self.stopped
            && let Some(order) = self.next_order()
            && let Some(id) = trading.create(&order)
        {
            self.open.insert(id, order.price);
        }
        if !self.stopped && self.turn % 50 == 49 {
            assert!(trading.cancel(ClientOrderId(ClientOrderId::NUMBER_MAX)));
        }
    }

    fn on_stop(&mut self, _: Nanos, _: &mut impl Trading) {
        self.stopped = true;
    }

    fn is_idle(&self) -> bool {
        self.open.is_empty()
    }
}

#[test]
fn an_unruly_strategy_gets_every_kind_of_answer_and_all_adds_up() {
    check_unruly("orders-unruly", &venue_config());
}

#[test]
fn all_adds_up_where_a_lot_is_a_hundred_thousandth() {
    let shares = venue_config().instruments[0];
    let lot = Qty { mantissa: 1, decimals: 5 };
    let fractions = Instrument::new(shares.id(), shares.symbol(), shares.tick(), lot);
    let instrument = fractions.expect("an instrument");
    check_unruly(
        "orders-fractions",
        &VenueConfig { instruments: vec![instrument], ..venue_config() },
    );
}

fn check_unruly(name: &str, config: &VenueConfig) {
    let segment = Segment::create(name, &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let client = FusedClient::new(Ledger::new(Unruly::default()));
    let flow = synthetic_flow(33, 20_000);
    // The strategy's orders off the tick are the venue's to refuse.
    let conditions = Conditions { gateway_tick: Some(Price(1_000_000)), ..Conditions::default() };
    let mut pair = Lockstep::open(config, flow, conditions, &regions, client);
    (0..STEPS).for_each(|_| pair.step());
    pair.gateway.client_mut().stop();
    pair.step_until("an idle strategy", |pair| {
        pair.gateway.client().is_at_rest() && pair.gateway.counters().unanswered == 0
    });
    // What it asked for last is answered too.
    pair.step();
    pair.catch_up();
    let (gateway, venue, position) =
        (pair.gateway.counters(), pair.venue.counters(), pair.gateway.position(InstrumentId(0)));
    check(&gateway, &venue, pair.gateway.client_mut().strategy().account(), position);
    let GatewayCounters { order_rejects, risk_rejects, refused, .. } = gateway;
    let GatewayCounters { fills, cancels, cancel_rejects, expired, .. } = gateway;
    let answers = [order_rejects, risk_rejects, refused, fills, cancels, cancel_rejects, expired];
    // Reports come before packets: the gateway itself refuses nearly every cancel that is too late.
    let least = |kind: usize| if kind == 5 { 1 } else { 10 };
    assert!(answers.iter().enumerate().all(|(kind, count)| *count >= least(kind)), "{answers:?}");
}
