//! The one call.

use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::de::DeserializeOwned;
use taut_gateway::Strategy;

use crate::arguments::Asked;
use crate::error::RunnerError;
use crate::observer::Observer;
use crate::outcome::Outcome;
use crate::replay::Recording;
use crate::role::{Role, program_name};
use crate::settings::{Mode, Settings};
use crate::start::{NoParameters, Start};
use crate::{arguments, reading, roles, simulated, stderr, supervisor};

/// Runs a strategy as its settings say, in this program's own processes.
///
/// In split mode the runner starts this program again, with the same arguments, once for each
/// other role. Such a process comes back through `main`, and plays its role within [`Runner::run`],
/// which does not return in it: what `main` does before the call, each process does.
pub struct Runner<'o, P = NoParameters> {
    settings: Result<Settings, RunnerError>,
    /// The recording that is to be done again, in the place of a run.
    replay: Option<PathBuf>,
    name: String,
    observer: Option<&'o mut dyn Observer>,
    parameters: PhantomData<P>,
}

impl Runner<'_> {
    /// A runner with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self::with(Ok(settings))
    }

    /// A runner with the settings of a file. What is wrong in it, [`Runner::run`] says.
    #[must_use]
    pub fn from_toml(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        Self::unless_child(|| {
            let named = |error: &dyn fmt::Display| {
                RunnerError::Settings(format!("{}: {error}", path.display()))
            };
            let text = std::fs::read_to_string(path)
                .map_err(|error| named(&format_args!("{error}; check the path")))?;
            let folder = path.parent().unwrap_or(Path::new(""));
            Settings::parse(&text, folder).map_err(|error| named(&error))
        })
    }

    /// A runner with the settings of this program's arguments: `--settings FILE`, and `--KEY VALUE`
    /// for every key of such a file, as in `--mode fused --simulator.seed 7`. `--help` prints the
    /// keys and ends the program; with `--replay DIR`, [`Runner::main`] does the run once more that
    /// was recorded there. What is wrong in them, [`Runner::run`] says.
    #[must_use]
    pub fn from_args() -> Self {
        let mut replay = None;
        let runner = Self::unless_child(|| {
            let text = std::env::args_os().skip(1);
            let text = text.map(|argument| argument.to_string_lossy().into_owned());
            match arguments::from_arguments(text)? {
                Asked::Help => {
                    println!("{}", arguments::help());
                    std::process::exit(0);
                }
                Asked::Run(settings) => Ok(*settings),
                Asked::Replay(folder) => {
                    replay = Some(folder);
                    Ok(Settings::default())
                }
            }
        });
        Self { replay, ..runner }
    }

    /// A child is told its settings; the file may have changed meanwhile.
    fn unless_child(read: impl FnOnce() -> Result<Settings, RunnerError>) -> Self {
        Self::with(Role::of_this_process().map_or_else(read, |_| Ok(Settings::default())))
    }

    fn with(settings: Result<Settings, RunnerError>) -> Self {
        let name = program_name();
        Self { settings, replay: None, name, observer: None, parameters: PhantomData }
    }
}

impl<'o, P: DeserializeOwned> Runner<'o, P> {
    /// The strategy takes its `[parameters]` as a `Q`, which is checked before anything starts.
    #[must_use]
    pub fn parameters<Q: DeserializeOwned>(self) -> Runner<'o, Q> {
        let Self { settings, replay, name, observer, .. } = self;
        Runner { settings, replay, name, observer, parameters: PhantomData }
    }

    /// What the run is called in messages; without it as the program.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Shows the run to an observer while it goes on.
    #[must_use]
    pub fn observer<'n>(self, observer: &'n mut dyn Observer) -> Runner<'n, P> {
        let Self { settings, replay, name, parameters, .. } = self;
        Runner { settings, replay, name, observer: Some(observer), parameters }
    }

    /// Runs the strategy that `make` makes, in the process where it runs, until the time is over,
    /// the recording ends or a stop signal comes (Ctrl-C, SIGTERM, SIGHUP). Then open orders are
    /// cancelled and answered, the order session is logged out and every process ends.
    ///
    /// # Errors
    /// [`RunnerError::Settings`] before anything has started; [`RunnerError::Run`] when a process
    /// fails or is killed. No process is left in either case.
    pub fn run<S: Strategy>(
        self,
        make: impl FnOnce(Start<P>) -> S,
    ) -> Result<Outcome, RunnerError> {
        if let Some(role) = Role::of_this_process() {
            roles::play(&self.name, role, make);
        }
        if let Some(folder) = self.replay {
            let what = "is for programs that call Runner::main; others open a Recording";
            return Err(RunnerError::Settings(format!("--replay {}: {what}", folder.display())));
        }
        let settings = self.settings?;
        settings.check()?;
        let parameters = reading::parsed::<P>(settings.parameters.clone())
            .map_err(|error| RunnerError::Settings(format!("[parameters]: {error}")))?;
        let mut nobody = ();
        let observer = self.observer.unwrap_or(&mut nobody);
        if settings.mode == Mode::Simulated {
            let instrument = settings.instruments()?[0];
            let make = |now| make(Start { now, instrument, parameters });
            return simulated::run(&settings, make, observer);
        }
        supervisor::run(&settings, observer)
    }

    /// As [`Runner::run`], for a `main` that has nothing else to do: prints the summary of the
    /// outcome, or what went wrong, and returns the exit code. Or does a recorded run once more,
    /// where the arguments say so, and prints what came of it: exit code 1 if anything differs.
    pub fn main<S: Strategy>(mut self, make: impl FnOnce(Start<P>) -> S) -> ExitCode {
        let done = match self.replay.take() {
            Some(folder) => Recording::open(&folder)
                .and_then(|recording| recording.verify(make))
                .and_then(|found| {
                    println!("{found}");
                    found.divergence.map_or(Ok(()), |divergence| {
                        Err(RunnerError::Run(format!("the replay differs: {divergence}")))
                    })
                }),
            None => self.run(make).map(|outcome| println!("{outcome}")),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                stderr::tell_failure(&error);
                error.exit_code()
            }
        }
    }
}

impl<P> fmt::Debug for Runner<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner")
            .field("settings", &self.settings)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
