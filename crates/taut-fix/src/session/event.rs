//! What a session tells its driver.

use crate::session::disconnect::DisconnectReason;

/// What happened. The message itself is the bytes that were handled, indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The session is up. Comes again when the peer resets the numbers in session. The message is
    /// the peer's Logon, for who wants to check credentials: see [`crate::Session::refuse`].
    LoggedOn,
    /// A message of the application, valid and in sequence.
    Application {
        /// MsgSeqNum (34).
        sequence: u64,
        /// PossDupFlag (43): sent again under its number, and new to this session.
        poss_dup: bool,
        /// PossResend (97): the application must check whether it has seen the content before.
        poss_resend: bool,
    },
    /// A message of ours broke a session rule, says the peer's Reject.
    Rejected,
    /// The peer logged out, or answered our Logout. Drain `poll_transmit`, then close.
    LoggedOut,
    /// The session ended otherwise. Drain `poll_transmit`, then close.
    Disconnect(DisconnectReason),
}

/// What `handle_bytes` made of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many bytes are done with; 0 when there is no whole message, or nothing to expect.
    pub consumed: usize,
    /// What happened, if it concerns the driver.
    pub event: Option<Event>,
}

impl Progress {
    /// No whole message.
    pub const NOTHING: Self = Self { consumed: 0, event: None };
}
