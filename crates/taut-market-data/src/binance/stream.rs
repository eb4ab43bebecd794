//! The SBE market-data streams of spot: trades, best prices, depth.

use taut_types::{Lots, Nanos, OrderId, Price, Side};

use super::json::FrameKind;
use super::stream_codec::{
    BestBidAskDecoder, DecodeError, DepthDiffDecoder, DepthSnapshotDecoder, Message, TradesDecoder,
};
use crate::error::{Expected, MarketDataError};
use crate::event::{
    Batch, BestPrices, Context, EventKind, InstrumentKey, LevelPlace, LevelUpdate, MarketSink,
    Origin, SequenceRange, Trade,
};
use crate::instruments::Instruments;
use crate::scale::Scale;

/// Reads a message of the SBE streams (schema 1) into events. Lots have `size_decimals` decimal
/// places, and `instruments` numbers the symbols. A template that is not known is
/// [`FrameKind::Other`]. It does not allocate; each level is read twice, so that a message with a
/// value out of range gives no event at all.
///
/// # Errors
/// [`MarketDataError::Malformed`] when the message is cut short, contradicts itself, is of another
/// schema, or has a number that cannot be held exactly.
pub fn decode_stream(
    receive_time: Nanos,
    message: &[u8],
    size_decimals: u8,
    instruments: &Instruments,
    sink: &mut impl MarketSink,
) -> Result<FrameKind, MarketDataError> {
    match read(message)? {
        Some(message) => tell(receive_time, &message, size_decimals, instruments, sink),
        None => Ok(FrameKind::Other),
    }
}

/// Checks a message as far as its template says what it must be; nothing for a template that is
/// not known.
#[inline]
pub(super) fn read(message: &[u8]) -> Result<Option<Message<'_>>, MarketDataError> {
    match Message::decode(message) {
        Ok(message) => Ok(Some(message)),
        Err(DecodeError::OtherTemplate { .. }) => Ok(None),
        Err(DecodeError::Truncated { offset }) => Err(wrong(offset, Expected::Bytes)),
        Err(DecodeError::Malformed { offset }) => Err(wrong(offset, Expected::Value)),
        Err(_) => Err(wrong(0, Expected::Value)),
    }
}

/// The symbol that a message is about, in capital letters.
#[inline]
pub(super) const fn symbol<'a>(message: &Message<'a>) -> &'a [u8] {
    match message {
        Message::Trades(trades) => trades.symbol(),
        Message::BestBidAsk(best) => best.symbol(),
        Message::DepthSnapshot(depth) => depth.symbol(),
        Message::DepthDiff(depth) => depth.symbol(),
    }
}

/// Says what a message says.
#[inline]
pub(super) fn tell(
    receive_time: Nanos,
    message: &Message<'_>,
    size_decimals: u8,
    instruments: &Instruments,
    sink: &mut impl MarketSink,
) -> Result<FrameKind, MarketDataError> {
    let of = Stream { receive_time, size_decimals, instruments };
    match message {
        Message::Trades(trades) => of.trades(trades, sink),
        Message::BestBidAsk(best) => of.best(best, sink),
        Message::DepthSnapshot(depth) => of.snapshot(depth, sink),
        Message::DepthDiff(depth) => of.diff(depth, sink),
    }
}

const fn wrong(offset: usize, expected: Expected) -> MarketDataError {
    MarketDataError::Malformed { offset, expected }
}

/// A value that 64 bits at this scale do not hold, or an id below zero.
const VALUE: MarketDataError = wrong(0, Expected::Value);

/// What all messages have in common.
#[derive(Clone, Copy)]
struct Stream<'i> {
    receive_time: Nanos,
    size_decimals: u8,
    instruments: &'i Instruments,
}

/// Prices and sizes of a message.
#[derive(Clone, Copy)]
struct Scales {
    price: Scale,
    size: Scale,
}

impl Scales {
    #[inline]
    fn quote(self, price: i64, size: i64) -> Result<(Price, Lots), MarketDataError> {
        match (self.price.apply(price), self.size.apply(size)) {
            (Some(price @ 0..), Some(lots @ 0..)) => Ok((Price(price), Lots(lots))),
            _ => Err(VALUE),
        }
    }
}

impl Stream<'_> {
    fn scales(self, price: i8, size: i8) -> Result<Scales, MarketDataError> {
        let price = Scale::new(price, Price::DECIMALS).ok_or(VALUE)?;
        Ok(Scales { price, size: Scale::new(size, self.size_decimals).ok_or(VALUE)? })
    }

    fn origin<'a>(self, symbol: &'a [u8], time_us: i64, sequence: SequenceRange) -> Origin<'a> {
        let instrument = InstrumentKey::Symbol(symbol);
        Origin {
            context: Context { instrument, sequence, lot_decimals: self.size_decimals },
            instrument: self.instruments.id(symbol),
            exchange_time: Nanos::from_micros(time_us),
            receive_time: self.receive_time,
        }
    }

    fn trades(
        self,
        message: &TradesDecoder<'_>,
        sink: &mut impl MarketSink,
    ) -> Result<FrameKind, MarketDataError> {
        let scales = self.scales(message.price_exponent(), message.qty_exponent())?;
        for trade in message.trades() {
            scales.quote(trade.price(), trade.qty())?;
            id(trade.trade_id())?;
        }
        for trade in message.trades() {
            let (price, lots) = scales.quote(trade.price(), trade.qty())?;
            let trade_id = id(trade.trade_id())?;
            let side = if trade.buyer_is_maker() == 0 { Side::Buy } else { Side::Sell };
            let sequence = SequenceRange::one(trade_id);
            let origin = self.origin(message.symbol(), message.transact_time_us(), sequence);
            let trade =
                Trade { trade_id, price, lots, aggressor: Some(side), resting_order: OrderId(0) };
            origin.hand(EventKind::Trade(trade), sink);
        }
        Ok(FrameKind::Trade)
    }

    fn best(
        self,
        message: &BestBidAskDecoder<'_>,
        sink: &mut impl MarketSink,
    ) -> Result<FrameKind, MarketDataError> {
        let scales = self.scales(message.price_exponent(), message.qty_exponent())?;
        let bid = scales.quote(message.bid_price(), message.bid_qty())?;
        let ask = scales.quote(message.ask_price(), message.ask_qty())?;
        let sequence = SequenceRange::one(id(message.update_id())?);
        let origin = self.origin(message.symbol(), message.event_time_us(), sequence);
        origin.hand(EventKind::Top(BestPrices::quoted(bid, ask)), sink);
        Ok(FrameKind::BookTicker)
    }

    fn snapshot(
        self,
        message: &DepthSnapshotDecoder<'_>,
        sink: &mut impl MarketSink,
    ) -> Result<FrameKind, MarketDataError> {
        let scales = self.scales(message.price_exponent(), message.qty_exponent())?;
        let sequence = SequenceRange::one(id(message.update_id())?);
        let origin = self.origin(message.symbol(), message.event_time_us(), sequence);
        let bids = message.bids().into_iter().map(|level| (level.price(), level.qty()));
        let asks = message.asks().into_iter().map(|level| (level.price(), level.qty()));
        batch(&origin, Batch::BestLevels, scales, bids, asks, sink)?;
        Ok(FrameKind::BestLevels)
    }

    fn diff(
        self,
        message: &DepthDiffDecoder<'_>,
        sink: &mut impl MarketSink,
    ) -> Result<FrameKind, MarketDataError> {
        let scales = self.scales(message.price_exponent(), message.qty_exponent())?;
        let (first, last) = (id(message.first_update_id())?, id(message.last_update_id())?);
        if first > last {
            return Err(wrong(0, Expected::IdsInOrder));
        }
        let sequence = SequenceRange { first, last, previous: None };
        let origin = self.origin(message.symbol(), message.event_time_us(), sequence);
        let bids = message.bids().into_iter().map(|level| (level.price(), level.qty()));
        let asks = message.asks().into_iter().map(|level| (level.price(), level.qty()));
        batch(&origin, Batch::Update, scales, bids, asks, sink)?;
        Ok(FrameKind::Depth)
    }
}

fn id(id: i64) -> Result<u64, MarketDataError> {
    u64::try_from(id).map_err(|_| VALUE)
}

fn batch(
    origin: &Origin<'_>,
    batch: Batch,
    scales: Scales,
    bids: impl Iterator<Item = (i64, i64)> + Clone,
    asks: impl Iterator<Item = (i64, i64)> + Clone,
    sink: &mut impl MarketSink,
) -> Result<(), MarketDataError> {
    for (price, size) in bids.clone().chain(asks.clone()) {
        scales.quote(price, size)?;
    }
    origin.hand(EventKind::Begin(batch), sink);
    let sides = bids.map(|quote| (Side::Buy, quote)).chain(asks.map(|quote| (Side::Sell, quote)));
    for (side, (price, size)) in sides {
        let (price, lots) = scales.quote(price, size)?;
        let place = LevelPlace::ByPrice;
        let level = LevelUpdate { side, price, lots, order_count: 0, place };
        origin.hand(EventKind::Level(level), sink);
    }
    origin.hand(EventKind::End { is_final: true }, sink);
    Ok(())
}
