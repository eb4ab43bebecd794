//! `taut fix echo`: an acceptor that sends back what it gets.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use taut_fix::Role;
use taut_fix_engine::{Acceptor, SAMPLE, SessionSettings, Settings};
use taut_io::{Completion, EpollKernel, Io};
use taut_types::Nanos;

use crate::channel::arguments::Wait;
use crate::event_loop::{self, not_served};
use crate::exit::Failure;
use crate::fix::acceptance;
use crate::fix::echo::{Echo, Scope};
use crate::listen::listen_address;
use crate::tell_few::TellFew;
use crate::terminal::{print, tell};

/// How long the peers may take to answer our Logouts.
const LOGOUT_TIMEOUT: Nanos = Nanos::from_secs(2);
/// Connections at the most, and the listener.
const SOURCES: usize = 4096;

#[derive(Args, Debug)]
#[command(after_long_help = settings_help())]
pub struct EchoArguments {
    /// Where to listen; port 0 lets the kernel choose.
    #[arg(long, value_name = "HOST:PORT", value_parser = listen_address)]
    listen: SocketAddr,
    /// The sessions, in TOML: `taut fix echo --help` shows every key. `taut fix import` makes it
    /// from a QuickFIX settings file.
    #[arg(long, value_name = "FILE", required_unless_present = "acceptance")]
    config: Option<PathBuf>,
    /// Behave as the QuickFIX acceptance suite expects: with the sessions of --config, or with
    /// those of the suite, one for each of --dictionaries.
    #[arg(long)]
    acceptance: bool,
    /// The folder with the dictionaries (FIX44.xml and so on).
    #[arg(long, value_name = "DIR", requires = "acceptance", conflicts_with = "config")]
    dictionaries: Option<PathBuf>,
    /// How it waits for messages.
    #[arg(long, value_enum, default_value_t = Wait::Block)]
    wait: Wait,
}

/// What a file of settings can say.
pub fn settings_help() -> String {
    format!("The file of --config:\n\n{SAMPLE}")
}

/// Accepts until it is told to stop, then logs out of every session.
pub fn echo(arguments: &EchoArguments) -> Result<(), Failure> {
    let (settings, scope) = match (&arguments.config, &arguments.dictionaries) {
        (Some(path), _) if arguments.acceptance => (load(path, Role::Acceptor)?, Scope::Acceptance),
        (Some(path), _) => (load(path, Role::Acceptor)?, Scope::All),
        (None, Some(folder)) => (acceptance::settings(folder)?, Scope::Acceptance),
        (None, None) => {
            let text = "give --config FILE, or --acceptance --dictionaries DIR";
            return Err(Failure::Usage(String::from(text)));
        }
    };
    let make = |settings: &SessionSettings| Echo::new(scope, settings.file_name());
    let mut events = event_loop::open(SOURCES)?;
    let listen = arguments.listen;
    let mut acceptor = Acceptor::open(events.io(), listen, settings, make)
        .map_err(|error| Failure::Run(error.to_string()))?;
    let address = acceptor.local_address(events.io());
    let address = address.map_err(|error| Failure::run("the socket", error))?;
    print(format_args!("listening on {address}"))?;
    let mut until = None;
    let mut lines = TellFew::default();
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        lines.look(io.now());
        if acceptor.handle(io, &completion) {
            // The acceptance suite logs on wrongly on purpose, and often.
            if let Some(refusal) = acceptor.take_refusal().filter(|_| scope == Scope::All) {
                lines.tell(io.now(), format_args!("refused: {refusal}"));
            }
            if let Some(fault) = acceptor.take_fault() {
                lines.tell(io.now(), format_args!("cannot accept: {fault}"));
            }
            return;
        }
        if taut_sys::stop_requests() > 0 && until.is_none() {
            if let Some(words) = acceptor.admission_counters(io).ok().and_then(not_served) {
                tell(words);
            }
            acceptor.log_out_all(io);
            until = Some(io.now() + LOGOUT_TIMEOUT);
        }
        if until.is_some_and(|until| acceptor.is_idle() || io.now() >= until) {
            io.stop();
        }
    };
    event_loop::run(&mut events, &mut handler, arguments.wait.strategy())
}

/// Settings from a file; what is wrong with them is wrong use.
pub fn load(path: &Path, role: Role) -> Result<Settings, Failure> {
    Settings::load(path, role).map_err(|error| Failure::in_file(path, error))
}
