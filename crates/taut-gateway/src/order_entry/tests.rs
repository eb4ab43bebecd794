//! Reports that a venue sends again, over a real session.

mod kill;

use std::io::Read;
use std::net::{SocketAddr, TcpStream};

use taut_fix::{
    BeginString, CompId, Event, ExecType, ExecutionReport, Extras, FieldIndex, MemoryStore,
    OrdStatus, OrderCancelReject, ResponseTo, Role, Session, SessionConfig, ShortText,
    TypedMessage,
};
use taut_io::{Completion, EpollKernel, EventLoop, LoopConfig};
use taut_ipc::Segment;
use taut_lat::StageOffsets;
use taut_oms::{Answers, Reference, Trouble};
use taut_sys::TickMapping;
use taut_testkit::{DEADLINE, tcp_listener, until};
use taut_types::{Qty, Side, StrategyId, Symbol, UserId};

use super::fix44::Fix44;
use super::*;
use crate::config::{GatewayConfig, Transport};
use crate::error::GatewayError;
use crate::message::{Request, RequestKind, UpdateKind};
use crate::regions::Regions;

const MONO: Nanos = Nanos::from_secs(1_000);
const UTC_OFFSET: Nanos = Nanos::from_secs(1_340_285_400);
const NOW: Now = Now { mono: MONO, utc: Nanos(MONO.0 + UTC_OFFSET.0) };
const LOOP: LoopConfig = LoopConfig {
    sources_max: 2,
    timers_max: 2,
    posts_max: 1,
    write_bytes_max: 64 * 1024,
    writes_max: 256,
    receives_per_visit: 4,
    completions_per_turn: 16,
};

fn clock() -> Clock {
    let words = [0, 0, MONO.0.cast_unsigned(), 0, UTC_OFFSET.0.cast_unsigned()];
    Clock::new(TickMapping::from_words(words))
}

fn name(text: &str) -> CompId {
    CompId::new(text.as_bytes()).unwrap()
}

/// Shares that are traded so many at a time.
fn instrument(lot: i64) -> Instrument {
    with_lot(Qty::whole(lot))
}

fn with_lot(lot: Qty) -> Instrument {
    let (symbol, tick) = (Symbol::new(b"AAPL").unwrap(), Price::parse(b"0.01").unwrap());
    Instrument::new(InstrumentId(0), symbol, tick, lot).unwrap()
}

fn config(order_address: SocketAddr, instrument: Instrument) -> GatewayConfig {
    let SocketAddr::V4(order_address) = order_address else { panic!("{order_address}") };
    GatewayConfig {
        instruments: vec![instrument],
        order_address,
        sender_comp_id: name("GATEWAY"),
        target_comp_id: name("VENUE"),
        heartbeat_interval: Nanos::from_secs(5),
        session: SessionSettings::default(),
        order_capacity: 8,
        risk: GatewayConfig::default_risk().into(),
        hot: false,
        keeps_warm: false,
    }
}

/// A buy order at 10.
fn limit(lots: i64) -> OrderTerms {
    OrderTerms::limit(InstrumentId(0), Side::Buy, Price::parse(b"10.00").unwrap(), Lots(lots))
}

/// An order session that is logged on to a venue of a few lines.
struct Pair<'m> {
    events: EventLoop<EpollKernel>,
    orders: OrderSession<Fix44>,
    venue: Session<MemoryStore>,
    recorders: Recorders<'m>,
    told: Vec<OrderUpdate>,
    /// The venue's end of the connection.
    line: TcpStream,
}

impl<'m> Pair<'m> {
    fn new(segment: &'m Segment) -> Self {
        Self::trading(segment, instrument(1))
    }

    fn trading(segment: &'m Segment, instrument: Instrument) -> Self {
        Self::with_room(segment, instrument, 8)
    }

    fn with_room(segment: &'m Segment, instrument: Instrument, orders: usize) -> Self {
        let (listener, address) = tcp_listener();
        let config = GatewayConfig { order_capacity: orders, ..config(address, instrument) };
        let mut events = EventLoop::new(EpollKernel::new(2).unwrap(), LOOP).unwrap();
        let fix44 = Fix44::new(&config).unwrap();
        let orders = OrderSession::connect(&config, fix44, events.io(), NOW).unwrap();
        let (line, _) = listener.accept().unwrap();
        line.set_read_timeout(Some(DEADLINE)).unwrap();
        let (sender, target) = (config.target_comp_id, config.sender_comp_id);
        let acceptor = SessionConfig::new(Role::Acceptor, BeginString::Fix44, sender, target);
        let mut venue = Session::new(acceptor, MemoryStore::new(256, 65_536));
        let recorders = Recorders::new(&Regions::of(segment).unwrap()).unwrap();
        let mut connected = false;
        until("a connection", DEADLINE, || {
            let mut note = |_: &mut Io<EpollKernel>, completion: Completion<'_>| {
                connected |= matches!(completion, Completion::Connected { .. });
            };
            events.poll(&mut note).unwrap();
            connected
        });
        venue.connect(NOW);
        let told = Vec::new();
        let mut pair = Self { events, orders, venue, recorders, told, line };
        pair.orders.connected(pair.events.io(), &clock(), &mut pair.told);
        let (mut logon, mut answer) = ([0; 1024], [0; 1024]);
        let length = pair.line.read(&mut logon).unwrap();
        let mut index = FieldIndex::with_capacity(128);
        let progress = pair.venue.handle_bytes(NOW, &logon[..length], &mut index);
        assert_eq!(progress.event, Some(Event::LoggedOn));
        while let Some(range) = pair.venue.poll_transmit(NOW, &mut answer) {
            pair.take(&answer[range]);
        }
        // It is asked where all orders stand, and what it holds: this venue knows neither.
        for question in [b"AF", b"AN"] {
            let length = pair.line.read(&mut logon).unwrap();
            let asked = pair.venue.handle_bytes(NOW, &logon[..length], &mut index).event;
            let Some(Event::Application { sequence, .. }) = asked else { panic!("{asked:?}") };
            assert!(!pair.orders.is_active());
            pair.venue.refuse_type(sequence, question);
            while let Some(range) = pair.venue.poll_transmit(NOW, &mut answer) {
                pair.take(&answer[range]);
            }
        }
        assert!(pair.orders.is_active());
        pair
    }

    /// The gateway receives these bytes.
    fn take(&mut self, mut bytes: &[u8]) {
        let Self { events, orders, recorders, told, .. } = self;
        while orders.receive(events.io(), (&clock(), MONO), &mut bytes, recorders, told) {}
    }

    /// The venue sends a message, maybe one that may have been sent before.
    fn send<M: TypedMessage>(&mut self, poss_resend: bool, message: &M) {
        let mut out = [0; 1024];
        let extras = Extras { poss_resend, ..Extras::default() };
        let range = self
            .venue
            .send(NOW, M::MSG_TYPE, extras, &mut out, |writer| message.encode_body(writer))
            .unwrap();
        self.take(&out[range]);
    }

    fn remember(&mut self, id: u64, terms: &OrderTerms) {
        let (id, kind) = (ClientOrderId(id), RequestKind::Create(*terms));
        let (origin, offsets) = (Nanos::ZERO, StageOffsets::ZERO);
        let owner = Owner::of(id);
        let request = Request { id, owner, kind, only_if: None, tag: 0, origin, offsets };
        self.orders.remember(&request, terms, MONO);
    }

    fn order(&mut self, id: u64, lots: i64) {
        self.remember(id, &limit(lots));
    }

    fn cancel(&mut self, id: u64) {
        let id = ClientOrderId(id);
        assert!(self.orders.send_cancel(self.events.io(), &clock(), id).is_none());
    }
}

/// The ClOrdID of a request of an order.
fn request(order: u64, version: u16) -> ShortText {
    fix::cl_ord_id(RequestId { order: ClientOrderId(order), version })
}

fn text<const N: usize>(text: &str) -> taut_fix::InlineText<N> {
    taut_fix::InlineText::new(text.as_bytes()).unwrap()
}

/// A report of order 7, which is for 10.
fn report(
    exec_id: &str,
    exec_type: ExecType,
    (last, total): (i64, i64),
) -> ExecutionReport<'static> {
    ExecutionReport {
        order_id: text("V1"),
        exec_id: text(exec_id),
        exec_ref_id: None,
        exec_trans_type: None,
        account: None,
        price: None,
        mass_status: None,
        charges: taut_fix::Charges::NONE,
        cl_ord_id: Some(request(7, 1).into()),
        orig_cl_ord_id: None,
        exec_type,
        ord_status: OrdStatus::PartiallyFilled,
        symbol: Some(text("AAPL")),
        side: Side::Buy,
        order_qty: Some(Qty::whole(10)),
        last_qty: Qty::whole(last),
        last_price: (last > 0).then_some(Price::parse(b"10.00").unwrap()),
        leaves_qty: Qty::whole(10 - total),
        cum_qty: Qty::whole(total),
        avg_price: Some(Price(0)),
        ord_rej_reason: None,
        text: b"",
        transact_time: None,
    }
}

/// All that a report can change.
fn state(pair: &Pair<'_>) -> (Lots, Answers, usize) {
    (
        pair.orders.risk().position(InstrumentId(0), AccountId(0)),
        *pair.orders.table().answers(),
        pair.told.len(),
    )
}

#[test]
fn a_venue_of_a_stream_is_not_spoken_to_in_messages() {
    let (_listener, address) = tcp_listener();
    let mut config = config(address, instrument(1));
    let url = "ws://venue/".to_owned();
    config.session.transport = Transport::WebSocket { url, tls: None };
    let mut events = EventLoop::new(EpollKernel::new(2).unwrap(), LOOP).unwrap();
    let fix44 = Fix44::new(&config).unwrap();
    let refused = OrderSession::connect(&config, fix44, events.io(), NOW).err();
    assert_eq!(refused, Some(GatewayError::Transport));
}

#[test]
fn a_rehearsal_goes_all_the_way_and_leaves_nothing_behind() {
    let segment = Segment::create("rehearsal", &Regions::LAYOUT).unwrap();
    let mut pair = Pair::new(&segment);
    let (first, terms) = (ClientOrderId::of(UserId(0), StrategyId(0), 7), limit(10));
    let market = Reference { bid: Some(terms.price), ask: None, last: None };
    pair.order(first.0, 10);
    let of = |pair: &Pair<'_>| {
        let orders = &pair.orders;
        let open_lots = orders.risk.open_lots(InstrumentId(0), AccountId(0), Side::Buy);
        let counted = (orders.risk_rejects, orders.refused, *orders.table.answers());
        (orders.handler.last_message(), orders.handler.unsent().to_vec(), open_lots, counted)
    };
    let before = of(&pair);
    let next = ClientOrderId(first.0 + 1);
    for _ in 0..100_000 {
        pair.orders.rehearse(&clock(), None, |_| market);
    }
    let rehearsed = pair.orders.prepare(&clock(), MONO, (next, 0), &terms, market, true);
    assert!(rehearsed.is_ok());
    assert_eq!(of(&pair), before);
    // What is rehearsed can be sent then: the rates had not been touched.
    let prepared = pair.orders.prepare(&clock(), MONO, (next, 0), &terms, market, false);
    assert!(prepared.is_ok());
    assert_eq!(pair.orders.handler.last_message(), before.0 + 1);
    assert_eq!(pair.orders.handler.unsent().windows(5).filter(|it| it == b"\x0135=D").count(), 1);
}

#[test]
fn a_fill_that_is_sent_again_counts_once() {
    let segment = Segment::create("resent-fill", &Regions::LAYOUT).unwrap();
    let mut pair = Pair::new(&segment);
    pair.order(7, 10);
    pair.send(false, &report("E1", ExecType::New, (0, 0)));
    pair.send(false, &report("E2", ExecType::Trade, (4, 4)));
    let before = state(&pair);
    assert_eq!((before.0, before.1.fills, before.2), (Lots(4), 1, 2));
    pair.send(true, &report("E1", ExecType::New, (0, 0)));
    pair.send(true, &report("E2", ExecType::Trade, (4, 4)));
    assert_eq!((state(&pair), pair.orders.reports.repeated()), (before, 2));
}

#[test]
fn a_fill_that_is_new_counts_although_it_may_have_been_sent_before() {
    let segment = Segment::create("new-fill", &Regions::LAYOUT).unwrap();
    let mut pair = Pair::new(&segment);
    pair.order(7, 10);
    pair.send(true, &report("E1", ExecType::New, (0, 0)));
    pair.send(true, &report("E2", ExecType::Trade, (4, 4)));
    // As much again, at the same price: only the id and the total tell it from the first.
    pair.send(true, &report("E3", ExecType::Trade, (4, 8)));
    pair.send(true, &report("E4", ExecType::Trade, (2, 10)));
    let (position, answers, told) = state(&pair);
    assert_eq!((position, answers.acks, answers.fills, told), (Lots(10), 1, 3, 4));
    assert_eq!(pair.orders.reports.repeated(), 0);
}

#[test]
fn a_fill_whose_id_is_forgotten_is_known_by_what_has_traded() {
    let segment = Segment::create("forgotten-fill", &Regions::LAYOUT).unwrap();
    let mut pair = Pair::new(&segment);
    pair.order(7, 10);
    pair.send(false, &report("E1", ExecType::New, (0, 0)));
    pair.send(false, &report("E2", ExecType::Trade, (4, 4)));
    let forgotten = |exec_id| report(exec_id, ExecType::Trade, (4, 4));
    let before = state(&pair);
    // As if under another name, which is all the same to who has forgotten the first.
    pair.send(true, &forgotten("E9"));
    assert_eq!((state(&pair), pair.orders.reports.repeated()), (before, 1));
}

#[test]
fn a_refused_cancel_that_is_sent_again_answers_no_other_cancel() {
    let segment = Segment::create("resent-reject", &Regions::LAYOUT).unwrap();
    let mut pair = Pair::new(&segment);
    pair.order(7, 10);
    pair.send(false, &report("E1", ExecType::New, (0, 0)));
    let refused = OrderCancelReject {
        order_id: text("V1"),
        cl_ord_id: request(7, 2).into(),
        orig_cl_ord_id: Some(request(7, 1).into()),
        ord_status: OrdStatus::New,
        response_to: ResponseTo::CancelRequest,
        reason: None,
        text: b"",
    };
    pair.cancel(7);
    pair.send(false, &refused);
    pair.send(true, &refused);
    pair.cancel(7);
    pair.send(true, &refused);
    let answers = *pair.orders.table().answers();
    assert_eq!((answers.cancel_requests, answers.cancel_rejects, answers.unanswered()), (2, 1, 1));
    assert_eq!(pair.orders.reports.repeated(), 2);
}

#[test]
fn what_a_report_says_in_units_counts_in_lots() {
    let segment = Segment::create("lots", &Regions::LAYOUT).unwrap();
    let mut pair = Pair::trading(&segment, instrument(100));
    pair.order(7, 10);
    let shares = |exec_id, last_qty, cum_qty| ExecutionReport {
        order_qty: Some(Qty::whole(1_000)),
        leaves_qty: Qty::whole(1_000 - cum_qty),
        ..report(exec_id, ExecType::Trade, (last_qty, cum_qty))
    };
    pair.send(false, &report("E1", ExecType::New, (0, 0)));
    pair.send(false, &shares("E2", 400, 400));
    assert_eq!(state(&pair).0, Lots(4));
    let told = pair.told.last().unwrap();
    assert_eq!(
        (told.lots_open, matches!(told.kind, UpdateKind::Filled { lots: Lots(4), .. })),
        (Lots(6), true)
    );
    // Sent again, with an id that is forgotten: the total in lots tells.
    pair.send(true, &shares("E9", 400, 400));
    assert_eq!((state(&pair).0, pair.orders.reports.repeated()), (Lots(4), 1));
    // Half a lot is kept, exactly, and told.
    pair.send(false, &shares("E3", 50, 450));
    let order = pair.orders.table().get(ClientOrderId(7)).unwrap();
    assert_eq!((order.traded.lots, order.traded.rest), (Lots(4), Qty::whole(50)));
    let told = pair.told.last().unwrap();
    assert_eq!(told.kind, UpdateKind::Quarantined(Trouble::PartOfLot));
    pair.send(false, &shares("E4", 50, 500));
    assert_eq!(state(&pair).0, Lots(5));
}

#[test]
fn quantities_are_decimals_of_the_lot() {
    let segment = Segment::create("fractions", &Regions::LAYOUT).unwrap();
    let mut pair = Pair::trading(&segment, with_lot(Qty { mantissa: 1, decimals: 5 }));
    let qty = |text: &str| Qty::parse(text.as_bytes()).unwrap();
    let limit = limit(100_012);
    let OrderSession { handler, instruments, accounts, .. } = &mut pair.orders;
    let request = RequestId::create(ClientOrderId(7));
    let message = message_of(instruments, accounts, request, &limit).unwrap();
    assert_eq!(handler.create(NOW, &message, false), Ok(()));
    let wire = String::from_utf8(pair.orders.handler.unsent().to_vec()).unwrap();
    assert!(wire.contains("\x0138=1.00012\x01"), "{wire}");
    pair.remember(7, &limit);
    let fill = |exec_id, last, leaves, cum| ExecutionReport {
        order_qty: Some(qty("1.00012")),
        last_qty: qty(last),
        leaves_qty: qty(leaves),
        cum_qty: qty(cum),
        ..report(exec_id, ExecType::Trade, (1, 1))
    };
    pair.send(false, &report("E1", ExecType::New, (0, 0)));
    pair.send(false, &fill("E2", "0.00012", "1", "0.00012"));
    assert_eq!((state(&pair).0, pair.told.last().unwrap().lots_open), (Lots(12), Lots(100_000)));
    pair.send(false, &fill("E3", "1", "0", "1.00012"));
    assert_eq!((state(&pair).0, pair.told.last().unwrap().lots_open), (Lots(100_012), Lots(0)));
    pair.send(false, &fill("E4", "0.000001", "0", "1.000121"));
    let order = pair.orders.table().get(ClientOrderId(7)).unwrap();
    assert_eq!((order.traded.lots, order.traded.rest), (Lots(100_012), qty("0.000001")));
}
