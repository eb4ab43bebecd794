//! What a core wants sent.

use crate::destinations::Target;

/// The front of the caller's buffer is a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Its length.
    pub bytes: usize,
    /// Where it goes.
    pub to: Target,
}
