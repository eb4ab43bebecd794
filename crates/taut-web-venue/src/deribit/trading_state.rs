//! Whether instruments trade: what the engine does with them, and the platform's maintenance.

use serde_json::{Value, json};
use taut_engine::{Command, Phase};

use crate::deribit::channels::{Channel, Interval};
use crate::deribit::market::Market;
use crate::deribit::rpc;
use crate::deribit::state::Deribit;
use crate::front::{Listing, Output};

impl Market {
    /// Whether it trades.
    pub const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Continuous) && !self.is_in_maintenance && !self.is_delisted
    }

    /// Its state: as the instrument's description says it, and as its channel tells that it came
    /// about. The channel has no word for a halt.
    pub const fn states(&self) -> (&'static str, &'static str) {
        match self.phase {
            _ if self.is_delisted => ("terminated", "terminated"),
            Phase::Closed => ("inactive", "closed"),
            Phase::PreOpen => ("inactive", "created"),
            Phase::Continuous if !self.is_in_maintenance => ("open", "started"),
            _ => ("halted", "deactivated"),
        }
    }
}

impl Deribit {
    /// The engine does something else with a market from here on.
    pub(super) fn set_phase(&mut self, place: usize, phase: Phase) {
        self.change_state(place, |market| market.phase = phase);
    }

    /// The platform's maintenance begins, or is over.
    pub(super) fn set_maintenance(&mut self, is_on: bool) {
        let data = json!({ "maintenance": is_on });
        for (&connection, session) in &self.sessions {
            // The other channel of the platform's state says other things.
            let is_it = |name: &&str| *name == "platform_state";
            let names = session.subscriptions.iter().map(|sub| sub.name.as_str());
            self.out.extend(names.filter(is_it).map(|name| {
                let text = rpc::notification(name, &data);
                Output::Text { connection, text }
            }));
        }
        for place in 0..self.markets.len() {
            self.change_state(place, |market| market.is_in_maintenance = is_on);
        }
    }

    /// The first instrument is listed like this from now on.
    pub(super) fn set_listing(&mut self, listing: Listing) {
        let Some(market) = self.markets.first_mut() else { return };
        let tick = market.settings.sizes().map_or(market.sizes.tick, |sizes| sizes.tick);
        market.sizes.tick = if listing.has_larger_step { 2 * tick } else { tick };
        self.change_state(0, |market| market.is_delisted = listing.is_delisted);
        if listing.is_delisted {
            let orders = self.orders.values_mut().filter(|it| it.place == 0 && it.state.is_live());
            self.own.extend(orders.map(|order| {
                order.cancel_reason = Some("settlement");
                (0, Command::Cancel { order_id: order.id })
            }));
        }
    }

    fn change_state(&mut self, place: usize, change: impl FnOnce(&mut Market)) {
        let Some(market) = self.markets.get_mut(place) else { return };
        let before = market.states();
        change(market);
        if market.states() != before {
            self.publish_state(place);
        }
    }

    /// Tells those who listen that a market's state is another one; its ticker has it, too.
    fn publish_state(&mut self, place: usize) {
        let (ms, index) = (self.ms(), self.index(place));
        let Some(market) = self.markets.get(place) else { return };
        let state = json!({
            "timestamp": ms,
            "state": market.states().1,
            "instrument_name": market.settings.name,
        });
        for (&connection, session) in &mut self.sessions {
            for sub in &mut session.subscriptions {
                let data: Value = match &sub.channel {
                    Channel::InstrumentState(scope) if scope.has(place, market) => state.clone(),
                    Channel::Ticker(at, Interval::Raw) if *at == place => market.ticker(ms, index),
                    Channel::Ticker(at, _) if *at == place => {
                        sub.is_dirty = true;
                        continue;
                    }
                    _ => continue,
                };
                let text = rpc::notification(&sub.name, &data);
                self.out.push_back(Output::Text { connection, text });
            }
        }
    }
}
