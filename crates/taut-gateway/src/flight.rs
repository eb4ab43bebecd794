//! The flight recorder, for who looks from outside: nobody waits for it.

use taut_lat::FlightRecord;
use taut_ring::RingError;
use taut_ring::broadcast::{Polled, Start, Subscriber};

use crate::regions::{FLIGHT_LAYOUT, Regions};

/// What the flight recorder had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlightRead {
    /// Nothing more for now.
    Nothing,
    /// The next order.
    Order(FlightRecord),
    /// So many orders were overwritten before they were read; it goes on behind them.
    Lost(u64),
    /// A gateway has begun to write.
    NewWriter,
}

/// Reads the orders of a gateway in the order in which they left, each with all its stamps, and
/// never writes: a mapping that can only be read will do.
#[derive(Debug)]
pub struct FlightReader<'m> {
    ring: Subscriber<'m>,
}

impl<'m> FlightReader<'m> {
    /// A reader that begins with the oldest order that is there.
    ///
    /// # Errors
    /// When the region is no flight recorder.
    pub fn new(regions: &Regions<'m>) -> Result<Self, RingError> {
        Ok(Self { ring: Subscriber::passive(regions.flight, FLIGHT_LAYOUT, Start::Oldest)? })
    }

    /// A reader that goes on at this position.
    ///
    /// # Errors
    /// When the region is no flight recorder.
    pub fn resume(regions: &Regions<'m>, position: u64) -> Result<Self, RingError> {
        let start = Start::At(position);
        Ok(Self { ring: Subscriber::passive(regions.flight, FLIGHT_LAYOUT, start)? })
    }

    /// Where the next order stands, for [`resume`](Self::resume).
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.ring.position()
    }

    /// Takes the next order. Cost: one cache-line transfer.
    pub fn poll(&mut self) -> FlightRead {
        match self.ring.poll() {
            Polled::Empty => FlightRead::Nothing,
            Polled::Message(words) => FlightRead::Order(FlightRecord::from_words(words)),
            Polled::Lapped(lost) => FlightRead::Lost(lost),
            Polled::NewWriter(_) => FlightRead::NewWriter,
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_lat::{Stage, StageClock};
    use taut_types::{ClientOrderId, InstrumentId, Nanos};

    use super::*;
    use crate::regions::Recorders;

    #[test]
    fn the_last_orders_are_there_and_what_was_overwritten_is_counted() {
        let segment = taut_ipc::Segment::create("taut-test", &Regions::LAYOUT).expect("memory");
        let regions = Regions::of(&segment).expect("regions");
        let mut recorders = Recorders::new(&regions).expect("recorders");
        let order = |number: u64| {
            let mut stamps = StageClock::new(Nanos(1_000));
            stamps.mark(Stage::Send, Nanos(2_000));
            let (order, instrument) = (ClientOrderId(number), InstrumentId(2));
            FlightRecord { order, instrument, stamps }
        };
        let mut reader = FlightReader::new(&regions).expect("a reader");
        recorders.record(&order(1));
        assert_eq!(reader.poll(), FlightRead::Order(order(1)));
        assert_eq!(reader.poll(), FlightRead::Nothing);
        let slots = FLIGHT_LAYOUT.slot_count as u64;
        let allocations = allocation_counter::measure(|| {
            (2..=3 * slots).for_each(|number| recorders.record(&order(number)));
        });
        assert_eq!(allocations.count_total, 0);
        let FlightRead::Lost(lost) = reader.poll() else { panic!("it was overtaken") };
        assert!(lost >= slots, "{lost}");
        for number in 2 + lost..=3 * slots {
            assert_eq!(reader.poll(), FlightRead::Order(order(number)));
        }
        assert_eq!(reader.poll(), FlightRead::Nothing);
    }
}
