//! `taut fix echo`: an acceptor that sends back what it gets.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use taut_fix::{Now, Role};
use taut_fix_driver::{Acceptor, SessionSettings, Settings};
use taut_types::Nanos;

use crate::exit::Failure;
use crate::fix::acceptance;
use crate::fix::echo::{Echo, Scope};
use crate::terminal::print;

/// How long the peers may take to answer our Logouts.
const PATIENCE: Nanos = Nanos::from_secs(2);

#[derive(Args, Debug)]
pub struct EchoArguments {
    /// Where to listen, as ADDRESS:PORT; port 0 lets the kernel choose.
    #[arg(long, value_name = "HOST:PORT")]
    listen: SocketAddr,
    /// The sessions, in TOML. `taut fix import` makes it from a QuickFIX settings file.
    #[arg(long, value_name = "FILE", required_unless_present = "acceptance")]
    config: Option<PathBuf>,
    /// Behave as the QuickFIX acceptance suite expects.
    #[arg(long, requires = "dictionaries", conflicts_with = "config")]
    acceptance: bool,
    /// The folder with the dictionaries (FIX44.xml and so on).
    #[arg(long, value_name = "DIR", requires = "acceptance")]
    dictionaries: Option<PathBuf>,
}

/// Accepts until it is told to stop, then logs out of every session.
pub fn echo(arguments: &EchoArguments) -> Result<(), Failure> {
    let (settings, scope) = match (&arguments.config, &arguments.dictionaries) {
        (Some(path), _) => (load(path, Role::Acceptor)?, Scope::All),
        (None, Some(folder)) => (acceptance::settings(folder)?, Scope::Acceptance),
        (None, None) => {
            let text = "give --config FILE, or --acceptance --dictionaries DIR";
            return Err(Failure::Usage(String::from(text)));
        }
    };
    let make = |settings: &SessionSettings| Echo::new(scope, settings.file_name());
    let listen = arguments.listen;
    let mut acceptor = Acceptor::open(listen, settings, make)
        .map_err(|error| Failure::run(&format!("cannot listen on {listen}"), error))?;
    let address = acceptor.local_address().map_err(|error| Failure::run("the socket", error))?;
    print(format_args!("listening on {address}"))
        .map_err(|error| Failure::run("cannot print", error))?;
    taut_sys::catch_stop_signals().map_err(|error| Failure::run("signals", error))?;
    let mut until = None;
    loop {
        let now = clock();
        acceptor.turn(now).map_err(|error| Failure::run("cannot accept", error))?;
        if taut_sys::stop_requests() > 0 && until.is_none() {
            acceptor.log_out_all(now);
            until = Some(now.mono + PATIENCE);
        }
        if until.is_some_and(|until| acceptor.is_idle() || now.mono >= until) {
            return Ok(());
        }
        acceptor.wait(now, until).map_err(|error| Failure::run("cannot wait", error))?;
    }
}

/// Settings from a file; what is wrong with them is wrong use.
pub fn load(path: &Path, role: Role) -> Result<Settings, Failure> {
    Settings::load(path, role)
        .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

/// Both clocks.
pub fn clock() -> Now {
    Now { mono: taut_sys::monotonic(), utc: taut_sys::utc() }
}
