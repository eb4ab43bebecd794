//! From LOBSTER's rows to levels: the orders are matched as they were, and what that makes of the
//! levels is the recording.

use taut_engine::{Command, Engine, EngineConfig, Event};
use taut_recording::FileError;
use taut_recording::capture::Capture;
use taut_recording::lobster::{FlowEvent, LobsterFlow, Messages, TimedEvent};
use taut_types::{HalfTicks, Instrument, Lots, Nanos, Price, Side};

use crate::flow::market::Key;
use crate::flow::tape::{Levels, Tape, TapeChange, TapeStep};

/// Levels of a side at the most: far more than a recorded window of levels ever had.
const LEVELS_MAX: usize = 1 << 16;

/// The levels and the executions of a message file.
///
/// # Errors
/// What is wrong with a row, and a price or a size that the instrument cannot have.
pub(super) fn read_tape(capture: &Capture, instrument: Instrument) -> Result<Tape, FileError> {
    let messages = Messages::parse(capture.file(), capture.text())?;
    let mut matching = Matching::new(capture, instrument, messages.rows().len());
    for row in messages.rows() {
        let Some(order) = row.order() else { continue };
        let read = matching.key(order.side, order.price).map(drop);
        read.and_then(|()| matching.levels.lots(order.lots).map(drop))
            .map_err(|what| capture.error(row.line, what))?;
    }
    let flow = LobsterFlow::of(&messages)?;
    for order in flow.initial_orders() {
        matching.execute(Command::New(*order));
    }
    matching.row(None, Nanos::ZERO)?;
    let first = matching.levels.all();
    matching.steps.clear();
    let of_a_row = |a: &TimedEvent, b: &TimedEvent| a.line == b.line;
    for events in flow.events().chunk_by(of_a_row) {
        let Some(TimedEvent { at, line, .. }) = events.last().copied() else { continue };
        for event in events {
            matching.event(event.event);
        }
        matching.row(Some(line), at)?;
    }
    let levels_max = matching.levels.count_max();
    Ok(Tape { first, first_id: 0, steps: matching.steps, levels_max })
}

/// The market of the recording, and what it came to so far.
struct Matching<'c> {
    capture: &'c Capture,
    engine: Engine,
    levels: Levels,
    /// Of the row at hand: the last totals of levels, and trades.
    changed: Vec<(Side, HalfTicks, Lots)>,
    trades: Vec<(Price, Lots, Side)>,
    steps: Vec<TapeStep>,
}

impl<'c> Matching<'c> {
    /// Each order has a row of its own.
    fn new(capture: &'c Capture, instrument: Instrument, rows: usize) -> Self {
        let order_capacity = rows.max(1);
        let sizes = EngineConfig { order_capacity, level_capacity: order_capacity.min(LEVELS_MAX) };
        Self {
            capture,
            engine: Engine::new(sizes),
            levels: Levels::new(instrument, 0),
            changed: Vec::new(),
            trades: Vec::new(),
            steps: Vec::new(),
        }
    }

    fn event(&mut self, event: FlowEvent) {
        match event {
            FlowEvent::Command(command) => self.execute(command),
            FlowEvent::Print { price, lots, aggressor_side } => {
                self.trades.push((price, lots, aggressor_side));
            }
            FlowEvent::Halt => {}
        }
    }

    fn execute(&mut self, command: Command) {
        let Self { engine, changed, trades, .. } = self;
        engine.execute(command, &mut |event| match event {
            Event::Level { side, price, lots, .. } => {
                changed.retain(|(other, at, _)| (*other, *at) != (side, price));
                changed.push((side, price, lots));
            }
            Event::Trade { price, lots, aggressor, .. } => {
                trades.push((recorded_price(price), lots, aggressor));
            }
            _ => {}
        });
    }

    /// All of a row has happened.
    fn row(&mut self, line: Option<usize>, at: Nanos) -> Result<(), FileError> {
        let capture = self.capture;
        let wrong = |what: String| capture.error(line, what);
        // What becomes nothing first: the book must not cross itself on the way.
        self.changed.sort_by_key(|(_, _, lots)| *lots > Lots::ZERO);
        for (side, price, lots) in std::mem::take(&mut self.changed) {
            let key = self.key(side, price).map_err(wrong)?;
            let lots = self.levels.lots(lots).map_err(wrong)?;
            self.levels.set(key, lots);
            self.steps.push(TapeStep { at, change: TapeChange::Level(key, lots) });
        }
        self.levels.check().map_err(wrong)?;
        for (price, lots, aggressor) in std::mem::take(&mut self.trades) {
            let lots = self.levels.lots(lots).map_err(wrong)?;
            self.steps.push(TapeStep { at, change: TapeChange::Trade { price, lots, aggressor } });
        }
        let change = TapeChange::Whole(line.unwrap_or(0) as u64);
        self.steps.push(TapeStep { at, change });
        Ok(())
    }

    /// The level of the instrument at a price of the recording's.
    fn key(&self, side: Side, price: HalfTicks) -> Result<Key, String> {
        self.levels.key(side, recorded_price(price))
    }
}

/// Of half cents.
const fn recorded_price(HalfTicks(half_ticks): HalfTicks) -> Price {
    Price(half_ticks.saturating_mul(LobsterFlow::TICK.0 / 2))
}
