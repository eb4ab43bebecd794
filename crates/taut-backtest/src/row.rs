//! Rows: what a recording says, 32 bytes each.

use taut_types::{Nanos, Side};

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RowKind {
    /// A price level now holds so many lots; 0 deletes it.
    Level = 0,
    /// A trade. The side is the aggressor's.
    Trade = 1,
    /// The levels of a side from the best to the price are gone; of both sides all of them.
    Clear = 2,
    /// An order was added behind the others at its price.
    Add = 3,
    /// An order left.
    Cancel = 4,
    /// An order has this price and quantity now.
    Modify = 5,
    /// An order that rests was traded. What is left of it, a row after this says.
    Fill = 6,
}

/// Who learns of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The exchange's side alone.
    Exchange,
    /// Our side alone.
    Local,
    /// Both, each at its own time.
    Both,
}

/// A row in words, before it is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened at the exchange.
    pub exchange_at: Nanos,
    /// When we saw it.
    pub local_at: Nanos,
    /// Who learns of it.
    pub seen: Seen,
    /// What happened.
    pub kind: RowKind,
    /// Of the level or the order; the aggressor's of a trade. A clear without one is of both.
    pub side: Option<Side>,
    /// Price in ticks.
    pub tick: i64,
    /// Quantity in lots.
    pub lots: i64,
    /// The order that it is about, where rows are about orders.
    pub order_id: u64,
}

/// A packed row: two times, a price in ticks (32 bits), a quantity in lots (56 bits), the number of
/// an order (32 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    exchange_at: i64,
    local_at: i64,
    /// Lots above, [`What`] in the low byte.
    packed: i64,
    tick: i32,
    order: u32,
}

const KIND: i64 = 0b111;
const HAS_SIDE: i64 = 1 << 3;
const SELL: i64 = 1 << 4;
const EXCHANGE: i64 = 1 << 6;
const LOCAL: i64 = 1 << 7;
const LOTS_MAX: i64 = i64::MAX >> 8;

impl Row {
    /// Packs an event; `order` is the order's number in the recording. None when it does not fit.
    pub(crate) fn new(event: &Event, order: u32) -> Option<Self> {
        if !(0..=LOTS_MAX).contains(&event.lots) {
            return None;
        }
        let side = match event.side {
            None => 0,
            Some(Side::Buy) => HAS_SIDE,
            Some(Side::Sell) => HAS_SIDE | SELL,
        };
        let seen = match event.seen {
            Seen::Exchange => EXCHANGE,
            Seen::Local => LOCAL,
            Seen::Both => EXCHANGE | LOCAL,
        };
        Some(Self {
            exchange_at: event.exchange_at.0,
            local_at: event.local_at.0,
            packed: event.lots << 8 | seen | side | event.kind as i64,
            tick: i32::try_from(event.tick).ok()?,
            order,
        })
    }

    /// When it happened at the exchange, in nanoseconds.
    #[inline]
    #[must_use]
    pub const fn exchange_at(&self) -> i64 {
        self.exchange_at
    }

    /// When we saw it, in nanoseconds.
    #[inline]
    #[must_use]
    pub const fn local_at(&self) -> i64 {
        self.local_at
    }

    /// Whether the exchange's side learns of it.
    #[inline]
    #[must_use]
    pub const fn is_at_exchange(&self) -> bool {
        self.packed & EXCHANGE != 0
    }

    /// Whether our side learns of it.
    #[inline]
    #[must_use]
    pub const fn is_local(&self) -> bool {
        self.packed & LOCAL != 0
    }

    /// What it says.
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> RowKind {
        match self.packed & KIND {
            0 => RowKind::Level,
            1 => RowKind::Trade,
            2 => RowKind::Clear,
            3 => RowKind::Add,
            4 => RowKind::Cancel,
            5 => RowKind::Modify,
            _ => RowKind::Fill,
        }
    }

    /// Its side.
    #[inline]
    #[must_use]
    pub const fn side(&self) -> Option<Side> {
        if self.packed & HAS_SIDE == 0 {
            None
        } else if self.packed & SELL == 0 {
            Some(Side::Buy)
        } else {
            Some(Side::Sell)
        }
    }

    /// Its price in ticks.
    #[inline]
    #[must_use]
    pub const fn tick(&self) -> i64 {
        self.tick as i64
    }

    /// Its quantity in lots.
    #[inline]
    #[must_use]
    pub const fn lots(&self) -> i64 {
        self.packed >> 8
    }

    /// The number of its order in the recording, from 0.
    #[inline]
    #[must_use]
    pub const fn order(&self) -> usize {
        self.order as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_32_bytes_and_keeps_what_an_event_says() {
        assert_eq!(size_of::<Row>(), 32);
        let kinds = [
            RowKind::Level,
            RowKind::Trade,
            RowKind::Clear,
            RowKind::Add,
            RowKind::Cancel,
            RowKind::Modify,
            RowKind::Fill,
        ];
        for kind in kinds {
            for side in [None, Some(Side::Buy), Some(Side::Sell)] {
                for seen in [Seen::Exchange, Seen::Local, Seen::Both] {
                    let (exchange_at, local_at) = (Nanos(7), Nanos(-9));
                    let (tick, lots) = (-12, LOTS_MAX);
                    let order_id = 3;
                    let event =
                        Event { exchange_at, local_at, seen, kind, side, tick, lots, order_id };
                    let row = Row::new(&event, 5).expect("it fits");
                    assert_eq!((row.exchange_at(), row.local_at()), (7, -9));
                    assert_eq!((row.kind(), row.side()), (kind, side));
                    assert_eq!((row.tick(), row.lots(), row.order()), (-12, LOTS_MAX, 5));
                    assert_eq!(row.is_at_exchange(), seen != Seen::Local);
                    assert_eq!(row.is_local(), seen != Seen::Exchange);
                    assert_eq!(Row::new(&Event { lots: LOTS_MAX + 1, ..event }, 0), None);
                    assert_eq!(Row::new(&Event { lots: -1, ..event }, 0), None);
                    assert_eq!(Row::new(&Event { tick: 1 << 31, ..event }, 0), None);
                }
            }
        }
    }
}
