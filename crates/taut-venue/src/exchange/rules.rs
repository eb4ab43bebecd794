//! What an exchange demands of its members' orders, and its kill switch.

use taut_engine::{Command, NewOrder};
use taut_fix::{CompId, Now};
use taut_io::Kernel;
use taut_types::{HalfTicks, OrderType, Price};

use super::Exchange;
use crate::clients::ClientIo;
use crate::entry::Refusal;
use crate::error::VenueError;
use crate::identity::ClientId;
use crate::journal::Input;
use crate::members::Asked;

/// Text (58) of the reports of orders that market-maker protection cancels.
const PROTECTED: &str = "cancelled by the venue: market maker protection";
/// Those of orders that a kill switch cancels.
const KILLED: &str = "cancelled by the venue: kill switch";

impl Exchange {
    /// Whether a client may send an order or a replacement now.
    #[inline]
    pub(crate) fn admit(&mut self, now: Now, client: ClientId) -> Result<(), Refusal> {
        let utc = self.sequenced.unwrap_or(now).utc;
        self.members.admit(client, utc)
    }

    /// Holds an order against its client's limits.
    #[inline]
    pub(crate) fn check_limits(
        &self,
        client: ClientId,
        place: usize,
        order: &NewOrder,
        is_replacement: bool,
    ) -> Result<(), Refusal> {
        match self.members.has_limits(client) {
            true => self.check_limits_of(client, place, order, is_replacement),
            false => Ok(()),
        }
    }

    fn check_limits_of(
        &self,
        client: ClientId,
        place: usize,
        order: &NewOrder,
        is_replacement: bool,
    ) -> Result<(), Refusal> {
        let open_beside = (!is_replacement).then(|| self.orders.open_count_of(client));
        let instrument = &self.listings.all()[place].instrument;
        let price = self.price_of(place, order);
        let lots = order.lots;
        self.members.check(client, &Asked { place, instrument, lots, price, open_beside })
    }

    /// What an order may come to trade at: its limit, its trigger, or where the market is.
    fn price_of(&self, place: usize, order: &NewOrder) -> Option<Price> {
        let trigger = Some(order.terms.trigger().1).filter(|price| *price > HalfTicks(0));
        let half_ticks = match order.order_type {
            OrderType::Limit => Some(order.price),
            OrderType::Market => trigger.or_else(|| {
                let best = self.book(place).and_then(|it| it.best_price(order.side.opposite()));
                best.or_else(|| self.last_price(place))
            }),
        };
        self.listings.all()[place].instrument.price(half_ticks?).ok()
    }

    /// Cancels the orders of members that too much of them has traded, behind the command that did
    /// it.
    #[inline]
    pub(super) fn protect(&mut self, now: Now, out: &mut ClientIo<'_, impl Kernel>) {
        if !self.overrun.is_empty() {
            self.protect_each(now, out);
        }
    }

    #[cold]
    fn protect_each(&mut self, now: Now, out: &mut ClientIo<'_, impl Kernel>) {
        while let Some((client, place)) = self.overrun.pop() {
            self.reporter.reason = PROTECTED;
            let orders = self.orders.open_orders(client);
            for (order_id, _) in orders.into_iter().filter(|(_, of)| *of == place) {
                self.counters.cancels_by_protection += 1;
                self.execute(now, place, &Command::Cancel { order_id }, out);
            }
            self.reporter.reason = "";
        }
    }

    /// Stops a member, whose orders are cancelled and who enters none, or has it trade again;
    /// whether that is new.
    pub(crate) fn set_killed(
        &mut self,
        now: Now,
        member: CompId,
        is_killed: bool,
        out: &mut ClientIo<'_, impl Kernel>,
    ) -> Result<bool, VenueError> {
        let client = out.clients.known_as(member);
        if !self.members.set_killed(member, client, is_killed) {
            return Ok(false);
        }
        if let Some(client) = client.filter(|_| is_killed) {
            self.reporter.reason = KILLED;
            for (order_id, place) in self.orders.open_orders(client) {
                self.counters.cancels_by_operator += 1;
                self.execute(now, place, &Command::Cancel { order_id }, out);
            }
            self.reporter.reason = "";
        }
        self.finish(now, || Input::Kill { member, is_killed }, out)?;
        self.settle(now, out)?;
        Ok(true)
    }
}
