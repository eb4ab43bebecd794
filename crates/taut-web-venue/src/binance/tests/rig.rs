//! Symbols and accounts, and how a client asks.

use serde_json::{Value, json};
use taut_order_entry::sign::{Ed25519Key, HmacKey, seed_from_pkcs8};

use crate::binance::settings::{
    ApiKeySettings, BinanceAccountSettings, SymbolMarket, SymbolSettings,
};
use crate::binance::{Binance, BinanceSettings};
use crate::front::{Denied, Front, HttpRequest};
use crate::rig::Answer;

pub type Rig = crate::rig::Rig<Binance>;

pub const SYMBOL: &str = "BTCUSDT";
/// Of every HMAC key.
pub const SECRET: &str = "ABCD";
/// The private key of the example in the venue's document of FIX, and its public one.
const PRIVATE: &str = "MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u";
const PUBLIC: &str = "MCowBQYDK2VwAyEAGUIKv9dSpWXBViXp2m6vAIb8QMFJYBgyFEQsFJlqgA0=";

pub fn settings() -> BinanceSettings {
    let key = |id: &str, public_key: Option<&str>| ApiKeySettings {
        id: id.to_owned(),
        secret: public_key.is_none().then(|| SECRET.to_owned()),
        public_key: public_key.map(str::to_owned),
        read_only: id == "reader",
    };
    let account = |name: &str, keys: Vec<ApiKeySettings>| BinanceAccountSettings {
        name: name.to_owned(),
        keys,
        balances: [("BTC", "10"), ("ETH", "0"), ("USDT", "1000000")]
            .map(|(asset, amount)| (asset.to_owned(), amount.to_owned()))
            .into(),
        maker_commission: "0.001".to_owned(),
        taker_commission: "0.002".to_owned(),
        orders_per_10s: 100,
        orders_per_day: 200_000,
    };
    let symbol = |name: &str, base: &str, start: &str| SymbolSettings {
        name: name.to_owned(),
        market: SymbolMarket::SpotMarket,
        base: base.to_owned(),
        quote: "USDT".to_owned(),
        tick: "0.01".to_owned(),
        max_price: "1000000".to_owned(),
        step: "0.00001".to_owned(),
        max_quantity: "9000".to_owned(),
        min_notional: "5".to_owned(),
        max_orders: 5,
        start_price: start.to_owned(),
        weight: 0,
    };
    BinanceSettings {
        instruments: vec![symbol(SYMBOL, "BTC", "60000"), symbol("ETHUSDT", "ETH", "3000")],
        accounts: vec![
            account("one", vec![key("one", None), key("ed", Some(PUBLIC)), key("reader", None)]),
            account("two", vec![key("two", None)]),
        ],
    }
}

/// The place of the perpetual.
pub const FUTURES: usize = 2;

/// The same with the perpetual of the first symbol, which has its name.
pub fn with_futures() -> BinanceSettings {
    let mut settings = settings();
    let futures = settings.instruments[0].clone();
    settings.instruments.push(SymbolSettings { market: SymbolMarket::UsdM, ..futures });
    settings
}

/// Signs with the private key of `ed`.
pub fn sign_ed25519(text: &str) -> String {
    let seed = seed_from_pkcs8(PRIVATE.as_bytes()).expect("a key");
    let signature = Ed25519Key::new(&seed).sign_base64(text.as_bytes());
    String::from_utf8(signature.into()).expect("base64")
}

pub fn sign_hmac(text: &str) -> String {
    let signature = HmacKey::new(SECRET.as_bytes()).sign_hex(&[text.as_bytes()]);
    String::from_utf8(signature.into()).expect("digits")
}

/// The request for a WebSocket.
pub fn handshake(host: &str, target: &str, key: &str) -> HttpRequest {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let shown = (!key.is_empty()).then(|| ("x-mbx-apikey".to_owned(), key.to_owned()));
    HttpRequest {
        host: host.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: shown.into_iter().collect(),
        ..HttpRequest::default()
    }
}

impl Rig {
    pub fn new() -> Self {
        let settings = settings();
        let markets = settings.instruments.len();
        Self::of(Binance::new(&settings).expect("settings"), markets)
    }

    pub fn ms(&self) -> i64 {
        self.now.utc.0 / 1_000_000
    }

    pub fn open(&mut self, connection: u64, target: &str) {
        assert_eq!(self.open_as(connection, ("", target), ""), Ok(()), "{target}");
    }

    /// Asks for a WebSocket at a host, and shows a key where one is named.
    pub fn open_as(
        &mut self,
        connection: u64,
        (host, target): (&str, &str),
        key: &str,
    ) -> Result<(), Denied> {
        self.front.open(self.now, connection, &handshake(host, target, key))
    }

    /// Sends a text on a WebSocket.
    pub fn say(&mut self, connection: u64, text: &str) {
        self.front.text(self.now, connection, text);
        self.pump();
    }

    /// What came, oldest first.
    pub fn take(&mut self, connection: u64) -> Vec<Value> {
        self.texts.remove(&connection);
        self.inbox.remove(&connection).unwrap_or_default()
    }

    /// Asks by REST: a target with its query, of a key or nobody.
    pub fn rest(&mut self, verb: &str, target: &str, key: &str) -> Answer {
        self.rest_with_body(verb, target, key, "")
    }

    pub fn rest_with_body(&mut self, verb: &str, target: &str, key: &str, body: &str) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = HttpRequest {
            method: verb.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            body: body.as_bytes().to_vec(),
            ..HttpRequest::default()
        };
        if !key.is_empty() {
            request.headers.push(("x-mbx-apikey".to_owned(), key.to_owned()));
        }
        self.front.request(self.now, 0, request);
        self.pump();
        self.answers.pop().expect("an answer")
    }

    /// The same, signed with HMAC-SHA256 at this time.
    pub fn signed(&mut self, verb: &str, path: &str, query: &str, key: &str) -> Answer {
        let joined = if query.is_empty() { String::new() } else { format!("{query}&") };
        let query = format!("{joined}timestamp={}", self.ms());
        let target = format!("{path}?{query}&signature={}", sign_hmac(&query));
        self.rest(verb, &target, key)
    }

    pub fn ok(&mut self, verb: &str, path: &str, query: &str, key: &str) -> Value {
        let answer = self.signed(verb, path, query, key);
        assert_eq!(answer.status, 200, "{verb} {path}?{query}: {}", answer.body);
        answer.body
    }

    pub fn code(&mut self, verb: &str, path: &str, query: &str, key: &str) -> i64 {
        let answer = self.signed(verb, path, query, key);
        answer.body["code"].as_i64().unwrap_or_else(|| panic!("{query}: {}", answer.body))
    }

    pub fn limit(&mut self, key: &str, side: &str, quantity: &str, price: &str) -> Value {
        let query = format!(
            "symbol={SYMBOL}&side={side}&type=LIMIT&timeInForce=GTC&quantity={quantity}\
             &price={price}"
        );
        self.ok("POST", "/api/v3/order", &query, key)
    }

    /// Asks by the WebSocket API, signed by a key where one is named; the answer, whole.
    pub fn call(&mut self, connection: u64, method: &str, params: Value, key: &str) -> Value {
        let mut params = params;
        if !key.is_empty() {
            params["apiKey"] = json!(key);
            params["timestamp"] = json!(self.ms());
            let map = params.as_object().expect("parameters");
            let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
            let parts: Vec<_> =
                map.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
            let text = parts.join("&");
            let signature = if key == "ed" { sign_ed25519(&text) } else { sign_hmac(&text) };
            params["signature"] = json!(signature);
        }
        let id = self.next_id;
        self.next_id += 1;
        self.say(connection, &json!({"id": id, "method": method, "params": params}).to_string());
        let inbox = self.inbox.entry(connection).or_default();
        let at = inbox.iter().position(|it| it["id"] == json!(id)).expect("an answer");
        inbox.remove(at)
    }

    pub fn result(&mut self, connection: u64, method: &str, params: Value, key: &str) -> Value {
        let answer = self.call(connection, method, params, key);
        assert_eq!(answer["status"], 200, "{method}: {answer}");
        answer["result"].clone()
    }
}
