//! Instruments that a gateway takes while it trades the others.

use taut_io::Kernel;
use taut_market_data::FeedHandler;
use taut_oms::InstrumentStatus;
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
    /// whether it trades, until that is said. Strategies that are attached are told the instrument,
    /// and its book once that is sound. Cost: once, a look at every book and some system calls.
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
        if !core.orders.takes_instrument(new) {
            return Err(AddError::OrderEntry);
        }
        core.market.follow(&new.instrument, new.venue_number).map_err(AddError::Feed)?;
        let status = match core.market.feed().tells_status() {
            true => InstrumentStatus::Halted,
            false => InstrumentStatus::Trading,
        };
        core.orders.add_instrument(new, status);
        core.instruments.push(new.instrument);
        let now = core.clock.now();
        core.with_client(|client, clock, state| client.instruments_added(clock, state, now));
        let is_recovering = !core.market.is_sound();
        core.feed.set_recovering(events.io(), is_recovering).map_err(AddError::Gateway)
    }
}
