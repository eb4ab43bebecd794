//! The life of an order as a table: state x event -> next state, and what to make of it.

/// Where an order is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum OrderState {
    /// On its way to the venue, not answered yet.
    Sent = 0,
    /// The venue has it and has not accepted it yet.
    PendingNew = 1,
    /// Accepted and working, wholly or with its rest.
    Working = 2,
    /// The venue has taken it out of the market for a while.
    Suspended = 3,
    /// A price is guaranteed to it; its trade is to come.
    Stopped = 4,
    /// Nobody here knows: the connection broke, or the venue does not answer. It may trade. It is
    /// never sent again; the venue's word settles it.
    Unknown = 5,
    /// Done: nothing is left of it.
    Filled = 6,
    /// Done: cancelled, at our request or unasked.
    Cancelled = 7,
    /// Done: the venue cancelled what did not trade (immediate-or-cancel, fill-or-kill, its time).
    Expired = 8,
    /// Done: the venue refused it, or it never arrived.
    Rejected = 9,
    /// Done for today: what may come again tomorrow is told by a report.
    DoneForDay = 10,
}

/// What happens to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderEvent {
    /// The venue has it and thinks about it.
    PendingNew,
    /// The venue took it.
    Accepted,
    /// The venue refused it.
    Rejected,
    /// Some of it traded.
    Traded,
    /// A trade of it is void.
    TradeCancelled,
    /// A trade of it was another.
    TradeCorrected,
    /// It has the price and the quantity of a request now.
    Replaced,
    /// A cancel or a replacement is being looked at.
    PendingChange,
    /// It is cancelled.
    Cancelled,
    /// What is left of it is cancelled by its own terms.
    Expired,
    /// Its day is over.
    DoneForDay,
    /// It is taken out of the market for a while.
    Suspended,
    /// A price is guaranteed to it.
    Stopped,
    /// The venue changed it by itself.
    Restated,
    /// A cancel or a replacement is refused.
    ChangeRefused,
    /// The venue's answer to the question where it stands.
    Status(OrderState),
    /// No answer came, or none can come any more: the connection is gone.
    Lost,
    /// Asked for it, the venue knows no such order.
    NotFound,
    /// Asked for it after it was done here, the venue says that it is open.
    Reopened,
}

/// What to make of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It belongs here.
    Plain,
    /// It says nothing new: it comes late, or again.
    Old,
    /// It cannot be: what the venue says is followed, and somebody should look at it.
    Odd,
}

impl OrderEvent {
    /// All events, each status once.
    pub const ALL: [Self; 29] = [
        Self::PendingNew,
        Self::Accepted,
        Self::Rejected,
        Self::Traded,
        Self::TradeCancelled,
        Self::TradeCorrected,
        Self::Replaced,
        Self::PendingChange,
        Self::Cancelled,
        Self::Expired,
        Self::DoneForDay,
        Self::Suspended,
        Self::Stopped,
        Self::Restated,
        Self::ChangeRefused,
        Self::Lost,
        Self::NotFound,
        Self::Reopened,
        Self::Status(OrderState::Sent),
        Self::Status(OrderState::PendingNew),
        Self::Status(OrderState::Working),
        Self::Status(OrderState::Suspended),
        Self::Status(OrderState::Stopped),
        Self::Status(OrderState::Unknown),
        Self::Status(OrderState::Filled),
        Self::Status(OrderState::Cancelled),
        Self::Status(OrderState::Expired),
        Self::Status(OrderState::Rejected),
        Self::Status(OrderState::DoneForDay),
    ];
}

impl OrderState {
    /// All states, in index order.
    pub const ALL: [Self; 11] = [
        Self::Sent,
        Self::PendingNew,
        Self::Working,
        Self::Suspended,
        Self::Stopped,
        Self::Unknown,
        Self::Filled,
        Self::Cancelled,
        Self::Expired,
        Self::Rejected,
        Self::DoneForDay,
    ];

    /// The state after an event, and what to make of it. There is a row for everything: whatever a
    /// venue says, in whatever order, has an outcome.
    ///
    /// `.` stays, `-` stays and is old, `!` is odd; letters are the state's first one or two.
    ///
    /// | | S | PN | W | Su | St | U | F | C | E | R | D |
    /// |---|---|---|---|---|---|---|---|---|---|---|---|
    /// | pending new | PN | - | - | - | - | PN | - | - | - | - | - |
    /// | accepted | W | W | - | W | W | W | - | - | - | !U | W |
    /// | rejected | R | R | R | R | R | R | ! | ! | ! | - | ! |
    /// | traded | W | W | . | . | . | W | . | . | . | !U | . |
    /// | trade cancelled, corrected | W | W | . | . | . | W | . | . | . | !U | . |
    /// | replaced | W | W | . | . | . | W | W | ! | ! | ! | . |
    /// | pending change | W | W | - | - | - | W | - | - | - | - | - |
    /// | cancelled | C | C | C | C | C | C | ! | - | - | - | C |
    /// | expired | E | E | E | E | E | E | ! | - | - | - | E |
    /// | done for day | D | D | D | D | D | D | - | - | - | - | - |
    /// | suspended | Su | Su | Su | - | Su | Su | - | - | - | - | - |
    /// | stopped | St | St | St | St | - | St | - | - | - | - | - |
    /// | restated | W | W | . | . | . | W | - | - | - | - | W |
    /// | change refused | . | . | . | . | . | . | . | . | . | . | . |
    /// | lost | U | U | U | U | U | - | - | - | - | - | - |
    /// | not found | R | R | !C | !C | !C | R | - | - | - | - | - |
    /// | reopened | W | W | . | . | . | W | !W | !W | !W | !W | W |
    ///
    /// The answer to a question is followed while the order is open. One that is done stays as it
    /// is, as the answer may be older, but that a trade is always followed, and the next day too.
    /// An answer that cannot be older, as the question is younger than the end, reopens it.
    #[must_use]
    pub const fn after(self, event: OrderEvent) -> (Self, Verdict) {
        use OrderEvent as E;
        use OrderState as S;
        use Verdict::{Odd, Old, Plain};
        let unanswered = matches!(self, S::Sent | S::PendingNew | S::Unknown);
        match event {
            E::PendingNew => match self {
                S::Sent | S::Unknown => (S::PendingNew, Plain),
                _ => (self, Old),
            },
            E::Accepted => match self {
                S::Working | S::Filled | S::Cancelled | S::Expired => (self, Old),
                S::Rejected => (S::Unknown, Odd),
                _ => (S::Working, Plain),
            },
            E::Rejected => match self {
                S::Rejected => (self, Old),
                S::Filled | S::Cancelled | S::Expired | S::DoneForDay => (self, Odd),
                _ => (S::Rejected, Plain),
            },
            E::Traded | E::TradeCancelled | E::TradeCorrected => match self {
                S::Rejected => (S::Unknown, Odd),
                _ if unanswered => (S::Working, Plain),
                _ => (self, Plain),
            },
            E::Replaced => match self {
                S::Cancelled | S::Expired | S::Rejected => (self, Odd),
                S::Filled => (S::Working, Plain),
                _ if unanswered => (S::Working, Plain),
                _ => (self, Plain),
            },
            E::PendingChange if unanswered => (S::Working, Plain),
            E::PendingChange => (self, Old),
            E::Cancelled | E::Expired => match self {
                S::Filled => (self, Odd),
                S::Cancelled | S::Expired | S::Rejected => (self, Old),
                _ if matches!(event, E::Cancelled) => (S::Cancelled, Plain),
                _ => (S::Expired, Plain),
            },
            E::DoneForDay if !self.is_done() => (S::DoneForDay, Plain),
            E::Suspended if !self.is_done() && !matches!(self, S::Suspended) => {
                (S::Suspended, Plain)
            }
            E::Stopped if !self.is_done() && !matches!(self, S::Stopped) => (S::Stopped, Plain),
            E::DoneForDay | E::Suspended | E::Stopped => (self, Old),
            E::Restated => match self {
                S::Filled | S::Cancelled | S::Expired | S::Rejected => (self, Old),
                S::DoneForDay => (S::Working, Plain),
                _ if unanswered => (S::Working, Plain),
                _ => (self, Plain),
            },
            E::ChangeRefused => (self, Plain),
            E::Status(told) => self.after_status(told),
            E::Lost => match self {
                S::Unknown => (self, Old),
                _ if self.is_done() => (self, Old),
                _ => (S::Unknown, Plain),
            },
            E::Reopened => match self {
                S::DoneForDay => (S::Working, Plain),
                _ if unanswered => (S::Working, Plain),
                _ if self.is_done() => (S::Working, Odd),
                _ => (self, Plain),
            },
            E::NotFound => match self {
                _ if unanswered => (S::Rejected, Plain),
                _ if self.is_done() => (self, Old),
                _ => (S::Cancelled, Odd),
            },
        }
    }

    const fn after_status(self, told: Self) -> (Self, Verdict) {
        use OrderState as S;
        match (self, told) {
            // Nobody can be told these: they are ours.
            (_, S::Sent | S::Unknown) => (self, Verdict::Old),
            (S::Rejected, S::Rejected) => (self, Verdict::Old),
            (S::Rejected, _) => (told, Verdict::Odd),
            (S::Cancelled | S::Expired | S::DoneForDay, S::Filled) => (told, Verdict::Plain),
            (S::DoneForDay, _) => (told, Verdict::Plain),
            (S::Filled | S::Cancelled | S::Expired, _) => (self, Verdict::Old),
            _ => (told, Verdict::Plain),
        }
    }

    /// Whether nothing more is expected to happen to it.
    #[must_use]
    pub const fn is_done(self) -> bool {
        matches!(
            self,
            Self::Filled | Self::Cancelled | Self::Expired | Self::Rejected | Self::DoneForDay
        )
    }

    /// The state with this index, if it is one.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        if index < 11 { Some(Self::ALL[index as usize]) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    /// The table of the documentation, row by row.
    const ROWS: [(&str, &[OrderEvent]); 17] = [
        ("PN - - - - PN - - - - -", &[OrderEvent::PendingNew]),
        ("W W - W W W - - - !U W", &[OrderEvent::Accepted]),
        ("R R R R R R ! ! ! - !", &[OrderEvent::Rejected]),
        ("W W . . . W . . . !U .", &[OrderEvent::Traded]),
        ("W W . . . W . . . !U .", &[OrderEvent::TradeCancelled, OrderEvent::TradeCorrected]),
        ("W W . . . W W ! ! ! .", &[OrderEvent::Replaced]),
        ("W W - - - W - - - - -", &[OrderEvent::PendingChange]),
        ("C C C C C C ! - - - C", &[OrderEvent::Cancelled]),
        ("E E E E E E ! - - - E", &[OrderEvent::Expired]),
        ("D D D D D D - - - - -", &[OrderEvent::DoneForDay]),
        ("Su Su Su - Su Su - - - - -", &[OrderEvent::Suspended]),
        ("St St St St - St - - - - -", &[OrderEvent::Stopped]),
        ("W W . . . W - - - - W", &[OrderEvent::Restated]),
        (". . . . . . . . . . .", &[OrderEvent::ChangeRefused]),
        ("U U U U U - - - - - -", &[OrderEvent::Lost]),
        ("R R !C !C !C R - - - - -", &[OrderEvent::NotFound]),
        ("W W . . . W !W !W !W !W W", &[OrderEvent::Reopened]),
    ];

    fn letters(state: OrderState) -> &'static str {
        ["S", "PN", "W", "Su", "St", "U", "F", "C", "E", "R", "D"][state as usize]
    }

    #[test]
    fn every_pair_of_state_and_event_is_as_the_table_says() {
        let mut seen = 0;
        for (row, events) in ROWS {
            for event in events {
                for (state, cell) in OrderState::ALL.into_iter().zip(row.split(' ')) {
                    let (next, verdict) = state.after(*event);
                    let mut shown = String::new();
                    match (verdict, next == state) {
                        (Verdict::Plain, true) => shown.push('.'),
                        (Verdict::Old, true) => shown.push('-'),
                        (Verdict::Odd, _) => shown.push('!'),
                        (_, false) => {}
                    }
                    if next != state {
                        shown.push_str(letters(next));
                    }
                    assert_eq!(shown, cell, "{state:?} {event:?}");
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, (OrderEvent::ALL.len() - OrderState::ALL.len()) * OrderState::ALL.len());
    }

    #[test]
    fn an_answer_is_followed_while_the_order_is_open_and_never_revives_one_that_is_done() {
        for state in OrderState::ALL {
            for told in OrderState::ALL {
                let (next, verdict) = state.after(OrderEvent::Status(told));
                let is_ours = matches!(told, OrderState::Sent | OrderState::Unknown);
                if is_ours {
                    assert_eq!((next, verdict), (state, Verdict::Old));
                } else if !state.is_done() {
                    assert_eq!((next, verdict), (told, Verdict::Plain));
                } else if matches!(state, OrderState::Filled) {
                    assert_eq!(next, state);
                } else if matches!(state, OrderState::Cancelled | OrderState::Expired) {
                    assert!(next == state || next == OrderState::Filled);
                }
            }
        }
    }

    #[test]
    fn states_have_their_index() {
        for (index, state) in OrderState::ALL.into_iter().enumerate() {
            assert_eq!(state as usize, index);
            assert_eq!(OrderState::from_index(index as u8), Some(state));
        }
        assert_eq!(OrderState::from_index(11), None);
    }
}
