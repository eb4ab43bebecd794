//! The life of a publication.

/// Where a publication is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicationState {
    /// It takes messages.
    Active,
    /// It was closed and sends what it has.
    Draining,
    /// Everything was sent; repairs are still answered.
    Linger,
    /// It is over.
    Done,
}

/// What happens to a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The application closed it.
    Closed,
    /// The application took it back.
    Revoked,
    /// Everything was sent.
    Drained,
    /// Every receiver has everything, or there is none any more.
    Acknowledged,
    /// The linger time is over.
    LingerOver,
}

impl PublicationState {
    /// The next state; the same one where nothing follows.
    #[must_use]
    pub const fn after(self, trigger: Trigger) -> Self {
        use Trigger as T;
        match (self, trigger) {
            (Self::Active, T::Closed) => Self::Draining,
            (Self::Active | Self::Draining, T::Revoked) => Self::Linger,
            (Self::Draining, T::Drained) => Self::Linger,
            // Nobody takes the rest any more.
            (Self::Draining | Self::Linger, T::Acknowledged | T::LingerOver) => Self::Done,
            (state, _) => state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PublicationState as S, Trigger as T};

    #[test]
    fn every_state_has_an_answer_to_everything_that_happens() {
        let triggers = [T::Closed, T::Revoked, T::Drained, T::Acknowledged, T::LingerOver];
        let table = [
            (S::Active, [S::Draining, S::Linger, S::Active, S::Active, S::Active]),
            (S::Draining, [S::Draining, S::Linger, S::Linger, S::Done, S::Done]),
            (S::Linger, [S::Linger, S::Linger, S::Linger, S::Done, S::Done]),
            (S::Done, [S::Done; 5]),
        ];
        for (state, nexts) in table {
            for (trigger, next) in triggers.into_iter().zip(nexts) {
                assert_eq!(state.after(trigger), next, "{state:?} {trigger:?}");
            }
        }
    }
}
