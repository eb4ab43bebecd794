//! Why a venue refused an order, or the change of one.

use core::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $reason:ident = $code:literal, $words:literal;)*) => {
        /// Why a venue refused an order, or to change or to cancel one. Venues have codes and words
        /// of their own for it; what they do not tell apart is [`Other`](Self::Other).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum VenueReject {
            $($(#[$doc])* $reason = $code,)*
        }

        impl VenueReject {
            /// All of them, in the order of their codes.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$reason),*];
            /// How many there are.
            pub const COUNT: usize = [$($code),*].len();

            /// The reason with this code.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$reason),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for VenueReject {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$reason => $words,)*
                })
            }
        }
    };
}

reasons! {
    /// The venue gave no reason, or one that has no name here.
    #[default]
    Other = 0, "other reason";
    /// A post-only order would have traded at once.
    WouldTrade = 1, "post-only, would trade at once";
    /// The instrument is halted, or the market is closed.
    Halted = 2, "halted or closed";
    /// The venue has no such instrument.
    UnknownSymbol = 3, "unknown symbol";
    /// The price is not on a tick, or is outside the venue's limits.
    Price = 4, "price off tick or out of limits";
    /// The quantity is no whole number of lots, or is outside the venue's limits.
    Quantity = 5, "quantity off lot or out of limits";
    /// A limit of the venue's: open orders, worth, position, room in the book.
    Limit = 6, "a limit of the venue";
    /// The account has not enough money or margin.
    Balance = 7, "insufficient balance";
    /// The order is over, or the request came too late.
    TooLate = 8, "too late";
    /// The venue has no such order.
    UnknownOrder = 9, "unknown order";
    /// The id of the order or of the request was used before.
    Duplicate = 10, "duplicate id";
    /// Another change of the order is under way at the venue.
    Pending = 11, "another change under way";
    /// The venue does not take such terms, or such a request.
    Unsupported = 12, "unsupported";
    /// The venue does not know the account, or does not let it trade.
    Account = 13, "account unknown or not allowed";
    /// Too many requests or orders in a time.
    RateLimit = 14, "too many requests";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_the_code_of_its_place() {
        for (place, reason) in VenueReject::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
            assert_eq!(VenueReject::from_code(reason as u8), Some(reason));
        }
        assert_eq!(VenueReject::from_code(VenueReject::COUNT as u8), None);
    }
}
