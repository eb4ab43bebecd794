//! The one call.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::process::ExitCode;

use serde::de::DeserializeOwned;
use taut_gateway::Strategy;

use crate::error::RunnerError;
use crate::observer::Observer;
use crate::outcome::Outcome;
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
    /// keys and ends the program. What is wrong in them, [`Runner::run`] says.
    #[must_use]
    pub fn from_args() -> Self {
        Self::unless_child(|| {
            let text = std::env::args_os().skip(1);
            let text = text.map(|argument| argument.to_string_lossy().into_owned());
            arguments::from_arguments(text)?.map_or_else(
                || {
                    println!("{}", arguments::help());
                    std::process::exit(0);
                },
                Ok,
            )
        })
    }

    /// A child is told its settings; the file may have changed meanwhile.
    fn unless_child(read: impl FnOnce() -> Result<Settings, RunnerError>) -> Self {
        Self::with(Role::of_this_process().map_or_else(read, |_| Ok(Settings::default())))
    }

    fn with(settings: Result<Settings, RunnerError>) -> Self {
        Self { settings, name: program_name(), observer: None, parameters: PhantomData }
    }
}

impl<'o, P: DeserializeOwned> Runner<'o, P> {
    /// The strategy takes its `[parameters]` as a `Q`, which is checked before anything starts.
    #[must_use]
    pub fn parameters<Q: DeserializeOwned>(self) -> Runner<'o, Q> {
        let Self { settings, name, observer, .. } = self;
        Runner { settings, name, observer, parameters: PhantomData }
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
        let Self { settings, name, parameters, .. } = self;
        Runner { settings, name, observer: Some(observer), parameters }
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
    /// outcome, or what went wrong, and returns the exit code.
    pub fn main<S: Strategy>(self, make: impl FnOnce(Start<P>) -> S) -> ExitCode {
        match self.run(make) {
            Ok(outcome) => {
                println!("{outcome}");
                ExitCode::SUCCESS
            }
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
