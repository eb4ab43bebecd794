//! Why a session ended.

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
    /// More was received than fits while the peer does not take what is sent to it.
    InboxFull,
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
            Self::InboxFull => "more was received than fits while answers wait",
            Self::StoreFailed => "the store refused a write",
        }
    }
}
