//! The market ring, for who only looks: it takes no strategy's place, and nobody waits for it.

use taut_market_data::Event;
use taut_ring::RingError;
use taut_ring::broadcast::{Polled, Start, Subscriber};

use crate::regions::{Regions, TICKS_LAYOUT};

/// What the market ring had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarketRead {
    /// Nothing more for now.
    Nothing,
    /// An event; several of one packet follow each other.
    Event(Event),
    /// The ring went on without the reader: so many entries are lost, and it goes on behind them.
    Lost(u64),
    /// What is no event of the market, such as the gateway's timer.
    Other,
}

/// Reads the market ring of a gateway and never writes to it: a mapping that can only be read will
/// do.
#[derive(Debug)]
pub struct MarketReader<'m> {
    ring: Subscriber<'m>,
}

impl<'m> MarketReader<'m> {
    /// A reader that begins with the next entry.
    ///
    /// # Errors
    /// When the region is no market ring.
    pub fn new(regions: &Regions<'m>) -> Result<Self, RingError> {
        Ok(Self { ring: Subscriber::passive(regions.ticks, TICKS_LAYOUT, Start::Latest)? })
    }

    /// A reader that goes on at this position, and how many entries from there on are lost already.
    ///
    /// # Errors
    /// When the region is no market ring.
    pub fn resume(regions: &Regions<'m>, position: u64) -> Result<(Self, u64), RingError> {
        let ring = Subscriber::passive(regions.ticks, TICKS_LAYOUT, Start::At(position))?;
        let lost = ring.position().wrapping_sub(position);
        // Beyond the newest there is nothing: somebody made the position up.
        let lost = if lost.cast_signed() < 0 { 0 } else { lost };
        Ok((Self { ring }, lost))
    }

    /// Where the next entry stands, for [`resume`](Self::resume).
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.ring.position()
    }

    /// Takes the next entry. Cost: one cache-line transfer.
    #[inline]
    pub fn poll(&mut self) -> MarketRead {
        match self.ring.poll() {
            Polled::Empty => MarketRead::Nothing,
            Polled::Message(words) => match Event::from_words(&words) {
                Some((event, _)) => MarketRead::Event(event),
                None => MarketRead::Other,
            },
            Polled::Lapped(lost) => MarketRead::Lost(lost),
            Polled::NewWriter(_) => MarketRead::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_market_data::{EventKind, Trade};
    use taut_ring::Policy;
    use taut_ring::broadcast::Publisher;
    use taut_sync::atomic::AtomicU64;
    use taut_types::{InstrumentId, Lots, Nanos, OrderId, Price};

    use super::*;
    use crate::regions::Regions;

    fn event(number: u64) -> Event {
        let (price, lots, resting_order) = (Price(1), Lots(1), OrderId(0));
        let trade = Trade { trade_id: number, price, lots, aggressor: None, resting_order };
        let (exchange_time, receive_time) = (Nanos(1), Nanos(2));
        let kind = EventKind::Trade(trade);
        Event { instrument: InstrumentId(3), exchange_time, receive_time, kind }
    }

    #[test]
    fn a_reader_that_looks_now_and_then_counts_what_it_has_lost() {
        let segment = taut_ipc::Segment::create("taut-test", &Regions::LAYOUT).expect("memory");
        let regions = Regions::of(&segment).expect("regions");
        let ring: &[AtomicU64] = regions.ticks;
        let mut writer = Publisher::resume(ring, TICKS_LAYOUT, Policy::Overwrite).expect("a ring");
        let mut reader = MarketReader::new(&regions).expect("a reader");
        assert_eq!(reader.poll(), MarketRead::Nothing);
        writer.publish(&event(0).to_words(0)).expect("room");
        assert_eq!(reader.poll(), MarketRead::Event(event(0)));
        let position = reader.position();
        let slots = TICKS_LAYOUT.slot_count as u64;
        for number in 1..=2 * slots {
            writer.publish(&event(number).to_words(0)).expect("it overwrites");
        }
        let (mut reader, lost) = MarketReader::resume(&regions, position).expect("a reader");
        assert!(lost >= slots, "{lost}");
        let mut read = 0;
        for number in lost + 1.. {
            match reader.poll() {
                MarketRead::Event(got) => assert_eq!(got, event(number)),
                other => {
                    assert_eq!(other, MarketRead::Nothing);
                    break;
                }
            }
            read += 1;
        }
        assert_eq!(lost + read, 2 * slots);
        // One that stays is told in the middle.
        for number in 0..2 * slots {
            writer.publish(&event(number).to_words(0)).expect("it overwrites");
        }
        assert!(matches!(reader.poll(), MarketRead::Lost(lost) if lost >= slots));
        // Nothing is lost of what was never written.
        let (reader, lost) = MarketReader::resume(&regions, u64::MAX >> 1).expect("a reader");
        assert!(lost == 0 && reader.position() <= 4 * slots + 1);
    }
}
