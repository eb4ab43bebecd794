//! A subscriber's life as a table.

/// Where a subscriber is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It asks, again and again.
    Asking,
    /// It was challenged and shows the cookie.
    Proving,
    /// It has a lease.
    Held,
    /// It says that it leaves.
    Leaving,
    /// It has left.
    Left,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A challenge of the session that it knows, or of the first one.
    Challenge,
    /// A challenge of another session: the publisher is a new one.
    Restart,
    /// A lease.
    Grant,
    /// A message or heartbeat of its session.
    Traffic,
    /// The publisher's end.
    End,
    /// Nothing was heard for too long.
    Silence,
    /// The application closes.
    Close,
    /// Leaving was said often enough.
    Said,
}

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Do {
    /// Nothing.
    Nothing,
    /// Show the cookie at once.
    Ask,
    /// An image begins.
    Begin,
    /// The image ends in good order; say that it is known.
    End,
    /// The image ends: nobody is heard.
    Lose,
    /// The image ends: another publisher is there. Show it its cookie.
    Replace,
    /// Say good-bye.
    Leave,
}

/// The next state, and what to do.
pub(crate) const fn next(state: State, input: Input) -> (State, Do) {
    use Input as I;
    use State as S;
    match (state, input) {
        (S::Left, _) => (S::Left, Do::Nothing),
        (S::Leaving, I::Said) => (S::Left, Do::Nothing),
        (S::Leaving, _) => (S::Leaving, Do::Nothing),
        (_, I::Close) => (S::Leaving, Do::Leave),
        (S::Asking | S::Proving, I::Challenge | I::Restart) => (S::Proving, Do::Ask),
        (S::Asking | S::Proving, I::Grant) => (S::Held, Do::Begin),
        // The grant was lost on the way, but what it promised comes.
        (S::Proving, I::Traffic) => (S::Held, Do::Begin),
        (S::Proving, I::Silence) => (S::Asking, Do::Nothing),
        // A cookie grows old: show the new one.
        (S::Held, I::Challenge) => (S::Held, Do::Ask),
        (S::Held, I::Restart) => (S::Proving, Do::Replace),
        (S::Held, I::End) => (S::Asking, Do::End),
        (S::Held, I::Silence) => (S::Asking, Do::Lose),
        (S::Held, I::Grant | I::Traffic | I::Said) => (S::Held, Do::Nothing),
        (S::Asking, _) => (S::Asking, Do::Nothing),
        (S::Proving, I::End | I::Said) => (S::Proving, Do::Nothing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Input as I;
    use State as S;
    use taut_testkit::{Draw, Random};

    const STATES: [State; 5] = [S::Asking, S::Proving, S::Held, S::Leaving, S::Left];
    const INPUTS: [Input; 8] =
        [I::Challenge, I::Restart, I::Grant, I::Traffic, I::End, I::Silence, I::Close, I::Said];

    #[test]
    fn every_pair_has_its_outcome() {
        let outcome = |state, input| next(state, input);
        let table = STATES.map(|state| INPUTS.map(|input| outcome(state, input)));
        let (asking, proving) = (S::Asking, S::Proving);
        let (held, leaving, left) = (S::Held, S::Leaving, S::Left);
        let none = Do::Nothing;
        let expected = [
            [
                (proving, Do::Ask),
                (proving, Do::Ask),
                (held, Do::Begin),
                (asking, none),
                (asking, none),
                (asking, none),
                (leaving, Do::Leave),
                (asking, none),
            ],
            [
                (proving, Do::Ask),
                (proving, Do::Ask),
                (held, Do::Begin),
                (held, Do::Begin),
                (proving, none),
                (asking, none),
                (leaving, Do::Leave),
                (proving, none),
            ],
            [
                (held, Do::Ask),
                (proving, Do::Replace),
                (held, none),
                (held, none),
                (asking, Do::End),
                (asking, Do::Lose),
                (leaving, Do::Leave),
                (held, none),
            ],
            [
                (leaving, none),
                (leaving, none),
                (leaving, none),
                (leaving, none),
                (leaving, none),
                (leaving, none),
                (leaving, none),
                (left, none),
            ],
            [(left, none); 8],
        ];
        assert_eq!(table, expected);
    }

    #[test]
    fn an_image_begins_and_ends_in_turns_whatever_happens() {
        let mut random = Random::with_seed(5);
        let (mut state, mut has_image) = (S::Asking, false);
        for _ in 0..100_000 {
            let input = random.pick(&INPUTS);
            let (after, action) = next(state, input);
            match action {
                Do::Begin => assert!(!core::mem::replace(&mut has_image, true)),
                Do::End | Do::Lose | Do::Replace => {
                    assert!(core::mem::replace(&mut has_image, false));
                }
                Do::Leave => has_image = false,
                Do::Nothing | Do::Ask => {}
            }
            assert_eq!(has_image, after == S::Held);
            state = if after == S::Left { S::Asking } else { after };
        }
    }
}
