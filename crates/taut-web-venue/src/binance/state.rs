//! The venue as it stands, and how it is served.

use std::collections::{BTreeMap, VecDeque};

use taut_book::OrderBook;
use taut_engine::{Command, Event};
use taut_fix::Now;
use taut_types::{Nanos, OrderId};
use taut_venue::flow::SplitMix64;

use crate::accounts::read_balances;
use crate::binance::error::ApiError;
use crate::binance::fix_session::{BinanceFixSession, DIALECT};
use crate::binance::keys::{ApiKey, ListenKey};
use crate::binance::limits::{OrderCounts, Weight};
use crate::binance::market::Market;
use crate::binance::methods::Call;
use crate::binance::order::{Detail, Fill, Order};
use crate::binance::session::{ApiSession, Kind, LIFE, NOTICE, Session};
use crate::binance::settings::{self, BinanceAccountSettings, BinanceSettings, SymbolMarket};
use crate::binance::stream::Class;
use crate::front::{Denied, Front, HttpRequest, Listing, Output, Refusal};
use crate::http;
use crate::inbox::{Inbound, Inbox};

/// Orders and trades that are remembered after their end.
pub const HISTORY_MAX: usize = 10_000;
/// Where update ids begin, each market in a range of its own.
const FIRST_UPDATE: u64 = 40_000_000_000;
/// What connecting to the WebSocket API weighs.
const CONNECTING_WEIGHT: u32 = 2;
/// How often folded streams are sent.
const FAST: Nanos = Nanos::from_millis(100);
const SLOW: Nanos = Nanos::from_secs(1);
const SBE: Nanos = Nanos::from_millis(50);

/// Where the update ids of a market begin.
const fn first_update(place: usize) -> u64 {
    FIRST_UPDATE + ((place as u64) << 32)
}

/// An account.
#[derive(Debug)]
pub struct Account {
    pub name: String,
    /// At 1e-9, locked or not.
    pub balances: BTreeMap<String, i128>,
    pub maker: i128,
    pub taker: i128,
    pub counts: OrderCounts,
    pub updated_ms: i64,
}

impl Account {
    fn new(settings: &BinanceAccountSettings) -> Result<Self, String> {
        let rate = |key, text| settings::read(&settings.name, key, text);
        Ok(Self {
            name: settings.name.clone(),
            balances: read_balances(&settings.balances)?,
            maker: rate("maker_commission", &settings.maker_commission)?,
            taker: rate("taker_commission", &settings.taker_commission)?,
            counts: OrderCounts::new(settings.orders_per_10s, settings.orders_per_day),
            updated_ms: 0,
        })
    }

    pub fn pay(&mut self, asset: &str, amount: i128) {
        *self.balances.entry(asset.to_owned()).or_default() += amount;
    }
}

/// A request that the exchange works on.
#[derive(Debug)]
pub struct Job {
    pub call: Call,
    pub commands: VecDeque<(usize, Command)>,
    pub wants: Wants,
    /// The order that it places, and what became of it.
    pub order: Option<OrderId>,
    pub fills: Vec<Fill>,
    pub refused: Option<ApiError>,
}

/// What its answer shows.
#[derive(Debug)]
pub enum Wants {
    Placed(Detail),
    Cancelled(OrderId),
    AllCancelled(Vec<OrderId>),
    Amended(OrderId),
    /// A cancel and then, unless it is refused or not tried, a new order.
    Replaced {
        cancel: Result<OrderId, ApiError>,
        place: Replacement,
    },
}

/// The second half of a cancel-replace.
#[derive(Debug)]
pub enum Replacement {
    Sent(Detail),
    Refused(ApiError),
    NotAttempted,
}

/// The venue's interface.
#[derive(Debug)]
pub struct Binance {
    pub(super) markets: Vec<Market>,
    pub(super) accounts: Vec<Account>,
    pub(super) keys: BTreeMap<String, ApiKey>,
    pub(super) listen_keys: BTreeMap<String, ListenKey>,
    pub(super) sessions: BTreeMap<u64, Session>,
    pub(super) fix_sessions: BTreeMap<u64, BinanceFixSession>,
    pub(super) weight: Weight,
    pub(super) orders: BTreeMap<OrderId, Order>,
    pub(super) done: VecDeque<OrderId>,
    pub(super) fills: VecDeque<Fill>,
    pub(super) inbox: Inbox,
    /// Why the request that is being served is refused, on a bad day.
    pub(super) refusal: Option<Refusal>,
    /// The job is answered as if nobody knew what became of it.
    pub(super) hides_outcome: bool,
    pub(super) job: Option<Box<Job>>,
    /// What the venue does of its own accord.
    own: VecDeque<(usize, Command)>,
    /// The command of the job is being executed.
    pub(super) is_executing: bool,
    pub(super) out: VecDeque<Output>,
    pub(super) random: SplitMix64,
    pub(super) next_order: u64,
    pub(super) next_execution: u64,
    /// When the streams of each 100 ms, of each second, and those in SBE are due.
    flushes: [Nanos; 3],
    /// The time in milliseconds at which those of each second were sent last.
    pub(super) flushed_ms: i64,
    /// How long a connection lives.
    life: Nanos,
    /// Requests that were refused with 429 and 418.
    pub(super) refused_by_weight: u64,
    /// Changes of books that were told, to each who follows them.
    pub(super) depth_updates: u64,
    pub(super) now: Now,
}

impl Binance {
    /// A venue before its first order.
    ///
    /// # Errors
    /// The setting that cannot be.
    pub fn new(settings: &BinanceSettings) -> Result<Self, String> {
        let market = |(place, it)| Market::new(it, first_update(place));
        let markets: Result<Vec<_>, _> =
            settings.instruments.iter().enumerate().map(market).collect();
        let accounts: Result<Vec<_>, _> = settings.accounts.iter().map(Account::new).collect();
        let mut keys = BTreeMap::new();
        for (account, it) in settings.accounts.iter().enumerate() {
            for key in &it.keys {
                if keys.insert(key.id.clone(), ApiKey::new(account, key)?).is_some() {
                    return Err(format!("accounts.keys.id = {:?}: two keys have it", key.id));
                }
            }
        }
        Ok(Self {
            markets: markets?,
            accounts: accounts?,
            keys,
            listen_keys: BTreeMap::new(),
            sessions: BTreeMap::new(),
            fix_sessions: BTreeMap::new(),
            weight: Weight::new(),
            orders: BTreeMap::new(),
            done: VecDeque::new(),
            fills: VecDeque::new(),
            inbox: Inbox::new(),
            refusal: None,
            hides_outcome: false,
            job: None,
            own: VecDeque::new(),
            is_executing: false,
            out: VecDeque::new(),
            random: SplitMix64::new(1),
            next_order: 0,
            next_execution: 1,
            flushes: [Nanos::ZERO; 3],
            flushed_ms: 0,
            life: LIFE,
            refused_by_weight: 0,
            depth_updates: 0,
            now: Now::default(),
        })
    }

    /// The same, whose WebSockets live so long instead of 24 hours.
    #[must_use]
    pub const fn with_life(mut self, life: Nanos) -> Self {
        self.life = life;
        self
    }

    /// Requests that were refused because of their weight, with 429 or 418.
    #[must_use]
    pub const fn refused_by_weight(&self) -> u64 {
        self.refused_by_weight
    }

    /// What the account of this name has of an asset, locked or not, at 1e-9.
    #[must_use]
    pub fn balance_of(&self, account: &str, asset: &str) -> Option<i128> {
        let account = self.accounts.iter().find(|it| it.name == account)?;
        account.balances.get(asset).copied()
    }

    /// Milliseconds of UTC.
    pub(super) const fn ms(&self) -> i64 {
        self.now.utc.0 / 1_000_000
    }

    pub(super) fn market(&self, place: usize) -> Option<&Market> {
        self.markets.get(place)
    }

    /// A name of so many letters and digits that nothing else has.
    pub(super) fn unique_name(&mut self, letters: usize) -> String {
        const LETTERS: [u8; 62] =
            *b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let mut letter = || {
            let at = self.random.below(LETTERS.len() as u64) as usize;
            char::from(LETTERS.get(at).copied().unwrap_or(b'0'))
        };
        (0..letters).map(|_| letter()).collect()
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
                Some(Inbound::Closed(connection)) => {
                    self.sessions.remove(&connection);
                    self.fix_sessions.remove(&connection);
                }
            }
        }
    }

    fn serve_text(&mut self, connection: u64, text: &str) {
        let now = self.now.mono;
        let Some(session) = self.sessions.get_mut(&connection) else { return };
        if let Kind::Api(_) = session.kind {
            return self.serve_api(connection, text);
        }
        // There is no error for it: who sends too much is disconnected.
        let refusal = self.refusal.take();
        if session.is_too_fast(now)
            || matches!(refusal, Some(Refusal::TooMany | Refusal::Maintenance))
        {
            self.sessions.remove(&connection);
            self.out.push_back(Output::Close { connection });
            return;
        }
        self.control(connection, text);
    }

    /// What a new connection is for.
    fn kind(&self, request: &HttpRequest) -> Result<Kind, Denied> {
        let (class, path) = Class::of(&request.host, request.path.trim_end_matches('/'));
        let named = |names: &str| {
            let names = names.split('/').filter(|name| !name.is_empty()).map(http::decode);
            let named = |name: String| {
                let stream = self.stream(class, &name);
                (name, stream)
            };
            names.map(named).collect()
        };
        let query = http::pairs(&request.query);
        let value =
            |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let api = match (class, path) {
            (Class::SpotJson, "/ws-api/v3") => Some(SymbolMarket::SpotMarket),
            (Class::SpotJson, "/ws-fapi/v1") => Some(SymbolMarket::UsdM),
            _ => None,
        };
        if let Some(market) = api {
            let hides_limits = value("returnRateLimits") == Some("false");
            return Ok(Kind::Api(ApiSession { market, hides_limits, ..ApiSession::default() }));
        }
        let (is_combined, names) = match path.strip_prefix("/ws") {
            _ if path == "/stream" => (true, value("streams").unwrap_or_default()),
            Some(names) if names.is_empty() || names.starts_with('/') => (false, names),
            _ => return Err(Denied::not_found()),
        };
        if class == Class::SpotSbe {
            self.check_sbe_key(request)?;
        }
        Ok(Kind::Streams { class, is_combined, streams: named(names) })
    }
}

impl Front for Binance {
    fn on_book(&mut self, place: usize, book: &OrderBook) {
        if let Some(market) = self.markets.get_mut(place) {
            market.book.begin(book);
        }
    }

    fn open(&mut self, now: Now, connection: u64, request: &HttpRequest) -> Result<(), Denied> {
        let kind = self.kind(request)?;
        if let Kind::Api(_) = kind {
            // What is over the limit is told with the first request.
            let _ = self.weight.spend(now.utc.0 / 1_000_000, CONNECTING_WEIGHT);
        }
        let ends = now.mono + self.life;
        self.sessions.insert(connection, Session::new(kind, ends, now.utc.0 / 1_000_000));
        Ok(())
    }

    fn text(&mut self, _now: Now, connection: u64, text: &str) {
        self.inbox.push_back(Inbound::Text(connection, text.to_owned(), None));
    }

    fn request(&mut self, _now: Now, connection: u64, request: HttpRequest) {
        self.inbox.push_back(Inbound::Http(connection, Box::new(request), None));
    }

    fn open_fix(&mut self, now: Now, connection: u64) -> bool {
        self.fix_sessions.insert(connection, BinanceFixSession::new(&DIALECT, now.mono));
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
        self.fix_time();
        let [fast, slow, sbe] = self.flushes;
        if sbe <= now.mono {
            self.flushes[2] = now.mono + SBE;
            self.flush_sbe();
        }
        if fast <= now.mono {
            self.flushes[0] = now.mono + FAST;
            self.flush_fast();
        }
        if slow <= now.mono {
            self.flushes[1] = now.mono + SLOW;
            self.flush_slow();
            self.end_old();
        }
    }

    fn on_restart(&mut self) {
        let connections = self.sessions.keys().chain(self.fix_sessions.keys());
        self.out.extend(connections.map(|it| Output::Close { connection: *it }));
        self.sessions.clear();
        self.fix_sessions.clear();
        self.next_execution = 1;
        for (place, market) in self.markets.iter_mut().enumerate() {
            market.renumber(first_update(place));
        }
    }

    fn on_listing(&mut self, listing: Listing) {
        let Some(market) = self.markets.first_mut() else { return };
        market.is_delisted = listing.is_delisted;
        let tick = market.settings.sizes().map_or(market.sizes.tick, |sizes| sizes.tick);
        market.sizes.tick = if listing.has_larger_step { 2 * tick } else { tick };
        if listing.is_delisted {
            let orders = self.orders.values().filter(|it| it.place == 0 && it.status.is_live());
            self.own.extend(orders.map(|it| (0, Command::Cancel { order_id: it.id })));
        }
    }

    fn due(&self) -> Option<Nanos> {
        let listens = |is_sbe: bool| {
            let does = move |it: &Session| match &it.kind {
                Kind::Streams { class, streams, .. } => {
                    (*class == Class::SpotSbe) == is_sbe && !streams.is_empty()
                }
                Kind::Api(_) => false,
            };
            self.sessions.values().any(does)
        };
        let fix = self.fix_sessions.values().filter_map(BinanceFixSession::due);
        let next_word = |it: &Session| match it.kind {
            Kind::Streams { .. } if !it.is_warned => it.ends - NOTICE,
            _ => it.ends,
        };
        let web = self.sessions.values().map(next_word);
        let [fast, slow, sbe] = self.flushes;
        let in_json = listens(false).then(|| fast.min(slow));
        let in_sbe = listens(true).then_some(sbe);
        fix.chain(web).chain(in_json).chain(in_sbe).min()
    }

    fn book_changes(&self) -> Option<u64> {
        Some(self.depth_updates + self.pending_depth_updates())
    }

    fn change_number(&self, place: usize) -> Option<u64> {
        self.markets.get(place).map(|market| market.update_id)
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }
}

impl Binance {
    /// Ends connections and listen keys that are too old, and announces the end of those to the
    /// streams.
    fn end_old(&mut self) {
        let (now, ms) = (self.now.mono, self.ms());
        for (&connection, session) in &mut self.sessions {
            let Kind::Streams { is_combined, .. } = session.kind else { continue };
            if session.is_warned || now < session.ends - NOTICE {
                continue;
            }
            session.is_warned = true;
            let event = format!("{{\"e\":\"serverShutdown\",\"E\":{ms}}}");
            let text = match is_combined {
                true => format!("{{\"stream\":\"!serverShutdown\",\"data\":{event}}}"),
                false => event,
            };
            self.out.push_back(Output::Text { connection, text });
        }
        let ended = self.sessions.extract_if(.., |_, it| it.ends <= now);
        let ended: Vec<u64> = ended.map(|(connection, _)| connection).collect();
        self.out.extend(ended.into_iter().map(|connection| Output::Close { connection }));
        self.listen_keys.retain(|_, key| key.expires_ms > ms);
    }
}
