//! The life of an image.

/// Where an image is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageState {
    /// Data arrives.
    Active,
    /// Nothing comes any more; the application reads what is there.
    Draining,
    /// The application has everything; the sender is told so.
    Linger,
    /// The application refused it; the sender is told so.
    Refusing,
    /// It is over.
    Done,
}

/// What happens to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The application has read everything up to the end of the stream.
    EndConsumed,
    /// The source fell silent, was taken back, started anew, or is too far ahead.
    Lost,
    /// The application has read what was there when the source was lost.
    RestConsumed,
    /// The application leaves.
    Left,
    /// The application refuses it.
    Refused,
    /// The sender was told long enough.
    LingerOver,
}

impl ImageState {
    /// The next state; the same one where nothing follows.
    #[must_use]
    pub const fn after(self, trigger: Trigger) -> Self {
        use Trigger as T;
        match (self, trigger) {
            (Self::Active, T::EndConsumed | T::Left) => Self::Linger,
            (Self::Active, T::Lost) => Self::Draining,
            (Self::Active | Self::Draining, T::Refused) => Self::Refusing,
            (Self::Draining, T::EndConsumed | T::RestConsumed | T::Left) => Self::Done,
            (Self::Linger | Self::Refusing, T::LingerOver | T::Lost) => Self::Done,
            (state, _) => state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ImageState as S, Trigger as T};

    #[test]
    fn every_state_has_an_answer_to_everything_that_happens() {
        let triggers =
            [T::EndConsumed, T::Lost, T::RestConsumed, T::Left, T::Refused, T::LingerOver];
        let table = [
            (S::Active, [S::Linger, S::Draining, S::Active, S::Linger, S::Refusing, S::Active]),
            (S::Draining, [S::Done, S::Draining, S::Done, S::Done, S::Refusing, S::Draining]),
            (S::Linger, [S::Linger, S::Done, S::Linger, S::Linger, S::Linger, S::Done]),
            (S::Refusing, [S::Refusing, S::Done, S::Refusing, S::Refusing, S::Refusing, S::Done]),
            (S::Done, [S::Done; 6]),
        ];
        for (state, nexts) in table {
            for (trigger, next) in triggers.into_iter().zip(nexts) {
                assert_eq!(state.after(trigger), next, "{state:?} {trigger:?}");
            }
        }
    }
}
