//! A strategy that quotes, and what the gateway is asked for.

use taut_market_data::Event;
use taut_oms::OrderState;
use taut_sys::Clock;
use taut_types::Nanos;

use super::*;
use crate::client::Client;
use crate::fused::FusedClient;
use crate::message::{OrderUpdate, Request, RequestKind, UpdateKind};
use crate::strategy::Strategy;
use crate::testing::Known;

/// Quotes what it is told to with each timer.
#[derive(Default)]
struct Quoter {
    quotes: Quotes,
    all: Vec<Quote>,
    stops: bool,
    told: MassQuoted,
}

impl Strategy for Quoter {
    fn on_market(&mut self, _: Nanos, _: &Event, _: &mut impl Trading) {}

    fn on_timer(&mut self, _: Nanos, trading: &mut impl Trading) {
        if self.stops {
            assert!(self.quotes.cancel(trading));
        } else {
            self.told = self.quotes.send(trading, &self.all);
        }
    }
}

/// A strategy in the thread of a gateway with a hundred instruments.
struct World {
    known: Known,
    client: FusedClient<Quoter>,
}

impl World {
    fn new() -> Self {
        Self { known: Known::new(100), client: FusedClient::new(Quoter::default()) }
    }

    /// Quotes these; what it was told, and the requests that went out.
    fn quote(&mut self, all: Vec<Quote>) -> (MassQuoted, Vec<Request>) {
        self.client.strategy_mut().all = all;
        let requests = self.turn();
        (self.client.strategy().told, requests)
    }

    fn turn(&mut self) -> Vec<Request> {
        self.client.timer(&Clock::vdso(), &self.known, Nanos(1));
        let requests: Vec<Request> = std::iter::from_fn(|| self.client.next_request()).collect();
        requests.iter().for_each(|request| self.known.request(request));
        requests
    }

    /// The venue says that of the order of this side this much has traded, and where it stands.
    fn update(&mut self, instrument: u32, side: Side, state: OrderState, traded: i64) {
        let id = self.client.strategy().quotes.order(InstrumentId(instrument), side);
        let id = id.expect("an order");
        let order = *self.known.orders.iter().find(|order| order.id == id).expect("it is open");
        let lots = if order.lots_asked == Lots::ZERO { order.terms.lots } else { order.lots_asked };
        self.known.update(&OrderUpdate {
            id,
            version: order.version + 1,
            instrument: order.terms.instrument,
            account: order.terms.account,
            side,
            kind: UpdateKind::Accepted,
            state,
            lots_open: Lots(lots.0 - traded),
            lots_filled: Lots(traded),
            price: order.price_asked,
            lots,
            price_asked: order.price_asked,
            lots_asked: lots,
            exchange_time: Nanos::ZERO,
        });
    }
}

fn quote(instrument: u32, bid: i64, ask: i64) -> Quote {
    let at = |price| (price > 0).then_some((Price(price), Lots(5)));
    Quote { instrument: InstrumentId(instrument), bid: at(bid), ask: at(ask) }
}

fn kinds(requests: &[Request]) -> Vec<RequestKind> {
    requests.iter().map(|request| request.kind).collect()
}

#[test]
fn each_side_gets_an_order_and_what_has_not_changed_is_not_sent_again() {
    let mut world = World::new();
    let all: Vec<_> = (0..100).map(|at| quote(at, 100, 110)).collect();
    let (told, requests) = world.quote(all.clone());
    assert_eq!((told.id, told.requests, told.unchanged, told.waiting), (1, 200, 0, 0));
    assert!(requests.iter().all(|it| matches!(it.kind, RequestKind::Create(_)) && it.tag == 1));
    let again = world.quote(all.clone());
    assert_eq!((again.0.unchanged, again.0.requests, again.1.len()), (200, 0, 0));
    // One side of one of them moves.
    let mut moved = all;
    moved[42] = quote(42, 98, 110);
    let (told, requests) = world.quote(moved);
    assert_eq!((told.id, told.requests, told.unchanged), (3, 1, 199));
    assert_eq!(kinds(&requests), [RequestKind::Modify { price: Price(98), lots: Lots(5) }]);
    let quotes = &world.client.strategy().quotes;
    assert_eq!(quotes.id(InstrumentId(42), Side::Buy), Some(3));
    assert_eq!(quotes.id(InstrumentId(42), Side::Sell), Some(1));
    assert_eq!(quotes.order(InstrumentId(42), Side::Buy), Some(requests[0].id));
}

#[test]
fn a_side_that_is_quoted_no_more_is_cancelled_and_can_come_again_once_it_is() {
    let mut world = World::new();
    world.quote(vec![quote(7, 100, 110)]);
    world.update(7, Side::Buy, OrderState::Working, 0);
    let (told, requests) = world.quote(vec![quote(7, 0, 110)]);
    assert_eq!((kinds(&requests), told.unchanged), (vec![RequestKind::Cancel], 1));
    let (told, requests) = world.quote(vec![quote(7, 0, 110)]);
    assert_eq!((requests.len(), told.unchanged), (0, 2), "the cancel is under way");
    // Both at once would be twice the quantity.
    let (told, requests) = world.quote(vec![quote(7, 100, 110)]);
    assert_eq!((requests.len(), told.waiting), (0, 1));
    world.update(7, Side::Buy, OrderState::Cancelled, 0);
    let (told, requests) = world.quote(vec![quote(7, 100, 110)]);
    assert_eq!((told.requests, requests.len()), (1, 1));
    assert!(matches!(requests[0].kind, RequestKind::Create(_)));
}

#[test]
fn what_has_traded_is_filled_up_by_the_next_quote() {
    let mut world = World::new();
    world.quote(vec![quote(7, 100, 110)]);
    world.update(7, Side::Sell, OrderState::Working, 2);
    let (_, requests) = world.quote(vec![quote(7, 100, 110)]);
    assert_eq!(kinds(&requests), [RequestKind::Modify { price: Price(110), lots: Lots(7) }]);
    // All of it: another order takes its place.
    world.update(7, Side::Sell, OrderState::Filled, 7);
    let (told, requests) = world.quote(vec![quote(7, 100, 110)]);
    assert!(matches!(requests[..], [Request { kind: RequestKind::Create(_), .. }]));
    assert_eq!(told.unchanged, 1);
}

#[test]
fn what_cannot_be_sent_waits_and_the_same_quotes_again_ask_for_the_rest() {
    let mut world = World::new();
    world.known.is_order_entry_up = false;
    let all: Vec<_> = (0..100).map(|at| quote(at, 100, 110)).collect();
    let (told, requests) = world.quote(all.clone());
    assert_eq!((told.waiting, requests.len()), (200, 0), "there is no session");
    world.known.is_order_entry_up = true;
    let twice: Vec<_> = (0..200).map(|at| quote(at, 100, 110)).collect();
    world.known.instruments = Known::new(200).instruments;
    // A packet's worth of requests is what waits at once.
    let (told, requests) = world.quote(twice.clone());
    assert_eq!((told.requests, told.waiting, requests.len()), (256, 144, 256));
    let (told, requests) = world.quote(twice);
    assert_eq!((told.requests, told.unchanged, requests.len()), (144, 256, 144));
    let mut ids: Vec<_> = world.known.orders.iter().map(|order| order.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 400);
}

#[test]
fn quotes_are_taken_up_after_a_restart_and_out_of_the_market_at_the_end() {
    let mut world = World::new();
    world.quote((0..3).map(|at| quote(at, 100, 110)).collect());
    let mut quotes = Quotes::default();
    world.known.orders.iter().for_each(|order| quotes.adopt(order));
    world.client.strategy_mut().quotes = quotes;
    let (told, requests) = world.quote(vec![quote(1, 100, 110), quote(2, 100, 110)]);
    assert_eq!((told.id, told.unchanged, requests.len()), (2, 4, 0));
    world.client.strategy_mut().stops = true;
    assert_eq!(kinds(&world.turn()), [RequestKind::Cancel; 6]);
    assert!(world.turn().is_empty(), "all of them are asked for");
}

/// An order that was over goes on, and its side is quoted anew already.
#[test]
fn an_order_of_a_side_that_has_another_one_is_cancelled() {
    let mut world = World::new();
    world.quote(vec![quote(0, 100, 110)]);
    let own: Vec<ClientOrderId> = world.known.orders.iter().map(|order| order.id).collect();
    let other = OpenOrder { id: ClientOrderId(own[0].0 + 1_000), ..world.known.orders[0] };
    world.known.orders.push(other);
    let quotes = &mut world.client.strategy_mut().quotes;
    quotes.adopt(&other);
    assert_eq!(quotes.orders().collect::<Vec<_>>(), [own[0], own[1], other.id]);
    let (told, requests) = world.quote(vec![quote(0, 100, 110)]);
    assert_eq!((told.unchanged, kinds(&requests)), (2, vec![RequestKind::Cancel]));
    assert_eq!(requests[0].id, other.id);
    assert!(world.quote(vec![quote(0, 100, 110)]).1.is_empty(), "its cancel is under way");
    world.known.orders.retain(|order| order.id != other.id);
    world.quote(vec![quote(0, 100, 110)]);
    assert!(world.client.strategy().quotes.orders().eq(own));
}
