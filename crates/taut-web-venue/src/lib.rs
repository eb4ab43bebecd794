//! Venues' web interfaces in front of the exchange of `taut-venue`: HTTP and WebSocket on one port,
//! JSON, accounts with keys and balances.
//!
//! A [`Door`] is an observer of a [`taut_venue::Venue`]: its connections are on the venue's loop,
//! its orders go to the venue's engines, and what FIX clients and the crowd do there is told to
//! its clients too. What it speaks is a [`Front`]: pure, requests and events in, texts and commands
//! out.
//!
//! - [`binance::Binance`]: REST, streams and WebSocket API of Binance's spot market, and the market
//!   data of its USD-margined futures.
//! - [`deribit::Deribit`]: JSON-RPC 2.0 as Deribit's API 2.1.1 describes it, over WebSocket and
//!   HTTP.
//!
//! This is no hot path: it allocates as it likes, and floats are used where JSON numbers are
//! written. Amounts are counted in whole lots and at 1e-9 of their currency.
#![forbid(unsafe_code)]

mod accounts;
pub mod binance;
mod book;
mod decimal;
pub mod deribit;
mod door;
mod faults;
mod fix;
mod front;
mod http;
mod inbox;
#[cfg(test)]
mod rig;

pub use accounts::{AccountSettings, KeySettings};
pub use binance::settings::{ApiKeySettings, BinanceAccountSettings, SymbolMarket, SymbolSettings};
pub use deribit::instruments::{Kind, MarketSettings, TickStep};
pub use door::{Door, DoorConfig};
pub use faults::{Faults, Faulty};
pub use front::{Denied, Front, HttpRequest, Listing, Output, Refusal};
