//! Instruments that a gateway takes while it trades the others.

use taut_io::Kernel;
use taut_market_data::{FeedHandler, FollowError};
use taut_types::InstrumentId;

use super::Gateway;
use crate::client::Client;
use crate::new_instrument::{AddError, NewInstrument};
use crate::observer::Observer;
use crate::order_entry::handler::OrderHandler;

impl<C: Client, F: FeedHandler, K: Kernel, O: Observer, H: OrderHandler>
    Gateway<'_, C, F, K, O, H>
{
    /// For how many instruments room was taken when the gateway was built: for as many as its
    /// [limits](crate::RiskRules::limits) are for.
    #[must_use]
    pub const fn instrument_capacity(&self) -> usize {
        self.core.orders.instrument_capacity()
    }

    /// Takes one more instrument, in the room that was taken for it; all others go on as they are.
    /// Its limits are those that the [rules](Gateway::set_rules) in force have for its number. No
    /// order for it passes until its book is sound and, where the venue says of each instrument
    /// whether it trades, or what its steps of prices and quantities are, until that is said: it is
    /// asked for its channels and for that on the connections that stand. Strategies that are
    /// attached are told the instrument, and its book once that is sound. Cost: once, a look at
    /// every book, some system calls and, at venues that name instruments by texts, some memory.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn add_instrument(&mut self, new: &NewInstrument) -> Result<(), AddError> {
        let room = self.instrument_capacity();
        let Self { events, core, .. } = self;
        let count = core.instruments.len();
        if count >= room {
            return Err(AddError::Full(room));
        }
        if new.instrument.id().0 as usize != count {
            return Err(AddError::NotNext(InstrumentId(count as u32)));
        }
        if core.streams.as_ref().is_some_and(|streams| !streams.takes_instruments()) {
            return Err(AddError::Feed(FollowError::Fixed));
        }
        if !core.orders.takes_instrument(new) {
            return Err(AddError::OrderEntry);
        }
        let follow = core.market.follow(&new.instrument, new.venue_number, &new.name);
        follow.map_err(AddError::Feed)?;
        let streams = core.streams.as_mut();
        let asks = streams.is_some_and(|streams| streams.add_instrument(events.io(), &new.name));
        let status = core.market.order_status(new.instrument.id());
        core.orders.add_instrument(new, status, asks || core.orders.compares_instruments());
        core.instruments.push(new.instrument);
        let now = core.clock.now();
        core.with_client(|client, clock, state| client.instruments_added(clock, state, now));
        let is_recovering = !core.market.is_sound();
        core.feed.set_recovering(events.io(), is_recovering).map_err(AddError::Gateway)
    }

    /// Instruments that were added, and are not traded before the venue has said that it has their
    /// steps of prices and quantities.
    #[must_use]
    pub fn uncompared(&self) -> &[InstrumentId] {
        self.core.orders.uncompared()
    }
}
