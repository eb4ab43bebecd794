//! The strategy's process, in split mode.

use std::os::fd::{AsFd, OwnedFd};

use taut_gateway::{Strategy, StrategyRunner, TouchConfig, TouchStrategy};
use taut_sys::{Doorbell, wait_readable};
use taut_types::Nanos;

use crate::demo::child::{Parent, SharedClock, attach, regions, waiter};
use crate::demo::control::{Order, Reply, StrategySetup};
use crate::exit::Failure;

/// How often the strategy's timer runs.
const TIMER: Nanos = Nanos::from_millis(1);

/// Runs the strategy until the parent says that it is over.
pub fn play(setup: &StrategySetup, fds: Vec<OwnedFd>, parent: &mut Parent) -> Result<(), Failure> {
    let mut fds = fds.into_iter();
    let segment = attach(fds.next())?;
    let regions = regions(&segment)?;
    let gateway_bell = fds.next().map(Doorbell::from);
    let own_bell = fds.next().map(Doorbell::from);
    let (mut shared_clock, mut clock) = SharedClock::new(&regions)?;
    let config = TouchConfig { orders_per_second: setup.rate_hz, ..TouchConfig::default() };
    let strategy = TouchStrategy::new(config, clock.now());
    let wake = gateway_bell.filter(|_| setup.wake_gateway);
    let mut runner = StrategyRunner::new(&regions, wake, strategy)
        .map_err(|error| Failure::Run(format!("rings: {error}")))?;
    parent.say(&Reply::Ready)?;

    let mut waiter = waiter(setup.common.place.wait);
    let (mut timer_due, mut draining) = (clock.now(), false);
    loop {
        if runner.poll(&clock) {
            waiter.worked();
        } else {
            waiter.idle(|span| {
                if let Some(bell) = &own_bell {
                    let _ = wait_readable(&[bell.as_fd(), parent.fd()], Some(span));
                    bell.silence();
                }
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
            Some(Order::Drain) => {
                runner.stop();
                draining = true;
            }
            Some(Order::Exit) => return Ok(()),
            _ => {}
        }
        if draining && runner.strategy().is_idle() {
            draining = false;
            parent.say(&Reply::Drained)?;
        }
    }
}
