//! A gateway's run, written down: what it hears, turn by turn.
//!
//! The first entry of the journal says what the run was. The second is the turn in which the
//! gateway was built; then come its turns and rounds of housekeeping that did something, commands,
//! and now and then what it had come to.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use taut_gateway::{Client, Gateway, Observer, OrderHandler};
use taut_io::Kernel;
use taut_journal::{
    COMMAND, InputKeeper, InputSettings, InputWriter, Inputs, JournalError, RUN, STATE, TURN,
};
use taut_market_data::FeedHandler;
use taut_sys::{Clock, MAPPING_WORDS, TickMapping, tape};

use crate::control::GatewaySetup;
use crate::error::RunnerError;
use crate::outcome::Holdings;
use crate::stderr::tell;

/// From one look of the keeper to the next.
const LOOK: Duration = Duration::from_millis(5);
/// Rounds of housekeeping, about a millisecond each, between two states.
const ROUNDS_PER_STATE: u32 = 1_000;

/// What a recorded run was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recorded {
    /// The build that wrote it: another one may decide otherwise.
    pub build: String,
    /// What the gateway was told.
    pub setup: GatewaySetup,
    /// What its clock's ticks mean.
    pub clock: [u64; MAPPING_WORDS],
    /// Sockets of a feed of datagrams that it was handed.
    pub feed_sockets: usize,
}

/// The build that this is.
pub const BUILD: &str = concat!("taut ", env!("CARGO_PKG_VERSION"));

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

/// Writes a run down.
#[derive(Debug)]
pub struct Recorder {
    writer: InputWriter,
    keeper: JoinHandle<InputKeeper>,
    /// Dropped when the keeper is to end.
    _stop: Sender<()>,
    /// For the times of entries: what it says is on no tape.
    clock: Clock,
    entry: Vec<u8>,
    rounds: u32,
    /// The turn at hand is kept whatever it finds: it is the first behind one that was.
    keeps: bool,
    /// Why nothing more is written down.
    failure: Option<JournalError>,
}

impl Recorder {
    /// Begins a journal in a new folder, with what the run is.
    pub fn create(folder: &Path, run: &Recorded) -> Result<Self, RunnerError> {
        let named = |error: &dyn std::fmt::Display| {
            RunnerError::run(format_args!("recording in {}", folder.display()), error)
        };
        let inputs = Inputs::create(folder, InputSettings::default());
        let Inputs { mut writer, mut keeper } = inputs.map_err(|error| named(&error))?;
        keeper.turn().map_err(|error| named(&error))?;
        let clock = Clock::new(TickMapping::from_words(run.clock));
        let what = serde_json::to_vec(run).map_err(|error| named(&error))?;
        writer.append(RUN, clock.now(), &what).map_err(|error| named(&error))?;
        let (stop, stopped) = mpsc::channel::<()>();
        let keeper = thread::spawn(move || {
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                // The writer says so when it has no segment.
                let _ = keeper.turn();
            }
            keeper
        });
        let entry = Vec::with_capacity(1 << 16);
        Ok(Self {
            writer,
            keeper,
            _stop: stop,
            clock,
            entry,
            rounds: 0,
            keeps: true,
            failure: None,
        })
    }

    /// A turn of the gateway's begins, or a round of housekeeping.
    #[inline]
    pub fn begin(&self, kind: u16) {
        tape::begin_writing(kind == TURN && self.keeps);
    }

    /// It is over. One that did nothing is forgotten, but for the first turn behind one that did
    /// something: it leaves the loop as those find it that do nothing behind it.
    #[inline]
    pub fn end(&mut self, kind: u16, has_worked: bool) {
        let Self { writer, clock, keeps, failure, .. } = self;
        tape::end_writing(|heard, has_effect| {
            let has_done = has_worked || has_effect;
            let is_kept = has_done || (kind == TURN && *keeps);
            *keeps = if kind == TURN { has_done } else { *keeps || has_done };
            if is_kept && failure.is_none() {
                *failure = writer.append(kind, clock.now(), heard).err();
            }
        });
    }

    /// Has the gateway do something, and writes down what it hears meanwhile.
    pub fn command<T>(&mut self, command: Command, act: impl FnOnce() -> T) -> T {
        tape::begin_writing(true);
        let done = act();
        self.keeps = true;
        let Self { writer, entry, clock, failure, .. } = self;
        command.write(entry);
        tape::end_writing(|heard, _| entry.extend_from_slice(heard));
        if failure.is_none() {
            *failure = writer.append(COMMAND, clock.now(), entry).err();
        }
        done
    }

    /// A round of housekeeping was done: now and then, what the gateway has come to is written.
    pub fn note_round<C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler>(
        &mut self,
        gateway: &Gateway<'_, C, F, K, O, H>,
    ) {
        self.rounds += 1;
        if self.rounds >= ROUNDS_PER_STATE {
            self.note_state(gateway);
        }
    }

    /// Writes what the gateway has come to.
    pub fn note_state<C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler>(
        &mut self,
        gateway: &Gateway<'_, C, F, K, O, H>,
    ) {
        self.rounds = 0;
        if self.failure.is_none() {
            let state = state_of(gateway);
            self.failure = self.writer.append(STATE, self.clock.now(), state.as_bytes()).err();
        }
    }

    /// Ends the journal.
    pub fn finish(self) -> Result<(), RunnerError> {
        let Self { writer, keeper, _stop: stop, failure, .. } = self;
        let last = writer.next_sequence() - 1;
        drop(stop);
        let failed = |error: &dyn std::fmt::Display| RunnerError::run("the recording", error);
        let keeper = keeper.join().map_err(|_| failed(&"its thread panicked"))?;
        keeper.finish(writer).map_err(|error| failed(&error))?;
        if let Some(failure) = failure {
            tell(&format!("the recording ends with entry {last}: {failure}"));
        }
        Ok(())
    }
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
    for (name, count) in gateway.counters().named() {
        let _ = write!(state, " {name}={count}");
    }
    state
}
