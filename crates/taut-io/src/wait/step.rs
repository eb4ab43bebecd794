//! What a strategy decides.

use taut_types::Nanos;

/// How the next look is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Without waiting.
    Again,
    /// Waiting for at most this long.
    Sleep(Nanos),
    /// Waiting for as long as it takes.
    Block,
}
