//! What an error's code means to whoever asked.
//!
//! Source: binance-spot-api-docs, "Error codes". The venue has more codes than are told apart here.

use taut_oms::VenueReject;

/// What the venue says instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorAnswer<'a> {
    /// What HTTP would say: 4xx blames the request, 5xx the venue; 418 and 429 are about limits.
    pub status: u64,
    /// Its number, below zero.
    pub code: i64,
    /// Its name, as it stands in the frame.
    pub message: &'a [u8],
    /// Nothing is to be sent before then: milliseconds of UTC by the venue's clock.
    pub retry_after_ms: Option<u64>,
    /// The rest of the frame from where the details begin; empty without any.
    pub data: &'a [u8],
}

/// What became of a request that ended in an error, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Not done, and may be asked for again later: a limit, or the venue is busy.
    NotDoneForNow,
    /// Nobody knows: the order has to be asked for by its name, and is not sent again.
    Unknown,
    /// The venue has no such order, or none that is open.
    OrderGone,
    /// Not done: the request's time is not the venue's.
    Late,
    /// Not done, and will not be: the request is wrong, or the account is not allowed to.
    Refused,
    /// The connection is not who it should be.
    Session,
}

/// Too many requests: the weight of a minute is spent.
const TOO_MANY_REQUESTS: i64 = -1_003;
/// Too many orders.
const TOO_MANY_ORDERS: i64 = -1_015;

impl ErrorAnswer<'_> {
    /// What became of the request. Of one that ended in the venue's own fault, or with a code that
    /// nobody documented, nobody knows.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if self.status >= 500 && self.code != -1_008 && self.code != -1_016 {
            return Outcome::Unknown;
        }
        match self.code {
            TOO_MANY_REQUESTS | TOO_MANY_ORDERS | -1_008 | -1_016 | -1_034 => {
                Outcome::NotDoneForNow
            }
            -1_000 | -1_001 | -1_006 | -1_007 => Outcome::Unknown,
            -1_021 => Outcome::Late,
            -2_013 => Outcome::OrderGone,
            // Of an order that stays it is said why.
            -2_011 if self.message == b"Unknown order sent." => Outcome::OrderGone,
            // An earlier request with this name may have been ours.
            -2_010 if self.message == b"Duplicate order sent." => Outcome::Unknown,
            -1_002 | -1_022 | -2_008 | -2_014 | -2_015 | -4_056 => Outcome::Session,
            -1_020 | -1_014 | -1_013 | -2_010 | -2_011 | -2_016 | -2_026 | -2_038 | -2_039 => {
                Outcome::Refused
            }
            // The request's parameters.
            -1_199..=-1_100 => Outcome::Refused,
            _ => Outcome::Unknown,
        }
    }

    /// Why the request was refused, where it was. Most codes stand for several reasons, which the
    /// venue's words tell apart.
    #[must_use]
    pub fn reject(&self) -> VenueReject {
        let says = |words: &[u8]| self.message.starts_with(words);
        match self.code {
            TOO_MANY_REQUESTS | TOO_MANY_ORDERS => VenueReject::RateLimit,
            -1_121 => VenueReject::UnknownSymbol,
            -2_013 => VenueReject::UnknownOrder,
            -2_026 => VenueReject::TooLate,
            -1_014 | -1_020 => VenueReject::Unsupported,
            -1_013 => self.filter(),
            _ if says(b"Order would immediately match and take") => VenueReject::WouldTrade,
            _ if says(b"Market is closed") => VenueReject::Halted,
            _ if says(b"Account has insufficient balance") => VenueReject::Balance,
            _ if says(b"Duplicate order sent") => VenueReject::Duplicate,
            _ if says(b"Unknown order sent") => VenueReject::UnknownOrder,
            _ if says(b"This action is disabled on this account") => VenueReject::Account,
            _ => VenueReject::Other,
        }
    }

    /// Which filter did not let an order pass: "Filter failure: " and its name.
    fn filter(&self) -> VenueReject {
        let name = self.message.strip_prefix(b"Filter failure: ");
        match name.unwrap_or(self.message) {
            b"PRICE_FILTER" | b"PERCENT_PRICE" | b"PERCENT_PRICE_BY_SIDE" | b"Invalid price." => {
                VenueReject::Price
            }
            b"LOT_SIZE" | b"MARKET_LOT_SIZE" | b"ICEBERG_PARTS" | b"Invalid quantity." => {
                VenueReject::Quantity
            }
            _ if name.is_some() => VenueReject::Limit,
            _ => VenueReject::Other,
        }
    }

    /// Whether that limit is one of orders, and not of requests.
    #[must_use]
    pub const fn is_about_orders(&self) -> bool {
        self.code == TOO_MANY_ORDERS
    }

    /// Whether a limit was reached: nothing more may be sent for a while.
    #[must_use]
    pub const fn is_limit(&self) -> bool {
        matches!(self.status, 418 | 429) || matches!(self.code, TOO_MANY_REQUESTS | TOO_MANY_ORDERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_words_say_why_a_request_is_refused() {
        for (code, message, reason) in [
            (-2_010, "Order would immediately match and take.", VenueReject::WouldTrade),
            (-2_010, "Market is closed.", VenueReject::Halted),
            (
                -2_010,
                "Account has insufficient balance for requested action.",
                VenueReject::Balance,
            ),
            (-1_121, "Invalid symbol.", VenueReject::UnknownSymbol),
            (-1_013, "Filter failure: PERCENT_PRICE_BY_SIDE", VenueReject::Price),
            (-1_013, "Filter failure: LOT_SIZE", VenueReject::Quantity),
            (-1_013, "Filter failure: NOTIONAL", VenueReject::Limit),
            (-2_011, "Unknown order sent.", VenueReject::UnknownOrder),
            (-1_015, "Too many new orders.", VenueReject::RateLimit),
            (-2_010, "Something new.", VenueReject::Other),
        ] {
            let message = message.as_bytes();
            let error = ErrorAnswer { status: 400, code, message, retry_after_ms: None, data: b"" };
            assert_eq!(error.reject(), reason, "{code}");
        }
    }

    #[test]
    fn a_code_says_what_became_of_the_request() {
        for (status, code, message, outcome) in [
            (429, -1_003, "Too much request weight used.", Outcome::NotDoneForNow),
            (400, -1_015, "Too many new orders.", Outcome::NotDoneForNow),
            (503, -1_008, "Server is currently overloaded.", Outcome::NotDoneForNow),
            (400, -1_000, "An unknown error.", Outcome::Unknown),
            (408, -1_007, "Timeout waiting for response.", Outcome::Unknown),
            (503, -1_013, "a proxy's words", Outcome::Unknown),
            (400, -1_013, "Filter failure: LOT_SIZE", Outcome::Refused),
            (400, -1_021, "Timestamp is outside of the recvWindow.", Outcome::Late),
            (400, -1_102, "A mandatory parameter was not sent.", Outcome::Refused),
            (400, -2_010, "Duplicate order sent.", Outcome::Unknown),
            (400, -2_010, "Account has insufficient balance.", Outcome::Refused),
            (400, -2_011, "Unknown order sent.", Outcome::OrderGone),
            (400, -2_011, "Order was not canceled due to cancel restrictions.", Outcome::Refused),
            (400, -2_013, "Order does not exist.", Outcome::OrderGone),
            (401, -2_015, "Invalid API-key, IP, or permissions.", Outcome::Session),
            (400, -9_999, "", Outcome::Unknown),
            (400, 0, "", Outcome::Unknown),
        ] {
            let message = message.as_bytes();
            let error = ErrorAnswer { status, code, message, retry_after_ms: None, data: b"" };
            assert_eq!(error.outcome(), outcome, "{code}");
        }
    }
}
