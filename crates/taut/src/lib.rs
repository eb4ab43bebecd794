//! taut: the tick-to-trade path as one library.
//!
//! taut receives market data, keeps order books, runs a strategy, checks risk and sends orders, and
//! measures each of these stages for every order. This crate re-exports the parts: each module is a
//! crate of its own with its own documentation, and the [`prelude`] has the names that a strategy
//! uses.
//!
//! A cargo feature is a module of the same name with its dependencies. The default, `runner`, runs
//! a strategy with a gateway and a simulated exchange; `full` is everything:
//!
//! ```toml
//! taut = { version = "0.1", default-features = false, features = ["fix"] }
//! ```
//!
//! ```
//! use taut::prelude::*;
//!
//! // A book of price levels, fed by hand.
//! let mut book = LevelBook::with_capacity(64);
//! let bid = Price::parse(b"585.33").expect("a decimal of at most nine places");
//! let change = book.apply(Side::Buy, bid, Lots(18), 1).expect("room for a level");
//! assert!(change.top_changed);
//! assert_eq!(book.best(Side::Buy).map(|level| level.lots), Some(Lots(18)));
//! ```
#![forbid(unsafe_code)]

/// Aeron's wire protocol: reliable UDP, as a pure core.
#[cfg(feature = "aeron")]
pub use taut_aeron as aeron;
/// A simulated exchange over recorded market data; `runner::backtest` runs it with a gateway.
#[cfg(feature = "backtest")]
pub use taut_backtest as backtest;
/// Order books: top of book, price levels, order queues.
pub use taut_book as book;
/// One publisher and one subscriber over any channel, chosen by a URI.
#[cfg(feature = "channel")]
pub use taut_channel as channel;
/// The matching engine.
#[cfg(feature = "engine")]
pub use taut_engine as engine;
/// FIX: codec and session.
#[cfg(feature = "fix")]
pub use taut_fix as fix;
/// FIX acceptors and initiators on the event loop: settings in TOML, dictionaries, stores, signed
/// Logons.
#[cfg(feature = "fix-engine")]
pub use taut_fix_engine as fix_engine;
/// The gateway: market data, books, strategies, risk checks, orders.
#[cfg(feature = "gateway")]
pub use taut_gateway as gateway;
/// The event loop: one thread, epoll, io_uring or a simulated kernel.
#[cfg(feature = "io")]
pub use taut_io as io;
/// Shared memory between processes: publications by name, and segments.
#[cfg(feature = "ipc")]
pub use taut_ipc as ipc;
/// The order journal: written before an order leaves, read after a crash.
#[cfg(feature = "journal")]
pub use taut_journal as journal;
/// Stages of an order, histograms, percentiles.
pub use taut_lat as lat;
/// Typed publish and subscribe over UDP with leases.
#[cfg(feature = "lease")]
pub use taut_lease as lease;
/// Venues' market data as normalized events; sequencing of packets, recovery, books.
#[cfg(feature = "market-data")]
pub use taut_market_data as market_data;
/// Drivers on the event loop: connecting by name, feeds, frames, files, TLS, WebSocket.
#[cfg(feature = "net")]
pub use taut_net as net;
/// Order life cycle, pre-trade risk checks, positions.
#[cfg(feature = "oms")]
pub use taut_oms as oms;
/// Rings and cells over slices of atomics.
#[cfg(feature = "ring")]
pub use taut_ring as ring;
/// Runs a strategy fused or split, in processes of its own program.
#[cfg(feature = "runner")]
pub use taut_runner as runner;
/// Atomics (core or loom) and padding.
pub use taut_sync as sync;
/// System calls of Linux: clocks, sockets, memory, scheduling, processes.
#[cfg(feature = "sys")]
pub use taut_sys as sys;
/// Times, prices, quantities, sides, identities.
pub use taut_types as types;
/// The exchange: FIX order entry and SBE market data around the matching engine.
#[cfg(feature = "venue")]
pub use taut_venue as venue;
/// WebSocket, client and server, as a pure core; its driver is in [`net`].
#[cfg(feature = "ws")]
pub use taut_ws as ws;
/// ZeroMQ's wire protocol, as a pure core.
#[cfg(feature = "zmtp")]
pub use taut_zmtp as zmtp;

/// The names that a strategy, and a program that runs one, uses.
pub mod prelude {
    pub use taut_book::{LevelBook, OrderBook};
    #[cfg(feature = "channel")]
    pub use taut_channel::{
        ChannelUri, Closing, Opening, Publication, Subscription, WaitStrategy, Waiter,
    };
    #[cfg(feature = "gateway")]
    pub use taut_gateway::{
        Client, EventInfo, FusedClient, Gateway, GatewayConfig, GatewayEvent, Hub, MassQuoted,
        OpenOrder, OrderFilter, OrderUpdate, Position, Quote, Quotes, Refusal, State, Strategy,
        StrategyRunner, TickStamps, Trading, UpdateKind, VenueReject,
    };
    pub use taut_lat::{Stage, StageOffsets};
    #[cfg(feature = "market-data")]
    pub use taut_market_data::{BestPrices, Event, EventKind, FeedHandler, Soundness};
    #[cfg(feature = "runner")]
    pub use taut_runner::service::{Attach, StrategyFile};
    #[cfg(feature = "runner")]
    pub use taut_runner::{Mode, Outcome, Runner, RunnerError, Settings, Start};
    #[cfg(feature = "sys")]
    pub use taut_sys::{Clock, Wait};
    pub use taut_types::{
        AccountId, ClientOrderId, HalfTicks, Instrument, InstrumentId, Lots, Nanos, OrderFlags,
        OrderId, OrderTerms, OrderType, Price, Qty, SequenceNumber, Side, Symbol, TimeInForce,
    };
}

/// The code in the README and in the book compiles and runs.
#[cfg(all(doctest, feature = "full"))]
mod pages {
    #[doc = include_str!("../../../README.md")]
    pub struct Readme;
    #[doc = include_str!("../../../docs/strategy.md")]
    pub struct Strategy;
    #[doc = include_str!("../../../docs/backtest.md")]
    pub struct Backtest;
    #[doc = include_str!("../../../docs/gateway.md")]
    pub struct Gateway;
    #[doc = include_str!("../../../docs/runner.md")]
    pub struct Runner;
    #[doc = include_str!("../../../docs/replay.md")]
    pub struct Replay;
    #[doc = include_str!("../../../docs/outliers.md")]
    pub struct Outliers;
    #[doc = include_str!("../../../docs/channels.md")]
    pub struct Channels;
    #[doc = include_str!("../../../docs/shared-memory.md")]
    pub struct SharedMemory;
    #[doc = include_str!("../../../docs/journal.md")]
    pub struct OrderJournal;
    #[doc = include_str!("../../../docs/market-data.md")]
    pub struct MarketData;
    #[doc = include_str!("../../../docs/fix.md")]
    pub struct Fix;
    #[doc = include_str!("../../../docs/engine.md")]
    pub struct Engine;
    #[doc = include_str!("../../../docs/venue.md")]
    pub struct Venue;
    #[doc = include_str!("../../../docs/loop.md")]
    pub struct Loop;
}
