//! What a strategy is made from.

use serde::Deserialize;
use taut_types::{Instrument, Nanos};

/// What a strategy is made from, in the process where it runs.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Start<P> {
    /// The time.
    pub now: Nanos,
    /// What is traded.
    pub instrument: Instrument,
    /// The `[parameters]` of the settings.
    pub parameters: P,
}

/// No parameters: a key in `[parameters]` is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}
