//! Instruments and accounts, and how a client asks.

use serde_json::{Value, json};
use taut_engine::{Command, Phase};

use crate::accounts::{AccountSettings, KeySettings};
use crate::deribit::instruments::{Kind, MarketSettings, TickStep};
use crate::deribit::tests::description::{check_answer, check_notification};
use crate::deribit::{Deribit, DeribitSettings};
use crate::front::{Front, HttpRequest};

/// The perpetual.
pub const PERPETUAL: &str = "BTC-PERPETUAL";
/// The option.
pub const OPTION: &str = "BTC-25DEC26-60000-C";

pub type Rig = crate::rig::Rig<Deribit>;

pub fn settings() -> DeribitSettings {
    let account = |name: &str| AccountSettings {
        name: name.to_owned(),
        keys: vec![KeySettings {
            id: name.to_owned(),
            secret: "ABCD".to_owned(),
            read_only: name == "reader",
        }],
        balances: [("BTC", "10"), ("USDC", "100000")]
            .map(|(c, b)| (c.to_owned(), b.to_owned()))
            .into(),
        self_trading: "reject_taker".to_owned(),
        matching_rate: 5,
        matching_burst: 20,
    };
    let market =
        |name: &str, kind, quote: &str, settlement: &str, tick: &str, lot: &str, start: &str| {
            MarketSettings {
                name: name.to_owned(),
                kind,
                base: "BTC".to_owned(),
                quote: quote.to_owned(),
                settlement: settlement.to_owned(),
                tick: tick.to_owned(),
                tick_steps: match kind {
                    Kind::Option => {
                        vec![TickStep { above: "0.005".to_owned(), tick: "0.0005".to_owned() }]
                    }
                    _ => Vec::new(),
                },
                min_trade_amount: lot.to_owned(),
                contract_size: lot.to_owned(),
                maker_commission: "0".to_owned(),
                taker_commission: "0.0005".to_owned(),
                expiration_ms: (kind == Kind::Option).then_some(1_798_185_600_000),
                strike: (kind == Kind::Option).then(|| "60000".to_owned()),
                option_type: (kind == Kind::Option).then(|| "call".to_owned()),
                start_price: start.to_owned(),
                weight: 0,
            }
        };
    DeribitSettings {
        instruments: vec![
            market(PERPETUAL, Kind::Future, "USD", "BTC", "0.5", "10", "60000"),
            market(OPTION, Kind::Option, "BTC", "BTC", "0.0001", "0.1", "0.1"),
            market("BTC_USDC", Kind::Pair, "USDC", "USDC", "1", "0.0001", "60000"),
        ],
        accounts: vec![account("one"), account("two"), account("reader")],
    }
}

impl Rig {
    pub fn new() -> Self {
        let settings = settings();
        let markets = settings.instruments.len();
        let rig = Self::of(Deribit::new(&settings).expect("settings"), markets);
        Self { look: check_notification, ..rig }
    }

    /// The engine does something else with a market.
    pub fn set_phase(&mut self, place: usize, phase: Phase) {
        let mut events = Vec::new();
        self.engines[place].execute(Command::SetPhase(phase), &mut |event| events.push(event));
        self.front.on_events(self.now, place, &events);
        self.pump();
    }

    pub fn open(&mut self, connection: u64) {
        let request = HttpRequest { path: "/ws/api/v2".to_owned(), ..HttpRequest::default() };
        assert_eq!(self.front.open(self.now, connection, &request), Ok(()));
    }

    /// A connection on which this account is logged on.
    pub fn log_on(&mut self, connection: u64, name: &str) -> Value {
        self.open(connection);
        let params =
            json!({"grant_type": "client_credentials", "client_id": name, "client_secret": "ABCD"});
        self.result(connection, "public/auth", params)
    }

    /// Asks, and takes the answer out; what came beside it stays. Both are as the interface's
    /// description says.
    pub fn call(&mut self, connection: u64, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.front.text(self.now, connection, &request.to_string());
        self.pump();
        let inbox = self.inbox.entry(connection).or_default();
        let at = inbox.iter().position(|it| it["id"] == json!(id)).expect("an answer");
        let answer = inbox.remove(at);
        check_answer(method, &answer);
        answer
    }

    pub fn result(&mut self, connection: u64, method: &str, params: Value) -> Value {
        let answer = self.call(connection, method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub fn code(&mut self, connection: u64, method: &str, params: Value) -> i64 {
        let answer = self.call(connection, method, params);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// The data of a channel that came, oldest first.
    pub fn data(&mut self, connection: u64, channel: &str) -> Vec<Value> {
        let inbox = self.inbox.entry(connection).or_default();
        let of = |it: &Value| it["params"]["channel"] == json!(channel);
        let found =
            inbox.iter().filter(|it| of(it)).map(|it| it["params"]["data"].clone()).collect();
        inbox.retain(|it| !of(it));
        found
    }

    pub fn limit(&mut self, connection: u64, method: &str, amount: i64, price: f64) -> Value {
        let params = json!({"instrument_name": PERPETUAL, "amount": amount, "price": price});
        self.result(connection, method, params)
    }

    pub fn http(&mut self, connection: u64, target: &str, authorization: &str) -> Value {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let request = HttpRequest {
            method: "GET".to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            authorization: authorization.to_owned(),
            ..HttpRequest::default()
        };
        self.front.request(self.now, connection, request);
        self.pump();
        let answer = self.inbox.entry(connection).or_default().pop().expect("an answer");
        if let Some(method) = target.split('?').next().and_then(|it| it.strip_prefix("/api/v2/")) {
            check_answer(method, &answer);
        }
        answer
    }
}
