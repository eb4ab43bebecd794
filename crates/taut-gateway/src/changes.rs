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
    events: Vec<Event>,
    has_top: bool,
    in_order: bool,
}

impl Changes {
    /// Room for so many events.
    pub(crate) fn new(events_max: usize) -> Self {
        let mut events = Vec::with_capacity(events_max + 1);
        events.push(VACANT);
        Self { events, has_top: false, in_order: false }
    }

    /// Forgets what there is.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.events.truncate(1);
        self.has_top = false;
        self.in_order = false;
    }

    /// Forgets what there is, and takes what comes in the order in which it comes.
    #[inline]
    pub(crate) fn clear_in_order(&mut self) {
        self.clear();
        self.in_order = true;
    }

    /// The events.
    #[inline]
    pub(crate) fn events(&self) -> &[Event] {
        self.events.get(usize::from(!self.has_top)..).unwrap_or(&[])
    }
}

impl MarketSink for Changes {
    #[inline]
    fn on_event(&mut self, _: &Context<'_>, event: &Event) {
        if matches!(event.kind, EventKind::Top(_))
            && !self.has_top
            && !self.in_order
            && let Some(first) = self.events.first_mut()
        {
            *first = *event;
            self.has_top = true;
        } else if self.events.len() < self.events.capacity() {
            self.events.push(*event);
        }
    }
}
