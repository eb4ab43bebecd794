//! The last orders that were sent, each with its own times: a ring in shared memory, for who looks.

use taut_lat::{STAGE_COUNT, StageOffsets};
use taut_ring::broadcast::{Layout, Polled, Publisher, Start, Subscriber};
use taut_ring::{Payload, Policy, RingError};
use taut_types::{ClientOrderId, Nanos};

use crate::regions::Regions;

/// Orders that it holds: 64 KiB.
pub(crate) const SENT_LAYOUT: Layout = Layout { slot_count: 1_024, reader_count: 0 };

/// An order that was sent, and where its time went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentOrder {
    /// Its id.
    pub id: ClientOrderId,
    /// When the packet that caused it was received (monotonic).
    pub origin: Nanos,
    /// Where its stages end, from there.
    pub offsets: StageOffsets,
}

impl SentOrder {
    fn to_words(self) -> Payload {
        let ends = self.offsets.ends();
        let [a, b, c, d, e, f, g, h, i] = ends.map(u64::from);
        let pair = |low: u64, high: u64| high << 32 | low;
        [
            self.id.0,
            self.origin.0.cast_unsigned(),
            pair(a, b),
            pair(c, d),
            pair(e, f),
            pair(g, h),
            i,
        ]
    }

    fn from_words(words: &Payload) -> Self {
        let [id, origin, pairs @ ..] = *words;
        let mut ends = [0; STAGE_COUNT];
        for (end, place) in ends.iter_mut().zip(0..) {
            let pair = pairs.get(place / 2).copied().unwrap_or_default();
            *end = if place % 2 == 0 { pair as u32 } else { (pair >> 32) as u32 };
        }
        Self {
            id: ClientOrderId(id),
            origin: Nanos(origin.cast_signed()),
            offsets: StageOffsets::from_ends(ends),
        }
    }
}

/// The gateway's end.
#[derive(Debug)]
pub(crate) struct SentOrders<'m>(Publisher<'m>);

impl<'m> SentOrders<'m> {
    pub(crate) fn new(regions: &Regions<'m>) -> Result<Self, RingError> {
        Publisher::resume(regions.sent, SENT_LAYOUT, Policy::Overwrite).map(Self)
    }

    /// Cost: one cache line, behind the send call of the order.
    #[inline]
    pub(crate) fn push(&mut self, order: SentOrder) {
        // It overwrites: there is room.
        let _ = self.0.publish(&order.to_words());
    }
}

/// Reads the orders that a gateway has sent, and never writes to their ring.
#[derive(Debug)]
pub struct SentOrderReader<'m> {
    ring: Subscriber<'m>,
}

impl<'m> SentOrderReader<'m> {
    /// A reader that begins with the oldest order of the ring.
    ///
    /// # Errors
    /// When the region is no such ring.
    pub fn new(regions: &Regions<'m>) -> Result<Self, RingError> {
        Ok(Self { ring: Subscriber::passive(regions.sent, SENT_LAYOUT, Start::Oldest)? })
    }

    /// A reader that goes on at this position.
    ///
    /// # Errors
    /// When the region is no such ring.
    pub fn resume(regions: &Regions<'m>, position: u64) -> Result<Self, RingError> {
        Ok(Self { ring: Subscriber::passive(regions.sent, SENT_LAYOUT, Start::At(position))? })
    }

    /// Where the next order stands, for [`resume`](Self::resume).
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.ring.position()
    }

    /// Takes the next order; nothing when there is none for now. Those that were overwritten before
    /// they were read are passed over.
    pub fn poll(&mut self) -> Option<SentOrder> {
        loop {
            match self.ring.poll() {
                Polled::Empty => return None,
                Polled::Message(words) => return Some(SentOrder::from_words(&words)),
                Polled::Lapped(_) | Polled::NewWriter(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_orders_are_read_with_their_times() {
        let segment = taut_ipc::Segment::create("taut-test", &Regions::LAYOUT).expect("memory");
        let regions = Regions::of(&segment).expect("regions");
        let mut sent = SentOrders::new(&regions).expect("a ring");
        let order = |number: u64| SentOrder {
            id: ClientOrderId(number),
            origin: Nanos(7_000 + number.cast_signed()),
            offsets: StageOffsets::from_ends([1, 2, 3, 4, 5, 6, 7, 8, u32::MAX]),
        };
        let mut reader = SentOrderReader::new(&regions).expect("a reader");
        assert_eq!(reader.poll(), None);
        sent.push(order(1));
        assert_eq!(reader.poll(), Some(order(1)));
        let position = reader.position();
        let slots = SENT_LAYOUT.slot_count as u64;
        (2..2 * slots).for_each(|number| sent.push(order(number)));
        let mut reader = SentOrderReader::resume(&regions, position).expect("a reader");
        let read: Vec<_> = std::iter::from_fn(|| reader.poll()).collect();
        assert_eq!(read.last(), Some(&order(2 * slots - 1)));
        assert!(read.len() as u64 <= slots && read.len() as u64 >= slots / 2, "{}", read.len());
    }
}
