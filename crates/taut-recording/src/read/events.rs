//! A venue's events as rows.

use std::collections::VecDeque;
use std::rc::Rc;

use taut_market_data::{
    Batch, BestPrices, Context, Event, EventKind, InstrumentKey, LevelPlace, LevelUpdate,
    MarketSink,
};
use taut_types::{Lots, Nanos, Price, Qty, Side};

use super::files::ReadOptions;
use crate::rows::{Kind, Reading, Row, Seen};

/// What the events of some frames come to: a snapshot clears each side up to its last level before
/// its own levels, an update's levels are as they are.
#[derive(Debug)]
pub(super) struct EventRows {
    rows: VecDeque<Row>,
    reading: Rc<Reading>,
    has_best: bool,
    /// The levels of a batch that replaces what was there, and whether one is open.
    snapshot: Vec<LevelUpdate>,
    is_snapshot: bool,
    /// The newest time that the exchange has said.
    last_exchange: Nanos,
    unnamed: Unnamed,
}

/// Whose frames are that do not say it, such as Binance's snapshots: of the one instrument that the
/// others are of.
#[derive(Debug)]
struct Unnamed {
    /// That instrument, as soon as it is known.
    of: Option<u32>,
    /// Whether `of` was said beforehand, whatever the other frames are of.
    is_chosen: bool,
    /// Whether there were any, and whether the others are of several instruments.
    seen: bool,
    is_ambiguous: bool,
}

/// Rows that wait for a frame that says its instrument.
const WAITING_MAX: usize = 1 << 17;
/// Stands for the instrument that is not known yet.
const NOT_KNOWN: u32 = 0;

impl EventRows {
    pub(super) fn new(reading: &Rc<Reading>, options: &ReadOptions) -> Self {
        let chosen = options.symbol.as_ref();
        let of = chosen.map(|symbol| reading.number(&symbol.as_bytes().to_ascii_uppercase()));
        let is_chosen = of.is_some();
        Self {
            rows: VecDeque::new(),
            reading: Rc::clone(reading),
            has_best: options.has_best,
            unnamed: Unnamed { of, is_chosen, seen: false, is_ambiguous: false },
            snapshot: Vec::new(),
            is_snapshot: false,
            last_exchange: Nanos::ZERO,
        }
    }

    /// The next row whose instrument is known.
    pub(super) fn pop(&mut self) -> Option<Row> {
        self.rows.pop_front_if(|row| row.instrument != NOT_KNOWN)
    }

    /// No frame says its instrument: those that say no instrument are of one without a name.
    pub(super) fn end(&mut self) {
        if self.unnamed.seen && self.unnamed.of.is_none() {
            let number = self.reading.number(b"");
            self.name(number);
        }
    }

    /// What is wrong with frames that do not say whose they are.
    pub(super) fn wrong(&self) -> Option<&'static str> {
        (self.unnamed.seen && self.unnamed.is_ambiguous).then_some(
            "the file has frames of several instruments, and a snapshot that does not say whose it \
             is; say it with --symbol",
        )
    }

    /// The number of an instrument by its name.
    fn number(&mut self, name: &[u8]) -> u32 {
        if name.is_empty() {
            self.unnamed.seen = true;
            if self.rows.len() > WAITING_MAX {
                self.end();
            }
            return self.unnamed.of.unwrap_or(NOT_KNOWN);
        }
        let number = self.reading.number(&name.to_ascii_uppercase());
        match self.unnamed.of {
            None => self.name(number),
            Some(of) => self.unnamed.is_ambiguous |= !self.unnamed.is_chosen && of != number,
        }
        number
    }

    /// Frames that say no instrument are of this one.
    fn name(&mut self, number: u32) {
        self.unnamed.of = Some(number);
        let unnamed = self.rows.iter_mut().filter(|row| row.instrument == NOT_KNOWN);
        unnamed.for_each(|row| row.instrument = number);
    }

    /// Replaces each side up to the last level that the snapshot has of it.
    fn end_snapshot(&mut self, row: &Row, decimals: u8) {
        for side in Side::BOTH {
            let last = match side {
                Side::Buy => self.prices(side).min(),
                Side::Sell => self.prices(side).max(),
            };
            let Some(price) = last else { continue };
            let row = Row { side: Some(side), ..*row };
            self.rows.push_back(Row { kind: Kind::Clear, price, ..row });
            for level in self.snapshot.iter().filter(|level| level.side == side) {
                let (price, qty) = (level.price, qty(level.lots, decimals));
                self.rows.push_back(Row { kind: Kind::Snapshot, price, qty, ..row });
            }
        }
        self.snapshot.clear();
    }

    fn prices(&self, side: Side) -> impl Iterator<Item = Price> {
        self.snapshot.iter().filter(move |level| level.side == side).map(|level| level.price)
    }

    fn best(&mut self, row: &Row, top: &BestPrices, decimals: u8) {
        for (side, best) in Side::BOTH.into_iter().zip([top.bid, top.ask]) {
            let (price, lots) = best.unwrap_or_default();
            let (side, qty) = (Some(side), qty(lots, decimals));
            self.rows.push_back(Row { kind: Kind::Best, side, price, qty, ..*row });
        }
    }
}

impl MarketSink for EventRows {
    fn on_event(&mut self, context: &Context<'_>, event: &Event) {
        // Some streams say no time; it is not before what was said last.
        let exchange_at = match event.exchange_time {
            Nanos::ZERO if self.last_exchange == Nanos::ZERO => event.receive_time,
            Nanos::ZERO => self.last_exchange,
            time => time,
        };
        self.last_exchange = self.last_exchange.max(event.exchange_time);
        let instrument = match context.instrument {
            InstrumentKey::Symbol(name) => self.number(name),
            InstrumentKey::Id(id) => id,
            InstrumentKey::Channel => NOT_KNOWN,
        };
        let decimals = context.lot_decimals;
        let row = Row {
            exchange_at,
            local_at: event.receive_time,
            seen: Seen::Both,
            kind: Kind::Level,
            side: None,
            price: Price(0),
            qty: Qty::ZERO,
            order_id: 0,
            instrument,
        };
        match event.kind {
            EventKind::Begin(Batch::Snapshot | Batch::BestLevels) => self.is_snapshot = true,
            EventKind::End { .. } if self.is_snapshot => {
                self.is_snapshot = false;
                self.end_snapshot(&row, decimals);
            }
            EventKind::Level(LevelUpdate { place, .. })
                if !matches!(place, LevelPlace::ByPrice | LevelPlace::Behind(_)) =>
            {
                self.reading.leave_out(1);
            }
            EventKind::Level(level) if self.is_snapshot => self.snapshot.push(level),
            EventKind::Level(LevelUpdate { side, price, lots, .. }) => {
                let (side, qty) = (Some(side), qty(lots, decimals));
                self.rows.push_back(Row { side, price, qty, ..row });
            }
            EventKind::Trade(trade) => {
                let (kind, side, price) = (Kind::Trade, trade.aggressor, trade.price);
                let qty = qty(trade.lots, decimals);
                self.rows.push_back(Row { kind, side, price, qty, ..row });
            }
            EventKind::Top(top) if self.has_best => self.best(&row, &top, decimals),
            EventKind::Reset => self.rows.push_back(Row { kind: Kind::Clear, ..row }),
            EventKind::OrderAdd(_)
            | EventKind::OrderChange(_)
            | EventKind::OrderReduce { .. }
            | EventKind::OrderDelete { .. }
            | EventKind::DeleteLevels { .. } => self.reading.leave_out(1),
            EventKind::Begin(_)
            | EventKind::End { .. }
            | EventKind::Top(_)
            | EventKind::Status(_)
            | EventKind::Book(_)
            | EventKind::Statistic(_) => {}
        }
    }
}

const fn qty(lots: Lots, decimals: u8) -> Qty {
    Qty { mantissa: lots.0, decimals }
}
