//! The driver: gateway, strategy and exchanges at one time, which is the recording's.
//!
//! The next thing that happens is the one with the smallest time. At one instant the exchanges take
//! their rows and then the requests that arrive; our side takes the rows that it learns of,
//! instrument by instrument, then responses, then the timer. What a strategy asks for meanwhile
//! leaves at that instant.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::rc::Rc;

use taut_backtest::{Answer, BacktestError, FeeBasis, Fees, Recording, Response, Row, Terms};
use taut_fix::CompId;
use taut_gateway::{
    FeedInput, FusedClient, Gateway, GatewayConfig, GatewayError, PositionRule, Regions,
    RiskConfig, SessionSettings, Strategy,
};
use taut_ipc::Segment;
use taut_market_data::{BestPrices, FeedHandler, Source};
use taut_sys::Clock;
use taut_types::{FeeRates, Instrument, InstrumentId, Nanos};

use super::feed::{Frame, RecordedFeed};
use super::history::{History, OrderEnd, Top};
use super::kernel::{Link, LinkKernel, Shared};
use super::orders::BacktestOrders;
use super::outcome::{BacktestEnd, BacktestOutcome};
use super::own_orders::{OwnOrders, SimulatedExchange};
use super::wire::{Message, Say};
use crate::error::RunnerError;

/// Requests of a strategy that a gateway takes in one go.
const REQUESTS_IN_A_ROW: usize = 64;
/// Instants after which who waits for the run is told how far it is.
const INSTANTS_PER_LOOK: u64 = 1 << 14;
/// Nobody loses a request here: none is given up for want of an answer.
const NEVER: Nanos = Nanos::from_secs(10 * 365 * 86_400);

/// What is traded, over which recording, at which exchange.
pub struct BacktestMarket<'r> {
    /// The instrument. It gets the number of its place among the markets.
    pub instrument: Instrument,
    /// What its trades cost.
    pub fees: Fees,
    /// What happened, in ticks and lots of the instrument.
    pub recording: &'r Recording,
    /// Where orders go: a [`taut_backtest::ExchangeSide`] over the same recording.
    pub exchange: Box<dyn SimulatedExchange + 'r>,
}

impl fmt::Debug for BacktestMarket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbol = self.instrument.symbol();
        f.debug_struct("BacktestMarket").field("symbol", &symbol).finish_non_exhaustive()
    }
}

/// How a backtest runs.
#[derive(Clone, Debug)]
pub struct BacktestSettings {
    /// Pre-trade limits of the gateway.
    pub risk: RiskConfig,
    /// Orders that the gateway remembers at one time.
    pub orders: usize,
    /// How often the strategy's timer and its due alarms come: a millisecond, as at a gateway that
    /// is live, or less often.
    pub timer: Nanos,
    /// How often the run is valued.
    pub sample: Nanos,
    /// Whether the strategy is told of each order of the market, where a recording has them.
    pub market_orders: bool,
}

impl Default for BacktestSettings {
    fn default() -> Self {
        Self {
            risk: GatewayConfig::default_risk().into(),
            orders: 1 << 16,
            timer: Nanos::from_millis(1),
            sample: Nanos::from_secs(10),
            market_orders: false,
        }
    }
}

/// Runs a strategy over recordings, in the code of a gateway that is live: its books, its checks,
/// its table of orders, its positions. `make` is told the time at which the first recording begins.
/// `go_on` is asked now and then, at the time of the recording, whether to go on.
///
/// All times are those of the recordings, the monotonic ones too; the same input gives the same
/// outcome.
///
/// # Errors
/// When there is no market or a setting cannot be, or what the gateway says.
pub fn run<'r, S: Strategy>(
    markets: Vec<BacktestMarket<'r>>,
    settings: &BacktestSettings,
    make: impl FnOnce(Nanos) -> S,
    go_on: &mut dyn FnMut(Nanos) -> bool,
) -> Result<BacktestOutcome, RunnerError> {
    check(&markets, settings)?;
    let failed = |error: &dyn std::fmt::Display| RunnerError::run("shared memory", error);
    let segment = Segment::create("taut-run", &Regions::LAYOUT).map_err(|error| failed(&error))?;
    let regions = Regions::of(&segment).map_err(|error| failed(&error))?;
    let mut world = World::open(markets, settings, make, &regions)?;
    let end = world.run(go_on).map_err(|error| RunnerError::run("the gateway", error))?;
    Ok(world.finish(end))
}

fn check(markets: &[BacktestMarket<'_>], settings: &BacktestSettings) -> Result<(), RunnerError> {
    if markets.is_empty() {
        return Err(RunnerError::Settings("a backtest needs one recording at least".to_owned()));
    }
    let spans = [("timer", settings.timer, 1), ("sample", settings.sample, 1)];
    for (key, span, millis) in spans {
        if span < Nanos::from_millis(millis) {
            let must_be = format!("{millis} ms at least");
            return Err(RunnerError::setting(key, format!("{} ns", span.0), must_be));
        }
    }
    Ok(())
}

type Fused<'m, 'r, S> =
    Gateway<'m, FusedClient<S>, RecordedFeed<'r>, LinkKernel, (), BacktestOrders>;

/// Everybody, and the time.
struct World<'m, 'r, S> {
    gateway: Fused<'m, 'r, S>,
    link: Shared,
    instruments: Vec<Instrument>,
    exchanges: Vec<OwnOrders<'r>>,
    locals: Vec<Local<'r>>,
    history: History,
    /// What the exchanges say at this instant.
    heard: Vec<Response>,
    start: Nanos,
    now: Nanos,
    /// The last row of all.
    end: Nanos,
    timer: Nanos,
    timer_at: Nanos,
}

/// The rows that we learn of.
struct Local<'r> {
    rows: &'r [Row],
    next: usize,
    told: u64,
}

impl Local<'_> {
    /// When the next one comes.
    fn next_at(&mut self) -> Option<Nanos> {
        while self.rows.get(self.next).is_some_and(|row| !row.is_local()) {
            self.next += 1;
        }
        self.rows.get(self.next).map(|row| Nanos(row.local_at()))
    }

    /// Those of this instant: the places of the first and of the one behind the last.
    fn take(&mut self, now: Nanos) -> Option<(u64, u64)> {
        let from = self.next;
        while self.next_at().is_some_and(|at| at <= now) {
            self.next += 1;
            self.told += 1;
        }
        (self.next > from).then_some((from as u64, self.next as u64))
    }
}

impl<'m, 'r, S: Strategy> World<'m, 'r, S> {
    fn open(
        markets: Vec<BacktestMarket<'r>>,
        settings: &BacktestSettings,
        make: impl FnOnce(Nanos) -> S,
        regions: &Regions<'m>,
    ) -> Result<Self, RunnerError> {
        let numbered = (0..).zip(&markets);
        let instruments: Vec<Instrument> =
            numbered.map(|(id, market)| market.instrument.with_id(InstrumentId(id))).collect();
        let recordings = || markets.iter().map(|market| market.recording);
        let start = recordings().map(Recording::starts_at).min().unwrap_or(Nanos::ZERO);
        let end = recordings().filter_map(last_at).max().unwrap_or(start);
        let fees: Vec<Fees> = markets.iter().map(|market| market.fees).collect();
        let terms = instruments.iter().zip(&fees).map(|(it, fees)| Terms::new(it, *fees));
        let history = History::new(terms.collect(), start, settings.sample);
        let locals = recordings().map(|it| Local { rows: it.rows(), next: 0, told: 0 }).collect();
        let feed: Vec<_> = instruments.iter().copied().zip(recordings()).collect();
        let feed = RecordedFeed::new(&feed, settings.market_orders);
        let feed = feed.map_err(|error| RunnerError::Settings(error.to_string()))?;
        let link = Link::at(start);
        let mut gateway = open_gateway(settings, &instruments, feed, &link, make(start), regions)?;
        gateway.set_fees(&fees.iter().map(rates).collect::<Vec<_>>());
        let exchanges = instruments.iter().zip(markets);
        let exchanges =
            exchanges.map(|(it, market)| OwnOrders::new(*it, market.exchange)).collect();
        Ok(Self {
            gateway,
            link,
            instruments,
            exchanges,
            locals,
            history,
            heard: Vec::new(),
            start,
            now: start,
            end,
            timer: settings.timer,
            timer_at: start,
        })
    }

    /// Runs to the end of all recordings.
    fn run(&mut self, go_on: &mut dyn FnMut(Nanos) -> bool) -> Result<BacktestEnd, GatewayError> {
        // The session begins: the exchange is there, and says so at once.
        self.poll()?;
        self.send();
        self.poll()?;
        for instant in 0_u64.. {
            if instant.is_multiple_of(INSTANTS_PER_LOOK) && !go_on(self.now) {
                return Ok(BacktestEnd::Stopped);
            }
            let rows_at = self.locals.iter_mut().filter_map(Local::next_at).min();
            if rows_at.is_none() && self.now >= self.end && self.is_quiet() {
                return Ok(BacktestEnd::Recording);
            }
            let limit = rows_at.map_or(self.timer_at, |at| at.min(self.timer_at)).max(self.now);
            let (limit, fault) = match self.run_exchanges(limit) {
                Ok(limit) => (limit, None),
                Err((at, error)) => (at.max(self.now), Some(error)),
            };
            self.go_to(limit);
            self.take_rows()?;
            self.take_responses()?;
            if self.timer_at <= self.now {
                self.timer_at = self.now + self.timer;
                self.gateway.housekeeping()?;
                self.poll()?;
            }
            self.send();
            if let Some(error) = fault {
                return Ok(BacktestEnd::Exchange(error));
            }
        }
        Ok(BacktestEnd::Recording)
    }

    /// Runs the exchanges at which something can happen to orders of ours, the one with the
    /// earliest first, to a time, and no further than the first response. How far.
    fn run_exchanges(&mut self, until: Nanos) -> Result<Nanos, (Nanos, BacktestError)> {
        let known = self.exchanges.iter().filter_map(|own| own.exchange.next_response_at());
        let mut limit = known.fold(until, Nanos::min);
        loop {
            let (mut first, mut other) = (None, Nanos::MAX);
            for (at, own) in self.exchanges.iter_mut().enumerate() {
                if !own.exchange.may_respond() {
                    continue;
                }
                let Some(next) = own.exchange.next_at() else { continue };
                match first {
                    Some((_, earliest)) if next >= earliest => other = other.min(next),
                    _ => {
                        other = first.map_or(other, |(_, earliest)| other.min(earliest));
                        first = Some((at, next));
                    }
                }
            }
            let Some((at, next)) = first else { return Ok(limit) };
            let Some(own) = self.exchanges.get_mut(at).filter(|_| next <= limit) else {
                return Ok(limit);
            };
            own.exchange.run_until(limit.min(other))?;
            limit = own.exchange.next_response_at().map_or(limit, |at| limit.min(at));
        }
    }

    /// It is this time now.
    #[inline]
    fn go_to(&mut self, now: Nanos) {
        self.history.pass(now);
        self.now = now;
        self.link.borrow_mut().now = now;
        *self.gateway.clock_mut() = Clock::standing_at(now, now);
    }

    /// The gateway takes the rows of this instant.
    fn take_rows(&mut self) -> Result<(), GatewayError> {
        for (market, local) in (0..).zip(&mut self.locals) {
            let Some((from, to)) = local.take(self.now) else { continue };
            let frame = Frame { market, from, to }.to_bytes();
            self.gateway.handle_frame(Source::LINE_A, &frame)?;
            let instrument = self.instruments.get(market as usize);
            let best = self.gateway.feed().best(InstrumentId(market));
            let top = instrument.and_then(|instrument| top_of(instrument, best));
            self.history.market(market as usize, top);
        }
        // A strategy that asks for more than the gateway takes in one go.
        if self.link.borrow().outbound.len() >= REQUESTS_IN_A_ROW * super::wire::MESSAGE_BYTES {
            self.poll()?;
        }
        Ok(())
    }

    /// The gateway takes the responses of this instant.
    fn take_responses(&mut self) -> Result<(), GatewayError> {
        let Self { exchanges, heard, history, link, now, instruments, .. } = self;
        for (own, instrument) in exchanges.iter_mut().zip(&*instruments) {
            heard.extend(std::iter::from_fn(|| own.exchange.poll_response(*now)));
            for response in heard.drain(..) {
                history.heard(&response);
                let mut say = |message: Message| {
                    link.borrow_mut().inbound.extend_from_slice(&message.to_bytes());
                };
                own.hear(&response, &mut say, &mut |fill| {
                    history.traded(*now, instrument.id(), fill)
                });
                if let Some(end) = end_of(&response) {
                    history.ended(response.order.id, *now, end);
                }
            }
        }
        let has_some = !self.link.borrow().inbound.is_empty();
        if has_some { self.poll() } else { Ok(()) }
    }

    /// The gateway looks until there is nothing to do.
    fn poll(&mut self) -> Result<(), GatewayError> {
        while self.gateway.poll()? {}
        Ok(())
    }

    /// What the gateway asked for leaves.
    fn send(&mut self) {
        let mut link = self.link.borrow_mut();
        if link.outbound.is_empty() {
            return;
        }
        let outbound = std::mem::take(&mut link.outbound);
        let mut bytes = &outbound[..];
        while let Some(message) = Message::take(&mut bytes) {
            match message.say {
                Say::LogOn | Say::LogOut => link.inbound.extend_from_slice(&message.to_bytes()),
                _ => {
                    let own = self.exchanges.get_mut(message.instrument.0 as usize);
                    let arrives = own.and_then(|own| own.ask(self.now, &message));
                    self.history.asked(self.now, &message, arrives);
                }
            }
        }
        link.outbound = outbound;
        link.outbound.clear();
    }

    /// Whether nothing is on its way.
    fn is_quiet(&self) -> bool {
        self.exchanges.iter().all(|own| own.exchange.is_quiet())
    }

    fn finish(mut self, end: BacktestEnd) -> BacktestOutcome {
        self.history.end(self.now);
        let rows = self.locals.iter().map(|local| local.told).sum();
        let open = self.exchanges.iter().map(OwnOrders::open).sum();
        BacktestOutcome::new(
            (self.start, self.now),
            end,
            self.instruments,
            (rows, open),
            self.history,
            self.gateway.counters(),
        )
    }
}

fn open_gateway<'m, 'r, S: Strategy>(
    settings: &BacktestSettings,
    instruments: &[Instrument],
    feed: RecordedFeed<'r>,
    link: &Shared,
    strategy: S,
    regions: &Regions<'m>,
) -> Result<Fused<'m, 'r, S>, RunnerError> {
    let comp_id = |text: &str| {
        CompId::new(text.as_bytes()).ok_or_else(|| RunnerError::Run("CompID".to_owned()))
    };
    let config = GatewayConfig {
        instruments: instruments.to_vec(),
        order_address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1),
        sender_comp_id: comp_id("GATEWAY")?,
        target_comp_id: comp_id("BACKTEST")?,
        heartbeat_interval: NEVER,
        session: SessionSettings {
            request_timeout: NEVER,
            positions: PositionRule::Off,
            ..SessionSettings::default()
        },
        order_capacity: settings.orders,
        risk: settings.risk.clone(),
        hot: false,
        keeps_warm: false,
    };
    let now = link.borrow().now;
    let clock = Clock::standing_at(now, now);
    let handlers = (feed, BacktestOrders::new(instruments));
    let client = FusedClient::new(strategy);
    let kernel = LinkKernel(Rc::clone(link));
    Gateway::with_handlers(kernel, &config, clock, FeedInput::HandedOver, handlers, client, regions)
        .map_err(|error| RunnerError::run("the gateway", error))
}

/// What the gateway counts as fees: it knows parts of a trade's worth alone.
fn rates(fees: &Fees) -> FeeRates {
    match fees.basis {
        FeeBasis::Value => fees.rates,
        FeeBasis::Quantity | FeeBasis::Fill => FeeRates::default(),
    }
}

/// The last time of a recording.
fn last_at(recording: &Recording) -> Option<Nanos> {
    let at = |row: &Row| {
        let exchange = row.is_at_exchange().then(|| row.exchange_at());
        exchange.max(row.is_local().then(|| row.local_at()))
    };
    recording.rows().iter().filter_map(at).max().map(Nanos)
}

/// The best prices in ticks, where both sides have one.
fn top_of(instrument: &Instrument, best: BestPrices) -> Option<Top> {
    let step = instrument.tick().0;
    Some((best.bid?.0.0 / step, best.ask?.0.0 / step))
}

/// How the order ended that a response is about, if it did.
fn end_of(response: &Response) -> Option<OrderEnd> {
    use taut_backtest::{RequestKind, Status};
    let order = &response.order;
    match (response.answer, order.status) {
        (Answer::Refused, _) => {
            (response.request == Some(RequestKind::New)).then_some(OrderEnd::Rejected)
        }
        (Answer::Canceled, _) => Some(OrderEnd::Cancelled),
        (Answer::Expired, _) if order.post_only && order.filled == 0 => Some(OrderEnd::Rejected),
        (Answer::Expired, _) => Some(OrderEnd::Expired),
        (_, Status::Filled) => Some(OrderEnd::Filled),
        _ => None,
    }
}
