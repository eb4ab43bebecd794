//! How depth updates join a snapshot and each other.
//!
//! The rules are those of "How to manage a local order book correctly", one text for the spot
//! streams and one for the USD-margined futures. Futures frames tell themselves by their `pu`.
//!
//! | | spot | futures |
//! |---|---|---|
//! | outdated, with the snapshot's id S | u <= S | u < S |
//! | the first that is applied | U <= S + 1 | U <= S, u >= S |
//! | every other | U = u of the one before + 1 | pu = u of the one before |
//! | else | start anew | start anew |

use crate::event::SequenceRange;

/// Whether an update follows what the book has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// As the rules demand.
    InSequence,
    /// Something is missing between them: the book is another market's from here on.
    AfterGap,
}

/// What to do with an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// There is no snapshot yet: keep it.
    Early,
    /// The snapshot has it: drop it.
    Outdated,
    /// Apply it.
    Apply(Joined),
}

/// The state of a depth stream: a snapshot's id and the last update's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DepthSync {
    snapshot_id: Option<u64>,
    last_id: Option<u64>,
}

impl DepthSync {
    /// A stream that waits for its snapshot.
    #[must_use]
    pub const fn new() -> Self {
        Self { snapshot_id: None, last_id: None }
    }

    /// Whether there is a snapshot.
    #[must_use]
    pub const fn has_started(&self) -> bool {
        self.snapshot_id.is_some()
    }

    /// The last id that the book contains.
    #[must_use]
    pub fn last_id(&self) -> Option<u64> {
        self.last_id.or(self.snapshot_id)
    }

    /// The book is this snapshot now.
    pub const fn start(&mut self, snapshot_id: u64) {
        self.snapshot_id = Some(snapshot_id);
        self.last_id = None;
    }

    /// Decides about an update, and takes note of it if it is to be applied.
    #[inline]
    pub fn place(&mut self, ids: &SequenceRange) -> Placement {
        let Some(snapshot_id) = self.snapshot_id else { return Placement::Early };
        // A futures update that ends with the snapshot changes nothing that the snapshot has not,
        // but the next one names it.
        if ids.last <= self.last_id.unwrap_or(snapshot_id) {
            if self.last_id.is_none() && ids.previous.is_some() && ids.last == snapshot_id {
                self.last_id = Some(ids.last);
            }
            return Placement::Outdated;
        }
        let follows = match (ids.previous, self.last_id) {
            (Some(previous), Some(last)) => previous == last,
            (None, Some(last)) => last.checked_add(1) == Some(ids.first),
            (Some(_), None) => ids.first <= snapshot_id,
            (None, None) => ids.first <= snapshot_id.saturating_add(1),
        };
        self.last_id = Some(ids.last);
        Placement::Apply(if follows { Joined::InSequence } else { Joined::AfterGap })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(first: u64, last: u64, previous: Option<u64>) -> SequenceRange {
        SequenceRange { first, last, previous }
    }

    /// A stream with a snapshot of id 10, and what it says to each update in turn.
    fn story(updates: &[(u64, u64, Option<u64>)]) -> std::vec::Vec<Placement> {
        let mut sync = DepthSync::new();
        sync.start(10);
        updates.iter().map(|&(first, last, pu)| sync.place(&ids(first, last, pu))).collect()
    }

    use Placement::{Apply, Outdated};
    const GOOD: Placement = Apply(Joined::InSequence);
    const GAP: Placement = Apply(Joined::AfterGap);

    #[test]
    fn without_a_snapshot_everything_is_early() {
        assert_eq!(DepthSync::new().place(&ids(1, 2, None)), Placement::Early);
    }

    #[test]
    fn spot_updates_follow_the_snapshot_and_then_each_other_number_by_number() {
        assert_eq!(story(&[(8, 10, None), (9, 11, None), (12, 12, None)]), [Outdated, GOOD, GOOD]);
        assert_eq!(story(&[(11, 12, None), (13, 20, None)]), [GOOD, GOOD]);
        assert_eq!(story(&[(12, 12, None)]), [GAP]);
        assert_eq!(story(&[(11, 12, None), (14, 14, None)]), [GOOD, GAP]);
        assert_eq!(story(&[(11, 12, None), (11, 12, None)]), [GOOD, Outdated]);
    }

    #[test]
    fn futures_updates_span_the_snapshot_and_then_name_the_one_before() {
        assert_eq!(
            story(&[(2, 9, Some(1)), (9, 12, Some(8)), (20, 25, Some(12))]),
            [Outdated, GOOD, GOOD]
        );
        assert_eq!(story(&[(8, 10, Some(7)), (15, 16, Some(10))]), [Outdated, GOOD]);
        assert_eq!(story(&[(11, 12, Some(10))]), [GAP]);
        assert_eq!(story(&[(9, 12, Some(8)), (13, 14, Some(11))]), [GOOD, GAP]);
    }
}
