//! The strategy's process, in split mode.

use std::os::fd::{AsFd, OwnedFd};

use taut_gateway::{Strategy, StrategyRegions, StrategyRunner};
use taut_sys::{Doorbell, Waiter, wait_readable};
use taut_types::Nanos;

use crate::child::{Parent, SharedClock, attach, regions};
use crate::control::{Order, Reply, StrategySetup};
use crate::error::RunnerError;

/// How often the strategy's timer runs.
const TIMER: Nanos = Nanos::from_millis(1);

/// Runs the strategy until the parent says that it is over.
pub fn play<S: Strategy>(
    setup: &StrategySetup,
    fds: Vec<OwnedFd>,
    parent: &mut Parent,
    make: impl FnOnce() -> Result<S, RunnerError>,
) -> Result<(), RunnerError> {
    let mut fds = fds.into_iter();
    let segment = attach(fds.next())?;
    let regions = regions(&segment)?;
    let own = attach(fds.next())?;
    let own =
        StrategyRegions::of(&own).map_err(|error| RunnerError::run("shared memory", error))?;
    let gateway_bell = fds.next().map(Doorbell::from);
    let own_bell = fds.next().map(Doorbell::from);
    let (mut shared_clock, mut clock) = SharedClock::new(&regions)?;
    let strategy = make()?;
    let wake = gateway_bell.filter(|_| setup.wake_gateway);
    let mut runner = StrategyRunner::new(&regions, &own, wake, strategy)
        .map_err(|error| RunnerError::Run(format!("rings: {error}")))?;
    parent.say(&Reply::Ready)?;

    let mut waiter = Waiter::new(setup.common.place.wait);
    let (mut timer_due, mut draining) = (clock.now(), false);
    loop {
        if runner.poll(&clock) {
            waiter.worked();
        } else {
            waiter.idle(|span| {
                let Some(bell) = &own_bell else { return };
                runner.sleep(&clock, span, |span| {
                    let _ = wait_readable(&[bell.as_fd(), parent.fd()], Some(span));
                    bell.silence();
                });
            });
        }
        let now = clock.now();
        if now < timer_due {
            continue;
        }
        timer_due = now + TIMER;
        shared_clock.refresh(&mut clock);
        runner.timer(&clock);
        match parent.order()? {
            // The gateway tells the strategy to come to rest, at its place among all else.
            Some(Order::Drain) => draining = true,
            Some(Order::Exit) => return Ok(()),
            _ => {}
        }
        if draining && runner.is_at_rest() {
            draining = false;
            parent.say(&Reply::Drained)?;
        }
    }
}
