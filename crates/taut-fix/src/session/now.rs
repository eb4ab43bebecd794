//! The two clocks that a session is told with every call, and the two sides.

use taut_types::Nanos;

/// The time, on both clocks that a session needs: it reads none itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic: intervals and deadlines.
    pub mono: Nanos,
    /// UTC: SendingTime (52).
    pub utc: Nanos,
}

/// Which side of the connection it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Connects and logs on first.
    Initiator,
    /// Waits for a Logon and answers it.
    Acceptor,
}
