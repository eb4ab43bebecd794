//! The life of an order as a table: state x event -> state.

/// Where an order is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum OrderState {
    /// On its way to the venue, not answered yet.
    Sent = 0,
    /// Acknowledged and working, wholly or with its rest.
    Working = 1,
    /// Working, with a cancel request under way.
    PendingCancel = 2,
    /// Done: nothing is left of it.
    Filled = 3,
    /// Done: cancelled at our request.
    Cancelled = 4,
    /// Done: the venue cancelled what did not trade (immediate-or-cancel, fill-or-kill).
    Expired = 5,
    /// Done: the venue refused it.
    Rejected = 6,
}

/// What happens to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderEvent {
    /// The venue took it.
    Accepted,
    /// The venue refused it.
    Rejected,
    /// A part of it traded.
    PartlyFilled,
    /// The last of it traded.
    Filled,
    /// We asked to cancel it.
    CancelSent,
    /// The venue cancelled it at our request.
    Cancelled,
    /// The venue refused to cancel it.
    CancelRejected,
    /// The venue cancelled it unasked.
    Expired,
}

impl OrderState {
    /// All states, in index order.
    pub const ALL: [Self; 7] = [
        Self::Sent,
        Self::Working,
        Self::PendingCancel,
        Self::Filled,
        Self::Cancelled,
        Self::Expired,
        Self::Rejected,
    ];

    /// The state after an event, or nothing when the venue must not say that in this state.
    ///
    /// | | accepted | rejected | part | filled | cancel sent | cancelled | refused | expired |
    /// |---|---|---|---|---|---|---|---|---|
    /// | sent | working | rejected | - | - | - | - | - | - |
    /// | working | - | - | working | filled | pending | - | - | expired |
    /// | pending cancel | - | - | pending | pending | - | cancelled | working | pending |
    ///
    /// An order that ends while its cancel is under way stays pending until the cancel is answered
    /// too: the venue then refuses it (too late), and [`OrderTable`](crate::OrderTable), which
    /// takes nothing else for it, knows by its quantities what the order came to.
    #[must_use]
    pub const fn after(self, event: OrderEvent) -> Option<Self> {
        use OrderEvent as E;
        use OrderState as S;
        Some(match (self, event) {
            (S::Sent, E::Accepted) => S::Working,
            (S::Sent, E::Rejected) => S::Rejected,
            (S::Working, E::PartlyFilled) => S::Working,
            (S::Working, E::Filled) => S::Filled,
            (S::Working, E::Expired) => S::Expired,
            (S::Working, E::CancelSent) => S::PendingCancel,
            (S::PendingCancel, E::PartlyFilled | E::Filled | E::Expired) => S::PendingCancel,
            (S::PendingCancel, E::Cancelled) => S::Cancelled,
            (S::PendingCancel, E::CancelRejected) => S::Working,
            _ => return None,
        })
    }

    /// Whether nothing more can happen to it.
    #[must_use]
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Filled | Self::Cancelled | Self::Expired | Self::Rejected)
    }

    /// The state with this index, if it is one.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        match index {
            0 => Some(Self::Sent),
            1 => Some(Self::Working),
            2 => Some(Self::PendingCancel),
            3 => Some(Self::Filled),
            4 => Some(Self::Cancelled),
            5 => Some(Self::Expired),
            6 => Some(Self::Rejected),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OrderEvent as E;
    use OrderState as S;

    #[test]
    fn every_pair_of_state_and_event_is_as_the_table_says() {
        const EVENTS: [E; 8] = [
            E::Accepted,
            E::Rejected,
            E::PartlyFilled,
            E::Filled,
            E::CancelSent,
            E::Cancelled,
            E::CancelRejected,
            E::Expired,
        ];
        const NO: Option<S> = None;
        let pending = Some(S::PendingCancel);
        let (working, filled, expired) = (Some(S::Working), Some(S::Filled), Some(S::Expired));
        let (rejected, cancelled) = (Some(S::Rejected), Some(S::Cancelled));
        let table = [
            (S::Sent, [working, rejected, NO, NO, NO, NO, NO, NO]),
            (S::Working, [NO, NO, working, filled, pending, NO, NO, expired]),
            (S::PendingCancel, [NO, NO, pending, pending, NO, cancelled, working, pending]),
            (S::Filled, [NO; 8]),
            (S::Cancelled, [NO; 8]),
            (S::Expired, [NO; 8]),
            (S::Rejected, [NO; 8]),
        ];
        for (state, row) in table {
            for (event, expected) in EVENTS.into_iter().zip(row) {
                assert_eq!(state.after(event), expected, "{state:?} {event:?}");
                assert!(!state.is_done() || expected.is_none());
            }
        }
    }

    #[test]
    fn the_index_round_trips() {
        for state in S::ALL {
            assert_eq!(S::from_index(state as u8), Some(state));
        }
        assert_eq!(S::from_index(7), None);
    }
}
