//! Order life cycle, pre-trade risk, kill switch, positions and profit.
//!
//! Pure and fixed in size: requests, reports and `now` go in, verdicts and changes come out. The
//! life cycle is a table ([`OrderState::after`]) with a row for everything that a venue can say;
//! the [`OrderTable`] holds every order by its client id, applies [`Report`]s by their quantities
//! and counts each answer once; [`Fill`]s are the truth about positions; what cannot be is kept in
//! the [`Quarantine`]. [`Risk`] says yes or no before an order leaves, and holds the
//! [`KillSwitch`]; [`Positions`] say what every account and strategy has, and what it earned.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod amount;
mod answers;
mod balance;
mod exec_id;
mod executions;
mod filter;
mod hash_index;
mod kill;
mod life;
mod links;
mod order;
mod owner;
mod position;
mod quarantine;
mod report;
mod risk;
mod state;
mod table;
mod throttle;
mod traded;
mod venue_reject;

pub use amount::Amount;
pub use answers::Answers;
pub use balance::{Balance, Balances, Settlement};
pub use exec_id::ExecId;
pub use filter::OrderFilter;
pub use kill::{KillCause, KillScope, KillSwitch, Latched, ScopeKind};
pub use order::{Order, Pending, REQUESTS_MAX};
pub use owner::Owner;
pub use position::{Position, PositionError, PositionKey, PositionReport, Positions, Trade};
pub use quarantine::{Quarantine, Quarantined, Trouble};
pub use report::{Answered, Change, Fill, Report, RequestKind};
pub use risk::{
    AccountLimits, AccountUsage, InstrumentStatus, LimitsError, MessageKind, MessageRates,
    MessagesLeft, MessagesOf, Modify, OrderLimits, OtherLimits, Permit, RateWarning, Reference,
    Risk, RiskInstrument, RiskLimits, RiskReject, RiskSizes, SelfMatch, UniformLimits, UserLimits,
    best_own, crosses,
};
pub use state::{OrderEvent, OrderState, Verdict};
pub use table::{OrderTable, Overdue, TableError};
pub use throttle::{Rate, Throttle};
pub use traded::Traded;
pub use venue_reject::VenueReject;
