//! `taut demo`: a tick becomes a trade.
//!
//! The parent checks the arguments, prepares what the processes share and starts them ([`parent`]):
//! the venue, the gateway and, in split mode, the strategy are this same binary in another role
//! ([`roles`]). Parent and child speak over a control socket ([`control`]), whose end also tells
//! each side that the other is gone. The histograms lie in shared memory, where the parent reads
//! them while the run goes on.

mod arguments;
mod child;
mod children;
mod control;
mod directory;
mod feed;
mod live;
mod outcome;
mod parent;
mod placement;
mod plan;
mod role;
mod roles;

use crate::exit::Failure;

pub use arguments::Arguments;
pub use role::Role;

/// Runs the demo.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let plan = plan::Plan::new(arguments)?;
    parent::run(&plan)
}

/// Plays one part of a demo, told by the parent over standard input.
pub fn play(role: Role) -> Result<(), Failure> {
    roles::play(role)
}
