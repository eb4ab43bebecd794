//! A recorded run once more: the same gateway and the same strategy, given what they heard, and
//! everything that they send held against what they sent.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use taut_gateway::Strategy;
use taut_journal::{Frame, InputReader, JournalError, RUN, TURN};
use taut_sys::tape;
use taut_types::Nanos;
use toml::Table;

use crate::error::RunnerError;
use crate::reading;
use crate::recording::{BUILD, Recorded};
use crate::replayed::{Held, Replayed};
use crate::roles::{Replaying, replay};
use crate::settings::{Mode, Settings};
use crate::start::Start;

/// A run that was written down: [`Settings::record`].
pub struct Recording {
    folder: PathBuf,
    reader: InputReader,
    run: Recorded,
    began: Nanos,
    /// What was read so far.
    held: Held,
    progress: Box<dyn FnMut(&Held)>,
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
        let mut reader = InputReader::open(folder).map_err(|error| match error {
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
        let run: Recorded = serde_json::from_slice(bytes).map_err(|error| {
            named(&format_args!("what the run was, this build does not read: {error}"))
        })?;
        if run.build != BUILD {
            let build = &run.build;
            return Err(named(&format_args!("written by {build}; this is {BUILD}: use that one")));
        }
        held.mode = run.setup.common.settings.mode;
        Ok(Self { folder: folder.to_owned(), reader, run, began, held, progress: Box::new(|_| ()) })
    }

    /// Shows what was read, some thousand entries at a time, while it is looked at or done again.
    #[must_use]
    pub fn progress(self, progress: impl FnMut(&Held) + 'static) -> Self {
        Self { progress: Box::new(progress), ..self }
    }

    /// Where the strategy ran.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.held.mode
    }

    /// The run's settings, without the strategy's parameters.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.run.setup.common.settings
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
        held.unfinished = reader.tail().is_some();
        Ok(held)
    }

    /// The build that wrote it.
    #[must_use]
    pub fn build(&self) -> &str {
        &self.run.build
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
        let Self { folder, mut reader, run, began, held, mut progress } = self;
        let named =
            |what: &dyn fmt::Display| RunnerError::Run(format!("{}: {what}", folder.display()));
        let instrument = run.setup.common.settings.instruments()?[0];
        let table: Table = toml::from_str(&run.setup.parameters)
            .map_err(|error| RunnerError::run("parameters", error.message()))?;
        let parameters = reading::parsed::<P>(table)?;
        let now = Nanos(run.setup.common.began);
        let make = || Ok(make(Start { now, instrument, parameters }));
        let mut found = Replayed { held, ..Replayed::default() };
        let built = reader.next_frame().map_err(|error| named(&error))?;
        let Some(frame @ Frame { kind: TURN, bytes, .. }) = built else {
            return Err(named(&"the run ended before its gateway was built"));
        };
        found.held.note(&frame, began);
        tape::begin_reading(bytes);
        let progress = &mut *progress;
        let replaying = Replaying { reader: &mut reader, began, found: &mut found, progress };
        let replayed = replay(&run, replaying, make);
        // A gateway that could not be built has left the tape on.
        let _ = tape::end_reading();
        replayed.map_err(|error| named(&error))?;
        Ok(found)
    }
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
