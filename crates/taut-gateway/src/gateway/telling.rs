//! When a gateway's log says something: of every counter that tells of trouble whenever it grew,
//! and of the order session and the books whenever they are not as they were. All of it is looked
//! at in housekeeping: nothing of it is on the way of a tick or of an order.

use taut_io::Kernel;
use taut_market_data::FeedHandler;
use taut_oms::Latched;
use taut_types::Nanos;

use super::told::Told;
use super::{Core, Gateway};
use crate::client::Client;
use crate::counters::GatewayCounters;
use crate::observer::Observer;
use crate::order_entry::handler::OrderHandler;

impl<'m, C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler>
    Gateway<'m, C, F, K, O, H>
{
    /// Says what is not as it was in the round before.
    pub(super) fn tell_log(&mut self, now: Nanos, counters: &GatewayCounters) {
        let Some(mut told) = self.core.told.take() else { return };
        if counters != told.before() {
            self.tell_changes(&mut told, now, counters);
        }
        told.end_round(now, counters);
        self.core.told = Some(told);
    }

    fn tell_changes(&self, told: &mut Told<'m>, now: Nanos, counters: &GatewayCounters) {
        let GatewayCounters { live, logged_on, .. } = *told.before();
        let [refusal, stream_refusal] = self.refusals();
        told.counted(now, counters, stream_refusal);
        told.refused(now, refusal);
        match (live, counters.live) {
            (0, 1) => told.sound(now, counters),
            (1, 0) => {
                let mut books = self.stale_books();
                if let Some(first) = books.next() {
                    told.stale(now, 1 + books.count() as u64, first);
                }
            }
            _ => {}
        }
        match (logged_on, counters.logged_on) {
            (0, 1) => told.up(now, self.order_address().1),
            (1, 0) => {
                let mut open_orders = 0;
                self.visit_orders(|_| open_orders += 1);
                told.down(now, open_orders);
            }
            _ => {}
        }
    }
}

impl<C, F, O, H> Core<'_, C, F, O, H> {
    /// Says what is killed.
    pub(super) fn tell_killed(&mut self, now: Nanos, latched: Latched) {
        if let Some(told) = &mut self.told {
            told.killed(now, latched, &self.instruments);
        }
    }
}
