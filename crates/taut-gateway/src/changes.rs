//! What one frame changed, from the feed handler to the client.

use taut_market_data::{BestPrices, Context, Event, EventKind, MarketSink};
use taut_types::{InstrumentId, Nanos};

/// Stands in the first place until the top comes, and is never shown.
const VACANT: Event = Event {
    instrument: InstrumentId::UNKNOWN,
    exchange_time: Nanos::ZERO,
    receive_time: Nanos::ZERO,
    kind: EventKind::Top(BestPrices { bid: None, ask: None }),
};

/// The events of a frame, the top of the book first: it is what a strategy waits for. All memory is
/// taken when it is built.
#[derive(Debug)]
pub(crate) struct Changes {
    /// The first place is kept for the top, which is known last.
    events: Box<[Event]>,
    /// Places in use, with the first.
    len: usize,
    has_top: bool,
    in_order: bool,
}

impl Changes {
    /// Room for so many events.
    pub(crate) fn new(events_max: usize) -> Self {
        let events = vec![VACANT; events_max + 1].into_boxed_slice();
        Self { events, len: 1, has_top: false, in_order: false }
    }

    /// Forgets what there is.
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.len, self.has_top, self.in_order) = (1, false, false);
    }

    /// Takes what comes in the order in which it comes, behind what there is.
    #[inline]
    pub(crate) const fn keep_order(&mut self) {
        self.in_order = true;
    }

    /// The events.
    #[inline]
    pub(crate) fn events(&self) -> &[Event] {
        self.events.get(usize::from(!self.has_top)..self.len).unwrap_or(&[])
    }
}

impl MarketSink for Changes {
    #[inline]
    fn on_event(&mut self, _: &Context<'_>, event: &Event) {
        let is_first = matches!(event.kind, EventKind::Top(_)) && !self.has_top && !self.in_order;
        let place = if is_first { 0 } else { self.len };
        if let Some(place) = self.events.get_mut(place) {
            *place = *event;
            self.has_top |= is_first;
            self.len += usize::from(!is_first);
        }
    }

    /// Clients look them up: of them there is no most.
    fn takes_listed_orders(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_market_data::{InstrumentKey, SequenceRange, TradingStatus};

    const TOP: EventKind = EventKind::Top(BestPrices { bid: None, ask: None });

    fn told(changes: &mut Changes, kinds: &[EventKind]) -> Vec<EventKind> {
        let instrument = InstrumentKey::Channel;
        let context = Context { instrument, sequence: SequenceRange::one(1), lot_decimals: 0 };
        for &kind in kinds {
            changes.on_event(&context, &Event { kind, ..VACANT });
        }
        changes.events().iter().map(|event| event.kind).collect()
    }

    #[test]
    fn the_top_comes_first_wherever_it_was_told_and_nothing_stands_in_for_it() {
        use EventKind::{Reset, Status};
        let status = Status(TradingStatus::Halted);
        let mut changes = Changes::new(3);
        assert_eq!(told(&mut changes, &[]), []);
        assert_eq!(told(&mut changes, &[Reset, status]), [Reset, status]);
        assert_eq!(told(&mut changes, &[TOP]), [TOP, Reset, status]);
        // What does not fit is left out; the handler has said how much there can be.
        assert_eq!(told(&mut changes, &[Reset, Reset]), [TOP, Reset, status, Reset]);
        changes.clear();
        assert_eq!(told(&mut changes, &[status]), [status]);
        changes.keep_order();
        assert_eq!(told(&mut changes, &[Reset, TOP]), [status, Reset, TOP]);
    }
}
