//! Enumerated values: their one-byte codes on the wire.

use taut_types::{OrderFlags, OrderType, Side, TimeInForce};

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $code:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// Every value, in the order of the standard.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its code on the wire.
            #[must_use]
            pub const fn to_byte(self) -> u8 {
                match self {
                    $(Self::$variant => $code,)*
                }
            }

            /// The value with this code.
            #[must_use]
            pub const fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// As `codes`, of a set that venues add to: a code without a name is kept.
macro_rules! open_codes {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $code:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// A code that no version of the standard has; `?` stands for one of several letters.
            Other(u8),
        }

        impl $name {
            /// Every value that the standard names, in its order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its code on the wire.
            #[must_use]
            pub const fn to_byte(self) -> u8 {
                match self {
                    $(Self::$variant => $code,)*
                    Self::Other(code) => code,
                }
            }

            /// The value with this code.
            #[must_use]
            pub const fn from_byte(byte: u8) -> Self {
                match byte {
                    $($code => Self::$variant,)*
                    other => Self::Other(other),
                }
            }

            /// The value of a field.
            #[inline]
            pub(crate) const fn of(value: &[u8]) -> Self {
                match value {
                    [byte] => Self::from_byte(*byte),
                    _ => Self::Other(b'?'),
                }
            }
        }
    };
}

open_codes! {
    /// ExecType (150), of FIX 4.2 to 5.0 SP2: what an execution report is about.
    ExecType {
        /// The order is accepted.
        New = b'0',
        /// A part of it traded (up to FIX 4.2; then [`ExecType::Trade`]).
        PartialFill = b'1',
        /// The last of it traded (up to FIX 4.2; then [`ExecType::Trade`]).
        Fill = b'2',
        /// Its day is over.
        DoneForDay = b'3',
        /// It is cancelled.
        Canceled = b'4',
        /// It is replaced.
        Replaced = b'5',
        /// A cancel is under way.
        PendingCancel = b'6',
        /// It is stopped.
        Stopped = b'7',
        /// It is refused.
        Rejected = b'8',
        /// It is suspended.
        Suspended = b'9',
        /// It is received, not yet accepted.
        PendingNew = b'A',
        /// It is calculated.
        Calculated = b'B',
        /// It expired.
        Expired = b'C',
        /// The venue changed it.
        Restated = b'D',
        /// A replacement is under way.
        PendingReplace = b'E',
        /// It traded.
        Trade = b'F',
        /// A trade of it is corrected.
        TradeCorrect = b'G',
        /// A trade of it is cancelled.
        TradeCancel = b'H',
        /// The answer to a status request.
        OrderStatus = b'I',
        /// A trade of it waits for its clearing (from FIX 5.0 on).
        TradeInClearingHold = b'J',
        /// A trade of it went to its clearing (from FIX 5.0 on).
        TradeReleasedToClearing = b'K',
        /// A stop order of it is in the market now (from FIX 5.0 on).
        Triggered = b'L',
    }
}

open_codes! {
    /// OrdStatus (39), of FIX 4.2 to 5.0 SP2: where an order stands.
    OrdStatus {
        /// Accepted, nothing traded.
        New = b'0',
        /// Some of it traded.
        PartiallyFilled = b'1',
        /// All of it traded.
        Filled = b'2',
        /// Its day is over.
        DoneForDay = b'3',
        /// Cancelled.
        Canceled = b'4',
        /// Replaced (up to FIX 4.2).
        Replaced = b'5',
        /// A cancel is under way.
        PendingCancel = b'6',
        /// Stopped.
        Stopped = b'7',
        /// Refused.
        Rejected = b'8',
        /// Suspended.
        Suspended = b'9',
        /// Received, not yet accepted.
        PendingNew = b'A',
        /// Calculated.
        Calculated = b'B',
        /// Expired.
        Expired = b'C',
        /// Accepted for bidding.
        AcceptedForBidding = b'D',
        /// A replacement is under way.
        PendingReplace = b'E',
    }
}

codes! {
    /// ExecTransType (20) of FIX 4.2 and before: what a report does to an earlier one.
    ExecTransType {
        /// It tells something new.
        New = b'0',
        /// It cancels the trade that ExecRefID (19) names.
        Cancel = b'1',
        /// It corrects the trade that ExecRefID (19) names.
        Correct = b'2',
        /// It answers a status request.
        Status = b'3',
    }
}

open_codes! {
    /// MassStatusReqType (585): the orders that are asked for.
    MassStatusType {
        /// Of a security.
        Security = b'1',
        /// All of them.
        All = b'7',
    }
}

open_codes! {
    /// MassCancelRequestType (530) and MassCancelResponse (531): the orders that are cancelled.
    MassCancelType {
        /// None: the request is refused.
        Refused = b'0',
        /// Of a security.
        Security = b'1',
        /// All of them.
        All = b'7',
    }
}

codes! {
    /// CxlRejResponseTo (434): which request an OrderCancelReject answers.
    ResponseTo {
        /// An OrderCancelRequest (F).
        CancelRequest = b'1',
        /// An OrderCancelReplaceRequest (G).
        ReplaceRequest = b'2',
    }
}

/// CxlRejReason (102).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum CancelRejectReason {
    /// 0
    TooLateToCancel = 0,
    /// 1
    UnknownOrder = 1,
    /// 2
    BrokerOption = 2,
    /// 3
    AlreadyPending = 3,
    /// 6
    DuplicateClOrdId = 6,
    /// 99, and every value that has no name here.
    Other = 99,
}

impl CancelRejectReason {
    /// Its value on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The reason with this value; [`CancelRejectReason::Other`] when it has no name here.
    #[must_use]
    pub const fn from_code(code: u64) -> Self {
        match code {
            0 => Self::TooLateToCancel,
            1 => Self::UnknownOrder,
            2 => Self::BrokerOption,
            3 => Self::AlreadyPending,
            6 => Self::DuplicateClOrdId,
            _ => Self::Other,
        }
    }
}

/// Side (54) on the wire.
pub const fn side_to_byte(side: Side) -> u8 {
    match side {
        Side::Buy => b'1',
        Side::Sell => b'2',
    }
}

/// The side of a report, which may be of an order that somebody else sent: buy minus buys; sell
/// plus, sell short and sell short exempt sell.
pub const fn report_side_from_byte(byte: u8) -> Option<Side> {
    match byte {
        b'1' | b'3' => Some(Side::Buy),
        b'2' | b'4' | b'5' | b'6' => Some(Side::Sell),
        _ => None,
    }
}

/// The side with this code; the standard's other sides are not supported.
pub const fn side_from_byte(byte: u8) -> Option<Side> {
    match byte {
        b'1' => Some(Side::Buy),
        b'2' => Some(Side::Sell),
        _ => None,
    }
}

/// OrdType (40) on the wire: of an order with a stop price, what it becomes when that is reached
/// says which of the two stop types it is.
pub const fn order_type_to_byte(order_type: OrderType, is_stop: bool) -> u8 {
    match (order_type, is_stop) {
        (OrderType::Market, false) => b'1',
        (OrderType::Limit, false) => b'2',
        (OrderType::Market, true) => b'3',
        (OrderType::Limit, true) => b'4',
    }
}

/// The order type with this code, and whether it is a stop; the standard's other types are not
/// supported.
pub const fn order_type_from_byte(byte: u8) -> Option<(OrderType, bool)> {
    match byte {
        b'1' => Some((OrderType::Market, false)),
        b'2' => Some((OrderType::Limit, false)),
        b'3' => Some((OrderType::Market, true)),
        b'4' => Some((OrderType::Limit, true)),
        _ => None,
    }
}

/// ExecInst (18) of these flags; empty for none. Venues differ for reduce-only: `E` is Deribit's.
pub const fn exec_inst_of(flags: OrderFlags) -> &'static [u8] {
    let (post_only, reduce_only) =
        (flags.contains(OrderFlags::POST_ONLY), flags.contains(OrderFlags::REDUCE_ONLY));
    match (post_only, reduce_only) {
        (false, false) => b"",
        (true, false) => b"6",
        (false, true) => b"E",
        (true, true) => b"6 E",
    }
}

/// The flags in ExecInst (18); nothing when one of its instructions is another.
pub fn flags_of(exec_inst: &[u8]) -> Option<OrderFlags> {
    let instructions = exec_inst.split(|byte| *byte == b' ');
    instructions.into_iter().try_fold(OrderFlags::NONE, |flags, instruction| match instruction {
        b"6" => Some(flags | OrderFlags::POST_ONLY),
        b"E" => Some(flags | OrderFlags::REDUCE_ONLY),
        _ => None,
    })
}

/// TimeInForce (59) on the wire.
pub const fn time_in_force_to_byte(time_in_force: TimeInForce) -> u8 {
    match time_in_force {
        TimeInForce::Day => b'0',
        TimeInForce::GoodTillCancel => b'1',
        TimeInForce::ImmediateOrCancel => b'3',
        TimeInForce::FillOrKill => b'4',
    }
}

/// The time in force with this code; the standard's other values are not supported.
pub const fn time_in_force_from_byte(byte: u8) -> Option<TimeInForce> {
    match byte {
        b'0' => Some(TimeInForce::Day),
        b'1' => Some(TimeInForce::GoodTillCancel),
        b'3' => Some(TimeInForce::ImmediateOrCancel),
        b'4' => Some(TimeInForce::FillOrKill),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_code_round_trips() {
        for byte in 0..=u8::MAX {
            let (exec_type, status) = (ExecType::from_byte(byte), OrdStatus::from_byte(byte));
            assert_eq!((exec_type.to_byte(), status.to_byte()), (byte, byte));
            assert_eq!(ExecType::ALL.contains(&exec_type), exec_type != ExecType::Other(byte));
            assert_eq!(OrdStatus::ALL.contains(&status), status != OrdStatus::Other(byte));
        }
        let codes: Vec<u8> = ExecType::ALL.iter().map(|value| value.to_byte()).collect();
        assert_eq!(codes, b"0123456789ABCDEFGHIJKL");
        let codes: Vec<u8> = OrdStatus::ALL.iter().map(|value| value.to_byte()).collect();
        assert_eq!(codes, b"0123456789ABCDE");
        assert_eq!(OrdStatus::of(b"10"), OrdStatus::Other(b'?'));
        for bits in 0..4 {
            let flags = OrderFlags::from_bits(bits).unwrap();
            let back = if bits == 0 { None } else { Some(flags) };
            assert_eq!(flags_of(exec_inst_of(flags)), back);
        }
        assert_eq!(flags_of(b"6 x"), None);
        for side in Side::BOTH {
            assert_eq!(side_from_byte(side_to_byte(side)), Some(side));
        }
        for byte in 0..=u8::MAX {
            for back in [
                side_from_byte(byte).map(side_to_byte),
                order_type_from_byte(byte).map(|(kind, stop)| order_type_to_byte(kind, stop)),
                ExecTransType::from_byte(byte).map(ExecTransType::to_byte),
                time_in_force_from_byte(byte).map(time_in_force_to_byte),
                ResponseTo::from_byte(byte).map(ResponseTo::to_byte),
            ] {
                assert!(back.is_none_or(|back| back == byte));
            }
            let code = CancelRejectReason::from_code(u64::from(byte));
            assert!(code == CancelRejectReason::Other || code.code() == byte);
        }
    }
}
