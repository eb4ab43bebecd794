//! Snapshots while their packets come in.

use taut_book::{BookError, LevelAction, LevelBook};
use taut_types::SequenceNumber;

use crate::native::block::SnapshotBegin;
use crate::native::message::SnapshotLevels;

/// Snapshots that are put together at a time. The venue sends one after the other, but the end of
/// one may come behind the beginning of the next.
const COUNT: usize = 2;

/// What became of a part of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loaded {
    /// More is missing, or it is a part of nothing that is being put together.
    Nothing,
    /// The snapshot in this place is complete.
    Complete(usize),
    /// The book in this place has no room for it.
    Full(usize),
    /// The snapshot contradicts itself and was given up.
    Malformed,
}

/// The snapshots that are being put together, each in a book of its own, so that the book that it
/// will replace can still be brought up to date otherwise.
#[derive(Debug)]
pub(crate) struct Loading {
    slots: [Slot; COUNT],
    /// The slot that was begun last.
    newest: usize,
}

/// Which snapshot it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Of {
    /// The place of the book that it is for.
    at: usize,
    stream: u32,
    id: u32,
}

#[derive(Debug)]
struct Slot {
    book: LevelBook,
    of: Option<Of>,
    last: SequenceNumber,
    /// Levels that have not come.
    missing: u32,
}

impl Loading {
    pub(crate) fn new(level_capacity: usize) -> Self {
        let slot = || Slot {
            book: LevelBook::with_capacity(level_capacity),
            of: None,
            last: SequenceNumber(0),
            missing: 0,
        };
        Self { slots: core::array::from_fn(|_| slot()), newest: 0 }
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.of = None);
    }

    /// Begins with a snapshot for the book in this place.
    pub(crate) fn begin(&mut self, at: usize, stream: u32, begin: &SnapshotBegin) -> Loaded {
        let of = Some(Of { at, stream, id: begin.snapshot_id });
        if self.slots.iter().any(|slot| slot.of == of) {
            return Loaded::Nothing;
        }
        // The same book's former one is of no use any more; else the older gives way.
        let same = |slot: &Slot| slot.of.is_some_and(|of| of.at == at);
        let place = self.slots.iter().position(same);
        let free = || self.slots.iter().position(|slot| slot.of.is_none());
        let place = place.or_else(free).unwrap_or((self.newest + 1) % COUNT);
        self.newest = place;
        let Some(slot) = self.slots.get_mut(place) else { return Loaded::Nothing };
        slot.book.clear();
        (slot.of, slot.last, slot.missing) = (of, begin.last_sequence, begin.level_count);
        if slot.missing == 0 { Loaded::Complete(place) } else { Loaded::Nothing }
    }

    /// Takes levels. Those that are there already came twice and do not count.
    pub(crate) fn part(&mut self, at: usize, stream: u32, part: &SnapshotLevels<'_>) -> Loaded {
        let of = Some(Of { at, stream, id: part.part.snapshot_id });
        let Some(place) = self.slots.iter().position(|slot| slot.of == of) else {
            return Loaded::Nothing;
        };
        let Some(slot) = self.slots.get_mut(place) else { return Loaded::Nothing };
        for level in part.levels.iter() {
            match slot.book.apply(level.side, level.price, level.lots, level.order_count) {
                Ok(change) if change.action == LevelAction::Inserted && slot.missing > 0 => {
                    slot.missing -= 1;
                }
                Ok(change) if change.action == LevelAction::Updated => {}
                Err(BookError::Limit(_)) => {
                    slot.of = None;
                    return Loaded::Full(at);
                }
                _ => {
                    slot.of = None;
                    return Loaded::Malformed;
                }
            }
        }
        if slot.missing == 0 { Loaded::Complete(place) } else { Loaded::Nothing }
    }

    /// Takes a complete snapshot out: the place of the book that it is for, its last packet, and
    /// the book to exchange for that one.
    pub(crate) fn take(&mut self, place: usize) -> Option<(usize, SequenceNumber, &mut LevelBook)> {
        let slot = self.slots.get_mut(place)?;
        let of = slot.of.take()?;
        Some((of.at, slot.last, &mut slot.book))
    }
}
