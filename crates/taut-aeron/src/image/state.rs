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
pub enum Happening {
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
    pub const fn after(self, happening: Happening) -> Self {
        use Happening as H;
        match (self, happening) {
            (Self::Active, H::EndConsumed | H::Left) => Self::Linger,
            (Self::Active, H::Lost) => Self::Draining,
            (Self::Active | Self::Draining, H::Refused) => Self::Refusing,
            (Self::Draining, H::EndConsumed | H::RestConsumed | H::Left) => Self::Done,
            (Self::Linger | Self::Refusing, H::LingerOver | H::Lost) => Self::Done,
            (state, _) => state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Happening as H, ImageState as S};

    #[test]
    fn every_state_has_an_answer_to_everything_that_happens() {
        let happenings =
            [H::EndConsumed, H::Lost, H::RestConsumed, H::Left, H::Refused, H::LingerOver];
        let table = [
            (S::Active, [S::Linger, S::Draining, S::Active, S::Linger, S::Refusing, S::Active]),
            (S::Draining, [S::Done, S::Draining, S::Done, S::Done, S::Refusing, S::Draining]),
            (S::Linger, [S::Linger, S::Done, S::Linger, S::Linger, S::Linger, S::Done]),
            (S::Refusing, [S::Refusing, S::Done, S::Refusing, S::Refusing, S::Refusing, S::Done]),
            (S::Done, [S::Done; 6]),
        ];
        for (state, nexts) in table {
            for (happening, next) in happenings.into_iter().zip(nexts) {
                assert_eq!(state.after(happening), next, "{state:?} {happening:?}");
            }
        }
    }
}
