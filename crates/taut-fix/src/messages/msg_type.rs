//! MsgType (35).

/// What kind of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MsgType {
    /// 0
    Heartbeat,
    /// 1
    TestRequest,
    /// 2
    ResendRequest,
    /// 3
    Reject,
    /// 4
    SequenceReset,
    /// 5
    Logout,
    /// 8
    ExecutionReport,
    /// 9
    OrderCancelReject,
    /// A
    Logon,
    /// D
    NewOrderSingle,
    /// F
    OrderCancelRequest,
    /// j
    BusinessMessageReject,
    /// A type of FIX 4.4 that this crate does not read.
    Unsupported,
    /// No type of FIX 4.4.
    Unknown,
}

impl MsgType {
    /// The type with this code.
    #[must_use]
    pub const fn from_code(code: &[u8]) -> Self {
        match code {
            b"0" => Self::Heartbeat,
            b"1" => Self::TestRequest,
            b"2" => Self::ResendRequest,
            b"3" => Self::Reject,
            b"4" => Self::SequenceReset,
            b"5" => Self::Logout,
            b"8" => Self::ExecutionReport,
            b"9" => Self::OrderCancelReject,
            b"A" => Self::Logon,
            b"D" => Self::NewOrderSingle,
            b"F" => Self::OrderCancelRequest,
            b"j" => Self::BusinessMessageReject,
            [b'6' | b'7' | b'B'..=b'H' | b'J'..=b'N' | b'P'..=b'T' | b'V'..=b'Z' | b'a'..=b'z']
            | [b'A', b'A'..=b'Z']
            | [b'B', b'A'..=b'H'] => Self::Unsupported,
            _ => Self::Unknown,
        }
    }

    /// The code of a type that this crate writes; empty for the other two.
    #[must_use]
    pub const fn code(self) -> &'static [u8] {
        match self {
            Self::Heartbeat => b"0",
            Self::TestRequest => b"1",
            Self::ResendRequest => b"2",
            Self::Reject => b"3",
            Self::SequenceReset => b"4",
            Self::Logout => b"5",
            Self::ExecutionReport => b"8",
            Self::OrderCancelReject => b"9",
            Self::Logon => b"A",
            Self::NewOrderSingle => b"D",
            Self::OrderCancelRequest => b"F",
            Self::BusinessMessageReject => b"j",
            Self::Unsupported | Self::Unknown => b"",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MsgType;

    const ALL: [MsgType; 12] = [
        MsgType::Heartbeat,
        MsgType::TestRequest,
        MsgType::ResendRequest,
        MsgType::Reject,
        MsgType::SequenceReset,
        MsgType::Logout,
        MsgType::ExecutionReport,
        MsgType::OrderCancelReject,
        MsgType::Logon,
        MsgType::NewOrderSingle,
        MsgType::OrderCancelRequest,
        MsgType::BusinessMessageReject,
    ];

    #[test]
    fn every_code_round_trips() {
        for msg_type in ALL {
            assert_eq!(MsgType::from_code(msg_type.code()), msg_type);
        }
    }

    #[test]
    fn tells_unsupported_from_unknown() {
        for code in ["6", "7", "E", "G", "n", "z", "AA", "BH"] {
            assert_eq!(MsgType::from_code(code.as_bytes()), MsgType::Unsupported, "{code}");
        }
        for code in ["", "I", "O", "U", "BI", "CA", "AAA", "*", "00", "a1"] {
            assert_eq!(MsgType::from_code(code.as_bytes()), MsgType::Unknown, "{code}");
        }
    }
}
