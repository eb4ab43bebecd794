//! Memory for a fixed number of equal things, handed out by number.

use alloc::{boxed::Box, vec};
use core::ops::{Index, IndexMut};

/// No handle.
pub(crate) const NONE: u32 = u32::MAX;

/// A thing that can say, while its place is free, which place is the next free one.
pub(crate) trait Link {
    fn next_free(&self) -> u32;
    fn set_next_free(&mut self, handle: u32);
}

/// A slab of `T`; its free places form a list in their own memory. What was freed last is handed
/// out first, while it is still in the cache.
#[derive(Clone, Debug)]
pub(crate) struct Pool<T> {
    items: Box<[T]>,
    first_free: u32,
    len: u32,
}

impl<T: Copy + Link> Pool<T> {
    /// A pool for `capacity` things, fewer than 2^32 - 1.
    pub(crate) fn with_capacity(capacity: usize, blank: T) -> Self {
        let capacity = capacity.min(NONE as usize - 1);
        let items = vec![blank; capacity].into_boxed_slice();
        let mut pool = Self { items, first_free: NONE, len: 0 };
        pool.clear();
        pool
    }

    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.items.len()
    }

    #[inline(always)]
    pub(crate) const fn is_full(&self) -> bool {
        self.first_free == NONE
    }

    /// Stores a thing and tells its handle, or nothing when the pool is full.
    #[inline(always)]
    pub(crate) fn take(&mut self, item: T) -> Option<u32> {
        let handle = self.first_free;
        // No handle is beyond all memory: it fails here.
        let place = self.items.get_mut(handle as usize)?;
        self.first_free = place.next_free();
        *place = item;
        self.len += 1;
        Some(handle)
    }

    /// Gives a place back and tells what it held. Its handle must have been handed out by
    /// [`take`](Self::take).
    #[inline(always)]
    pub(crate) fn release(&mut self, handle: u32) -> T {
        debug_assert!(self.len > 0, "released more than was taken");
        let place = &mut self.items[handle as usize];
        let item = *place;
        place.set_next_free(self.first_free);
        self.first_free = handle;
        self.len -= 1;
        item
    }

    /// Gives all places back.
    pub(crate) fn clear(&mut self) {
        for (next, item) in (1..).zip(&mut self.items) {
            item.set_next_free(next);
        }
        if let Some(last) = self.items.last_mut() {
            last.set_next_free(NONE);
        }
        self.first_free = if self.items.is_empty() { NONE } else { 0 };
        self.len = 0;
    }
}

impl<T> Index<u32> for Pool<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, handle: u32) -> &T {
        &self.items[handle as usize]
    }
}

impl<T> IndexMut<u32> for Pool<T> {
    #[inline(always)]
    fn index_mut(&mut self, handle: u32) -> &mut T {
        &mut self.items[handle as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::{Link, Pool};

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Item(u32);

    impl Link for Item {
        fn next_free(&self) -> u32 {
            self.0
        }
        fn set_next_free(&mut self, handle: u32) {
            self.0 = handle;
        }
    }

    #[test]
    fn hands_out_every_place_once_and_what_was_freed_last_first() {
        let mut pool = Pool::with_capacity(2, Item(0));
        let (a, b) = (pool.take(Item(10)).expect("room"), pool.take(Item(11)).expect("room"));
        assert_eq!((pool[a], pool[b], pool.take(Item(12))), (Item(10), Item(11), None));
        assert_eq!((pool.len(), pool.is_full()), (2, true));
        assert_eq!((pool.release(a), pool.release(b)), (Item(10), Item(11)));
        assert_eq!((pool.take(Item(13)), pool.len()), (Some(b), 1));
        pool.clear();
        assert_eq!((pool.len(), pool.capacity(), pool.is_full()), (0, 2, false));
        let mut none = Pool::with_capacity(0, Item(0));
        assert_eq!((none.take(Item(1)), none.is_full()), (None, true));
    }
}
