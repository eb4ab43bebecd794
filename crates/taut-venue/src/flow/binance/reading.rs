//! From frames to steps.

use taut_engine::NewOrder;
use taut_market_data::binance::{BinanceJson, DepthSync, FrameKind, Joined, Placement};
use taut_market_data::{Context, Event, EventKind, InstrumentKey, LevelUpdate, SequenceRange};
use taut_recording::FileError;
use taut_recording::capture::{Capture, Frame};
use taut_types::{HalfTicks, Instrument, Lots, Nanos, OrderId, Price, Qty, Side, Symbol};

use crate::flow::market::{Key, Level, Market, OWNER};

/// What happens, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// From the first step.
    pub(super) at: Nanos,
    pub(super) change: Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A level shall have this total.
    Level(Side, HalfTicks, Lots),
    /// A trade was told.
    Trade { price: Price, lots: Lots, aggressor: Side },
    /// The book has what this frame says; its last update's number, if it numbers one.
    Frame { start: usize, end: usize, last_id: Option<u64> },
}

/// What was read.
pub(super) struct Recording {
    /// An order for each level of the book at the start.
    pub(super) initial_orders: Vec<NewOrder>,
    pub(super) steps: Vec<Step>,
    /// The frames, one behind the other; the first one is the update before the snapshot.
    pub(super) frames: String,
    /// How long that one is; nothing when there is none.
    pub(super) early_bytes: usize,
    pub(super) market: Market,
}

/// The recording so far.
pub(super) struct Reader<'c> {
    capture: &'c Capture,
    instrument: Instrument,
    decoder: BinanceJson,
    sync: DepthSync,
    /// Updates that came before the snapshot.
    early: Vec<(SequenceRange, Vec<LevelUpdate>)>,
    market: Market,
    steps: Vec<Step>,
    frames: String,
    /// How long the update before the snapshot is, which is the first of the frames.
    early_bytes: usize,
    /// When the first step is due.
    origin: Option<Nanos>,
}

/// What a frame says.
#[derive(Default)]
struct Said {
    sequence: SequenceRange,
    levels: Vec<LevelUpdate>,
    trades: Vec<Change>,
}

impl<'c> Reader<'c> {
    pub(super) fn new(capture: &'c Capture, instrument: Instrument) -> Self {
        Self {
            capture,
            instrument,
            decoder: BinanceJson::new(BinanceJson::LEVELS_MAX, instrument.lot().decimals),
            sync: DepthSync::new(),
            early: Vec::new(),
            market: Market::new(instrument),
            steps: Vec::new(),
            frames: String::new(),
            early_bytes: 0,
            origin: None,
        }
    }

    pub(super) fn read(mut self) -> Result<Recording, FileError> {
        let capture = self.capture;
        for frame in capture.frames() {
            self.frame(&frame?)?;
        }
        if !self.sync.has_started() {
            return Err(capture.error(None, "there is no depth snapshot to start from"));
        }
        let initial_orders = self.rest();
        let Self { steps, frames, early_bytes, market, .. } = self;
        Ok(Recording { initial_orders, steps, frames, early_bytes, market })
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), FileError> {
        let (mut said, instrument) = (Said::default(), self.instrument);
        let mut sink = |context: &Context<'_>, event: &Event| {
            said.sequence = context.sequence;
            match event.kind {
                EventKind::Level(level) => said.levels.push(level),
                EventKind::Trade(trade) => {
                    let aggressor = trade.aggressor.unwrap_or(Side::Buy);
                    said.trades.push(Change::Trade {
                        price: trade.price,
                        lots: trade.lots,
                        aggressor,
                    });
                }
                _ => {}
            }
        };
        let kind = self.decoder.decode(frame.received, frame.bytes, &mut sink);
        let kind = kind.map_err(|error| self.capture.error(frame.line, error))?;
        let at = |error: &str| self.capture.error(frame.line, error);
        let text = std::str::from_utf8(frame.bytes).map_err(|_| at("the frame is no text"))?;
        match kind {
            FrameKind::Snapshot if !self.sync.has_started() => {
                self.start(frame, &said)?;
                return Ok(());
            }
            FrameKind::Depth => match self.sync.place(&said.sequence) {
                Placement::Early => {
                    self.frames.clear();
                    self.frames.push_str(text);
                    self.early_bytes = text.len();
                    self.early.push((said.sequence, said.levels));
                    return Ok(());
                }
                Placement::Outdated => said.levels.clear(),
                Placement::Apply(Joined::InSequence) => {}
                Placement::Apply(Joined::AfterGap) => {
                    return Err(at("updates are missing before this one"));
                }
            },
            // Without a book there is nothing to trade against.
            _ if !self.sync.has_started() => return Ok(()),
            FrameKind::Trade | FrameKind::BookTicker => {}
            _ => said.levels.clear(),
        }
        let at = frame.received.since(*self.origin.get_or_insert(frame.received));
        // A book that only its last change uncrosses must not trade with itself meanwhile.
        said.levels.sort_by_key(|level| level.lots > Lots::ZERO);
        for level in &said.levels {
            let (side, price) =
                key(instrument, level).map_err(|what| self.capture.error(frame.line, what))?;
            let lots = lots(instrument, level.lots);
            let lots = lots.ok_or_else(|| {
                self.capture.error(frame.line, "a size is no multiple of the lot")
            })?;
            self.steps.push(Step { at, change: Change::Level(side, price, lots) });
        }
        self.steps.extend(said.trades.iter().map(|&change| Step { at, change }));
        let start = self.frames.len();
        self.frames.push_str(text);
        let last_id = (kind == FrameKind::Depth).then_some(said.sequence.last);
        let change = Change::Frame { start, end: self.frames.len(), last_id };
        self.steps.push(Step { at, change });
        Ok(())
    }

    /// The snapshot, and what came before it and belongs behind it, are the book at the start.
    fn start(&mut self, frame: &Frame<'_>, said: &Said) -> Result<(), FileError> {
        self.sync.start(said.sequence.last);
        self.market.last_id = said.sequence.last;
        self.set(frame, &said.levels)?;
        for (sequence, levels) in std::mem::take(&mut self.early) {
            match self.sync.place(&sequence) {
                Placement::Apply(Joined::InSequence) => {
                    self.market.last_id = sequence.last;
                    self.set(frame, &levels)?;
                }
                Placement::Apply(Joined::AfterGap) => {
                    let what = "updates are missing between the snapshot and those before it";
                    return Err(self.capture.error(frame.line, what));
                }
                Placement::Early | Placement::Outdated => {}
            }
        }
        Ok(())
    }

    fn set(&mut self, frame: &Frame<'_>, levels: &[LevelUpdate]) -> Result<(), FileError> {
        for level in levels {
            let error = |what: &str| self.capture.error(frame.line, what);
            let key = key(self.instrument, level).map_err(error)?;
            let lots = lots(self.instrument, level.lots)
                .ok_or_else(|| error("a size is no multiple of the lot"))?;
            if lots > Lots::ZERO {
                self.market.side_mut(key.0).insert(key.1, Level { target: lots, order: None });
            } else {
                self.market.side_mut(key.0).remove(&key.1);
            }
        }
        Ok(())
    }

    /// An order for each level.
    fn rest(&mut self) -> Vec<NewOrder> {
        let Market { levels, places, next_order, .. } = &mut self.market;
        let mut orders = Vec::new();
        for (side, levels) in Side::BOTH.into_iter().zip(levels) {
            for (&price, level) in levels {
                let order_id = OrderId(*next_order);
                *next_order += 1;
                level.order = Some((order_id, level.target));
                places.insert(order_id, (side, price));
                orders.push(NewOrder::limit(order_id, OWNER, side, price, level.target));
            }
        }
        orders
    }
}

/// The symbol of the first frame that names one.
pub(super) fn symbol(capture: &Capture) -> Option<Symbol> {
    let mut decoder = BinanceJson::default();
    capture.frames().map_while(Result::ok).find_map(|frame| {
        let mut symbol = None;
        let mut sink = |context: &Context<'_>, _: &Event| {
            if let InstrumentKey::Symbol(name) = context.instrument {
                symbol = Symbol::new(name);
            }
        };
        decoder.decode(frame.received, frame.bytes, &mut sink).ok()?;
        symbol
    })
}

fn key(instrument: Instrument, level: &LevelUpdate) -> Result<Key, &'static str> {
    match instrument.half_ticks(level.price) {
        Ok(HalfTicks(price)) if price % 2 == 0 => Ok((level.side, HalfTicks(price))),
        _ => Err("a price is no multiple of the tick"),
    }
}

/// Sizes have the lot's decimals.
fn lots(instrument: Instrument, size: Lots) -> Option<Lots> {
    let qty = Qty { mantissa: size.0, decimals: instrument.lot().decimals };
    instrument.lots(qty).ok()
}
