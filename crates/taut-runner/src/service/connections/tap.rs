//! Where a venue on paper hears of the market.

use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use taut_gateway::Observer;
use taut_market_data::{Event, EventKind, FeedHandler, LevelUpdate, Soundness};
use taut_types::Side;
use taut_venue::flow::MirrorUpdate;

/// Tells the venue on paper what the market does; ends the venue with itself.
pub struct Tap {
    to: Option<Sender<MirrorUpdate>>,
    venue: Option<JoinHandle<()>>,
}

impl Tap {
    pub const fn new(to: Sender<MirrorUpdate>, venue: JoinHandle<()>) -> Self {
        Self { to: Some(to), venue: Some(venue) }
    }
}

impl Observer for Tap {
    fn on_market(&mut self, events: &[Event], feed: &impl FeedHandler) {
        let Some(to) = &self.to else { return };
        // A venue that has ended takes no more orders, and the session says so.
        let send = |update| _ = to.send(update);
        for event in events {
            let place = event.instrument.0 as usize;
            match event.kind {
                EventKind::Level(LevelUpdate { side, price, lots, .. }) => {
                    send(MirrorUpdate::Level { place, side, price, lots });
                }
                // Only a sound book is told level by level. One that is not is empty here.
                EventKind::Book(soundness) => {
                    send(MirrorUpdate::Begin { place });
                    let book =
                        feed.book(event.instrument).filter(|_| soundness == Soundness::Sound);
                    for side in [Side::Buy, Side::Sell] {
                        for level in book.iter().flat_map(|book| book.iter(side)) {
                            let (price, lots) = (level.price, level.lots);
                            send(MirrorUpdate::Level { place, side, price, lots });
                        }
                    }
                }
                _ => {}
            }
        }
        let mut told = None;
        for event in events.iter().filter(|event| is_of_book(event)) {
            if told.replace(event.instrument) != Some(event.instrument) {
                send(MirrorUpdate::End { place: event.instrument.0 as usize });
            }
        }
    }
}

const fn is_of_book(event: &Event) -> bool {
    matches!(event.kind, EventKind::Level(_) | EventKind::Book(_))
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.to = None;
        if let Some(venue) = self.venue.take() {
            let _ = venue.join();
        }
    }
}
