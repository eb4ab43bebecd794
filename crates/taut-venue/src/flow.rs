//! Order flows: where the venue's orders come from when nobody trades.
//!
//! [`SyntheticFlow`] makes a deterministic market out of a seed; [`LobsterFlow`] is a recorded one.
//! Both give the orders that rest before the start and then commands, know no clock, and leave the
//! engine to the venue.

mod random;
mod synthetic;
#[cfg(test)]
mod tests;

pub use random::SplitMix64;
pub use synthetic::{SyntheticConfig, SyntheticFlow, Top};
pub use taut_recording::lobster::{FlowEvent, LobsterFlow, LobsterSummary};
