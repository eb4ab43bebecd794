//! Execution reports of FIX 4.2, 4.4 and 5.0 SP2 as events of an order's life.

use taut_fix::{ExecTransType, ExecType, ExecutionReport, OrdStatus};
use taut_oms::{OrderEvent, OrderState};

/// OrdRejReason (103): the order that a question named is unknown.
const UNKNOWN_ORDER: u32 = 5;

/// What a report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// What happened; nothing when it is no event of an order's life.
    pub event: Option<OrderEvent>,
    /// Where the order stands, says the venue.
    pub told: Option<OrderState>,
    /// Whether a code of it has no meaning in any version.
    pub is_strange: bool,
}

/// Where an order with this OrdStatus (39) stands; nothing for a code that no version has.
#[must_use]
pub const fn state_of(status: OrdStatus) -> Option<OrderState> {
    Some(match status {
        OrdStatus::New
        | OrdStatus::PartiallyFilled
        | OrdStatus::Replaced
        | OrdStatus::PendingCancel
        | OrdStatus::PendingReplace
        | OrdStatus::AcceptedForBidding => OrderState::Working,
        OrdStatus::Filled => OrderState::Filled,
        OrdStatus::DoneForDay | OrdStatus::Calculated => OrderState::DoneForDay,
        OrdStatus::Canceled => OrderState::Cancelled,
        OrdStatus::Stopped => OrderState::Stopped,
        OrdStatus::Rejected => OrderState::Rejected,
        OrdStatus::Suspended => OrderState::Suspended,
        OrdStatus::PendingNew => OrderState::PendingNew,
        OrdStatus::Expired => OrderState::Expired,
        _ => return None,
    })
}

/// | ExecType (150) | event |
/// |---|---|
/// | 0 New | accepted |
/// | 1 PartialFill, 2 Fill, F Trade | traded |
/// | 3 DoneForDay, B Calculated | done for day |
/// | 4 Canceled | cancelled |
/// | 5 Replaced | replaced |
/// | 6 PendingCancel, E PendingReplace | pending change |
/// | 7 Stopped, 9 Suspended, C Expired, D Restated, A PendingNew, 8 Rejected | as they say |
/// | G TradeCorrect, H TradeCancel | trade corrected, trade cancelled |
/// | I OrderStatus, and one without a meaning | the status that OrdStatus (39) says |
/// | J, K (clearing) | none: the trade is told by a report of its own |
/// | L Triggered | restated |
///
/// Up to FIX 4.2 ExecTransType (20) comes first: Cancel and Correct of a trade, and Status. A
/// refusal because the order is unknown says that there is none.
#[must_use]
pub fn meaning(report: &ExecutionReport<'_>) -> Meaning {
    use ExecType as X;
    use OrderEvent as E;
    let told = state_of(report.ord_status);
    let is_rejected = matches!(report.exec_type, X::Rejected)
        || matches!((report.exec_type, told), (X::OrderStatus, Some(OrderState::Rejected)))
        || matches!(
            (report.exec_trans_type, told),
            (Some(ExecTransType::Status), Some(OrderState::Rejected))
        );
    let status = told.map(E::Status);
    let event = match (report.exec_trans_type, report.exec_type) {
        _ if is_rejected && report.ord_rej_reason == Some(UNKNOWN_ORDER) => Some(E::NotFound),
        (Some(ExecTransType::Cancel), _) => Some(E::TradeCancelled),
        (Some(ExecTransType::Correct), _) => Some(E::TradeCorrected),
        (Some(ExecTransType::Status), _) => status,
        (_, X::New) => Some(E::Accepted),
        (_, X::PartialFill | X::Fill | X::Trade) => Some(E::Traded),
        (_, X::DoneForDay | X::Calculated) => Some(E::DoneForDay),
        (_, X::Canceled) => Some(E::Cancelled),
        (_, X::Replaced) => Some(E::Replaced),
        (_, X::PendingCancel | X::PendingReplace) => Some(E::PendingChange),
        (_, X::Stopped) => Some(E::Stopped),
        (_, X::Rejected) => Some(E::Rejected),
        (_, X::Suspended) => Some(E::Suspended),
        (_, X::PendingNew) => Some(E::PendingNew),
        (_, X::Expired) => Some(E::Expired),
        (_, X::Restated | X::Triggered) => Some(E::Restated),
        (_, X::TradeCorrect) => Some(E::TradeCorrected),
        (_, X::TradeCancel) => Some(E::TradeCancelled),
        (_, X::TradeInClearingHold | X::TradeReleasedToClearing) => None,
        _ => status,
    };
    let is_strange = matches!(report.exec_type, X::Other(_)) || told.is_none();
    Meaning { event, told, is_strange }
}

#[cfg(test)]
mod tests;
