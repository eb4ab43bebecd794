//! The venue is killed in the middle of a run, and its standby takes its place.

use taut_gateway::GatewayCounters;
use taut_sys::monotonic;
use taut_types::Nanos;

use super::{READY, Run};
use crate::control::Reply;
use crate::error::RunnerError;
use crate::outcome::FailOver;
use crate::role::Role;

/// How long an order may take to be acknowledged by the venue's successor.
const ORDERS: Nanos = Nanos::from_secs(2);
/// How often it is looked whether one was.
const LOOK: Nanos = Nanos::from_millis(1);

impl Run<'_, '_> {
    /// Kills the venue with SIGKILL, and waits until its standby listens and an order is
    /// acknowledged.
    pub(super) fn fail_over(&mut self) -> Result<(), RunnerError> {
        self.has_standby = false;
        let disconnects = self.counted().disconnects;
        let killed_at = monotonic();
        self.children.kill(Role::Venue);
        self.children.rename(Role::Standby, Role::Venue);
        self.processes.retain(|process| process.role != Role::Venue);
        for process in self.processes.iter_mut().filter(|it| it.role == Role::Standby) {
            process.role = Role::Venue;
        }
        let took_over = |_: Role, reply: &Reply| match reply {
            Reply::TookOver { at } => Some(Nanos(*at)),
            _ => None,
        };
        let at = self.expect("the standby to take the venue's place", READY, took_over)?;
        // Answers of the venue that was killed may be on their way until the gateway hears its end.
        let mut acks = None;
        let mut orders = None;
        while orders.is_none() && monotonic() - killed_at < ORDERS {
            let now = self.counted();
            match acks {
                None if now.disconnects > disconnects => acks = Some(now.acks),
                Some(before) if now.acks > before => orders = Some(monotonic() - killed_at),
                _ => self.listen(LOOK)?,
            }
        }
        self.fail_over = Some(FailOver { venue: at - killed_at, orders });
        Ok(())
    }

    fn counted(&self) -> GatewayCounters {
        GatewayCounters::load(self.regions.gateway)
    }
}
