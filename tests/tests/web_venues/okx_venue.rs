//! A venue for tests that speaks as OKX does, version 5: its WebSockets and its HTTP on one port,
//! over the engine of the venue behind it. It has one instrument, what a gateway asks for, and
//! strangers who trade there.
//!
//! Source: okx.com/docs-v5. What is checked as the venue does: signatures and their times, logins
//! before private channels and orders, names that are used once. An answer comes before what is
//! pushed or behind it, by a seed.

mod book;
mod orders;
mod questions;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use serde_json::Value;
use taut_book::OrderBook;
use taut_engine::{Command, Event, MassCancel, NewOrder};
use taut_fix::Now;
use taut_order_entry::okx::login_signature;
use taut_order_entry::sign::HmacKey;
use taut_types::{HalfTicks, Lots, Nanos, OrderId, Side, TimeInForce};
use taut_venue::flow::SplitMix64;
use taut_venue::{FIRST_DOOR_ORDER, FIRST_DOOR_OWNER};
use taut_web_venue::{Denied, Front, HttpRequest, Output, Refusal};

use book::{Book, Follower};
use orders::Job;
pub use orders::{Order, State};

/// The owners of what the maker leaves in the book, and of what others do.
const MAKER: u32 = FIRST_DOOR_OWNER + 1_000;
const STRANGERS: u32 = FIRST_DOOR_OWNER + 1_001;
/// How far the time of a signature may be off.
const SIGNED_WITHIN_MS: i64 = 30_000;

/// What is traded, as texts of the venue's.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    pub name: &'static str,
    /// `SPOT`, `SWAP` or `FUTURES`.
    pub kind: &'static str,
    /// The price step and the step of quantities, at 1e-9.
    pub tick: i64,
    pub lot: i64,
}

/// What somebody does who is no client.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    /// An order that stays: nobody trades there.
    Make(Side, HalfTicks, Lots),
    Rest(Side, HalfTicks, Lots),
    Take(Side, HalfTicks, Lots),
    /// All orders of strangers are cancelled.
    Leave,
}

/// What strangers are to do.
pub type Street = Rc<RefCell<VecDeque<Deed>>>;

/// How the venue is.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    pub seed: u64,
    pub listing: Listing,
    /// Books have a checksum; else zero in its place, as the venue does today.
    pub has_checksums: bool,
}

struct Account {
    name: &'static str,
    secret: HmacKey,
    /// What it has bought more than it has sold.
    lots: i64,
}

/// Who speaks over a WebSocket.
#[derive(Default)]
struct Session {
    account: Option<usize>,
    hears_orders: bool,
    hears_trades: bool,
    book: Option<Follower>,
}

/// What has come and is not served yet.
struct Asked {
    connection: u64,
    what: What,
    why: Option<Refusal>,
}

enum What {
    Text(String),
    Http(HttpRequest),
}

pub struct Okx {
    listing: Listing,
    accounts: Vec<Account>,
    sessions: BTreeMap<u64, Session>,
    waiting: VecDeque<Asked>,
    /// The request whose command is under way.
    job: Option<Job>,
    book: Book,
    orders: BTreeMap<OrderId, Order>,
    street: Street,
    random: SplitMix64,
    now: Now,
    out: VecDeque<Output>,
    next_order: u64,
    next_trade: u64,
    /// Orders that came under a name that the venue had seen before.
    twice: u64,
}

impl Okx {
    /// With these accounts, whose secrets and passphrases are made of their names.
    pub fn new(habits: Habits, accounts: &[&'static str], street: &Street) -> Self {
        let account = |name: &&'static str| Account {
            name,
            secret: HmacKey::new(secret_of(name).as_bytes()),
            lots: 0,
        };
        Self {
            listing: habits.listing,
            accounts: accounts.iter().map(account).collect(),
            sessions: BTreeMap::new(),
            waiting: VecDeque::new(),
            job: None,
            book: Book::new(habits.listing, habits.has_checksums),
            orders: BTreeMap::new(),
            street: Rc::clone(street),
            random: SplitMix64::new(habits.seed),
            now: Now::default(),
            out: VecDeque::new(),
            next_order: 0,
            next_trade: 0,
            twice: 0,
        }
    }

    /// What an account holds, in lots.
    pub fn position(&self, account: usize) -> i64 {
        self.accounts[account].lots
    }

    /// Orders of an account, those that are over, too.
    pub fn orders_of(&self, account: usize) -> impl Iterator<Item = &Order> {
        self.orders.values().filter(move |order| order.account == account)
    }

    pub const fn twice(&self) -> u64 {
        self.twice
    }

    /// Milliseconds of UTC.
    const fn ms(&self) -> i64 {
        self.now.utc.0 / 1_000_000
    }

    fn say(&mut self, connection: u64, text: String) {
        self.out.push_back(Output::Text { connection, text });
    }

    /// What a request over a WebSocket comes to: a command, or it is answered.
    fn serve(&mut self, asked: Asked) -> Option<Command> {
        let Asked { connection, what, why } = asked;
        let text = match what {
            What::Http(request) => {
                let (status, body) = self.answer_http(&request, why);
                let headers = Vec::new();
                self.out.push_back(Output::Answer { connection, status, headers, body });
                return None;
            }
            What::Text(text) => text,
        };
        if text == "ping" {
            self.say(connection, "pong".to_owned());
            return None;
        }
        let request: Value = serde_json::from_str(&text).expect("a gateway writes JSON");
        let op = request["op"].as_str().unwrap_or_default().to_owned();
        match op.as_str() {
            "login" => self.log_in(connection, &request["args"][0]),
            "subscribe" | "unsubscribe" => {
                for arg in request["args"].as_array().into_iter().flatten() {
                    self.subscribe(connection, &op, arg);
                }
            }
            _ => return self.order_request((connection, why), &op, &request),
        }
        None
    }

    fn log_in(&mut self, connection: u64, arg: &Value) {
        let text = |key: &str| arg[key].as_str().unwrap_or_default();
        let time: u64 = text("timestamp").parse().unwrap_or(0);
        let found = self.accounts.iter().position(|account| account.name == text("apiKey"));
        let is_in_time = (time as i64 * 1_000 - self.ms()).abs() <= SIGNED_WITHIN_MS;
        let is_signed = found.is_some_and(|found| {
            let account = &self.accounts[found];
            text("passphrase") == passphrase_of(account.name)
                && text("sign").as_bytes() == login_signature(&account.secret, time)
        });
        let said = match (found, is_in_time, is_signed) {
            (None, ..) => error(60_005, "Invalid apiKey"),
            (_, false, _) => error(60_006, "Timestamp request expired"),
            (.., false) => error(60_009, "Login failed."),
            _ => {
                if let Some(session) = self.sessions.get_mut(&connection) {
                    session.account = found;
                }
                r#"{"event":"login","code":"0","msg":"","connId":"a4d3ae55"}"#.to_owned()
            }
        };
        self.say(connection, said);
    }

    fn subscribe(&mut self, connection: u64, op: &str, arg: &Value) {
        let channel = arg["channel"].as_str().unwrap_or_default();
        let Some(session) = self.sessions.get_mut(&connection) else { return };
        let begins = op == "subscribe";
        if channel == "orders" && begins && session.account.is_none() {
            let said = error(60_011, "Please log in");
            return self.say(connection, said);
        }
        match channel {
            "orders" => session.hears_orders = begins,
            "trades" => session.hears_trades = begins,
            "books" => session.book = None,
            _ => {}
        }
        self.say(connection, format!(r#"{{"event":"{op}","arg":{arg},"connId":"a4d3ae55"}}"#));
        match channel {
            "books" if begins => {
                let (follower, text) = self.book.snapshot(self.now);
                if let Some(session) = self.sessions.get_mut(&connection) {
                    session.book = Some(follower);
                }
                self.say(connection, text);
            }
            "instruments" if begins && arg["instType"] == self.listing.kind => {
                let terms = self.listing.terms(self.ms());
                self.say(connection, format!(r#"{{"arg":{arg},"data":[{terms}]}}"#));
            }
            _ => {}
        }
    }

    /// Tells those who follow the book what has changed, where that is due.
    fn tell_books(&mut self) {
        let Self { sessions, book, out, now, .. } = self;
        for (&connection, session) in sessions {
            let text = session.book.as_mut().and_then(|follower| book.update(follower, *now));
            out.extend(text.map(|text| Output::Text { connection, text }));
        }
    }

    /// What a stranger does, in the engine's words.
    fn of_the_street(&mut self, deed: Deed) -> Command {
        let (owner, side, price, lots, force) = match deed {
            Deed::Make(side, price, lots) => {
                (MAKER, side, price, lots, TimeInForce::GoodTillCancel)
            }
            Deed::Rest(side, price, lots) => {
                (STRANGERS, side, price, lots, TimeInForce::GoodTillCancel)
            }
            Deed::Take(side, price, lots) => {
                (STRANGERS, side, price, lots, TimeInForce::ImmediateOrCancel)
            }
            Deed::Leave => {
                let all = MassCancel { owner: Some(STRANGERS), side: None, session: None };
                return Command::MassCancel(all);
            }
        };
        let id = self.order_id();
        Command::New(NewOrder::limit(id, owner, side, price, lots).force(force))
    }

    const fn order_id(&mut self) -> OrderId {
        self.next_order += 1;
        OrderId(FIRST_DOOR_ORDER + self.next_order)
    }
}

impl Listing {
    fn terms(&self, ms: i64) -> String {
        let Self { name, kind, tick, lot } = self;
        let (tick, lot) = (decimal(i128::from(*tick)), decimal(i128::from(*lot)));
        format!(
            r#"{{"instId":"{name}","instType":"{kind}","tickSz":"{tick}","lotSz":"{lot}",
                "minSz":"{lot}","state":"live","ts":"{ms}"}}"#
        )
    }

    /// Of so many half ticks.
    fn price(&self, price: HalfTicks) -> String {
        decimal(i128::from(price.0) * i128::from(self.tick) / 2)
    }

    /// Of so many lots.
    fn size(&self, lots: i64) -> String {
        decimal(i128::from(lots) * i128::from(self.lot))
    }
}

pub fn secret_of(account: &str) -> String {
    format!("secret-of-{account}")
}

pub fn passphrase_of(account: &str) -> String {
    format!("words-of-{account}")
}

fn error(code: u32, words: &str) -> String {
    format!(r#"{{"event":"error","code":"{code}","msg":"{words}","connId":"a4d3ae55"}}"#)
}

/// The shortest decimal of a number at 1e-9.
fn decimal(units: i128) -> String {
    const UNITS: u128 = 1_000_000_000;
    let sign = if units < 0 { "-" } else { "" };
    let (whole, rest) = (units.unsigned_abs() / UNITS, units.unsigned_abs() % UNITS);
    let text = format!("{sign}{whole}.{rest:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A decimal of at most nine places, at 1e-9.
fn units(text: &str) -> Option<i64> {
    taut_types::parse_decimal(text.as_bytes(), 9).ok()
}

impl Front for Okx {
    fn on_book(&mut self, _place: usize, _book: &OrderBook) {}

    fn open(&mut self, _now: Now, connection: u64, _request: &HttpRequest) -> Result<(), Denied> {
        self.sessions.insert(connection, Session::default());
        Ok(())
    }

    fn text(&mut self, _now: Now, connection: u64, text: &str) {
        let what = What::Text(text.to_owned());
        self.waiting.push_back(Asked { connection, what, why: None });
    }

    fn request(&mut self, _now: Now, connection: u64, request: HttpRequest) {
        self.waiting.push_back(Asked { connection, what: What::Http(request), why: None });
    }

    fn refuse_text(&mut self, _now: Now, connection: u64, text: &str, why: Refusal) {
        let what = What::Text(text.to_owned());
        self.waiting.push_back(Asked { connection, what, why: Some(why) });
    }

    fn refuse_request(&mut self, _now: Now, connection: u64, request: HttpRequest, why: Refusal) {
        self.waiting.push_back(Asked { connection, what: What::Http(request), why: Some(why) });
    }

    fn closed(&mut self, _now: Now, connection: u64) {
        self.sessions.remove(&connection);
        self.waiting.retain(|asked| asked.connection != connection);
    }

    fn next_command(&mut self, now: Now) -> Option<(usize, Command)> {
        self.now = now;
        self.answer_job();
        let deed = self.street.borrow_mut().pop_front();
        if let Some(deed) = deed {
            return Some((0, self.of_the_street(deed)));
        }
        while let Some(asked) = self.waiting.pop_front() {
            if let Some(command) = self.serve(asked) {
                return Some((0, command));
            }
        }
        None
    }

    fn on_events(&mut self, now: Now, _place: usize, events: &[Event]) {
        self.now = now;
        self.take_events(events);
    }

    fn on_time(&mut self, now: Now) {
        self.now = now;
        self.tell_books();
    }

    fn due(&self) -> Option<Nanos> {
        let followers = self.sessions.values().filter_map(|session| session.book.as_ref());
        followers.map(Follower::due).min()
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }
}
