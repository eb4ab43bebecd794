//! Recorded market data as a gateway has a venue's: rows in, events and books out.

use std::ops::RangeInclusive;

use taut_backtest::{BacktestError, FlatBook, Market as _, OrderLevels, Recording, Row, RowKind};
use taut_book::LevelBook;
use taut_market_data::{
    Batch, BestPrices, BookOrder, Context, Event, EventKind, FeedCounters, FeedHandler,
    FeedRequest, InstrumentKey, LevelPlace, LevelUpdate, MarketSink, ReduceReason, SequenceRange,
    Soundness, Source, Staleness, Trade,
};
use taut_types::{
    Instrument, InstrumentId, Lots, Nanos, OrderId, Price, SequenceNumber, Side, Symbol,
};

/// The rows that we learn of, of several recordings. A frame names the rows of one instant and
/// instrument by their places ([`Frame`]); they are where they are.
#[derive(Debug)]
pub struct RecordedFeed<'r> {
    markets: Vec<Market<'r>>,
    events_max: usize,
    applied: u64,
    malformed: u64,
    received: Nanos,
}

/// An instrument's rows, and its book as we know it.
#[derive(Debug)]
struct Market<'r> {
    rows: &'r [Row],
    instrument: InstrumentId,
    symbol: Symbol,
    tick: i64,
    ticks: RangeInclusive<i64>,
    view: View,
    /// What of the view can be traded with: levels that the other side has passed are not.
    book: LevelBook,
    /// The best of each side that is shown, in ticks.
    bests: [Option<i64>; 2],
    /// Trades are told by rows of their own, and not by the fills of what rested.
    has_trades: bool,
    /// Orders are told one by one, too.
    tells_orders: bool,
    /// The order that traded last: its next row says what is left of it.
    traded: Option<usize>,
    is_sound: bool,
    told: BestPrices,
}

/// The market as the rows have it: as the exchange's is kept.
#[derive(Debug)]
enum View {
    Levels(FlatBook),
    Orders(OrderLevels),
}

impl View {
    fn new(recording: &Recording) -> Result<Self, BacktestError> {
        Ok(match recording.orders() {
            0 => Self::Levels(FlatBook::new(recording.ticks())?),
            _ => Self::Orders(<OrderLevels as taut_backtest::Market>::new(recording)?),
        })
    }

    fn take(&mut self, row: &Row) {
        match self {
            Self::Levels(book) => book.take(row, false),
            Self::Orders(orders) => orders.take(row, false),
        }
    }

    fn book(&self) -> &FlatBook {
        match self {
            Self::Levels(book) => book,
            Self::Orders(orders) => orders.book(),
        }
    }

    /// The level that a row is about, as it is before the row is taken.
    fn place_of(&self, row: &Row) -> Option<(Side, i64)> {
        match self {
            Self::Orders(orders) => orders.place_of(row),
            Self::Levels(_) => None,
        }
    }
}

/// Rows of an instrument, from one up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub market: u32,
    pub from: u64,
    pub to: u64,
}

/// The size of a [`Frame`].
const FRAME_BYTES: usize = 20;

impl Frame {
    pub fn to_bytes(self) -> [u8; FRAME_BYTES] {
        let mut bytes = [0; FRAME_BYTES];
        let parts = bytes.split_first_chunk_mut::<4>();
        if let Some((market, rest)) = parts
            && let Some((from, to)) = rest.split_first_chunk_mut::<8>()
        {
            *market = self.market.to_le_bytes();
            *from = self.from.to_le_bytes();
            to.copy_from_slice(&self.to.to_le_bytes());
        }
        bytes
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (market, rest) = bytes.split_first_chunk::<4>()?;
        let (from, rest) = rest.split_first_chunk::<8>()?;
        let to = rest.first_chunk::<8>()?;
        Some(Self {
            market: u32::from_le_bytes(*market),
            from: u64::from_le_bytes(*from),
            to: u64::from_le_bytes(*to),
        })
    }
}

impl<'r> RecordedFeed<'r> {
    /// Of these instruments, numbered by their places; with `tells_orders` each order of a
    /// recording that has them is told. Goes through all rows once, to know how many events an
    /// instant has at the most.
    ///
    /// # Errors
    /// When prices span too many ticks.
    pub fn new(
        markets: &[(Instrument, &'r Recording)],
        tells_orders: bool,
    ) -> Result<Self, BacktestError> {
        let (mut all, mut most) = (Vec::with_capacity(markets.len()), 0);
        for (instrument, recording) in markets {
            let counted = Market::new(instrument, recording, tells_orders)?.most_at_once();
            most = most.max(counted);
            all.push(Market::new(instrument, recording, tells_orders)?);
        }
        // An instant has the soundness, a list of no orders and the top of the book, too.
        let events_max = most + 4;
        let received = Nanos::ZERO;
        Ok(Self { markets: all, events_max, applied: 0, malformed: 0, received })
    }

    fn market(&self, instrument: InstrumentId) -> Option<&Market<'r>> {
        self.markets.get(instrument.0 as usize)
    }
}

/// How many different levels the fuller side has in all: room that is reserved, and used as far as
/// the book is full at a time.
fn levels_of(recording: &Recording) -> usize {
    let ticks = recording.ticks();
    let width = usize::try_from(ticks.end() - ticks.start() + 1).unwrap_or(1);
    let mut seen = [vec![false; width], vec![false; width]];
    let is_about_level = |row: &&Row| !matches!(row.kind(), RowKind::Trade | RowKind::Clear);
    // An order's later rows may leave its side out.
    for row in recording.rows().iter().filter(is_about_level) {
        let sides = Side::BOTH.into_iter().filter(|one| row.side().is_none_or(|side| side == *one));
        let at = usize::try_from(row.tick() - ticks.start()).unwrap_or(usize::MAX);
        for side in sides {
            if let Some(place) = seen[side.index()].get_mut(at) {
                *place = true;
            }
        }
    }
    let counts = seen.map(|side| side.into_iter().filter(|seen| *seen).count());
    counts.into_iter().max().unwrap_or(0)
}

/// Where the events of a frame go.
struct Teller<'s, S> {
    sink: &'s mut S,
    symbol: Symbol,
    instrument: InstrumentId,
    exchange_time: Nanos,
    receive_time: Nanos,
}

impl<'s, S: MarketSink> Teller<'s, S> {
    const fn new(
        symbol: Symbol,
        instrument: InstrumentId,
        receive_time: Nanos,
        sink: &'s mut S,
    ) -> Self {
        Self { sink, symbol, instrument, exchange_time: Nanos::ZERO, receive_time }
    }

    fn tell(&mut self, kind: EventKind) {
        let Self { symbol, instrument, exchange_time, receive_time, .. } = *self;
        let context = Context {
            instrument: InstrumentKey::Symbol(symbol.as_bytes()),
            sequence: SequenceRange::default(),
            lot_decimals: 0,
        };
        self.sink.on_event(&context, &Event { instrument, exchange_time, receive_time, kind });
    }
}

impl<'r> Market<'r> {
    fn new(
        instrument: &Instrument,
        recording: &'r Recording,
        tells_orders: bool,
    ) -> Result<Self, BacktestError> {
        let is_trade = |row: &Row| row.is_local() && row.kind() == RowKind::Trade;
        Ok(Self {
            rows: recording.rows(),
            instrument: instrument.id(),
            symbol: instrument.symbol(),
            tick: instrument.tick().0,
            ticks: recording.ticks().clone(),
            view: View::new(recording)?,
            book: LevelBook::with_capacity(levels_of(recording).max(1)),
            bests: [None; 2],
            has_trades: recording.rows().iter().any(is_trade),
            tells_orders: tells_orders && recording.orders() > 0,
            traded: None,
            is_sound: false,
            told: BestPrices::default(),
        })
    }

    /// How many events the rows of an instant are told as, at the most.
    fn most_at_once(mut self) -> usize {
        let (mut most, mut count, mut at) = (0, 0_usize, i64::MIN);
        for row in self.rows.iter().filter(|row| row.is_local()) {
            if row.local_at() != at {
                (at, count) = (row.local_at(), 0);
            }
            let mut sink = |_: &Context<'_>, _: &Event| count += 1;
            self.take(row, &mut Teller::new(self.symbol, self.instrument, Nanos::ZERO, &mut sink));
            most = most.max(count);
        }
        most
    }

    fn price(&self, tick: i64) -> Price {
        Price(tick.saturating_mul(self.tick))
    }

    fn take(&mut self, row: &Row, to: &mut Teller<'_, impl MarketSink>) {
        let was = self.view.place_of(row);
        match (row.kind(), was) {
            (RowKind::Trade, _) => return self.trade(row, row.side(), to),
            (RowKind::Fill, Some((side, _))) if !self.has_trades => {
                self.trade(row, Some(side.opposite()), to);
            }
            _ => {}
        }
        if self.tells_orders {
            self.tell_order(row, to);
        }
        self.view.take(row);
        Side::BOTH.into_iter().for_each(|side| self.follow_best(side, to));
        // An order is of the side on which it came.
        let named = was.map(|was| was.0).or(row.side()).map(|side| (side, row.tick()));
        for (side, tick) in was.into_iter().chain(named) {
            self.show(side, tick, to);
        }
    }

    /// What a row does to an order, which stands as it was before. Orders are called by their
    /// numbers in the recording, from 1.
    fn tell_order(&mut self, row: &Row, to: &mut Teller<'_, impl MarketSink>) {
        let View::Orders(orders) = &self.view else { return };
        let id = |number: usize| OrderId(number as u64 + 1);
        let order_id = id(row.order());
        let was = orders.resting(row);
        let order = |side, row: &Row| {
            let (price, lots) = (self.price(row.tick()), Lots(row.lots()));
            BookOrder { order_id, side, price, lots, priority: 0 }
        };
        match (row.kind(), was) {
            (RowKind::Add, None) => {
                let side = row.side().filter(|_| row.lots() > 0);
                side.into_iter().for_each(|side| to.tell(EventKind::OrderAdd(order(side, row))));
            }
            (RowKind::Modify, Some((side, tick, lots))) if row.lots() > 0 => {
                let (by, is_smaller) = (lots - row.lots(), lots > row.lots());
                let reason = match self.traded == Some(row.order()) {
                    true => ReduceReason::Execution,
                    false => ReduceReason::Cancel,
                };
                let (by, remaining) = (Lots(by), Lots(row.lots()));
                to.tell(match tick == row.tick() && is_smaller {
                    true => EventKind::OrderReduce { order_id, side, by, remaining, reason },
                    false => EventKind::OrderChange(order(side, row)),
                });
            }
            (RowKind::Modify | RowKind::Cancel, Some((side, ..))) => {
                to.tell(EventKind::OrderDelete { order_id, side });
            }
            (RowKind::Clear, _) => {
                let cleared = Side::BOTH.into_iter();
                for side in cleared.filter(|one| row.side().is_none_or(|side| side == *one)) {
                    for number in orders.numbers(side) {
                        to.tell(EventKind::OrderDelete { order_id: id(number), side });
                    }
                }
            }
            _ => {}
        }
        self.traded = (row.kind() == RowKind::Fill).then_some(row.order());
    }

    /// The best of a side may be another one: what is better is not shown any more, and what was
    /// behind a better one of the other side may be again.
    fn follow_best(&mut self, side: Side, to: &mut Teller<'_, impl MarketSink>) {
        let best = self.view.book().best(side);
        let was = std::mem::replace(&mut self.bests[side.index()], best);
        if best == was {
            return;
        }
        let sign = side.sign();
        let end = best.map(|best| self.price(best).0);
        while let Some(shown) = self.book.best(side)
            && end.is_none_or(|end| sign * (shown.price.0 - end) > 0)
        {
            self.set(side, shown.price, 0, to);
        }
        let Some(best) = best else { return };
        // From where nothing was to where something is.
        let from = was.unwrap_or(match side {
            Side::Buy => *self.ticks.start(),
            Side::Sell => *self.ticks.end(),
        });
        for tick in from.min(best)..=from.max(best) {
            if sign * (best - from) > 0 || was.is_none() {
                self.show(side, tick, to);
            }
        }
    }

    /// A level is to be shown as it is, unless the other side has passed it.
    fn show(&mut self, side: Side, tick: i64, to: &mut Teller<'_, impl MarketSink>) {
        let view = self.view.book();
        let is_passed = view.best(side).is_none_or(|best| side.sign() * (tick - best) > 0);
        let lots = if is_passed { 0 } else { view.lots(side, tick) };
        let price = self.price(tick);
        if self.book.level_at(side, price).map_or(0, |level| level.lots.0) != lots {
            self.set(side, price, lots, to);
        }
    }

    fn set(&mut self, side: Side, price: Price, lots: i64, to: &mut Teller<'_, impl MarketSink>) {
        if self.book.apply(side, price, Lots(lots), 0).is_ok() {
            to.tell(level(side, price, lots));
        }
    }

    fn trade(&self, row: &Row, aggressor: Option<Side>, to: &mut Teller<'_, impl MarketSink>) {
        let (price, lots) = (self.price(row.tick()), Lots(row.lots()));
        let resting_order = OrderId(0);
        to.tell(EventKind::Trade(Trade { trade_id: 0, price, lots, aggressor, resting_order }));
    }
}

const fn level(side: Side, price: Price, lots: i64) -> EventKind {
    let place = LevelPlace::ByPrice;
    EventKind::Level(LevelUpdate { side, price, lots: Lots(lots), order_count: 0, place })
}

impl<'r> FeedHandler for RecordedFeed<'r> {
    type Frame<'f> = Frame;

    fn decode(&mut self, received: Nanos, _: Source, bytes: &[u8]) -> Option<Frame> {
        let frame = Frame::of_bytes(bytes);
        self.malformed += u64::from(frame.is_none());
        self.received = received;
        frame
    }

    fn apply(&mut self, frame: Frame, sink: &mut impl MarketSink) {
        let Frame { market, from, to } = frame;
        let Some(market) = self.markets.get_mut(market as usize) else { return };
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let rows: &'r [Row] = market.rows;
        let rows = rows.get(place(from)..place(to)).unwrap_or_default();
        self.applied += 1;
        let mut teller = Teller::new(market.symbol, market.instrument, self.received, sink);
        for row in rows.iter().filter(|row| row.is_local()) {
            teller.exchange_time = Nanos(row.exchange_at());
            if !std::mem::replace(&mut market.is_sound, true) {
                teller.tell(EventKind::Book(Soundness::Sound));
                if market.tells_orders {
                    // No order is known before the first.
                    teller.tell(EventKind::Begin(Batch::Orders));
                    teller.tell(EventKind::End { is_final: true });
                }
            }
            market.take(row, &mut teller);
        }
        let top = BestPrices::of(&market.book);
        if std::mem::replace(&mut market.told, top) != top {
            teller.tell(EventKind::Top(top));
        }
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn is_whole(&self) -> bool {
        self.markets.iter().all(|market| market.is_sound)
    }

    fn needs_snapshots(&self) -> bool {
        false
    }

    fn recover(&mut self, _: Nanos, _: &mut impl MarketSink) {}

    fn handle_timeout(&mut self, _: Nanos) {}

    fn poll_timeout(&self) -> Option<Nanos> {
        None
    }

    fn poll_request(&mut self) -> Option<FeedRequest> {
        None
    }

    fn soundness(&self, instrument: InstrumentId) -> Soundness {
        match self.market(instrument) {
            Some(market) if market.is_sound => Soundness::Sound,
            _ => Soundness::Stale(Staleness::Joining),
        }
    }

    fn best(&self, instrument: InstrumentId) -> BestPrices {
        self.market(instrument).map_or_else(BestPrices::default, |market| market.told)
    }

    fn book(&self, instrument: InstrumentId) -> Option<&LevelBook> {
        self.market(instrument).map(|market| &market.book)
    }

    fn lost(&self, _: SequenceNumber) -> u64 {
        0
    }

    fn counters(&self) -> FeedCounters {
        FeedCounters { applied: self.applied, malformed: self.malformed, ..FeedCounters::default() }
    }

    fn events_max(&self) -> usize {
        self.events_max
    }
}
