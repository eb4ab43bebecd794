//! What a strategy asks for and is answered, and how it is packed into the slots of a ring.
//!
//! Every message is one [`Payload`] of seven words. Words that a peer made up decode to nothing;
//! they can never panic. Market data is packed by [`taut_market_data::Event::to_words`].

use taut_lat::{Stage, StageOffsets};
use taut_oms::{OrderState, RiskReject};
use taut_ring::Payload;
use taut_types::{ClientOrderId, Lots, Nanos, OrderType, Price, Side, TimeInForce};

/// When the packet behind an event was received, and where its first stages ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickStamps {
    /// When the receive call returned, on the monotonic clock; 0 when nothing is to be measured.
    pub origin: Nanos,
    /// Ends of `decode`, `book` and `publish`, in ns after the origin.
    pub ends: [u32; 3],
}

impl TickStamps {
    /// Stamps of something that no packet caused.
    pub const NONE: Self = Self { origin: Nanos::ZERO, ends: [0; 3] };

    /// Whether an order that follows from it is measured.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        self.origin.0 != 0
    }

    /// The same as the beginning of an order's stage offsets.
    #[must_use]
    pub fn offsets(&self) -> StageOffsets {
        self.complete(StageOffsets::ZERO)
    }

    /// Offsets of later stages with these before them.
    #[must_use]
    pub fn complete(&self, mut offsets: StageOffsets) -> StageOffsets {
        let [decode, book, publish] = self.ends;
        offsets.set_end(Stage::Decode, decode.into());
        offsets.set_end(Stage::Book, book.into());
        offsets.set_end(Stage::Publish, publish.into());
        offsets
    }
}

const fn word(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

const fn low(word: u64) -> u32 {
    word as u32
}

const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

const fn byte(word: u64, index: u32) -> u8 {
    (word >> (8 * index)) as u8
}

/// A new order, as a strategy asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Buy or sell.
    pub side: Side,
    /// Limit or market.
    pub order_type: OrderType,
    /// How long it lives.
    pub time_in_force: TimeInForce,
    /// The limit price; not looked at for a market order.
    pub price: Price,
    /// How much.
    pub lots: Lots,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Send this order.
    New(NewOrder),
    /// Cancel the order with this id.
    Cancel(ClientOrderId),
}

/// A strategy's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its own id; that of the order, when it is a new one.
    pub id: ClientOrderId,
    /// What it asks for.
    pub kind: RequestKind,
    /// When the packet that caused it was received; 0 when none did.
    pub origin: Nanos,
    /// Where its stages ended so far: up to `strategy`.
    pub offsets: StageOffsets,
}

impl Request {
    /// Packs it, with the mark of the event that caused it. Word 0: kind, side, type, time in
    /// force; word 1: id; words 2 and 3: price and lots, or the order to cancel; word 4: origin;
    /// word 5: ends of `to_strategy` and `strategy`; word 6: the mark. The other ends stay in the
    /// gateway.
    #[must_use]
    pub fn pack(&self, mark: u16) -> Payload {
        let [_, _, _, to_strategy, strategy, ..] = self.offsets.ends();
        let (head, a, b) = match self.kind {
            RequestKind::New(order) => {
                let (side, kind) = (order.side as u8, order.order_type as u8);
                let head = [0, side, kind, order.time_in_force as u8];
                (head, order.price.0.cast_unsigned(), order.lots.0.cast_unsigned())
            }
            RequestKind::Cancel(order) => ([1, 0, 0, 0], order.0, 0),
        };
        [
            u32::from_le_bytes(head).into(),
            self.id.0,
            a,
            b,
            self.origin.0.cast_unsigned(),
            word(to_strategy, strategy),
            mark.into(),
        ]
    }

    /// The request and its mark, if the words are one.
    #[must_use]
    pub fn unpack(payload: &Payload) -> Option<(Self, u16)> {
        let [head, id, a, b, origin, ends, mark] = *payload;
        let kind = match byte(head, 0) {
            0 => RequestKind::New(NewOrder {
                side: Side::from_index(byte(head, 1))?,
                order_type: OrderType::from_index(byte(head, 2))?,
                time_in_force: TimeInForce::from_index(byte(head, 3))?,
                price: Price(a.cast_signed()),
                lots: Lots(b.cast_signed()),
            }),
            1 => RequestKind::Cancel(ClientOrderId(a)),
            _ => return None,
        };
        let ends = [0, 0, 0, low(ends), high(ends), 0, 0, 0, 0];
        let offsets = StageOffsets::from_ends(ends);
        let origin = Nanos(origin.cast_signed());
        Some((Self { id: ClientOrderId(id), kind, origin, offsets }, low(mark) as u16))
    }
}

/// Why the gateway itself refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A pre-trade check said no.
    Risk(RiskReject),
    /// The order session is not logged on.
    NotConnected,
    /// The order table has no room, or the id was used before.
    Table,
    /// There is no working order to cancel.
    NotWorking,
}

impl Refusal {
    const fn to_code(self) -> u8 {
        match self {
            Self::Risk(reason) => reason as u8,
            Self::NotConnected => 64,
            Self::Table => 65,
            Self::NotWorking => 66,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        use RiskReject as R;
        Some(match code {
            1 => Self::Risk(R::Quantity),
            2 => Self::Risk(R::PriceCollar),
            3 => Self::Risk(R::NoReference),
            4 => Self::Risk(R::Rate),
            5 => Self::Risk(R::Position),
            6 => Self::Risk(R::OpenOrders),
            7 => Self::Risk(R::Killed),
            64 => Self::NotConnected,
            65 => Self::Table,
            66 => Self::NotWorking,
            _ => return None,
        })
    }
}

/// What happened to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// The venue took it.
    Accepted,
    /// The venue refused it.
    Rejected,
    /// It traded.
    Filled {
        /// At this price.
        price: Price,
        /// This much.
        lots: Lots,
    },
    /// The venue cancelled it at our request.
    Cancelled,
    /// The venue refused to cancel it.
    CancelRejected,
    /// The venue cancelled it unasked.
    Expired,
    /// The gateway refused the request; it never left.
    Refused(Refusal),
}

/// An update of an order for the strategy that owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderUpdate {
    /// Which order.
    pub id: ClientOrderId,
    /// What happened.
    pub kind: UpdateKind,
    /// Its state afterwards.
    pub state: OrderState,
    /// What of it may still trade.
    pub lots_open: Lots,
}

impl OrderUpdate {
    /// Packs it, with the time of what it tells.
    #[must_use]
    pub fn pack(&self, at: Nanos) -> Payload {
        let (kind, code, price, lots) = match self.kind {
            UpdateKind::Accepted => (0, 0, 0, 0),
            UpdateKind::Rejected => (1, 0, 0, 0),
            UpdateKind::Filled { price, lots } => (2, 0, price.0, lots.0),
            UpdateKind::Cancelled => (3, 0, 0, 0),
            UpdateKind::CancelRejected => (4, 0, 0, 0),
            UpdateKind::Expired => (5, 0, 0, 0),
            UpdateKind::Refused(reason) => (6, reason.to_code(), 0, 0),
        };
        let head = u32::from_le_bytes([kind, code, self.state as u8, 0]);
        let open = self.lots_open.0.cast_unsigned();
        let at = at.0.cast_unsigned();
        [head.into(), self.id.0, price.cast_unsigned(), lots.cast_unsigned(), open, at, 0]
    }

    /// The update and its time, if the words are one.
    #[must_use]
    pub fn unpack(payload: &Payload) -> Option<(Self, Nanos)> {
        let [head, id, price, lots, open, at, _] = *payload;
        let kind = match byte(head, 0) {
            0 => UpdateKind::Accepted,
            1 => UpdateKind::Rejected,
            2 => UpdateKind::Filled {
                price: Price(price.cast_signed()),
                lots: Lots(lots.cast_signed()),
            },
            3 => UpdateKind::Cancelled,
            4 => UpdateKind::CancelRejected,
            5 => UpdateKind::Expired,
            6 => UpdateKind::Refused(Refusal::from_code(byte(head, 1))?),
            _ => return None,
        };
        let state = OrderState::from_index(byte(head, 2))?;
        let lots_open = Lots(open.cast_signed());
        Some((Self { id: ClientOrderId(id), kind, state, lots_open }, Nanos(at.cast_signed())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_request_unpacks_to_itself() {
        let offsets = StageOffsets::from_ends([0, 0, 0, 4, 5, 0, 0, 0, 0]);
        let order = NewOrder {
            side: Side::Sell,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::ImmediateOrCancel,
            price: Price(585_330_000_000),
            lots: Lots(18),
        };
        for kind in [RequestKind::New(order), RequestKind::Cancel(ClientOrderId(8))] {
            let request = Request { id: ClientOrderId(9), kind, origin: Nanos(77), offsets };
            assert_eq!(Request::unpack(&request.pack(7)), Some((request, 7)));
        }
    }

    #[test]
    fn every_order_update_unpacks_to_itself() {
        let refusals = (0..=u8::MAX).filter_map(Refusal::from_code).map(UpdateKind::Refused);
        let kinds = [
            UpdateKind::Accepted,
            UpdateKind::Rejected,
            UpdateKind::Filled { price: Price(3), lots: Lots(4) },
            UpdateKind::Cancelled,
            UpdateKind::CancelRejected,
            UpdateKind::Expired,
        ];
        for kind in kinds.into_iter().chain(refusals) {
            for state in OrderState::ALL {
                let update = OrderUpdate { id: ClientOrderId(5), kind, state, lots_open: Lots(6) };
                let at = Nanos(77);
                assert_eq!(OrderUpdate::unpack(&update.pack(at)), Some((update, at)));
            }
        }
    }

    proptest! {
        #[test]
        fn words_that_a_peer_made_up_never_panic(words in any::<[u64; 7]>()) {
            let _ = Request::unpack(&words);
            let _ = OrderUpdate::unpack(&words);
        }
    }
}
