//! The market of a recorded run as rows of text, for a backtest of another strategy.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use taut_market_data::{Batch, Event, EventKind, FeedHandler, Soundness};
use taut_sys::{Clock, MAPPING_WORDS, TickMapping};
use taut_types::{Instrument, Lots, Nanos, Price, Side};

/// Writes what a gateway's books and the tape of trades do, in the columns of `taut import`'s and
/// `taut export`'s `csv`.
pub struct MarketRows {
    out: Box<dyn Write + Send>,
    instruments: Vec<Instrument>,
    /// From the monotonic clock to UTC.
    clock: Clock,
    /// The levels at hand stand beside a book.
    is_beside: bool,
    /// Rows that were written.
    rows: u64,
    failure: Option<io::Error>,
}

impl fmt::Debug for MarketRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MarketRows").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// They are looked at by who has a gateway do something again, and by the gateway meanwhile.
pub type SharedRows = Arc<Mutex<MarketRows>>;

/// A row but for its instrument and its times.
struct Row {
    kind: &'static str,
    side: Option<Side>,
    price: Price,
    lots: Lots,
}

impl MarketRows {
    /// Begins with the names of the columns.
    pub fn begin(out: Box<dyn Write + Send>, clock: [u64; MAPPING_WORDS]) -> Self {
        let clock = Clock::new(TickMapping::from_words(clock));
        let instruments = Vec::new();
        let mut rows = Self { out, instruments, clock, is_beside: false, rows: 0, failure: None };
        rows.put("exch_ts,local_ts,seen,kind,side,px,qty,order_id,symbol\n");
        rows
    }

    /// The gateway trades these.
    pub fn set_instruments(&mut self, instruments: &[Instrument]) {
        if self.instruments.len() != instruments.len() {
            self.instruments = instruments.to_vec();
        }
    }

    /// Takes what a frame has changed.
    pub fn on_market(&mut self, events: &[Event], feed: &impl FeedHandler) {
        for event in events {
            match event.kind {
                EventKind::Begin(batch) => self.is_beside = batch == Batch::BestLevels,
                EventKind::End { .. } => self.is_beside = false,
                EventKind::Level(level) if !self.is_beside => {
                    let (side, price, lots) = (Some(level.side), level.price, level.lots);
                    self.row(event, &Row { kind: "level", side, price, lots });
                }
                EventKind::Trade(trade) => {
                    let (side, price, lots) = (trade.aggressor, trade.price, trade.lots);
                    self.row(event, &Row { kind: "trade", side, price, lots });
                }
                EventKind::Book(soundness) => {
                    let (price, lots) = (Price(0), Lots(0));
                    self.row(event, &Row { kind: "clear", side: None, price, lots });
                    // A book that is not sound has no levels here.
                    let book = feed.book(event.instrument);
                    let book = book.filter(|_| soundness == Soundness::Sound);
                    for side in Side::BOTH {
                        for level in book.iter().flat_map(|book| book.iter(side)) {
                            let (price, lots) = (level.price, level.lots);
                            self.row(
                                event,
                                &Row { kind: "snapshot", side: Some(side), price, lots },
                            );
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn row(&mut self, event: &Event, row: &Row) {
        let Some(instrument) = self.instruments.get(event.instrument.0 as usize) else { return };
        let Ok(qty) = instrument.qty(row.lots) else { return };
        let symbol = instrument.symbol();
        let local = self.clock.utc_at(event.receive_time).0;
        let exchange =
            if event.exchange_time == Nanos::ZERO { local } else { event.exchange_time.0 };
        let side = match row.side {
            Some(Side::Buy) => "buy",
            Some(Side::Sell) => "sell",
            None => "",
        };
        let Row { kind, price, .. } = row;
        self.rows += 1;
        self.put(&format!("{exchange},{local},both,{kind},{side},{price},{qty},0,{symbol}\n"));
    }

    fn put(&mut self, text: &str) {
        if self.failure.is_none() {
            self.failure = self.out.write_all(text.as_bytes()).err();
        }
    }

    /// Ends it: how many rows there are.
    pub fn finish(&mut self) -> io::Result<u64> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.rows),
        }
    }
}
