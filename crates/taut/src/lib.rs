//! taut: the tick-to-trade path as one library.
//!
//! Market data arrives, a book moves, a strategy decides, risk agrees, an order leaves, and every
//! hop is stamped. This crate re-exports the parts under the names of their fields; each module is
//! a crate of its own with its own documentation, and the [`prelude`] holds what a strategy needs.
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

/// Order books: top of book, price levels, order queues.
pub use taut_book as book;
/// Messages over any channel: shared memory, Aeron's wire, ZeroMQ's wire, leased UDP.
pub use taut_channel as channel;
/// The matching engine.
pub use taut_engine as engine;
/// Market-data sequencing and recovery.
pub use taut_feed as feed;
/// FIX: codec and session.
pub use taut_fix as fix;
/// FIX: how venues want a Logon to be signed.
pub use taut_fix_auth as fix_auth;
/// FIX: dictionaries in QuickFIX's format.
pub use taut_fix_dict as fix_dict;
/// FIX: acceptor and initiator on the loop, with settings in TOML.
pub use taut_fix_driver as fix_driver;
/// FIX: numbers and messages in files.
pub use taut_fix_store as fix_store;
/// The gateway: feed, book, strategy, risk, order.
pub use taut_gateway as gateway;
/// The event loop: one thread, epoll, io_uring or a simulated kernel.
pub use taut_io as io;
/// Shared-memory segments between processes.
pub use taut_ipc as ipc;
/// Stages, histograms, percentiles.
pub use taut_lat as lat;
/// Venues' market data as normalized events, and the books that they make.
pub use taut_market_data as market_data;
/// Drivers on the loop: connecting by name, feeds, frames, files, TLS.
pub use taut_net as net;
/// Order life cycle and pre-trade risk.
pub use taut_oms as oms;
/// Rings and cells over slices of atomics.
pub use taut_ring as ring;
/// SBE: the market-data feed's messages.
pub use taut_sbe as sbe;
/// Atomics facade and padding.
pub use taut_sync as sync;
/// The Linux boundary.
pub use taut_sys as sys;
/// The nouns: time, prices, quantities, identities.
pub use taut_types as types;
/// The venue simulator.
pub use taut_venue as venue;

/// What a strategy, and whoever runs one, needs.
pub mod prelude {
    pub use taut_book::{LevelBook, OrderBook};
    pub use taut_engine::{Command, Engine, EngineConfig, Event};
    pub use taut_gateway::{
        Client, FusedClient, Gateway, GatewayConfig, MarketEvent, NewOrder, OrderEntry,
        OrderUpdate, SplitClient, Strategy, StrategyRunner, TickStamps, TopEvent, UpdateKind,
    };
    pub use taut_lat::{Stage, StageOffsets};
    pub use taut_sys::{Clock, Wait};
    pub use taut_types::{
        ClientOrderId, HalfTicks, Instrument, InstrumentId, Lots, Nanos, OrderId, OrderType, Price,
        Qty, SequenceNumber, Side, Symbol, TimeInForce,
    };
}

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct ReadmeDoctests;
