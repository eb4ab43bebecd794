//! `taut install`: what a machine needs to run a process by itself.

mod systemd;

use std::path::{Path, PathBuf};

use clap::Args;
use taut_runner::service::{BinanceVenueFile, DeribitVenueFile, GatewayFile, VenueFile};
use taut_sys::available_cpus;

use crate::config_file::failure;
use crate::exit::Failure;
use crate::generated::Destination;
use crate::terminal;
use crate::venue::Dialect;
use systemd::{Scheduling, Unit};

/// Print the systemd unit of a gateway or a venue, or write it into a folder.
///
/// The unit starts this binary with the file, waits until it says that it is ready, reloads it with
/// SIGHUP, and restarts it when it fails or its thread that trades hangs (WatchdogSec). It keeps
/// the process to the CPUs that its trading thread leaves, lifts its limits, and closes the file
/// system to it but for what the file names. `taut install --systemd gateway.toml --to
/// /etc/systemd/system`, then `systemctl daemon-reload` and `systemctl enable --now
/// taut-gateway-NAME`.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The settings of the gateway, or of the venue with --venue
    #[arg(long, value_name = "FILE", required = true)]
    systemd: PathBuf,
    /// The file is a venue's: one that speaks as this one
    #[arg(long, value_name = "VENUE", value_enum)]
    venue: Option<Dialect>,
    /// The user that it runs as, which must be there (`useradd --system taut`)
    #[arg(long, value_name = "NAME", default_value = "taut", value_parser = user_name)]
    user: String,
    /// Run it with SCHED_FIFO at this priority: for a gateway that sleeps (wait = "block"), or on
    /// an isolated CPU; one that spins at a CPU of others starves them
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    fifo: Option<u8>,
    /// After so many seconds without a sign of life of the trading thread it is restarted; 0: never
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(0..=3600))]
    watchdog: u32,
    /// The binary that the unit starts [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    #[command(flatten)]
    into: Destination,
}

/// Prints or writes the unit.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { systemd: path, venue, user, fifo, watchdog, into, .. } = arguments;
    let config = absolute(path)?;
    let binary = match &arguments.binary {
        Some(binary) => absolute(binary)?,
        None => std::env::current_exe().map_err(|error| Failure::run("this binary", error))?,
    };
    let unit = match venue {
        Some(dialect) => of_venue(*dialect, path)?,
        None => of_gateway(&GatewayFile::read_for_machine(path).map_err(failure)?),
    };
    let scheduling = match fifo {
        Some(priority) => Scheduling::Fifo(*priority),
        None => Scheduling::Nice,
    };
    let unit = Unit { binary, config, user: user.clone(), watchdog: *watchdog, scheduling, ..unit };
    let written = into.put(&[(unit.file_name(), unit.text())])?;
    written.iter().try_for_each(|path| terminal::print(path.display()))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::unreadable(path, error))
}

fn user_name(text: &str) -> Result<String, String> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if text.is_empty() || !text.bytes().all(is_letter) {
        return Err("letters, digits, _ and -".to_owned());
    }
    Ok(text.to_owned())
}

/// What the file of a gateway asks of its unit.
fn of_gateway(file: &GatewayFile) -> Unit {
    let mut writes: Vec<PathBuf> = Vec::new();
    let folder_of = |path: &PathBuf| path.parent().map(Path::to_owned);
    writes.extend(file.journal.iter().map(|journal| journal.folder.clone()));
    writes.extend(file.record.iter().map(|record| record.folder.clone()));
    writes.extend(file.drop_copy.iter().map(|drop_copy| drop_copy.store.clone()));
    writes.extend(file.drop_copy_reader.iter().filter_map(|reader| reader.store.clone()));
    writes.extend(file.risk.snapshot_folder.clone());
    writes.extend(file.session.store.as_ref().and_then(folder_of));
    writes.extend(file.control.as_ref().and_then(folder_of));
    // Where the process may run now, less what its thread that trades has for itself.
    let others = file.cpu.map(|own| {
        let mut cpus = available_cpus().unwrap_or_default();
        cpus.retain(|cpu| *cpu != own);
        cpus
    });
    Unit {
        kind: "gateway",
        name: file.name.clone(),
        verb: vec!["gateway".to_owned()],
        own_cpu: file.cpu,
        other_cpus: others.unwrap_or_default(),
        has_control: file.control.is_some(),
        writes,
        ..Unit::default()
    }
}

fn of_venue(dialect: Dialect, path: &Path) -> Result<Unit, Failure> {
    let (name, writes) = match dialect {
        Dialect::Taut => {
            let file = VenueFile::read(path).map_err(failure)?;
            let writes = file.drop_copy.iter().map(|copies| copies.store.clone()).collect();
            (file.name, writes)
        }
        Dialect::Deribit => (DeribitVenueFile::read(path).map_err(failure)?.name, Vec::new()),
        Dialect::Binance => (BinanceVenueFile::read(path).map_err(failure)?.name, Vec::new()),
    };
    let mut verb = vec!["venue".to_owned()];
    if dialect != Dialect::Taut {
        verb.extend(["--as".to_owned(), dialect.name().to_owned()]);
    }
    let name = name.filter(|name| !name.contains('/')).unwrap_or_else(|| "venue".to_owned());
    Ok(Unit { kind: "venue", name, verb, writes, ..Unit::default() })
}
