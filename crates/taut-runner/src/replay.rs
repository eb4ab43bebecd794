//! A recorded run once more: the same gateway and the same strategy, given what they heard, and
//! everything that they send held against what they sent.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::de::DeserializeOwned;
use taut_gateway::Strategy;
use taut_journal::{Frame, JournalError, RECOVERED, RUN, Reader, State, TURN};
use taut_sys::{Clock, TickMapping, tape};
use taut_types::Nanos;
use toml::{Table, Value};

use crate::build::Build;
use crate::error::RunnerError;
use crate::market_rows::{MarketRows, SharedRows};
use crate::packets::{RunPackets, SharedPackets};
use crate::reading;
use crate::recording::{Head, What, out_of};
use crate::replayed::{Held, Replayed};
use crate::replaying::{Limits, Replaying};
use crate::roles::replay;
use crate::service::{self, GatewayReplay, RecordedGateway};
use crate::settings::{Mode, RiskSettings, Settings};
use crate::start::Start;

/// A run that was written down: [`Settings::record`].
pub struct Recording {
    folder: PathBuf,
    reader: Reader,
    head: Head,
    /// The gateway that ran by itself, where it did.
    gateway: Option<RecordedGateway>,
    began: Nanos,
    /// What was read so far.
    held: Held,
    progress: Box<dyn FnMut(&Held)>,
    /// Limits that requests are judged by beside those that held.
    limits: Option<Limits<'static>>,
    /// Where its market goes.
    market: Option<SharedRows>,
    /// Where packets of what passed on its sockets go.
    packets: Option<SharedPackets>,
}

impl Recording {
    /// Opens the recording in a folder.
    ///
    /// # Errors
    /// There is none, another build wrote it, or its first entries are damaged.
    pub fn open(folder: &Path) -> Result<Self, RunnerError> {
        let named = |what: &dyn fmt::Display| {
            RunnerError::Settings(format!("{}: {what}", folder.display()))
        };
        let mut reader = Reader::open(folder).map_err(|error| match error {
            JournalError::File { .. } => {
                named(&format_args!("no recording of a run ({error}); check the path"))
            }
            error => named(&error),
        })?;
        let first = reader.next_frame().map_err(|error| named(&error))?;
        let Some(frame @ Frame { kind: RUN, time: began, bytes, .. }) = first else {
            return Err(named(&"the recording does not say what the run was: it is cut"));
        };
        let mut held = Held::default();
        held.note(&frame, began);
        let unread = |error: serde_json::Error| {
            let build = Build::this();
            named(&format_args!("what was recorded, this build ({build}) does not read: {error}"))
        };
        let head: Head = serde_json::from_slice(bytes).map_err(unread)?;
        let gateway = match &head.what {
            What::Run(run) => {
                held.mode = run.setup.common.settings.mode;
                None
            }
            What::Gateway(run) => {
                let run: RecordedGateway = out_of(run).map_err(unread)?;
                held.mode = if run.fused.is_some() { Mode::Fused } else { Mode::Split };
                held.gateway = Some(run.name().to_owned());
                Some(run)
            }
        };
        let (folder, progress) = (folder.to_owned(), Box::new(|_: &Held| ()));
        let (limits, market, packets) = (None, None, None);
        Ok(Self { folder, reader, head, gateway, began, held, progress, limits, market, packets })
    }

    /// Shows what was read, some thousand entries at a time, while it is looked at or done again.
    #[must_use]
    pub fn progress(self, progress: impl FnMut(&Held) + 'static) -> Self {
        Self { progress: Box::new(progress), ..self }
    }

    /// Has each request judged by other limits, too: what they would have refused is in what is
    /// [found](Replayed::what_if). The file has the tables `[risk]`, `[[symbols]]`, `[[users]]` and
    /// `[[accounts]]` of a gateway's, each in the place of the one that held; of a run, `[risk]`.
    ///
    /// # Errors
    /// What is wrong in the file.
    pub fn judged_by(mut self, file: &Path) -> Result<Self, RunnerError> {
        let named =
            |what: &dyn fmt::Display| RunnerError::Settings(format!("{}: {what}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| named(&error))?;
        let mut table: Table = toml::from_str(&text).map_err(|error| named(&error.message()))?;
        self.limits = Some(match &self.gateway {
            Some(run) => {
                let limits = run.limits(table).map_err(|error| named(&error))?;
                Box::new(move |_| limits)
            }
            None => {
                let known = |key: &String| key == "risk";
                if let Some(key) = table.keys().find(|key| !known(key)) {
                    return Err(named(&format_args!("{key}: of a run, [risk] can be another one")));
                }
                let risk: RiskSettings = match table.remove("risk") {
                    Some(Value::Table(risk)) => {
                        reading::parsed(risk).map_err(|error| named(&error))?
                    }
                    Some(_) => return Err(named(&"risk must be a table, [risk]")),
                    None => RiskSettings::default(),
                };
                Box::new(move |sizes| risk.limits().limits(sizes))
            }
        });
        Ok(self)
    }

    /// Writes the market as the gateway follows it while it is done again: rows in the columns of
    /// `taut export`'s `csv`, for a backtest of another strategy. How many there are is in what is
    /// [found](Replayed::market_rows).
    #[must_use]
    pub fn writing_market(self, out: impl Write + Send + 'static) -> Self {
        let rows = MarketRows::begin(Box::new(out), self.head.clock);
        Self { market: Some(Arc::new(Mutex::new(rows))), ..self }
    }

    /// Writes what passes on its sockets while it is done again, as packets of IP in a pcapng file,
    /// each with the UTC of the turn of the gateway's loop in which it passed. Addresses that the
    /// recording has not are made up, as are the packets that open and close streams. Of TLS there
    /// is nothing: the recording has what was said within it. How many packets there are is in what
    /// is [found](Replayed::packets).
    ///
    /// # Errors
    /// What writing says.
    pub fn writing_packets(self, out: impl Write + Send + 'static) -> Result<Self, RunnerError> {
        let packets = RunPackets::begin(Box::new(out), self.name(), self.head.clock, self.began);
        let packets = packets.map_err(|error| RunnerError::run(PACKETS, error))?;
        Ok(Self { packets: Some(Arc::new(Mutex::new(packets))), ..self })
    }

    /// When it began: CLOCK_MONOTONIC, as entries have it, and UTC.
    #[must_use]
    pub fn began(&self) -> (Nanos, Nanos) {
        (self.began, self.utc_at(self.began))
    }

    /// UTC of an entry's time, by what its clock's ticks meant when it began.
    #[must_use]
    pub fn utc_at(&self, time: Nanos) -> Nanos {
        Clock::new(TickMapping::from_words(self.head.clock)).utc_at(time)
    }

    /// What is called so in it: the gateway's name, or the program's run.
    #[must_use]
    pub fn name(&self) -> &str {
        self.gateway.as_ref().map_or("run", RecordedGateway::name)
    }

    /// Where the strategy ran.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.held.mode
    }

    /// The run's settings, without the strategy's parameters; none where a gateway ran by itself.
    #[must_use]
    pub fn settings(&self) -> Option<&Settings> {
        match &self.head.what {
            What::Run(run) => Some(&run.setup.common.settings),
            What::Gateway(_) => None,
        }
    }

    /// The name of the strategy that ran in the thread of a gateway by itself.
    #[must_use]
    pub fn fused(&self) -> Option<&str> {
        self.gateway.as_ref()?.fused.as_deref()
    }

    /// Reads all of it and says what is in it, without doing anything of it.
    ///
    /// # Errors
    /// Damage of the recording.
    pub fn look(self) -> Result<Held, RunnerError> {
        let Self { folder, mut reader, began, mut held, mut progress, .. } = self;
        let named =
            |what: &dyn fmt::Display| RunnerError::Run(format!("{}: {what}", folder.display()));
        while let Some(frame) = reader.next_frame().map_err(|error| named(&error))? {
            held.note(&frame, began);
            held.show(&mut *progress);
        }
        held.unfinished = !reader.is_ended();
        Ok(held)
    }

    /// The build that wrote it: the version, the program's file, the schema of taut's feed.
    #[must_use]
    pub const fn build(&self) -> &Build {
        &self.head.build
    }

    /// What is otherwise in the build that does it again, in words; nothing where it is the one
    /// that wrote it. Another build may decide otherwise.
    #[must_use]
    pub fn other_build(&self) -> Option<String> {
        Build::this().differs_from(&self.head.build)
    }

    /// Runs the gateway again, with the strategy that `make` makes. In split mode the gateway is
    /// given the requests that it took, and each is held against the one that the strategy makes
    /// now of what it is told.
    ///
    /// Nothing is sent and no clock is read: it goes as fast as it goes.
    ///
    /// # Errors
    /// Damage of the recording; parameters that the strategy does not know. A difference is none:
    /// it is in what is returned.
    pub fn verify<P: DeserializeOwned, S: Strategy>(
        self,
        make: impl FnOnce(Start<P>) -> S,
    ) -> Result<Replayed, RunnerError> {
        let Self { folder, mut reader, head, began, held, mut progress, .. } = self;
        let (limits, market, packets) = (self.limits, self.market, self.packets);
        let named =
            |what: &dyn fmt::Display| RunnerError::Run(format!("{}: {what}", folder.display()));
        let What::Run(run) = &head.what else {
            return Err(named(
                &"a gateway that ran by itself: its strategies' parameters are theirs",
            ));
        };
        let instrument = run.setup.common.settings.instruments()?[0];
        let table: Table = toml::from_str(&run.setup.parameters)
            .map_err(|error| RunnerError::run("parameters", error.message()))?;
        let parameters = reading::parsed::<P>(table)?;
        let now = Nanos(run.setup.common.began);
        let make = || Ok(make(Start { now, instrument, parameters }));
        let mut found = Replayed { held, ..Replayed::default() };
        let recovered = reader.orders().cloned();
        loop {
            match reader.next_frame().map_err(|error| named(&error))? {
                Some(frame) if frame.is_about_orders() => found.held.note(&frame, began),
                Some(frame @ Frame { kind: TURN, bytes, .. }) => {
                    found.held.note(&frame, began);
                    tape::begin_reading(bytes);
                    break;
                }
                _ => return Err(named(&"the run ended before its gateway was built")),
            }
        }
        let (progress, rows, passed) = (&mut *progress, market.clone(), packets.clone());
        let (reader, into) = (&mut reader, &mut found);
        let replaying =
            Replaying { reader, recovered, began, found: into, progress, limits, market, packets };
        let replayed = replay((run, head.clock), replaying, make);
        // A gateway that could not be built has left the tape on.
        let _ = tape::end_reading();
        replayed.map_err(|error| named(&error))?;
        found.market_rows = finish(rows)?;
        found.packets = finish_packets(passed)?;
        Ok(found)
    }

    /// Runs a gateway that ran by itself again. Strategies that attached had processes of their
    /// own: their requests are given. The one that ran in the gateway's thread
    /// ([`fused`](Self::fused)) is the one that `make` makes.
    ///
    /// # Errors
    /// As [`verify`](Self::verify); a run is none.
    pub fn verify_gateway<S: Strategy + Send>(
        self,
        make: impl FnOnce(Nanos) -> S,
    ) -> Result<Replayed, RunnerError> {
        let Self { folder, mut reader, head, gateway, began, held, .. } = self;
        let (mut progress, limits) = (self.progress, self.limits);
        let (market, packets) = (self.market, self.packets);
        let named =
            |what: &dyn fmt::Display| RunnerError::Run(format!("{}: {what}", folder.display()));
        let run = gateway.ok_or_else(|| named(&"no gateway that ran by itself, but a run"))?;
        let mut found = Replayed { held, ..Replayed::default() };
        // Where its orders stand in the recording, that begins with what they had come to.
        let mut recovered = reader.orders().cloned();
        loop {
            let frame = reader.next_frame().map_err(|error| named(&error))?;
            let ended = || named(&"the recording ends before its gateway was built");
            let frame = frame.ok_or_else(ended)?;
            found.held.note(&frame, began);
            match frame.kind {
                RECOVERED => recovered = State::from_bytes(frame.bytes),
                TURN => {
                    tape::begin_reading(frame.bytes);
                    break;
                }
                _ if frame.is_about_orders() => {}
                _ => return Err(ended()),
            }
        }
        let (progress, rows, passed) = (&mut *progress, market.clone(), packets.clone());
        let (reader, into) = (&mut reader, &mut found);
        let replaying =
            Replaying { reader, recovered, began, found: into, progress, limits, market, packets };
        let again = GatewayReplay { run, clock: head.clock, replaying };
        let replayed = service::replay(again, make);
        // A gateway that could not be built has left the tape on.
        let _ = tape::end_reading();
        replayed.map_err(|error| named(&error))?;
        found.market_rows = finish(rows)?;
        found.packets = finish_packets(passed)?;
        Ok(found)
    }
}

/// Ends the rows of a market, where there are some.
fn finish(rows: Option<SharedRows>) -> Result<Option<u64>, RunnerError> {
    let Some(rows) = rows else { return Ok(None) };
    let failed = |error: &dyn fmt::Display| RunnerError::run("the market's rows", error);
    let mut rows = rows.lock().map_err(|error| failed(&error))?;
    rows.finish().map(Some).map_err(|error| failed(&error))
}

const PACKETS: &str = "packets";

/// Ends the packets, where there are some.
fn finish_packets(packets: Option<SharedPackets>) -> Result<Option<u64>, RunnerError> {
    let Some(packets) = packets else { return Ok(None) };
    let failed = |error: &dyn fmt::Display| RunnerError::run(PACKETS, error);
    let mut packets = packets.lock().map_err(|error| failed(&error))?;
    packets.finish().map(Some).map_err(|error| failed(&error))
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, held, .. } = self;
        f.debug_struct("Recording")
            .field("folder", folder)
            .field("held", held)
            .finish_non_exhaustive()
    }
}
