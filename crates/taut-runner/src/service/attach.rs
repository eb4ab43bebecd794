//! A strategy that attaches to a gateway by name.

use std::os::fd::AsFd;

use taut_gateway::{Strategy, StrategyCounters, StrategyRegions, StrategyRunner};
use taut_ipc::Segment;
use taut_sys::{
    Doorbell, Wait, Waiter, catch_stop_signals, monotonic, pin_to_cpu, set_timer_slack,
    stop_requests, wait_readable,
};
use taut_types::Nanos;

use crate::child::{SharedClock, attach, regions};
use crate::error::RunnerError;
use crate::service::client::ControlClient;
use crate::service::protocol::{ControlReply, ControlRequest};

/// How often the strategy's timer runs.
const TIMER: Nanos = Nanos::from_millis(1);
/// How long open orders may take to be answered at the end.
const DRAIN: Nanos = Nanos::from_secs(10);
/// From one attempt to attach to the next.
const AGAIN: Nanos = Nanos::from_millis(250);

/// Which gateway, as whom, and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attach {
    /// The gateway's name, or the path of its control socket.
    pub gateway: String,
    /// The strategy's name in the gateway's settings.
    pub strategy: String,
    /// How it waits when there is nothing to do.
    pub wait: Wait,
    /// The CPU that it runs on.
    pub cpu: Option<usize>,
    /// Whether it waits for a gateway that is not there, and for one that goes.
    pub waits: bool,
}

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attached {
    /// How often it attached.
    pub attachments: u64,
    /// What it counted while it was attached the last time.
    pub counters: StrategyCounters,
    /// Whether all of its orders were answered at the end.
    pub drained: bool,
}

impl Attach {
    /// As this strategy of this gateway; it sleeps when there is nothing to do, and waits for a
    /// gateway that is not there.
    #[must_use]
    pub fn new(gateway: &str, strategy: &str) -> Self {
        let (gateway, strategy) = (gateway.to_owned(), strategy.to_owned());
        Self { gateway, strategy, wait: Wait::Block, cpu: None, waits: true }
    }

    /// Runs the strategy until a stop signal comes: then it has its orders cancelled and answered.
    /// `heard` is told what happens, for people.
    ///
    /// # Errors
    /// When the gateway refuses it; where it does not wait, when there is none or it ends.
    pub fn run<S: Strategy>(
        &self,
        make: impl FnOnce(Nanos) -> S,
        mut heard: impl FnMut(&str),
    ) -> Result<Attached, RunnerError> {
        catch_stop_signals().map_err(|error| RunnerError::run("signals", error))?;
        if let Some(cpu) = self.cpu {
            pin_to_cpu(cpu).map_err(|error| RunnerError::run("pinning", error))?;
        }
        set_timer_slack(Nanos(1)).map_err(|error| RunnerError::run("timer slack", error))?;
        let mut strategy = make(monotonic());
        let mut attached = Attached::default();
        let mut was_told = false;
        while stop_requests() == 0 {
            let mut client = match ControlClient::connect(&self.gateway) {
                Ok(client) => client,
                Err(error) if !self.waits => return Err(error),
                Err(error) => {
                    if !was_told {
                        heard(&format!("{error}; waiting for it"));
                    }
                    was_told = true;
                    taut_sys::sleep(AGAIN);
                    continue;
                }
            };
            was_told = false;
            let end;
            (strategy, end) = self.trade(&mut client, strategy, &mut attached, &mut heard)?;
            match end {
                End::Stopped => return Ok(attached),
                End::GatewayGone if !self.waits => {
                    return Err(RunnerError::Run(format!("gateway '{}' is gone", self.gateway)));
                }
                End::GatewayGone => heard(&format!("gateway '{}' is gone", self.gateway)),
            }
            taut_sys::sleep(AGAIN);
        }
        attached.drained = true;
        Ok(attached)
    }

    /// Runs it over one attachment.
    fn trade<S: Strategy>(
        &self,
        client: &mut ControlClient,
        strategy: S,
        attached: &mut Attached,
        heard: &mut impl FnMut(&str),
    ) -> Result<(S, End), RunnerError> {
        let request = ControlRequest::Attach { strategy: self.strategy.clone() };
        let (reply, fds) = match client.ask_for(&request) {
            // It may be about to end, or its predecessor's orders are being cancelled.
            Err(_) if self.waits && client.is_gone() => return Ok((strategy, End::GatewayGone)),
            other => other?,
        };
        let ControlReply::Attached { wake_gateway } = reply else {
            return Err(RunnerError::Run(format!("{reply:?} is no answer to an attachment")));
        };
        let mut fds = fds.into_iter();
        let (segment, own) = (attach(fds.next())?, attach(fds.next())?);
        let (regions, own) = (regions(&segment)?, own_regions(&own)?);
        let gateway_bell = fds.next().map(Doorbell::from).filter(|_| wake_gateway);
        let own_bell = fds.next().map(Doorbell::from);
        let (mut shared_clock, mut clock) = SharedClock::new(&regions)?;
        let mut runner = StrategyRunner::new(&regions, &own, gateway_bell, strategy)
            .map_err(|error| RunnerError::run("rings", error))?;
        attached.attachments += 1;
        heard(&format!("attached to gateway '{}' as '{}'", self.gateway, self.strategy));
        let mut waiter = Waiter::new(self.wait);
        let (mut timer_due, mut drained_by) = (clock.now(), None);
        let end = loop {
            if runner.poll(&clock) {
                waiter.worked();
            } else {
                waiter.idle(|span| {
                    let Some(bell) = &own_bell else { return };
                    runner.sleep(&clock, span, |span| {
                        let fds = [bell.as_fd(), client.channel().socket().as_fd()];
                        let _ = wait_readable(&fds, Some(span));
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
            if client.is_gone() {
                break End::GatewayGone;
            }
            if stop_requests() > 0 && drained_by.is_none() {
                runner.stop();
                drained_by = Some(now + DRAIN);
            }
            if let Some(deadline) = drained_by
                && (runner.strategy().is_idle() || now >= deadline)
            {
                attached.drained = runner.strategy().is_idle();
                break End::Stopped;
            }
        };
        while runner.poll(&clock) {}
        runner.timer(&clock);
        attached.counters = StrategyCounters::load(own.counters);
        Ok((runner.into_strategy(), end))
    }
}

/// Why an attachment ended.
enum End {
    Stopped,
    GatewayGone,
}

fn own_regions(segment: &Segment) -> Result<StrategyRegions<'_>, RunnerError> {
    StrategyRegions::of(segment).map_err(|error| RunnerError::run("shared memory", error))
}
