//! The children's parts.

mod bare_send;
mod gateway;
mod read_and_forget;
mod standby;
mod strategy;
mod venue;

pub use bare_send::BareSend;
pub use gateway::replay;

use std::os::fd::AsFd;
use std::process::exit;

use serde::de::DeserializeOwned;
use taut_gateway::Strategy;
use taut_sys::catch_stop_signals;
use taut_types::Nanos;
use toml::Table;

use crate::child::Parent;
use crate::control::{Common, Order};
use crate::error::RunnerError;
use crate::reading;
use crate::role::Role;
use crate::start::Start;
use crate::stderr::tell_failure;

/// Plays a part until the parent says that it is over, or is gone; the process ends with it.
pub fn play<P: DeserializeOwned, S: Strategy>(
    run: &str,
    role: Role,
    make: impl FnOnce(Start<P>) -> S,
) -> ! {
    let code = match obey(run, role, make) {
        Ok(()) => 0,
        Err(None) => 1,
        Err(Some(failure)) => {
            tell_failure(&failure);
            failure.code().into()
        }
    };
    exit(code)
}

/// The failure is what the parent did not hear.
fn obey<P: DeserializeOwned, S: Strategy>(
    run: &str,
    role: Role,
    make: impl FnOnce(Start<P>) -> S,
) -> Result<(), Option<RunnerError>> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input = input.map_err(|error| RunnerError::run("control socket", error))?;
    catch_stop_signals().map_err(|error| RunnerError::run("signals", error))?;
    let mut parent = Parent::new(run, role, input);
    let make = |common: &Common, parameters: &str| {
        let now = Nanos(common.began);
        let instrument = common.settings.instruments()?[0];
        let table: Table = toml::from_str(parameters)
            .map_err(|error| RunnerError::run("parameters", error.message()))?;
        Ok(make(Start { now, instrument, parameters: reading::parsed(table)? }))
    };
    let played = match parent.first_order()? {
        (Order::SetUpVenue(setup), _) => {
            let played = parent.settle(&setup.common).and_then(|()| match setup.stands_by {
                None => venue::play(&setup, &mut parent),
                Some(_) => standby::play(&setup, &mut parent),
            });
            if let (Err(_), Some(folder)) = (&played, &setup.journal) {
                // The run is over, and its parent may be gone: it is the parent's folder otherwise.
                let _ = std::fs::remove_dir_all(folder);
            }
            played
        }
        (Order::SetUpGateway(setup), fds) => parent.settle(&setup.common).and_then(|()| {
            let make = || make(&setup.common, &setup.parameters);
            gateway::play(&setup, fds, &mut parent, make)
        }),
        (Order::SetUpStrategy(setup), fds) => parent.settle(&setup.common).and_then(|()| {
            let make = || make(&setup.common, &setup.parameters);
            strategy::play(&setup, fds, &mut parent, make)
        }),
        (order, _) => Err(RunnerError::Run(format!("{order:?} came before the setup"))),
    };
    played.map_err(|failure| parent.tell(failure))
}
