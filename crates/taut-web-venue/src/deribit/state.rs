//! The venue as it stands, and how it is served.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use taut_book::OrderBook;
use taut_engine::{Command, Event};
use taut_fix::Now;
use taut_types::{Nanos, OrderId};

use crate::accounts::{Account, AccountSettings};
use crate::deribit::fix_session::{DIALECT, DeribitFixSession};
use crate::deribit::instruments::{self, MarketSettings};
use crate::deribit::market::Market;
use crate::deribit::order::Order;
use crate::deribit::rpc::{self, Request, RpcError};
use crate::deribit::session::{self, Credits, Session};
use crate::deribit::token::Token;
use crate::front::{Denied, Front, HttpRequest, Listing, Output, Refusal};
use crate::inbox::{Inbound, Inbox};

/// Where change ids begin: of the venue, and of each market, before its first change.
const FIRST_CHANGE: u64 = 41_000_000_000;
const FIRST_CHANGES: u64 = 40_000_000_000;
/// Orders and trades that are remembered after their end.
pub(super) const HISTORY_MAX: usize = 10_000;

/// What the venue trades and who may trade it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeribitSettings {
    /// What is traded: the places of the exchange, in this order.
    pub instruments: Vec<MarketSettings>,
    /// Who trades.
    pub accounts: Vec<AccountSettings>,
}

/// A request that the exchange works on.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) request: Request,
    pub(super) commands: VecDeque<(usize, Command)>,
    pub(super) wants: Wants,
    /// The order that a placing or an edit is about.
    pub(super) order: Option<OrderId>,
    pub(super) trades: Vec<Value>,
    pub(super) error: Option<RpcError>,
}

/// What its answer shows.
#[derive(Debug)]
pub(super) enum Wants {
    /// The order and its trades.
    OrderAndTrades,
    /// The order.
    Order,
    /// How many.
    Count(usize),
    /// Nothing: nobody asked.
    Nothing,
}

/// What a method comes to.
pub(super) enum Done {
    Now(Value),
    Job(Box<Job>),
    /// Its answer is on its way.
    Answered,
    /// No answer, and the connection ends.
    End,
}

pub(super) type Outcome = Result<Done, RpcError>;

/// A trade of an account.
#[derive(Clone, Debug)]
pub(super) struct UserTrade {
    pub(super) account: usize,
    pub(super) place: usize,
    pub(super) order: OrderId,
    pub(super) ms: i64,
    pub(super) seq: u64,
    pub(super) json: Value,
}

/// The venue's interface.
#[derive(Debug)]
pub struct Deribit {
    pub(super) markets: Vec<Market>,
    pub(super) accounts: Vec<Account>,
    /// Of the matching engine's requests, by account.
    pub(super) matching: Vec<Credits>,
    pub(super) sessions: BTreeMap<u64, Session>,
    pub(super) fix_sessions: BTreeMap<u64, DeribitFixSession>,
    /// The last time in a Logon, by the client's name.
    pub(super) fix_stamps: BTreeMap<String, u64>,
    /// ExecutionReports so far.
    pub(super) fix_reports: u64,
    /// Reports for who asked, which come behind the answer.
    pub(super) fix_held: Vec<Vec<(i32, String)>>,
    pub(super) tokens: BTreeMap<String, Token>,
    pub(super) nonces: VecDeque<String>,
    pub(super) orders: BTreeMap<OrderId, Order>,
    pub(super) done: VecDeque<OrderId>,
    pub(super) trades: VecDeque<UserTrade>,
    pub(super) inbox: Inbox,
    /// Why the request that is being served is refused, on a bad day.
    pub(super) refusal: Option<Refusal>,
    pub(super) job: Option<Box<Job>>,
    /// The job is answered as if nobody knew what became of it.
    pub(super) hides_outcome: bool,
    /// What the venue does of its own accord.
    pub(super) own: VecDeque<(usize, Command)>,
    /// The command of the job is being executed.
    pub(super) is_executing: bool,
    pub(super) out: VecDeque<Output>,
    pub(super) next_order: u64,
    pub(super) next_trade: u64,
    pub(super) next_token: u64,
    pub(super) change_id: u64,
    /// Changes of books that were told one by one.
    pub(super) book_changes: u64,
    pub(super) now: Now,
}

impl Deribit {
    /// A venue before its first order.
    ///
    /// # Errors
    /// The setting that cannot be.
    pub fn new(settings: &DeribitSettings) -> Result<Self, String> {
        let market = |(place, it)| Market::new(it, FIRST_CHANGES + place as u64);
        let markets: Result<Vec<_>, _> =
            settings.instruments.iter().enumerate().map(market).collect();
        let accounts: Result<Vec<_>, _> = settings.accounts.iter().map(Account::new).collect();
        let credits = |it: &AccountSettings| Credits::matching(it.matching_rate, it.matching_burst);
        Ok(Self {
            markets: markets?,
            accounts: accounts?,
            matching: settings.accounts.iter().map(credits).collect(),
            sessions: BTreeMap::new(),
            fix_sessions: BTreeMap::new(),
            fix_stamps: BTreeMap::new(),
            fix_reports: 0,
            fix_held: Vec::new(),
            tokens: BTreeMap::new(),
            nonces: VecDeque::new(),
            orders: BTreeMap::new(),
            done: VecDeque::new(),
            trades: VecDeque::new(),
            inbox: Inbox::new(),
            refusal: None,
            hides_outcome: false,
            job: None,
            own: VecDeque::new(),
            is_executing: false,
            out: VecDeque::new(),
            next_order: 0,
            next_trade: 0,
            next_token: 1,
            change_id: FIRST_CHANGE,
            book_changes: 0,
            now: Now::default(),
        })
    }

    /// What the account of this name holds of an instrument: signed, in its unit of amounts, at
    /// 1e-9.
    #[must_use]
    pub fn position_of(&self, account: &str, instrument: &str) -> Option<i128> {
        let account = self.accounts.iter().find(|it| it.settings.name == account)?;
        let place = self.markets.iter().position(|it| it.settings.name == instrument)?;
        Some(account.positions.get(&place).map_or(0, |position| position.size))
    }

    /// Milliseconds of UTC.
    pub(super) fn ms(&self) -> i64 {
        self.now.utc.0 / 1_000_000
    }

    pub(super) fn us(&self) -> i64 {
        self.now.utc.0 / 1_000
    }

    pub(super) fn market(&self, place: usize) -> Option<&Market> {
        self.markets.get(place)
    }

    /// The index that a market follows: the mark of the base's first market that is no option.
    pub(super) fn index(&self, place: usize) -> i128 {
        let Some(market) = self.market(place) else { return 0 };
        let is_index = |it: &&Market| {
            it.settings.kind != instruments::Kind::Option
                && it.settings.base == market.settings.base
        };
        self.markets.iter().find(is_index).unwrap_or(market).mark()
    }

    /// Of every market.
    pub(super) fn indexes(&self) -> Vec<i128> {
        (0..self.markets.len()).map(|place| self.index(place)).collect()
    }

    /// Serves what came until a job begins.
    fn serve(&mut self) {
        while self.job.is_none() {
            match self.inbox.pop_front() {
                None => return,
                Some(Inbound::Text(connection, text, refusal)) => {
                    self.refusal = refusal;
                    self.serve_text(connection, &text);
                }
                Some(Inbound::Http(connection, request, refusal)) => {
                    self.refusal = refusal;
                    self.serve_http(connection, &request);
                }
                Some(Inbound::Bytes(connection, bytes, refusal)) => {
                    self.refusal = refusal;
                    self.serve_fix(connection, &bytes);
                }
                Some(Inbound::Closed(connection)) => self.serve_closed(connection),
            }
        }
    }

    pub(super) fn reply(&mut self, request: &Request, outcome: &Result<Value, RpcError>) {
        if request.fix.is_some() {
            return self.reply_fix(request, outcome);
        }
        let text = rpc::answer(request.id.as_deref(), outcome, request.us_in, self.us());
        let connection = request.connection;
        self.out.push_back(if request.is_http {
            let status = match outcome {
                Ok(_) => 200,
                Err(error) if matches!(error.code, 10000 | 13004 | 13009) => 401,
                Err(error) if error.code == 10028 => 429,
                Err(_) => 400,
            };
            Output::Answer { connection, status, body: text, headers: Vec::new() }
        } else {
            Output::Text { connection, text }
        });
    }

    /// The job has no command left: it is answered.
    fn finish(&mut self, job: Job) {
        let hides = std::mem::take(&mut self.hides_outcome);
        let outcome = match (&job.error, &job.wants) {
            _ if hides => Err(RpcError::new(11094, "internal_server_error")),
            (Some(error), _) => Err(error.clone()),
            (None, Wants::Count(count)) => Ok(Value::from(*count)),
            (None, Wants::Nothing) => return,
            (None, wants) => {
                let order = job.order.and_then(|id| self.orders.get(&id));
                match order.and_then(|order| Some(order.json(self.market(order.place)?))) {
                    None => Err(rpc::error(10004)),
                    Some(order) if matches!(wants, Wants::Order) => Ok(order),
                    Some(order) => Ok(serde_json::json!({ "order": order, "trades": job.trades })),
                }
            }
        };
        self.reply(&job.request, &outcome);
    }
}

impl Front for Deribit {
    fn on_book(&mut self, place: usize, book: &OrderBook) {
        if let Some(market) = self.markets.get_mut(place) {
            market.book.begin(book);
        }
    }

    fn open(&mut self, _now: Now, connection: u64, request: &HttpRequest) -> Result<(), Denied> {
        if !matches!(request.path.trim_end_matches('/'), "/ws/api/v2" | "/ws" | "/den/ws") {
            return Err(Denied::not_found());
        }
        self.sessions.insert(connection, Session::new());
        Ok(())
    }

    fn text(&mut self, _now: Now, connection: u64, text: &str) {
        self.inbox.push_back(Inbound::Text(connection, text.to_owned(), None));
    }

    fn request(&mut self, _now: Now, connection: u64, request: HttpRequest) {
        self.inbox.push_back(Inbound::Http(connection, Box::new(request), None));
    }

    fn open_fix(&mut self, now: Now, connection: u64) -> bool {
        self.fix_sessions.insert(connection, DeribitFixSession::new(&DIALECT, now.mono));
        true
    }

    fn bytes(&mut self, _now: Now, connection: u64, bytes: &[u8], why: Option<Refusal>) {
        self.inbox.push_back(Inbound::Bytes(connection, bytes.to_owned(), why));
    }

    fn has_logged_on(&self, connection: u64) -> bool {
        self.fix_sessions.get(&connection).is_some_and(|it| it.logon.is_some())
    }

    fn refuse_text(&mut self, _now: Now, connection: u64, text: &str, why: Refusal) {
        self.inbox.push_back(Inbound::Text(connection, text.to_owned(), Some(why)));
    }

    fn refuse_request(&mut self, _now: Now, connection: u64, request: HttpRequest, why: Refusal) {
        self.inbox.push_back(Inbound::Http(connection, Box::new(request), Some(why)));
    }

    fn closed(&mut self, _now: Now, connection: u64) {
        self.inbox.push_back(Inbound::Closed(connection));
    }

    fn next_command(&mut self, now: Now) -> Option<(usize, Command)> {
        self.now = now;
        loop {
            if self.job.is_none() {
                self.serve();
            }
            if self.job.is_none()
                && let Some(command) = self.own.pop_front()
            {
                return Some(command);
            }
            let mut job = self.job.take()?;
            if let Some(command) = job.commands.pop_front() {
                self.job = Some(job);
                self.is_executing = true;
                return Some(command);
            }
            self.finish(*job);
        }
    }

    fn on_events(&mut self, now: Now, place: usize, events: &[Event]) {
        self.now = now;
        self.take_events(place, events);
        self.is_executing = false;
    }

    fn on_time(&mut self, now: Now) {
        self.now = now;
        self.flush_intervals();
        self.beat();
        self.fix_time();
    }

    fn on_maintenance(&mut self, is_on: bool) {
        self.set_maintenance(is_on);
    }

    fn on_restart(&mut self) {
        let connections = self.sessions.keys().chain(self.fix_sessions.keys());
        self.out.extend(connections.map(|it| Output::Close { connection: *it }));
        // Nobody is told that orders end with these connections: they stay.
        self.sessions.clear();
        self.fix_sessions.clear();
        self.tokens.clear();
        (self.change_id, self.next_trade) = (FIRST_CHANGE, 0);
        for (place, market) in self.markets.iter_mut().enumerate() {
            market.renumber(FIRST_CHANGES + place as u64);
        }
    }

    fn on_listing(&mut self, listing: Listing) {
        self.set_listing(listing);
    }

    fn due(&self) -> Option<Nanos> {
        let intervals = self.sessions.values().flat_map(|session| {
            let waits = |it: &&session::Subscription| {
                it.is_dirty || !it.dirty.is_empty() || !it.waiting.is_empty()
            };
            session.subscriptions.iter().filter(waits).map(|it| it.due)
        });
        let beats = self.sessions.values().filter_map(|it| Some(it.heartbeat?.due));
        let fix = self.fix_sessions.values().filter_map(DeribitFixSession::due);
        intervals.chain(beats).chain(fix).min()
    }

    fn book_changes(&self) -> Option<u64> {
        Some(self.book_changes)
    }

    fn change_number(&self, place: usize) -> Option<u64> {
        self.markets.get(place).map(|market| market.change_id)
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }
}
