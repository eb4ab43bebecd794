//! Enumerated values: their one-byte codes on the wire.

use taut_types::{OrderType, Side, TimeInForce};

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

codes! {
    /// ExecType (150): what an execution report is about.
    ExecType {
        /// The order is accepted.
        New = b'0',
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
    }
}

codes! {
    /// OrdStatus (39): where an order stands.
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

/// The side with this code; the standard's other sides are not supported.
pub const fn side_from_byte(byte: u8) -> Option<Side> {
    match byte {
        b'1' => Some(Side::Buy),
        b'2' => Some(Side::Sell),
        _ => None,
    }
}

/// OrdType (40) on the wire.
pub const fn order_type_to_byte(order_type: OrderType) -> u8 {
    match order_type {
        OrderType::Market => b'1',
        OrderType::Limit => b'2',
    }
}

/// The order type with this code; the standard's other types are not supported.
pub const fn order_type_from_byte(byte: u8) -> Option<OrderType> {
    match byte {
        b'1' => Some(OrderType::Market),
        b'2' => Some(OrderType::Limit),
        _ => None,
    }
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

    #[test]
    fn every_code_round_trips() {
        for value in ExecType::ALL {
            assert_eq!(ExecType::from_byte(value.to_byte()), Some(*value));
        }
        for value in OrdStatus::ALL {
            assert_eq!(OrdStatus::from_byte(value.to_byte()), Some(*value));
        }
        for side in Side::BOTH {
            assert_eq!(side_from_byte(side_to_byte(side)), Some(side));
        }
        for byte in 0..=u8::MAX {
            for back in [
                side_from_byte(byte).map(side_to_byte),
                order_type_from_byte(byte).map(order_type_to_byte),
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
