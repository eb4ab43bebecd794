//! A market as its clients see it: the displayed book, the tape, candles.

use std::collections::{BTreeSet, VecDeque};

use taut_types::{OrderId, Side};

use crate::binance::candles::{Candle, Candles};
use crate::binance::frames::{Depth, Level};
use crate::binance::settings::{Sizes, SymbolMarket, SymbolSettings};
use crate::book::DisplayedBook;
use crate::decimal::{fixed8, over, times};

/// Trades that are remembered.
const TAPE_MAX: usize = 1_000;
/// What a ticker looks back on.
pub const DAY_MS: i64 = 86_400_000;
/// What an average price looks back on.
const AVERAGE_MS: i64 = 5 * 60_000;
/// How far the update ids of futures are from each other.
const USD_M_STEP: u64 = 7;
/// The first trade's number.
const FIRST_TRADE: u64 = 1_000_001;

/// A trade on the tape.
#[derive(Clone, Copy, Debug)]
pub struct Print {
    pub id: u64,
    /// At 1e-9.
    pub price: i128,
    pub lots: i64,
    pub ms: i64,
    pub buyer_is_maker: bool,
}

/// Trades of one taker at one price.
#[derive(Clone, Copy, Debug)]
pub struct Aggregate {
    pub id: u64,
    pub price: i128,
    pub lots: i64,
    pub first: u64,
    pub last: u64,
    pub ms: i64,
    pub buyer_is_maker: bool,
}

/// Levels that have changed since the last event of a depth stream.
#[derive(Debug)]
pub struct Fold {
    /// The first update id that the next event covers, once something has changed.
    pub first: u64,
    /// The last one of the event before.
    pub previous: u64,
    /// Whether it is a bid, and the price in half ticks.
    pub dirty: BTreeSet<(bool, i64)>,
}

/// What an event of a depth stream tells.
#[derive(Debug)]
pub struct Changes {
    pub first: u64,
    pub last: u64,
    /// The last one of the event before.
    pub previous: u64,
    dirty: BTreeSet<(bool, i64)>,
}

#[derive(Debug)]
pub struct Market {
    pub settings: SymbolSettings,
    pub sizes: Sizes,
    pub book: DisplayedBook,
    /// It takes no new order any more.
    pub is_delisted: bool,
    /// Counts the changes of levels.
    pub update_id: u64,
    pub tape: VecDeque<Print>,
    pub aggregates: VecDeque<Aggregate>,
    pub candles: Candles,
    /// Of the streams each 100 ms, each second, and, in SBE, each 50 ms.
    pub folds: [Fold; 3],
    /// Something has traded since the streams of each second were sent.
    pub has_traded: bool,
    next_trade: u64,
    next_aggregate: u64,
}

impl Market {
    pub fn new(settings: &SymbolSettings, update_id: u64) -> Result<Self, String> {
        let sizes = settings.sizes()?;
        Ok(Self {
            settings: settings.clone(),
            book: DisplayedBook::new(sizes.tick, sizes.step),
            sizes,
            is_delisted: false,
            update_id,
            tape: VecDeque::new(),
            aggregates: VecDeque::new(),
            candles: Candles::default(),
            folds: folds(update_id),
            has_traded: false,
            next_trade: FIRST_TRADE,
            next_aggregate: 1,
        })
    }

    /// Ids of updates, from this one on, and of trades begin again.
    pub fn renumber(&mut self, update_id: u64) {
        (self.update_id, self.folds) = (update_id, folds(update_id));
        (self.next_trade, self.next_aggregate) = (FIRST_TRADE, 1);
        self.tape.clear();
        self.aggregates.clear();
    }

    /// Whether it is one of the spot market.
    pub fn is_spot(&self) -> bool {
        self.settings.market == SymbolMarket::SpotMarket
    }

    /// Notes that a level is another.
    pub fn note(&mut self, side: Side, price: i64) {
        self.update_id += if self.is_spot() { 1 } else { USD_M_STEP };
        for fold in &mut self.folds {
            if fold.dirty.is_empty() {
                fold.first = self.update_id;
            }
            fold.dirty.insert((side == Side::Buy, price));
        }
    }

    /// The last price, or else the middle of the market, or else where it began.
    pub fn last_price(&self) -> i128 {
        let last = self.tape.back().map(|print| print.price);
        last.or_else(|| self.book.middle()).unwrap_or(self.sizes.start)
    }

    /// What has changed since the last event of this fold: the first and the last update, and
    /// where. Nothing when nothing has.
    pub fn unfold(&mut self, fold: usize) -> Option<Changes> {
        let last = self.update_id;
        let fold = self.folds.get_mut(fold).filter(|it| !it.dirty.is_empty())?;
        let previous = std::mem::replace(&mut fold.previous, last);
        Some(Changes { first: fold.first, last, previous, dirty: std::mem::take(&mut fold.dirty) })
    }

    /// The best so many levels.
    pub fn depth(&self, count: usize) -> Depth {
        let levels = |side| {
            let level = |(price, amount)| [fixed8(price), fixed8(amount)];
            self.book.levels(side).take(count).map(level).collect()
        };
        Depth { last: self.update_id, bids: levels(Side::Buy), asks: levels(Side::Sell) }
    }

    /// The best bid and the best offer, price and amount at 1e-9; zeros where there is none.
    pub fn best(&self) -> [(i128, i128); 2] {
        Side::BOTH.map(|side| self.book.best(side).unwrap_or((0, 0)))
    }

    /// [`changed`](Self::changed) as frames say it.
    pub fn changed_levels(&self, changes: &Changes, side: Side) -> Vec<Level> {
        let level = |(price, amount)| [fixed8(price), fixed8(amount)];
        self.changed(changes, side).into_iter().map(level).collect()
    }

    /// The levels of a side that have changed, best first: price and amount at 1e-9.
    pub fn changed(&self, changes: &Changes, side: Side) -> Vec<(i128, i128)> {
        let book = &self.book;
        let is_bid = side == Side::Buy;
        let of_side = changes.dirty.iter().filter(|(is_of_bids, _)| *is_of_bids == is_bid);
        let level = |(_, price): &(bool, i64)| {
            let lots = book.side(side).get(price).copied().unwrap_or(0);
            (book.price(*price), book.amount(lots))
        };
        let mut levels: Vec<_> = of_side.map(level).collect();
        if is_bid {
            levels.reverse();
        }
        levels
    }

    /// Puts a trade on the tape.
    pub fn print(&mut self, price: i64, lots: i64, aggressor: Side, ms: i64) -> Print {
        let print = Print {
            id: self.next_trade,
            price: self.book.price(price),
            lots,
            ms,
            buyer_is_maker: aggressor == Side::Sell,
        };
        self.next_trade += 1;
        self.has_traded = true;
        let amount = self.book.amount(lots);
        self.candles.take(ms, print.id, print.price, amount, !print.buyer_is_maker);
        if self.tape.len() >= TAPE_MAX {
            self.tape.pop_front();
        }
        self.tape.push_back(print);
        print
    }

    /// Adds up the trades of one command, each with its taker.
    pub fn aggregate(&mut self, trades: &[(OrderId, Print)]) -> Vec<Aggregate> {
        let same =
            |a: &(OrderId, Print), b: &(OrderId, Print)| a.0 == b.0 && a.1.price == b.1.price;
        let mut all = Vec::new();
        for chunk in trades.chunk_by(same) {
            let (Some((_, first)), Some((_, last))) = (chunk.first(), chunk.last()) else {
                continue;
            };
            let aggregate = Aggregate {
                id: self.next_aggregate,
                price: first.price,
                lots: chunk.iter().map(|(_, print)| print.lots).sum(),
                first: first.id,
                last: last.id,
                ms: first.ms,
                buyer_is_maker: first.buyer_is_maker,
            };
            self.next_aggregate += 1;
            if self.aggregates.len() >= TAPE_MAX {
                self.aggregates.pop_front();
            }
            self.aggregates.push_back(aggregate);
            all.push(aggregate);
        }
        all
    }

    /// The trades of the last day as one candle; flat without any.
    pub fn day(&self, ms: i64) -> Candle {
        let day = self.candles.traded(ms - DAY_MS, ms + 1);
        day.unwrap_or_else(|| Candle::flat(self.last_price()))
    }

    /// The volume-weighted price of the last five minutes, or else the last.
    pub fn average_price(&self, ms: i64) -> i128 {
        let traded = self.candles.traded(ms - AVERAGE_MS, ms + 1);
        traded.map_or_else(|| self.last_price(), |it| over(it.quote_volume, it.volume))
    }

    /// What so many lots of this side would come to at once, at the prices displayed, and how many
    /// of them there are.
    pub fn cost(&self, side: Side, lots: i64) -> (i128, i64) {
        let (mut cost, mut left) = (0, lots);
        for (price, amount) in self.book.levels(opposite(side)) {
            let here = self.book.lots(amount).unwrap_or(0).min(left);
            cost += times(self.book.amount(here), price);
            left -= here;
            if left == 0 {
                break;
            }
        }
        (cost, lots - left)
    }

    /// How many lots of this side so much of the quote asset trades at once.
    pub fn lots_for(&self, side: Side, quote: i128) -> i64 {
        let (mut total, mut left) = (0_i64, quote);
        for (price, amount) in self.book.levels(opposite(side)) {
            let here = self.book.lots(amount).unwrap_or(0);
            let of_one = times(self.sizes.step, price).max(1);
            let wanted = i64::try_from(left / of_one).unwrap_or(i64::MAX).min(here);
            total += wanted;
            left -= times(self.book.amount(wanted), price);
            if wanted < here {
                break;
            }
        }
        total
    }
}

/// Nothing has changed since this update.
fn folds(update_id: u64) -> [Fold; 3] {
    [(); 3].map(|()| Fold { first: update_id, previous: update_id, dirty: BTreeSet::new() })
}

const fn opposite(side: Side) -> Side {
    match side {
        Side::Buy => Side::Sell,
        Side::Sell => Side::Buy,
    }
}
