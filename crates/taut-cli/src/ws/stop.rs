//! Ctrl-C on a loop.

use taut_io::{EpollKernel, EventLoop};
use taut_types::Nanos;

use crate::exit::{Failure, catch_stop_signals};

/// How often a tool looks whether it should stop.
const LOOK: Nanos = Nanos::from_millis(50);

/// Catches the signals, and lets a timer complete that is nobody's, again and again: a signal alone
/// wakes no loop. Ask `taut_sys::stop_requests` then.
pub fn listen(events: &mut EventLoop<EpollKernel>) -> Result<(), Failure> {
    catch_stop_signals()?;
    let io = events.io();
    let timer = io.timer_every(io.now() + LOOK, LOOK, 0);
    timer.map(drop).map_err(|error| Failure::run("the loop", error))
}
