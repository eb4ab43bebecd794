//! Order life cycle and pre-trade risk.
//!
//! Pure and fixed in size: requests, reports and `now` go in, verdicts and updates come out. The
//! life cycle is a table ([`OrderState::after`]); the [`OrderTable`] holds every order by its
//! client id and counts each answer once; [`RecentIds`] tells an answer that is sent again from a
//! new one; [`Risk`] says yes or no before an order leaves.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod amount;
mod filter;
mod kill;
mod position;
mod recent;
pub mod risk;
mod single_risk;
mod state;
mod table;
mod throttle;

pub use amount::Amount;
pub use filter::OrderFilter;
pub use kill::{KillCause, KillScope, KillSwitch, Latched, ScopeKind};
pub use position::{Position, PositionError, PositionKey, PositionReport, Positions, Trade};
pub use recent::RecentIds;
pub use single_risk::{Reference, Risk, RiskLimits, RiskReject};
pub use state::{OrderEvent, OrderState};
pub use table::{Answers, Order, OrderTable, TableError};
pub use throttle::{Rate, Throttle};
