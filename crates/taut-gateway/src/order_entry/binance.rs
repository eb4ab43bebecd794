//! Binance's spot market, as binance-spot-api-docs has it: orders over the WebSocket API, or over
//! FIX with a session of the WebSocket API beside it, which is asked where orders stand.
//!
//! - **Session.** The venue's clock, `session.logon` with an Ed25519 key, the account's events, and
//!   the symbols' filters: only when each is answered the session is up. The clock is asked again
//!   with every heartbeat, by which a silent connection is noticed, too. Orders stay when the
//!   connection ends: the venue has no cancel on disconnect.
//! - **Time.** A request carries the venue's time, reckoned from the monotonic clock: a step of the
//!   machine's own clock moves nothing. The venue refuses what comes later than the window, which
//!   is therefore how long a request can still be executed.
//! - **Names.** The venue looks an order up by the client's name of it, and a replacement is
//!   another order with another name: that of the request that made it. Where something had traded
//!   before, the name says how much, so that totals are right after a restart, too.
//! - **Modifies.** One that makes an order smaller at its price is an amendment, which keeps the
//!   order's place. One of an order that has not traded is `order.cancelReplace`, only if it has
//!   not traded when it gets there. One of an order that has is a cancel, and when that is done and
//!   the last trade is known a new order for the rest: more than was asked for can never trade.
//! - **Answers and events** come in either order. A new order is accepted by whichever comes first;
//!   trades, ends by the order's own terms and cancels by others are told by events alone.
//! - **Errors.** What the venue surely did not do is refused. Of what nobody knows nothing is said:
//!   the order is asked about, and nothing is sent again. That there is no such order counts only
//!   when the window of its last request is over.
//! - **Limits.** An order that the symbol's filters refuse does not leave. No request leaves for
//!   which there is no weight, or no room among the orders of ten seconds and of a day; nothing
//!   leaves before the time that the venue names when a limit was reached. What other programs of
//!   the account or the address use is missing from what answers say is left.

mod answers;
mod asked;
mod budget;
mod fix;
mod known;
mod name;
mod reading;
mod session;
mod settings;
mod symbols;
mod trading;
mod way;
mod ws;

pub use fix::BinanceFix;
pub(crate) use fix::CopyReading;
pub use settings::BinanceOrderSettings;
pub use taut_order_entry::binance::SelfTrade;
pub use ws::BinanceWs;

#[cfg(test)]
mod tests;
