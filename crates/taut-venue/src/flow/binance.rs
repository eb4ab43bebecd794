//! A recorded Binance stream: the venue's book is the recorded one, level by level.
//!
//! Each recorded price level is one order of the venue's. What a client takes of it is put back by
//! the flow's next step: the market is as it was recorded, whatever a client does, and a client's
//! orders trade against it. The recorded frames go to whoever listens, unchanged, each when the
//! book has what it says.

mod reading;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::ops::Range;

use taut_engine::{Command, NewOrder};
use taut_recording::FileError;
use taut_recording::capture::Capture;
use taut_types::{
    DECIMAL_BYTES_MAX, HalfTicks, Instrument, Lots, Nanos, OrderId, Price, Side, Symbol,
    format_decimal,
};

use crate::flow::binance::reading::Reader;
use crate::flow::step::FlowStep;

/// Whose the orders are.
const OWNER: u32 = 0;

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

/// What happens, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    /// From the first step.
    at: Nanos,
    change: Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// A level shall have this total.
    Level(Side, HalfTicks, Lots),
    /// A trade was told.
    Trade { price: Price, lots: Lots, aggressor: Side },
    /// The book has what this frame says; its last update's number, if it numbers one.
    Frame { start: usize, end: usize, last_id: Option<u64> },
}

impl BinanceFlow {
    /// Reads and validates a capture: frames of one symbol's depth stream, and a snapshot.
    ///
    /// # Errors
    /// When the file cannot be read, a frame is malformed, updates are missing, or a price or a size
    /// is none of the instrument's. The error prints as one line that names the file, the line and
    /// the value.
    pub fn read(path: &std::path::Path, instrument: Instrument) -> Result<Self, FileError> {
        Self::of(&Capture::read(path)?, instrument)
    }

    /// As [`BinanceFlow::read`], of a capture in memory.
    ///
    /// # Errors
    /// As [`BinanceFlow::read`].
    pub fn of(capture: &Capture, instrument: Instrument) -> Result<Self, FileError> {
        Reader::new(capture, instrument).read()
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
            Change::Level(side, price, lots) => {
                let key = (side, price);
                self.market.side_mut(side).entry(price).or_default().target = lots;
                self.market.command(key).into()
            }
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

type Key = (Side, HalfTicks);

/// The levels as they shall be and as they are.
#[derive(Clone, Debug)]
struct Market {
    instrument: Instrument,
    /// Bids and asks.
    levels: [BTreeMap<HalfTicks, Level>; 2],
    /// Where an order stands.
    places: HashMap<OrderId, Key>,
    /// Levels that are not what they shall be.
    behind: VecDeque<Key>,
    next_order: u64,
    /// The last update that the levels contain.
    last_id: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Level {
    target: Lots,
    /// The order that stands there, and what is left of it.
    order: Option<(OrderId, Lots)>,
}

impl Market {
    fn new(instrument: Instrument) -> Self {
        Self {
            instrument,
            levels: [BTreeMap::new(), BTreeMap::new()],
            places: HashMap::new(),
            behind: VecDeque::new(),
            next_order: 1,
            last_id: 0,
        }
    }

    /// The next command on the way to what a level shall be; nothing when it is there. A level that
    /// grows loses its place: its order is cancelled and entered anew.
    fn command(&mut self, key: Key) -> Option<Command> {
        let (side, price) = key;
        let next_order = self.next_order;
        let levels = self.side_mut(side);
        let level = levels.get_mut(&price)?;
        let target = level.target;
        match level.order {
            None if target <= Lots::ZERO => {
                levels.remove(&price);
                None
            }
            None => {
                let order_id = OrderId(next_order);
                level.order = Some((order_id, target));
                self.next_order += 1;
                self.places.insert(order_id, key);
                Some(Command::New(NewOrder::limit(order_id, OWNER, side, price, target)))
            }
            Some((_, lots)) if lots == target => None,
            Some((order_id, lots)) if target > Lots::ZERO && target < lots => {
                level.order = Some((order_id, target));
                Some(Command::Reduce { order_id, by: Lots(lots.0 - target.0) })
            }
            Some((order_id, _)) => {
                level.order = None;
                if target > Lots::ZERO {
                    self.behind.push_front(key);
                } else {
                    levels.remove(&price);
                }
                self.places.remove(&order_id);
                Some(Command::Cancel { order_id })
            }
        }
    }

    fn on_fill(&mut self, order_id: OrderId, remaining: Lots) {
        let Some(&key) = self.places.get(&order_id) else { return };
        if let Some(level) = self.side_mut(key.0).get_mut(&key.1) {
            level.order = (remaining > Lots::ZERO).then_some((order_id, remaining));
        }
        if remaining <= Lots::ZERO {
            self.places.remove(&order_id);
        }
        self.behind.push_back(key);
    }

    fn snapshot(&self, head: &str, tail: &str) -> String {
        let mut text = format!("{head}{{\"lastUpdateId\":{}", self.last_id);
        // Best first: bids fall, asks rise.
        self.side(&mut text, "bids", self.of(Side::Buy).rev());
        self.side(&mut text, "asks", self.of(Side::Sell));
        text.push('}');
        text.push_str(tail);
        text
    }

    fn of(&self, side: Side) -> impl DoubleEndedIterator<Item = (HalfTicks, Lots)> {
        let [bids, asks] = &self.levels;
        let levels = if side == Side::Buy { bids } else { asks };
        levels.iter().map(|(&price, level)| (price, level.target))
    }

    const fn side_mut(&mut self, side: Side) -> &mut BTreeMap<HalfTicks, Level> {
        let [bids, asks] = &mut self.levels;
        match side {
            Side::Buy => bids,
            Side::Sell => asks,
        }
    }

    fn side(&self, text: &mut String, name: &str, levels: impl Iterator<Item = (HalfTicks, Lots)>) {
        let _ = write!(text, ",\"{name}\":[");
        let mut comma = "";
        let lot = self.instrument.lot();
        for (price, lots) in levels.filter(|(_, lots)| *lots > Lots::ZERO) {
            // Both came from prices and sizes that fit.
            let price = self.instrument.price(price).unwrap_or(Price(0));
            let mantissa = lots.0.saturating_mul(lot.mantissa);
            let mut digits = [0; DECIMAL_BYTES_MAX];
            let length = format_decimal(mantissa, lot.decimals, &mut digits);
            let size = digits.get(..length).and_then(|size| std::str::from_utf8(size).ok());
            let _ = write!(text, "{comma}[\"{price}\",\"{}\"]", size.unwrap_or("0"));
            comma = ",";
        }
        text.push(']');
    }
}
