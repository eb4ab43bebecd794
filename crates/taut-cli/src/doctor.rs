//! `taut doctor`: whether this machine is fit to trade on, and what mends it.

mod gateways;
mod target;

use std::path::{Path, PathBuf};

use clap::Args;
use taut_doctor::{Answers, CpuList, Diagnosis, Machine, Sample, Severity};
use taut_sys::sleep;
use taut_types::Nanos;

use crate::exit::Failure;
use crate::terminal;
use gateways::{Gateways, Told};
pub use target::cpu_list;

/// Check what of this machine disturbs a thread that trades, and say what mends it.
///
/// Looks at isolation and interrupts, the kernel and its clock, clock rates and idle states,
/// memory, sockets and interfaces, limits, containers and virtual machines, and at what ran within
/// a second. Each check is ok, not as it should be (critical, important or minor, with the reason,
/// the command that mends it, and what that costs), or cannot be seen from here, with why. Of the
/// gateways of this user that run it says what is wrong with them now. Nothing is changed.
///
/// Exit code 1 when an important or critical check is not as it should be, or something is wrong
/// with a gateway, 0 otherwise: for CI.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Judge for this gateway's file: its CPU, how it waits, its network
    #[arg(long = "for", value_name = "GATEWAY.TOML")]
    gateway: Option<PathBuf>,
    /// CPUs of other threads that trade, such as 2,4-5 [default: the isolated ones, or the last]
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    cpus: Option<CpuList>,
    /// Exit code 1 for a minor check, too
    #[arg(long)]
    strict: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
    /// Print a shell script that mends what commands can mend, to be read and then run as root;
    /// exit code 0
    #[arg(long, conflicts_with_all = ["json", "strict"])]
    fix: bool,
}

/// How long is looked at what runs.
const INTERVAL: Nanos = Nanos::from_secs(1);

/// Looks, and says what is.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = target::of(arguments.gateway.as_deref(), arguments.cpus.as_ref())?;
    let root = Path::new("/");
    let mut gateways = Gateways::look(arguments.gateway.as_deref())?;
    let before = Sample::take(root);
    // PACE: what others have of the CPUs is counted over this time.
    sleep(INTERVAL);
    let machine = Machine::new(root, target, [before, Sample::take(root)], INTERVAL);
    let answers = Answers::ask(machine.interfaces());
    let diagnosis = Diagnosis::of(&machine.with_answers(answers));
    if arguments.fix {
        return terminal::print(diagnosis.script().trim_end());
    }
    let told = Told { diagnosis, gateways: gateways.look_again() };
    terminal::print_report(&told, arguments.json)?;
    let bar = if arguments.strict { Severity::Minor } else { Severity::Important };
    // The report has said it.
    if told.is_wrong_from(bar) { Err(Failure::Told) } else { Ok(()) }
}
