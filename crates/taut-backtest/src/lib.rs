//! A simulated exchange over recorded market data, on integer ticks and lots.
//!
//! A [`Recording`] is rows of 32 bytes: what happened, when at the exchange, when we saw it. A
//! [`Backtest`] runs over it: the exchange's side and ours each have their own book and their own
//! clockwork of rows; requests and responses take their [`Latency`] between them. Books, orders,
//! fills and positions are whole ticks and lots; what is a float is named where it is one (places
//! in a [`Probability`] queue, lines between latencies, [`Money`]).
//!
//! Three exchanges, for the two kinds of market data:
//!
//! - [`LevelExchange`]: levels and trades. A [`QueueModel`] says where own orders stand.
//! - [`OrderExchange`]: orders one by one. Own orders stand in the market's own queues.
//! - [`EngineExchange`]: orders one by one, in taut's matching engine. Own orders really queue and
//!   really take, and what they do to the market is told as its [`Impact`].
//!
//! In the first two nothing that own orders do changes what is recorded. Own orders compete,
//! though: for what a trade brings, and for what a level holds. [`Compat`] names each point in
//! which hftbacktest does otherwise; with [`Compat::HFTBACKTEST`] the same requests give the same
//! responses, row for row.
//!
//! ```
//! use taut_backtest::{
//!     Answer, Backtest, BacktestError, Compat, ConstantLatency, Event, FillModel, LevelExchange,
//!     Order, Recording, RiskAverse, RowKind, Seen, Stop,
//! };
//! use taut_types::{Nanos, Side};
//!
//! let row = |at, kind, side, tick, lots| Event {
//!     exchange_at: Nanos(at), local_at: Nanos(at + 10), seen: Seen::Both, kind, side: Some(side),
//!     tick, lots, order_id: 0,
//! };
//! let recording = Recording::new([
//!     row(0, RowKind::Level, Side::Buy, 99, 5),
//!     row(0, RowKind::Level, Side::Sell, 101, 5),
//!     row(100, RowKind::Trade, Side::Sell, 99, 7),
//!     row(200, RowKind::Level, Side::Buy, 99, 0),
//! ])?;
//! let latency = ConstantLatency { entry: 20, response: 30 };
//! let exchange =
//!     LevelExchange::new(&recording, RiskAverse, latency, FillModel::Partial, Compat::NONE)?;
//! let mut backtest = Backtest::new(&recording, exchange)?;
//!
//! backtest.run_until(Nanos(10), Stop::Time)?;
//! assert_eq!(backtest.trader().best(), Some((99, 101)));
//! backtest.trader().send(Order::limit(1, Side::Buy, 99, 3))?;
//! backtest.run_until(Nanos(150), Stop::Time)?;
//! let told: Vec<_> = std::iter::from_fn(|| backtest.poll_response()).collect();
//! assert_eq!((told[0].at, told[0].answer), (Nanos(60), Answer::Entered));
//! // Five lots were before it: of the seven that were traded it has two.
//! assert_eq!((told[1].at, told[1].answer), (Nanos(130), Answer::Filled));
//! assert_eq!((told[1].order.last_lots, told[1].order.leaves), (2, 1));
//! assert_eq!(backtest.trader().account().position(), 2);
//! # Ok::<(), BacktestError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod account;
mod backtest;
mod book;
mod compat;
mod error;
mod exchange;
mod latency;
mod market;
mod order;
mod queue;
mod recording;
mod row;
mod side;
mod strategy;
#[cfg(test)]
mod tests;
mod trader;

pub use account::{Account, FeeBasis, Fees, Money, Terms};
pub use backtest::{Backtest, Stop, Stopped};
pub use book::FlatBook;
pub use compat::Compat;
pub use error::BacktestError;
pub use exchange::{
    EngineExchange, Exchange, FillModel, Impact, LevelExchange, OrderExchange, Outbox,
};
pub use latency::{ConstantLatency, DrawnLatency, InterpolatedLatency, Latency, LatencyRow};
pub use market::{Market, OrderLevels};
pub use order::{Answer, Order, Request, RequestKind, Response, Status};
pub use queue::{Chance, Front, Probability, QueueModel, RiskAverse};
pub use recording::Recording;
pub use row::{Event, Row, RowKind, Seen};
pub use side::ExchangeSide;
pub use strategy::Strategy;
pub use trader::Trader;
