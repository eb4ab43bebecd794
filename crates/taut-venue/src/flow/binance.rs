//! A recorded Binance stream: the venue's book is the recorded one, level by level.
//!
//! Each recorded price level is one order of the venue's. What a client takes of it is put back by
//! the flow's next step: the market is as it was recorded, whatever a client does, and a client's
//! orders trade against it. The recorded frames go to whoever listens, unchanged, each when the
//! book has what it says.

mod reading;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::Path;

use taut_engine::NewOrder;
use taut_recording::FileError;
use taut_recording::capture::Capture;
use taut_types::{Instrument, Lots, Nanos, OrderId, Symbol};

use crate::flow::binance::reading::{Change, Reader, Recording, Step};
use crate::flow::market::Market;
use crate::flow::step::FlowStep;
use crate::flow::tape::{Tape, TapeChange, TapeStep};

/// A recording, validated and ready to run.
#[derive(Clone, Debug)]
pub struct BinanceFlow {
    initial_orders: Vec<NewOrder>,
    steps: Vec<Step>,
    /// The frames, one behind the other.
    frames: String,
    /// The last frame that went out; at first the last one before the snapshot.
    last_frame: Range<usize>,
    /// How many updates went out, that one counted.
    updates: u64,
    market: Market,
}

impl BinanceFlow {
    /// Reads and validates a capture: frames of one symbol's depth stream, and a snapshot.
    ///
    /// # Errors
    /// When the file cannot be read, a frame is malformed, updates are missing, or a price or a
    /// size is none of the instrument's. The error prints as one line that names the file, the line
    /// and the value.
    pub fn read(path: &Path, instrument: Instrument) -> Result<Self, FileError> {
        Self::of(&Capture::read(path)?, instrument)
    }

    /// As [`BinanceFlow::read`], of a capture in memory.
    ///
    /// # Errors
    /// As [`BinanceFlow::read`].
    pub fn of(capture: &Capture, instrument: Instrument) -> Result<Self, FileError> {
        let recording = Reader::new(capture, instrument, None).read()?;
        let Recording { first, first_id, steps, frames, early_bytes, .. } = recording;
        let mut market = Market::new(instrument);
        let initial_orders = market.begin(&first);
        market.last_id = first_id;
        let (last_frame, updates) = (0..early_bytes, u64::from(early_bytes > 0));
        Ok(Self { initial_orders, steps, frames, last_frame, updates, market })
    }

    /// The orders that rest before the first step: one for each level of the snapshot.
    #[must_use]
    pub fn initial_orders(&self) -> &[NewOrder] {
        &self.initial_orders
    }

    /// How many frames there are from the start on.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step.change, Change::Frame { .. })).count()
    }

    /// How many steps there are.
    #[must_use]
    pub fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// From the first step to this one; `None` when there is no such step.
    pub(crate) fn offset(&self, position: usize) -> Option<Nanos> {
        self.steps.get(position).map(|step| step.at)
    }

    /// What a client has taken is put back before anything else happens.
    pub(crate) fn is_behind(&self) -> bool {
        !self.market.behind.is_empty()
    }

    /// Brings a level that is behind nearer to what it shall be.
    pub(crate) fn catch_up(&mut self) -> FlowStep {
        let key = self.market.behind.pop_front();
        key.and_then(|key| self.market.command(key)).into()
    }

    /// Takes a step.
    pub(crate) fn step(&mut self, position: usize) -> FlowStep {
        let Some(step) = self.steps.get(position) else { return FlowStep::Nothing };
        match step.change {
            Change::Level(key, lots) => self.market.set(key, lots).into(),
            Change::Trade { price, lots, aggressor } => FlowStep::Print { price, lots, aggressor },
            Change::Frame { start, end, last_id } => {
                if let Some(last_id) = last_id {
                    self.market.last_id = last_id;
                    self.last_frame = start..end;
                    self.updates += 1;
                }
                FlowStep::Frame(start..end)
            }
        }
    }

    /// An order was filled, and this is left of it.
    pub(crate) fn on_fill(&mut self, order_id: OrderId, remaining: Lots) {
        self.market.on_fill(order_id, remaining);
    }

    /// A frame's text.
    pub(crate) fn frame(&self, at: Range<usize>) -> &str {
        self.frames.get(at).unwrap_or_default()
    }

    /// Updates that went out, and the number of the last one.
    pub(crate) const fn streamed(&self) -> (u64, u64) {
        (self.updates, self.market.last_id)
    }

    /// The symbol that a capture is about: its first frame's that names one.
    #[must_use]
    pub fn symbol(capture: &Capture) -> Option<Symbol> {
        reading::symbol(capture)
    }

    /// The last update that went out: a stream is never silent for who comes.
    pub(crate) fn last_frame(&self) -> &str {
        self.frame(self.last_frame.clone())
    }

    /// The book as it is now, in the form of a REST depth snapshot, behind `head` and before
    /// `tail`. Allocates: nobody asks twice who does not lose something.
    pub(crate) fn snapshot(&self, head: &str, tail: &str) -> String {
        self.market.snapshot(head, tail)
    }
}

/// Whether the first frames of a capture have a depth snapshot; all are of this symbol.
///
/// # Errors
/// What is wrong with one of them.
pub(super) fn read_head(
    capture: &Capture,
    symbol: &str,
    instrument: Instrument,
) -> Result<bool, FileError> {
    Reader::new(capture, instrument, Some(symbol)).read_head()
}

/// The levels and the trades of a capture, all of whose frames are of this symbol.
///
/// # Errors
/// As [`BinanceFlow::read`], and when a frame is of another symbol.
pub(super) fn read_tape(
    capture: &Capture,
    symbol: &str,
    instrument: Instrument,
) -> Result<Tape, FileError> {
    let recording = Reader::new(capture, instrument, Some(symbol)).read()?;
    let Recording { first, first_id, steps, levels_max, .. } = recording;
    let step = |Step { at, change }| {
        let change = match change {
            Change::Level(key, lots) => TapeChange::Level(key, lots),
            Change::Trade { price, lots, aggressor } => {
                TapeChange::Trade { price, lots, aggressor }
            }
            Change::Frame { last_id, .. } => TapeChange::Whole(last_id?),
        };
        Some(TapeStep { at, change })
    };
    let steps = steps.into_iter().filter_map(step).collect();
    Ok(Tape { first, first_id, steps, levels_max })
}
