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
//! two books by one number. The feature `oracle` makes the simple reference books in `oracle`
//! public.
//!
//! ```
//! use taut_book::{BookError, LevelBook, Order, OrderBook};
//! use taut_types::{HalfTicks, Lots, OrderId, Price, Side};
//!
//! // By price: what the feed says of a level replaces what was known of it.
//! let mut levels = LevelBook::with_capacity(64);
//! for (units, lots) in [(100, 7), (99, 3), (100, 5)] {
//!     levels.apply(Side::Buy, Price(units * Price::SCALE), Lots(lots), 1)?;
//! }
//! let bids: Vec<_> = levels.iter(Side::Buy).map(|level| level.lots.0).collect();
//! assert_eq!(bids, [5, 3], "from the best on");
//!
//! // By order: the oldest at the best price goes first.
//! let mut orders = OrderBook::with_capacity(2, 2);
//! let order = |id, lots| Order {
//!     id: OrderId(id), owner: 1, side: Side::Sell, price: HalfTicks(202), lots: Lots(lots),
//! };
//! orders.add(order(1, 4))?;
//! orders.add(order(2, 6))?;
//! assert!(matches!(orders.add(order(3, 1)), Err(BookError::Limit(_))), "it does not grow");
//! let taken = orders.take_best(Side::Sell, Lots(10)).expect("an order");
//! assert_eq!((taken.order.id, taken.lots), (OrderId(1), Lots(4)));
//! # Ok::<(), BookError>(())
//! ```
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
