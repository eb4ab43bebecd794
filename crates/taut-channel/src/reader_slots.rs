//! The places of a ring's registered readers: who has come, who has gone, and what each was sent.

use std::collections::VecDeque;

use crate::counters::{DEPARTED_MAX, SubscriberCounters};
use crate::event::{EndReason, Event, Events};

/// Slots at most: one bit for each.
const SLOTS_MAX: usize = 64;

/// The places that were taken at the last look.
#[derive(Debug)]
pub(crate) struct ReaderSlots {
    taken: u64,
    /// What had been sent when each of them was taken.
    sent_before: [u64; SLOTS_MAX],
    departed: VecDeque<SubscriberCounters>,
}

impl Default for ReaderSlots {
    fn default() -> Self {
        let departed = VecDeque::with_capacity(DEPARTED_MAX);
        Self { taken: 0, sent_before: [0; SLOTS_MAX], departed }
    }
}

impl ReaderSlots {
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
        for slot in slots(self.taken & !taken) {
            if self.departed.len() == DEPARTED_MAX {
                self.departed.pop_front();
            }
            let counters = self.counters(slot, sent, behind(slot));
            self.departed.push_back(SubscriberCounters { is_connected: false, ..counters });
            let session = slot as u64;
            events.tell(Event::Disconnected { session, reason: EndReason::Closed });
        }
        for slot in slots(taken & !self.taken) {
            self.sent_before[slot] = sent;
            events.tell(Event::Connected { session: slot as u64, peer: None });
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
        let present = slots(self.taken).map(|slot| self.counters(slot, sent, behind(slot)));
        self.departed.iter().copied().chain(present).collect()
    }

    /// Nothing is dropped for a registered reader, and it is never overtaken.
    fn counters(&self, slot: usize, sent: u64, waiting_bytes: u64) -> SubscriberCounters {
        let sent = sent.saturating_sub(self.sent_before[slot]);
        SubscriberCounters {
            session: slot as u64,
            is_connected: true,
            sent,
            waiting_bytes,
            ..SubscriberCounters::default()
        }
    }
}

fn slots(bits: u64) -> impl Iterator<Item = usize> {
    (0..SLOTS_MAX).filter(move |slot| bits >> slot & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_once_who_came_and_who_went_and_counts_for_each() {
        let (mut slots, mut events) = (ReaderSlots::default(), Events::at_most(9));
        let behind = |slot| 100 + slot as u64;
        slots.look(0b101, 0, behind, &mut events);
        slots.look(0b110, 7, behind, &mut events);
        slots.look(0b110, 9, behind, &mut events);
        let connected = |session| Event::Connected { session, peer: None };
        let gone = Event::Disconnected { session: 0, reason: EndReason::Closed };
        let told: Vec<_> = std::iter::from_fn(|| events.next()).collect();
        assert_eq!(told, [connected(0), connected(2), gone, connected(1)]);
        assert_eq!(slots.count(), 2);
        let counts = slots.subscribers(9, behind).into_iter();
        let counts = counts.map(|one| (one.session, one.is_connected, one.sent, one.waiting_bytes));
        let expected = [(0, false, 7, 100), (1, true, 2, 101), (2, true, 9, 102)];
        assert_eq!(counts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn of_those_who_went_only_the_last_are_remembered() {
        let (mut slots, mut events) = (ReaderSlots::default(), Events::at_most(9));
        for round in 0..3 * DEPARTED_MAX as u64 {
            slots.look(round % 2, round, |_| 0, &mut events);
        }
        assert_eq!(slots.subscribers(0, |_| 0).len(), DEPARTED_MAX + 1);
    }
}
