//! The market as a gateway's ring tells it: best prices of all instruments, and the books of some.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use taut_gateway::{MarketRead, MarketReader, Regions};
use taut_market_data::{Batch, BestPrices, Event, EventKind, Soundness};
use taut_ring::RingError;
use taut_runner::service::{BookLines, InstrumentLine, StaleBook};
use taut_types::{InstrumentId, Lots, Nanos, Price, Qty, Side};

use super::model::{InstrumentSeen, Level};

/// Levels of each side that are told.
const DEPTH: usize = 10;
/// Instruments whose books are followed where nobody says which.
const FOLLOWED: usize = 8;
/// Most of them: each is asked for anew when the ring was lost.
const FOLLOWED_MAX: usize = 32;
const SECOND: Nanos = Nanos::from_secs(1);

/// What is known of an instrument.
#[derive(Debug)]
struct Instrument {
    line: InstrumentLine,
    lot: Qty,
    top: BestPrices,
    last: Option<Price>,
    trades: u64,
    events: u64,
    /// The levels that come now are those of a stream of best levels, and not the book's.
    is_in_best_levels: bool,
    /// The book, where it is followed and was told.
    book: Option<Book>,
    /// At the end of each look, how many events there were.
    counted: VecDeque<(Nanos, u64)>,
}

/// A book: lots by price.
#[derive(Debug, Default)]
struct Book {
    bids: BTreeMap<i64, i64>,
    asks: BTreeMap<i64, i64>,
    /// What stands before this position of the ring is in it.
    position: u64,
}

/// The market of a gateway.
#[derive(Debug)]
pub struct Market {
    instruments: Vec<Instrument>,
    followed: BTreeSet<usize>,
    position: u64,
    /// Where the ring was at the last look.
    position_before: u64,
    lost: u64,
}

impl Market {
    /// From the next event on.
    pub fn new(regions: &Regions<'_>, lines: Vec<InstrumentLine>) -> Result<Self, RingError> {
        let position = MarketReader::new(regions)?.position();
        let instruments: Vec<_> = lines.into_iter().map(Instrument::new).collect();
        let followed = (0..instruments.len().min(FOLLOWED)).collect();
        Ok(Self { instruments, followed, position, position_before: position, lost: 0 })
    }

    /// Follows the books of these instruments, and no others.
    pub fn follow(&mut self, symbols: &[String]) {
        let numbers = symbols
            .iter()
            .filter_map(|symbol| self.instruments.iter().position(|it| it.line.symbol == *symbol));
        self.followed = numbers.take(FOLLOWED_MAX).collect();
        for (number, instrument) in self.instruments.iter_mut().enumerate() {
            if !self.followed.contains(&number) {
                instrument.book = None;
            }
        }
    }

    /// Follows this book no more: the gateway does not tell it.
    pub fn give_up(&mut self, symbol: &str) {
        let number = self.instruments.iter().position(|it| it.line.symbol == symbol);
        self.followed.retain(|followed| Some(*followed) != number);
    }

    /// The symbols of books that are followed and were not told yet, or were lost.
    pub fn wanted(&self) -> Vec<String> {
        let followed = self.followed.iter().filter_map(|number| self.instruments.get(*number));
        let wanted = followed.filter(|instrument| instrument.book.is_none());
        wanted.map(|instrument| instrument.line.symbol.clone()).collect()
    }

    /// Takes a book that was told. Events before its position are in it; the ring may have been
    /// read beyond that already, in which case it is asked for again.
    pub fn take(&mut self, lines: &BookLines) {
        let Some(instrument) = self.instruments.get_mut(lines.instrument as usize) else { return };
        if lines.position < self.position {
            return;
        }
        let levels = |levels: &[(i64, i64)]| levels.iter().copied().collect();
        let (bids, asks) = (levels(&lines.bids), levels(&lines.asks));
        let book = Book { bids, asks, position: lines.position };
        instrument.top = book.top();
        instrument.book = Some(book);
    }

    /// Takes what the ring has had since.
    pub fn read(&mut self, regions: &Regions<'_>) -> Result<(), RingError> {
        let (mut reader, lost) = MarketReader::resume(regions, self.position)?;
        if lost > 0 {
            self.lost_some(lost);
        }
        loop {
            let at = reader.position();
            match reader.poll() {
                MarketRead::Nothing => break,
                MarketRead::Event(event) => self.apply(at, &event),
                MarketRead::Lost(lost) => self.lost_some(lost),
                MarketRead::Other => {}
            }
        }
        self.position = reader.position();
        Ok(())
    }

    /// Whether the ring has had something since this was asked last.
    pub const fn has_moved(&mut self) -> bool {
        let has_moved = self.position != self.position_before;
        self.position_before = self.position;
        has_moved
    }

    /// The ring does not tell what changes: books are asked for anew.
    pub fn distrust(&mut self) {
        for instrument in &mut self.instruments {
            instrument.book = None;
            instrument.is_in_best_levels = false;
        }
    }

    fn lost_some(&mut self, lost: u64) {
        self.lost += lost;
        self.distrust();
    }

    fn apply(&mut self, at: u64, event: &Event) {
        let InstrumentId(number) = event.instrument;
        let Some(instrument) = self.instruments.get_mut(number as usize) else { return };
        instrument.events += 1;
        match event.kind {
            EventKind::Top(top) => instrument.top = top,
            EventKind::Trade(trade) => {
                instrument.trades += 1;
                instrument.last = Some(trade.price);
            }
            EventKind::Begin(Batch::BestLevels) => instrument.is_in_best_levels = true,
            EventKind::End { .. } => instrument.is_in_best_levels = false,
            // What it had is told anew.
            EventKind::Book(Soundness::Sound | Soundness::Stale(_)) => instrument.book = None,
            EventKind::Level(level) if !instrument.is_in_best_levels => {
                let book = instrument.book.as_mut().filter(|book| at >= book.position);
                if let Some(book) = book {
                    book.set(level.side, level.price, level.lots);
                }
            }
            _ => {}
        }
    }

    /// What is known of all instruments. `stale` are those of which the gateway says that their
    /// books cannot be trusted.
    pub fn seen(&mut self, now: Nanos, stale: &[StaleBook]) -> Vec<InstrumentSeen> {
        let reason =
            |symbol: &str| stale.iter().find(|it| it.symbol == symbol).map(|it| it.reason.clone());
        self.instruments.iter_mut().map(|it| it.seen(now, reason(&it.line.symbol))).collect()
    }

    /// Entries of the ring that came too fast.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// How many instruments it knows.
    pub const fn count(&self) -> usize {
        self.instruments.len()
    }
}

impl Instrument {
    fn new(line: InstrumentLine) -> Self {
        Self {
            lot: Qty::parse(line.lot.as_bytes()).unwrap_or(Qty::whole(1)),
            line,
            top: BestPrices::default(),
            last: None,
            trades: 0,
            events: 0,
            is_in_best_levels: false,
            book: None,
            counted: VecDeque::new(),
        }
    }

    fn level(&self, price: Price, lots: i64) -> Level {
        let mantissa = self.lot.mantissa.checked_mul(lots);
        let quantity = mantissa.map_or_else(
            || format!("{lots} lots"),
            |mantissa| Qty { mantissa, ..self.lot }.to_string(),
        );
        Level { price: price.to_string(), quantity }
    }

    fn seen(&mut self, now: Nanos, stale: Option<String>) -> InstrumentSeen {
        let events_per_second = self.rate(now);
        let best =
            |best: Option<(Price, Lots)>| best.map(|(price, lots)| self.level(price, lots.0));
        let side = |levels: &mut dyn Iterator<Item = (&i64, &i64)>| {
            levels.take(DEPTH).map(|(price, lots)| self.level(Price(*price), *lots)).collect()
        };
        let (bids, asks) = match &self.book {
            Some(book) => (side(&mut book.bids.iter().rev()), side(&mut book.asks.iter())),
            None => (Vec::new(), Vec::new()),
        };
        InstrumentSeen {
            symbol: self.line.symbol.clone(),
            tick: self.line.tick.clone(),
            lot: self.line.lot.clone(),
            is_sound: stale.is_none(),
            stale_reason: stale.unwrap_or_default(),
            bid: best(self.top.bid),
            ask: best(self.top.ask),
            bids,
            asks,
            last: self.last.map(|price| price.to_string()),
            trades: self.trades,
            events: self.events,
            events_per_second,
        }
    }

    fn rate(&mut self, now: Nanos) -> f64 {
        // One that is older than a second is needed, of several the latest.
        while self.counted.get(1).is_some_and(|(at, _)| now.since(*at) >= SECOND) {
            self.counted.pop_front();
        }
        let rate = self.counted.front().map_or(0.0, |(at, before)| {
            let seconds = now.since(*at).0 as f64 / 1e9;
            let grown = self.events.saturating_sub(*before) as f64;
            if seconds > 0.0 { grown / seconds } else { 0.0 }
        });
        self.counted.push_back((now, self.events));
        rate
    }
}

impl Book {
    fn set(&mut self, side: Side, price: Price, lots: Lots) {
        let levels = match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        };
        if lots == Lots::ZERO {
            levels.remove(&price.0);
        } else {
            levels.insert(price.0, lots.0);
        }
    }

    fn top(&self) -> BestPrices {
        let best =
            |level: Option<(&i64, &i64)>| level.map(|(price, lots)| (Price(*price), Lots(*lots)));
        BestPrices { bid: best(self.bids.last_key_value()), ask: best(self.asks.first_key_value()) }
    }
}

#[cfg(test)]
mod tests {
    use taut_market_data::{LevelPlace, LevelUpdate};

    use super::*;

    fn event(kind: EventKind) -> Event {
        let (exchange_time, receive_time) = (Nanos(1), Nanos(2));
        Event { instrument: InstrumentId(0), exchange_time, receive_time, kind }
    }

    fn level(side: Side, price: i64, lots: i64) -> EventKind {
        EventKind::Level(LevelUpdate {
            side,
            price: Price(price * 1_000_000_000),
            lots: Lots(lots),
            order_count: 0,
            place: LevelPlace::ByPrice,
        })
    }

    #[test]
    fn a_book_is_what_was_told_and_what_the_ring_has_had_behind_it() {
        let line = InstrumentLine {
            symbol: "ONE".to_owned(),
            tick: "1".to_owned(),
            lot: "0.1".to_owned(),
            ..InstrumentLine::default()
        };
        let instruments = vec![Instrument::new(line)];
        let followed = [0].into();
        let mut market = Market { instruments, followed, position: 7, position_before: 7, lost: 0 };
        assert_eq!(market.wanted(), ["ONE"]);
        let unit = 1_000_000_000;
        let lines = |position| BookLines {
            position,
            bids: vec![(10 * unit, 5), (9 * unit, 4)],
            asks: vec![(11 * unit, 3)],
            ..BookLines::default()
        };
        // The ring was read beyond it.
        market.take(&lines(6));
        assert_eq!(market.wanted(), ["ONE"]);
        market.take(&lines(9));
        assert!(market.wanted().is_empty());
        // It is in the book already.
        market.apply(8, &event(level(Side::Buy, 10, 1)));
        market.apply(9, &event(level(Side::Buy, 10, 0)));
        market.apply(10, &event(level(Side::Sell, 12, 20)));
        // Best levels of another stream.
        market.apply(11, &event(EventKind::Begin(Batch::BestLevels)));
        market.apply(12, &event(level(Side::Sell, 11, 0)));
        market.apply(13, &event(EventKind::End { is_final: true }));
        let seen = market.seen(Nanos(0), &[]).remove(0);
        let text = |levels: &[Level]| -> Vec<String> {
            levels.iter().map(|it| format!("{} x {}", it.quantity, it.price)).collect()
        };
        assert_eq!(text(&seen.bids), ["0.4 x 9"]);
        assert_eq!(text(&seen.asks), ["0.3 x 11", "2 x 12"]);
        assert!(seen.is_sound && seen.events == 6);
        assert!(!market.has_moved());
        market.lost_some(3);
        assert_eq!((market.wanted().len(), market.lost()), (1, 3));
        market.follow(&[]);
        assert!(market.wanted().is_empty());
    }
}
