//! Close codes (RFC 6455, 7.4).

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    /// What the connection was for is done.
    pub const NORMAL: Self = Self(1000);
    /// The endpoint goes away.
    pub const GOING_AWAY: Self = Self(1001);
    /// The peer broke the protocol.
    pub const PROTOCOL: Self = Self(1002);
    /// A kind of data that is not accepted.
    pub const UNSUPPORTED: Self = Self(1003);
    /// Data that is not what its kind says: a text that is not UTF-8.
    pub const INVALID_PAYLOAD: Self = Self(1007);
    /// Against a policy.
    pub const POLICY: Self = Self(1008);
    /// A message that is too long.
    pub const TOO_BIG: Self = Self(1009);
    /// The server lacks an extension that the client needs.
    pub const EXTENSION: Self = Self(1010);
    /// The server cannot go on.
    pub const INTERNAL: Self = Self(1011);
    /// The server restarts.
    pub const RESTART: Self = Self(1012);
    /// Try again later.
    pub const TRY_LATER: Self = Self(1013);

    /// A code, if it may stand in a close frame: those that 7.4.1 and IANA's registry define for
    /// it, and 3000 to 4999, which belong to libraries and applications.
    #[must_use]
    pub const fn new(code: u16) -> Option<Self> {
        match code {
            1000..=1003 | 1007..=1014 | 3000..=4999 => Some(Self(code)),
            _ => None,
        }
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl core::fmt::Display for CloseCode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_the_65536_codes_may_or_may_not_be_sent_as_section_7_4_says() {
        for code in 0..=u16::MAX {
            let may = matches!(code, 1000..=1003 | 1007..=1014) || (3000..5000).contains(&code);
            assert_eq!(CloseCode::new(code).is_some(), may, "{code}");
        }
    }
}
