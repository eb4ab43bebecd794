//! The connection over which a standby copies its venue's journal, and what a network does to it.

use std::collections::VecDeque;

use taut_testkit::{Draw, Random};
use taut_types::Nanos;

/// Bytes on their way before the sender has to wait.
const WINDOW: usize = 16 << 10;
const DELAY_NS_MAX: u64 = 200_000;

/// One direction: bytes arrive in their order, in other pieces than they were sent in.
#[derive(Default)]
pub struct Way {
    pieces: VecDeque<(Nanos, Vec<u8>)>,
}

impl Way {
    /// Takes as much of this as there is room for; how much that is.
    pub fn send(&mut self, bytes: &[u8], now: Nanos, random: &mut Random) -> usize {
        let under_way: usize = self.pieces.iter().map(|(_, piece)| piece.len()).sum();
        let room = WINDOW.saturating_sub(under_way).min(bytes.len());
        let count = match random.below(4) {
            0 => random.below(1 + room as u64) as usize,
            _ => room,
        };
        let mut rest = &bytes[..count];
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(1 + random.below(rest.len() as u64) as usize);
            let at = now + Nanos(random.below(DELAY_NS_MAX) as i64);
            let due = self.pieces.back().map_or(at, |(last, _)| at.max(*last));
            self.pieces.push_back((due, piece.to_vec()));
            rest = behind;
        }
        count
    }

    /// The next piece that has arrived.
    pub fn receive(&mut self, now: Nanos) -> Option<Vec<u8>> {
        let (due, _) = self.pieces.front()?;
        if *due > now {
            return None;
        }
        self.pieces.pop_front().map(|(_, piece)| piece)
    }
}

/// A connection that stands.
#[derive(Default)]
pub struct Wire {
    pub to_venue: Way,
    pub to_copy: Way,
}
