//! CME's MDP 3.0: packets of SBE messages.
//!
//! A packet is its number (u32), its sending time (u64) and then messages, each behind its size
//! (u16, with itself). Read are the books by price (46, snapshot 52) and by order (46, 47, snapshot
//! 53), trades (48), statistics of the session and the day (37, 49, 51), trading states (30) and
//! resets (4); other templates are left out by their size. Implied prices are another book, which
//! is not kept: their entries are left out.

mod book;
mod codec;
mod origin;
mod packet;
mod statistics;

pub use book::{Cell, PLACES_MAX, PlacedBook};
pub use origin::LOT_DECIMALS;
pub use packet::{Head, decode_packet};
