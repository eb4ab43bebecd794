//! A book by places: the venue says where each level stands.

use taut_types::{Lots, Price, Side};

use crate::event::{Batch, EventKind, LevelPlace, LevelUpdate};

/// The deepest book that CME sends by price.
pub const PLACES_MAX: usize = 10;

/// What is known of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing: packets were missed, and nothing has been said about it since.
    Unknown,
    /// That there is no level.
    Empty,
    /// A level.
    Level {
        /// Its price.
        price: Price,
        /// Its total.
        lots: Lots,
        /// Its orders, 0 when they are not told.
        order_count: u32,
    },
}

/// The book of one instrument, to a depth of up to [`PLACES_MAX`].
///
/// After a gap the caller says [`forget`](Self::forget), and places are filled in as the venue
/// mentions them (natural refresh): the book is sound again when no place is unknown, or when a
/// snapshot comes. A market with fewer levels than places waits for the snapshot. A place that the
/// book does not have contradicts it, and is a gap too: of a side that a snapshot fills beyond its
/// depth nothing is known, and after an update nothing of either.
#[derive(Clone, Debug)]
pub struct PlacedBook {
    sides: [[Cell; PLACES_MAX]; 2],
    depth: usize,
    /// Places that a snapshot has filled so far, while one is taken.
    loading: Option<[usize; 2]>,
}

impl PlacedBook {
    /// A book of so many places, of which nothing is known.
    #[must_use]
    pub const fn new(depth: usize) -> Self {
        let depth = if depth < PLACES_MAX { depth } else { PLACES_MAX };
        Self { sides: [[Cell::Unknown; PLACES_MAX]; 2], depth, loading: None }
    }

    /// Packets were missed: nothing that is in the book can be trusted.
    pub const fn forget(&mut self) {
        self.sides = [[Cell::Unknown; PLACES_MAX]; 2];
        self.loading = None;
    }

    /// The places of a side, best first.
    #[must_use]
    pub fn places(&self, side: Side) -> &[Cell] {
        let [bids, asks] = &self.sides;
        let cells = match side {
            Side::Buy => bids,
            Side::Sell => asks,
        };
        cells.get(..self.depth).unwrap_or(cells)
    }

    /// Whether something is known of every place.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let mut cells = Side::BOTH.into_iter().flat_map(|side| self.places(side));
        self.loading.is_none() && cells.all(|cell| *cell != Cell::Unknown)
    }

    /// Takes an event of its instrument; those about orders and trades change nothing.
    pub fn on_event(&mut self, event: &EventKind) {
        match *event {
            EventKind::Reset => self.sides = [[Cell::Empty; PLACES_MAX]; 2],
            EventKind::Begin(Batch::Snapshot) => {
                self.sides = [[Cell::Empty; PLACES_MAX]; 2];
                self.loading = Some([0; 2]);
            }
            EventKind::Level(level) => self.level(&level),
            EventKind::DeleteLevels { count: Some(count), .. } if !self.has_place(count) => {
                self.forget();
            }
            EventKind::DeleteLevels { side, count } => {
                let count = count.map_or(PLACES_MAX, usize::from).min(PLACES_MAX);
                for _ in 0..count {
                    self.delete(side, 0);
                }
                if count == PLACES_MAX {
                    *self.cells(side) = [Cell::Empty; PLACES_MAX];
                }
            }
            EventKind::End { .. } => self.loading = None,
            _ => {}
        }
    }

    const fn cells(&mut self, side: Side) -> &mut [Cell; PLACES_MAX] {
        let [bids, asks] = &mut self.sides;
        match side {
            Side::Buy => bids,
            Side::Sell => asks,
        }
    }

    /// Places count from 1.
    fn has_place(&self, place: u8) -> bool {
        (1..=self.depth).contains(&place.into())
    }

    fn level(&mut self, level: &LevelUpdate) {
        let LevelUpdate { side, price, lots, order_count, place } = *level;
        if let LevelPlace::Insert(at) | LevelPlace::Change(at) | LevelPlace::Delete(at) = place
            && !self.has_place(at)
        {
            self.forget();
            return;
        }
        let cell = Cell::Level { price, lots, order_count };
        let index = |place: u8| usize::from(place).wrapping_sub(1);
        match place {
            LevelPlace::Insert(place) => {
                if let Some(behind) = self.cells(side).get_mut(index(place)..) {
                    behind.rotate_right(1);
                    if let Some(first) = behind.first_mut() {
                        *first = cell;
                    }
                }
            }
            LevelPlace::Change(place) => {
                if let Some(at) = self.cells(side).get_mut(index(place)) {
                    *at = cell;
                }
            }
            LevelPlace::Delete(place) => self.delete(side, index(place)),
            // A snapshot lists the levels of a side best first.
            LevelPlace::ByPrice | LevelPlace::Behind(_) => {
                let [bids, asks] = self.loading.get_or_insert_default();
                let next = match side {
                    Side::Buy => bids,
                    Side::Sell => asks,
                };
                let at = *next;
                *next += 1;
                let depth = self.depth;
                match self.cells(side).get_mut(..depth).and_then(|cells| cells.get_mut(at)) {
                    Some(slot) => *slot = cell,
                    None => *self.cells(side) = [Cell::Unknown; PLACES_MAX],
                }
            }
        }
    }

    /// The levels behind move up. What comes into the last place is said by the venue; nothing is
    /// there until then, and in a book that is not sound it stays unknown.
    fn delete(&mut self, side: Side, index: usize) {
        let (depth, is_sound) = (self.depth, self.is_sound());
        let Some(behind) = self.cells(side).get_mut(index..depth) else { return };
        if let Some(first) = behind.first_mut() {
            *first = if is_sound { Cell::Empty } else { Cell::Unknown };
            behind.rotate_left(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(side: Side, place: LevelPlace) -> EventKind {
        let (price, lots) = (Price(5), Lots(1));
        EventKind::Level(LevelUpdate { side, price, lots, order_count: 0, place })
    }

    fn snapshot(depth: usize, levels: usize) -> PlacedBook {
        let mut book = PlacedBook::new(depth);
        book.on_event(&EventKind::Begin(Batch::Snapshot));
        for _ in 0..levels {
            book.on_event(&level(Side::Buy, LevelPlace::ByPrice));
        }
        book.on_event(&EventKind::End { is_final: true });
        book
    }

    #[test]
    fn a_place_that_the_book_does_not_have_makes_it_unsound() {
        use LevelPlace::{Change, Delete, Insert};
        for (at, has) in [(0, false), (1, true), (3, true), (4, false), (11, false), (255, false)] {
            let deleted = EventKind::DeleteLevels { side: Side::Sell, count: Some(at) };
            let placed = [Insert(at), Change(at), Delete(at)].map(|at| level(Side::Sell, at));
            for event in placed.into_iter().chain([deleted]) {
                let mut book = snapshot(3, 2);
                assert!(book.is_sound());
                book.on_event(&event);
                assert_eq!(book.is_sound(), has, "{event:?}");
                book.on_event(&EventKind::Reset);
                assert!(book.is_sound());
            }
        }
    }

    #[test]
    fn a_snapshot_deeper_than_the_book_is_unsound() {
        for levels in 0..=30 {
            assert_eq!(snapshot(3, levels).is_sound(), levels <= 3, "{levels} levels");
        }
    }
}
