//! Deribit's JSON on messages, and a session that speaks it.

mod ends;
mod mutated;

use taut_fix::CompId;
use taut_oms::{ExecId, OrderEvent, OrderState, Rate, VenueReject};
use taut_order_entry::deribit::TickSteps;
use taut_types::{InstrumentId, OrderFlags, OrderTerms, Price, Qty, Side, Symbol};

use super::*;
use crate::config::SessionSettings;
use crate::order_entry::handler::{OfAll, VenueReport};
use taut_fix_engine::Credentials;

const ORDER: ClientOrderId = ClientOrderId(7);
const START: Now = Now { mono: Nanos(1), utc: Nanos::from_secs(1_554_883_365) };
/// An open order of thirty dollars, as answers and `user.changes` have it.
const OPEN: &str = concat!(
    r#"{"order_id":"ETH-1","label":"{7}","instrument_name":"BTC-PERPETUAL","direction":"buy","#,
    r#""order_state":"open","price":43000.5,"amount":30,"filled_amount":0,"average_price":0,"#,
    r#""replaced":false,"last_update_timestamp":1554883365123}"#
);
const TRADE: &str = concat!(
    r#"{"trade_id":"ETH-T1","trade_seq":5,"order_id":"ETH-1","label":"{7}","#,
    r#""instrument_name":"BTC-PERPETUAL","direction":"buy","state":"open","price":43000.5,"#,
    r#""amount":10,"fee":1e-7,"fee_currency":"BTC","liquidity":"T","timestamp":1554883365124}"#
);

fn config() -> GatewayConfig {
    let (client_id, secret) = ("me".to_owned(), "ABCD".to_owned());
    GatewayConfig {
        instruments: vec![perpetual()],
        order_address: "127.0.0.1:9881".parse().unwrap(),
        sender_comp_id: CompId::new(b"ME").unwrap(),
        target_comp_id: CompId::new(b"DERIBIT").unwrap(),
        heartbeat_interval: Nanos::from_secs(30),
        session: SessionSettings {
            credentials: Some(Credentials::Deribit { client_id, secret }),
            ..SessionSettings::default()
        },
        order_capacity: 4,
        risk: GatewayConfig::default_risk().into(),
        hot: false,
        keeps_warm: false,
    }
}

/// A lot is ten dollars, which is a contract, too.
fn perpetual() -> Instrument {
    let (symbol, tick) = (Symbol::new(b"BTC-PERPETUAL").unwrap(), Price(500_000_000));
    Instrument::new(InstrumentId(0), symbol, tick, Qty::whole(10)).unwrap()
}

fn terms() -> OrderTerms {
    OrderTerms::limit(InstrumentId(0), Side::Buy, Price(43_000_500_000_000), Lots(3))
}

/// The order as an earlier process left it.
fn adopted() -> Order {
    Order::recovered(ORDER, &terms(), 0, (1, 1), (Lots::ZERO, 0))
}

fn label() -> String {
    String::from_utf8(RequestId::create(ORDER).to_text().to_vec()).unwrap()
}

/// A handler, and the venue's side of its connection.
struct Line {
    handler: DeribitJson,
    now: Now,
}

impl Line {
    fn new(settings: DeribitOrderSettings) -> Self {
        let mut handler = DeribitJson::new(&config(), settings).unwrap();
        handler.connected(START, [7; 32], 0);
        Self { handler, now: START }
    }

    /// A session that is up.
    fn up() -> Self {
        Self::up_with(DeribitOrderSettings::default())
    }

    fn up_with(settings: DeribitOrderSettings) -> Self {
        let mut line = Self::new(settings);
        line.log_on();
        line
    }

    /// The venue is asked the time, and has this machine's.
    fn tell_time(&mut self) {
        let ms = self.now.utc.0 / 1_000_000;
        assert!(self.next().contains("public/get_time"));
        assert!(self.next().is_empty(), "nothing is signed before the time is known");
        assert_eq!(self.answer(&ms.to_string()), []);
    }

    fn log_on(&mut self) {
        self.tell_time();
        assert!(self.next().contains("public/auth"));
        assert!(self.next().is_empty(), "nothing before there is a token");
        assert_eq!(self.answer(r#"{"refresh_token":"again","expires_in":900}"#), []);
        for method in ["public/set_heartbeat", "private/enable_cancel_on_disconnect"] {
            assert!(self.next().contains(method));
            assert_eq!(self.answer(r#""ok""#), []);
        }
        assert!(self.next().contains("private/subscribe"));
        assert!(!self.handler.is_up());
        assert_eq!(self.answer(r#"["user.changes.any.any.raw"]"#), [VenueEvent::LoggedOn]);
        assert!(self.handler.is_up());
    }

    /// Time goes by; what became due.
    fn pass(&mut self, span: Nanos) -> Option<VenueEvent> {
        self.now = Now { mono: self.now.mono + span, utc: self.now.utc + span };
        self.handler.handle_timeout(self.now)
    }

    /// What is sent next.
    fn next(&mut self) -> String {
        let text = String::from_utf8(self.handler.poll_transmit(self.now).to_vec()).unwrap();
        self.handler.clear_unsent();
        text.replace(&label(), "{7}")
    }

    fn hear(&mut self, text: &str) -> Vec<VenueEvent> {
        let text = text.replace("{7}", &label());
        let mut bytes = text.as_bytes();
        let mut events = Vec::new();
        while let Some(event) = self.handler.handle_bytes(self.now, &mut bytes) {
            events.push(event);
        }
        events
    }

    /// The answer to the last request.
    fn answer(&mut self, result: &str) -> Vec<VenueEvent> {
        let id = self.handler.last_message();
        self.hear(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result},"usIn":1}}"#))
    }

    fn fails(&mut self, code: i64) -> Vec<VenueEvent> {
        let id = self.handler.last_message();
        let error = format!(r#"{{"code":{code},"message":"no","data":{{"reason":"x"}}}}"#);
        self.hear(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error},"usIn":1}}"#))
    }

    fn changes(&mut self, trades: &str, orders: &str) -> Vec<VenueEvent> {
        let data = format!(r#"{{"instrument_name":"X","trades":[{trades}],"orders":[{orders}]}}"#);
        let channel = r#""channel":"user.changes.any.any.raw""#;
        let params = format!(r#"{{{channel},"data":{data}}}"#);
        self.hear(&format!(r#"{{"jsonrpc":"2.0","method":"subscription","params":{params}}}"#))
    }

    fn request(
        &mut self,
        request: impl FnOnce(&mut DeribitJson, Now, &OrderMessage<'_>) -> Result<(), NotSent>,
        version: u16,
        terms: &OrderTerms,
    ) -> Result<String, NotSent> {
        let (instrument, account) = (perpetual(), None);
        let named = RequestId { order: ORDER, version };
        let order = OrderMessage { request: named, instrument: &instrument, account, terms };
        request(&mut self.handler, self.now, &order)?;
        let text = String::from_utf8(self.handler.unsent().to_vec()).unwrap();
        self.handler.clear_unsent();
        let (_, from) = text.split_once("\"method\":").unwrap();
        Ok(from.replace(&label(), "{7}"))
    }

    fn create(&mut self) -> Result<String, NotSent> {
        self.request(|handler, now, order| handler.create(now, order, false), 1, &terms())
    }

    fn modify(&mut self) -> Result<String, NotSent> {
        let base = RequestId::create(ORDER);
        self.request(|handler, now, order| handler.modify(now, base, order), 2, &terms())
    }

    fn cancel(&mut self) -> Result<String, NotSent> {
        let base = RequestId::create(ORDER);
        self.request(|handler, now, order| handler.cancel(now, base, order), 3, &terms())
    }

    fn ask(&mut self) -> Result<String, NotSent> {
        self.request(|handler, now, order| handler.ask(now, order), 1, &terms())
    }
}

/// What the reports among these say.
fn said(events: &[VenueEvent]) -> Vec<Option<OrderEvent>> {
    let report = |event: &VenueEvent| match event {
        VenueEvent::Report(report) => Some(report.event),
        _ => None,
    };
    events.iter().filter_map(report).collect()
}

fn only(events: Vec<VenueEvent>) -> VenueReport {
    match events[..] {
        [VenueEvent::Report(report)] => report,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_is_signed_and_up_when_all_that_it_begins_with_is_answered() {
    let mut line = Line::new(DeribitOrderSettings::default());
    line.tell_time();
    let auth = line.handler.poll_transmit(START);
    let auth = String::from_utf8(auth.to_vec()).unwrap();
    // The venue's own vector has this time and secret; the nonce is ours.
    assert!(auth.contains(r#""timestamp":1554883365000,"nonce":"0707070707070708""#), "{auth}");
    line.handler.disconnected(START);
    line.handler.connected(START, [7; 32], 0);
    line.log_on();
    assert_eq!(line.create().map(|_| ()), Ok(()));
}

#[test]
fn what_is_signed_has_the_venues_time_whatever_this_machine_believes() {
    let mut line = Line::new(DeribitOrderSettings::default());
    line.next();
    // The way there and back takes 20 ms, and the venue is five minutes ahead.
    line.pass(Nanos::from_millis(20));
    line.answer("1554883665010");
    assert!(line.next().contains(r#""timestamp":1554883665020,"#));
    // The clock of this machine is set back by a day; the token cannot be renewed.
    line.answer(r#"{"refresh_token":"again","expires_in":900}"#);
    while !line.handler.is_up() {
        let subscribes = line.next().contains("private/subscribe");
        line.answer(if subscribes { r#"["user.changes.any.any.raw"]"# } else { r#""ok""# });
    }
    line.now.utc = line.now.utc - Nanos::from_secs(86_400);
    line.handler.handle_bytes(line.now, &mut &b"{}"[..]);
    for _ in 0..12 {
        line.pass(Nanos::from_secs(61));
        line.hear(r#"{"method":"heartbeat","params":{"type":"heartbeat"}}"#);
    }
    assert!(line.next().contains("refresh_token"));
    line.fails(13_004);
    assert!(line.next().contains("public/get_time"));
    // A venue that does not say what time it is: what it said before holds.
    assert_eq!(line.fails(10_040), []);
    let signed = line.next();
    assert!(signed.contains(r#""timestamp":1554884397020,"#), "{signed}");
}

#[test]
fn what_is_not_granted_is_no_session() {
    let mut line = Line::new(DeribitOrderSettings::default());
    line.tell_time();
    line.next();
    assert_eq!(line.fails(13_004), [VenueEvent::Broken]);
    line.handler.disconnected(START);
    line.handler.connected(START, [7; 32], 1);
    line.tell_time();
    line.next();
    line.answer(r#"{"refresh_token":"again","expires_in":900}"#);
    while !line.next().contains("private/subscribe") {}
    assert_eq!(line.answer("[]"), [VenueEvent::Broken]);
    // Nobody answers.
    assert_eq!(line.pass(Nanos::from_secs(10)), Some(VenueEvent::Broken));
}

#[test]
fn a_token_is_renewed_early_and_signed_for_when_it_is_not() {
    let mut line = Line::up();
    let hear =
        |line: &mut Line| line.hear(r#"{"method":"heartbeat","params":{"type":"heartbeat"}}"#);
    for _ in 0..11 {
        assert_eq!(line.pass(Nanos::from_secs(61)), None);
        hear(&mut line);
    }
    assert_eq!(line.next(), "");
    assert_eq!(line.pass(Nanos::from_secs(61)), None);
    assert!(line.next().contains(r#""grant_type":"refresh_token","refresh_token":"again""#));
    assert_eq!(line.fails(13_009), [VenueEvent::Broken]);
    let mut line = Line::up();
    for _ in 0..12 {
        line.pass(Nanos::from_secs(61));
        hear(&mut line);
    }
    assert!(line.next().contains("refresh_token"));
    assert_eq!(line.fails(13_004), []);
    line.tell_time();
    let signed = line.next();
    assert!(signed.contains("client_signature") && !signed.contains("0707070707070708"));
    assert_eq!(line.answer(r#"{"refresh_token":"x","expires_in":900}"#), []);
    assert!(line.handler.is_up());
}

#[test]
fn a_test_request_is_answered_and_silence_ends_the_session() {
    let mut line = Line::up();
    line.hear(r#"{"method":"heartbeat","params":{"type":"test_request"}}"#);
    assert!(line.next().contains("public/test"));
    assert_eq!(line.answer(r#"{"version":"1"}"#), []);
    assert_eq!(line.pass(Nanos::from_secs(89)), None);
    assert_eq!(line.pass(Nanos::from_secs(2)), Some(VenueEvent::Broken));
}

#[test]
fn an_order_is_in_units_under_the_venues_name_and_its_label_is_ours() {
    let mut line = Line::up();
    let placed = concat!(
        r#""private/buy","params":{"instrument_name":"BTC-PERPETUAL","amount":30,"type":"limit","#,
        r#""price":43000.5,"time_in_force":"good_til_cancelled","label":"{7}"}}"#
    );
    assert_eq!(line.create().unwrap(), placed);
    let flags = OrderFlags::POST_ONLY | OrderFlags::REDUCE_ONLY;
    let terms = OrderTerms { side: Side::Sell, flags, ..terms() };
    let names = vec!["BTC-25DEC26-100000-C".to_owned()];
    let mut line = Line::up_with(DeribitOrderSettings { names, ..Default::default() });
    let sent = line.request(|handler, now, order| handler.create(now, order, false), 1, &terms);
    let sent = sent.unwrap();
    assert!(sent.contains(r#""private/sell","params":{"instrument_name":"BTC-25DEC26-100000-C""#));
    assert!(sent.contains(r#""post_only":true,"reject_post_only":true,"reduce_only":true"#));
    assert!(line.ask().unwrap().contains(r#"{"currency":"BTC","label":"{7}"}"#));
}

#[test]
fn an_order_is_accepted_by_whichever_comes_first() {
    let mut line = Line::up();
    line.create().unwrap();
    let accepted = Some(OrderEvent::Accepted);
    let placed = format!(r#"{{"order":{OPEN},"trades":[]}}"#);
    assert_eq!(said(&line.answer(&placed)), [accepted, accepted]);
    let working = Some(OrderEvent::Status(OrderState::Working));
    assert_eq!(said(&line.changes("", OPEN)), [working]);

    let mut line = Line::up();
    line.create().unwrap();
    let filled = OPEN.replace(r#""filled_amount":0"#, r#""filled_amount":10"#);
    let events = line.changes(TRADE, &filled);
    assert_eq!(said(&events), [accepted, Some(OrderEvent::Traded), working]);
    let VenueEvent::Report(trade) = events[1] else { panic!("{events:?}") };
    assert_eq!(trade.exec_id, ExecId::new(b"ETH-T1"));
    assert_eq!(trade.charges.commission, Some(Price(100)));
    assert_eq!(
        trade.charges.comm_currency.map(|name| name.as_str().to_owned()),
        Some("BTC".into())
    );
    assert_eq!(trade.charges.liquidity, Some(taut_fix::Liquidity::Taker));
    assert_eq!(perpetual().lots(trade.last), Ok(Lots(1)));
    assert_eq!(trade.total.map(|total| perpetual().lots(total)), Some(Ok(Lots(1))));
    // The answer brings the same trade by the same id: it is the order table's to count it once.
    let placed = format!(r#"{{"order":{filled},"trades":[{TRADE}]}}"#);
    let events = line.answer(&placed);
    assert_eq!(said(&events), [Some(OrderEvent::Traded), accepted]);
    let again = events.iter().find_map(|event| match event {
        VenueEvent::Report(report) if report.event == Some(OrderEvent::Traded) => {
            Some(report.exec_id)
        }
        _ => None,
    });
    assert_eq!(again, Some(trade.exec_id));
    // A second answer with the same id is nobody's.
    assert_eq!(line.answer(&placed), []);
}

/// An edit made the order larger, and a part of it traded at once: the notification comes before
/// the answer to the edit.
#[test]
fn a_trade_says_that_its_order_is_open_yet() {
    let mut line = Line::up();
    line.create().unwrap();
    let larger = OPEN.replace(r#""filled_amount":0"#, r#""filled_amount":10"#);
    let told = |events: Vec<VenueEvent>| {
        events.into_iter().find_map(|event| match event {
            VenueEvent::Report(it) if it.event == Some(OrderEvent::Traded) => Some(it.told),
            _ => None,
        })
    };
    assert_eq!(told(line.changes(TRADE, &larger)), Some(Some(OrderState::Working)));
    // Of several trades that end it, each alone does not.
    let filled = larger.replace("\"open\"", "\"filled\"");
    assert_eq!(told(line.changes(TRADE, &filled)), Some(None));
}

#[test]
fn an_order_is_changed_by_label_until_the_venue_has_named_it() {
    let mut line = Line::up();
    line.create().unwrap();
    let by_label = concat!(
        r#""private/edit_by_label","params":{"label":"{7}","instrument_name":"BTC-PERPETUAL","#,
        r#""amount":30,"price":43000.5}}"#
    );
    assert_eq!(line.modify().unwrap(), by_label);
    let edited = line.answer(&format!(r#"{{"order":{OPEN},"trades":[]}}"#));
    assert_eq!(said(&edited), [Some(OrderEvent::Accepted), Some(OrderEvent::Replaced)]);
    let VenueEvent::Report(report) = edited[1] else { panic!("{edited:?}") };
    assert_eq!(report.request, Some(RequestId { order: ORDER, version: 2 }));
    assert_eq!(report.venue_id, LongText::new(b"ETH-1"));
    let by_id = r#""private/edit","params":{"order_id":"ETH-1","amount":30,"price":43000.5}}"#;
    assert_eq!(line.modify().unwrap(), by_id);
    assert_eq!(line.cancel().unwrap(), r#""private/cancel","params":{"order_id":"ETH-1"}}"#);
    let report = only(line.answer(&OPEN.replace("open", "cancelled")));
    assert_eq!(
        (report.event, report.told),
        (Some(OrderEvent::Cancelled), Some(OrderState::Cancelled))
    );
    assert_eq!(report.request, Some(RequestId { order: ORDER, version: 3 }));
    // What is over is forgotten.
    line.handler.over(ORDER);
    assert_eq!(line.cancel().unwrap(), r#""private/cancel_by_label","params":{"label":"{7}"}}"#);
    let refused = ChangeRefused {
        kind: Some(RequestKind::Cancel),
        ..refused(RequestId { order: ORDER, version: 3 }, true)
    };
    assert_eq!(line.answer("0"), [VenueEvent::ChangeRefused(refused)]);
}

#[test]
fn an_error_says_what_was_surely_not_done_and_nothing_of_what_nobody_knows() {
    let mut line = Line::up();
    line.create().unwrap();
    let message = line.handler.last_message();
    let named = Some(RequestId::create(ORDER));
    let reject = VenueReject::WouldTrade;
    assert_eq!(line.fails(11_054), [VenueEvent::Refused { message, named, reject }]);
    for unknown in [11_094, 11_044] {
        line.create().unwrap();
        assert_eq!(line.fails(unknown), [], "{unknown}");
    }
    for (code, is_over, reject) in [
        (10_041, false, VenueReject::Halted),
        (11_044, true, VenueReject::TooLate),
        (11_094, false, VenueReject::Other),
    ] {
        line.modify().unwrap();
        let events = line.fails(code);
        match events[..] {
            [VenueEvent::ChangeRefused(refused)] if code != 11_094 => {
                assert_eq!((refused.is_over, refused.kind), (is_over, Some(RequestKind::Modify)));
                assert_eq!(refused.reject, reject);
                assert_eq!(refused.request, Some(RequestId { order: ORDER, version: 2 }));
            }
            [] if code == 11_094 => {}
            ref other => panic!("{code}: {other:?}"),
        }
    }
    // Nothing of it is done, and the session is ended with it.
    line.create().unwrap();
    let message = line.handler.last_message();
    let reject = VenueReject::RateLimit;
    let refused = VenueEvent::Refused { message, named, reject };
    assert_eq!(line.fails(10_028), [refused, VenueEvent::Broken]);
    assert!(matches!(line.create(), Err(NotSent::Throttled(_))));
}

#[test]
fn the_venue_is_asked_where_one_order_and_all_stand() {
    let mut line = Line::up();
    assert!(line.ask().unwrap().starts_with(r#""private/get_order_state_by_label""#));
    let report = only(line.answer("[]"));
    assert_eq!((report.event, report.is_answer), (Some(OrderEvent::NotFound), true));
    line.ask().unwrap();
    let report = only(line.answer(&format!("[{}]", OPEN.replace("open", "filled"))));
    assert_eq!(report.event, Some(OrderEvent::Status(OrderState::Filled)));
    line.handler.adopt(&adopted(), b"ETH-1");
    assert_eq!(line.ask().unwrap(), r#""private/get_order_state","params":{"order_id":"ETH-1"}}"#);
    assert_eq!(only(line.fails(10_004)).event, Some(OrderEvent::NotFound));
    line.ask().unwrap();
    assert!(matches!(line.fails(10_041)[..], [VenueEvent::Refused { named: None, .. }]));

    line.handler.ask_all(line.now).unwrap();
    let events = line.answer(&format!("[{OPEN}]"));
    assert_eq!(said(&events), [Some(OrderEvent::Status(OrderState::Working))]);
    assert_eq!(events.last(), Some(&VenueEvent::AllTold));
    line.handler.clear_unsent();
    line.handler.ask_all(line.now).unwrap();
    let events = line.answer("[]");
    assert!(matches!(events[0], VenueEvent::Report(VenueReport { of_all: OfAll::Nothing, .. })));
}

#[test]
fn credits_are_never_exceeded_and_cancels_have_some_of_their_own() {
    let orders = Rate { per_second: 5, burst: 4 };
    let settings = DeribitOrderSettings { orders, kept_for_cancels: 2, ..Default::default() };
    let mut line = Line::up_with(settings);
    assert!(line.create().is_ok() && line.create().is_ok());
    let due = START.mono + Nanos::from_millis(200);
    assert_eq!(line.create(), Err(NotSent::Throttled(due)));
    assert_eq!(line.modify(), Err(NotSent::Throttled(due)));
    assert!(line.cancel().is_ok() && line.cancel().is_ok());
    assert_eq!(line.cancel(), Err(NotSent::Throttled(due)));
    line.pass(Nanos::from_millis(200));
    assert!(line.cancel().is_ok());
    // Questions leave what the session needs.
    let mut asked = 0;
    while line.ask().is_ok() {
        asked += 1;
    }
    assert!((80..100).contains(&asked), "{asked}");
    line.hear(r#"{"method":"heartbeat","params":{"type":"test_request"}}"#);
    assert!(line.next().contains("public/test"));
}

#[test]
fn a_rehearsal_leaves_nothing_behind() {
    let mut line = Line::up();
    let (instrument, terms, account) = (perpetual(), terms(), None);
    let request = RequestId::create(ORDER);
    let order = OrderMessage { request, instrument: &instrument, account, terms: &terms };
    let before = line.handler.last_message();
    assert_eq!(line.handler.create(START, &order, true), Ok(()));
    assert!(line.handler.unsent().is_empty());
    assert_eq!(line.handler.last_message(), before);
}

#[test]
fn nothing_that_the_venue_sends_panics_and_others_orders_are_not_ours() {
    let mut line = Line::up();
    for strange in ["", "{}", "[", "{\"id\":1}", "null", "{\"method\":\"subscription\"}"] {
        line.hear(strange);
    }
    assert_eq!(line.changes("", &OPEN.replace("{7}", "theirs")), []);
    line.create().unwrap();
    let order = Some(RequestId { order: ORDER, version: 0 });
    assert_eq!(line.answer("{\"order\":{}}"), [VenueEvent::Unreadable(order)]);
    let frame = format!(r#"{{"id":1,"result":{{"order":{OPEN},"trades":[{TRADE}]}}}}"#);
    for at in 0..frame.len() {
        for byte in [b'"', b'{', b'9', b',', 0] {
            let mut mutated = frame.clone().into_bytes();
            mutated[at] = byte;
            let mut bytes = &mutated[..];
            while line.handler.handle_bytes(START, &mut bytes).is_some() {}
        }
    }
}

#[test]
fn an_order_its_answer_and_its_fills_allocate_nothing() {
    let mut line = Line::up();
    let (instrument, terms, account) = (perpetual(), terms(), None);
    let request = RequestId::create(ORDER);
    let order = OrderMessage { request, instrument: &instrument, account, terms: &terms };
    let filled = OPEN.replace(r#""filled_amount":0"#, r#""filled_amount":10"#);
    let id = line.handler.last_message() + 1;
    let answer = format!(r#"{{"id":{id},"result":{{"order":{filled},"trades":[{TRADE}]}}}}"#);
    let answer = answer.replace("{7}", &label());
    let measured = allocation_counter::measure(|| {
        line.handler.create(START, &order, false).unwrap();
        line.handler.clear_unsent();
        let mut bytes = answer.as_bytes();
        while line.handler.handle_bytes(START, &mut bytes).is_some() {}
        line.handler.cancel(START, request, &order).unwrap();
        line.handler.clear_unsent();
        line.handler.over(ORDER);
    });
    assert_eq!(measured.count_total, 0);
}

#[test]
fn a_price_that_is_on_no_step_of_the_venues_does_not_leave() {
    let mut steps = TickSteps::default();
    assert!(steps.push(Price(40_000_000_000_000), Price(2_500_000_000)));
    let (tick, lot) = (Price(500_000_000), Qty::whole(10));
    let mut line = Line::up();
    line.handler.set_terms(InstrumentId(0), &VenueTerms { tick, steps, lot, is_open: true });
    let instrument = perpetual();
    for (dollars, expected) in
        [(39_999, Ok(())), (43_001, Err(NotSent::Filtered)), (43_005, Ok(()))]
    {
        let terms = OrderTerms { price: Price(dollars * 1_000_000_000), ..terms() };
        let request = RequestId::create(ORDER);
        let order = OrderMessage { request, instrument: &instrument, account: None, terms: &terms };
        assert_eq!(line.handler.create(line.now, &order, false), expected, "{dollars}");
        line.handler.clear_unsent();
        assert_eq!(line.handler.modify(line.now, request, &order), expected, "{dollars}");
        line.handler.clear_unsent();
    }
}
