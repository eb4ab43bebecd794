//! Frames that something happened to, into a session that trades: nothing panics, nothing is sent
//! twice, what is malformed tells nothing, and the session after it is as good as any.
//!
//! `TAUT_EXECUTIONS=10000000 cargo test --release -p taut-gateway --lib mutated -- --nocapture`
//! makes the frames ten million.

use serde_json::value::RawValue;
use taut_testkit::{Draw, Random, mutate_json};

use super::*;

const SEED: u64 = 16;
/// Orders under way: more than the handler has places for.
const ORDERS: u64 = 6;
/// What the session asks for by itself.
const OF_SESSION: [&str; 6] = [
    "public/get_time",
    "public/auth",
    "public/test",
    "public/set_heartbeat",
    "private/enable_cancel_on_disconnect",
    "private/subscribe",
];
const STATES: [&str; 7] =
    ["open", "open", "filled", "cancelled", "rejected", "untriggered", "nobody-knows"];
/// Refused, unknown, the order is gone, credits are spent, the token is.
const CODES: [i64; 8] = [11_054, 11_094, 11_044, 10_004, 10_041, 10_028, 13_009, 0];

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
}

/// A session, its venue, and what happens between them.
struct Storm {
    line: Line,
    random: Random,
    counted: Counted,
    is_over: bool,
}

fn label_of(order: u64) -> String {
    let name = RequestId::create(ClientOrderId(order)).to_text();
    String::from_utf8(name.to_vec()).unwrap()
}

impl Storm {
    fn new() -> Self {
        let plenty = Rate { per_second: 1_000, burst: 1_000 };
        let settings =
            DeribitOrderSettings { orders: plenty, questions: plenty, ..Default::default() };
        let (line, random) = (Line::up_with(settings), Random::with_seed(SEED));
        Self { line, random, counted: Counted::default(), is_over: false }
    }

    /// One of the orders, as answers and `user.changes` have it.
    fn order(&mut self) -> String {
        let order = self.random.below(ORDERS);
        let state = format!(r#""order_state":"{}""#, self.random.pick(&STATES));
        let filled =
            format!(r#""filled_amount":{}"#, self.random.pick(&["0", "10", "3e1", "null"]));
        OPEN.replace("{7}", &label_of(order))
            .replace("ETH-1", &format!("ETH-{order}"))
            .replace(r#""order_state":"open""#, &state)
            .replace(r#""filled_amount":0"#, &filled)
    }

    fn trade(&mut self) -> String {
        let order = self.random.below(ORDERS);
        TRADE.replace("{7}", &label_of(order)).replace("ETH-1", &format!("ETH-{order}"))
    }

    fn list(&mut self, most: u64, one: impl Fn(&mut Self) -> String) -> String {
        let count = self.random.below(most + 1);
        (0..count).map(|_| one(self)).collect::<Vec<_>>().join(",")
    }

    /// What the venue answers to this method.
    fn result(&mut self, method: &str) -> String {
        match method {
            "public/auth" => r#"{"refresh_token":"again","expires_in":900}"#.to_owned(),
            "public/get_time" => "1554883365000".to_owned(),
            "private/subscribe" => r#"["user.changes.any.any.raw"]"#.to_owned(),
            "private/buy" | "private/edit" | "private/edit_by_label" => {
                let (order, trades) = (self.order(), self.list(2, Self::trade));
                format!(r#"{{"trades":[{trades}],"order":{order}}}"#)
            }
            "private/cancel" | "private/get_order_state" => self.order(),
            "private/cancel_by_label" => self.random.below(2).to_string(),
            "private/get_order_state_by_label" | "private/get_open_orders" => {
                format!("[{}]", self.list(3, Self::order))
            }
            _ => r#""ok""#.to_owned(),
        }
    }

    /// The answer to the request that was sent last: its result, or an error.
    fn answer(&mut self, request: &str) -> String {
        let id = self.line.handler.last_message();
        if self.random.per_mille(150) {
            let code = self.random.pick(&CODES);
            let error = format!(r#"{{"code":{code},"message":"no","data":{{"reason":"x"}}}}"#);
            return format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error},"usIn":1}}"#);
        }
        let result = self.result(method(request));
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result},"usIn":1,"testnet":false}}"#)
    }

    /// What the venue says without having been asked.
    fn news(&mut self) -> String {
        match self.random.below(8) {
            0 => r#"{"method":"heartbeat","params":{"type":"heartbeat"}}"#.to_owned(),
            1 => r#"{"method":"heartbeat","params":{"type":"test_request"}}"#.to_owned(),
            2 => r#"{"jsonrpc":"2.0","id":9999999,"result":[],"usIn":1}"#.to_owned(),
            _ => {
                let (trades, orders) = (self.list(2, Self::trade), self.list(2, Self::order));
                let data = format!(r#"{{"trades":[{trades}],"orders":[{orders}],"positions":[]}}"#);
                let params = format!(r#"{{"channel":"user.changes.any.any.raw","data":{data}}}"#);
                format!(r#"{{"jsonrpc":"2.0","method":"subscription","params":{params}}}"#)
            }
        }
    }

    /// Sends a request for one of the orders, or about all of them; nothing when it may not.
    fn request(&mut self) -> Option<String> {
        let (instrument, terms, account) = (perpetual(), terms(), None);
        let order = ClientOrderId(self.random.below(ORDERS));
        let base = RequestId::create(order);
        let what = self.random.below(5);
        let request = RequestId { order, version: if what == 0 { 1 } else { 2 } };
        let message = OrderMessage { request, instrument: &instrument, account, terms: &terms };
        let Line { handler, now, .. } = &mut self.line;
        let sent = match what {
            0 => handler.create(*now, &message, false),
            1 => handler.modify(*now, base, &message),
            2 => handler.cancel(*now, base, &message),
            3 => handler.ask(*now, &message),
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
            let is_ours = |request: RequestId| request.order.0 < ORDERS;
            match event {
                VenueEvent::LoggedOn => assert!(!was_up, "seed {SEED}: a session begins once"),
                VenueEvent::LoggedOut | VenueEvent::Broken => self.is_over = true,
                VenueEvent::Report(_) => has_reports = true,
                VenueEvent::Refused { named, .. } => {
                    self.counted.refused += 1;
                    assert!(named.is_none_or(is_ours), "seed {SEED}: {named:?}");
                }
                VenueEvent::ChangeRefused(refused) => {
                    self.counted.refused += 1;
                    assert!(refused.request.is_none_or(is_ours), "seed {SEED}: {refused:?}");
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
        if has_reports {
            self.counted.reports += 1;
            Self::check_told(&frame);
        }
    }

    /// Reports come from JSON alone: of an answer or of the data of a notification.
    fn check_told(frame: &[u8]) {
        let text = || String::from_utf8_lossy(frame);
        let (Ok(Message::Notification { data: body, .. }) | Ok(Message::Answer { body, .. })) =
            read_message(frame)
        else {
            panic!("seed {SEED}: told of {}", text())
        };
        let mut values = serde_json::Deserializer::from_slice(body).into_iter::<&RawValue>();
        if let Some(Err(error)) = values.next() {
            panic!("seed {SEED}: {error}: {}", text());
        }
    }

    /// What the handler sends by itself is of the session, and answered.
    fn settle(&mut self, per_mille: u64) {
        for _ in 0..16 {
            let text = self.line.next();
            if text.is_empty() || self.is_over {
                return;
            }
            assert!(OF_SESSION.contains(&method(&text)), "seed {SEED}: sent by itself: {text}");
            let answer = self.answer(&text);
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
        self.line.create().unwrap();
        let placed = self.line.answer(&format!(r#"{{"order":{OPEN},"trades":[]}}"#));
        assert!(said(&placed).contains(&Some(OrderEvent::Accepted)), "seed {SEED}: {placed:?}");
        self.line.handler.over(ORDER);
    }

    fn connect(&mut self) {
        self.is_over = false;
        self.line.handler.disconnected(self.line.now);
        self.line.pass(Nanos::from_secs(11));
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
                Some(request) => self.answer(&request),
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
fn mutated_frames_neither_panic_nor_send_nor_tell_what_was_not_said() {
    let mut storm = Storm::new();
    while storm.counted.mutated < executions() {
        storm.step();
    }
    let counted = storm.counted;
    println!("deribit, orders: {counted:?}");
    assert!(counted.reports > counted.mutated / 10 && counted.unreadable > counted.mutated / 100);
    assert!(counted.refused > 0 && counted.sessions > 0 && counted.logons > 0);
}
