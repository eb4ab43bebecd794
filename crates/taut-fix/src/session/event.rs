//! What a session tells its driver.

use taut_types::Nanos;

use crate::codec::text::ShortText;
use crate::messages::admin::{BusinessMessageReject, Reject};
use crate::messages::execution::{ExecutionReport, OrderCancelReject};
use crate::messages::order::{NewOrderSingle, OrderCancelRequest};

/// What happened. Texts borrow from the bytes that were handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The session is up. Comes again when the peer resets the sequence numbers in session.
    LoggedOn {
        /// The peer's CompID.
        peer_comp_id: ShortText,
        /// The interval in force; zero is no heartbeats.
        heartbeat_interval: Nanos,
    },
    /// A message of the application, valid and in sequence.
    NewOrderSingle(NewOrderSingle),
    /// A message of the application, valid and in sequence.
    OrderCancelRequest(OrderCancelRequest),
    /// A message of the application, valid and in sequence.
    ExecutionReport(ExecutionReport<'a>),
    /// A message of the application, valid and in sequence.
    OrderCancelReject(OrderCancelReject<'a>),
    /// A message of ours broke a session rule, says the peer.
    Rejected(Reject<'a>),
    /// The peer's application cannot do what a message of ours asked.
    BusinessRejected(BusinessMessageReject<'a>),
    /// The peer logged out, or answered our Logout. Drain `poll_transmit`, then close.
    LoggedOut {
        /// Its words; empty when it has none.
        text: &'a [u8],
    },
    /// The session ended otherwise. Drain `poll_transmit`, then close.
    Disconnect(DisconnectReason),
}

/// Why a session ended without a Logout of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DisconnectReason {
    /// The first bytes were no valid message.
    GarbledLogon,
    /// The first message was no Logon, or an invalid one.
    InvalidLogon,
    /// BeginString (8) is not FIX.4.4.
    WrongBeginString,
    /// The Logon's CompIDs (49, 56) are not this session's.
    WrongCompId,
    /// The Logon's SendingTime (52) is too far away.
    SendingTimeAccuracy,
    /// A message without a usable MsgSeqNum (34).
    MissingSequence,
    /// MsgSeqNum (34) was used before and PossDupFlag (43) is not set.
    SequenceTooLow {
        /// The number that was next.
        expected: u64,
        /// The number that came.
        received: u64,
    },
    /// A Logon in session that does not reset the numbers.
    UnexpectedLogon,
    /// A message larger than the session accepts.
    MessageTooLarge,
    /// No Logon in time.
    LogonTimeout,
    /// No answer to our Logout in time.
    LogoutTimeout,
    /// No answer to our TestRequest in time.
    HeartbeatTimeout,
    /// A gap in the sequence was not filled in time.
    ResendTimeout,
    /// We logged out before the session was up.
    LoggedOutBeforeLogon,
    /// NextExpectedMsgSeqNum (789) is higher than what we will send next.
    NextExpectedTooHigh,
    /// The store refused a write.
    StoreFailed,
}

impl DisconnectReason {
    /// The reason in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GarbledLogon => "the first bytes were no FIX message",
            Self::InvalidLogon => "the first message was no valid Logon",
            Self::WrongBeginString => "BeginString is not FIX.4.4",
            Self::WrongCompId => "the CompIDs are not this session's",
            Self::SendingTimeAccuracy => "SendingTime is too far from our clock",
            Self::MissingSequence => "a message had no usable MsgSeqNum",
            Self::SequenceTooLow { .. } => "MsgSeqNum was lower than expected",
            Self::UnexpectedLogon => "a second Logon without ResetSeqNumFlag",
            Self::MessageTooLarge => "a message exceeded the size limit",
            Self::LogonTimeout => "no Logon in time",
            Self::LogoutTimeout => "no answer to Logout in time",
            Self::HeartbeatTimeout => "no answer to TestRequest in time",
            Self::ResendTimeout => "a sequence gap was not filled in time",
            Self::LoggedOutBeforeLogon => "logged out before the session was up",
            Self::NextExpectedTooHigh => "NextExpectedMsgSeqNum is higher than our next number",
            Self::StoreFailed => "the store refused a write",
        }
    }
}

/// Where a message stood in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageInfo {
    /// MsgSeqNum (34).
    pub sequence: u64,
    /// SendingTime (52), UTC.
    pub sending_time: Nanos,
    /// PossDupFlag (43): sent again under its number, and new to this session.
    pub poss_dup: bool,
    /// PossResend (97): the application must check whether it has seen the content before.
    pub poss_resend: bool,
}

/// What `handle_bytes` made of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handled<'a> {
    /// How many bytes are done with; 0 when there is no whole message, or nothing to expect.
    pub consumed: usize,
    /// What happened, if it concerns the driver.
    pub event: Option<Event<'a>>,
    /// Of the message, when there was a valid one.
    pub info: Option<MessageInfo>,
}

impl Handled<'_> {
    /// No whole message.
    pub const NOTHING: Self = Self { consumed: 0, event: None, info: None };
}
