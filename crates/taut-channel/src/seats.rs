//! Who sits at the places of a ring's registered readers.

use std::collections::VecDeque;

use crate::event::{EndReason, Event};

/// The places that were taken at the last look: at most 64.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    taken: u64,
}

impl Seats {
    /// Takes a new look, and tells who came and who went.
    pub(crate) fn look(&mut self, taken: u64, events: &mut VecDeque<Event>) {
        let sessions = |bits: u64| (0..64).filter(move |seat| bits >> seat & 1 == 1);
        let reason = EndReason::Closed;
        let gone = sessions(self.taken & !taken);
        events.extend(gone.map(|session| Event::Disconnected { session, reason }));
        let come = sessions(taken & !self.taken);
        events.extend(come.map(|session| Event::Connected { session, peer: None }));
        self.taken = taken;
    }

    pub(crate) const fn count(&self) -> usize {
        self.taken.count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_once_who_came_and_who_went() {
        let (mut seats, mut events) = (Seats::default(), VecDeque::new());
        seats.look(0b101, &mut events);
        seats.look(0b110, &mut events);
        seats.look(0b110, &mut events);
        let connected = |session| Event::Connected { session, peer: None };
        let gone = Event::Disconnected { session: 0, reason: EndReason::Closed };
        assert_eq!(Vec::from(events), [connected(0), connected(2), gone, connected(1)]);
        assert_eq!(seats.count(), 2);
    }
}
