//! A snapshot while its packets come in.

use taut_types::SequenceNumber;

use crate::feed::slots::{Kept, Slots};

/// What the first packet of a snapshot says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotHead {
    /// Names the snapshot in its parts.
    pub id: u32,
    /// The last sequence of the incremental channel that it contains.
    pub last_sequence: SequenceNumber,
    /// How much the parts bring that the caller needs, in a unit of the caller's choice: the
    /// number of levels if it needs the levels only, or the number of levels and orders.
    pub units: u64,
}

/// How far a snapshot has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// There is none.
    Idle,
    /// Some parts are missing.
    Collecting { head: SnapshotHead, missing: u64 },
    /// All parts are there; the first `index` have been replayed.
    Replaying { head: SnapshotHead, index: u64 },
}

/// What became of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Ignored,
    Stored,
    Complete(SnapshotHead),
    /// It contradicts what is known, or does not fit: the snapshot is given up.
    Refused,
}

/// The packets of one snapshot, by index.
#[derive(Debug)]
pub(crate) struct Assembly {
    slots: Slots,
    stage: Stage,
    /// One above the highest index that is stored.
    end: u64,
}

impl Assembly {
    pub(crate) fn new(packet_count: usize, packet_bytes: usize) -> Self {
        Self { slots: Slots::new(packet_count, packet_bytes), stage: Stage::Idle, end: 0 }
    }

    pub(crate) const fn stage(&self) -> Stage {
        self.stage
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.stage = Stage::Idle;
        self.end = 0;
    }

    /// Begins to collect a snapshot, unless the one at hand is the same or newer.
    pub(crate) fn begin(&mut self, head: SnapshotHead, packet: &[u8]) -> Part {
        match self.stage {
            Stage::Replaying { .. } => return Part::Ignored,
            Stage::Collecting { head: at_hand, .. }
                if at_hand == head || at_hand.last_sequence > head.last_sequence =>
            {
                return Part::Ignored;
            }
            Stage::Collecting { .. } | Stage::Idle => {}
        }
        self.clear();
        self.stage = Stage::Collecting { head, missing: head.units };
        self.store(0, 0, packet)
    }

    /// Takes a part of the snapshot that is being collected.
    pub(crate) fn part(&mut self, id: u32, index: u32, units: u64, packet: &[u8]) -> Part {
        match self.stage {
            Stage::Collecting { head, .. } if head.id == id => {
                self.store(index.into(), units, packet)
            }
            _ => Part::Ignored,
        }
    }

    /// The key of the next part to be replayed, in index order; after the last the assembly is
    /// idle. Parts that the caller did not need were never stored.
    pub(crate) fn next_part(&mut self) -> Option<u64> {
        let Stage::Replaying { head, index } = self.stage else { return None };
        let Some(key) = (index + 1..=self.end).find(|&key| self.slots.get(key).is_some()) else {
            self.stage = Stage::Idle;
            return None;
        };
        self.stage = Stage::Replaying { head, index: key };
        Some(key)
    }

    /// The part with this key.
    pub(crate) fn get(&self, key: u64) -> Option<&[u8]> {
        self.slots.get(key)
    }

    fn store(&mut self, index: u64, units: u64, packet: &[u8]) -> Part {
        let Stage::Collecting { head, missing } = self.stage else { return Part::Ignored };
        let key = index + 1; // Slot keys start at 1.
        if self.slots.get(key).is_some() {
            return Part::Ignored;
        }
        let fits = index < self.slots.count() as u64 && units <= missing;
        if !fits || self.slots.insert(key, 1, packet) != Kept::Stored {
            self.clear();
            return Part::Refused;
        }
        self.end = self.end.max(key);
        if units == missing {
            self.stage = Stage::Replaying { head, index: 0 };
            return Part::Complete(head);
        }
        self.stage = Stage::Collecting { head, missing: missing - units };
        Part::Stored
    }
}
