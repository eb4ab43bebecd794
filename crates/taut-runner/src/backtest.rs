//! Backtests: a strategy over recorded market data, in the gateway's own code.
//!
//! What runs is what runs live: the gateway with its books, its pre-trade checks, its table of
//! orders and its positions, and the strategy in its thread ([`FusedClient`]). Market data are the
//! rows of a [`Recording`], at the times at which they were seen; orders go to a simulated exchange
//! of `taut-backtest` over the same recording, which takes its rows at the times at which they
//! happened. Between them is a latency in both directions, and all of it is on one virtual time.
//!
//! ```
//! use taut_backtest::{
//!     Compat, ConstantLatency, Event, ExchangeSide, Fees, FillModel, LevelExchange, Recording,
//!     RiskAverse, RowKind, Seen,
//! };
//! use taut_gateway::{Strategy, Trading};
//! use taut_market_data::{BestPrices, Event as MarketEvent, EventKind};
//! use taut_runner::backtest::{BacktestMarket, BacktestSettings, run};
//! use taut_types::{
//!     Instrument, InstrumentId, Lots, Nanos, OrderTerms, Price, Qty, Side, Symbol,
//! };
//!
//! /// Bids once, at the best bid.
//! #[derive(Default)]
//! struct Once(bool);
//!
//! impl Strategy for Once {
//!     fn on_market(&mut self, _: Nanos, event: &MarketEvent, trading: &mut impl Trading) {
//!         let EventKind::Top(BestPrices { bid: Some((bid, _)), ask: Some(_) }) = event.kind else {
//!             return;
//!         };
//!         if !std::mem::replace(&mut self.0, true) {
//!             trading.create(&OrderTerms::limit(event.instrument, Side::Buy, bid, Lots(1)));
//!         }
//!     }
//! }
//!
//! let row = |at, kind, side, tick, lots| Event {
//!     exchange_at: Nanos(at), local_at: Nanos(at + 10), seen: Seen::Both, kind, side: Some(side),
//!     tick, lots, order_id: 0,
//! };
//! let recording = Recording::new([
//!     row(0, RowKind::Level, Side::Buy, 99, 5),
//!     row(0, RowKind::Level, Side::Sell, 101, 5),
//!     row(1_000, RowKind::Trade, Side::Sell, 99, 7),
//! ])?;
//! let latency = ConstantLatency { entry: 20, response: 30 };
//! let exchange =
//!     LevelExchange::new(&recording, RiskAverse, latency, FillModel::Whole, Compat::NONE)?;
//! let symbol = Symbol::new(b"X").expect("a symbol");
//! let tick = Price(10_000_000);
//! let market = BacktestMarket {
//!     instrument: Instrument::new(InstrumentId(0), symbol, tick, Qty::whole(1))?,
//!     fees: Fees::default(),
//!     recording: &recording,
//!     exchange: Box::new(ExchangeSide::new(&recording, exchange)),
//! };
//! let settings = BacktestSettings::default();
//! let outcome = run(vec![market], &settings, |_| Once::default(), &mut |_| true)?;
//! // Five lots were before it, and seven were traded.
//! assert_eq!((outcome.fills.len(), outcome.fills[0].tick), (1, 99));
//! assert_eq!(outcome.fills[0].at, Nanos(1_030));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`FusedClient`]: taut_gateway::FusedClient
//! [`Recording`]: taut_backtest::Recording

mod driver;
mod feed;
mod file;
mod history;
mod kernel;
mod keys;
mod load;
mod orders;
mod outcome;
mod own_orders;
mod points;
mod statistics;
mod sweep;
#[cfg(test)]
mod tests;
mod ways;
mod wire;

pub use driver::{BacktestMarket, BacktestSettings, run};
pub use file::{BACKTEST_SAMPLE, BacktestFile};
pub use history::{FillRecord, Latencies, MARK_OUTS, OrderEnd, OrderRecord, Sample, Top};
pub use keys::{
    CompatKey, ExchangeKeys, FeeBasisKey, FillsKey, LatencyKeys, QueueKey, ReadingKeys, VenueKeys,
};
pub use load::{Loaded, Loading};
pub use outcome::{BacktestEnd, BacktestOutcome, InstrumentOutcome, Mean, OrderCounts};
pub use own_orders::SimulatedExchange;
pub use points::run_points;
pub use statistics::Statistics;
pub use sweep::{SWEEP_SAMPLE, Sweep, SweepPoint, SweepValue};
