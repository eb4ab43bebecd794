//! Order flows: where the venue's orders come from when nobody trades.
//!
//! [`SyntheticFlow`] makes a deterministic market out of a seed; [`LobsterFlow`] reads a recorded
//! one. Both give the orders that rest before the start and then commands in engine units, know no
//! clock, and leave the engine to the venue.

mod align;
mod command;
mod lobster;
mod random;
mod synthetic;
#[cfg(test)]
mod tests;

pub use align::{EDITS_MAX, Gap, align};
pub use command::{FlowCommand, InitialOrder};
pub use lobster::{FlowEvent, LobsterError, LobsterFlow, LobsterSummary, TimedEvent};
pub use random::SplitMix64;
pub use synthetic::{SyntheticConfig, SyntheticFlow, Top};
