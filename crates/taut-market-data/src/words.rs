//! An event as seven words: what a slot of a ring, or a cache line, has room for.
//!
//! | word | |
//! |---|---|
//! | 0 | kind, detail (a byte each), the carrier's mark (16 bits), instrument (32 bits) |
//! | 1, 2 | exchange time, receive time |
//! | 3 to 6 | what the kind has: prices, lots, numbers |

use taut_types::{InstrumentId, Lots, Nanos, OrderId, Price, Side};

use crate::event::{
    Batch, BestPrices, BookOrder, Event, EventKind, LevelPlace, LevelUpdate, ReduceReason,
    Soundness, Staleness, Statistic, Trade, TradingStatus,
};

/// The words of an event.
pub const EVENT_WORDS: usize = 7;

/// The price of a side that is empty.
const EMPTY_SIDE: i64 = i64::MIN;
/// The detail of an aggressor that the venue does not name.
const NO_SIDE: u8 = 2;

/// A byte that stands for a value, in both directions.
macro_rules! codes {
    ($type:ty, $to:ident, $of:ident, $($code:literal = $value:expr => $pattern:pat,)*) => {
        const fn $to(value: $type) -> u8 {
            match value { $($pattern => $code,)* }
        }
        const fn $of(code: u8) -> Option<$type> {
            Some(match code { $($code => $value,)* _ => return None })
        }
    };
}

codes! { Batch, batch_code, batch_of,
    0 = Batch::Snapshot => Batch::Snapshot,
    1 = Batch::BestLevels => Batch::BestLevels,
    2 = Batch::Update => Batch::Update,
    3 = Batch::Orders => Batch::Orders,
}

codes! { TradingStatus, status_code, status_of,
    0 = TradingStatus::PreOpen => TradingStatus::PreOpen,
    1 = TradingStatus::Trading => TradingStatus::Trading,
    2 = TradingStatus::Halted => TradingStatus::Halted,
    3 = TradingStatus::Closed => TradingStatus::Closed,
    4 = TradingStatus::Other => TradingStatus::Other,
}

codes! { Soundness, soundness_code, soundness_of,
    0 = Soundness::Sound => Soundness::Sound,
    1 = Soundness::Stale(Staleness::Joining) => Soundness::Stale(Staleness::Joining),
    2 = Soundness::Stale(Staleness::Gap) => Soundness::Stale(Staleness::Gap),
    3 = Soundness::Stale(Staleness::Refreshing) => Soundness::Stale(Staleness::Refreshing),
    4 = Soundness::Stale(Staleness::Silent) => Soundness::Stale(Staleness::Silent),
    5 = Soundness::Stale(Staleness::Restarting) => Soundness::Stale(Staleness::Restarting),
    6 = Soundness::Stale(Staleness::BookFull) => Soundness::Stale(Staleness::BookFull),
    7 = Soundness::Stale(Staleness::BeyondSnapshot) => Soundness::Stale(Staleness::BeyondSnapshot),
}

fn quote_words(quote: Option<(Price, Lots)>) -> [u64; 2] {
    let (price, lots) = quote.map_or((EMPTY_SIDE, 0), |(price, lots)| (price.0, lots.0));
    [price.cast_unsigned(), lots.cast_unsigned()]
}

const fn quote_of(price: u64, lots: u64) -> Option<(Price, Lots)> {
    match price.cast_signed() {
        EMPTY_SIDE => None,
        price => Some((Price(price), Lots(lots.cast_signed()))),
    }
}

const fn order_words(order: &BookOrder) -> [u64; 4] {
    let (price, lots) = (order.price.0.cast_unsigned(), order.lots.0.cast_unsigned());
    [order.order_id.0, price, lots, order.priority]
}

impl Event {
    /// Packs the event, with a mark of whoever carries it.
    #[must_use]
    #[inline]
    pub fn to_words(&self, mark: u16) -> [u64; EVENT_WORDS] {
        let (kind, detail, [a, b, c, d]) = self.kind.parts();
        let head = u64::from(kind) | u64::from(detail) << 8 | u64::from(mark) << 16;
        let head = head | u64::from(self.instrument.0) << 32;
        let (exchange, receive) = (self.exchange_time.0, self.receive_time.0);
        [head, exchange.cast_unsigned(), receive.cast_unsigned(), a, b, c, d]
    }

    /// The event and its mark, if the words are one: those that a peer made up may be none.
    #[must_use]
    #[inline]
    pub fn from_words(words: &[u64; EVENT_WORDS]) -> Option<(Self, u16)> {
        let [head, exchange, receive, rest @ ..] = *words;
        let [kind, detail, low, high, ..] = head.to_le_bytes();
        let event = Self {
            instrument: InstrumentId((head >> 32) as u32),
            exchange_time: Nanos(exchange.cast_signed()),
            receive_time: Nanos(receive.cast_signed()),
            kind: EventKind::of_parts(kind, detail, rest)?,
        };
        Some((event, u16::from_le_bytes([low, high])))
    }
}

impl Soundness {
    /// A number below 8 that stands for it.
    #[must_use]
    #[inline]
    pub const fn to_code(self) -> u8 {
        soundness_code(self)
    }

    /// What a number stands for.
    #[must_use]
    #[inline]
    pub const fn from_code(code: u8) -> Option<Self> {
        soundness_of(code)
    }
}

impl EventKind {
    /// Its code, its detail, and what else it has.
    #[inline]
    fn parts(&self) -> (u8, u8, [u64; 4]) {
        let word = |value: i64| value.cast_unsigned();
        match *self {
            Self::Begin(batch) => (0, batch_code(batch), [0; 4]),
            Self::Level(level) => {
                let (place, at) = match level.place {
                    LevelPlace::ByPrice => (0, 0),
                    LevelPlace::Behind(count) => (1, count),
                    LevelPlace::Insert(at) => (2, at.into()),
                    LevelPlace::Change(at) => (3, at.into()),
                    LevelPlace::Delete(at) => (4, at.into()),
                };
                let counts = u64::from(level.order_count) | u64::from(at) << 32;
                let detail = level.side as u8 | place << 1;
                (1, detail, [word(level.price.0), word(level.lots.0), counts, 0])
            }
            Self::OrderAdd(order) => (2, order.side as u8, order_words(&order)),
            Self::OrderChange(order) => (3, order.side as u8, order_words(&order)),
            Self::OrderReduce { order_id, side, by, remaining, reason } => {
                let detail = side as u8 | (reason as u8) << 1;
                (4, detail, [order_id.0, word(by.0), word(remaining.0), 0])
            }
            Self::OrderDelete { order_id, side } => (5, side as u8, [order_id.0, 0, 0, 0]),
            Self::Top(top) => {
                let ([bid, bid_lots], [ask, ask_lots]) =
                    (quote_words(top.bid), quote_words(top.ask));
                (6, 0, [bid, bid_lots, ask, ask_lots])
            }
            Self::Trade(trade) => {
                let detail = trade.aggressor.map_or(NO_SIDE, |side| side as u8);
                let (price, lots) = (word(trade.price.0), word(trade.lots.0));
                (7, detail, [trade.trade_id, price, lots, trade.resting_order.0])
            }
            Self::Status(status) => (8, status_code(status), [0; 4]),
            Self::Reset => (9, 0, [0; 4]),
            Self::DeleteLevels { side, count } => {
                let detail = side as u8 | u8::from(count.is_some()) << 1;
                (10, detail, [count.unwrap_or(0).into(), 0, 0, 0])
            }
            Self::End { is_final } => (11, is_final.into(), [0; 4]),
            Self::Book(soundness) => (12, soundness_code(soundness), [0; 4]),
            Self::Statistic(statistic) => {
                let (detail, value) = statistic.parts();
                (13, detail, [word(value), 0, 0, 0])
            }
        }
    }

    #[inline]
    fn of_parts(kind: u8, detail: u8, [a, b, c, d]: [u64; 4]) -> Option<Self> {
        let side = Side::from_index(detail & 1);
        let (price, lots) = (Price(b.cast_signed()), Lots(c.cast_signed()));
        let order = |side| BookOrder { order_id: OrderId(a), side, price, lots, priority: d };
        Some(match kind {
            0 => Self::Begin(batch_of(detail)?),
            1 => {
                let (count, at) = (c as u32, (c >> 32) as u32);
                let small = u8::try_from(at);
                let place = match detail >> 1 {
                    0 => LevelPlace::ByPrice,
                    1 => LevelPlace::Behind(at),
                    2 => LevelPlace::Insert(small.ok()?),
                    3 => LevelPlace::Change(small.ok()?),
                    4 => LevelPlace::Delete(small.ok()?),
                    _ => return None,
                };
                let (price, lots) = (Price(a.cast_signed()), Lots(b.cast_signed()));
                Self::Level(LevelUpdate { side: side?, price, lots, order_count: count, place })
            }
            2 => Self::OrderAdd(order(side?)),
            3 => Self::OrderChange(order(side?)),
            4 => Self::OrderReduce {
                order_id: OrderId(a),
                side: side?,
                by: Lots(b.cast_signed()),
                remaining: lots,
                reason: match detail >> 1 {
                    0 => ReduceReason::Execution,
                    1 => ReduceReason::Cancel,
                    _ => return None,
                },
            },
            5 => Self::OrderDelete { order_id: OrderId(a), side: side? },
            6 => Self::Top(BestPrices { bid: quote_of(a, b), ask: quote_of(c, d) }),
            7 => Self::Trade(Trade {
                trade_id: a,
                price,
                lots,
                aggressor: if detail == NO_SIDE { None } else { Some(Side::from_index(detail)?) },
                resting_order: OrderId(d),
            }),
            8 => Self::Status(status_of(detail)?),
            9 => Self::Reset,
            10 => {
                let count = if detail >> 1 == 0 { None } else { Some(u8::try_from(a).ok()?) };
                Self::DeleteLevels { side: side?, count }
            }
            11 => Self::End { is_final: detail != 0 },
            12 => Self::Book(soundness_of(detail)?),
            13 => Self::Statistic(Statistic::of_parts(detail, a.cast_signed())?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::event::Figure;

    fn kinds() -> Vec<EventKind> {
        let (side, price, lots) = (Side::Sell, Price(-7), Lots(i64::MAX));
        let order_id = OrderId(u64::MAX);
        let order = BookOrder { order_id, side, price, lots, priority: 3 };
        let places = [
            LevelPlace::ByPrice,
            LevelPlace::Behind(u32::MAX),
            LevelPlace::Insert(1),
            LevelPlace::Change(255),
            LevelPlace::Delete(2),
        ];
        let level = |place| LevelUpdate { side, price, lots, order_count: 9, place };
        let quote = Some((price, lots));
        let trade =
            |aggressor| Trade { trade_id: 1, price, lots, aggressor, resting_order: order_id };
        let reduce = |reason| EventKind::OrderReduce {
            order_id,
            side: Side::Buy,
            by: Lots(1),
            remaining: Lots(2),
            reason,
        };
        let mut kinds = std::vec![
            EventKind::OrderAdd(order),
            EventKind::OrderChange(order),
            reduce(ReduceReason::Execution),
            reduce(ReduceReason::Cancel),
            EventKind::OrderDelete { order_id, side },
            EventKind::Top(BestPrices { bid: quote, ask: None }),
            EventKind::Top(BestPrices { bid: None, ask: quote }),
            EventKind::Reset,
            EventKind::DeleteLevels { side, count: None },
            EventKind::DeleteLevels { side, count: Some(0) },
            EventKind::End { is_final: true },
            EventKind::End { is_final: false },
        ];
        kinds.extend(places.map(|place| EventKind::Level(level(place))));
        kinds.extend(
            [None, Some(Side::Buy), Some(side)].map(|taker| EventKind::Trade(trade(taker))),
        );
        kinds.extend((0..=u8::MAX).filter_map(batch_of).map(EventKind::Begin));
        kinds.extend((0..=u8::MAX).filter_map(status_of).map(EventKind::Status));
        kinds.extend((0..=u8::MAX).filter_map(soundness_of).map(EventKind::Book));
        let statistics = (0..=u8::MAX).filter_map(|it| Statistic::of_parts(it, i64::MIN));
        kinds.extend(statistics.map(EventKind::Statistic));
        let withdrawn = Figure::ALL.map(Statistic::Withdrawn);
        kinds.extend(withdrawn.map(EventKind::Statistic));
        kinds
    }

    #[test]
    fn the_number_of_a_figure_is_for_ever() {
        let price = Price(5);
        let numbered = [
            (0, Statistic::Open(price)),
            (1, Statistic::High(price)),
            (2, Statistic::Low(price)),
            (3, Statistic::Last(price)),
            (4, Statistic::Settlement(price)),
            (5, Statistic::Volume(Lots(5))),
            (6, Statistic::OpenInterest(Lots(5))),
            (7, Statistic::Withdrawn(Figure::Volume)),
            (8, Statistic::Mark(price)),
            (9, Statistic::Index(price)),
            (10, Statistic::Funding(5)),
            (11, Statistic::MarkVolatility(5)),
            (20, Statistic::Rho(5)),
        ];
        for (number, statistic) in numbered {
            assert_eq!(statistic.parts(), (number, 5));
        }
        for (number, figure) in (0..).zip(Figure::ALL) {
            assert_eq!(Statistic::Withdrawn(figure).parts(), (7, number));
        }
    }

    #[test]
    fn every_event_is_itself_again() {
        let kinds = kinds();
        assert_eq!(kinds.len(), 12 + 5 + 3 + 4 + 5 + 8 + 20 + 20);
        for kind in kinds {
            let event = Event {
                instrument: InstrumentId::UNKNOWN,
                exchange_time: Nanos(-1),
                receive_time: Nanos(123_456_789_000),
                kind,
            };
            for mark in [0, 1, u16::MAX] {
                assert_eq!(Event::from_words(&event.to_words(mark)), Some((event, mark)));
            }
        }
    }

    proptest! {
        #[test]
        fn words_that_a_peer_made_up_never_panic(words in any::<[u64; EVENT_WORDS]>(), kind: u8) {
            let _ = Event::from_words(&words);
            let [head, rest @ ..] = words;
            let known = head & !0xff | u64::from(kind % 15);
            let [a, b, c, d, e, f] = rest;
            if let Some((event, mark)) = Event::from_words(&[known, a, b, c, d, e, f]) {
                // What can be read can be written, and says the same again.
                let again = Event::from_words(&event.to_words(mark));
                prop_assert_eq!(again, Some((event, mark)));
            }
        }
    }
}
