//! A gateway's run, written down: what it hears, turn by turn.
//!
//! The first entry of the journal says what the run was. The next one is the turn in which the
//! gateway was built, where there was an order journal elsewhere behind what that recovered; then
//! come its turns and rounds of housekeeping that did something, commands, and now and then what it
//! had come to. Where its orders stand in the recording, each is there before its bytes leave, and
//! so before the turn in which they do.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use taut_gateway::{Client, Gateway, Observer, OrderHandler};
use taut_io::Kernel;
use taut_journal::{
    COMMAND, GAP, Housekeeper, Journal, JournalError, RUN, STATE, Settings, State, TURN, Writer,
};
use taut_market_data::FeedHandler;
use taut_sys::{Clock, MAPPING_WORDS, TickMapping, tape};
use taut_types::Nanos;

use crate::build::Build;
use crate::control::GatewaySetup;
use crate::error::RunnerError;
use crate::outcome::Holdings;

/// From one look of the keeper to the next.
const LOOK: Duration = Duration::from_millis(5);
/// Rounds of housekeeping, about a millisecond each, between two states.
const ROUNDS_PER_STATE: u32 = 1_000;

/// What a recording begins with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    /// Who wrote it.
    #[serde(flatten)]
    pub build: Build,
    /// What its clock's ticks mean.
    pub clock: [u64; MAPPING_WORDS],
    /// What was recorded.
    #[serde(flatten)]
    pub what: What,
}

/// What was recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The gateway of a run.
    Run(Box<RecordedRun>),
    /// A gateway that ran by itself, in words of its own.
    Gateway(Box<Value>),
}

/// The gateway of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedRun {
    /// What the gateway was told.
    #[serde(deserialize_with = "apart")]
    pub setup: GatewaySetup,
    /// Sockets of a feed of datagrams that it was handed.
    pub feed_sockets: usize,
}

/// What is recorded as a value, read as everything else is, out of a text: another way of reading
/// would be compiled for each type of settings once more, which takes seconds.
///
/// # Errors
/// When the value is not of this type.
pub fn out_of<T: DeserializeOwned>(value: &Value) -> Result<T, serde_json::Error> {
    serde_json::from_slice(&serde_json::to_vec(value)?)
}

/// A field of a table whose keys stand among those of another one.
fn apart<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<T, D::Error> {
    out_of(&Value::deserialize(from)?).map_err(de::Error::custom)
}

/// What whoever runs a gateway has it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Its ticks mean this from now on.
    Clock([u64; MAPPING_WORDS]),
    /// Its strategy is to come to rest.
    Stop,
    /// It logs out.
    LogOut,
}

impl Command {
    /// As an entry begins, before what was heard.
    fn write(self, entry: &mut Vec<u8>) {
        entry.clear();
        match self {
            Self::Clock(words) => {
                entry.push(1);
                entry.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            }
            Self::Stop => entry.push(2),
            Self::LogOut => entry.push(3),
        }
    }

    /// The command of an entry, and what was heard.
    pub fn read(entry: &[u8]) -> Option<(Self, &[u8])> {
        let (kind, rest) = entry.split_first()?;
        match kind {
            1 => {
                let (chunks, _) = rest.as_chunks::<8>();
                let words = chunks.first_chunk::<MAPPING_WORDS>()?.map(u64::from_le_bytes);
                Some((Self::Clock(words), rest.get(8 * MAPPING_WORDS..)?))
            }
            2 => Some((Self::Stop, rest)),
            3 => Some((Self::LogOut, rest)),
            _ => None,
        }
    }
}

/// What is done while the disk takes no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenFull {
    /// The gateway ends as at a stop signal: what is not recorded does not trade.
    #[default]
    Stop,
    /// It trades on: entries are dropped and counted, and a replay ends where they are missing.
    Drop,
    /// The run goes on, and its recording ends.
    #[serde(skip)]
    End,
}

/// Writes a run down.
///
/// Where the recording is the gateway's own journal, what is written goes by that one's writer,
/// which the gateway has: it is `lent` each time.
#[derive(Debug)]
pub struct Recorder {
    /// Of a journal that has nothing about orders.
    own: Option<Writer>,
    /// Keeps a journal that is nobody else's.
    keeper: Option<Keeper>,
    /// For the times of entries: what it says is on no tape.
    clock: Clock,
    entry: Vec<u8>,
    rounds: u32,
    /// The turn at hand is kept whatever it finds: it is the first behind one that was.
    keeps: bool,
    when_full: WhenFull,
    /// Why nothing more is written down.
    failure: Option<JournalError>,
    /// Entries that were dropped since the last one that was written down, and in all.
    dropped: u64,
    dropped_in_all: u64,
    /// The day of the last entry.
    day: i64,
}

/// A thread that keeps a journal.
#[derive(Debug)]
struct Keeper {
    thread: JoinHandle<Housekeeper>,
    /// Dropped when it is to end.
    stop: Sender<()>,
}

impl Keeper {
    fn of(mut housekeeper: Housekeeper) -> Self {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                // The writer says so when it has no segment.
                let _ = housekeeper.turn();
            }
            housekeeper
        });
        Self { thread, stop }
    }

    /// Ends a journal whose writer is gone.
    fn end(self) -> Result<(), RunnerError> {
        let Self { thread, stop } = self;
        drop(stop);
        let failed = |error: &dyn std::fmt::Display| RunnerError::run("the recording", error);
        let housekeeper = thread.join().map_err(|_| failed(&"its thread panicked"))?;
        housekeeper.finish().map_err(|error| failed(&error))
    }
}

impl Recorder {
    /// Begins a recording in a new folder, with what the run is.
    pub fn create(
        folder: &Path,
        head: &Head,
        (settings, when_full): (Settings, WhenFull),
    ) -> Result<Self, RunnerError> {
        let Journal { writer, housekeeper, .. } = begin(folder, settings, None)?;
        let own = (Some(writer), Some(Keeper::of(housekeeper)));
        let mut recorder = Self::of(own, head, when_full);
        recorder.begin_with(head, None)?;
        Ok(recorder)
    }

    /// The same with the orders of a gateway that has none before: the writer is for them, and lent
    /// from here on.
    pub fn create_with_orders(
        folder: &Path,
        head: &Head,
        (settings, when_full): (Settings, WhenFull),
    ) -> Result<(Self, Writer), RunnerError> {
        let journal = begin(folder, settings, Some(State::default()))?;
        let Journal { mut writer, housekeeper, .. } = journal;
        let own = (None, Some(Keeper::of(housekeeper)));
        let mut recorder = Self::of(own, head, when_full);
        recorder.begin_with(head, Some(&mut writer))?;
        Ok((recorder, writer))
    }

    /// Begins a recording in a journal that has orders, too: its writer is lent from here on.
    pub fn create_in(
        journal: &mut Writer,
        head: &Head,
        when_full: WhenFull,
    ) -> Result<Self, RunnerError> {
        let mut recorder = Self::of((None, None), head, when_full);
        recorder.begin_with(head, Some(journal))?;
        Ok(recorder)
    }

    fn of(
        (own, keeper): (Option<Writer>, Option<Keeper>),
        head: &Head,
        when_full: WhenFull,
    ) -> Self {
        let clock = Clock::new(TickMapping::from_words(head.clock));
        let day = day_of(clock.utc_at(clock.now()));
        Self {
            own,
            keeper,
            clock,
            entry: Vec::with_capacity(1 << 16),
            rounds: 0,
            keeps: true,
            when_full,
            failure: None,
            dropped: 0,
            dropped_in_all: 0,
            day,
        }
    }

    fn begin_with(&mut self, head: &Head, lent: Option<&mut Writer>) -> Result<(), RunnerError> {
        let what = serde_json::to_vec(head);
        let what = what.map_err(|error| RunnerError::run("the recording", error))?;
        self.note(RUN, &what, lent)
    }

    /// Writes an entry that is no turn, before the first one.
    pub fn note(
        &mut self,
        kind: u16,
        bytes: &[u8],
        lent: Option<&mut Writer>,
    ) -> Result<(), RunnerError> {
        let now = self.clock.now();
        let Some(writer) = writer(&mut self.own, lent) else { return Ok(()) };
        let noted = writer.record(kind, now, bytes);
        noted.map(drop).map_err(|error| RunnerError::run("the recording", error))
    }

    /// Whether the gateway is to end, because nothing more is written down; told once.
    pub const fn take_stop(&mut self) -> bool {
        let stops = matches!(self.when_full, WhenFull::Stop) && self.failure.is_some();
        if stops {
            self.when_full = WhenFull::End;
        }
        stops
    }

    /// A turn of the gateway's begins, or a round of housekeeping.
    #[inline]
    pub fn begin(&self, kind: u16) {
        tape::begin_writing(kind == TURN && self.keeps);
    }

    /// It is over. One that did nothing is forgotten, but for the first turn behind one that did
    /// something: it leaves the loop as those find it that do nothing behind it.
    #[inline]
    pub fn end(&mut self, kind: u16, has_worked: bool, lent: Option<&mut Writer>) {
        tape::end_writing(|heard, has_effect| {
            let has_done = has_worked || has_effect;
            let is_kept = has_done || (kind == TURN && self.keeps);
            self.keeps = if kind == TURN { has_done } else { self.keeps || has_done };
            if is_kept {
                self.append(kind, heard, lent);
            }
        });
    }

    /// The gateway has something done that is asked of it.
    pub fn begin_command(&self) {
        tape::begin_writing(true);
    }

    /// It is done: what the gateway heard meanwhile is written down.
    pub fn end_command(&mut self, command: Command, lent: Option<&mut Writer>) {
        self.keeps = true;
        let mut entry = std::mem::take(&mut self.entry);
        command.write(&mut entry);
        tape::end_writing(|heard, _| entry.extend_from_slice(heard));
        self.append(COMMAND, &entry, lent);
        self.entry = entry;
    }

    /// Writes the entry down, or what the settings say when there is no room.
    #[inline]
    fn append(&mut self, kind: u16, bytes: &[u8], lent: Option<&mut Writer>) {
        if self.failure.is_some() {
            return;
        }
        let now = self.clock.now();
        let Some(writer) = writer(&mut self.own, lent) else { return };
        if self.dropped > 0 {
            // How many entries are missing, once there is room.
            match writer.record(GAP, now, &self.dropped.to_le_bytes()) {
                Ok(_) => self.dropped = 0,
                Err(error) => return self.not_appended(error),
            }
        }
        if let Err(error) = writer.record(kind, now, bytes) {
            self.not_appended(error);
        }
    }

    #[cold]
    fn not_appended(&mut self, error: JournalError) {
        if self.when_full == WhenFull::Drop {
            self.dropped += 1;
            self.dropped_in_all += 1;
        } else {
            self.failure = Some(error);
        }
    }

    /// A round of housekeeping was done; whether it is time to write what the gateway has come to.
    pub const fn count_round(&mut self) -> bool {
        self.rounds += 1;
        self.rounds >= ROUNDS_PER_STATE
    }

    /// Writes what the gateway has come to.
    pub fn note_state(&mut self, state: &str, mut lent: Option<&mut Writer>) {
        self.rounds = 0;
        if self.failure.is_some() {
            return;
        }
        let day = day_of(self.clock.utc_at(self.clock.now()));
        if std::mem::replace(&mut self.day, day) != day
            && let Some(writer) = writer(&mut self.own, lent.as_deref_mut())
        {
            // What cannot begin now begins when this segment is full.
            writer.begin_segment();
        }
        self.append(STATE, state.as_bytes(), lent);
    }

    /// Ends the recording; what is to be said of it, if anything. `lent` is the writer where one
    /// was lent, and is dropped; a journal of the gateway's own is ended by who keeps it.
    pub fn finish(self, lent: Option<Writer>) -> Result<Option<String>, RunnerError> {
        let Self { own, keeper, failure, dropped_in_all, .. } = self;
        let writer = own.or(lent);
        let last = writer.as_ref().map_or(0, |writer| writer.next_sequence() - 1);
        drop(writer);
        keeper.map_or(Ok(()), Keeper::end)?;
        Ok(match (failure, dropped_in_all) {
            (Some(failure), _) => Some(format!("the recording ends with entry {last}: {failure}")),
            (None, 0) => None,
            (None, dropped) => Some(format!("{dropped} entries are not in the recording")),
        })
    }
}

/// Where an entry goes.
#[inline]
const fn writer<'w>(
    own: &'w mut Option<Writer>,
    lent: Option<&'w mut Writer>,
) -> Option<&'w mut Writer> {
    match own {
        Some(own) => Some(own),
        None => lent,
    }
}

fn begin(folder: &Path, settings: Settings, orders: Option<State>) -> Result<Journal, RunnerError> {
    let named = |error: &dyn std::fmt::Display| {
        RunnerError::run(format_args!("recording in {}", folder.display()), error)
    };
    Journal::begin(folder, settings, orders).map_err(|error| named(&error))
}

/// The day of a time, from the first of 1970, UTC.
const fn day_of(utc: Nanos) -> i64 {
    utc.0.div_euclid(86_400_000_000_000)
}

/// What a gateway has come to, in one line: its books by their hashes, what it holds, its counts.
pub fn state_of<C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler>(
    gateway: &Gateway<'_, C, F, K, O, H>,
) -> String {
    use std::fmt::Write;

    let mut state = String::new();
    for instrument in gateway.instruments() {
        let hash = gateway.book(instrument.id()).map_or(0, |book| book.state_hash());
        let _ = write!(state, "book {}={hash:016x} ", instrument.symbol());
    }
    let Holdings { positions, profit } = Holdings::of(gateway);
    for position in positions {
        let _ = write!(state, "{position:?} ");
    }
    let _ = write!(state, "profit={profit}");
    // What another thread has lost is not this one's.
    let named = gateway.counters().named();
    for (name, count) in named.into_iter().filter(|(name, _)| *name != "drop_copies_lost") {
        let _ = write!(state, " {name}={count}");
    }
    state
}
