//! A strategy that attaches to gateways by name.

use std::os::fd::{AsFd, BorrowedFd};

use taut_gateway::{DetachedStrategy, Strategy, StrategyCounters, StrategyRegions, StrategyRunner};
use taut_ipc::Segment;
use taut_sys::{
    Doorbell, Wait, Waiter, catch_stop_signals, monotonic, pin_to_cpu, set_idle_scheduling,
    set_timer_slack, stop_requests, wait_readable,
};
use taut_types::Nanos;

use crate::child::{SharedClock, attach, regions};
use crate::error::RunnerError;
use crate::service::client::ControlClient;
use crate::service::ended::ended;
use crate::service::protocol::{ControlReply, ControlRequest};

/// How often the strategy's timer runs.
const TIMER: Nanos = Nanos::from_millis(1);
/// How long open orders may take to be answered at the end.
const DRAIN: Nanos = Nanos::from_secs(10);
/// From one attempt to attach to the next.
const AGAIN: Nanos = Nanos::from_millis(250);

/// Which gateways, as whom, and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attach {
    /// The gateways, each in its place: by name, or by the path of its control socket.
    pub gateways: Vec<String>,
    /// The strategy's name in the gateways' settings.
    pub strategy: String,
    /// How it waits when there is nothing to do.
    pub wait: Wait,
    /// The CPU that it runs on.
    pub cpu: Option<usize>,
    /// Whether it runs only while nobody else wants its CPU (`SCHED_IDLE`).
    pub idle: bool,
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
        let (gateways, strategy) = (vec![gateway.to_owned()], strategy.to_owned());
        Self { gateways, strategy, wait: Wait::Block, cpu: None, idle: false, waits: true }
    }

    /// To one gateway more. What all of them tell comes in the order in which they received it; its
    /// instruments have numbers of their own, and their orders go to it.
    #[must_use]
    pub fn and(mut self, gateway: &str) -> Self {
        self.gateways.push(gateway.to_owned());
        self
    }

    /// Runs the strategy until a stop signal comes: then it has its orders cancelled and answered.
    /// `heard` is told what happens, for people.
    ///
    /// # Errors
    /// When a gateway refuses it; where it does not wait, when one is not there or ends.
    pub fn run<S: Strategy>(
        &self,
        make: impl FnOnce(Nanos) -> S,
        mut heard: impl FnMut(&str),
    ) -> Result<Attached, RunnerError> {
        catch_stop_signals().map_err(|error| RunnerError::run("signals", error))?;
        if let Some(cpu) = self.cpu {
            pin_to_cpu(cpu).map_err(|error| RunnerError::run("pinning", error))?;
        }
        if self.idle {
            set_idle_scheduling().map_err(|error| RunnerError::run("idle scheduling", error))?;
        }
        set_timer_slack(Nanos(1)).map_err(|error| RunnerError::run("timer slack", error))?;
        let count = self.gateways.len();
        let mut strategy = DetachedStrategy::new(count, make(monotonic()));
        let mut gateways: Vec<_> = self.gateways.iter().map(|name| Place::new(name)).collect();
        let mut attached = Attached::default();
        while stop_requests() == 0 {
            for (place, gateway) in gateways.iter_mut().enumerate() {
                let bell = self.meet(gateway, &mut heard)?;
                if let Some(bell) = bell {
                    strategy.begin(place, bell.0);
                    attached.attachments += 1;
                }
            }
            if gateways.iter().all(|gateway| gateway.there.is_none()) {
                taut_sys::sleep(AGAIN);
                continue;
            }
            let end;
            (strategy, end) = self.trade(&mut gateways, strategy, &mut attached)?;
            match end {
                End::Stopped(how) => {
                    heard(&how);
                    return Ok(attached);
                }
                End::Changed => {}
                End::Gone(place) => {
                    let Some(gateway) = gateways.get_mut(place) else { continue };
                    gateway.there = None;
                    if !self.waits {
                        let text = format!("gateway '{}' is gone", gateway.name);
                        return Err(RunnerError::Run(text));
                    }
                    heard(&format!("gateway '{}' is gone", gateway.name));
                    gateway.next_attempt = monotonic() + AGAIN;
                }
            }
        }
        attached.drained = true;
        heard("ended: at no gateway");
        Ok(attached)
    }

    /// Attaches to a gateway that was not there, if it is now: then its doorbell is returned.
    fn meet(
        &self,
        gateway: &mut Place<'_>,
        heard: &mut impl FnMut(&str),
    ) -> Result<Option<GatewayBell>, RunnerError> {
        if gateway.there.is_some() || monotonic() < gateway.next_attempt {
            return Ok(None);
        }
        let name = gateway.name;
        gateway.next_attempt = monotonic() + AGAIN;
        let mut client =
            match gateway.connected.take().map_or_else(|| ControlClient::connect(name), Ok) {
                Ok(client) => client,
                Err(error) if !self.waits => return Err(error),
                Err(error) => {
                    if !std::mem::replace(&mut gateway.was_missed, true) {
                        heard(&format!("{error}; waiting for it"));
                    }
                    return Ok(None);
                }
            };
        gateway.was_missed = false;
        let request = ControlRequest::Attach { strategy: self.strategy.clone() };
        let (reply, fds) = match client.ask_for(&request) {
            // It may be about to end, or its predecessor's orders are being cancelled.
            Err(_) if self.waits && client.is_gone() => return Ok(None),
            other => other?,
        };
        let ControlReply::Attached { wake_gateway } = reply else {
            return Err(RunnerError::Run(format!("{reply:?} is no answer to an attachment")));
        };
        let mut fds = fds.into_iter();
        let (segment, own) = (attach(fds.next())?, attach(fds.next())?);
        let bell = fds.next().map(Doorbell::from).filter(|_| wake_gateway);
        let own_bell = fds.next().map(Doorbell::from);
        gateway.there = Some(There { client, segment, own, own_bell });
        heard(&format!("attached to gateway '{name}' as '{}'", self.strategy));
        Ok(Some(GatewayBell(bell)))
    }

    /// Runs it over the gateways that are there, until one goes or one more may be there.
    fn trade<S: Strategy>(
        &self,
        gateways: &mut [Place<'_>],
        strategy: DetachedStrategy<S>,
        attached: &mut Attached,
    ) -> Result<(DetachedStrategy<S>, End), RunnerError> {
        let mut memory = Vec::with_capacity(gateways.len());
        let mut doors = Vec::with_capacity(gateways.len());
        for Place { name, there, next_attempt, connected, .. } in gateways {
            let (mut client, mut bell) = (None, None);
            memory.push(match there {
                Some(there) => {
                    (client, bell) = (Some(&mut there.client), there.own_bell.as_ref());
                    Some((regions(&there.segment)?, own_regions(&there.own)?))
                }
                None => None,
            });
            doors.push(Door { name, client, bell, next_attempt, connected });
        }
        let nowhere = || RunnerError::Run("there is no gateway".to_owned());
        let (first, _) = memory.iter().flatten().next().ok_or_else(nowhere)?;
        // All gateways of a host have the same clock.
        let (mut shared_clock, mut clock) = SharedClock::new(first)?;
        let mut runner =
            strategy.attach(&memory).map_err(|error| RunnerError::run("rings", error))?;
        let mut waiter = Waiter::new(self.wait);
        let (mut timer_due, mut drained_by) = (clock.now(), None);
        let mut open_before = 0;
        let end = loop {
            if runner.poll(&clock) {
                waiter.worked();
            } else {
                waiter.idle(|span| runner.sleep(&clock, span, |span| sleep(&doors, span)));
            }
            let now = clock.now();
            if now < timer_due {
                continue;
            }
            timer_due = now + TIMER;
            shared_clock.refresh(&mut clock);
            runner.timer(&clock);
            if let Some(place) = doors.iter_mut().position(Door::is_gone) {
                while runner.poll(&clock) {}
                runner.disconnected(&clock, place);
                break End::Gone(place);
            }
            if stop_requests() > 0 && drained_by.is_none() {
                open_before = runner.open_orders();
                runner.stop();
                drained_by = Some(now + DRAIN);
            }
            if let Some(deadline) = drained_by {
                if runner.is_at_rest() || now >= deadline {
                    attached.drained = runner.is_at_rest();
                    break End::Stopped(ended(open_before, runner.open_orders()));
                }
            } else if doors.iter_mut().any(Door::has_come) {
                break End::Changed;
            }
        };
        Self::leave(&mut runner, &clock, attached);
        Ok((runner.detach(), end))
    }

    fn leave<S: Strategy>(
        runner: &mut StrategyRunner<'_, S>,
        clock: &taut_sys::Clock,
        attached: &mut Attached,
    ) {
        while runner.poll(clock) {}
        runner.timer(clock);
        attached.counters = runner.counters();
    }
}

/// A gateway's doorbell, if it must be woken.
struct GatewayBell(Option<Doorbell>);

/// Why it trades no longer.
enum End {
    /// A signal asked for it; what became of its orders, in words.
    Stopped(String),
    /// One more gateway may be there.
    Changed,
    Gone(usize),
}

/// A gateway, there or not.
struct Place<'a> {
    name: &'a str,
    there: Option<There>,
    next_attempt: Nanos,
    /// A connection of which nothing has been asked yet.
    connected: Option<ControlClient>,
    /// Somebody has been told that it is not there.
    was_missed: bool,
}

/// A gateway that is there.
struct There {
    client: ControlClient,
    segment: Segment,
    own: Segment,
    own_bell: Option<Doorbell>,
}

impl<'a> Place<'a> {
    const fn new(name: &'a str) -> Self {
        let (there, connected) = (None, None);
        Self { name, there, next_attempt: Nanos::ZERO, connected, was_missed: false }
    }
}

/// What of a gateway is looked at while the strategy runs.
struct Door<'a> {
    name: &'a str,
    client: Option<&'a mut ControlClient>,
    bell: Option<&'a Doorbell>,
    next_attempt: &'a mut Nanos,
    connected: &'a mut Option<ControlClient>,
}

impl Door<'_> {
    /// Whether the gateway was there and has ended.
    fn is_gone(&mut self) -> bool {
        self.client.as_mut().is_some_and(|client| client.is_gone())
    }

    /// Whether the gateway was not there and can be reached now.
    fn has_come(&mut self) -> bool {
        let now = monotonic();
        if self.client.is_some() || now < *self.next_attempt {
            return false;
        }
        *self.next_attempt = now + AGAIN;
        *self.connected = ControlClient::connect(self.name).ok();
        if self.connected.is_some() {
            *self.next_attempt = now;
        }
        self.connected.is_some()
    }
}

/// Sleeps until a gateway wakes the strategy or ends.
fn sleep(doors: &[Door<'_>], span: Nanos) {
    let bells = || doors.iter().filter_map(|door| door.bell);
    let sockets = doors.iter().filter_map(|door| door.client.as_ref());
    let sockets = sockets.map(|client| client.channel().socket().as_fd());
    let fds: Vec<BorrowedFd<'_>> = bells().map(AsFd::as_fd).chain(sockets).collect();
    let _ = wait_readable(&fds, Some(span));
    bells().for_each(Doorbell::silence);
}

fn own_regions(segment: &Segment) -> Result<StrategyRegions<'_>, RunnerError> {
    StrategyRegions::of(segment).map_err(|error| RunnerError::run("shared memory", error))
}
