//! What an error's code means to whoever asked.
//!
//! Source: okx.com/docs-v5, "Error Code". The venue has more codes than are told apart here.

use taut_oms::VenueReject;

/// What became of a request that ended in an error, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Not done, and may be asked for again later: a limit, or the venue is busy.
    NotDoneForNow,
    /// Nobody knows: the order has to be asked for by its name, and is not sent again.
    Unknown,
    /// The venue has no such order, or none that is open.
    OrderGone,
    /// Not done, and will not be: the request is wrong, or the account is not allowed to.
    Refused,
    /// The connection is not who it should be, or is ended.
    Session,
}

/// What became of a request with this code. Of one that ended in the venue's own fault, or with a
/// code that nobody documented, nobody knows.
#[must_use]
pub const fn outcome(code: u64) -> Outcome {
    match code {
        // Too many requests of this kind, or of the whole account; the venue is busy.
        50_011 | 50_013 | 50_040 | 50_061 | 60_014 => Outcome::NotDoneForNow,
        // An earlier request with this name may have been ours.
        51_016 => Outcome::Unknown,
        // Timed out, which says neither; a system error.
        50_004 | 50_026 | 51_054 | 51_149 => Outcome::Unknown,
        51_400..=51_402 | 51_405 | 51_410 | 51_503 | 51_509 | 51_510 | 51_603 => Outcome::OrderGone,
        // Keys, signatures, time stamps, the login; a connection that ends for an upgrade.
        50_100..=50_121 | 60_003..=60_009 | 60_011 | 60_024 | 60_032 | 64_008 => Outcome::Session,
        // The request's own parameters; the account; the order's terms; its funds and limits.
        50_000 | 50_002..=50_003 | 50_005..=50_010 | 50_012 | 50_014..=50_025 | 50_027..=50_030 => {
            Outcome::Refused
        }
        51_000..=51_599 | 54_000..=54_100 | 59_000..=59_300 | 60_012..=60_013 | 60_018 => {
            Outcome::Refused
        }
        _ => Outcome::Unknown,
    }
}

/// Why a request with this code was refused, where it was. A post-only order that would trade has
/// no code: the venue takes it and cancels it.
#[must_use]
pub const fn reject(code: u64) -> VenueReject {
    match code {
        // Not launched yet, suspended, expired, settled; only at another time.
        51_021 | 51_022 | 51_027..=51_030 | 51_110 => VenueReject::Halted,
        51_001 | 51_015 => VenueReject::UnknownSymbol,
        51_006 | 51_116 | 51_122 | 51_136..=51_139 => VenueReject::Price,
        51_020 | 51_120 | 51_121 | 51_202 => VenueReject::Quantity,
        51_004 | 51_005 | 51_025 | 51_103 | 51_201 => VenueReject::Limit,
        51_008 | 51_119 | 51_127 | 51_131 => VenueReject::Balance,
        51_400..=51_402 | 51_509 | 51_510 => VenueReject::TooLate,
        51_503 | 51_603 => VenueReject::UnknownOrder,
        51_016 => VenueReject::Duplicate,
        51_410 => VenueReject::Pending,
        51_024 => VenueReject::Account,
        50_011 | 50_040 | 50_061 | 60_014 => VenueReject::RateLimit,
        _ => VenueReject::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_why_a_request_is_refused() {
        for (code, reason) in [
            (51_001, VenueReject::UnknownSymbol),
            (51_022, VenueReject::Halted),
            (51_006, VenueReject::Price),
            (51_121, VenueReject::Quantity),
            (51_008, VenueReject::Balance),
            (51_400, VenueReject::TooLate),
            (51_603, VenueReject::UnknownOrder),
            (50_011, VenueReject::RateLimit),
            (99_999, VenueReject::Other),
        ] {
            assert_eq!(reject(code), reason, "{code}");
        }
    }

    #[test]
    fn what_nobody_documented_is_unknown_and_a_limit_can_wait() {
        for (code, expected) in [
            (51_008, Outcome::Refused),
            (51_016, Outcome::Unknown),
            (51_400, Outcome::OrderGone),
            (51_603, Outcome::OrderGone),
            (50_011, Outcome::NotDoneForNow),
            (50_004, Outcome::Unknown),
            (50_113, Outcome::Session),
            (60_009, Outcome::Session),
            (1, Outcome::Unknown),
            (99_999, Outcome::Unknown),
        ] {
            assert_eq!(outcome(code), expected, "{code}");
        }
    }
}
