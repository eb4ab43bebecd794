//! Who sits at the places of a ring's registered readers, and how each of them gets on.

use std::collections::VecDeque;

use crate::counters::{DEPARTED_MAX, SubscriberCounters};
use crate::event::{EndReason, Event, Events};

/// Places at most: one bit for each.
const SEATS_MAX: usize = 64;

/// The places that were taken at the last look.
#[derive(Debug)]
pub(crate) struct Seats {
    taken: u64,
    /// What had been sent when each of them was taken.
    sent_before: [u64; SEATS_MAX],
    departed: VecDeque<SubscriberCounters>,
}

impl Default for Seats {
    fn default() -> Self {
        let departed = VecDeque::with_capacity(DEPARTED_MAX);
        Self { taken: 0, sent_before: [0; SEATS_MAX], departed }
    }
}

impl Seats {
    /// Takes a new look, and tells who came and who went. `sent` messages were sent so far;
    /// `behind` says how many bytes a place's reader is behind, or was when it went.
    pub(crate) fn look(
        &mut self,
        taken: u64,
        sent: u64,
        behind: impl Fn(usize) -> u64,
        events: &mut Events,
    ) {
        if taken == self.taken {
            return;
        }
        for seat in seats(self.taken & !taken) {
            if self.departed.len() == DEPARTED_MAX {
                self.departed.pop_front();
            }
            let counters = self.counters(seat, sent, behind(seat));
            self.departed.push_back(SubscriberCounters { is_connected: false, ..counters });
            let session = seat as u64;
            events.tell(Event::Disconnected { session, reason: EndReason::Closed });
        }
        for seat in seats(taken & !self.taken) {
            self.sent_before[seat] = sent;
            events.tell(Event::Connected { session: seat as u64, peer: None });
        }
        self.taken = taken;
    }

    pub(crate) const fn count(&self) -> usize {
        self.taken.count_ones() as usize
    }

    /// Those who went lately, and those who are there.
    pub(crate) fn subscribers(
        &self,
        sent: u64,
        behind: impl Fn(usize) -> u64,
    ) -> Vec<SubscriberCounters> {
        let present = seats(self.taken).map(|seat| self.counters(seat, sent, behind(seat)));
        self.departed.iter().copied().chain(present).collect()
    }

    /// Nothing is dropped for a registered reader, and it is never overtaken.
    fn counters(&self, seat: usize, sent: u64, waiting_bytes: u64) -> SubscriberCounters {
        let sent = sent.saturating_sub(self.sent_before[seat]);
        SubscriberCounters {
            session: seat as u64,
            is_connected: true,
            sent,
            waiting_bytes,
            ..SubscriberCounters::default()
        }
    }
}

fn seats(bits: u64) -> impl Iterator<Item = usize> {
    (0..SEATS_MAX).filter(move |seat| bits >> seat & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_once_who_came_and_who_went_and_counts_for_each() {
        let (mut seats, mut events) = (Seats::default(), Events::at_most(9));
        let behind = |seat| 100 + seat as u64;
        seats.look(0b101, 0, behind, &mut events);
        seats.look(0b110, 7, behind, &mut events);
        seats.look(0b110, 9, behind, &mut events);
        let connected = |session| Event::Connected { session, peer: None };
        let gone = Event::Disconnected { session: 0, reason: EndReason::Closed };
        let told: Vec<_> = std::iter::from_fn(|| events.next()).collect();
        assert_eq!(told, [connected(0), connected(2), gone, connected(1)]);
        assert_eq!(seats.count(), 2);
        let counts = seats.subscribers(9, behind).into_iter();
        let counts = counts.map(|one| (one.session, one.is_connected, one.sent, one.waiting_bytes));
        let expected = [(0, false, 7, 100), (1, true, 2, 101), (2, true, 9, 102)];
        assert_eq!(counts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn of_those_who_went_only_the_last_are_remembered() {
        let (mut seats, mut events) = (Seats::default(), Events::at_most(9));
        for round in 0..3 * DEPARTED_MAX as u64 {
            seats.look(round % 2, round, |_| 0, &mut events);
        }
        assert_eq!(seats.subscribers(0, |_| 0).len(), DEPARTED_MAX + 1);
    }
}
