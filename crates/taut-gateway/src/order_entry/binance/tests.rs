//! Binance's WebSocket API on messages, and a session that speaks it.

use taut_fix::CompId;
use taut_fix_engine::Credentials;
use taut_oms::{ExecId, OrderEvent, OrderState, Rate};
use taut_types::{OrderFlags, OrderType, Price, Side, Symbol, TimeInForce};

use super::*;
use crate::config::SessionSettings;
use crate::order_entry::handler::{OfAll, VenueReport};

const ORDER: ClientOrderId = ClientOrderId(7);
const START: Now = Now { mono: Nanos::from_secs(100), utc: Nanos::from_secs(1) };
/// The venue's time at the start: our own is long ago.
const VENUE_MS: u64 = 1_700_000_000_000;
const SYMBOLS: &str = concat!(
    r#"{"timezone":"UTC","symbols":[{"symbol":"BTCUSDT","status":"TRADING","baseAsset":"BTC","#,
    r#""quoteAsset":"USDT","amendAllowed":true,"filters":["#,
    r#"{"filterType":"PRICE_FILTER","minPrice":"0.01","maxPrice":"100000.0","tickSize":"0.01"},"#,
    r#"{"minQty":"0.00010","maxQty":"10.0","stepSize":"0.00001","filterType":"LOT_SIZE"},"#,
    r#"{"filterType":"MARKET_LOT_SIZE","minQty":"0.0","maxQty":"5.0","stepSize":"0.0"},"#,
    r#"{"filterType":"NOTIONAL","minNotional":"5.0","maxNotional":"90000.0"},"#,
    r#"{"filterType":"MAX_NUM_ORDERS","maxNumOrders":2},{"filterType":"ICEBERG_PARTS","limit":10}"#,
    r#"]}]}"#
);

fn config() -> GatewayConfig {
    GatewayConfig {
        instruments: vec![bitcoin()],
        order_address: "127.0.0.1:9881".parse().unwrap(),
        sender_comp_id: CompId::new(b"ME").unwrap(),
        target_comp_id: CompId::new(b"BINANCE").unwrap(),
        heartbeat_interval: Nanos::from_secs(30),
        session: SessionSettings {
            credentials: Some(Credentials::Binance { api_key: "key".to_owned(), seed: [7; 32] }),
            ..SessionSettings::default()
        },
        order_capacity: 4,
        risk: GatewayConfig::default_risk().into(),
        hot: false,
        keeps_warm: false,
    }
}

/// A lot is a thousandth.
fn bitcoin() -> Instrument {
    let (symbol, tick) = (Symbol::new(b"BTCUSDT").unwrap(), Price(10_000_000));
    Instrument::new(InstrumentId(0), symbol, tick, Qty { mantissa: 1, decimals: 3 }).unwrap()
}

/// Three thousandths at 43,000.50.
fn terms() -> OrderTerms {
    OrderTerms::limit(InstrumentId(0), Side::Buy, Price(43_000_500_000_000), Lots(3))
}

fn at(price: i64, lots: i64) -> OrderTerms {
    OrderTerms { price: Price(price * 1_000_000_000), lots: Lots(lots), ..terms() }
}

fn named(version: u16) -> String {
    let request = RequestId { order: ORDER, version };
    String::from_utf8(request.to_text().to_vec()).unwrap()
}

/// A handler, and the venue's side of its connection. Names are written `{VERSION}`.
struct Line {
    handler: BinanceWs,
    now: Now,
}

impl Line {
    fn new(settings: BinanceWsSettings) -> Self {
        let mut handler = BinanceWs::new(&config(), settings).unwrap();
        handler.connected(START, [7; 32], 0);
        Self { handler, now: START }
    }

    /// A session that is up.
    fn up() -> Self {
        Self::up_with(BinanceWsSettings::default())
    }

    fn up_with(settings: BinanceWsSettings) -> Self {
        let mut line = Self::new(settings);
        line.log_on();
        line
    }

    fn log_on(&mut self) {
        assert_eq!(self.next(), r#"{"id":,"method":"time"}"#);
        assert!(self.next().is_empty(), "nothing before the time is known");
        let time = VENUE_MS + (self.now.mono - START.mono).0 as u64 / 1_000_000;
        assert_eq!(self.answer(&format!(r#"{{"serverTime":{time}}}"#)), []);
        assert!(self.next().contains("session.logon"));
        assert!(self.next().is_empty(), "nothing before there is a session");
        assert_eq!(self.answer(r#"{"apiKey":"key"}"#), []);
        assert_eq!(self.next(), r#"{"id":,"method":"userDataStream.subscribe"}"#);
        assert_eq!(self.answer(r#"{"subscriptionId":0}"#), []);
        let symbols = r#"{"id":,"method":"exchangeInfo","params":{"symbols":["BTCUSDT"]}}"#;
        assert_eq!(self.next(), symbols);
        assert!(!self.handler.is_up());
        assert_eq!(self.answer(SYMBOLS), [VenueEvent::LoggedOn]);
        assert!(self.handler.is_up());
    }

    fn reconnect(&mut self) {
        self.handler.disconnected(self.now);
        self.handler.connected(self.now, [8; 32], 0);
        self.log_on();
    }

    /// Time goes by; what became due.
    fn pass(&mut self, span: Nanos) -> Option<VenueEvent> {
        self.now = Now { mono: self.now.mono + span, utc: self.now.utc + span };
        self.handler.handle_timeout(self.now)
    }

    /// What is sent next, without its id.
    fn next(&mut self) -> String {
        let text = String::from_utf8(self.handler.poll_transmit(self.now).to_vec()).unwrap();
        self.handler.clear_unsent();
        let text = text.replace(&format!(r#""id":{}"#, self.handler.last_message()), r#""id":"#);
        (1..9).fold(text, |text, version| text.replace(&named(version), &format!("{{{version}}}")))
    }

    fn hear(&mut self, text: &str) -> Vec<VenueEvent> {
        let names =
            |text: String, version| text.replace(&format!("{{{version}}}"), &named(version));
        let text = (1..9).fold(text.to_owned(), names);
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
        self.answer_to(id, result)
    }

    fn answer_to(&mut self, id: u64, result: &str) -> Vec<VenueEvent> {
        self.hear(&format!(r#"{{"id":{id},"status":200,"result":{result},"rateLimits":[]}}"#))
    }

    fn fails(&mut self, status: u16, error: &str) -> Vec<VenueEvent> {
        let id = self.handler.last_message();
        self.hear(&format!(r#"{{"id":{id},"status":{status},"error":{{{error}}}}}"#))
    }

    /// An event: what happened, of which order (c, C), and where it is; the rest as it is.
    fn event(
        &mut self,
        x: &str,
        [c, original]: [&str; 2],
        status: &str,
        z: &str,
    ) -> Vec<VenueEvent> {
        self.execution(x, [c, original], status, &format!(r#""z":"{z}","t":-1,"#))
    }

    fn execution(
        &mut self,
        x: &str,
        [c, original]: [&str; 2],
        status: &str,
        more: &str,
    ) -> Vec<VenueEvent> {
        self.hear(&format!(
            concat!(
                r#"{{"subscriptionId":0,"event":{{"e":"executionReport","E":1,"s":"BTCUSDT","#,
                r#""c":"{c}","S":"BUY","o":"LIMIT","f":"GTC","q":"0.00300000","#,
                r#""p":"43000.50000000","P":"0.00000000","g":-1,"C":"{original}","x":"{x}","#,
                r#""X":"{status}","r":"NONE","i":42,{more}"T":1699999999999}}}}"#
            ),
            c = c,
            original = original,
            x = x,
            status = status,
            more = more
        ))
    }

    /// A trade of so much, after which so much has traded.
    fn trade(&mut self, name: &str, id: u64, l: &str, z: &str, status: &str) -> Vec<VenueEvent> {
        let more = format!(
            concat!(
                r#""l":"{l}","z":"{z}","L":"43000.25000000","n":"0.00000120","N":"BNB","#,
                r#""t":{id},"m":true,"#
            ),
            l = l,
            z = z,
            id = id
        );
        self.execution("TRADE", [name, ""], status, &more)
    }

    fn request(
        &mut self,
        request: impl FnOnce(&mut BinanceWs, Now, &OrderMessage<'_>) -> Result<(), NotSent>,
        version: u16,
        terms: &OrderTerms,
    ) -> Result<String, NotSent> {
        let (instrument, account) = (bitcoin(), None);
        let named = RequestId { order: ORDER, version };
        let order = OrderMessage { request: named, instrument: &instrument, account, terms };
        request(&mut self.handler, self.now, &order)?;
        let text = self.next();
        Ok(text.split_once("\"method\":").map(|(_, from)| from.to_owned()).unwrap())
    }

    fn create(&mut self, terms: &OrderTerms) -> Result<String, NotSent> {
        self.request(|handler, now, order| handler.create(now, order, false), 1, terms)
    }

    fn modify(&mut self, base: u16, version: u16, to: &OrderTerms) -> Result<String, NotSent> {
        let base = RequestId { order: ORDER, version: base };
        self.request(|handler, now, order| handler.modify(now, base, order), version, to)
    }

    fn cancel(&mut self, base: u16, version: u16) -> Result<String, NotSent> {
        let base = RequestId { order: ORDER, version: base };
        self.request(|handler, now, order| handler.cancel(now, base, order), version, &terms())
    }

    fn ask(&mut self) -> Result<String, NotSent> {
        self.request(|handler, now, order| handler.ask(now, order), 1, &terms())
    }

    /// An order that rests, of which something may have traded.
    fn resting(traded: Option<&str>) -> Self {
        let mut line = Self::up();
        line.create(&terms()).unwrap();
        line.answer(ACK);
        line.event("NEW", ["{1}", ""], "NEW", "0");
        if let Some(traded) = traded {
            line.trade("{1}", 9, traded, traded, "PARTIALLY_FILLED");
        }
        line
    }
}

const ACK: &str = r#"{"symbol":"BTCUSDT","orderId":42,"clientOrderId":"{1}","transactTime":1}"#;

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

fn request(version: u16) -> RequestId {
    RequestId { order: ORDER, version }
}

fn qty(mantissa: i64) -> Option<Qty> {
    Some(Qty { mantissa, decimals: 8 })
}

fn refusal(events: Vec<VenueEvent>) -> (Option<RequestId>, bool) {
    match events[..] {
        [VenueEvent::ChangeRefused(refused)] => (refused.request, refused.is_over),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_asks_the_time_signs_and_is_up_when_all_that_it_begins_with_is_answered() {
    let mut line = Line::new(BinanceWsSettings::default());
    line.next();
    line.answer(&format!(r#"{{"serverTime":{VENUE_MS}}}"#));
    let logon = line.next();
    // The venue's clock, not ours; signed as `apiKey=key&recvWindow=2000&timestamp=...`.
    assert!(logon.contains(&format!(r#""recvWindow":2000,"timestamp":{VENUE_MS}"#)), "{logon}");
    let key = taut_order_entry::sign::Ed25519Key::new(&[7; 32]);
    let text = format!("apiKey=key&recvWindow=2000&timestamp={VENUE_MS}");
    let signature = String::from_utf8(key.sign_base64(text.as_bytes()).to_vec()).unwrap();
    assert!(logon.contains(&format!(r#""signature":"{signature}""#)), "{logon}");
    let mut line = Line::up();
    assert!(line.create(&terms()).is_ok());
}

#[test]
fn a_session_that_is_refused_says_why() {
    let mut line = Line::new(BinanceWsSettings::default());
    line.next();
    line.answer(&format!(r#"{{"serverTime":{VENUE_MS}}}"#));
    line.next();
    let refused = line.fails(401, r#""code":-2015,"msg":"Invalid API-key.""#);
    assert_eq!(refused, [VenueEvent::Broken]);
    assert_eq!(line.handler.last_refusal(), "-2015 Invalid API-key.");
    // A key that is revoked while it trades is told without an id.
    let mut line = Line::up();
    let revoked = r#"{"id":null,"status":401,"error":{"code":-2015,"msg":"Revoked."}}"#;
    assert_eq!(line.hear(revoked), [VenueEvent::Broken]);
    let ended = r#"{"subscriptionId":0,"event":{"e":"eventStreamTerminated","E":1}}"#;
    assert_eq!(Line::up().hear(ended), [VenueEvent::Broken]);
    let down = r#"{"event":{"e":"serverShutdown","E":1}}"#;
    assert_eq!(Line::up().hear(down), [VenueEvent::Broken]);
}

#[test]
fn an_instrument_that_the_venue_has_otherwise_is_no_session() {
    for (from, to, words) in [
        (
            r#""tickSize":"0.01""#,
            r#""tickSize":"0.1""#,
            "BTCUSDT: tick is 0.01, and the venue's is 0.1",
        ),
        (
            r#""stepSize":"0.00001""#,
            r#""stepSize":"0.01""#,
            "BTCUSDT: lot is 0.001, and the venue's",
        ),
        (r#""symbol":"BTCUSDT""#, r#""symbol":"BTCUSD""#, "the venue has no symbol BTCUSDT"),
    ] {
        let mut line = Line::new(BinanceWsSettings::default());
        line.next();
        line.answer(&format!(r#"{{"serverTime":{VENUE_MS}}}"#));
        for _ in 0..2 {
            line.next();
            line.answer("{}");
        }
        line.next();
        assert_eq!(line.answer(&SYMBOLS.replace(from, to)), [VenueEvent::Broken], "{words}");
        assert!(line.handler.last_refusal().contains(words), "{}", line.handler.last_refusal());
    }
}

#[test]
fn an_order_is_written_with_the_venues_words_and_time() {
    let mut line = Line::up();
    line.pass(Nanos::from_millis(1_500));
    let place = concat!(
        r#""order.place","params":{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","#,
        r#""timeInForce":"GTC","quantity":"0.003","price":"43000.5","newClientOrderId":"{1}","#,
        r#""newOrderRespType":"ACK","recvWindow":2000,"timestamp":1700000001500}}"#
    );
    assert_eq!(line.create(&terms()).as_deref(), Ok(place));
    let written = |terms: OrderTerms, settings: BinanceWsSettings| {
        Line::up_with(settings).create(&terms).unwrap()
    };
    let settings = BinanceWsSettings::default;
    let post_only = OrderTerms { flags: OrderFlags::POST_ONLY, ..terms() };
    let text = written(post_only, settings());
    assert!(text.contains(r#""type":"LIMIT_MAKER","quantity""#), "{text}");
    let market = OrderTerms { order_type: OrderType::Market, ..terms() };
    let text = written(market, settings());
    assert!(text.contains(r#""type":"MARKET","quantity":"0.003","newClient"#), "{text}");
    let iceberg = OrderTerms {
        lots_shown: Lots(1),
        time_in_force: TimeInForce::ImmediateOrCancel,
        ..terms()
    };
    let own = BinanceWsSettings {
        self_trade: taut_order_entry::binance::SelfTrade::ExpireTaker,
        ..settings()
    };
    let text = written(iceberg, own);
    assert!(text.contains(r#""timeInForce":"IOC""#), "{text}");
    assert!(text.contains(r#""icebergQty":"0.001""#), "{text}");
    assert!(text.contains(r#""selfTradePreventionMode":"EXPIRE_TAKER""#), "{text}");
    for unknown in [
        OrderTerms { time_in_force: TimeInForce::Day, ..terms() },
        OrderTerms { flags: OrderFlags::REDUCE_ONLY, ..terms() },
    ] {
        assert_eq!(Line::up().create(&unknown), Err(NotSent::Unsupported));
    }
}

#[test]
fn what_the_filters_refuse_does_not_leave() {
    for wrong in [
        at(100_001, 1),                                             // above the highest price
        at(43_000, 10_001),                                         // above the largest quantity
        at(1, 1),          // worth less than the smallest order
        at(99_000, 1_000), // worth more than the largest
        OrderTerms { price: Price(43_000_005_000_000), ..terms() }, // between two ticks
    ] {
        assert_eq!(Line::up().create(&wrong), Err(NotSent::Filtered), "{wrong:?}");
    }
    let market = OrderTerms { order_type: OrderType::Market, ..at(0, 5_001) };
    assert_eq!(Line::up().create(&market), Err(NotSent::Filtered));
    // Two orders may be open.
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let (instrument, terms) = (bitcoin(), terms());
    let mut create = |number| {
        let request = RequestId::create(ClientOrderId(number));
        let (instrument, terms) = (&instrument, &terms);
        let order = OrderMessage { request, instrument, account: None, terms };
        let left = line.handler.create(START, &order, false);
        line.handler.clear_unsent();
        left
    };
    assert_eq!((create(8), create(9)), (Ok(()), Err(NotSent::Filtered)));
    line.handler.over(ORDER);
    assert!(line.handler.symbols.has_room(InstrumentId(0)));
}

#[test]
fn an_order_is_accepted_by_whichever_comes_first() {
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let accepted = only(line.answer(ACK));
    assert_eq!(accepted.event, Some(OrderEvent::Accepted));
    assert_eq!(
        (accepted.request, accepted.venue_id.unwrap().as_bytes()),
        (Some(request(1)), &b"42"[..])
    );
    let new = line.event("NEW", ["{1}", ""], "NEW", "0");
    assert_eq!(said(&new), [Some(OrderEvent::Status(OrderState::Working))]);

    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let events = line.trade("{1}", 9, "0.00100000", "0.00100000", "PARTIALLY_FILLED");
    assert_eq!(said(&events), [Some(OrderEvent::Accepted), Some(OrderEvent::Traded)]);
    let VenueEvent::Report(trade) = events[1] else { panic!() };
    assert_eq!((trade.last, trade.total), (Qty { mantissa: 100_000, decimals: 8 }, qty(100_000)));
    assert_eq!(trade.price, Some(Price(43_000_250_000_000)));
    assert_eq!(trade.exec_id, ExecId::new(b"BTCUSDT-9"));
    assert_eq!(trade.charges.commission, Some(Price(1_200)));
    assert_eq!(line.answer(ACK), []);
}

#[test]
fn an_order_that_ends_by_its_own_terms_or_is_refused_is_over() {
    let mut line = Line::resting(None);
    assert_eq!(
        said(&line.event("EXPIRED", ["{1}", ""], "EXPIRED", "0")),
        [Some(OrderEvent::Expired)]
    );
    let mut line = Line::resting(None);
    let prevented = line.event("TRADE_PREVENTION", ["{1}", ""], "EXPIRED_IN_MATCH", "0");
    assert_eq!(said(&prevented), [Some(OrderEvent::Expired)]);
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let refused = line.fails(400, r#""code":-2010,"msg":"Account has insufficient balance.""#);
    let message = line.handler.last_message();
    assert_eq!(refused, [VenueEvent::Refused { message, named: Some(request(1)) }]);
}

#[test]
fn of_what_nobody_knows_nothing_is_said() {
    for (status, error) in [
        (408, r#""code":-1007,"msg":"Timeout waiting for response from backend server.""#),
        (500, r#""code":-1000,"msg":"An unknown error occurred.""#),
        (400, r#""code":-2010,"msg":"Duplicate order sent.""#),
        (400, r#""code":-31337,"msg":"new""#),
    ] {
        let mut line = Line::up();
        line.create(&terms()).unwrap();
        assert_eq!(line.fails(status, error), [], "{error}");
        assert!(line.next().is_empty(), "nothing is sent again");
    }
}

#[test]
fn a_modify_of_an_untraded_order_replaces_it_only_if_it_still_is() {
    let mut line = Line::resting(None);
    let replace = line.modify(1, 2, &at(43_001, 4)).unwrap();
    let expected = concat!(
        r#""order.cancelReplace","params":{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","#,
        r#""timeInForce":"GTC","quantity":"0.004","price":"43001","newClientOrderId":"{2}","#,
        r#""newOrderRespType":"ACK","cancelReplaceMode":"STOP_ON_FAILURE","#,
        r#""cancelOrderId":42,"cancelNewClientOrderId":"{2}-R","cancelRestrictions":"ONLY_NEW","#,
        r#""recvWindow":2000,"timestamp":1700000000000}}"#
    );
    assert_eq!(replace, expected);
    // The end of the old one is none of ours.
    assert_eq!(line.event("CANCELED", ["{2}-R", "{1}"], "CANCELED", "0"), []);
    let done = concat!(
        r#"{"cancelResult":"SUCCESS","newOrderResult":"SUCCESS","#,
        r#""cancelResponse":{"symbol":"BTCUSDT","orderId":42,"origClientOrderId":"{1}"},"#,
        r#""newOrderResponse":{"symbol":"BTCUSDT","orderId":43,"clientOrderId":"{2}"}}"#
    );
    let replaced = only(line.answer(done));
    assert_eq!((replaced.request, replaced.event), (Some(request(2)), Some(OrderEvent::Replaced)));
    assert_eq!(replaced.venue_id.unwrap().as_bytes(), b"43");
    // What follows is of the new one.
    let cancel = line.cancel(2, 3).unwrap();
    assert!(cancel.contains(r#""orderId":43,"newClientOrderId":"{3}""#), "{cancel}");
}

#[test]
fn a_replacement_that_fails_says_what_is_left() {
    let error = |code: i64, cancel: &str, place: &str, cancelled: &str, placed: &str| {
        format!(
            concat!(
                r#""code":{},"msg":"Order cancel-replace failed.","data":{{"cancelResult":"{}","#,
                r#""newOrderResult":"{}","cancelResponse":{},"newOrderResponse":{}}}"#
            ),
            code, cancel, place, cancelled, placed
        )
    };
    let restricted = r#"{"code":-2011,"msg":"Order was not canceled due to cancel restrictions."}"#;
    let unknown = r#"{"code":-2011,"msg":"Unknown order sent."}"#;
    for (cancelled, is_over) in [(restricted, false), (unknown, true)] {
        let mut line = Line::resting(None);
        line.modify(1, 2, &at(43_001, 4)).unwrap();
        let error = error(-2_022, "FAILURE", "NOT_ATTEMPTED", cancelled, "null");
        assert_eq!(refusal(line.fails(400, &error)), (Some(request(2)), is_over));
        // It is what it was.
        let cancel = line.cancel(1, 3).unwrap();
        assert!(cancel.contains(r#""orderId":42"#), "{cancel}");
    }
    let done = r#"{"orderId":42,"origClientOrderId":"{1}","status":"CANCELED"}"#;
    let mut line = Line::resting(None);
    line.modify(1, 2, &at(43_001, 4)).unwrap();
    let poor = r#"{"code":-2010,"msg":"Account has insufficient balance."}"#;
    let half = only(line.fails(409, &error(-2_021, "SUCCESS", "FAILURE", done, poor)));
    assert_eq!((half.request, half.event), (Some(request(2)), Some(OrderEvent::Cancelled)));
    // Whether the second half was done nobody knows.
    let mut line = Line::resting(None);
    line.modify(1, 2, &at(43_001, 4)).unwrap();
    let late = r#"{"code":-1007,"msg":"Timeout."}"#;
    assert_eq!(line.fails(409, &error(-2_021, "SUCCESS", "FAILURE", done, late)), []);
}

#[test]
fn an_order_that_becomes_smaller_keeps_its_place() {
    let mut line = Line::resting(Some("0.00100000"));
    let amend = line.modify(1, 2, &OrderTerms { lots: Lots(2), ..terms() }).unwrap();
    let expected = concat!(
        r#""order.amend.keepPriority","params":{"symbol":"BTCUSDT","orderId":42,"#,
        r#""newClientOrderId":"{2}","newQty":"0.002","recvWindow":2000,"#,
        r#""timestamp":1700000000000}}"#
    );
    assert_eq!(amend, expected);
    let event = line.event("REPLACED", ["{2}", "{1}"], "PARTIALLY_FILLED", "0.001");
    assert_eq!(said(&event), [Some(OrderEvent::Status(OrderState::Working))]);
    let amended = r#"{"executionId":5,"amendedOrder":{"orderId":42,"clientOrderId":"{2}"}}"#;
    let replaced = only(line.answer(amended));
    assert_eq!((replaced.request, replaced.event), (Some(request(2)), Some(OrderEvent::Replaced)));
    let event = line.trade("{2}", 10, "0.001", "0.002", "FILLED");
    assert_eq!(said(&event), [Some(OrderEvent::Traded)]);
    assert_eq!(only(event).total, qty(200_000));

    let mut line = Line::resting(None);
    line.modify(1, 2, &OrderTerms { lots: Lots(2), ..terms() }).unwrap();
    let refused = line.fails(400, r#""code":-2038,"msg":"No.""#);
    assert_eq!(refusal(refused), (Some(request(2)), false));
}

#[test]
fn a_modify_of_an_order_that_has_traded_waits_for_its_end_and_asks_for_the_rest() {
    let mut line = Line::resting(Some("0.00100000"));
    let cancel = line.modify(1, 2, &at(43_002, 5)).unwrap();
    assert!(cancel.starts_with(r#""order.cancel""#), "{cancel}");
    assert!(cancel.contains(r#""orderId":42,"newClientOrderId":"{2}-W""#), "{cancel}");
    assert_eq!(line.modify(1, 3, &at(43_003, 5)), Err(NotSent::Busy));
    // The answer comes first; a trade that crossed the cancel counts.
    let id = line.handler.last_message();
    let answer = r#"{"orderId":42,"origClientOrderId":"{1}","status":"CANCELED"}"#;
    assert_eq!(line.answer_to(id, answer), []);
    assert!(line.next().is_empty(), "not before the last trade is known");
    line.trade("{1}", 10, "0.001", "0.002", "PARTIALLY_FILLED");
    assert_eq!(line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.002"), []);
    let rest = line.next();
    assert!(rest.contains(r#""quantity":"0.003","price":"43002""#), "{rest}");
    assert!(rest.contains(r#""newClientOrderId":"{2}-30d40""#), "{rest}");
    let placed = r#"{"symbol":"BTCUSDT","orderId":44,"clientOrderId":"{2}-30d40"}"#;
    let replaced = only(line.answer(placed));
    assert_eq!((replaced.request, replaced.event), (Some(request(2)), Some(OrderEvent::Replaced)));
    // Totals are of the whole order.
    let trade = only(line.trade("{2}-30d40", 11, "0.003", "0.003", "FILLED"));
    assert_eq!((trade.total, trade.request), (qty(500_000), Some(request(0))));
}

#[test]
fn the_rest_does_not_come_when_the_order_is_cancelled_meanwhile_or_nothing_is_left() {
    // A cancel while it waits.
    let mut line = Line::resting(Some("0.00100000"));
    line.modify(1, 2, &at(43_002, 5)).unwrap();
    let cancel = line.cancel(2, 3).unwrap();
    assert!(cancel.contains(r#""orderId":42,"newClientOrderId":"{3}""#), "{cancel}");
    let ended = line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.001");
    assert_eq!(said(&ended), [Some(OrderEvent::Cancelled)]);
    assert!(line.next().is_empty());
    // The cancel fails: the order was filled.
    let mut line = Line::resting(Some("0.00100000"));
    line.modify(1, 2, &at(43_002, 5)).unwrap();
    let refused = line.fails(400, r#""code":-2011,"msg":"Unknown order sent.""#);
    assert_eq!(refusal(refused), (Some(request(2)), true));
    // As much as was asked for has traded.
    let mut line = Line::resting(Some("0.00100000"));
    line.modify(1, 2, &at(43_002, 2)).unwrap();
    assert_eq!(line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.002"), []);
    assert!(line.next().is_empty());
    let over = line.handler.handle_timeout(line.now);
    assert_eq!(said(&Vec::from_iter(over)), [Some(OrderEvent::Cancelled)]);
    // The connection ends between both.
    let mut line = Line::resting(Some("0.00100000"));
    line.modify(1, 2, &at(43_002, 5)).unwrap();
    line.event("CANCELED", ["{2}-W", "{1}"], "CANCELED", "0.001");
    line.reconnect();
    assert!(line.next().is_empty());
    line.ask().unwrap();
    let stands =
        r#"{"orderId":42,"clientOrderId":"{2}-W","status":"CANCELED","executedQty":"0.001"}"#;
    assert_eq!(only(line.answer(stands)).event, Some(OrderEvent::Status(OrderState::Cancelled)));
}

#[test]
fn a_cancel_is_answered_or_refused() {
    let mut line = Line::resting(None);
    line.cancel(1, 2).unwrap();
    let answer =
        r#"{"orderId":42,"origClientOrderId":"{1}","clientOrderId":"{2}","status":"CANCELED"}"#;
    let cancelled = only(line.answer(answer));
    assert_eq!(
        (cancelled.request, cancelled.event),
        (Some(request(2)), Some(OrderEvent::Cancelled))
    );
    let again = line.event("CANCELED", ["{2}", "{1}"], "CANCELED", "0");
    assert_eq!(only(again).event, Some(OrderEvent::Cancelled));
    let mut line = Line::resting(None);
    line.cancel(1, 2).unwrap();
    let refused = line.fails(400, r#""code":-2011,"msg":"Unknown order sent.""#);
    assert_eq!(refusal(refused), (Some(request(2)), true));
    // Somebody else's cancel of our order.
    let mut line = Line::resting(None);
    let foreign = only(line.event("CANCELED", ["web_1", "{1}"], "CANCELED", "0"));
    assert_eq!((foreign.request, foreign.event), (Some(request(0)), Some(OrderEvent::Cancelled)));
}

#[test]
fn of_others_only_trades_are_told() {
    let mut line = Line::up();
    assert_eq!(line.event("NEW", ["web_1", ""], "NEW", "0"), []);
    let trade = only(line.trade("web_1", 3, "0.001", "0.001", "FILLED"));
    assert_eq!((trade.request, trade.event), (None, Some(OrderEvent::Traded)));
    assert_eq!(line.event("CANCELED", ["web_2", "web_1"], "CANCELED", "0"), []);
}

#[test]
fn that_there_is_no_such_order_counts_when_its_request_cannot_come_any_more() {
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    line.reconnect();
    let ask = line.ask().unwrap();
    assert!(
        ask.contains(r#""order.status","params":{"symbol":"BTCUSDT","origClientOrderId":"{1}""#),
        "{ask}"
    );
    let unknown = r#""code":-2013,"msg":"Order does not exist.""#;
    assert_eq!(line.fails(400, unknown), []);
    assert!(line.next().is_empty(), "the window of the order is still open");
    assert_eq!(line.handler.poll_timeout(), Some(START.mono + Nanos::from_secs(3)));
    line.pass(Nanos::from_secs(3));
    assert!(line.next().contains("order.status"));
    let report = only(line.fails(400, unknown));
    assert_eq!((report.event, report.is_answer), (Some(OrderEvent::NotFound), true));
}

#[test]
fn an_order_is_looked_for_under_every_name_that_it_may_have() {
    let unknown = r#""code":-2013,"msg":"Order does not exist.""#;
    let mut line = Line::resting(None);
    line.modify(1, 2, &at(43_001, 4)).unwrap();
    line.reconnect();
    line.pass(Nanos::from_secs(4));
    let ask = line.ask().unwrap();
    assert!(ask.contains(r#""origClientOrderId":"{2}""#), "{ask}");
    assert_eq!(line.fails(400, unknown), []);
    assert!(line.next().contains(r#""orderId":42"#));
    let stands = r#"{"orderId":42,"clientOrderId":"{1}","status":"NEW","origQty":"0.003","price":"43000.5","executedQty":"0"}"#;
    let report = only(line.answer(stands));
    assert_eq!(report.request, Some(request(1)));
    assert_eq!(report.event, Some(OrderEvent::Status(OrderState::Working)));
    assert_eq!(report.order_qty, qty(300_000));
    // It was replaced: the answer names the request that was granted.
    line.ask().unwrap();
    let stands = r#"{"orderId":43,"clientOrderId":"{2}","status":"NEW","origQty":"0.004","executedQty":"0"}"#;
    assert_eq!(only(line.answer(stands)).request, Some(request(2)));
}

#[test]
fn an_order_of_an_earlier_process_is_found_by_the_venues_number_and_its_later_names() {
    let lost = Order::recovered(ORDER, &terms(), 0, (2, 1), (Lots(1), 43_000_000_000_000));
    let mut line = Line::up();
    line.handler.adopt(&lost, b"42");
    let ask = line.ask().unwrap();
    assert!(ask.contains(r#""origClientOrderId":"{2}-186a0""#), "{ask}");
    assert_eq!(line.fails(400, r#""code":-2013,"msg":"Order does not exist.""#), []);
    assert!(line.next().contains(r#""orderId":42"#));
    let stands = concat!(
        r#"{"orderId":42,"clientOrderId":"{1}","status":"PARTIALLY_FILLED","executedQty":"0.001","#,
        r#""cummulativeQuoteQty":"43.0","origQty":"0.003","price":"43000.5"}"#
    );
    let report = only(line.answer(stands));
    assert_eq!((report.total, report.average), (qty(100_000), Some(Price(43_000_000_000_000))));
    // It has traded: another price is a cancel and an order for the rest.
    assert!(line.modify(1, 3, &at(43_001, 3)).unwrap().contains("order.cancel\""));
}

#[test]
fn the_question_about_all_is_answered_order_by_order() {
    let mut line = Line::resting(None);
    line.handler.ask_all(line.now).unwrap();
    assert!(line.next().contains(r#""openOrders.status","params":{"recvWindow""#));
    let events = line.answer(concat!(
        r#"[{"orderId":42,"clientOrderId":"{1}","status":"NEW","executedQty":"0.0"},"#,
        r#"{"orderId":99,"clientOrderId":"web_1","status":"NEW","executedQty":"0.0"}]"#
    ));
    let [VenueEvent::Report(ours), VenueEvent::Report(other), VenueEvent::AllTold] = events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((ours.of_all, ours.request), (OfAll::One, Some(request(1))));
    assert_eq!((other.of_all, other.request), (OfAll::One, None));
    line.handler.ask_all(line.now).unwrap();
    line.next();
    let events = line.answer("[]");
    assert_eq!(
        (only(events[..1].to_vec()).of_all, events[1]),
        (OfAll::Nothing, VenueEvent::AllTold)
    );
}

#[test]
fn no_more_orders_leave_in_ten_seconds_or_a_day_than_the_venue_takes() {
    let settings = BinanceWsSettings {
        orders: Rate { per_second: 1, burst: 2 },
        orders_a_day: 3,
        ..BinanceWsSettings::default()
    };
    let mut line = Line::up_with(settings);
    assert!(line.create(&terms()).is_ok() && line.create(&terms()).is_ok());
    line.handler.symbols.ended(InstrumentId(0));
    let Err(NotSent::Throttled(until)) = line.create(&terms()) else { panic!() };
    assert_eq!(until, START.mono + Nanos::from_secs(1));
    line.pass(Nanos::from_secs(2));
    assert!(line.create(&terms()).is_ok());
    line.handler.symbols.ended(InstrumentId(0));
    // A cancel is no order.
    assert!(line.cancel(1, 2).is_ok());
    let Err(NotSent::Throttled(until)) = line.create(&terms()) else { panic!() };
    let day_ms = 24 * 60 * 60 * 1_000;
    let left = Nanos::from_millis((day_ms - (VENUE_MS + 2_000) % day_ms) as i64);
    assert_eq!(until, line.now.mono + left);
}

#[test]
fn nothing_leaves_before_the_venue_says_so_once_a_limit_is_reached() {
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let retry = VENUE_MS + 5_000;
    let error = format!(
        r#""code":-1003,"msg":"Too much request weight used.","data":{{"serverTime":{VENUE_MS},"retryAfter":{retry}}}"#
    );
    let message = line.handler.last_message();
    assert_eq!(line.fails(429, &error), [VenueEvent::Refused { message, named: Some(request(1)) }]);
    let Err(NotSent::Throttled(until)) = line.cancel(1, 2) else { panic!() };
    assert!((until - START.mono - Nanos::from_secs(5)).0.abs() < 1_000_000, "{until:?}");
    line.pass(Nanos::from_secs(66));
    assert!(line.create(&terms()).is_ok());
}

#[test]
fn a_time_that_the_venue_does_not_take_is_asked_again() {
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let refused = line.fails(400, r#""code":-1021,"msg":"Timestamp for this request is outside.""#);
    assert!(matches!(refused[..], [VenueEvent::Refused { .. }]), "{refused:?}");
    assert_eq!(line.next(), r#"{"id":,"method":"time"}"#);
    line.answer(&format!(r#"{{"serverTime":{}}}"#, VENUE_MS + 60_000));
    let place = line.create(&terms()).unwrap();
    assert!(place.contains(r#""timestamp":1700000060000"#), "{place}");
    // A step of our own clock changes nothing.
    line.now.utc = Nanos::from_secs(9_999_999);
    let place = line.cancel(1, 2).unwrap();
    assert!(place.contains(r#""timestamp":1700000060000"#), "{place}");
}

#[test]
fn a_connection_that_brings_nothing_is_given_up() {
    let mut line = Line::up();
    assert_eq!(line.pass(Nanos::from_secs(30)), None);
    assert_eq!(line.next(), r#"{"id":,"method":"time"}"#);
    line.answer(&format!(r#"{{"serverTime":{}}}"#, VENUE_MS + 30_000));
    assert_eq!(line.pass(Nanos::from_secs(60)), None);
    assert_eq!(line.pass(Nanos::from_secs(30)), Some(VenueEvent::Broken));
}

#[test]
fn a_rehearsal_leaves_nothing_behind() {
    let mut line = Line::up();
    let (instrument, terms) = (bitcoin(), terms());
    let request = RequestId::create(ORDER);
    let order = OrderMessage { request, instrument: &instrument, account: None, terms: &terms };
    let before = line.handler.last_message();
    line.handler.create(START, &order, true).unwrap();
    assert!(line.handler.unsent().is_empty());
    assert_eq!((line.handler.last_message(), line.handler.known.names(ORDER).count()), (before, 0));
}

#[test]
fn what_cannot_be_read_is_told() {
    let mut line = Line::resting(None);
    for frame in ["", "{", "[]", "{}", r#"{"id":1}"#, r#"{"event":{"e":"executionReport"}}"#] {
        for event in line.hear(frame) {
            assert_eq!(event, VenueEvent::Unreadable(None), "{frame}");
        }
    }
    line.cancel(1, 2).unwrap();
    assert_eq!(line.answer("{}"), [VenueEvent::Unreadable(Some(request(0)))]);
    let strange = only(line.event("NOVEL", ["{1}", ""], "NOVEL", "0"));
    assert!(strange.is_strange && strange.event.is_none());
}
