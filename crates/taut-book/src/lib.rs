//! Order books: top of book, price levels and order queues.
//!
//! Two books, for the two kinds of market data and for the engine:
//!
//! - [`LevelBook`] is *market by price*: a feed says "this price now holds so many lots" and the
//!   book answers with the depth at which that happened. Prices are interchange [`Price`]s.
//! - [`OrderBook`] is *market by order*: every order stands in the queue of its price, oldest
//!   first. The matching engine lives on it, and a consumer of an order-level feed rebuilds it.
//!   Prices are [`HalfTicks`] of one instrument.
//!
//! Both reserve all their memory when they are built and answer [`BookError::Limit`] when it is
//! used up; a refused call leaves the book as it was. Neither cares whether bids and offers cross:
//! a feed may show a crossed book, and keeping it uncrossed is the engine's business.
//!
//! `state_hash` (FNV-1a over everything in priority order) lets replicas, replays and tests compare
//! two books by one number. With the feature `oracle` the slow twins in `oracle` are public.
//!
//! [`Price`]: taut_types::Price
//! [`HalfTicks`]: taut_types::HalfTicks
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod bitmap;
mod error;
mod fnv;
mod id_index;
mod ladder;
mod level;
mod level_book;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod order;
mod order_book;
mod pool;
mod side_levels;
#[cfg(test)]
mod tests;

pub use error::{BookError, BookLimit};
pub use fnv::Fnv1a;
pub use level::{Level, LevelAction, LevelChange, TopOfBook};
pub use level_book::LevelBook;
pub use order::{Handle, Order, Placement, Removal, Taken};
pub use order_book::OrderBook;
