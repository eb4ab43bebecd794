//! The order entry of any venue, as one type: whatever is generic over an order handler is compiled
//! once for all of them.

use taut_fix::{Now, ShortText};
use taut_oms::Order;
use taut_types::{ClientOrderId, Instrument, InstrumentId, Nanos, RequestId};

use super::handler::{Capabilities, NotSent, OrderHandler, OrderMessage, VenueEvent};
use crate::stream::VenueTerms;
use crate::venue_clock::ClockReading;

/// The order entry of any venue behind a table of functions.
///
/// Cost: a call through the table for each step of an order, some nanoseconds in all; taut's own
/// order entry ([`Fix44`](crate::Fix44)) is compiled into its gateway instead.
pub type AnyOrders = Box<dyn OrderHandler + Send>;

/// Hands on every method: one that is left out would do what the trait does by default.
impl OrderHandler for AnyOrders {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn asks_beside(&self) -> bool {
        (**self).asks_beside()
    }

    fn compares_instruments(&self) -> bool {
        (**self).compares_instruments()
    }

    fn connected(&mut self, now: Now, random: [u8; 32], failed_logons: u32) {
        (**self).connected(now, random, failed_logons);
    }

    fn disconnected(&mut self, now: Now) {
        (**self).disconnected(now);
    }

    fn last_refusal(&self) -> &str {
        (**self).last_refusal()
    }

    fn venue_clock(&self) -> Option<ClockReading> {
        (**self).venue_clock()
    }

    fn log_out(&mut self, now: Now) {
        (**self).log_out(now);
    }

    fn is_up(&self) -> bool {
        (**self).is_up()
    }

    fn adopt(&mut self, order: &Order, venue_id: &[u8]) {
        (**self).adopt(order, venue_id);
    }

    fn over(&mut self, order: ClientOrderId) {
        (**self).over(order);
    }

    fn add_instrument(&mut self, instrument: &Instrument, name: &str) -> bool {
        (**self).add_instrument(instrument, name)
    }

    fn poll_compared(&mut self) -> Option<(InstrumentId, bool)> {
        (**self).poll_compared()
    }

    fn set_terms(&mut self, instrument: InstrumentId, terms: &VenueTerms) {
        (**self).set_terms(instrument, terms);
    }

    fn create(
        &mut self,
        now: Now,
        order: &OrderMessage<'_>,
        is_rehearsal: bool,
    ) -> Result<(), NotSent> {
        (**self).create(now, order, is_rehearsal)
    }

    fn modify(
        &mut self,
        now: Now,
        base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        (**self).modify(now, base, order)
    }

    fn cancel(
        &mut self,
        now: Now,
        base: RequestId,
        order: &OrderMessage<'_>,
    ) -> Result<(), NotSent> {
        (**self).cancel(now, base, order)
    }

    fn owns_account(&self) -> bool {
        (**self).owns_account()
    }

    fn cancel_all_like(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        (**self).cancel_all_like(now, order)
    }

    fn ask(&mut self, now: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        (**self).ask(now, order)
    }

    fn ask_all(&mut self, now: Now) -> Result<(), NotSent> {
        (**self).ask_all(now)
    }

    fn ask_positions(&mut self, now: Now, account: Option<ShortText>) -> Result<(), NotSent> {
        (**self).ask_positions(now, account)
    }

    fn last_message(&self) -> u64 {
        (**self).last_message()
    }

    fn handle_bytes(&mut self, now: Now, bytes: &mut &[u8]) -> Option<VenueEvent> {
        (**self).handle_bytes(now, bytes)
    }

    fn handle_timeout(&mut self, now: Now) -> Option<VenueEvent> {
        (**self).handle_timeout(now)
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        (**self).poll_timeout()
    }

    fn poll_passed_over(&mut self) -> bool {
        (**self).poll_passed_over()
    }

    fn poll_missed(&mut self) -> bool {
        (**self).poll_missed()
    }

    fn poll_transmit(&mut self, now: Now) -> &[u8] {
        (**self).poll_transmit(now)
    }

    fn unsent(&self) -> &[u8] {
        (**self).unsent()
    }

    fn clear_unsent(&mut self) {
        (**self).clear_unsent();
    }

    fn handle_beside(&mut self, now: Now, message: &[u8]) {
        (**self).handle_beside(now, message);
    }

    fn poll_transmit_beside(&mut self, now: Now) -> &[u8] {
        (**self).poll_transmit_beside(now)
    }

    fn clear_unsent_beside(&mut self) {
        (**self).clear_unsent_beside();
    }
}

#[cfg(test)]
mod tests {
    /// The methods of the first block of a source that begins with `head`.
    fn methods<'a>(source: &'a str, head: &str) -> Vec<&'a str> {
        let (_, block) = source.split_once(head).expect("the block is there");
        let (block, _) = block.split_once("\n}\n").expect("it ends");
        let names = block.lines().filter_map(|line| line.strip_prefix("    fn "));
        names.filter_map(|line| line.split_once('(')).map(|(name, _)| name).collect()
    }

    #[test]
    fn every_method_is_handed_on() {
        let all = methods(include_str!("handler.rs"), "pub trait OrderHandler {");
        assert!(all.len() > 30, "{all:?}");
        assert_eq!(methods(include_str!("any.rs"), "impl OrderHandler for AnyOrders {"), all);
    }
}
