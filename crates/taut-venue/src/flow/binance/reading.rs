//! From frames to steps.

use taut_market_data::binance::{BinanceJson, DepthSync, FrameKind, Joined, Placement};
use taut_market_data::{
    Context, Event, EventKind, InstrumentKey, LevelUpdate, MarketDataError, SequenceRange, Trade,
};
use taut_recording::FileError;
use taut_recording::capture::{Capture, Frame};
use taut_types::{Instrument, Lots, Nanos, Price, Side, Symbol};

use crate::flow::market::Key;
use crate::flow::tape::Levels;

/// What is shown of a frame around the place where it is wrong.
const SHOWN_BYTES: usize = 24;

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
    Level(Key, Lots),
    /// A trade was told.
    Trade { price: Price, lots: Lots, aggressor: Side },
    /// The book has what this frame says; its last update's number, if it numbers one.
    Frame { start: usize, end: usize, last_id: Option<u64> },
}

/// What was read.
pub(super) struct Recording {
    /// The levels of the book at the start.
    pub(super) first: Vec<(Key, Lots)>,
    /// The last update that they contain.
    pub(super) first_id: u64,
    pub(super) steps: Vec<Step>,
    /// The frames, one behind the other; the first one is the update before the snapshot.
    pub(super) frames: String,
    /// How long that one is; nothing when there is none.
    pub(super) early_bytes: usize,
    /// The most levels that a side ever has.
    pub(super) levels_max: usize,
}

/// The recording so far.
pub(super) struct Reader<'c> {
    capture: &'c Capture,
    /// The symbol that all frames must be of, if there is one.
    symbol: Option<&'c str>,
    decoder: BinanceJson,
    sync: DepthSync,
    /// Updates that came before the snapshot.
    early: Vec<(SequenceRange, Vec<LevelUpdate>)>,
    levels: Levels,
    first: Vec<(Key, Lots)>,
    first_id: u64,
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
    trades: Vec<Trade>,
    /// Another symbol than it should be of.
    stranger: Option<String>,
}

impl<'c> Reader<'c> {
    pub(super) fn new(
        capture: &'c Capture,
        instrument: Instrument,
        symbol: Option<&'c str>,
    ) -> Self {
        Self {
            capture,
            symbol,
            decoder: BinanceJson::new(BinanceJson::LEVELS_MAX, instrument.lot().decimals),
            sync: DepthSync::new(),
            early: Vec::new(),
            levels: Levels::new(instrument, instrument.lot().decimals),
            first: Vec::new(),
            first_id: 0,
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
        let levels_max = self.levels.count_max();
        let Self { first, first_id, steps, frames, early_bytes, .. } = self;
        Ok(Recording { first, first_id, steps, frames, early_bytes, levels_max })
    }

    /// Whether there is a depth snapshot among the frames, which are the first ones.
    pub(super) fn read_head(mut self) -> Result<bool, FileError> {
        let capture = self.capture;
        for frame in capture.frames() {
            self.frame(&frame?)?;
        }
        Ok(self.sync.has_started())
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), FileError> {
        let (mut said, symbol, capture) = (Said::default(), self.symbol, self.capture);
        let mut sink = |context: &Context<'_>, event: &Event| {
            said.sequence = context.sequence;
            if let (InstrumentKey::Symbol(name), Some(symbol)) = (context.instrument, symbol)
                && !name.is_empty()
                && !name.eq_ignore_ascii_case(symbol.as_bytes())
            {
                said.stranger = Some(String::from_utf8_lossy(name).escape_debug().to_string());
            }
            match event.kind {
                EventKind::Level(level) => said.levels.push(level),
                EventKind::Trade(trade) => said.trades.push(trade),
                _ => {}
            }
        };
        let kind = self.decoder.decode(frame.received, frame.bytes, &mut sink);
        let kind = kind.map_err(|error| capture.error(frame.line, wrong(frame.bytes, error)))?;
        let at = |error: &str| capture.error(frame.line, error);
        let text = std::str::from_utf8(frame.bytes).map_err(|_| at("the frame is no text"))?;
        if let (Some(stranger), Some(symbol)) = (&said.stranger, symbol)
            && kind != FrameKind::Status
        {
            let what = format!("the frame is of {stranger}; a recording of {symbol} is expected");
            return Err(at(&what));
        }
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
        let changes = self.set(frame, &said.levels)?;
        self.levels.check().map_err(|what| capture.error(frame.line, what))?;
        let levels = changes.into_iter().map(|(key, lots)| Change::Level(key, lots));
        self.steps.extend(levels.map(|change| Step { at, change }));
        for trade in &said.trades {
            let lots =
                self.levels.lots(trade.lots).map_err(|what| capture.error(frame.line, what))?;
            let (price, aggressor) = (trade.price, trade.aggressor.unwrap_or(Side::Buy));
            self.steps.push(Step { at, change: Change::Trade { price, lots, aggressor } });
        }
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
        self.first_id = said.sequence.last;
        self.set(frame, &said.levels)?;
        for (sequence, levels) in std::mem::take(&mut self.early) {
            match self.sync.place(&sequence) {
                Placement::Apply(Joined::InSequence) => {
                    self.first_id = sequence.last;
                    self.set(frame, &levels)?;
                }
                Placement::Apply(Joined::AfterGap) => {
                    let what = "updates are missing between the snapshot and those before it";
                    return Err(self.capture.error(frame.line, what));
                }
                Placement::Early | Placement::Outdated => {}
            }
        }
        self.levels.check().map_err(|what| self.capture.error(frame.line, what))?;
        self.first = self.levels.all();
        Ok(())
    }

    /// Sets levels of a frame, and says what was set.
    fn set(
        &mut self,
        frame: &Frame<'_>,
        levels: &[LevelUpdate],
    ) -> Result<Vec<(Key, Lots)>, FileError> {
        let set = self.levels.set_all(levels);
        set.map_err(|what| self.capture.error(frame.line, what))
    }
}

/// What is wrong with a frame, and what stands there.
fn wrong(frame: &[u8], error: MarketDataError) -> String {
    let MarketDataError::Malformed { offset, .. } = error else { return error.to_string() };
    let from = offset.saturating_sub(SHOWN_BYTES);
    let shown = frame.get(from..frame.len().min(offset.saturating_add(SHOWN_BYTES)));
    let shown = String::from_utf8_lossy(shown.unwrap_or_default());
    format!("{error}, in `{}`", shown.escape_debug())
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
