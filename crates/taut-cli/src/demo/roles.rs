//! The children's parts.

mod gateway;
mod read_and_forget;
mod strategy;
mod venue;

use std::os::fd::AsFd;

use taut_sys::catch_stop_signals;

use crate::demo::child::Parent;
use crate::demo::control::Order;
use crate::demo::role::Role;
use crate::exit::Failure;

/// Plays a part until the parent says that it is over, or is gone.
pub fn play(role: Role) -> Result<(), Failure> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input = input.map_err(|error| Failure::run("control socket", error))?;
    catch_stop_signals().map_err(|error| Failure::run("signals", error))?;
    let mut parent = Parent::new(role, input);
    let played = match parent.first_order()? {
        (Order::SetUpVenue(setup), _) => {
            parent.settle(&setup.common).and_then(|()| venue::play(&setup, &mut parent))
        }
        (Order::SetUpGateway(setup), fds) => {
            parent.settle(&setup.common).and_then(|()| gateway::play(&setup, fds, &mut parent))
        }
        (Order::SetUpStrategy(setup), fds) => {
            parent.settle(&setup.common).and_then(|()| strategy::play(&setup, fds, &mut parent))
        }
        (order, _) => Err(Failure::Run(format!("{order:?} came before the setup"))),
    };
    played.or_else(|failure| parent.tell(failure))
}
