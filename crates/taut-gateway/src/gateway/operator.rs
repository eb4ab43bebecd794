//! What an operator has a gateway do: resume, kill, revive, cancel, log out, show what is held.

use std::net::{SocketAddr, SocketAddrV4};

use taut_io::Kernel;
use taut_journal::{State as RecoveredState, Writer};
use taut_market_data::{FeedHandler, Soundness, Source, Staleness};
use taut_oms::{KillCause, KillScope, KillSwitch, Latched, OrderTable, PositionReport};
use taut_sys::Address;
use taut_types::{AccountId, ClientOrderId, InstrumentId, Lots, Nanos};

use super::{Core, Gateway};
use crate::client::Client;
use crate::error::GatewayError;
use crate::journal::OrderWriter;
#[cfg(doc)]
use crate::message::SessionPhase;
use crate::message::{OpenOrder, OrderFilter};
use crate::observer::Observer;
use crate::order_entry::comparison::PositionComparisons;
use crate::order_entry::handler::{Capabilities, OrderHandler};
use crate::owner::Owner;
use crate::stream::VenueTerms;
use crate::venue_clock::ClockReading;

impl<C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler>
    Gateway<'_, C, F, K, O, H>
{
    /// Lets no new order of this scope pass until [`Gateway::revive`], and cancels those that are
    /// open. Whether that is new.
    ///
    /// # Errors
    /// When they cannot be cancelled.
    pub fn kill(&mut self, scope: KillScope, cause: KillCause) -> Result<bool, GatewayError> {
        let is_new = self.kill_untold(scope, cause)?;
        if is_new {
            self.core.tell_killed(self.core.clock.now(), Latched { scope, cause });
        }
        Ok(is_new)
    }

    fn kill_untold(&mut self, scope: KillScope, cause: KillCause) -> Result<bool, GatewayError> {
        // Written down with the cancels: nothing is served between the two.
        let is_new = self.core.orders.kill_switch_mut().kill(scope, cause);
        if scope == KillScope::All {
            // Meant for the next gateway too, where this one is ending.
            self.core.orders.set_ending(false);
        }
        self.cancel_killed(Some(scope))?;
        Ok(is_new)
    }

    /// Lets no new order pass and cancels those that are open, because the gateway is about to end:
    /// strategies are told so ([`SessionPhase::Ending`]), and not that anything is killed. Where
    /// everything is killed already it stays killed.
    ///
    /// # Errors
    /// When they cannot be cancelled.
    pub fn begin_end(&mut self) -> Result<(), GatewayError> {
        if !self.core.orders.is_ending() && self.kill_untold(KillScope::All, KillCause::Command)? {
            self.core.orders.set_ending(true);
        }
        Ok(())
    }

    /// Lets the next gateway trade that takes up this one's journal, unless everything was killed.
    pub fn complete_end(&mut self) {
        if self.core.orders.is_ending() {
            self.revive_untold(KillScope::All);
        }
    }

    /// Lets new orders of this scope pass again; whether they did not.
    pub fn revive(&mut self, scope: KillScope) -> bool {
        let was_killed = self.revive_untold(scope);
        if was_killed {
            let Core { told, clock, instruments, .. } = &mut self.core;
            if let Some(told) = told {
                told.revived(clock.now(), scope, instruments);
            }
        }
        was_killed
    }

    fn revive_untold(&mut self, scope: KillScope) -> bool {
        let utc = self.core.clock.utc_at(self.core.clock.now());
        self.core.orders.revive(utc, scope)
    }

    /// What is killed, and by what.
    #[must_use]
    pub fn kill_switch(&self) -> &KillSwitch {
        self.core.orders.kill_switch()
    }

    /// The same with the UTC of when it was killed; nothing when that was before this gateway was
    /// started.
    pub fn killed(&self) -> impl Iterator<Item = (Latched, Option<Nanos>)> {
        let orders = &self.core.orders;
        self.kill_switch().latched().map(|it| (it, orders.killed_at(it.scope)))
    }

    /// Kills a scope when it is not [kept alive](Self::keep_alive) for so long. False when there
    /// is no room for one more timer.
    pub fn arm(&mut self, scope: KillScope, interval: Nanos) -> bool {
        let now = self.core.clock.now();
        self.core.orders.kill_switch_mut().arm(scope, interval, now)
    }

    /// Who keeps this scope alive is alive. What is killed stays killed.
    pub fn keep_alive(&mut self, scope: KillScope) {
        let now = self.core.clock.now();
        self.core.orders.kill_switch_mut().refresh(scope, now);
    }

    /// Nobody need keep this scope alive any more.
    pub fn disarm(&mut self, scope: KillScope) {
        self.core.orders.kill_switch_mut().disarm(scope);
    }

    pub(super) fn cancel_what_was_killed(&mut self) -> Result<(), GatewayError> {
        self.cancel_killed(None)
    }

    /// The same, with a scope of which is said elsewhere that it is killed.
    fn cancel_killed(&mut self, told: Option<KillScope>) -> Result<(), GatewayError> {
        let now = self.core.clock.now();
        let utc = self.core.clock.utc_at(now);
        while let Some(scope) = self.core.orders.poll_killed(utc) {
            let latched = self.kill_switch().latched().find(|it| it.scope == scope);
            if let Some(latched) = latched.filter(|_| told != Some(scope)) {
                self.core.tell_killed(now, latched);
            }
            self.cancel_all(&scope.into())?;
        }
        Ok(())
    }

    /// What was killed and is open yet is cancelled: there was no session, or the venue refused.
    #[cold]
    pub(super) fn cancel_what_stayed_killed(&mut self) -> Result<(), GatewayError> {
        let scopes: Vec<KillScope> = self.kill_switch().latched().map(|it| it.scope).collect();
        scopes.into_iter().try_for_each(|scope| self.cancel_all(&scope.into()))
    }

    /// Cancels the open orders that the filter means.
    ///
    /// # Errors
    /// When they cannot be cancelled.
    pub fn cancel_all(&mut self, filter: &OrderFilter) -> Result<(), GatewayError> {
        let Core { orders, clock, updates, .. } = &mut self.core;
        orders.cancel_all(self.events.io(), clock, filter, updates);
        let now = self.core.clock.now();
        self.core.tell_updates(now);
        Ok(())
    }

    /// The open orders of one owner become another one's, with the requests about them that are
    /// under way: how many. Its strategy is told of each as of an order of its own, now or when it
    /// attaches. Positions stay whose they are. Only where the first one's strategy is not there:
    /// it would not be told. Nothing where it is [killed](Self::is_killed).
    pub fn hand_over(&mut self, from: Owner, to: Owner) -> usize {
        let Core { orders, client, clock, .. } = &mut self.core;
        let handed_over = orders.hand_over(clock.utc_at(clock.now()), from, to);
        client.inherited(to, &handed_over);
        handed_over.len()
    }

    /// Hands over what strategies have left that are gone: housekeeping does it, too, but who is
    /// back at once attaches behind it.
    pub fn hand_over_of_the_gone(&mut self) {
        while let Some((from, to)) = self.core.client.poll_hand_over() {
            let count = self.hand_over(from, to);
            let Core { told, clock, .. } = &mut self.core;
            if let Some(told) = told.as_mut().filter(|_| count > 0) {
                told.handed_over(clock.now(), count, from, to);
            }
        }
    }

    /// Whether a kill stops all that an owner does: everything, its user, or its strategy. Its open
    /// orders are being cancelled.
    #[must_use]
    pub fn is_killed(&self, owner: Owner) -> bool {
        self.core.orders.is_killed(owner)
    }

    /// Whose an order is: who sent it, unless it was handed over.
    #[must_use]
    pub fn owner_of(&self, order: ClientOrderId) -> Owner {
        self.core.orders.owner_of(order)
    }

    /// Shows every order that is not over.
    pub fn visit_orders(&self, visit: impl FnMut(&OpenOrder)) {
        let mut visit = visit;
        self.core.orders.open_orders().for_each(|order| visit(&order));
    }

    /// Goes on with what a journal recovered; from here on nothing leaves that is not written down
    /// there. Before the first poll, unless the journal is new.
    ///
    /// # Errors
    /// When the gateway lacks an instrument or the room for what was recovered.
    pub fn resume(
        &mut self,
        writer: impl Into<OrderWriter>,
        recovered: &RecoveredState,
    ) -> Result<(), GatewayError> {
        let Core { orders, client, clock, .. } = &mut self.core;
        orders.resume(writer, recovered, clock.utc_at(clock.now()))?;
        recovered.highest.values().for_each(|highest| client.number_after(*highest));
        Ok(())
    }

    /// What writes its order journal, for who records in that journal what the gateway hears.
    pub fn journal(&mut self) -> Option<&mut Writer> {
        self.core.orders.journal_writer()
    }

    /// Gives it back: nothing is written down from here on, and everything may leave.
    pub fn close_journal(&mut self) -> Option<Writer> {
        self.core.orders.close_journal()
    }

    /// What the venue said, in its own words, when it last refused a session or ended one, for
    /// orders and for market data; empty when it said nothing.
    #[must_use]
    pub fn refusals(&self) -> [&str; 2] {
        let Core { orders, streams, .. } = &self.core;
        let of_stream = streams.as_ref().map_or("", |streams| streams.last_refusal());
        [orders.last_refusal(), of_stream]
    }

    /// What is known of the venue's clock, where it is asked.
    #[must_use]
    pub fn venue_clock(&self) -> Option<ClockReading> {
        self.core.orders.venue_clock()
    }

    /// The instruments whose books cannot be trusted, and why.
    pub fn stale_books(&self) -> impl Iterator<Item = (InstrumentId, Staleness)> {
        let Core { instruments, market, .. } = &self.core;
        instruments.iter().filter_map(|it| match market.feed().soundness(it.id()) {
            Soundness::Stale(why) => Some((it.id(), why)),
            Soundness::Sound => None,
        })
    }

    /// The venue takes orders at these addresses from now on, by priority: the next attempt to
    /// connect goes there, and a connection that stands stays. None of them is as if nothing was
    /// said.
    pub fn set_order_addresses(&mut self, addresses: impl IntoIterator<Item = SocketAddrV4>) {
        let inet = |address| Address::Inet(SocketAddr::V4(address));
        self.core.orders.set_addresses(addresses.into_iter().map(inet));
    }

    /// The same for the [second connection](crate::SessionSettings::beside) of the order session.
    pub fn set_question_addresses(&mut self, addresses: impl IntoIterator<Item = SocketAddrV4>) {
        let inet = |address| Address::Inet(SocketAddr::V4(address));
        self.core.orders.set_question_addresses(addresses.into_iter().map(inet));
    }

    /// The same for a stream of the feed: [`Source::LINE_A`], or [`Source::SNAPSHOT`] for the
    /// connection that answers questions.
    pub fn set_stream_addresses(
        &mut self,
        source: Source,
        addresses: impl IntoIterator<Item = SocketAddrV4>,
    ) {
        if let Some(streams) = &mut self.core.streams {
            let addresses: Vec<_> = addresses.into_iter().map(SocketAddr::V4).collect();
            streams.set_addresses(source, &addresses);
        }
    }

    /// What the venue says of an instrument, where it says something.
    #[must_use]
    pub fn venue_terms(&self, instrument: InstrumentId) -> Option<VenueTerms> {
        self.core.streams.as_ref()?.venue_terms(instrument)
    }

    /// What account 0 holds in an instrument: bought less sold.
    #[must_use]
    pub fn position(&self, instrument: InstrumentId) -> Lots {
        self.core.orders.risk().position(instrument, AccountId(0))
    }

    /// What the venue's order entry can do.
    #[must_use]
    pub fn order_capabilities(&self) -> Capabilities {
        self.core.orders.capabilities()
    }

    /// Every order that is remembered, to look at.
    #[must_use]
    pub const fn order_table(&self) -> &OrderTable {
        self.core.orders.table()
    }

    /// What every strategy holds, with its profit.
    pub fn positions(&self) -> impl Iterator<Item = PositionReport> {
        self.core.orders.positions()
    }

    /// What comparing positions with the venue's has come to.
    #[must_use]
    pub const fn position_comparisons(&self) -> &PositionComparisons {
        self.core.orders.position_comparisons()
    }

    /// A new day: every position is settled at the price at which the venue values it now (its
    /// mark), or else at its settlement price, or else at the middle of the market as it was last,
    /// and profit, fees and what loss limits count begin at 0. The new day has this number, if it
    /// has one. `closed` gets each position of the old day, settled.
    pub fn roll_day(&mut self, day: Option<u32>, closed: impl FnMut(&PositionReport)) {
        let Core { orders, clock, market, .. } = &mut self.core;
        let utc = clock.utc_at(clock.now());
        let price = |id| {
            let statistics = market.statistics(id);
            statistics.mark.or(statistics.settlement)
        };
        orders.roll_day(utc, day, price, closed);
    }

    /// The number of the day that began last, in the journal too; 0 while none did.
    #[must_use]
    pub const fn day(&self) -> u32 {
        self.core.orders.day()
    }

    /// The day with this number is the one that counts now: nothing is settled.
    pub fn begin_day(&mut self, day: u32) {
        let utc = self.core.clock.utc_at(self.core.clock.now());
        self.core.orders.begin_day(utc, day);
    }

    /// Asks the venue to end the order session.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn logout(&mut self) -> Result<(), GatewayError> {
        self.core.orders.logout(self.events.io(), &self.core.clock);
        Ok(())
    }
}
