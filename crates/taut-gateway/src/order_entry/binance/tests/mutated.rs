//! Frames that something happened to, into a session that trades: nothing panics, no order leaves
//! that nobody asked for, and the session after it is as good as any.
//!
//! `TAUT_EXECUTIONS=10000000 cargo test --release -p taut-gateway --lib mutated -- --nocapture`
//! makes the frames ten million.

use taut_testkit::{Draw, Random, mutate_json};

use super::*;

const SEED: u64 = 16;
/// Orders under way: more than the handler has places for.
const ORDERS: u64 = 6;
const STATES: [&str; 8] = [
    "NEW",
    "NEW",
    "PARTIALLY_FILLED",
    "FILLED",
    "CANCELED",
    "EXPIRED_IN_MATCH",
    "REJECTED",
    "NOBODY_KNOWS",
];
const KINDS: [&str; 8] =
    ["NEW", "TRADE", "TRADE", "CANCELED", "REPLACED", "EXPIRED", "TRADE_PREVENTION", "NEVER_SEEN"];
/// Refused, unknown, gone, too late, too many, nobody knows.
const ERRORS: [(u16, i64); 7] =
    [(400, -2010), (400, -2011), (400, -2013), (400, -1021), (429, -1003), (500, -1007), (400, 0)];

fn executions() -> u64 {
    let asked = std::env::var("TAUT_EXECUTIONS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(20_000)
}

#[derive(Debug, Default)]
struct Counted {
    frames: u64,
    mutated: u64,
    reports: u64,
    refused: u64,
    unreadable: u64,
    sessions: u64,
    /// Mutated while the session began.
    logons: u64,
    /// Rests of orders that made way.
    rests: u64,
}

/// A session, its venue, and what happens between them.
struct Storm {
    line: Line,
    random: Random,
    counted: Counted,
    is_over: bool,
}

impl Storm {
    fn new() -> Self {
        let plenty = Rate { per_second: 1_000_000, burst: 1_000_000 };
        let settings = BinanceOrderSettings {
            orders: plenty,
            weight: plenty,
            orders_a_day: u32::MAX,
            ..BinanceOrderSettings::default()
        };
        let (line, random) = (Line::up_with(settings), Random::with_seed(SEED));
        Self { line, random, counted: Counted::default(), is_over: false }
    }

    /// The name of an order, or of a request about one.
    fn name(&mut self) -> String {
        let version = self.random.below(3) as u16 + 1;
        let request = RequestId { order: ClientOrderId(self.random.below(ORDERS)), version };
        let name = String::from_utf8(request.to_text().to_vec()).unwrap();
        name + self.random.pick(&["", "", "", "-R", "-W", "-186a0"])
    }

    fn amount(&mut self) -> &'static str {
        self.random.pick(&["0", "0.00100000", "0.002", "0.00300000"])
    }

    /// One of the orders, as answers have it.
    fn order(&mut self) -> String {
        let (name, original) = (self.name(), self.name());
        let (traded, status) = (self.amount(), self.random.pick(&STATES));
        let id = self.random.below(2 * ORDERS) + 40;
        format!(
            concat!(
                r#"{{"symbol":"BTCUSDT","orderId":{id},"clientOrderId":"{name}","#,
                r#""origClientOrderId":"{original}","price":"43000.5","origQty":"0.003","#,
                r#""executedQty":"{traded}","cummulativeQuoteQty":"43.1","status":"{status}"}}"#
            ),
            id = id,
            name = name,
            original = original,
            traded = traded,
            status = status
        )
    }

    /// What the venue answers to this method.
    fn result(&mut self, method: &str) -> String {
        match method {
            "time" => {
                let time = VENUE_MS + (self.line.now.mono - START.mono).0 as u64 / 1_000_000;
                format!(r#"{{"serverTime":{time}}}"#)
            }
            "session.logon" => r#"{"apiKey":"key"}"#.to_owned(),
            "userDataStream.subscribe" => r#"{"subscriptionId":0}"#.to_owned(),
            "exchangeInfo" => SYMBOLS.to_owned(),
            "order.cancelReplace" => {
                let (cancelled, placed) = (self.order(), self.order());
                format!(
                    concat!(
                        r#"{{"cancelResult":"SUCCESS","newOrderResult":"SUCCESS","#,
                        r#""cancelResponse":{},"newOrderResponse":{}}}"#
                    ),
                    cancelled, placed
                )
            }
            "order.amend.keepPriority" => {
                format!(r#"{{"executionId":5,"amendedOrder":{}}}"#, self.order())
            }
            "openOrders.status" => {
                let orders: Vec<_> = (0..self.random.below(3)).map(|_| self.order()).collect();
                format!("[{}]", orders.join(","))
            }
            _ => self.order(),
        }
    }

    /// The answer to the request that was sent last: its result, or an error.
    fn answer(&mut self, request: &str, fails: bool) -> String {
        let id = self.line.handler.last_message();
        if fails && self.random.per_mille(150) {
            let (status, code) = self.random.pick(&ERRORS);
            let data = match method(request) {
                "order.cancelReplace" => concat!(
                    r#","data":{"cancelResult":"FAILURE","newOrderResult":"NOT_ATTEMPTED","#,
                    r#""cancelResponse":{"code":-2011,"msg":"no"},"newOrderResponse":null}"#
                ),
                _ => "",
            };
            let error = format!(r#"{{"code":{code},"msg":"no"{data}}}"#);
            return format!(r#"{{"id":{id},"status":{status},"error":{error}}}"#);
        }
        let result = self.result(method(request));
        let limits = self.limits();
        format!(r#"{{"id":{id},"status":200,"result":{result},"rateLimits":{limits}}}"#)
    }

    /// What the venue has counted, of which plenty is left; sometimes it says nothing.
    fn limits(&mut self) -> String {
        if self.random.per_mille(500) {
            return "[]".to_owned();
        }
        let (weight, orders) = (self.random.below(5_000), self.random.below(50));
        format!(
            concat!(
                r#"[{{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"#,
                r#""limit":6000,"count":{weight}}},"#,
                r#"{{"rateLimitType":"ORDERS","interval":"SECOND","intervalNum":10,"#,
                r#""limit":100,"count":{orders}}},"#,
                r#"{{"rateLimitType":"ORDERS","interval":"DAY","intervalNum":1,"#,
                r#""limit":200000,"count":{orders}}}]"#
            ),
            weight = weight,
            orders = orders
        )
    }

    /// What the venue says without having been asked.
    fn news(&mut self) -> String {
        match self.random.below(16) {
            0 => r#"{"id":9999999,"status":200,"result":{},"rateLimits":[]}"#.to_owned(),
            1 => r#"{"subscriptionId":0,"event":{"e":"outboundAccountPosition","E":1,"B":[]}}"#
                .to_owned(),
            2 => {
                let order = ClientOrderId(self.random.below(ORDERS));
                let name = |version| {
                    let request = RequestId { order, version };
                    String::from_utf8(request.to_text().to_vec()).unwrap()
                };
                let (end, of) = (format!("{}-W", name(2)), name(1));
                self.execution([&end, &of, "CANCELED", "CANCELED", "0.00100000"])
            }
            _ => {
                let (name, original, traded) = (self.name(), self.name(), self.amount());
                let original = if self.random.per_mille(500) { "" } else { &original };
                let (kind, status) = (self.random.pick(&KINDS), self.random.pick(&STATES));
                self.execution([&name, original, kind, status, traded])
            }
        }
    }

    fn execution(&mut self, [name, original, kind, status, traded]: [&str; 5]) -> String {
        let (id, trade) = (self.random.below(2 * ORDERS) + 40, self.random.below(1_000));
        format!(
            concat!(
                r#"{{"subscriptionId":0,"event":{{"e":"executionReport","E":1,"#,
                r#""s":"BTCUSDT","c":"{name}","S":"BUY","q":"0.003","p":"43000.5","#,
                r#""C":"{original}","x":"{kind}","X":"{status}","i":{id},"#,
                r#""l":"0.001","z":"{traded}","L":"43000.25","n":"0.1","N":"BNB","#,
                r#""t":{trade},"m":true,"T":1699999999999}}}}"#
            ),
            name = name,
            original = original,
            kind = kind,
            status = status,
            id = id,
            traded = traded,
            trade = trade
        )
    }

    /// Sends a request for one of the orders, or about all of them; nothing when it may not.
    fn request(&mut self) -> Option<String> {
        let (instrument, terms, account) = (bitcoin(), terms(), None);
        let order = ClientOrderId(self.random.below(ORDERS));
        let base = RequestId::create(order);
        let what = self.random.below(6);
        let request = RequestId { order, version: if what == 0 { 1 } else { 2 } };
        let smaller = OrderTerms { lots: Lots(2), ..terms };
        let terms = if what == 1 { &smaller } else { &terms };
        let message = OrderMessage { request, instrument: &instrument, account, terms };
        let Line { handler, now, .. } = &mut self.line;
        let sent = match what {
            0 => handler.create(*now, &message, false),
            1 | 2 => handler.modify(*now, base, &message),
            3 => handler.cancel(*now, base, &message),
            4 => handler.ask(*now, &message),
            _ => handler.ask_all(*now),
        };
        sent.ok()?;
        let text = String::from_utf8(handler.unsent().to_vec()).unwrap();
        handler.clear_unsent();
        Some(text)
    }

    /// The handler hears a frame, to which something may have happened.
    fn hear(&mut self, frame: String, is_to_be_mutated: bool) {
        let mut frame = frame.into_bytes();
        self.counted.frames += 1;
        if is_to_be_mutated {
            self.counted.mutated += 1;
            for _ in 0..=self.random.below(2) {
                mutate_json(&mut frame, &mut self.random);
            }
        }
        let was_up = self.line.handler.is_up();
        let mut bytes = &frame[..];
        let mut has_reports = false;
        while let Some(event) = self.line.handler.handle_bytes(self.line.now, &mut bytes) {
            match event {
                VenueEvent::LoggedOn => assert!(!was_up, "seed {SEED}: a session begins once"),
                VenueEvent::LoggedOut | VenueEvent::Broken => self.is_over = true,
                VenueEvent::Report(_) => has_reports = true,
                VenueEvent::Refused { named, .. } => {
                    self.counted.refused += 1;
                    let is_ours = |request: RequestId| request.order.0 < ORDERS;
                    assert!(named.is_none_or(is_ours), "seed {SEED}: {named:?}");
                }
                VenueEvent::ChangeRefused(refused) => {
                    self.counted.refused += 1;
                    let order = refused.request.map(|request| request.order);
                    assert!(order.is_none_or(|it| it.0 < ORDERS), "seed {SEED}: {refused:?}");
                }
                VenueEvent::Unreadable(_) => {
                    self.counted.unreadable += 1;
                    assert!(is_to_be_mutated, "seed {SEED}: a whole frame is read");
                }
                VenueEvent::AllTold => {}
                VenueEvent::Position(_)
                | VenueEvent::AllPositionsTold
                | VenueEvent::PositionsRefused => unreachable!("nobody asks"),
            }
        }
        self.counted.reports += u64::from(has_reports);
    }

    /// What the handler sends by itself is of the session, a question, or the rest of an order that
    /// made way; and it is answered.
    fn settle(&mut self, per_mille: u64) {
        for _ in 0..16 {
            let text = self.line.next();
            if text.is_empty() || self.is_over {
                return;
            }
            match method(&text) {
                "time"
                | "session.logon"
                | "userDataStream.subscribe"
                | "exchangeInfo"
                | "order.status" => {}
                "order.place" => {
                    self.counted.rests += 1;
                    assert!(!text.contains("{1}"), "seed {SEED}: sent again: {text}");
                }
                _ => panic!("seed {SEED}: sent by itself: {text}"),
            }
            let answer = self.answer(&text, true);
            let is_to_be_mutated = self.random.per_mille(per_mille);
            self.hear(answer, is_to_be_mutated);
        }
    }

    /// The connection ends. The next session begins badly, or well, and then takes an order.
    fn begin_again(&mut self) {
        if self.random.per_mille(500) {
            self.connect();
            self.counted.logons += 1;
            self.settle(500);
        }
        self.connect();
        self.line.log_on();
        self.counted.sessions += 1;
        (0..ORDERS).for_each(|order| self.line.handler.over(ClientOrderId(order)));
        self.line.create(&terms()).unwrap();
        let placed = self.line.answer(ACK);
        assert_eq!(said(&placed), [Some(OrderEvent::Accepted)], "seed {SEED}: {placed:?}");
        self.line.handler.over(ORDER);
    }

    fn connect(&mut self) {
        self.is_over = false;
        self.line.handler.disconnected(self.line.now);
        // Longer than an address may be barred.
        self.line.pass(Nanos::from_secs(61));
        self.line.handler.connected(self.line.now, [7; 32], 0);
    }

    fn step(&mut self) {
        let span = match self.random.below(5_000) {
            0 => Nanos::from_secs(100),
            _ => Nanos::from_millis(self.random.below(40) as i64),
        };
        self.is_over |= self.line.pass(span).is_some() || self.random.below(5_000) == 0;
        if self.is_over {
            self.begin_again();
        }
        let frame = match self.random.below(3) {
            0 => self.news(),
            _ => match self.request() {
                // Some answers never come.
                Some(_) if self.random.below(20) == 0 => return,
                Some(request) => self.answer(&request, true),
                None => self.news(),
            },
        };
        let is_repeated = self.random.below(50) == 0;
        let is_to_be_mutated = self.random.per_mille(700);
        if is_repeated {
            self.hear(frame.clone(), false);
        }
        self.hear(frame, is_to_be_mutated);
        self.settle(100);
    }
}

/// The method in a request.
fn method(request: &str) -> &str {
    let (_, behind) = request.split_once(r#""method":""#).expect("a request");
    behind.split('"').next().unwrap_or_default()
}

#[test]
fn mutated_frames_neither_panic_nor_send_what_nobody_asked_for() {
    let mut storm = Storm::new();
    while storm.counted.mutated < executions() {
        storm.step();
    }
    let counted = storm.counted;
    println!("binance, orders: {counted:?}");
    assert!(counted.reports > counted.mutated / 10 && counted.unreadable > counted.mutated / 100);
    assert!(counted.refused > 0 && counted.sessions > 0 && counted.logons > 0);
    assert!(counted.rests > 0);
}
