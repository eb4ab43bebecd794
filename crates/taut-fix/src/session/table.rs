//! The session's state machine: state and input to new state and actions.
//!
//! What is not in the table of [`step`] changes nothing. Which input a message is (in sequence, too
//! high, refused) is decided before, see `sequence`; what an action writes is decided after.

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// No connection yet, or it is closed.
    Disconnected,
    /// An acceptor that waits for a Logon.
    AwaitingLogon,
    /// An initiator that waits for the answer to its Logon.
    LogonSent,
    /// Logged on.
    Active,
    /// Logged on, and a TestRequest of ours is not answered yet.
    AwaitingReply,
    /// A Logout of ours is not answered yet.
    LogoutSent,
    /// Over: what is queued may still be sent, then the connection closes.
    Closed,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Disconnected,
        Self::AwaitingLogon,
        Self::LogonSent,
        Self::Active,
        Self::AwaitingReply,
        Self::LogoutSent,
        Self::Closed,
    ];

    /// Whether application messages may be sent.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Active | Self::AwaitingReply)
    }

    /// Whether it is before the Logon on a connection.
    #[must_use]
    pub const fn is_logging_on(self) -> bool {
        matches!(self, Self::AwaitingLogon | Self::LogonSent)
    }

    /// Whether received bytes mean anything.
    #[must_use]
    pub const fn is_connected(self) -> bool {
        !matches!(self, Self::Disconnected | Self::Closed)
    }
}

/// What can happen to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// An acceptor's transport is up.
    Accepted,
    /// An initiator's transport is up.
    Connected,
    /// A valid Logon of the peer; a number too high is allowed.
    Logon,
    /// A valid Logon in session with ResetSeqNumFlag.
    Reset,
    /// The first message is not what it must be.
    LogonRefused,
    /// A message: the peer is alive.
    Message,
    /// MsgSeqNum is higher than expected, and the gap has not been asked for.
    Gap,
    /// MsgSeqNum is lower than expected without PossDupFlag.
    SequenceTooLow,
    /// A header that must be rejected and ends the session: CompID, SendingTime.
    HeaderViolation,
    /// What no session can go on with: BeginString, no MsgSeqNum, an oversized message.
    FatalViolation,
    /// A Logout of the peer.
    Logout,
    /// We want to log out.
    LogoutWanted,
    /// Nothing was sent for an interval.
    SendIdle,
    /// Nothing was received for an interval and a little.
    ReceiveIdle,
    /// A wait is over: for a Logon, a Logout, or a resend.
    Deadline,
    /// The transport is gone.
    TransportClosed,
}

/// What the session does about it, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Queue a Logon.
    SendLogon,
    /// Queue a Heartbeat.
    SendHeartbeat,
    /// Queue a TestRequest.
    SendTestRequest,
    /// Queue a ResendRequest.
    SendResendRequest,
    /// Queue a Reject.
    SendReject,
    /// Queue a Logout.
    SendLogout,
    /// Tell the driver that the session is up.
    ReportLoggedOn,
    /// Tell the driver that the peer logged out.
    ReportLoggedOut,
    /// Tell the driver to disconnect.
    ReportDisconnect,
}

/// The outcome of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The new state.
    pub next: State,
    /// What to do, in order.
    pub actions: &'static [Action],
}

/// The table.
#[must_use]
pub const fn step(state: State, input: Input) -> Step {
    use Action as A;
    use Input as I;
    use State as S;
    let (next, actions): (State, &'static [Action]) = match (state, input) {
        (S::Disconnected | S::Closed, I::Accepted) => (S::AwaitingLogon, &[]),
        (S::Disconnected | S::Closed, I::Connected) => (S::LogonSent, &[A::SendLogon]),
        (_, I::TransportClosed) => (S::Disconnected, &[]),

        (S::AwaitingLogon, I::Logon) => (S::Active, &[A::SendLogon, A::ReportLoggedOn]),
        (S::LogonSent, I::Logon) => (S::Active, &[A::ReportLoggedOn]),
        (S::LogonSent, I::Logout) => (S::Closed, &[A::ReportLoggedOut]),
        (S::AwaitingLogon | S::LogonSent, I::SequenceTooLow) => {
            (S::Closed, &[A::SendLogout, A::ReportDisconnect])
        }
        (
            S::AwaitingLogon | S::LogonSent,
            I::LogonRefused
            | I::HeaderViolation
            | I::FatalViolation
            | I::Logout
            | I::LogoutWanted
            | I::Deadline,
        ) => (S::Closed, &[A::ReportDisconnect]),

        (S::Active | S::AwaitingReply, I::Message) => (S::Active, &[]),
        (S::Active | S::AwaitingReply, I::Gap) => (S::Active, &[A::SendResendRequest]),
        (S::Active | S::AwaitingReply, I::Reset) => (S::Active, &[A::SendLogon, A::ReportLoggedOn]),
        // Not while a TestRequest waits: the peer has that to see that we are alive.
        (S::Active, I::SendIdle) => (S::Active, &[A::SendHeartbeat]),
        (S::Active, I::ReceiveIdle) => (S::AwaitingReply, &[A::SendTestRequest]),
        (S::AwaitingReply, I::ReceiveIdle) => (S::Closed, &[A::ReportDisconnect]),
        (S::Active | S::AwaitingReply, I::HeaderViolation) => {
            (S::LogoutSent, &[A::SendReject, A::SendLogout])
        }
        (S::Active | S::AwaitingReply, I::SequenceTooLow | I::FatalViolation | I::Deadline) => {
            (S::Closed, &[A::SendLogout, A::ReportDisconnect])
        }
        (S::Active | S::AwaitingReply, I::LogoutWanted) => (S::LogoutSent, &[A::SendLogout]),
        (S::Active | S::AwaitingReply, I::Logout) => {
            (S::Closed, &[A::SendLogout, A::ReportLoggedOut])
        }

        (S::LogoutSent, I::Logout) => (S::Closed, &[A::ReportLoggedOut]),
        (S::LogoutSent, I::Gap) => (S::LogoutSent, &[A::SendResendRequest]),
        (S::LogoutSent, I::HeaderViolation) => (S::LogoutSent, &[A::SendReject]),
        (S::LogoutSent, I::SequenceTooLow | I::FatalViolation | I::Deadline) => {
            (S::Closed, &[A::ReportDisconnect])
        }
        _ => (state, &[]),
    };
    Step { next, actions }
}

#[cfg(test)]
mod tests {
    use super::{Action, Input, State, Step, step};
    use std::string::String;
    use std::vec::Vec;

    const INPUTS: [Input; 16] = [
        Input::Accepted,
        Input::Connected,
        Input::Logon,
        Input::Reset,
        Input::LogonRefused,
        Input::Message,
        Input::Gap,
        Input::SequenceTooLow,
        Input::HeaderViolation,
        Input::FatalViolation,
        Input::Logout,
        Input::LogoutWanted,
        Input::SendIdle,
        Input::ReceiveIdle,
        Input::Deadline,
        Input::TransportClosed,
    ];

    /// Every pair. A capital is the next state (Disconnected, aWaiting logon, Logon sent, Active,
    /// awaiting Reply, logOut sent, Closed); small letters are actions (l logon, h heartbeat,
    /// t test request, r resend request, j reject, o logout; u report up, p report peer's logout,
    /// d report disconnect). A point changes nothing.
    const PAIRS: [&str; 16] = [
        // D    W     L     A     R     O    C
        "W    .     .     .     .     .    W",  // Accepted
        "Ll   .     .     .     .     .    Ll", // Connected
        ".    Alu   Au    .     .     .    .",  // Logon
        ".    .     .     Alu   Alu   .    .",  // Reset
        ".    Cd    Cd    .     .     .    .",  // LogonRefused
        ".    .     .     .     A     .    .",  // Message
        ".    .     .     Ar    Ar    Or   .",  // Gap
        ".    Cod   Cod   Cod   Cod   Cd   .",  // SequenceTooLow
        ".    Cd    Cd    Ojo   Ojo   Oj   .",  // HeaderViolation
        ".    Cd    Cd    Cod   Cod   Cd   .",  // FatalViolation
        ".    Cd    Cp    Cop   Cop   Cp   .",  // Logout
        ".    Cd    Cd    Oo    Oo    .    .",  // LogoutWanted
        ".    .     .     Ah    .     .    .",  // SendIdle
        ".    .     .     Rt    Cd    .    .",  // ReceiveIdle
        ".    Cd    Cd    Cod   Cod   Cd   .",  // Deadline
        ".    D     D     D     D     D    D",  // TransportClosed
    ];

    fn letter(state: State) -> char {
        match state {
            State::Disconnected => 'D',
            State::AwaitingLogon => 'W',
            State::LogonSent => 'L',
            State::Active => 'A',
            State::AwaitingReply => 'R',
            State::LogoutSent => 'O',
            State::Closed => 'C',
        }
    }

    fn cell(from: State, step: Step) -> String {
        if step.next == from && step.actions.is_empty() {
            return String::from(".");
        }
        let actions = step.actions.iter().map(|action| match action {
            Action::SendLogon => 'l',
            Action::SendHeartbeat => 'h',
            Action::SendTestRequest => 't',
            Action::SendResendRequest => 'r',
            Action::SendReject => 'j',
            Action::SendLogout => 'o',
            Action::ReportLoggedOn => 'u',
            Action::ReportLoggedOut => 'p',
            Action::ReportDisconnect => 'd',
        });
        core::iter::once(letter(step.next)).chain(actions).collect()
    }

    #[test]
    fn every_pair_of_state_and_input_is_as_written_down() {
        for (input, row) in INPUTS.iter().zip(PAIRS) {
            let expected: Vec<&str> = row.split_whitespace().collect();
            assert_eq!(expected.len(), State::ALL.len());
            for (state, expected) in State::ALL.iter().zip(expected) {
                let made = cell(*state, step(*state, *input));
                assert_eq!(made, expected, "{state:?} x {input:?}");
            }
        }
    }

    #[test]
    fn a_session_that_ends_is_reported_once_and_a_closed_one_is_silent() {
        let reports =
            |action: &&Action| matches!(action, Action::ReportDisconnect | Action::ReportLoggedOut);
        for state in State::ALL {
            for input in INPUTS {
                let step = step(state, input);
                let ends = step.next == State::Closed && state != State::Closed;
                assert_eq!(step.actions.iter().filter(reports).count(), usize::from(ends));
            }
        }
    }
}
