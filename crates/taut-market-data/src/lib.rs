//! Venues' market data: their messages as normalized events, and the books that these make.
//!
//! A decoder takes the bytes of one message and the time at which they came, and hands what they
//! say to a [`MarketSink`]: levels, orders, trades and trading states, each an [`Event`] with its
//! instrument and its times, beside how the venue names and numbers the message ([`Context`]). It
//! is the language that books, gateways, strategies and recorders share. What is malformed is an
//! error that names the byte, and then nothing of the message is handed over. Nothing here panics
//! on any input, allocates once it is built, or takes a price for a float.
//!
//! - [`binance::BinanceJson`]: the JSON streams of spot and USD-margined futures, read by a pull
//!   scanner, and [`binance::decode_stream`], the SBE ones; [`binance::DepthBook`] keeps a book by
//!   Binance's rules and says when it is stale.
//! - [`deribit::DeribitJson`]: Deribit's JSON-RPC notifications, and [`okx::OkxJson`]: OKX's;
//!   [`ChainedFeed`] keeps many books whose changes name what they follow.
//! - [`mdp3::decode_packet`]: CME's MDP 3.0, by price and by order; [`mdp3::PlacedBook`] keeps a
//!   book by places, and heals by natural refresh.
//! - [`native`]: taut's own feed.
//!
//! A [`FeedHandler`] is all of a venue's market data: frames of numbered sources go in, books and
//! events come out, and so does what has to be asked for. [`native::NativeFeed`],
//! [`binance::BinanceFeed`] and [`deribit::DeribitFeed`] are some, and [`AnyFeed`] is any but the
//! first. Below the first, [`feed`] has
//! two lines, gaps, retransmission and snapshots, for any feed of numbered packets.
//!
//! The layouts of SBE messages stand in `schema/*.xml`; the build script generates their codecs
//! from there, over the runtime in `taut-sbe`.
//!
//! ```
//! use taut_market_data::binance::{BinanceJson, FrameKind};
//! use taut_market_data::{Context, Event, EventKind};
//! use taut_types::{Nanos, Price};
//!
//! let frame = br#"{"u":7,"s":"BTCUSDT","b":"25.35","B":"31.2","a":"25.36","A":"40.6"}"#;
//! let mut best = None;
//! let mut sink = |_: &Context<'_>, event: &Event| {
//!     if let EventKind::Top(top) = event.kind {
//!         best = top.bid.map(|(price, _)| price);
//!     }
//! };
//! let kind = BinanceJson::default().decode(Nanos(1), frame, &mut sink)?;
//! assert_eq!(kind, FrameKind::BookTicker);
//! assert_eq!(best, Price::parse(b"25.35").ok());
//! # Ok::<(), taut_market_data::MarketDataError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod amount;
mod any;
pub mod binance;
mod chained;
pub mod deribit;
mod error;
mod event;
pub mod feed;
mod handler;
mod instruments;
pub mod mdp3;
mod names;
pub mod native;
pub mod okx;
mod scale;
pub mod scan;
mod statistics;
mod words;

pub use any::{AnyFeed, AnyFrame};
pub use chained::{
    ChainConfig, ChainCounters, ChainedBooks, ChainedDecoder, ChainedFeed, ChainedFrame,
    NamedInstrument,
};
pub use error::{Expected, MarketDataError};
pub use event::{
    Batch, BestPrices, BookOrder, Context, Event, EventKind, Figure, InstrumentKey, LevelPlace,
    LevelUpdate, MarketSink, ReduceReason, SequenceRange, Soundness, Staleness, Statistic, Trade,
    TradingStatus,
};
pub use handler::{FeedCounters, FeedHandler, FeedRequest, FollowError, LineCount, Source};
pub use instruments::Instruments;
pub use statistics::SessionStatistics;
pub use words::EVENT_WORDS;
