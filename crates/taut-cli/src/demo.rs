//! `taut demo`: a tick becomes a trade.
//!
//! The runner (`taut-runner`) starts the venue, the gateway and, in split mode, the strategy as
//! processes of this same binary. Here are the flags ([`arguments`], [`plan`]), what is told while
//! it runs ([`live`]) and the report ([`outcome`]).

mod arguments;
mod live;
mod outcome;
mod plan;
mod strategy;

use taut_runner::{Role, Runner, RunnerError, Settings};

use crate::exit::Failure;
use crate::report::Watch;

pub use arguments::{Arguments, Choices, WAITS, one_of};
pub use strategy::{Parameters, strategy};

/// Runs the demo, or what a demo's parent has started this process for.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if Role::of_this_process().is_some() {
        // It is told everything; the recording is not read again.
        let played = runner(Settings::default()).run(strategy);
        return played.map(drop).map_err(failure);
    }
    let plan = plan::Plan::new(arguments)?;
    let mut live = live::Live::new(&plan);
    let watch = Watch::start();
    let ended = runner(plan.settings.clone()).observer(&mut live).run(strategy).map_err(failure)?;
    outcome::publish(&plan, ended, watch.finish(), live.into_intervals())
}

fn runner(settings: Settings) -> Runner<'static, Parameters> {
    Runner::new(settings).parameters::<Parameters>().name("demo")
}

/// What a runner says, as this program says it.
pub fn failure(error: RunnerError) -> Failure {
    match error {
        RunnerError::Settings(text) => Failure::Usage(text),
        other => Failure::Run(other.to_string()),
    }
}
