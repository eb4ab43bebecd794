//! What can go wrong, and whose fault it is.

use core::fmt;

/// An error of the codec or of a session's caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FixError {
    /// The bytes are no FIX field at this offset of the message: the message is garbled, and a
    /// session ignores it.
    Malformed {
        /// Where the wrong byte stands, from the start of the message.
        offset: usize,
    },
    /// The message is well framed but breaks a rule: a session answers with a reject.
    PeerViolation(Violation),
    /// Something is larger than it may be.
    Limit(Limit),
    /// The caller asked for what cannot be done.
    Misuse(Misuse),
    /// The message could not be kept, and so must not be sent.
    Store,
}

/// Which rule a peer's message breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// A field breaks a session rule: Reject (3).
    Field {
        /// Why, as SessionRejectReason (373) says it.
        reason: RejectReason,
        /// The tag at fault, for RefTagID (371).
        tag: u32,
        /// Where the field stands, or the end of the message when it is missing.
        offset: usize,
    },
    /// A field that this message needs is absent: BusinessMessageReject (j) with 380=5.
    ConditionallyRequired {
        /// The missing tag.
        tag: u32,
    },
}

/// What is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// A message whose BodyLength exceeds the allowed message size.
    MessageBytes,
    /// The caller's buffer is too small for the message.
    BufferBytes,
    /// A message with more fields than the index has places.
    FieldCount,
    /// A dictionary with more fields, members or messages than can be numbered.
    DictionarySize,
}

/// What the caller did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// An application message while not logged on.
    NotLoggedOn,
    /// An application message before `poll_transmit` was drained of the Logon reply.
    LogonNotSent,
    /// A text that holds the field delimiter (SOH).
    DelimiterInText,
    /// A message that is only to be kept while logged on: it can be sent.
    LoggedOn,
}

/// SessionRejectReason (373), FIX 4.4 volume 2, "Reject".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum RejectReason {
    /// 0
    InvalidTagNumber = 0,
    /// 1
    RequiredTagMissing = 1,
    /// 2
    TagNotDefinedForMessage = 2,
    /// 3
    UndefinedTag = 3,
    /// 4
    TagWithoutValue = 4,
    /// 5
    ValueIncorrect = 5,
    /// 6
    IncorrectDataFormat = 6,
    /// 7
    Decryption = 7,
    /// 8
    Signature = 8,
    /// 9
    CompIdProblem = 9,
    /// 10
    SendingTimeAccuracy = 10,
    /// 11
    InvalidMsgType = 11,
    /// 12
    XmlValidation = 12,
    /// 13
    TagAppearsTwice = 13,
    /// 14
    TagOutOfOrder = 14,
    /// 15
    GroupOutOfOrder = 15,
    /// 16
    GroupCountIncorrect = 16,
    /// 17
    DelimiterInValue = 17,
    /// 18, of FIXT 1.1
    InvalidApplicationVersion = 18,
    /// 99, and every value that has no name here.
    Other = 99,
}

impl RejectReason {
    /// The value of SessionRejectReason (373).
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The reason with this code; [`RejectReason::Other`] when it has no name here.
    #[must_use]
    pub const fn from_code(code: u64) -> Self {
        match code {
            0 => Self::InvalidTagNumber,
            1 => Self::RequiredTagMissing,
            2 => Self::TagNotDefinedForMessage,
            3 => Self::UndefinedTag,
            4 => Self::TagWithoutValue,
            5 => Self::ValueIncorrect,
            6 => Self::IncorrectDataFormat,
            7 => Self::Decryption,
            8 => Self::Signature,
            9 => Self::CompIdProblem,
            10 => Self::SendingTimeAccuracy,
            11 => Self::InvalidMsgType,
            12 => Self::XmlValidation,
            13 => Self::TagAppearsTwice,
            14 => Self::TagOutOfOrder,
            15 => Self::GroupOutOfOrder,
            16 => Self::GroupCountIncorrect,
            17 => Self::DelimiterInValue,
            18 => Self::InvalidApplicationVersion,
            _ => Self::Other,
        }
    }

    /// The reason in words, as Text (58) carries it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidTagNumber => "Invalid tag number",
            Self::RequiredTagMissing => "Required tag missing",
            Self::TagNotDefinedForMessage => "Tag not defined for this message type",
            Self::UndefinedTag => "Undefined tag",
            Self::TagWithoutValue => "Tag specified without a value",
            Self::ValueIncorrect => "Value is incorrect (out of range) for this tag",
            Self::IncorrectDataFormat => "Incorrect data format for value",
            Self::Decryption => "Decryption problem",
            Self::Signature => "Signature problem",
            Self::CompIdProblem => "CompID problem",
            Self::SendingTimeAccuracy => "SendingTime accuracy problem",
            Self::InvalidMsgType => "Invalid MsgType",
            Self::XmlValidation => "XML validation error",
            Self::TagAppearsTwice => "Tag appears more than once",
            Self::TagOutOfOrder => "Tag specified out of required order",
            Self::GroupOutOfOrder => "Repeating group fields out of order",
            Self::GroupCountIncorrect => "Incorrect NumInGroup count for repeating group",
            Self::DelimiterInValue => "Non-data value includes field delimiter",
            Self::InvalidApplicationVersion => "Invalid/Unsupported Application Version",
            Self::Other => "Other",
        }
    }
}

impl fmt::Display for FixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { offset } => write!(f, "no FIX field at byte {offset} of the message"),
            Self::PeerViolation(Violation::Field { reason, tag, offset }) => {
                write!(f, "tag {tag} at byte {offset}: {}", reason.as_str())
            }
            Self::PeerViolation(Violation::ConditionallyRequired { tag }) => {
                write!(f, "tag {tag} is missing, which this message needs here")
            }
            Self::Limit(limit) => limit.fmt(f),
            Self::Misuse(misuse) => misuse.fmt(f),
            Self::Store => f.write_str("the message could not be kept, and so is not sent"),
        }
    }
}

impl core::error::Error for FixError {}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MessageBytes => "the message is longer than is allowed here",
            Self::BufferBytes => "the buffer is too small for the message",
            Self::FieldCount => "the message has more fields than the index has places",
            Self::DictionarySize => "the dictionary has more entries than can be numbered",
        })
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotLoggedOn => "not logged on",
            Self::LogonNotSent => "the Logon must be sent first: drain `poll_transmit`",
            Self::DelimiterInText => "a text holds the field delimiter (SOH)",
            Self::LoggedOn => "logged on: send the message",
        })
    }
}

impl core::error::Error for Misuse {}
