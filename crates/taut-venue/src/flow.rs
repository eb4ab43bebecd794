//! Order flows: where the venue's orders come from when nobody trades.
//!
//! [`SyntheticFlow`] makes a deterministic market out of a seed, [`Crowd`] one for each of many
//! instruments; [`LobsterFlow`] and [`BinanceFlow`] are recorded ones, [`ReplayFlow`] is the levels
//! of any recording, [`MirrorFlow`] is one that goes on elsewhere. All give the orders that rest
//! before the start and then commands, know no clock, and leave the engine to the venue.

mod binance;
mod crowd;
mod market;
mod mirror;
mod random;
mod replay;
mod step;
mod synthetic;
mod tape;
#[cfg(test)]
mod tests;

pub use binance::BinanceFlow;
pub use crowd::Crowd;
pub use mirror::{MirrorFlow, MirrorUpdate};
pub use random::SplitMix64;
pub use replay::ReplayFlow;
pub use replay::format::ReplayFormat;
pub use replay::head::ReplayHead;
pub(crate) use step::FlowStep;
pub use synthetic::{SyntheticConfig, SyntheticFlow, Top};
pub use taut_recording::FileError;
pub use taut_recording::lobster::{FlowEvent, LobsterFlow, LobsterSummary};
