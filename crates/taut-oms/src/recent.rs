//! What was seen last, to tell what is sent again from what is new.

use alloc::boxed::Box;

/// A ring of the newest ids: memory is fixed, and the oldest makes room.
///
/// Ids are kept whole, not as hashes: two that are mistaken for one would be a fill that is not
/// counted.
#[derive(Debug)]
pub struct RecentIds<T> {
    ids: Box<[Option<T>]>,
    next: usize,
}

impl<T: Copy + PartialEq> RecentIds<T> {
    /// Room for this many ids, at least one.
    #[must_use]
    pub fn with_capacity(id_capacity: usize) -> Self {
        let ids = core::iter::repeat_n(None, id_capacity.max(1)).collect();
        Self { ids, next: 0 }
    }

    /// Remembers an id. Cost: one write.
    #[inline]
    pub fn insert(&mut self, id: T) {
        if let Some(place) = self.ids.get_mut(self.next) {
            *place = Some(id);
        }
        self.next = if self.next + 1 < self.ids.len() { self.next + 1 } else { 0 };
    }

    /// Whether an id is remembered. Walks the whole ring: not for every message.
    #[must_use]
    pub fn contains(&self, id: &T) -> bool {
        self.ids.iter().flatten().any(|seen| seen == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_ids_are_remembered_and_the_oldest_makes_room() {
        let mut seen = RecentIds::with_capacity(3);
        assert!(!seen.contains(&1));
        (1..=4).for_each(|id| seen.insert(id));
        assert_eq!([1, 2, 3, 4].map(|id| seen.contains(&id)), [false, true, true, true]);
    }
}
