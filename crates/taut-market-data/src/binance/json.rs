//! Frames of the JSON streams, spot and USD-margined futures, and REST snapshots.
//!
//! Read are `depth` (`depthUpdate`), partial depth, `bookTicker`, `trade`, `aggTrade`,
//! `markPrice`, `contractInfo` and the depth snapshot of REST and of the WebSocket API, each alone
//! or as the `data` of a combined stream. All else is [`FrameKind::Other`].

use taut_book::LevelBook;
use taut_types::{Nanos, OrderId, Price, Side};

use super::fields::{Fields, Key, Quote, Value};
use super::usual::{self, Body, Usual};
use crate::error::{Expected, MarketDataError};
use crate::event::{
    Batch, BestPrices, Context, EventKind, InstrumentKey, LevelPlace, LevelUpdate, MarketSink,
    Origin, SequenceRange, Statistic, Trade, TradingStatus,
};
use crate::instruments::Instruments;

/// Rates are told in billionths.
const FUNDING_DECIMALS: u8 = 9;

/// What a frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Changes of levels.
    Depth,
    /// The best levels of a partial depth stream.
    BestLevels,
    /// The whole book.
    Snapshot,
    /// The best prices.
    BookTicker,
    /// A trade, or an aggregate of some.
    Trade,
    /// What an instrument's trading does.
    Status,
    /// Figures of a future: its mark, its index, its funding.
    Figures,
    /// Something that has no events: an answer to a subscription, or another stream.
    Other,
}

/// Reads frames into events.
///
/// The order of the fields does not matter, nor do escapes in their names and strings. Fields that
/// are not known are skipped, and must be JSON all the same: a frame that is malformed anywhere
/// gives no event at all. Times in milliseconds and in
/// microseconds are told apart by their size. It allocates when it is built and never again.
#[derive(Debug)]
pub struct BinanceJson {
    fields: Fields,
    instruments: Instruments,
}

impl BinanceJson {
    /// Decimals of a size: no symbol has more.
    pub const SIZE_DECIMALS: u8 = 8;
    /// Levels of the largest snapshot: 5,000 a side.
    pub const LEVELS_MAX: usize = 10_000;

    /// A decoder for frames of so many levels on both sides together, whose lots have so many
    /// decimal places. A coin that is counted in billions wants fewer than
    /// [`SIZE_DECIMALS`](Self::SIZE_DECIMALS): 64 bits hold 19 digits.
    #[must_use]
    pub fn new(levels_max: usize, size_decimals: u8) -> Self {
        let fields = Fields::new(levels_max, size_decimals);
        Self { fields, instruments: Instruments::default() }
    }

    /// The same decoder, whose events have these numbers of their instruments.
    #[must_use]
    pub fn with_instruments(self, instruments: Instruments) -> Self {
        Self { instruments, ..self }
    }

    /// Reads a frame. Cost: one pass over it; two if its fields do not come in the usual order.
    ///
    /// # Errors
    /// [`MarketDataError`] when the frame is malformed or has too many levels: nothing has been
    /// handed to `sink` then.
    #[inline]
    pub fn decode(
        &mut self,
        receive_time: Nanos,
        frame: &[u8],
        sink: &mut impl MarketSink,
    ) -> Result<FrameKind, MarketDataError> {
        match usual::read(&mut self.fields, frame) {
            Some(usual) => Ok(self.hand_over(receive_time, &usual, sink)),
            None => {
                self.fields.read(frame)?;
                self.hand_over_fields(receive_time, frame, sink)
            }
        }
    }

    /// The first half of [`decode`](Self::decode): takes the frame apart.
    #[inline]
    pub(super) fn read<'f>(&mut self, frame: &'f [u8]) -> Result<JsonFrame<'f>, MarketDataError> {
        match usual::read(&mut self.fields, frame) {
            Some(usual) => Ok(JsonFrame::Usual(usual)),
            None => self.fields.read(frame).map(|()| JsonFrame::Fields(frame)),
        }
    }

    /// The second half: says what the frame that was read last says.
    #[inline]
    pub(super) fn tell(
        &self,
        receive_time: Nanos,
        frame: &JsonFrame<'_>,
        sink: &mut impl MarketSink,
    ) -> Result<FrameKind, MarketDataError> {
        match frame {
            JsonFrame::Usual(usual) => Ok(self.hand_over(receive_time, usual, sink)),
            JsonFrame::Fields(frame) => self.hand_over_fields(receive_time, frame, sink),
        }
    }

    /// Makes an update that was read last say what the book has, under the number that follows; not
    /// of what is no update of levels.
    pub(super) fn stand_in(
        &mut self,
        frame: &mut JsonFrame<'_>,
        last: u64,
        book: &LevelBook,
    ) -> Option<()> {
        let JsonFrame::Usual(usual) = frame else { return None };
        let Usual { stream, sequence, body: Body::Depth(bids, asks), .. } = usual else {
            return None;
        };
        if depth_kind(stream) != FrameKind::Depth {
            return None;
        }
        let next = last.checked_add(1)?;
        let previous = sequence.previous.map(|_| last);
        *sequence = SequenceRange { first: next, last: next, previous };
        for (side, span) in [(Side::Buy, *bids), (Side::Sell, *asks)] {
            for (depth, (price, lots)) in self.fields.quotes_mut(span).iter_mut().enumerate() {
                (*price, *lots) = book.stand_in(side, *price, depth);
            }
        }
        Some(())
    }

    #[inline]
    fn hand_over(
        &self,
        receive_time: Nanos,
        usual: &Usual<'_>,
        sink: &mut impl MarketSink,
    ) -> FrameKind {
        let exchange_time = usual.time.map_or(Nanos::ZERO, utc);
        let origin = self.origin(receive_time, exchange_time, usual.symbol, usual.sequence);
        match usual.body {
            Body::Depth(bids, asks) => {
                let (bids, asks) = (self.fields.quotes(bids), self.fields.quotes(asks));
                let kind = depth_kind(usual.stream);
                let is_best = kind == FrameKind::BestLevels;
                let batch = if is_best { Batch::BestLevels } else { Batch::Update };
                hand_levels(&origin, batch, [(Side::Buy, bids), (Side::Sell, asks)], sink);
                kind
            }
            Body::Top(bid, ask) => {
                origin.hand(EventKind::Top(BestPrices::quoted(bid, ask)), sink);
                FrameKind::BookTicker
            }
            Body::Trade(trade) => {
                origin.hand(EventKind::Trade(trade), sink);
                FrameKind::Trade
            }
        }
    }

    /// A frame whatever the order of its fields, which have been read.
    fn hand_over_fields(
        &self,
        receive_time: Nanos,
        frame: &[u8],
        sink: &mut impl MarketSink,
    ) -> Result<FrameKind, MarketDataError> {
        let fields = &self.fields;
        let message = Message { frame, fields };
        let kind = message.kind();
        let none = SequenceRange::default();
        let time = message.exchange_time(kind);
        let origin = self.origin(receive_time, time, message.symbol(), none);
        match kind {
            FrameKind::Depth => message.depth(origin, sink)?,
            FrameKind::BestLevels => message.best_levels(origin, sink)?,
            FrameKind::Snapshot => {
                let sequence = SequenceRange::one(fields.number(Key::SnapshotId)?);
                message.batch(origin, sequence, Batch::Snapshot, sink)?;
            }
            FrameKind::BookTicker => message.top(origin, sink)?,
            FrameKind::Trade => message.trade(origin, sink)?,
            FrameKind::Status => {
                let status = EventKind::Status(trading_status(message.text(Key::Status)));
                origin.hand(status, sink);
            }
            FrameKind::Figures => message.figures(&origin, sink)?,
            FrameKind::Other => {}
        }
        Ok(kind)
    }

    #[inline]
    fn origin<'a>(
        &self,
        receive_time: Nanos,
        exchange_time: Nanos,
        symbol: &'a [u8],
        sequence: SequenceRange,
    ) -> Origin<'a> {
        let context = Context {
            instrument: InstrumentKey::Symbol(symbol),
            sequence,
            lot_decimals: self.fields.size_decimals(),
        };
        Origin { context, instrument: self.instruments.id(symbol), exchange_time, receive_time }
    }
}

/// A frame that was taken apart: its numbers stand in the decoder.
pub(super) enum JsonFrame<'f> {
    /// In the usual order.
    Usual(Usual<'f>),
    /// By its fields.
    Fields(&'f [u8]),
}

impl Default for BinanceJson {
    fn default() -> Self {
        Self::new(Self::LEVELS_MAX, Self::SIZE_DECIMALS)
    }
}

/// A frame and its fields.
#[derive(Clone, Copy)]
struct Message<'a> {
    frame: &'a [u8],
    fields: &'a Fields,
}

impl<'a> Message<'a> {
    #[inline]
    fn text(&self, key: Key) -> &'a [u8] {
        self.fields.text(self.frame, key)
    }

    fn depth(&self, origin: Origin<'_>, sink: &mut impl MarketSink) -> Result<(), MarketDataError> {
        self.batch(origin, self.update_ids()?, Batch::Update, sink)
    }

    /// Spot frames name the snapshot's id; futures frames look like updates.
    fn best_levels(
        &self,
        origin: Origin<'_>,
        sink: &mut impl MarketSink,
    ) -> Result<(), MarketDataError> {
        let sequence = match self.fields.get(Key::SnapshotId) {
            Value::Number(id) => SequenceRange::one(id),
            _ => self.update_ids()?,
        };
        self.batch(origin, sequence, Batch::BestLevels, sink)
    }

    #[inline]
    fn batch(
        &self,
        origin: Origin<'_>,
        sequence: SequenceRange,
        batch: Batch,
        sink: &mut impl MarketSink,
    ) -> Result<(), MarketDataError> {
        let (bids, asks) = (self.fields.levels(Key::Bid)?, self.fields.levels(Key::Ask)?);
        hand_levels(
            &origin.numbered(sequence),
            batch,
            [(Side::Buy, bids), (Side::Sell, asks)],
            sink,
        );
        Ok(())
    }

    #[inline]
    fn top(&self, origin: Origin<'_>, sink: &mut impl MarketSink) -> Result<(), MarketDataError> {
        let sequence = SequenceRange::one(self.fields.number(Key::LastId)?);
        let bid =
            (self.fields.price(self.frame, Key::Bid)?, self.fields.size(self.frame, Key::BidSize)?);
        let ask =
            (self.fields.price(self.frame, Key::Ask)?, self.fields.size(self.frame, Key::AskSize)?);
        origin.numbered(sequence).hand(EventKind::Top(BestPrices::quoted(bid, ask)), sink);
        Ok(())
    }

    #[inline]
    fn trade(&self, origin: Origin<'_>, sink: &mut impl MarketSink) -> Result<(), MarketDataError> {
        // An aggregate has its number in `a`.
        let id = if self.text(Key::Kind) == b"aggTrade" { Key::Ask } else { Key::TradeId };
        let trade_id = self.fields.number(id)?;
        let trade = Trade {
            trade_id,
            price: self.fields.price(self.frame, Key::Price)?,
            lots: self.fields.size(self.frame, Key::Size)?,
            aggressor: match self.fields.get(Key::BuyerIsMaker) {
                Value::Flag(true) => Some(Side::Sell),
                Value::Flag(false) => Some(Side::Buy),
                _ => None,
            },
            resting_order: OrderId(0),
        };
        origin.numbered(SequenceRange::one(trade_id)).hand(EventKind::Trade(trade), sink);
        Ok(())
    }

    fn figures(
        &self,
        origin: &Origin<'_>,
        sink: &mut impl MarketSink,
    ) -> Result<(), MarketDataError> {
        let (fields, frame) = (self.fields, self.frame);
        let mark = fields.price(frame, Key::Price)?;
        let index = fields.signed(frame, Key::Index, Price::DECIMALS)?.map(Price);
        let funding = fields.signed(frame, Key::Funding, FUNDING_DECIMALS)?;
        let known = [index.map(Statistic::Index), funding.map(Statistic::Funding)];
        for figure in [Statistic::Mark(mark)].into_iter().chain(known.into_iter().flatten()) {
            origin.hand(EventKind::Statistic(figure), sink);
        }
        Ok(())
    }

    /// The frame says what it is in `e`; some spot frames do not, and then their stream says it or
    /// the fields that they have.
    #[inline]
    fn kind(&self) -> FrameKind {
        let stream = self.text(Key::Stream);
        match self.text(Key::Kind) {
            b"depthUpdate" => depth_kind(stream),
            b"bookTicker" => FrameKind::BookTicker,
            b"trade" | b"aggTrade" => FrameKind::Trade,
            b"contractInfo" => FrameKind::Status,
            b"markPriceUpdate" => FrameKind::Figures,
            b"" if stream.ends_with(b"@bookTicker") => FrameKind::BookTicker,
            b"" => self.kind_by_fields(stream),
            _ => FrameKind::Other,
        }
    }

    fn kind_by_fields(&self, stream: &[u8]) -> FrameKind {
        let is_text = |key| matches!(self.fields.get(key), Value::Text(_) | Value::Unescaped(_));
        if matches!(self.fields.get(Key::SnapshotId), Value::Number(_)) {
            return if stream.is_empty() { FrameKind::Snapshot } else { FrameKind::BestLevels };
        }
        if stream.windows(6).any(|name| name == b"@depth") {
            return depth_kind(stream);
        }
        if is_text(Key::Bid) && is_text(Key::BidSize) && is_text(Key::Ask) {
            return FrameKind::BookTicker;
        }
        FrameKind::Other
    }

    fn update_ids(&self) -> Result<SequenceRange, MarketDataError> {
        let (first, last) = (self.fields.number(Key::FirstId)?, self.fields.number(Key::LastId)?);
        if first > last {
            return Err(MarketDataError::Malformed { offset: 0, expected: Expected::IdsInOrder });
        }
        let previous = match self.fields.get(Key::PreviousId) {
            Value::Number(previous) => Some(previous),
            _ => None,
        };
        Ok(SequenceRange { first, last, previous })
    }

    /// `s`, or what the stream's name begins with, in whatever case it has.
    #[inline]
    fn symbol(&self) -> &'a [u8] {
        match self.text(Key::Symbol) {
            [] => self.text(Key::Stream).split(|&byte| byte == b'@').next().unwrap_or_default(),
            symbol => symbol,
        }
    }

    /// When it happened in the matching engine (`T`), or else when the frame was made (`E`). With
    /// figures the former is when funding is paid next.
    #[inline]
    fn exchange_time(&self, kind: FrameKind) -> Nanos {
        let happened = match kind {
            FrameKind::Figures => Value::Absent,
            _ => self.fields.get(Key::TransactionTime),
        };
        match (happened, self.fields.get(Key::EventTime)) {
            (Value::Number(time), _) | (_, Value::Number(time)) => utc(time),
            _ => Nanos::ZERO,
        }
    }
}

#[inline]
fn hand_levels(
    origin: &Origin<'_>,
    batch: Batch,
    sides: [(Side, &[Quote]); 2],
    sink: &mut impl MarketSink,
) {
    origin.hand(EventKind::Begin(batch), sink);
    for (side, quotes) in sides {
        for &(price, lots) in quotes {
            let level =
                LevelUpdate { side, price, lots, order_count: 0, place: LevelPlace::ByPrice };
            origin.hand(EventKind::Level(level), sink);
        }
    }
    origin.hand(EventKind::End { is_final: true }, sink);
}

/// A time in milliseconds or microseconds.
#[inline]
fn utc(time: u64) -> Nanos {
    // Milliseconds reach fifteen digits in the year 5138.
    let unit = if time < 100_000_000_000_000 { 1_000_000 } else { 1_000 };
    Nanos(i64::try_from(time).unwrap_or(i64::MAX).saturating_mul(unit))
}

/// `symbol@depth5@100ms` has the best five levels; `symbol@depth@100ms` has changes.
fn depth_kind(stream: &[u8]) -> FrameKind {
    let behind = stream.iter().position(|&byte| byte == b'@').and_then(|at| stream.get(at + 6..));
    match behind.and_then(<[u8]>::first) {
        Some(b'0'..=b'9') => FrameKind::BestLevels,
        _ => FrameKind::Depth,
    }
}

fn trading_status(status: &[u8]) -> TradingStatus {
    match status {
        b"TRADING" => TradingStatus::Trading,
        b"PENDING_TRADING" => TradingStatus::PreOpen,
        b"BREAK" | b"HALT" => TradingStatus::Halted,
        b"PRE_DELIVERING" | b"DELIVERING" | b"DELIVERED" | b"PRE_SETTLE" | b"SETTLING"
        | b"CLOSE" => TradingStatus::Closed,
        _ => TradingStatus::Other,
    }
}
