//! Where a venue on paper hears of the market.

use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use taut_gateway::Observer;
use taut_market_data::{Batch, Event, EventKind, FeedHandler, LevelUpdate, Soundness};
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
        for event in of_books(events) {
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
        for event in of_books(events) {
            if told.replace(event.instrument) != Some(event.instrument) {
                send(MirrorUpdate::End { place: event.instrument.0 as usize });
            }
        }
    }
}

/// What moves books. The levels of a stream beside a book's are not the book's.
fn of_books(events: &[Event]) -> impl Iterator<Item = &Event> {
    let mut is_beside = false;
    events.iter().filter(move |event| match event.kind {
        EventKind::Begin(batch) => {
            is_beside = batch == Batch::BestLevels;
            false
        }
        EventKind::End { .. } => {
            is_beside = false;
            false
        }
        EventKind::Level(_) => !is_beside,
        EventKind::Book(_) => true,
        _ => false,
    })
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.to = None;
        if let Some(venue) = self.venue.take() {
            let _ = venue.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_market_data::LevelPlace;
    use taut_types::{InstrumentId, Lots, Nanos, Price};

    use super::*;

    #[test]
    fn levels_beside_a_book_move_nothing_of_it() {
        let level = |price, place| {
            let (side, price, lots) = (Side::Buy, Price(price), Lots(1));
            EventKind::Level(LevelUpdate { side, price, lots, order_count: 0, place })
        };
        let kinds = [
            level(1, LevelPlace::Behind(0)),
            EventKind::Begin(Batch::BestLevels),
            level(2, LevelPlace::ByPrice),
            EventKind::End { is_final: true },
            level(3, LevelPlace::Behind(0)),
        ];
        let (exchange_time, receive_time) = (Nanos::ZERO, Nanos::ZERO);
        let instrument = InstrumentId(0);
        let events = kinds.map(|kind| Event { instrument, exchange_time, receive_time, kind });
        let prices = of_books(&events).map(|event| match event.kind {
            EventKind::Level(level) => level.price.0,
            _ => 0,
        });
        assert!(prices.eq([1, 3]));
    }
}
