//! This test's own hand at the venue: what the engine has, by its control, and plain requests over
//! HTTP that no client's library makes.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use taut_book::LevelBook;
use taut_order_entry::binance::rest_signature;
use taut_order_entry::sign::HmacKey;
use taut_sys::utc;
use taut_testkit::{DEADLINE, until_some};
use taut_types::{Instrument, InstrumentId, Price, Qty, Side, Symbol};

use super::dialect::Dialect;
use crate::{Venue, taut};

/// More levels than any side has.
const LEVELS_MAX: usize = 4_096;

/// What a book comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Book {
    /// The number of its last change, as the venue tells it.
    pub change: u64,
    /// As `taut venue state` has it.
    pub levels_hash: String,
}

pub struct Hand<'a> {
    venue: &'a Venue,
    dialect: &'a Dialect,
}

impl<'a> Hand<'a> {
    pub const fn new(venue: &'a Venue, dialect: &'a Dialect) -> Self {
        Self { venue, dialect }
    }

    /// `taut venue` with this verb.
    fn operate(&self, verb: &str, words: &[&str]) -> String {
        let control = self.venue.control();
        let control = control.to_str().expect("a path");
        let output = taut(&[&["venue", verb, control], words].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    pub fn faults(&self, words: &str) {
        self.operate("faults", &[words]);
    }

    /// To how many messages and requests something was done so far.
    pub fn injected(&self) -> u64 {
        let said = self.operate("faults", &[]);
        let count = said.rsplit_once("; ").and_then(|(_, rest)| rest.split(' ').next());
        count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("a count in {said}"))
    }

    pub fn stop_the_crowd(&self) {
        self.operate("crowd", &["stop"]);
    }

    /// The engine's book, once nothing changes it any more.
    pub fn engine(&self) -> Book {
        let mut before = None;
        until_some("the engine comes to rest", DEADLINE, || {
            let state: Value = serde_json::from_str(&self.operate("state", &["--json"])).ok()?;
            let of_symbol = |book: &&Value| book["symbol"] == self.dialect.symbol;
            let book = state["books"].as_array()?.iter().find(of_symbol)?;
            let change = book["change"].as_u64()?;
            let now = Book { change, levels_hash: book["levels_hash"].as_str()?.to_owned() };
            let is_same = before.as_ref() == Some(&now);
            before = Some(now.clone());
            is_same.then_some(now)
        })
    }

    /// What levels come to that somebody tells in decimals.
    pub fn book_of(&self, told: &Value) -> Book {
        let (tick, lot) = (self.dialect.tick.as_bytes(), self.dialect.lot.as_bytes());
        let symbol = Symbol::new(b"BOOK").expect("a symbol");
        let (tick, lot) = (Price::parse(tick).expect("a price"), Qty::parse(lot).expect("a lot"));
        let instrument = Instrument::new(InstrumentId(0), symbol, tick, lot).expect("instrument");
        let mut book = LevelBook::with_capacity(LEVELS_MAX);
        for (side, name) in [(Side::Buy, "bids"), (Side::Sell, "asks")] {
            for level in told[name].as_array().expect("levels") {
                let text = |at: usize| level[at].as_str().expect("a decimal").as_bytes();
                let price = Price::parse(text(0)).expect("a price");
                let lots = Qty::parse(text(1)).ok().and_then(|qty| instrument.lots(qty).ok());
                let lots = lots.unwrap_or_else(|| panic!("{level}: whole lots of {lot}"));
                book.apply(side, price, lots, 0).expect("a level");
            }
        }
        let change = told["change"].as_u64().unwrap_or(0);
        Book { change, levels_hash: format!("{:016x}", book.state_hash()) }
    }

    /// An order far from the market: everybody who follows the book is told one change more.
    pub fn change_the_book(&self) {
        match self.dialect.name {
            "deribit" => {
                let terms = "instrument_name=BTC-PERPETUAL&amount=10&price=30000&type=limit";
                let bought = self.deribit("four", "private/buy", terms);
                assert_eq!(bought["order"]["order_state"], "open", "{bought}");
            }
            _ => {
                let terms = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001\
                             &price=30000";
                let bought = self.binance("four", "POST", "order", terms);
                assert_eq!(bought["status"], "NEW", "{bought}");
            }
        }
    }

    /// Open orders, balances and, where there are any, the position of an account, as clients tell
    /// them.
    pub fn account(&self, name: &str) -> Value {
        match self.dialect.name {
            "deribit" => {
                let of = "instrument_name=BTC-PERPETUAL";
                let orders = self.deribit(name, "private/get_open_orders_by_instrument", of);
                let keys = ["label", "direction", "price", "amount", "filled_amount"];
                let funds = self.deribit(name, "private/get_account_summary", "currency=BTC");
                let bitcoin = ["equity", "available_funds"].map(|key| number(&funds[key]));
                json!({
                    "orders": sorted(&orders, keys),
                    "balances": { "BTC": bitcoin },
                    "position": self.held(name, "BTC-PERPETUAL"),
                })
            }
            _ => {
                let orders = self.binance(name, "GET", "openOrders", "symbol=BTCUSDT");
                let keys = ["clientOrderId", "side", "price", "origQty", "executedQty"];
                let account = self.binance(name, "GET", "account", "");
                let of = |asset| {
                    let [free, locked] = balance(&account, asset);
                    [fixed(free + locked), fixed(free)]
                };
                json!({
                    "orders": sorted(&orders, keys),
                    "balances": { "BTC": of("BTC"), "USDT": of("USDT") },
                })
            }
        }
    }

    /// What an account holds by trading: a position, or what it has more than in the beginning.
    pub fn held(&self, name: &str, symbol: &str) -> String {
        if self.dialect.name == "deribit" {
            let of = format!("instrument_name={symbol}");
            return number(&self.deribit(name, "private/get_position", &of)["size"]);
        }
        let account = self.binance(name, "GET", "account", "");
        let (asset, begun) = match symbol {
            "BTCUSDT" => ("BTC", 100.0),
            _ => ("ETH", 1_000.0),
        };
        let [free, locked] = balance(&account, asset);
        fixed(free + locked - begun)
    }

    fn deribit(&self, name: &str, method: &str, query: &str) -> Value {
        let who = format!(
            "grant_type=client_credentials&client_id={name}&client_secret=secret-of-{name}"
        );
        let token = self.ask(&format!("GET /api/v2/public/auth?{who}"), "");
        let token = token["result"]["access_token"].as_str().expect("a token");
        let bearer = format!("Authorization: Bearer {token}\r\n");
        let answer = self.ask(&format!("GET /api/v2/{method}?{query}"), &bearer);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn binance(&self, name: &str, method: &str, path: &str, query: &str) -> Value {
        let and = if query.is_empty() { "" } else { "&" };
        let query = format!("{query}{and}timestamp={}", utc().0 / 1_000_000);
        let key = HmacKey::new(format!("secret-of-{name}").as_bytes());
        let signature = rest_signature(&key, query.as_bytes(), b"");
        let signature = String::from_utf8_lossy(&signature);
        let request = format!("{method} /api/v3/{path}?{query}&signature={signature}");
        let headers = format!("X-MBX-APIKEY: {name}\r\nContent-Length: 0\r\n");
        let answer = self.ask(&request, &headers);
        assert!(answer["code"].is_null(), "{path}: {answer}");
        answer
    }

    /// The answer to a request, on a connection of its own.
    fn ask(&self, request: &str, headers: &str) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.venue.port)).expect("a connection");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        let request = format!("{request} HTTP/1.1\r\nHost: venue\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let (mut answer, mut buffer) = (Vec::new(), [0; 16_384]);
        loop {
            let bytes = stream.read(&mut buffer).expect("an answer");
            answer.extend_from_slice(&buffer[..bytes]);
            let text = String::from_utf8_lossy(&answer);
            let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            match serde_json::from_str(body) {
                Ok(value) => return value,
                // It has not come whole.
                Err(error) => assert!(bytes > 0, "{request}: {error}: {text}"),
            }
        }
    }
}

/// A number of JSON, or a decimal, as clients tell it.
pub fn number(value: &Value) -> String {
    let number = value.as_str().map_or(value.as_f64(), |text| text.parse().ok());
    fixed(number.unwrap_or_else(|| panic!("{value} is no number")))
}

fn fixed(number: f64) -> String {
    let text = format!("{number:.8}");
    if text == "-0.00000000" { text.replace('-', "") } else { text }
}

/// Orders by their names: name, side, price, quantity, and how much of it has traded.
fn sorted(orders: &Value, keys: [&str; 5]) -> Vec<[String; 5]> {
    let orders = orders.as_array().expect("orders");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut told: Vec<_> = (orders.iter())
        .map(|order| {
            let [name, side, rest @ ..] = keys.map(|key| &order[key]);
            let [price, quantity, filled] = rest.map(number);
            [text(name), text(side).to_lowercase(), price, quantity, filled]
        })
        .collect();
    told.sort();
    told
}

/// What is free of an asset, and what open orders hold of it.
fn balance(account: &Value, asset: &str) -> [f64; 2] {
    let all = account["balances"].as_array().expect("balances");
    let of = all.iter().find(|it| it["asset"] == asset).expect("an asset");
    ["free", "locked"].map(|key| of[key].as_str().and_then(|it| it.parse().ok()).expect("a number"))
}
