//! Recorded market data as a gateway has a venue's: rows in, events and books out.

use taut_backtest::{Recording, Row, RowKind};
use taut_book::LevelBook;
use taut_market_data::{
    BestPrices, Context, Event, EventKind, FeedCounters, FeedHandler, FeedRequest, InstrumentKey,
    LevelPlace, LevelUpdate, MarketSink, SequenceRange, Soundness, Source, Staleness, Trade,
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
    book: LevelBook,
    /// By the number of the recording: where rows are about orders.
    orders: Vec<Resting>,
    /// Trades are told by rows of their own, and not by the fills of what rested.
    has_trades: bool,
    is_sound: bool,
    told: BestPrices,
}

/// An order of the market; it has no lots when it is not there.
#[derive(Clone, Copy, Debug)]
struct Resting {
    side: Side,
    tick: i64,
    lots: i64,
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
    /// Of these instruments, numbered by their places.
    pub fn new(markets: &[(Instrument, &'r Recording)]) -> Self {
        let mut rows_max = 0;
        let mut levels_max = 0;
        let make = |&(instrument, recording): &(Instrument, &'r Recording)| {
            let levels = levels_of(recording);
            levels_max = levels_max.max(levels);
            rows_max = rows_max.max(most_at_once(recording.rows()));
            let nobody = Resting { side: Side::Buy, tick: 0, lots: 0 };
            let is_trade = |row: &Row| row.is_local() && row.kind() == RowKind::Trade;
            Market {
                rows: recording.rows(),
                instrument: instrument.id(),
                symbol: instrument.symbol(),
                tick: instrument.tick().0,
                book: LevelBook::with_capacity(levels.max(1)),
                orders: vec![nobody; recording.orders()],
                has_trades: recording.rows().iter().any(is_trade),
                is_sound: false,
                told: BestPrices::default(),
            }
        };
        let markets = markets.iter().map(make).collect();
        // A clear tells each level that goes; a row moves two levels, and may let others go that
        // it crosses.
        let events_max = 4 * rows_max + 4 * levels_max + 2;
        Self { markets, events_max, applied: 0, malformed: 0, received: Nanos::ZERO }
    }

    fn market(&self, instrument: InstrumentId) -> Option<&Market<'r>> {
        self.markets.get(instrument.0 as usize)
    }
}

/// How many different levels the fuller side ever has, each counted once.
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

/// How many rows we learn of at one instant, at the most.
fn most_at_once(rows: &[Row]) -> usize {
    let (mut most, mut count, mut at) = (0, 0, i64::MIN);
    for row in rows.iter().filter(|row| row.is_local()) {
        count = if row.local_at() == at { count + 1 } else { 1 };
        (at, most) = (row.local_at(), most.max(count));
    }
    most
}

/// Where the events of a frame go.
struct Teller<'s, S> {
    sink: &'s mut S,
    symbol: Symbol,
    instrument: InstrumentId,
    exchange_time: Nanos,
    receive_time: Nanos,
}

impl<S: MarketSink> Teller<'_, S> {
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

impl Market<'_> {
    fn price(&self, tick: i64) -> Price {
        Price(tick.saturating_mul(self.tick))
    }

    fn lots(&self, side: Side, tick: i64) -> i64 {
        self.book.level_at(side, self.price(tick)).map_or(0, |level| level.lots.0)
    }

    /// Sets a level, and lets those of the other side go that it crosses: a feed that has not
    /// deleted them yet says nothing else.
    fn set(&mut self, side: Side, tick: i64, lots: i64, to: &mut Teller<'_, impl MarketSink>) {
        let price = self.price(tick);
        if self.book.apply(side, price, Lots(lots.max(0)), 0).is_ok() {
            to.tell(level(side, price, lots.max(0)));
        }
        let other = side.opposite();
        while lots > 0
            && let Some(best) = self.book.best(other)
            && side.sign() * (price.0 - best.price.0) >= 0
        {
            self.remove(other, best.price, to);
        }
    }

    fn remove(&mut self, side: Side, price: Price, to: &mut Teller<'_, impl MarketSink>) {
        if self.book.apply(side, price, Lots::ZERO, 0).is_ok() {
            to.tell(level(side, price, 0));
        }
    }

    /// The levels of a side go, from the best to a tick, or all.
    fn clear(&mut self, side: Side, tick: Option<i64>, to: &mut Teller<'_, impl MarketSink>) {
        let end = tick.map(|tick| self.price(tick).0);
        while let Some(best) = self.book.best(side)
            && end.is_none_or(|end| side.sign() * (best.price.0 - end) >= 0)
        {
            self.remove(side, best.price, to);
        }
    }

    /// A level of orders changes by so many lots.
    fn change(&mut self, side: Side, tick: i64, by: i64, to: &mut Teller<'_, impl MarketSink>) {
        let lots = self.lots(side, tick).saturating_add(by);
        self.set(side, tick, lots, to);
    }

    fn take(&mut self, row: &Row, to: &mut Teller<'_, impl MarketSink>) {
        let (tick, lots) = (row.tick(), row.lots());
        match (row.kind(), row.side()) {
            (RowKind::Level, Some(side)) => self.set(side, tick, lots, to),
            (RowKind::Level, None) => {}
            (RowKind::Trade, aggressor) => self.trade(tick, lots, aggressor, to),
            (RowKind::Clear, side) => {
                let sides = Side::BOTH.into_iter().filter(|one| side.is_none_or(|it| it == *one));
                let is_by_order = !self.orders.is_empty();
                let end = side.map(|_| tick).filter(|_| !is_by_order);
                for side in sides {
                    self.clear(side, end, to);
                    let orders = self.orders.iter_mut().filter(|order| order.side == side);
                    orders.for_each(|order| order.lots = 0);
                }
            }
            _ => self.take_order(row, to),
        }
    }

    /// Takes a row about an order; one that does not fit what is known changes nothing.
    fn take_order(&mut self, row: &Row, to: &mut Teller<'_, impl MarketSink>) {
        let (tick, lots) = (row.tick(), row.lots());
        let Some(order) = self.orders.get_mut(row.order()) else { return };
        let was = *order;
        let is_there = was.lots > 0;
        match row.kind() {
            RowKind::Add if !is_there => {
                let Some(side) = row.side() else { return };
                *order = Resting { side, tick, lots };
                self.change(side, tick, lots, to);
            }
            RowKind::Modify if is_there && lots > 0 => {
                *order = Resting { tick, lots, ..was };
                if tick == was.tick {
                    self.change(was.side, tick, lots - was.lots, to);
                } else {
                    self.change(was.side, was.tick, -was.lots, to);
                    self.change(was.side, tick, lots, to);
                }
            }
            RowKind::Cancel | RowKind::Modify if is_there => {
                order.lots = 0;
                self.change(was.side, was.tick, -was.lots, to);
            }
            RowKind::Fill if is_there && !self.has_trades => {
                self.trade(tick, lots, Some(was.side.opposite()), to);
            }
            _ => {}
        }
    }

    fn trade(
        &self,
        tick: i64,
        lots: i64,
        aggressor: Option<Side>,
        to: &mut Teller<'_, impl MarketSink>,
    ) {
        let (price, lots) = (self.price(tick), Lots(lots));
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
        let mut teller = Teller {
            sink,
            symbol: market.symbol,
            instrument: market.instrument,
            exchange_time: Nanos::ZERO,
            receive_time: self.received,
        };
        for row in rows.iter().filter(|row| row.is_local()) {
            teller.exchange_time = Nanos(row.exchange_at());
            if !std::mem::replace(&mut market.is_sound, true) {
                teller.tell(EventKind::Book(Soundness::Sound));
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
