//! What the gateway tells one strategy: updates of its orders, and what it needs to begin with.
//!
//! Replies have a ring of their own for each strategy, which loses nothing. Each is behind all
//! market events before a position of their ring and before the one at it, so that a strategy that
//! reads both rings sees what happened in the order in which the gateway wrote it.

use taut_market_data::Event;
use taut_oms::{Amount, Balance, MessageKind, MessagesOf, OrderState, RateWarning};
use taut_ring::Payload;
use taut_types::{
    AccountId, ClientOrderId, Instrument, InstrumentId, Lots, Nanos, OrderFlags, OrderTerms,
    OrderType, Price, Side, TimeInForce, UserId,
};

use crate::message::instrument::{self, INSTRUMENT_SLOTS_MAX, StepsReader};
use crate::message::open_order::OpenOrder;
use crate::message::reply_stamp::ReplyStamp;
use crate::message::slots::{
    FIRST_KIND, Slots, byte, head, high, kind, kind_of, low, symbol_of, symbol_words, word,
};
use crate::message::status::GatewayStatus;
use crate::message::update::OrderUpdate;
use crate::owner::Owner;

/// What a strategy holds of an instrument in an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Of this instrument.
    pub instrument: InstrumentId,
    /// In this account.
    pub account: AccountId,
    /// Bought less sold.
    pub lots: Lots,
    /// What it was bought or sold at, rounded to 1e-9; 0 when there is nothing.
    pub average_price: Price,
}

/// What a strategy is told beside the market and its orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GatewayEvent {
    /// A gateway takes the strategy up. Comes before all else that it tells.
    Connected,
    /// What it needs to begin with follows: instruments, positions, open orders. What it knew
    /// before is no longer valid.
    DownloadBegin {
        /// Whose orders its orders are.
        owner: Owner,
        /// The number of its next order, at least: those below it may have been used.
        next_number: u64,
    },
    /// An instrument of the gateway, with its reference data: of those that a strategy begins with,
    /// or one that the gateway has taken since.
    Instrument(Instrument),
    /// What it holds.
    Position(Position),
    /// An order of its own that is open: it sent it before it was started again, or before it was
    /// overtaken.
    OpenOrder(OpenOrder),
    /// All has been told.
    DownloadEnd,
    /// Whether orders can be sent: the session with the venue is logged on.
    OrderEntry {
        /// Whether they can.
        is_up: bool,
    },
    /// It may trade from here on: what it begins with and the books have been told, and orders can
    /// be sent. A book that has more levels than there is room for is not waited for. Comes again
    /// once orders can be sent again.
    Ready,
    /// How the gateway is, when that has changed: about once a millisecond at the most, and once
    /// behind [`DownloadEnd`](Self::DownloadEnd).
    Status(GatewayStatus),
    /// A budget of messages is nearly spent, or is not any more: a user's, which its strategies are
    /// told of, or one of an account or the whole gateway, of which all are.
    RateLimit(RateWarning),
    /// What an account has of a currency has changed, or is told for the first time.
    Balance(Balance),
    /// The gateway is gone, and what was known of it no longer valid. Its orders are cancelled or
    /// told anew by the next one.
    Disconnected,
    /// It read too slowly, and the market ring went on without it: so many events are lost. The
    /// books are told anew, one after the other; each is stale until then.
    Overtaken {
        /// How many.
        events: u64,
    },
}

/// Hands over all slots of an instrument in one piece, which is taken or not: says which.
pub(crate) fn tell_instrument(
    instrument: &Instrument,
    stamp: ReplyStamp,
    push: &mut (impl FnMut(&[Payload]) -> bool + ?Sized),
) -> bool {
    let mut slots = [[0; 7]; INSTRUMENT_SLOTS_MAX];
    let mut used = 0;
    let event = GatewayEvent::Instrument(*instrument).pack(stamp);
    let all = instrument::step_slots(instrument).chain(event.as_slice().iter().copied());
    for (place, slot) in slots.iter_mut().zip(all) {
        *place = slot;
        used += 1;
    }
    push(slots.get(..used).unwrap_or_default())
}

/// A message to one strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Of one of its orders, and the number of the last request that had been taken from it.
    Order(OrderUpdate, u16),
    /// What it holds once it is told of the trade that comes next.
    Position(Position),
    /// Of the gateway.
    Gateway(GatewayEvent),
    /// A part of a book that is told anew.
    Market(Event),
}

/// Codes of [`kind::STATE`].
const DOWNLOAD_BEGIN: u8 = 0;
const DOWNLOAD_END: u8 = 1;
const ORDER_ENTRY_DOWN: u8 = 2;
const ORDER_ENTRY_UP: u8 = 3;
const RATE_LIMIT: u8 = 4;
const READY: u8 = 5;
const STATUS: u8 = 6;

impl GatewayEvent {
    /// Whether this owner is told.
    pub(crate) fn is_for(&self, owner: Owner) -> bool {
        match self {
            Self::RateLimit(RateWarning { of: MessagesOf::User(user), .. }) => *user == owner.user,
            _ => true,
        }
    }

    /// Packs it, with when it is told. What the reader notices itself is not sent: that it was
    /// overtaken, and that the gateway is there or gone.
    #[must_use]
    pub(crate) fn pack(&self, stamp: ReplyStamp) -> Slots {
        let unsigned = |value: i64| value.cast_unsigned();
        let before = |a: u64, b: u64| {
            let [stamp_low, stamp_high] = stamp.to_words();
            [head([kind::BEFORE, 0, 0, 0], 0), a, b, stamp_low, stamp_high, 0, 0]
        };
        let state = |code, events| {
            let slot = [head([kind::STATE, code, 0, 0], 0), events, 0, 0, 0, 0, 0];
            Slots::two(before(0, 0), slot)
        };
        match *self {
            Self::DownloadBegin { owner, next_number } => {
                state(DOWNLOAD_BEGIN, owner.order(next_number).0)
            }
            Self::DownloadEnd => state(DOWNLOAD_END, 0),
            Self::OrderEntry { is_up: false } => state(ORDER_ENTRY_DOWN, 0),
            Self::OrderEntry { is_up: true } => state(ORDER_ENTRY_UP, 0),
            Self::Overtaken { events } => state(u8::MAX, events),
            Self::Connected | Self::Disconnected => state(u8::MAX, 0),
            Self::Ready => state(READY, 0),
            Self::Status(status) => {
                let [session, feed, killed] = status.to_bytes();
                state(STATUS, u64::from_le_bytes([session, feed, killed, 0, 0, 0, 0, 0]))
            }
            Self::Balance(Balance { account, currency, amount }) => {
                let (length, [low, high]) = symbol_words(&currency);
                let head = head([kind::BALANCE, length, 0, account.0], 0);
                let amount = amount.0.cast_unsigned();
                let slot = [head, low, high, amount as u64, (amount >> 64) as u64, 0, 0];
                Slots::two(before(0, 0), slot)
            }
            Self::RateLimit(warning) => {
                let (of, number) = match warning.of {
                    MessagesOf::User(user) => (0, user.0),
                    MessagesOf::Account(account) => (1, account.0),
                    MessagesOf::Venue => (2, 0),
                };
                let kind = warning.kind as u8 | u8::from(warning.is_high) << 1;
                let bytes = [kind::STATE, RATE_LIMIT, of, number];
                let counts = word(warning.left, warning.at_once);
                Slots::two(before(0, 0), [head(bytes, kind.into()), counts, 0, 0, 0, 0, 0])
            }
            Self::Instrument(instrument) => {
                let ([b, c, d, e], slot) = instrument::pack(&instrument);
                let [said, _, _, stamp_low, stamp_high, _, _] = before(0, 0);
                Slots::two([said, b, c, stamp_low, stamp_high, d, e], slot)
            }
            Self::Position(held) => held.pack(kind::POSITION, stamp),
            Self::OpenOrder(order) => {
                let OpenOrder { id, version, terms, state, lots_open, tag, .. } = order;
                let packed = terms.side as u8
                    | (terms.order_type as u8) << 1
                    | (terms.time_in_force as u8) << 2
                    | u8::from(terms.stop_price.is_some()) << 4;
                let bytes = [kind::OPEN_ORDER, packed, terms.flags.bits(), terms.account.0];
                let (price, lots) = (unsigned(terms.price.0), unsigned(terms.lots.0));
                let last = word(tag, state as u32);
                let head = head(bytes, terms.instrument.0);
                let slot = [head, id.0, price, lots, unsigned(lots_open.0), last, 0];
                let stop = unsigned(terms.stop_price.unwrap_or_default().0);
                let [said, rest @ .., _, _] = before(stop, unsigned(terms.lots_shown.0));
                let [stop, shown, stamp_low, stamp_high] = rest;
                let said = said | word(0, version.into());
                let asked = (unsigned(order.price_asked.0), unsigned(order.lots_asked.0));
                let before = [said, stop, shown, stamp_low, stamp_high, asked.0, asked.1];
                Slots::two(before, slot)
            }
        }
    }

    fn unpack(before: &Payload, slot: &Payload, steps: &StepsReader) -> Option<(Self, ReplyStamp)> {
        let [said, stop, shown, stamp_low, stamp_high, price_asked, lots_asked] = *before;
        let [head, a, b, c, d, e, _] = *slot;
        let account = AccountId(byte(head, 3));
        let instrument = InstrumentId(high(head));
        let event = match byte(head, 0) {
            kind::STATE => match byte(head, 1) {
                DOWNLOAD_BEGIN => {
                    let (owner, next) = (Owner::of(ClientOrderId(a)), ClientOrderId(a));
                    Self::DownloadBegin { owner, next_number: next.number() }
                }
                DOWNLOAD_END => Self::DownloadEnd,
                ORDER_ENTRY_DOWN => Self::OrderEntry { is_up: false },
                ORDER_ENTRY_UP => Self::OrderEntry { is_up: true },
                READY => Self::Ready,
                STATUS => {
                    let [session, feed, killed, ..] = a.to_le_bytes();
                    Self::Status(GatewayStatus::from_bytes([session, feed, killed])?)
                }
                RATE_LIMIT => Self::RateLimit(RateWarning {
                    of: match byte(head, 2) {
                        0 => MessagesOf::User(UserId(byte(head, 3))),
                        1 => MessagesOf::Account(account),
                        2 => MessagesOf::Venue,
                        _ => return None,
                    },
                    kind: match high(head) & 1 {
                        0 => MessageKind::Orders,
                        _ => MessageKind::Cancels,
                    },
                    is_high: high(head) & 2 != 0,
                    left: low(a),
                    at_once: high(a),
                }),
                _ => return None,
            },
            kind::INSTRUMENT => {
                let before = [stop, shown, price_asked, lots_asked];
                Self::Instrument(instrument::unpack(before, slot, steps)?)
            }
            kind::POSITION => Self::Position(Position::unpack(slot)),
            kind::BALANCE => {
                let amount = (u128::from(d) << 64 | u128::from(c)).cast_signed();
                let currency = symbol_of(byte(head, 1), [a, b])?;
                Self::Balance(Balance { account, currency, amount: Amount(amount) })
            }
            kind::OPEN_ORDER => {
                let packed = byte(head, 1);
                let (price, lots) = (Price(b.cast_signed()), Lots(c.cast_signed()));
                let side = Side::from_index(packed & 1)?;
                let has_stop = packed >> 4 & 1 != 0;
                Self::OpenOrder(OpenOrder {
                    id: ClientOrderId(a),
                    terms: OrderTerms {
                        account,
                        order_type: OrderType::from_index(packed >> 1 & 1)?,
                        time_in_force: TimeInForce::from_index(packed >> 2 & 3)?,
                        flags: OrderFlags::from_bits(byte(head, 2))?,
                        stop_price: has_stop.then_some(Price(stop.cast_signed())),
                        lots_shown: Lots(shown.cast_signed()),
                        ..OrderTerms::limit(instrument, side, price, lots)
                    },
                    version: high(said) as u16,
                    price_asked: Price(price_asked.cast_signed()),
                    lots_asked: Lots(lots_asked.cast_signed()),
                    state: OrderState::from_index(u8::try_from(high(e)).ok()?)?,
                    lots_open: Lots(d.cast_signed()),
                    tag: low(e),
                })
            }
            _ => return None,
        };
        Some((event, ReplyStamp::from_words([stamp_low, stamp_high])))
    }
}

impl Position {
    /// Packs it as a message of this kind, with when it is told.
    fn pack(&self, kind: u8, stamp: ReplyStamp) -> Slots {
        let unsigned = |value: i64| value.cast_unsigned();
        let [stamp_low, stamp_high] = stamp.to_words();
        let before = [head([kind::BEFORE, 0, 0, 0], 0), 0, 0, stamp_low, stamp_high, 0, 0];
        let Self { instrument, account, lots, average_price } = *self;
        let head = head([kind, 0, 0, account.0], instrument.0);
        let slot = [head, unsigned(lots.0), unsigned(average_price.0), 0, 0, 0, 0];
        Slots::two(before, slot)
    }

    /// Packs it as what is held once the strategy is told of a trade, which comes next.
    pub(crate) fn pack_before_trade(&self, stamp: ReplyStamp) -> Slots {
        self.pack(kind::POSITION_BEFORE_TRADE, stamp)
    }

    fn unpack(slot: &Payload) -> Self {
        let [head, lots, average_price, ..] = *slot;
        Self {
            instrument: InstrumentId(high(head)),
            account: AccountId(byte(head, 3)),
            lots: Lots(lots.cast_signed()),
            average_price: Price(average_price.cast_signed()),
        }
    }
}

/// The slot that says where the market events behind it belong.
pub(crate) const fn at_position(position: u64) -> Payload {
    [head([kind::AT, 0, 0, 0], 0), position, 0, 0, 0, 0, 0]
}

/// Replies out of the slots of a ring.
#[derive(Debug, Default)]
pub(crate) struct ReplyReader {
    before: Option<Payload>,
    /// The tick steps of the instrument that comes next.
    steps: StepsReader,
    position: u64,
}

impl ReplyReader {
    /// The reply that ends with this slot, and when it was told. Nothing for a slot that goes
    /// before one, and for words that are none.
    pub(crate) fn read(&mut self, payload: &Payload) -> Option<(Reply, ReplyStamp)> {
        let (reply, stamp) = self.take(payload)?;
        self.position = stamp.position;
        Some((reply, stamp))
    }

    fn take(&mut self, payload: &Payload) -> Option<(Reply, ReplyStamp)> {
        match kind_of(payload) {
            kind::BEFORE => {
                self.before = Some(*payload);
                None
            }
            kind::AT => {
                self.position = payload[1];
                None
            }
            kind::TICK_STEPS => {
                self.steps.take(payload);
                None
            }
            of_event if of_event < FIRST_KIND => {
                let (event, _) = Event::from_words(payload)?;
                let (position, at) = (self.position, event.receive_time);
                Some((Reply::Market(event), ReplyStamp { position, at, published: Nanos::ZERO }))
            }
            kind::UPDATE => {
                let (update, stamp, taken) = OrderUpdate::unpack(&self.before.take()?, payload)?;
                Some((Reply::Order(update, taken), stamp))
            }
            kind::POSITION_BEFORE_TRADE => {
                let [_, _, _, stamp_low, stamp_high, _, _] = self.before.take()?;
                let stamp = ReplyStamp::from_words([stamp_low, stamp_high]);
                Some((Reply::Position(Position::unpack(payload)), stamp))
            }
            _ => {
                let steps = std::mem::take(&mut self.steps);
                let (event, stamp) = GatewayEvent::unpack(&self.before.take()?, payload, &steps)?;
                Some((Reply::Gateway(event), stamp))
            }
        }
    }

    /// The position of the market ring that what was read last goes before.
    pub(crate) const fn position(&self) -> u64 {
        self.position
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use taut_market_data::{EventKind, Soundness};
    use taut_types::{ContractKind, Qty, StrategyId, Symbol, TickStep};

    use super::*;
    use crate::message::status::{KilledScopes, SessionPhase};
    use taut_oms::ScopeKind;

    fn read(reader: &mut ReplyReader, slots: &[Payload]) -> Option<(Reply, ReplyStamp)> {
        slots.iter().filter_map(|slot| reader.read(slot)).last()
    }

    #[test]
    fn every_reply_is_itself_again() {
        let symbol = Symbol::new(b"BTC-PERPETUAL-1").expect("a symbol");
        let lot = Qty { mantissa: 5, decimals: 8 };
        let instrument = Instrument::new(InstrumentId(1_999), symbol, Price(500_000_000), lot)
            .map(|instrument| instrument.with_kind(ContractKind::Inverse));
        let plain = OrderTerms::limit(InstrumentId(7), Side::Sell, Price(-3), Lots(9));
        let order = |terms| OpenOrder {
            id: ClientOrderId(u64::MAX),
            version: u16::MAX,
            terms,
            price_asked: Price(-8),
            lots_asked: Lots(12),
            state: OrderState::Suspended,
            lots_open: Lots(4),
            tag: 77,
        };
        let stop = OrderTerms {
            account: AccountId(255),
            flags: OrderFlags::REDUCE_ONLY,
            stop_price: Some(Price(11)),
            lots_shown: Lots(2),
            ..plain
        };
        let held = Position {
            instrument: InstrumentId(3),
            account: AccountId(4),
            lots: Lots(-5),
            average_price: Price(6),
        };
        let warning = RateWarning {
            of: MessagesOf::User(UserId(7)),
            kind: MessageKind::Cancels,
            is_high: true,
            left: 3,
            at_once: u32::MAX,
        };
        let mut reader = ReplyReader::default();
        for (position, event) in [
            GatewayEvent::DownloadBegin {
                owner: Owner { user: UserId(255), strategy: StrategyId(1) },
                next_number: ClientOrderId::NUMBER_MAX,
            },
            GatewayEvent::Instrument(instrument.expect("an instrument")),
            GatewayEvent::Position(held),
            GatewayEvent::OpenOrder(order(plain)),
            GatewayEvent::OpenOrder(order(stop)),
            GatewayEvent::DownloadEnd,
            GatewayEvent::OrderEntry { is_up: true },
            GatewayEvent::OrderEntry { is_up: false },
            GatewayEvent::Ready,
            GatewayEvent::Status(GatewayStatus {
                session: SessionPhase::Ended,
                is_feed_sound: true,
                killed: KilledScopes::NONE.with(ScopeKind::All).with(ScopeKind::Instrument),
            }),
            GatewayEvent::Balance(Balance {
                account: AccountId(9),
                currency: symbol,
                amount: Amount(-7 << 70),
            }),
            GatewayEvent::RateLimit(warning),
            GatewayEvent::RateLimit(RateWarning { of: MessagesOf::Venue, ..warning }),
            GatewayEvent::RateLimit(RateWarning {
                of: MessagesOf::Account(AccountId(255)),
                kind: MessageKind::Orders,
                is_high: false,
                ..warning
            }),
        ]
        .into_iter()
        .enumerate()
        {
            let position = position as u64;
            let stamp = ReplyStamp { position, at: Nanos(5), published: Nanos(9) };
            let slots = event.pack(stamp);
            let expected = Some((Reply::Gateway(event), stamp));
            assert_eq!(read(&mut reader, slots.as_slice()), expected);
            assert_eq!(reader.position(), position);
        }
        let stamp = ReplyStamp { position: 98, at: Nanos(6), published: Nanos::ZERO };
        let slots = held.pack_before_trade(stamp);
        let expected = Some((Reply::Position(held), stamp));
        assert_eq!(read(&mut reader, slots.as_slice()), expected);
        assert_eq!(reader.position(), 98);
        let event = Event {
            instrument: InstrumentId(1),
            exchange_time: Nanos(2),
            receive_time: Nanos(3),
            kind: EventKind::Book(Soundness::Sound),
        };
        let slots = [at_position(99), event.to_words(0)];
        let stamp = ReplyStamp { position: 99, at: Nanos(3), published: Nanos::ZERO };
        assert_eq!(read(&mut reader, &slots), Some((Reply::Market(event), stamp)));
        assert_eq!(reader.position(), 99);
    }

    #[test]
    fn an_instrument_is_itself_again_with_all_its_reference_data() {
        let symbol = Symbol::new(b"BTC-25DEC26-C").expect("a symbol");
        let lot = Qty { mantissa: 5, decimals: 8 };
        let plain = Instrument::new(InstrumentId(1_999), symbol, Price(100), lot).expect("one");
        let mut reader = ReplyReader::default();
        let stamp = ReplyStamp { position: 4, at: Nanos(5), published: Nanos(9) };
        for count in 0..=7_i64 {
            let step = |at: i64| TickStep { from: Price(at * 100_000), tick: Price(at * 100) };
            let steps: Vec<_> = [1, 2, 4, 8, 16, 32, 64].map(step)[..count as usize].to_vec();
            let full = plain.with_tick_steps(&steps).expect("steps");
            let full = full.with_multiplier(Qty { mantissa: 25, decimals: 1 }).expect("terms");
            let full = full.with_minima(Lots(1 << 40), Price(1 << 50)).expect("minima");
            let full = full.with_kind(ContractKind::Inverse).with_expiry(Nanos(1 << 60));
            for told in [full, plain] {
                let mut slots = Vec::new();
                let event = GatewayEvent::Instrument(told);
                assert!(tell_instrument(&told, stamp, &mut |piece| {
                    slots.extend_from_slice(piece);
                    true
                }));
                let expected = Some((Reply::Gateway(event), stamp));
                assert_eq!(read(&mut reader, &slots), expected, "{count} steps");
            }
        }
    }

    proptest! {
        #[test]
        fn words_that_a_peer_made_up_never_panic(slots in any::<[[u64; 7]; 3]>(), kinds: [u8; 3]) {
            let mut reader = ReplyReader::default();
            for (slot, kind) in slots.iter().zip(kinds) {
                let _ = reader.read(slot);
                let [head, rest @ ..] = *slot;
                let [a, b, c, d, e, f] = rest;
                let _ = reader.read(&[head & !0xff | 255, a, b, c, d, e, f]);
                let known = head & !0xff | u64::from(kind::UPDATE + kind % 8);
                let _ = reader.read(&[known, a, b, c, d, e, f]);
            }
        }
    }
}
