//! Frames of the JSON streams, spot and USD-margined futures, and REST snapshots.
//!
//! Read are `depth` (`depthUpdate`), partial depth, `bookTicker`, `trade`, `aggTrade`,
//! `contractInfo` and the depth snapshot of REST and of the WebSocket API, each alone or as the
//! `data` of a combined stream. All else is [`FrameKind::Other`].

use taut_types::{Nanos, Side};

use super::fields::{Fields, Key, Value};
use crate::error::{Expected, MarketDataError};
use crate::event::{
    Batch, Context, Event, EventSink, InstrumentKey, LevelPlace, LevelUpdate, SequenceRange, Trade,
    TradingStatus,
};

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
    /// Something that has no events: an answer to a subscription, or another stream.
    Other,
}

/// Reads frames into events.
///
/// The order of the fields does not matter, fields that are not known are skipped by their
/// structure, and a frame that is malformed gives no event at all. Times in milliseconds and in
/// microseconds are told apart by their size. It allocates when it is built and never again.
#[derive(Debug)]
pub struct BinanceJson {
    fields: Fields,
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
        Self { fields: Fields::new(levels_max, size_decimals) }
    }

    /// Reads a frame. Cost: one pass over it.
    ///
    /// # Errors
    /// [`MarketDataError`] when the frame is malformed or has too many levels: nothing has been
    /// handed to `sink` then.
    #[inline]
    pub fn decode(
        &mut self,
        receive_time: Nanos,
        frame: &[u8],
        sink: &mut impl EventSink,
    ) -> Result<FrameKind, MarketDataError> {
        self.fields.read(frame)?;
        let fields = &self.fields;
        let message = Message { frame, fields };
        let kind = message.kind();
        let context = Context {
            instrument: InstrumentKey::Symbol(message.symbol()),
            exchange_time: message.exchange_time(),
            receive_time,
            sequence: SequenceRange::default(),
            lot_decimals: fields.size_decimals(),
        };
        match kind {
            FrameKind::Depth => message.depth(context, sink)?,
            FrameKind::BestLevels => message.best_levels(context, sink)?,
            FrameKind::Snapshot => {
                let sequence = SequenceRange::one(fields.number(Key::SnapshotId)?);
                let context = Context { sequence, ..context };
                message.batch(&context, Batch::Snapshot, sink)?;
            }
            FrameKind::BookTicker => message.top(context, sink)?,
            FrameKind::Trade => message.trade(context, sink)?,
            FrameKind::Status => {
                let status = Event::Status(trading_status(message.text(Key::Status)));
                sink.on_event(&context, &status);
            }
            FrameKind::Other => {}
        }
        Ok(kind)
    }
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

    fn depth(
        &self,
        context: Context<'_>,
        sink: &mut impl EventSink,
    ) -> Result<(), MarketDataError> {
        let sequence = self.update_ids()?;
        self.batch(&Context { sequence, ..context }, Batch::Update, sink)
    }

    /// Spot frames name the snapshot's id; futures frames look like updates.
    fn best_levels(
        &self,
        context: Context<'_>,
        sink: &mut impl EventSink,
    ) -> Result<(), MarketDataError> {
        let sequence = match self.fields.get(Key::SnapshotId) {
            Value::Number(id) => SequenceRange::one(id),
            _ => self.update_ids()?,
        };
        self.batch(&Context { sequence, ..context }, Batch::BestLevels, sink)
    }

    #[inline]
    fn batch(
        &self,
        context: &Context<'_>,
        batch: Batch,
        sink: &mut impl EventSink,
    ) -> Result<(), MarketDataError> {
        let (bids, asks) = (self.fields.levels(Key::Bid)?, self.fields.levels(Key::Ask)?);
        sink.on_event(context, &Event::Begin(batch));
        for (side, quotes) in [(Side::Buy, bids), (Side::Sell, asks)] {
            for &(price, lots) in quotes {
                let level =
                    LevelUpdate { side, price, lots, order_count: 0, place: LevelPlace::ByPrice };
                sink.on_event(context, &Event::Level(level));
            }
        }
        sink.on_event(context, &Event::End { is_final: true });
        Ok(())
    }

    #[inline]
    fn top(&self, context: Context<'_>, sink: &mut impl EventSink) -> Result<(), MarketDataError> {
        let sequence = SequenceRange::one(self.fields.number(Key::LastId)?);
        let bid =
            (self.fields.price(self.frame, Key::Bid)?, self.fields.size(self.frame, Key::BidSize)?);
        let ask =
            (self.fields.price(self.frame, Key::Ask)?, self.fields.size(self.frame, Key::AskSize)?);
        sink.on_event(&Context { sequence, ..context }, &Event::Top { bid, ask });
        Ok(())
    }

    #[inline]
    fn trade(
        &self,
        context: Context<'_>,
        sink: &mut impl EventSink,
    ) -> Result<(), MarketDataError> {
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
        };
        let sequence = SequenceRange::one(trade_id);
        sink.on_event(&Context { sequence, ..context }, &Event::Trade(trade));
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
            b"" if stream.ends_with(b"@bookTicker") => FrameKind::BookTicker,
            b"" => self.kind_by_fields(stream),
            _ => FrameKind::Other,
        }
    }

    fn kind_by_fields(&self, stream: &[u8]) -> FrameKind {
        let is_text = |key| matches!(self.fields.get(key), Value::Text(_));
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

    /// When it happened in the matching engine (`T`), or else when the frame was made (`E`).
    #[inline]
    fn exchange_time(&self) -> Nanos {
        let time = match (self.fields.get(Key::TransactionTime), self.fields.get(Key::EventTime)) {
            (Value::Number(time), _) | (_, Value::Number(time)) => time,
            _ => return Nanos::ZERO,
        };
        // Milliseconds reach fifteen digits in the year 5138.
        let unit = if time < 100_000_000_000_000 { 1_000_000 } else { 1_000 };
        Nanos(i64::try_from(time).unwrap_or(i64::MAX).saturating_mul(unit))
    }
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
