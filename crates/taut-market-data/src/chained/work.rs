//! What is to be done about which books.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Places of books about which something is to be done, each once, the first first.
#[derive(Debug)]
pub(super) struct WorkList {
    is_listed: Vec<bool>,
    places: VecDeque<u32>,
}

impl WorkList {
    /// For so many books. Allocates all its memory.
    pub(super) fn new(count: usize) -> Self {
        Self { is_listed: alloc::vec![false; count], places: VecDeque::with_capacity(count) }
    }

    /// Takes the room for so many more books.
    pub(super) fn reserve(&mut self, more: usize) {
        self.is_listed.reserve_exact(more);
        // Beside those that are listed now.
        self.places.reserve_exact(self.is_listed.len() + more - self.places.len());
    }

    /// There is one more book behind the others.
    pub(super) fn add(&mut self) {
        self.is_listed.push(false);
    }

    pub(super) fn push(&mut self, place: usize) {
        if let Some(is_listed) = self.is_listed.get_mut(place).filter(|is_listed| !**is_listed) {
            *is_listed = true;
            self.places.push_back(place as u32);
        }
    }

    pub(super) fn pop(&mut self) -> Option<usize> {
        let place = self.places.pop_front()? as usize;
        self.is_listed.get_mut(place).into_iter().for_each(|is_listed| *is_listed = false);
        Some(place)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::WorkList;

    #[test]
    fn a_place_is_listed_once() {
        let mut list = WorkList::new(2);
        [1, 0, 1, 7].into_iter().for_each(|place| list.push(place));
        assert_eq!([list.pop(), list.pop(), list.pop()], [Some(1), Some(0), None]);
        list.push(1);
        assert!(!list.is_empty() && list.pop() == Some(1) && list.is_empty());
        list.push(0);
        list.reserve(1);
        list.push(2);
        list.add();
        list.push(2);
        assert_eq!([list.pop(), list.pop(), list.pop()], [Some(0), Some(2), None]);
    }
}
