//! The connection's state machine: state and input to new state and action (RFC 6455, 4 and 7).

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The peer's half of the opening handshake is not whole.
    Opening,
    /// A client's request waits for its answer.
    Deciding,
    /// Messages pass.
    Open,
    /// Our close frame has left; the peer's is missing.
    Closing,
    /// Over.
    Closed,
}

/// What can happen to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A client's request is whole and good.
    Request,
    /// The handshake's answer says yes.
    Agreement,
    /// It says no.
    Refusal,
    /// Our side closes.
    LocalClose,
    /// A close frame came.
    PeerClose,
    /// The peer broke a rule.
    Violation,
    /// The handshake, or the peer's close frame, is late.
    Deadline,
    /// Nothing came for too long.
    Silence,
    /// It is time for a ping.
    PingDue,
    /// The transport ended.
    Cut,
}

/// What the connection does about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    None,
    /// Ask our side for the answer.
    Ask,
    /// Report that messages pass.
    Open,
    /// Send our close frame.
    SendClose,
    /// Send it, and report the end.
    SendCloseAndReport,
    /// Send a ping.
    SendPing,
    /// Report the end.
    Report,
}

/// The table: `None` where the input has no place. A caller's is misuse then; a peer's cannot come,
/// for its bytes are read as what the state expects.
#[must_use]
pub const fn step(state: State, input: Input) -> Option<(State, Action)> {
    use Action as A;
    use Input as I;
    use State as S;
    Some(match (state, input) {
        (S::Closed, I::LocalClose | I::Agreement | I::Refusal) => return None,
        (S::Closed, _) => (S::Closed, A::None),
        (_, I::Cut) => (S::Closed, A::Report),

        (S::Opening, I::Request) => (S::Deciding, A::Ask),
        (S::Opening | S::Deciding, I::Agreement) => (S::Open, A::Open),
        (S::Opening | S::Deciding, I::Refusal | I::Violation | I::Deadline) => {
            (S::Closed, A::Report)
        }

        (S::Open, I::LocalClose) => (S::Closing, A::SendClose),
        (S::Open, I::PeerClose | I::Violation | I::Silence) => (S::Closed, A::SendCloseAndReport),
        (S::Open, I::PingDue) => (S::Open, A::SendPing),

        // Both sides at once: each takes the other's close frame for the answer (7.1.3).
        (S::Closing, I::PeerClose | I::Violation | I::Deadline) => (S::Closed, A::Report),
        (S::Closing, I::LocalClose) => return None,

        (_, I::Deadline | I::Silence | I::PingDue) => (state, A::None),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    const STATES: [State; 5] =
        [State::Opening, State::Deciding, State::Open, State::Closing, State::Closed];
    const INPUTS: [Input; 10] = [
        Input::Request,
        Input::Agreement,
        Input::Refusal,
        Input::LocalClose,
        Input::PeerClose,
        Input::Violation,
        Input::Deadline,
        Input::Silence,
        Input::PingDue,
        Input::Cut,
    ];
    /// Rows are inputs, columns states. The next state (O, D, P for open, C for closing, X), then
    /// what is done: a asks, o reports that it is open, c sends close, s sends it and reports,
    /// p pings, r reports. A dot changes nothing; a dash has no place.
    const EXPECTED: [&str; 10] = [
        "Da -  -  -  .", // Request
        "Po Po -  -  -", // Agreement
        "Xr Xr -  -  -", // Refusal
        "-  -  Cc -  -", // LocalClose
        "-  -  Xs Xr .", // PeerClose
        "Xr Xr Xs Xr .", // Violation
        "Xr Xr .  Xr .", // Deadline
        ".  .  Xs .  .", // Silence
        ".  .  Pp .  .", // PingDue
        "Xr Xr Xr Xr .", // Cut
    ];

    fn cell(from: State, made: Option<(State, Action)>) -> String {
        let Some((next, action)) = made else { return String::from("-") };
        let action = match action {
            Action::None if next == from => return String::from("."),
            Action::None => "",
            Action::Ask => "a",
            Action::Open => "o",
            Action::SendClose => "c",
            Action::SendCloseAndReport => "s",
            Action::SendPing => "p",
            Action::Report => "r",
        };
        let at = STATES.iter().position(|state| *state == next).unwrap();
        String::from(&"ODPCX"[at..=at]) + action
    }

    #[test]
    fn every_pair_of_state_and_input_is_as_written_down() {
        for (input, row) in INPUTS.iter().zip(EXPECTED) {
            let row: Vec<&str> = row.split_whitespace().collect();
            assert_eq!(row.len(), STATES.len());
            for (state, expected) in STATES.iter().zip(row) {
                assert_eq!(cell(*state, step(*state, *input)), expected, "{state:?} {input:?}");
            }
        }
    }
}
