//! What a request asked for.

use taut_types::RequestId;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Authenticate,
    Heartbeat,
    CancelOnDisconnect,
    Subscribe,
    /// Nobody looks at its answer.
    Test,
    /// What time it is at the venue.
    Time,
    Place(RequestId),
    Edit(RequestId),
    Cancel(RequestId),
    CancelByLabel(RequestId),
    /// The end of all orders in an instrument. What became of each is told by `user.changes`.
    CancelAllOf,
    /// Where one order stands, by the venue's name of it.
    State(RequestId),
    /// The same by ours: the answer is a list.
    StateByLabel(RequestId),
    AllOpen,
    Positions,
}
