//! Order life cycle, pre-trade risk, kill switch, positions and profit.
//!
//! Pure and fixed in size: requests, reports and `now` go in, verdicts and updates come out. The
//! life cycle is a table ([`OrderState::after`]); the [`OrderTable`] holds every order by its
//! client id and counts each answer once; [`RecentIds`] tells an answer that is sent again from a
//! new one; [`Risk`] says yes or no before an order leaves, and holds the [`KillSwitch`];
//! [`Positions`] say what every account and strategy has, and what it earned.
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
mod risk;
mod state;
mod table;
mod throttle;

pub use amount::Amount;
pub use filter::OrderFilter;
pub use kill::{KillCause, KillScope, KillSwitch, Latched, ScopeKind};
pub use position::{Position, PositionError, PositionKey, PositionReport, Positions, Trade};
pub use recent::RecentIds;
pub use risk::{
    AccountLimits, InstrumentStatus, LimitsError, MessageRates, Modify, OrderLimits, Permit,
    Reference, Risk, RiskInstrument, RiskLimits, RiskReject, RiskSizes, SelfMatch, UniformLimits,
    best_own, crosses,
};
pub use state::{OrderEvent, OrderState};
pub use table::{Answers, Order, OrderTable, TableError};
pub use throttle::{Rate, Throttle};
