//! What became of an order.

use taut_oms::{OrderState, RiskReject, Trouble, VenueReject};
use taut_ring::Payload;
use taut_types::{AccountId, ClientOrderId, InstrumentId, Lots, Nanos, Price, Side};

use crate::message::reply_stamp::ReplyStamp;
use crate::message::slots::{Slots, byte, head, high, kind};

/// Why the gateway itself refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A pre-trade check said no.
    Risk(RiskReject),
    /// The order session is not logged on.
    NotConnected,
    /// The order table has no room, or the id was used before.
    Table,
    /// There is no working order to cancel or to modify.
    NotWorking,
    /// The gateway has no instrument with this number.
    UnknownInstrument,
    /// The venue takes no such request.
    Unsupported,
    /// A cancel of the order, or as many requests as can be, are under way.
    Busy,
    /// Something is wrong with the order: it can only be cancelled.
    Quarantined,
    /// The order has another version than the one that the request depends on.
    Version,
    /// The order journal takes nothing: what leaves must be in it.
    Journal,
    /// The venue would be asked for more than it allows.
    Throttled,
    /// The venue's filters for the instrument do not let such an order pass: its price, its
    /// quantity, its worth, or how many are open.
    Filtered,
}

impl Refusal {
    fn to_code(self) -> u8 {
        match self {
            Self::Risk(reason) => reason.code(),
            Self::NotConnected => 64,
            Self::Table => 65,
            Self::NotWorking => 66,
            Self::UnknownInstrument => 67,
            Self::Unsupported => 68,
            Self::Busy => 69,
            Self::Quarantined => 70,
            Self::Version => 71,
            Self::Journal => 72,
            Self::Throttled => 73,
            Self::Filtered => 74,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            64 => Self::NotConnected,
            65 => Self::Table,
            66 => Self::NotWorking,
            67 => Self::UnknownInstrument,
            68 => Self::Unsupported,
            69 => Self::Busy,
            70 => Self::Quarantined,
            71 => Self::Version,
            72 => Self::Journal,
            73 => Self::Throttled,
            74 => Self::Filtered,
            reason => Self::Risk(RiskReject::from_code(reason)?),
        })
    }
}

/// What happened to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// The venue took it.
    Accepted,
    /// The venue refused it.
    Rejected(VenueReject),
    /// It traded.
    Filled {
        /// At this price.
        price: Price,
        /// This much.
        lots: Lots,
    },
    /// The venue cancelled it, at our request or unasked.
    Cancelled,
    /// The venue refused to cancel it.
    CancelRejected(VenueReject),
    /// The venue cancelled what is left by the order's own terms.
    Expired,
    /// The gateway refused the request; it never left.
    Refused(Refusal),
    /// It has the price and the quantity that were asked for.
    Replaced,
    /// The venue refused to change it.
    ModifyRejected(VenueReject),
    /// A trade was taken back (less than no lots), put right, or is known by the venue's total.
    Corrected {
        /// At this price.
        price: Price,
        /// This much.
        lots: Lots,
    },
    /// The venue changed it by itself: its terms or its state.
    Restated,
    /// Its day is over.
    DoneForDay,
    /// Nobody knows what became of a request: the connection broke, or no answer came. It is not
    /// sent again; the venue is asked.
    Unknown,
    /// Something is wrong with it. What is told of trades counts all the same.
    Quarantined(Trouble),
}

impl UpdateKind {
    /// Why the venue refused the order, or to change or to cancel it; nothing where it did not.
    #[must_use]
    pub const fn reject(self) -> Option<VenueReject> {
        match self {
            Self::Rejected(reason)
            | Self::CancelRejected(reason)
            | Self::ModifyRejected(reason) => Some(reason),
            _ => None,
        }
    }
}

/// An update of an order for the strategy that owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderUpdate {
    /// Which order.
    pub id: ClientOrderId,
    /// The version that the order has at the venue: 1 when it was created, and one more for every
    /// modification that the venue took.
    pub version: u16,
    /// What it trades.
    pub instrument: InstrumentId,
    /// For which account.
    pub account: AccountId,
    /// Buy or sell.
    pub side: Side,
    /// What happened.
    pub kind: UpdateKind,
    /// Its state afterwards.
    pub state: OrderState,
    /// What of it may still trade.
    pub lots_open: Lots,
    /// What of it has traded.
    pub lots_filled: Lots,
    /// The limit price that it has at the venue.
    pub price: Price,
    /// The quantity that it has at the venue, with what has traded.
    pub lots: Lots,
    /// The price that was asked for last: another one while a modify is under way.
    pub price_asked: Price,
    /// The quantity that was asked for last; none while a cancel is under way.
    pub lots_asked: Lots,
    /// When the exchange says that it happened (UTC); 0 when it does not say.
    pub exchange_time: Nanos,
}

impl OrderUpdate {
    /// Packs it, with the time of what it tells, the position of the next market event (where a
    /// strategy is that reads both in the order in which the gateway wrote them), and the number of
    /// the last request that the gateway has taken from the strategy.
    #[must_use]
    pub(crate) fn pack(&self, stamp: ReplyStamp, taken: u16) -> Slots {
        let (code, reason, price, lots) = match self.kind {
            UpdateKind::Accepted => (0, 0, 0, 0),
            UpdateKind::Rejected(reason) => (1, reason as u8, 0, 0),
            UpdateKind::Filled { price, lots } => (2, 0, price.0, lots.0),
            UpdateKind::Cancelled => (3, 0, 0, 0),
            UpdateKind::CancelRejected(reason) => (4, reason as u8, 0, 0),
            UpdateKind::Expired => (5, 0, 0, 0),
            UpdateKind::Refused(reason) => (6, reason.to_code(), 0, 0),
            UpdateKind::Replaced => (7, 0, 0, 0),
            UpdateKind::ModifyRejected(reason) => (8, reason as u8, 0, 0),
            UpdateKind::Corrected { price, lots } => (9, 0, price.0, lots.0),
            UpdateKind::Restated => (10, 0, 0, 0),
            UpdateKind::DoneForDay => (11, 0, 0, 0),
            UpdateKind::Unknown => (12, 0, 0, 0),
            UpdateKind::Quarantined(trouble) => (13, trouble as u8, 0, 0),
        };
        let unsigned = |value: i64| value.cast_unsigned();
        let [stamp_low, stamp_high] = stamp.to_words();
        let before = [
            head(
                [kind::BEFORE, code, reason, self.state as u8],
                u32::from(self.version) | u32::from(taken) << 16,
            ),
            unsigned(self.lots_filled.0),
            unsigned(self.exchange_time.0),
            stamp_low,
            unsigned(self.price.0),
            unsigned(self.lots.0),
            unsigned(self.price_asked.0),
        ];
        let slot = [
            head([kind::UPDATE, self.side as u8, 0, self.account.0], self.instrument.0),
            self.id.0,
            unsigned(price),
            unsigned(lots),
            unsigned(self.lots_open.0),
            stamp_high,
            unsigned(self.lots_asked.0),
        ];
        Slots::two(before, slot)
    }

    /// The update, when it was told, and the number of the last request that had been taken, if
    /// the two slots are one.
    pub(super) fn unpack(before: &Payload, slot: &Payload) -> Option<(Self, ReplyStamp, u16)> {
        let [said, lots_filled, exchange_time, stamp_low, order_price, order_lots, price_asked] =
            *before;
        let [head, id, price, lots, lots_open, stamp_high, lots_asked] = *slot;
        let stamp = ReplyStamp::from_words([stamp_low, stamp_high]);
        let kind = match byte(said, 1) {
            0 => UpdateKind::Accepted,
            1 => UpdateKind::Rejected(VenueReject::from_code(byte(said, 2))?),
            2 => UpdateKind::Filled {
                price: Price(price.cast_signed()),
                lots: Lots(lots.cast_signed()),
            },
            3 => UpdateKind::Cancelled,
            4 => UpdateKind::CancelRejected(VenueReject::from_code(byte(said, 2))?),
            5 => UpdateKind::Expired,
            6 => UpdateKind::Refused(Refusal::from_code(byte(said, 2))?),
            7 => UpdateKind::Replaced,
            8 => UpdateKind::ModifyRejected(VenueReject::from_code(byte(said, 2))?),
            9 => UpdateKind::Corrected {
                price: Price(price.cast_signed()),
                lots: Lots(lots.cast_signed()),
            },
            10 => UpdateKind::Restated,
            11 => UpdateKind::DoneForDay,
            12 => UpdateKind::Unknown,
            13 => UpdateKind::Quarantined(Trouble::from_code(byte(said, 2))?),
            _ => return None,
        };
        let update = Self {
            id: ClientOrderId(id),
            version: high(said) as u16,
            instrument: InstrumentId(high(head)),
            account: AccountId(byte(head, 3)),
            side: Side::from_index(byte(head, 1))?,
            kind,
            state: OrderState::from_index(byte(said, 3))?,
            lots_open: Lots(lots_open.cast_signed()),
            lots_filled: Lots(lots_filled.cast_signed()),
            price: Price(order_price.cast_signed()),
            lots: Lots(order_lots.cast_signed()),
            price_asked: Price(price_asked.cast_signed()),
            lots_asked: Lots(lots_asked.cast_signed()),
            exchange_time: Nanos(exchange_time.cast_signed()),
        };
        Some((update, stamp, (high(said) >> 16) as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_update_is_itself_again() {
        let refusals = (0..=u8::MAX).filter_map(Refusal::from_code).map(UpdateKind::Refused);
        let kinds = [
            UpdateKind::Accepted,
            UpdateKind::Filled { price: Price(3), lots: Lots(4) },
            UpdateKind::Cancelled,
            UpdateKind::Expired,
            UpdateKind::Replaced,
            UpdateKind::Corrected { price: Price(3), lots: Lots(-4) },
            UpdateKind::Restated,
            UpdateKind::DoneForDay,
            UpdateKind::Unknown,
        ];
        let troubles = Trouble::ALL.map(UpdateKind::Quarantined);
        let rejects = VenueReject::ALL.into_iter().flat_map(|reason| {
            [
                UpdateKind::Rejected(reason),
                UpdateKind::CancelRejected(reason),
                UpdateKind::ModifyRejected(reason),
            ]
        });
        for kind in kinds.into_iter().chain(refusals).chain(troubles).chain(rejects) {
            for state in OrderState::ALL {
                let update = OrderUpdate {
                    id: ClientOrderId(5),
                    version: u16::MAX,
                    instrument: InstrumentId(1_999),
                    account: AccountId(255),
                    side: Side::Sell,
                    kind,
                    state,
                    lots_open: Lots(6),
                    lots_filled: Lots(7),
                    price: Price(-1),
                    lots: Lots(10),
                    price_asked: Price(11),
                    lots_asked: Lots(12),
                    exchange_time: Nanos(8),
                };
                let stamp = ReplyStamp { position: 9, at: Nanos(77), published: Nanos(80) };
                let slots = update.pack(stamp, 65_000);
                let [before, slot] = slots.as_slice() else { panic!("two slots") };
                assert_eq!(OrderUpdate::unpack(before, slot), Some((update, stamp, 65_000)));
            }
        }
    }
}
