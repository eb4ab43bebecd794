//! An instrument that is added while orders are sent.

use taut_oms::{InstrumentStatus, RiskInstrument};
use taut_types::InstrumentId;

use super::OrderSession;
use super::connection::define_in;
use super::handler::OrderHandler;
use crate::new_instrument::NewInstrument;

impl<H: OrderHandler> OrderSession<H> {
    /// For how many instruments there is room.
    pub(crate) const fn instrument_capacity(&self) -> usize {
        self.instrument_capacity
    }

    /// Whether the venue's handler sends orders for an instrument that it was not built with.
    pub(crate) fn takes_instrument(&mut self, new: &NewInstrument) -> bool {
        self.handler.add_instrument(&new.instrument, &new.name)
    }

    /// Makes an instrument known behind all others: there is room for it, and its handler takes
    /// it. One that is to be [compared](Self::compared) is not traded before.
    pub(crate) fn add_instrument(
        &mut self,
        new: &NewInstrument,
        status: InstrumentStatus,
        is_compared: bool,
    ) {
        let NewInstrument { instrument, group, fees, settlement, .. } = new;
        let id = instrument.id();
        if let Some(definition) = RiskInstrument::of(instrument) {
            self.positions.define(id, definition.lot_value);
        }
        if let Some(settlement) = settlement {
            self.positions.settle(id, *settlement);
        }
        self.reports.add_fees(id, *fees);
        self.journal.add_instrument(instrument);
        self.instruments.push(*instrument);
        self.uncompared.extend(is_compared.then_some(id));
        // Last: from here on an order for it may leave.
        if define_in(&mut self.risk, instrument, *group) {
            self.set_status(id, status);
        }
    }

    /// An instrument trades, or does not any more, says the feed.
    #[cold]
    pub(crate) fn set_status(&mut self, instrument: InstrumentId, status: InstrumentStatus) {
        let status = match self.uncompared.contains(&instrument) {
            true => InstrumentStatus::Halted,
            false => status,
        };
        self.risk.set_status(instrument, status);
    }

    /// The venue has an instrument as we have it; whether it trades is what the feed says.
    pub(crate) fn compared(&mut self, instrument: InstrumentId, status: InstrumentStatus) {
        if let Some(place) = self.uncompared.iter().position(|it| *it == instrument) {
            self.uncompared.swap_remove(place);
            self.risk.set_status(instrument, status);
        }
    }

    /// Instruments that were added, and of which the venue has not said that it has them as we do.
    pub(crate) fn uncompared(&self) -> &[InstrumentId] {
        &self.uncompared
    }

    /// What the handler has heard of an instrument from its venue.
    pub(crate) fn poll_compared(&mut self) -> Option<(InstrumentId, bool)> {
        self.handler.poll_compared()
    }
}
