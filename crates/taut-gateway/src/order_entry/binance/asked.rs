//! What a request asked for.

use taut_types::{InstrumentId, Nanos, RequestId};

use super::reading::unversioned;
use super::session::SessionStep;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Session(SessionStep),
    Place(RequestId),
    /// The rest of an order.
    Leg(RequestId),
    Replace(RequestId),
    Amend(RequestId),
    Cancel(RequestId),
    /// The end of an order whose rest follows.
    MakeWay(RequestId),
    Status(Question),
    OpenOrders,
}

impl Asked {
    /// The order that it is about.
    pub(super) const fn order(self) -> Option<RequestId> {
        match self {
            Self::Place(request)
            | Self::Leg(request)
            | Self::Replace(request)
            | Self::Amend(request)
            | Self::Cancel(request)
            | Self::MakeWay(request) => Some(unversioned(request.order)),
            Self::Status(question) => Some(unversioned(question.request.order)),
            Self::Session(_) | Self::OpenOrders => None,
        }
    }
}

/// A question about an order, by the name that one of its requests gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// From this time on.
    pub(super) at: Nanos,
    /// What the gateway wants to know.
    pub(super) request: RequestId,
    pub(super) instrument: InstrumentId,
    /// How many names, from the newest, the venue does not know.
    pub(super) unknown: u8,
    /// What had traded before the one that was asked for: the answer may come when another one has
    /// taken its place.
    pub(super) before: i64,
    /// The request that made the one that was asked for.
    pub(super) version: u16,
}
