//! The venue's drop copies: what the order session did not say is taken from them.

use taut_sys::Clock;
use taut_types::RequestId;

use super::copies::Copies;
use super::handler::{OrderHandler, VenueEvent};
use super::{OrderSession, at};
use crate::drop_copy::VenueCopies;
use crate::message::OrderUpdate;

/// Copies that are taken at one time.
const AT_ONCE: usize = 64;

impl<H: OrderHandler> OrderSession<H> {
    /// The venue's copies come from there.
    pub(crate) fn read_copies(&mut self, from: VenueCopies) {
        self.copies.read_from(from);
    }

    pub(crate) const fn copies(&self) -> &Copies {
        &self.copies
    }

    /// Hears what the venue's copies say and the order session has not said in time.
    pub(crate) fn hear_copies(&mut self, clock: &Clock, updates: &mut Vec<OrderUpdate>) {
        let now = clock.now();
        for _ in 0..AT_ONCE {
            let Some(event) = self.copies.next(now) else { break };
            let before = self.stands(&event);
            self.hear_copy(clock, &event, updates);
            self.copies.corrections += u64::from(self.stands(&event) != before);
        }
    }

    /// A report as if it had come by the order session. What that said before counts once: trades
    /// by their name, or by the order's total.
    fn hear_copy(&mut self, clock: &Clock, event: &VenueEvent, updates: &mut Vec<OrderUpdate>) {
        let repeated = self.reports.repeated();
        self.handle_event(at(clock, clock.now()), event, None, updates);
        // That a copy repeats is what it is for.
        self.reports.set_repeated(repeated);
    }

    /// How the order of a report stands: state, what has traded, the newest request that was
    /// granted.
    fn stands(&self, event: &VenueEvent) -> Option<impl PartialEq + use<H>> {
        let VenueEvent::Report(report) = event else { return None };
        let RequestId { order, .. } = report.request?;
        let order = self.table.get(order)?;
        Some((order.state, order.traded, order.version_accepted))
    }
}
