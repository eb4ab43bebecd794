//! An instrument that is added while orders are sent.

use taut_oms::{InstrumentStatus, RiskInstrument};

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
        self.handler.add_instrument(&new.instrument)
    }

    /// Makes an instrument known behind all others: there is room for it, and its handler takes
    /// it.
    pub(crate) fn add_instrument(&mut self, new: &NewInstrument, status: InstrumentStatus) {
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
        // Last: from here on an order for it may leave.
        if define_in(&mut self.risk, instrument, *group) {
            self.risk.set_status(id, status);
        }
    }
}
