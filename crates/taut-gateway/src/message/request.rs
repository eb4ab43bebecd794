//! What a strategy asks for.

use taut_lat::StageOffsets;
use taut_oms::OrderFilter;
use taut_ring::Payload;
use taut_types::{
    AccountId, ClientOrderId, InstrumentId, Lots, Nanos, OrderFlags, OrderTerms, OrderType, Price,
    Side, TimeInForce,
};

use crate::message::slots::{Slots, byte, head, high, kind, kind_of, low, word};
use crate::owner::Owner;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Send this order.
    Create(OrderTerms),
    /// Give the order another price and another quantity, which counts what has traded.
    Modify {
        /// The new limit price.
        price: Price,
        /// The new quantity.
        lots: Lots,
    },
    /// Cancel the order.
    Cancel,
    /// Cancel all orders of the strategy that the filter means. User and strategy need not be said.
    CancelAll(OrderFilter),
    /// Tell all books anew: the strategy was overtaken.
    TellBooks,
}

/// A strategy's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The order that it is about; of [`RequestKind::CancelAll`], only whose it is.
    pub id: ClientOrderId,
    /// Who asks. It is in no slot of a ring: whoever reads a ring knows whose it is.
    pub owner: Owner,
    /// What it asks for.
    pub kind: RequestKind,
    /// It is refused unless the order has this version at the venue; not looked at for a new order.
    pub only_if: Option<u16>,
    /// A number of the strategy's own, which stays with an order.
    pub tag: u32,
    /// When the packet that caused it was received; 0 when none did.
    pub origin: Nanos,
    /// Where its stages ended so far: up to `strategy`.
    pub offsets: StageOffsets,
}

impl Request {
    /// Whether it asks for a change or the end of an order.
    #[inline]
    pub(crate) const fn is_of_one_order(&self) -> bool {
        matches!(self.kind, RequestKind::Modify { .. } | RequestKind::Cancel)
    }

    /// The head of a request that may depend on the order's version.
    fn conditional(&self, kind: u8) -> u64 {
        let version = self.only_if.unwrap_or_default();
        head([kind, u8::from(self.only_if.is_some()), 0, 0], version.into())
    }

    /// Packs it, with the mark of the event that caused it and its own number. Word 0: kind; side,
    /// type, time in force and whether there is a slot before; flags; account; instrument. Word 1:
    /// id; words 2 and 3: price and lots; word 4: origin; word 5: ends of `to_strategy` and
    /// `strategy`; word 6: mark, number and tag. The other ends stay in the gateway. The slot
    /// before it: stop price, whether there is one, lots shown. Of a modify and a cancel, word 0
    /// has the version that they depend on, and whether there is one.
    #[must_use]
    pub(crate) fn pack(&self, mark: u16, number: u16) -> Slots {
        let [_, _, _, to_strategy, strategy, ..] = self.offsets.ends();
        let slot = |head: u64, a: i64, b: i64| {
            let (a, b, origin) =
                (a.cast_unsigned(), b.cast_unsigned(), self.origin.0.cast_unsigned());
            [
                head,
                self.id.0,
                a,
                b,
                origin,
                word(to_strategy, strategy),
                word(u32::from(mark) | u32::from(number) << 16, self.tag),
            ]
        };
        match self.kind {
            RequestKind::Create(terms) => {
                let is_plain = terms.stop_price.is_none() && terms.lots_shown == Lots::ZERO;
                let packed = terms.side as u8
                    | (terms.order_type as u8) << 1
                    | (terms.time_in_force as u8) << 2
                    | u8::from(!is_plain) << 4;
                let bytes = [kind::CREATE, packed, terms.flags.bits(), terms.account.0];
                let slot = slot(head(bytes, terms.instrument.0), terms.price.0, terms.lots.0);
                if is_plain {
                    return Slots::one(slot);
                }
                let (stop, shown) = (terms.stop_price.unwrap_or_default(), terms.lots_shown);
                let bytes = [kind::BEFORE, u8::from(terms.stop_price.is_some()), 0, 0];
                let (stop, shown) = (stop.0.cast_unsigned(), shown.0.cast_unsigned());
                Slots::two([head(bytes, 0), stop, shown, 0, 0, 0, 0], slot)
            }
            RequestKind::Modify { price, lots } => {
                Slots::one(slot(self.conditional(kind::MODIFY), price.0, lots.0))
            }
            RequestKind::Cancel => Slots::one(slot(self.conditional(kind::CANCEL), 0, 0)),
            RequestKind::TellBooks => Slots::one(slot(head([kind::TELL_BOOKS, 0, 0, 0], 0), 0, 0)),
            RequestKind::CancelAll(filter) => {
                let OrderFilter { instrument, account, side, .. } = filter;
                let said = u8::from(instrument.is_some())
                    | u8::from(account.is_some()) << 1
                    | u8::from(side.is_some()) << 2
                    | side.map_or(0, |side| side as u8) << 3;
                let bytes = [kind::CANCEL_ALL, said, 0, account.unwrap_or_default().0];
                let instrument = instrument.unwrap_or_default();
                Slots::one(slot(head(bytes, instrument.0), 0, 0))
            }
        }
    }
}

/// Requests out of the slots of a ring.
#[derive(Debug, Default)]
pub(crate) struct RequestReader {
    before: Option<Payload>,
}

impl RequestReader {
    /// Whether the slot asks for all books.
    pub(crate) const fn asks_for_books(slot: &Payload) -> bool {
        kind_of(slot) == kind::TELL_BOOKS
    }

    /// A slot without the times at which its stages ended: what the same decision has each time.
    pub(crate) const fn without_stamps(slot: Payload) -> Payload {
        let [head, id, a, b, origin, _, last] = slot;
        [head, id, a, b, origin, 0, last]
    }

    /// What two slots say differently, by name, but for the times at which stages ended.
    pub(crate) fn differing(
        one: &Payload,
        other: &Payload,
    ) -> impl Iterator<Item = (&'static str, u64, u64)> + use<> {
        let parts = |slot: &Payload| {
            let [head, id, a, b, origin, _, last] = *slot;
            let (mark, number) = (last & 0xffff, last >> 16 & 0xffff);
            [head, id, a, b, origin, mark, number, last >> 32]
        };
        let names = ["a head of", "the id", "the price", "lots of", "a packet received at"];
        let names = names.into_iter().chain(["the mark", "the number", "the tag"]);
        let pairs = parts(one).into_iter().zip(parts(other));
        let all = names.zip(pairs).map(|(name, (one, other))| (name, one, other));
        all.filter(|(_, one, other)| one != other)
    }

    /// The request that ends with this slot, its mark and its number; it is as if the sender of its
    /// order asked. Nothing for a slot that goes before one, and for words that are none.
    #[inline]
    pub(crate) fn read(&mut self, payload: &Payload) -> Option<(Request, u16, u16)> {
        if kind_of(payload) == kind::BEFORE {
            self.before = Some(*payload);
            return None;
        }
        let before = self.before.take();
        let [head, id, a, b, origin, ends, last] = *payload;
        let packed = byte(head, 1);
        let (price, lots) = (Price(a.cast_signed()), Lots(b.cast_signed()));
        let (instrument, account) = (InstrumentId(high(head)), AccountId(byte(head, 3)));
        let side = Side::from_index(packed & 1);
        let kind = match byte(head, 0) {
            kind::CREATE => {
                let plain = OrderTerms {
                    account,
                    order_type: OrderType::from_index(packed >> 1 & 1)?,
                    time_in_force: TimeInForce::from_index(packed >> 2 & 3)?,
                    flags: OrderFlags::from_bits(byte(head, 2))?,
                    ..OrderTerms::limit(instrument, side?, price, lots)
                };
                RequestKind::Create(match (packed >> 4, before) {
                    (0, _) => plain,
                    (1, Some([said, stop, shown, ..])) => OrderTerms {
                        stop_price: (byte(said, 1) != 0).then_some(Price(stop.cast_signed())),
                        lots_shown: Lots(shown.cast_signed()),
                        ..plain
                    },
                    _ => return None,
                })
            }
            kind::MODIFY => RequestKind::Modify { price, lots },
            kind::CANCEL => RequestKind::Cancel,
            kind::TELL_BOOKS => RequestKind::TellBooks,
            kind::CANCEL_ALL => RequestKind::CancelAll(OrderFilter {
                instrument: (packed & 1 != 0).then_some(instrument),
                account: (packed & 2 != 0).then_some(account),
                side: if packed & 4 != 0 { Side::from_index(packed >> 3 & 1) } else { None },
                ..OrderFilter::ALL
            }),
            _ => return None,
        };
        let offsets = StageOffsets::from_ends([0, 0, 0, low(ends), high(ends), 0, 0, 0, 0]);
        let (id, origin) = (ClientOrderId(id), Nanos(origin.cast_signed()));
        let is_conditional = matches!(kind, RequestKind::Modify { .. } | RequestKind::Cancel);
        let only_if = (is_conditional && packed & 1 != 0).then_some(high(head) as u16);
        let owner = Owner::of(id);
        let request = Request { id, owner, kind, only_if, tag: high(last), origin, offsets };
        Some((request, low(last) as u16, (low(last) >> 16) as u16))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(slots: &Slots) -> Option<(Request, u16, u16)> {
        let mut reader = RequestReader::default();
        slots.as_slice().iter().filter_map(|slot| reader.read(slot)).last()
    }

    #[test]
    fn every_request_is_itself_again() {
        let price = Price(585_330_000_000);
        let plain = OrderTerms {
            account: AccountId(7),
            time_in_force: TimeInForce::Day,
            flags: OrderFlags::POST_ONLY | OrderFlags::REDUCE_ONLY,
            ..OrderTerms::limit(InstrumentId(1_999), Side::Sell, price, Lots(18))
        };
        let filter = |account, side| OrderFilter {
            instrument: Some(InstrumentId(3)),
            account,
            side,
            ..OrderFilter::ALL
        };
        let kinds = [
            RequestKind::Create(plain),
            RequestKind::Create(OrderTerms { lots_shown: Lots(2), ..plain }),
            RequestKind::Create(OrderTerms { stop_price: Some(Price(0)), ..plain }),
            RequestKind::Create(OrderTerms::market(InstrumentId(0), Side::Buy, Lots(i64::MAX))),
            RequestKind::Modify { price, lots: Lots(1) },
            RequestKind::Cancel,
            RequestKind::TellBooks,
            RequestKind::CancelAll(OrderFilter::ALL),
            RequestKind::CancelAll(filter(None, Some(Side::Sell))),
            RequestKind::CancelAll(filter(Some(AccountId(0)), Some(Side::Buy))),
        ];
        let offsets = StageOffsets::from_ends([0, 0, 0, 4, 5, 0, 0, 0, 0]);
        for kind in kinds {
            let id = ClientOrderId(u64::MAX - 1);
            let conditions = match kind {
                RequestKind::Modify { .. } | RequestKind::Cancel => &[None, Some(0), Some(65_535)],
                _ => &[None][..],
            };
            for &only_if in conditions {
                let (tag, origin) = (u32::MAX, Nanos(77));
                let owner = Owner::of(id);
                let request = Request { id, owner, kind, only_if, tag, origin, offsets };
                assert_eq!(read(&request.pack(7, 60_000)), Some((request, 7, 60_000)));
            }
        }
    }

    proptest! {
        #[test]
        fn words_that_a_peer_made_up_never_panic(slots in any::<[[u64; 7]; 3]>(), kinds: [u8; 3]) {
            let mut reader = RequestReader::default();
            for (slot, kind) in slots.iter().zip(kinds) {
                let _ = reader.read(slot);
                let [head, rest @ ..] = *slot;
                let [a, b, c, d, e, f] = rest;
                let known = head & !0xff | u64::from(kind::CREATE + kind % 5);
                let _ = reader.read(&[known, a, b, c, d, e, f]);
            }
        }
    }
}
