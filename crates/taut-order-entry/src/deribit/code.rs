//! What an error's code means to whoever asked.
//!
//! Source: docs.deribit.com, "RPC error codes". The venue has more codes than are told apart here.

use taut_oms::VenueReject;

/// What the venue says instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorAnswer<'a> {
    /// Its number.
    pub code: i64,
    /// Its name, and sometimes more, as it stands in the frame.
    pub message: &'a [u8],
}

/// What became of a request that ended in an error, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Not done, and may be asked for again later.
    NotDoneForNow,
    /// Nobody knows: the order has to be asked for by its label, and is not sent again.
    Unknown,
    /// The order is gone already, or an earlier request is overtaken.
    OrderGone,
    /// Not done, and will not be: the request is wrong, or the account is not allowed to.
    Refused,
    /// The connection is not who it should be, or is ended.
    Session,
}

impl ErrorAnswer<'_> {
    /// What became of the request. Of one that ended in the venue's own fault, or with a code that
    /// nobody documented, nobody knows.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match self.code {
            10_040 | 10_041 | 10_047 | 10_066 | 11_051 | 13_028 | 13_503 | 13_888 => {
                Outcome::NotDoneForNow
            }
            11_094 => Outcome::Unknown,
            10_004 | 10_010 | 11_008 | 11_044 | 13_666 | 13_777 => Outcome::OrderGone,
            // The credits are spent, and the session with them.
            10_028 => Outcome::Session,
            10_000 | 10_029 | 10_030 | 10_048 | 10_049 | 11_056 | 13_004 | 13_009 | 13_021
            | 13_025 | 13_040 | 13_403 | 13_778 => Outcome::Session,
            // The request's quantity, price, instrument, funds, trigger, label.
            10_002..=10_009 | 10_011..=10_012 | 10_020..=10_027 | 10_031..=10_036 | 10_043 => {
                Outcome::Refused
            }
            11_021..=11_054 | 11_055 | 13_010 | 13_019 | 13_020 | 13_030 | 13_032 => {
                Outcome::Refused
            }
            13_042 | 13_043 | 13_902 | 13_903 => Outcome::Refused,
            // Not JSON, no request, no such method, wrong or missing parameters.
            -32_700 | -32_602..=-32_600 | -32_000 => Outcome::Refused,
            _ => Outcome::Unknown,
        }
    }

    /// Why the request was refused, where it was.
    #[must_use]
    pub const fn reject(&self) -> VenueReject {
        match self.code {
            11_054 => VenueReject::WouldTrade,
            // The book is closed; a settlement, or maintenance.
            10_012 | 10_041 | 11_051 => VenueReject::Halted,
            10_020 => VenueReject::UnknownSymbol,
            10_005..=10_008 | 10_011 | 10_023 | 10_026 | 10_034 | 10_035 | 10_043 | 10_044 => {
                VenueReject::Price
            }
            10_002 | 10_021 | 10_022 | 10_024 | 10_027 | 10_036 => VenueReject::Quantity,
            // So many orders, such a position; so little worth.
            10_013..=10_018 | 10_032 => VenueReject::Limit,
            10_009 => VenueReject::Balance,
            10_010 | 11_008 | 11_044 | 13_666 | 13_777 => VenueReject::TooLate,
            10_004 | 10_025 => VenueReject::UnknownOrder,
            10_031 | 10_033 => VenueReject::Unsupported,
            10_019 | 10_029 | 13_021 => VenueReject::Account,
            10_028 | 10_047 | 10_066 => VenueReject::RateLimit,
            _ => VenueReject::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_why_a_request_is_refused() {
        for (code, reason) in [
            (11_054, VenueReject::WouldTrade),
            (10_012, VenueReject::Halted),
            (10_020, VenueReject::UnknownSymbol),
            (10_043, VenueReject::Price),
            (10_002, VenueReject::Quantity),
            (10_009, VenueReject::Balance),
            (11_044, VenueReject::TooLate),
            (10_004, VenueReject::UnknownOrder),
            (10_028, VenueReject::RateLimit),
            (99_999, VenueReject::Other),
        ] {
            assert_eq!(ErrorAnswer { code, message: b"" }.reject(), reason, "{code}");
        }
    }

    #[test]
    fn a_code_says_what_became_of_the_request() {
        for (code, outcome) in [
            (10_041, Outcome::NotDoneForNow),
            (11_094, Outcome::Unknown),
            (11_044, Outcome::OrderGone),
            (10_028, Outcome::Session),
            (13_009, Outcome::Session),
            (11_054, Outcome::Refused),
            (10_043, Outcome::Refused),
            (-32_602, Outcome::Refused),
            (10_009, Outcome::Refused),
            (13_020, Outcome::Refused),
            (99_999, Outcome::Unknown),
            (0, Outcome::Unknown),
        ] {
            assert_eq!(ErrorAnswer { code, message: b"" }.outcome(), outcome, "{code}");
        }
    }
}
