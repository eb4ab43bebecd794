//! From Deribit's frames to levels: a book's snapshot and the changes that are chained to it.

use std::collections::BTreeSet;

use taut_market_data::deribit::{Channel, DeribitJson, Message, channel, read_message};
use taut_market_data::{
    Batch, Context, Event, EventKind, InstrumentKey, LevelUpdate, SequenceRange, Trade,
};
use taut_recording::FileError;
use taut_recording::capture::{Capture, Frame};
use taut_types::{Instrument, Lots, Nanos, Side};

use crate::flow::market::Key;
use crate::flow::tape::{Levels, Tape, TapeChange, TapeStep};

/// Names of other instruments that are told to who meant one of them.
const NAMES_TOLD: usize = 12;

/// The levels and the trades of the instrument with this name: of its first book channel, and of
/// any channel of trades.
///
/// # Errors
/// What is wrong with a frame of the instrument's, changes that are missing, a price or a size that
/// the instrument cannot have, and a capture without a snapshot of its book.
pub(super) fn read_tape(
    capture: &Capture,
    name: &str,
    instrument: Instrument,
) -> Result<Tape, FileError> {
    let mut reader = Reader::new(capture, name, instrument);
    for frame in capture.frames() {
        reader.frame(&frame?)?;
    }
    reader.finish()
}

/// Whether the first frames have the book of the instrument with this name.
///
/// # Errors
/// What is wrong with one of them.
pub(super) fn read_head(
    capture: &Capture,
    name: &str,
    instrument: Instrument,
) -> Result<bool, FileError> {
    let mut reader = Reader::new(capture, name, instrument);
    for frame in capture.frames() {
        reader.frame(&frame?)?;
    }
    Ok(reader.last_id.is_some())
}

struct Reader<'c> {
    capture: &'c Capture,
    name: &'c str,
    decoder: DeribitJson,
    levels: Levels,
    /// The channel that brings the book: the first one of the instrument's.
    channel: Option<Vec<u8>>,
    /// The last change that the book has, once there is one.
    last_id: Option<u64>,
    first: Vec<(Key, Lots)>,
    first_id: u64,
    steps: Vec<TapeStep>,
    /// When the first step is due.
    origin: Option<Nanos>,
    /// Where there is a book of another instrument, and whose books there are.
    other_line: Option<usize>,
    others: BTreeSet<String>,
}

/// What a frame says of the instrument.
#[derive(Default)]
struct Said {
    sequence: SequenceRange,
    is_snapshot: bool,
    levels: Vec<LevelUpdate>,
    trades: Vec<Trade>,
}

impl<'c> Reader<'c> {
    fn new(capture: &'c Capture, name: &'c str, instrument: Instrument) -> Self {
        Self {
            capture,
            name,
            // It knows no instrument: amounts come as they stand there.
            decoder: DeribitJson::default(),
            levels: Levels::new(instrument, DeribitJson::AMOUNT_DECIMALS),
            channel: None,
            last_id: None,
            first: Vec::new(),
            first_id: 0,
            steps: Vec::new(),
            origin: None,
            other_line: None,
            others: BTreeSet::new(),
        }
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), FileError> {
        let capture = self.capture;
        let read = read_message(frame.bytes).map_err(|error| capture.error(frame.line, error))?;
        let Message::Notification { channel: subscription, .. } = read else { return Ok(()) };
        match channel(subscription) {
            Channel::Book(name) if name == self.name.as_bytes() => {
                let first = self.channel.get_or_insert_with(|| subscription.to_vec());
                if first.as_slice() == subscription {
                    return self.book(frame);
                }
            }
            Channel::Book(name) => {
                self.other_line.get_or_insert(frame.line);
                if self.others.len() < NAMES_TOLD {
                    let name = String::from_utf8_lossy(name).escape_debug().to_string();
                    self.others.insert(name);
                }
            }
            Channel::Trades => return self.trades(frame),
            _ => {}
        }
        Ok(())
    }

    /// A snapshot of the book, or a change.
    fn book(&mut self, frame: &Frame<'_>) -> Result<(), FileError> {
        let said = self.decode(frame)?;
        let capture = self.capture;
        let id = said.sequence.last;
        let Some(last_id) = self.last_id else {
            if said.is_snapshot {
                self.set(frame, &said.levels)?;
                self.levels.check().map_err(|what| capture.error(frame.line, what))?;
                (self.last_id, self.first_id) = (Some(id), id);
                self.first = self.levels.all();
            }
            return Ok(());
        };
        if !said.is_snapshot {
            if id <= last_id {
                return Ok(());
            }
            let previous = said.sequence.previous.unwrap_or_default();
            if previous != last_id {
                let what =
                    format!("changes are missing: {id} follows {previous}, the last was {last_id}");
                return Err(capture.error(frame.line, what));
            }
        }
        let before = if said.is_snapshot { self.levels.all() } else { Vec::new() };
        let mut changes = self.set(frame, &said.levels)?;
        for (key, _) in before {
            // The new book has it no more.
            if !changes.iter().any(|(named, _)| *named == key) {
                self.levels.set(key, Lots::ZERO);
                changes.push((key, Lots::ZERO));
            }
        }
        self.levels.check().map_err(|what| capture.error(frame.line, what))?;
        // What becomes nothing first: the book must not cross itself on the way.
        changes.sort_by_key(|(_, lots)| *lots > Lots::ZERO);
        self.last_id = Some(id);
        let levels = changes.into_iter().map(|(key, lots)| TapeChange::Level(key, lots));
        self.push(frame, levels.chain([TapeChange::Whole(id)]).collect());
        Ok(())
    }

    /// Trades, perhaps of other instruments too.
    fn trades(&mut self, frame: &Frame<'_>) -> Result<(), FileError> {
        if self.last_id.is_none() {
            return Ok(());
        }
        let said = self.decode(frame)?;
        let mut changes = Vec::with_capacity(said.trades.len());
        for trade in said.trades {
            let lots = self.levels.lots(trade.lots);
            let lots = lots.map_err(|what| self.capture.error(frame.line, what))?;
            let (price, aggressor) = (trade.price, trade.aggressor.unwrap_or(Side::Buy));
            changes.push(TapeChange::Trade { price, lots, aggressor });
        }
        self.push(frame, changes);
        Ok(())
    }

    fn decode(&mut self, frame: &Frame<'_>) -> Result<Said, FileError> {
        let (mut said, name) = (Said::default(), self.name.as_bytes());
        let mut sink = |context: &Context<'_>, event: &Event| {
            if context.instrument != InstrumentKey::Symbol(name) {
                return;
            }
            said.sequence = context.sequence;
            match event.kind {
                EventKind::Begin(batch) => said.is_snapshot = batch == Batch::Snapshot,
                EventKind::Level(level) => said.levels.push(level),
                EventKind::Trade(trade) => said.trades.push(trade),
                _ => {}
            }
        };
        let decoded = self.decoder.decode(frame.received, frame.bytes, &mut sink);
        decoded.map_err(|error| self.capture.error(frame.line, error))?;
        Ok(said)
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

    fn push(&mut self, frame: &Frame<'_>, changes: Vec<TapeChange>) {
        let at = frame.received.since(*self.origin.get_or_insert(frame.received));
        self.steps.extend(changes.into_iter().map(|change| TapeStep { at, change }));
    }

    fn finish(self) -> Result<Tape, FileError> {
        let Self { capture, name, first, first_id, steps, others, .. } = self;
        if self.last_id.is_none() {
            let others: Vec<_> = others.into_iter().collect();
            let what = match others.as_slice() {
                [] => format!("there is no snapshot of the book of {name}"),
                others => {
                    let others = others.join(", ");
                    format!("no book is of {name}: this one and others are of {others}")
                }
            };
            return Err(capture.error(self.other_line, what));
        }
        let levels_max = self.levels.count_max();
        Ok(Tape { first, first_id, steps, levels_max })
    }
}
