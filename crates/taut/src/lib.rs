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

/// Aeron's wire: reliable UDP, as a pure core.
pub use taut_aeron as aeron;
/// Order books: top of book, price levels, order queues.
pub use taut_book as book;
/// One publisher and one subscriber over any channel, chosen by a URI.
pub use taut_channel as channel;
/// The matching engine.
pub use taut_engine as engine;
/// FIX: codec and session.
pub use taut_fix as fix;
/// FIX over the loop: acceptors and initiators, settings in TOML, dictionaries, stores, signed
/// Logons.
pub use taut_fix_engine as fix_engine;
/// The gateway: feed, book, strategy, risk, order.
pub use taut_gateway as gateway;
/// The event loop: one thread, epoll, io_uring or a simulated kernel.
pub use taut_io as io;
/// Shared memory between processes: publications by name, and segments.
pub use taut_ipc as ipc;
/// Stages, histograms, percentiles.
pub use taut_lat as lat;
/// Leases: typed publish and subscribe over UDP.
pub use taut_lease as lease;
/// Venues' market data as normalized events: taut's own feed, Binance, CME; sequencing, recovery.
pub use taut_market_data as market_data;
/// Drivers on the loop: connecting by name, feeds, frames, files, TLS.
pub use taut_net as net;
/// Order life cycle and pre-trade risk.
pub use taut_oms as oms;
/// Rings and cells over slices of atomics.
pub use taut_ring as ring;
/// Runs a strategy fused or split, in processes of its own program.
pub use taut_runner as runner;
/// Atomics facade and padding.
pub use taut_sync as sync;
/// The Linux boundary.
pub use taut_sys as sys;
/// The nouns: time, prices, quantities, identities.
pub use taut_types as types;
/// The venue simulator.
pub use taut_venue as venue;
/// WebSocket, client and server, as a pure core; its driver is in [`net`].
pub use taut_ws as ws;
/// ZeroMQ's wire: sockets' conversations, as a pure core.
pub use taut_zmtp as zmtp;

/// What a strategy, and whoever runs one, needs.
pub mod prelude {
    pub use taut_book::{LevelBook, OrderBook};
    pub use taut_channel::{
        ChannelUri, Closing, Opening, Publication, Subscription, WaitStrategy, Waiter,
    };
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

/// The code in the README and in the book compiles and runs.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    pub struct Readme;
    #[doc = include_str!("../../../docs/strategy.md")]
    pub struct Strategy;
    #[doc = include_str!("../../../docs/channels.md")]
    pub struct Channels;
    #[doc = include_str!("../../../docs/shared-memory.md")]
    pub struct SharedMemory;
    #[doc = include_str!("../../../docs/market-data.md")]
    pub struct MarketData;
    #[doc = include_str!("../../../docs/fix.md")]
    pub struct Fix;
    #[doc = include_str!("../../../docs/engine.md")]
    pub struct Engine;
    #[doc = include_str!("../../../docs/loop.md")]
    pub struct Loop;
}
