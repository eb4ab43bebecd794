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
pub enum Happening {
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
    pub const fn after(self, happening: Happening) -> Self {
        use Happening as H;
        match (self, happening) {
            (Self::Active, H::Closed) => Self::Draining,
            (Self::Active | Self::Draining, H::Revoked) => Self::Linger,
            (Self::Draining, H::Drained) => Self::Linger,
            // Nobody takes the rest any more.
            (Self::Draining | Self::Linger, H::Acknowledged | H::LingerOver) => Self::Done,
            (state, _) => state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Happening as H, PublicationState as S};

    #[test]
    fn every_state_has_an_answer_to_everything_that_happens() {
        let happenings = [H::Closed, H::Revoked, H::Drained, H::Acknowledged, H::LingerOver];
        let table = [
            (S::Active, [S::Draining, S::Linger, S::Active, S::Active, S::Active]),
            (S::Draining, [S::Draining, S::Linger, S::Linger, S::Done, S::Done]),
            (S::Linger, [S::Linger, S::Linger, S::Linger, S::Done, S::Done]),
            (S::Done, [S::Done; 5]),
        ];
        for (state, nexts) in table {
            for (happening, next) in happenings.into_iter().zip(nexts) {
                assert_eq!(state.after(happening), next, "{state:?} {happening:?}");
            }
        }
    }
}
