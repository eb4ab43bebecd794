//! The connection's state machine: our part, state and input to new state and actions.
//!
//! PLAIN and CURVE have the same shape: a client speaks first, a server answers. With NULL both
//! sides are equal. Whether a command's content is good is decided by the action that reads it.

/// Our part in the mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// NULL.
    Equal,
    /// PLAIN or CURVE.
    Client,
    /// PLAIN or CURVE.
    Server,
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The peer's greeting is not whole.
    Greeting,
    /// A server waits for the client's first word.
    AwaitingHello,
    /// A client waits for the answer to it.
    AwaitingWelcome,
    /// A server waits for the client's second word.
    AwaitingInitiate,
    /// The peer's metadata are missing.
    AwaitingReady,
    /// Messages pass.
    Established,
    /// Over.
    Closed,
}

/// What can happen to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The peer's greeting is whole and names our mechanism.
    Greeted,
    /// A HELLO came.
    Hello,
    /// A WELCOME came.
    Welcome,
    /// An INITIATE came.
    Initiate,
    /// A READY came.
    Ready,
    /// An ERROR came.
    Error,
    /// A message, or a command that is no part of a handshake.
    Traffic,
    /// The peer broke a rule.
    Violation,
    /// The peer is not to be let in: it is told so.
    Refusal,
    /// The handshake has taken too long.
    Deadline,
    /// Nothing came for too long.
    Silence,
    /// It is time for a PING.
    HeartbeatDue,
}

/// What the connection does about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    None,
    /// Send HELLO.
    SendHello,
    /// Read HELLO, send WELCOME.
    AnswerHello,
    /// Read WELCOME, send INITIATE.
    AnswerWelcome,
    /// Read INITIATE, send READY, report that the connection stands.
    AnswerInitiate,
    /// Send READY.
    SendReady,
    /// Read READY, report that the connection stands.
    TakeReady,
    /// Pass on what came.
    Deliver,
    /// Send PING.
    SendPing,
    /// Send ERROR, report the end.
    SendErrorAndClose,
    /// Report the end.
    Close,
}

/// The table: `None` where the input is a violation.
#[must_use]
pub const fn step(part: Part, state: State, input: Input) -> Option<(State, Action)> {
    use Action as A;
    use Input as I;
    use Part as P;
    use State as S;
    Some(match (part, state, input) {
        (_, S::Closed, _) => (S::Closed, A::None),
        (_, S::Established, I::Deadline) => (S::Established, A::None),
        (_, S::Established, I::Silence) | (_, _, I::Violation | I::Deadline) => {
            (S::Closed, A::Close)
        }
        (_, S::Greeting | S::Established, I::Refusal) => (S::Closed, A::Close),
        (_, _, I::Refusal) => (S::Closed, A::SendErrorAndClose),
        (_, S::Established, I::HeartbeatDue) => (S::Established, A::SendPing),
        (_, _, I::Silence | I::HeartbeatDue) => (state, A::None),

        (P::Equal, S::Greeting, I::Greeted) => (S::AwaitingReady, A::SendReady),
        (P::Client, S::Greeting, I::Greeted) => (S::AwaitingWelcome, A::SendHello),
        (P::Server, S::Greeting, I::Greeted) => (S::AwaitingHello, A::None),
        (_, S::Greeting, _) => return None,

        (_, _, I::Error) => (S::Closed, A::Close),
        (P::Server, S::AwaitingHello, I::Hello) => (S::AwaitingInitiate, A::AnswerHello),
        (P::Client, S::AwaitingWelcome, I::Welcome) => (S::AwaitingReady, A::AnswerWelcome),
        (P::Server, S::AwaitingInitiate, I::Initiate) => (S::Established, A::AnswerInitiate),
        (P::Equal | P::Client, S::AwaitingReady, I::Ready) => (S::Established, A::TakeReady),
        (_, S::Established, I::Traffic) => (S::Established, A::Deliver),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Action, Input, Part, State, step};
    use std::string::String;
    use std::vec::Vec;

    const STATES: [State; 7] = [
        State::Greeting,
        State::AwaitingHello,
        State::AwaitingWelcome,
        State::AwaitingInitiate,
        State::AwaitingReady,
        State::Established,
        State::Closed,
    ];
    const INPUTS: [Input; 12] = [
        Input::Greeted,
        Input::Hello,
        Input::Welcome,
        Input::Initiate,
        Input::Ready,
        Input::Error,
        Input::Traffic,
        Input::Violation,
        Input::Refusal,
        Input::Deadline,
        Input::Silence,
        Input::HeartbeatDue,
    ];

    /// Every triple, by part. A capital is the next state (Greeting, Hello awaited, Welcome
    /// awaited, Initiate awaited, Ready awaited, Established, Closed); a small letter is the action
    /// (h send hello, a answer it, w answer welcome, i answer initiate, s send ready, r take ready,
    /// d deliver, p ping, e error and close, c close). A point changes nothing, x is a violation.
    const EQUAL: [&str; 12] = [
        // G   H   W   I   R   E   C
        "Rs    x   x   x   x   x   .", // Greeted
        "x     x   x   x   x   x   .", // Hello
        "x     x   x   x   x   x   .", // Welcome
        "x     x   x   x   x   x   .", // Initiate
        "x     x   x   x   Er  x   .", // Ready
        "x     Cc  Cc  Cc  Cc  Cc  .", // Error
        "x     x   x   x   x   Ed  .", // Traffic
        "Cc    Cc  Cc  Cc  Cc  Cc  .", // Violation
        "Cc    Ce  Ce  Ce  Ce  Cc  .", // Refusal
        "Cc    Cc  Cc  Cc  Cc  .   .", // Deadline
        ".     .   .   .   .   Cc  .", // Silence
        ".     .   .   .   .   Ep  .", // HeartbeatDue
    ];
    /// Where the others differ: input, state, what.
    const CLIENT: [(Input, State, &str); 2] =
        [(Input::Greeted, State::Greeting, "Wh"), (Input::Welcome, State::AwaitingWelcome, "Rw")];
    const SERVER: [(Input, State, &str); 4] = [
        (Input::Greeted, State::Greeting, "H"),
        (Input::Hello, State::AwaitingHello, "Ia"),
        (Input::Initiate, State::AwaitingInitiate, "Ei"),
        (Input::Ready, State::AwaitingReady, "x"),
    ];

    fn cell(from: State, made: Option<(State, Action)>) -> String {
        let Some((next, action)) = made else { return String::from("x") };
        let action = match action {
            Action::None if next == from => return String::from("."),
            Action::None => "",
            Action::SendHello => "h",
            Action::AnswerHello => "a",
            Action::AnswerWelcome => "w",
            Action::AnswerInitiate => "i",
            Action::SendReady => "s",
            Action::TakeReady => "r",
            Action::Deliver => "d",
            Action::SendPing => "p",
            Action::SendErrorAndClose => "e",
            Action::Close => "c",
        };
        let at = STATES.iter().position(|state| *state == next).unwrap();
        String::from(&"GHWIREC"[at..=at]) + action
    }

    #[test]
    fn every_triple_of_part_state_and_input_is_as_written_down() {
        for (part, differences) in
            [(Part::Equal, &[][..]), (Part::Client, &CLIENT[..]), (Part::Server, &SERVER[..])]
        {
            for (input, row) in INPUTS.iter().zip(EQUAL) {
                let row: Vec<&str> = row.split_whitespace().collect();
                assert_eq!(row.len(), STATES.len());
                for (state, expected) in STATES.iter().zip(row) {
                    let other = differences.iter().find(|(i, s, _)| i == input && s == state);
                    let expected = other.map_or(expected, |(_, _, cell)| cell);
                    let made = cell(*state, step(part, *state, *input));
                    assert_eq!(made, expected, "{part:?} {state:?} x {input:?}");
                }
            }
        }
    }
}
