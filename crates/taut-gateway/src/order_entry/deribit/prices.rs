//! The prices that the venue takes for each instrument.

use taut_types::{InstrumentId, OrderTerms, OrderType};

use crate::order_entry::handler::NotSent;
use crate::stream::VenueTerms;

/// What the venue says of each instrument, where it has said something.
#[derive(Debug)]
pub(super) struct VenuePrices(Vec<Option<VenueTerms>>);

impl VenuePrices {
    pub(super) fn of(instruments: usize) -> Self {
        Self(vec![None; instruments])
    }

    /// There is one more instrument, with this number.
    pub(super) fn add(&mut self, instrument: InstrumentId) {
        self.0.truncate(instrument.0 as usize);
        self.0.resize(instrument.0 as usize + 1, None);
    }

    pub(super) fn set(&mut self, instrument: InstrumentId, terms: &VenueTerms) {
        if let Some(known) = self.0.get_mut(instrument.0 as usize) {
            *known = Some(*terms);
        }
    }

    /// Whether each price of an order is on the step that the venue has there.
    #[inline]
    pub(super) fn check(&self, terms: &OrderTerms) -> Result<(), NotSent> {
        let Some(Some(venue)) = self.0.get(terms.instrument.0 as usize) else { return Ok(()) };
        let limit = (terms.order_type == OrderType::Limit).then_some(terms.price);
        let is_allowed = |price| venue.steps.allow(price, venue.tick);
        match limit.into_iter().chain(terms.stop_price).all(is_allowed) {
            true => Ok(()),
            false => Err(NotSent::Filtered),
        }
    }
}
