//! Why a venue that speaks FIX refused a request.
//!
//! FIX 4.4 has codes for some reasons only: none says that a post-only order would have traded, or
//! that the price is off its tick. Venues say that in words, beside 0 (the venue's option) or 99
//! (other), and these words are looked through.

use taut_fix::{BusinessMessageReject, BusinessRejectReason, CancelRejectReason};
use taut_oms::VenueReject;

/// What words in Text (58) say; the first that is there counts.
const WORDS: [(&[u8], VenueReject); 22] = [
    (b"too_many_requests", VenueReject::RateLimit),
    (b"too many requests", VenueReject::RateLimit),
    (b"rate limit", VenueReject::RateLimit),
    (b"post-only", VenueReject::WouldTrade),
    (b"post only", VenueReject::WouldTrade),
    (b"post_only", VenueReject::WouldTrade),
    (b"immediately match", VenueReject::WouldTrade),
    (b"halted", VenueReject::Halted),
    (b"suspended", VenueReject::Halted),
    (b"market is closed", VenueReject::Halted),
    (b"book_closed", VenueReject::Halted),
    (b"balance", VenueReject::Balance),
    (b"funds", VenueReject::Balance),
    (b"margin", VenueReject::Balance),
    (b"duplicate", VenueReject::Duplicate),
    (b"unknown symbol", VenueReject::UnknownSymbol),
    (b"invalid_instrument", VenueReject::UnknownSymbol),
    (b"not_open_order", VenueReject::TooLate),
    (b"order is over", VenueReject::TooLate),
    (b"price", VenueReject::Price),
    (b"quantity", VenueReject::Quantity),
    (b"qty", VenueReject::Quantity),
];

/// OrdRejReason (103) of FIX 4.4 and 5.0 SP2, and Text (58).
pub(crate) fn of_order(reason: Option<u32>, text: &[u8]) -> VenueReject {
    match reason {
        Some(1) => VenueReject::UnknownSymbol,
        Some(2) => VenueReject::Halted,
        Some(3 | 20) => VenueReject::Limit,
        Some(4 | 8) => VenueReject::TooLate,
        Some(5) => VenueReject::UnknownOrder,
        Some(6 | 7) => VenueReject::Duplicate,
        Some(10 | 15) => VenueReject::Account,
        Some(11) => VenueReject::Unsupported,
        Some(13 | 14) => VenueReject::Quantity,
        Some(16 | 18) => VenueReject::Price,
        _ => by_words(text),
    }
}

/// CxlRejReason (102) and Text (58).
pub(crate) fn of_change(reason: Option<CancelRejectReason>, text: &[u8]) -> VenueReject {
    match reason {
        Some(CancelRejectReason::TooLateToCancel) => VenueReject::TooLate,
        Some(CancelRejectReason::UnknownOrder) => VenueReject::UnknownOrder,
        Some(CancelRejectReason::AlreadyPending) => VenueReject::Pending,
        Some(CancelRejectReason::DuplicateClOrdId) => VenueReject::Duplicate,
        _ => by_words(text),
    }
}

/// BusinessRejectReason (380) and Text (58).
pub(crate) fn of_business(reject: &BusinessMessageReject<'_>) -> VenueReject {
    match reject.reason {
        BusinessRejectReason::UnknownSecurity => VenueReject::UnknownSymbol,
        BusinessRejectReason::UnsupportedMessageType => VenueReject::Unsupported,
        BusinessRejectReason::NotAuthorized => VenueReject::Account,
        _ => by_words(reject.text),
    }
}

/// What the venue's words say.
#[cold]
pub(crate) fn by_words(text: &[u8]) -> VenueReject {
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    let found = WORDS.iter().find(|(word, _)| has(word));
    found.map_or(VenueReject::Other, |(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_why_and_words_say_what_has_no_code() {
        for (code, text, reason) in [
            (Some(1), "", VenueReject::UnknownSymbol),
            (Some(2), "price", VenueReject::Halted),
            (Some(3), "", VenueReject::Limit),
            (Some(6), "", VenueReject::Duplicate),
            (Some(13), "", VenueReject::Quantity),
            (Some(16), "", VenueReject::Price),
            (Some(99), "Order is POST-ONLY and its price would cross", VenueReject::WouldTrade),
            (Some(99), "price too far", VenueReject::Price),
            (Some(0), "insufficient funds", VenueReject::Balance),
            (None, "not_enough_funds", VenueReject::Balance),
            (None, "post_only_reject", VenueReject::WouldTrade),
            (Some(99), "too_many_requests", VenueReject::RateLimit),
            (Some(0), "Rate limit exceeded: too many orders", VenueReject::RateLimit),
            (Some(99), "no", VenueReject::Other),
            (Some(77), "", VenueReject::Other),
        ] {
            assert_eq!(of_order(code, text.as_bytes()), reason, "{code:?} {text}");
        }
    }

    #[test]
    fn a_refused_change_says_why() {
        use CancelRejectReason as C;
        for (code, text, reason) in [
            (Some(C::TooLateToCancel), "", VenueReject::TooLate),
            (Some(C::UnknownOrder), "", VenueReject::UnknownOrder),
            (Some(C::AlreadyPending), "", VenueReject::Pending),
            (Some(C::DuplicateClOrdId), "", VenueReject::Duplicate),
            (Some(C::Other), "the order is post-only", VenueReject::WouldTrade),
            (None, "", VenueReject::Other),
        ] {
            assert_eq!(of_change(code, text.as_bytes()), reason, "{code:?} {text}");
        }
    }
}
