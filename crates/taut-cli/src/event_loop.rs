//! The loop under a tool: it ends when the tool says so, and a signal reaches it.

use taut_io::{AdmissionCounters, EpollKernel, EventLoop, Handler, LoopConfig, WaitStrategy};
use taut_types::Nanos;

use crate::exit::{Failure, catch_stop_signals};

/// How often a tool looks whether it should stop.
const LOOK: Nanos = Nanos::from_millis(50);

fn failed(cause: impl std::fmt::Display) -> Failure {
    Failure::run("the loop", cause)
}

/// A loop with room for so many sources, which looks for signals: ask `taut_sys::stop_requests`
/// after each completion. A timer that is nobody's completes again and again, as a signal alone
/// wakes no loop.
pub fn open(sources_max: usize) -> Result<EventLoop<EpollKernel>, Failure> {
    let timers_max = sources_max * 4;
    let sizes = LoopConfig { sources_max, timers_max, ..LoopConfig::default() };
    let kernel = EpollKernel::new(sources_max);
    let mut events = kernel.and_then(|kernel| EventLoop::new(kernel, sizes)).map_err(failed)?;
    catch_stop_signals()?;
    let io = events.io();
    io.timer_every(io.now() + LOOK, LOOK, 0).map_err(failed)?;
    Ok(events)
}

/// What a listener made of those who came and did not stay, if there were any.
pub fn not_served(counters: AdmissionCounters) -> Option<String> {
    (counters.turned_away() > 0).then(|| format!("not served: {counters}"))
}

/// Runs it until its handler stops it.
pub fn run(
    events: &mut EventLoop<EpollKernel>,
    handler: &mut impl Handler<EpollKernel>,
    wait: WaitStrategy,
) -> Result<(), Failure> {
    events.run(handler, wait).map_err(failed)
}
