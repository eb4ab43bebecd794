//! Events and the orders that they cause, across shared memory.
//!
//! An event fills its slot of the ring, and has no room for the stamps of its packet. These stay in
//! the gateway, in a table; the event carries its packet's number there, a request brings the
//! number back, and the order is measured from where its packet was received. When its events were
//! published is in a table that strategies read, when they ask for it.

use taut_sync::atomic::{AtomicU64, Ordering};
use taut_types::Nanos;

use crate::message::{Request, TickStamps};
use crate::regions::TICKS_LAYOUT;

/// What an event carries beside itself: its packet's number, 0 when it is not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) u16);

impl Mark {
    /// Set in the mark of the last event of a packet.
    const LAST: u16 = 1 << 15;

    /// The same, of the packet's last event.
    pub(crate) const fn last(self) -> Self {
        Self(self.0 | Self::LAST)
    }

    /// Whether it is of a packet's last event.
    #[inline]
    pub(crate) const fn is_last(self) -> bool {
        self.0 & Self::LAST != 0
    }

    /// The packet alone.
    #[inline]
    pub(crate) const fn packet(self) -> Self {
        Self(self.0 & !Self::LAST)
    }
}

/// As many packets as the ring has events: what can still be read can still be measured.
const PACKETS: usize = TICKS_LAYOUT.slot_count;
const _: () = assert!(PACKETS.is_power_of_two() && PACKETS <= Mark::LAST as usize);

/// When the events of the last packets were published, to read: by the numbers of the packets.
///
/// Each word has the lower half of the time at which its packet was received, by which a reader
/// sees that the place is another packet's by now, and how long after that its events were
/// published.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Published<'m>(pub(crate) &'m [AtomicU64]);

impl Published<'_> {
    /// Relaxed: the ring's own store publishes it with the events that follow.
    #[inline]
    fn store(self, mark: Mark, stamps: &TickStamps) {
        let [.., publish] = stamps.ends;
        if let Some(word) = self.0.get(usize::from(mark.0)) {
            word.store((stamps.origin.0 as u64) << 32 | u64::from(publish), Ordering::Relaxed);
        }
    }

    /// When the packet with this mark was published, which was received then; nothing when another
    /// one has its place.
    pub(crate) fn time(self, mark: Mark, received: Nanos) -> Option<Nanos> {
        if mark == Mark::default() {
            return None;
        }
        let word = self.0.get(usize::from(mark.0))?.load(Ordering::Relaxed);
        let is_its_own = (word >> 32) as u32 == received.0 as u32;
        is_its_own.then(|| received + Nanos(i64::from(word as u32)))
    }
}

/// The stamps of the last packets.
#[derive(Debug)]
pub(crate) struct StampTable<'m> {
    stamps: Box<[TickStamps]>,
    published: Published<'m>,
    last: u16,
}

impl<'m> StampTable<'m> {
    /// With none, and where others read when they were published.
    pub(crate) fn new(published: Published<'m>) -> Self {
        let stamps = vec![TickStamps::NONE; PACKETS].into_boxed_slice();
        Self { stamps, published, last: 0 }
    }

    /// Keeps the stamps of a packet; its mark.
    #[inline]
    pub(crate) fn insert(&mut self, stamps: TickStamps) -> Mark {
        let next = (self.last + 1) & (PACKETS - 1) as u16;
        // Number 0 says that there is none.
        self.last = next.max(1);
        if let Some(place) = self.stamps.get_mut(usize::from(self.last)) {
            *place = stamps;
        }
        self.published.store(Mark(self.last), &stamps);
        Mark(self.last)
    }

    /// The request with the stages of the packet that caused it. It is not measured when that
    /// packet is forgotten, or when the number is one that a broken peer made up.
    #[inline]
    pub(crate) fn complete(&self, request: Request, mark: Mark) -> Request {
        match self.stamps.get(usize::from(mark.0)) {
            Some(stamps) if stamps.is_measured() && stamps.origin == request.origin => {
                Request { offsets: stamps.complete(request.offsets), ..request }
            }
            _ => Request { origin: Nanos::ZERO, ..request },
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_lat::StageOffsets;
    use taut_types::ClientOrderId;

    use super::*;
    use crate::message::RequestKind;

    #[test]
    fn an_order_is_measured_from_its_own_packet_or_not_at_all() {
        let words: Vec<_> = (0..PACKETS).map(|_| AtomicU64::new(0)).collect();
        let mut table = StampTable::new(Published(&words));
        let stamps = |at: u32| TickStamps { origin: Nanos(at.into()), ends: [at, at + 1, at + 2] };
        let request = |origin| Request {
            id: ClientOrderId(1),
            owner: crate::owner::Owner::default(),
            kind: RequestKind::Cancel,
            only_if: None,
            tag: 0,
            origin,
            offsets: StageOffsets::from_ends([0, 0, 0, 90_000, 90_001, 0, 0, 0, 0]),
        };
        let first = table.insert(stamps(1));
        for at in 2..20_000 {
            let mark = table.insert(stamps(at));
            let made = table.complete(request(Nanos(at.into())), mark);
            assert_eq!(made.offsets.ends()[..5], [at, at + 1, at + 2, 90_000, 90_001]);
            assert_eq!(made.origin, Nanos(at.into()));
        }
        // When they were published can be read as long as no other one has the number.
        let published = Published(&words);
        let mark = table.insert(stamps(30_000));
        assert_eq!(published.time(mark, Nanos(30_000)), Some(Nanos(60_002)));
        assert_eq!(published.time(mark, Nanos(29_999)), None);
        assert_eq!(published.time(first, Nanos(1)), None);
        assert_eq!(published.time(Mark(u16::MAX), Nanos(1)), None);
        // Another packet has the number by now; no packet has it; nothing was measured.
        for (origin, mark) in [(1, first), (5, Mark(u16::MAX)), (0, Mark(0))] {
            let made = table.complete(request(Nanos(origin)), mark);
            assert_eq!(made.origin, Nanos::ZERO);
        }
    }
}
