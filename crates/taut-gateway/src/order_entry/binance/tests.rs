//! Binance's WebSocket API on messages, and a session that speaks it.

mod copies;
mod fix;
mod fix_mutated;
mod mutated;
mod orders;
mod recovery;
mod session;

use taut_fix::{CompId, Now};
use taut_fix_engine::Credentials;
use taut_oms::{ExecId, Order, OrderEvent, OrderState, Rate, RequestKind, VenueReject};
use taut_types::{
    ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderFlags, OrderTerms, OrderType, Price,
    Qty, RequestId, Side, Symbol, TimeInForce,
};

use super::*;
use crate::config::{GatewayConfig, SessionSettings};
use crate::order_entry::handler::{
    ChangeRefused, NotSent, OfAll, OrderHandler, OrderMessage, VenueEvent, VenueReport,
};

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
    fn new(settings: BinanceOrderSettings) -> Self {
        let mut handler = BinanceWs::new(&config(), settings).unwrap();
        handler.connected(START, [7; 32], 0);
        Self { handler, now: START }
    }

    /// A session that is up.
    fn up() -> Self {
        Self::up_with(BinanceOrderSettings::default())
    }

    fn up_with(settings: BinanceOrderSettings) -> Self {
        let mut line = Self::new(settings);
        line.log_on();
        line
    }

    fn log_on(&mut self) {
        let symbols = r#"{"id":,"method":"exchangeInfo","params":{"symbols":["BTCUSDT"]}}"#;
        assert_eq!(self.begin(), symbols);
        assert!(!self.handler.is_up());
        assert_eq!(self.answer(SYMBOLS), [VenueEvent::LoggedOn]);
        assert!(self.handler.is_up());
    }

    /// A session up to the question about symbols, which is to be answered.
    fn begin(&mut self) -> String {
        assert_eq!(self.next(), r#"{"id":,"method":"time"}"#);
        assert!(self.next().is_empty(), "nothing before the time is known");
        let time = VENUE_MS + (self.now.mono - START.mono).0 as u64 / 1_000_000;
        assert_eq!(self.answer(&format!(r#"{{"serverTime":{time}}}"#)), []);
        assert!(self.next().contains("session.logon"));
        assert!(self.next().is_empty(), "nothing before there is a session");
        assert_eq!(self.answer(r#"{"apiKey":"key"}"#), []);
        assert_eq!(self.next(), r#"{"id":,"method":"userDataStream.subscribe"}"#);
        assert_eq!(self.answer(r#"{"subscriptionId":0}"#), []);
        self.next()
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
