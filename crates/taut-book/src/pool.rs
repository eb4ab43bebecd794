//! Memory for a fixed number of equal things, handed out by number.

use alloc::{boxed::Box, vec};
use core::ops::{Index, IndexMut};

/// No handle.
pub(crate) const NONE: u32 = u32::MAX;

/// A slab of `T` and the stack of its free places. What was freed last is handed out first, while
/// it is still in the cache.
#[derive(Clone, Debug)]
pub(crate) struct Pool<T> {
    items: Box<[T]>,
    free: Box<[u32]>,
    free_count: usize,
}

impl<T: Copy> Pool<T> {
    /// A pool for `capacity` things, fewer than 2^32 - 1.
    pub(crate) fn with_capacity(capacity: usize, blank: T) -> Self {
        let capacity = u32::try_from(capacity).unwrap_or(NONE).min(NONE - 1);
        Self {
            items: vec![blank; capacity as usize].into_boxed_slice(),
            free: (0..capacity).rev().collect(),
            free_count: capacity as usize,
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.items.len() - self.free_count
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.items.len()
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.free_count == 0
    }

    /// Stores a thing and tells its handle, or nothing when the pool is full.
    pub(crate) fn take(&mut self, item: T) -> Option<u32> {
        let free_count = self.free_count.checked_sub(1)?;
        self.free_count = free_count;
        let handle = self.free[free_count];
        self[handle] = item;
        Some(handle)
    }

    /// Gives a place back. Its handle must have been handed out by [`take`](Self::take).
    pub(crate) fn release(&mut self, handle: u32) {
        debug_assert!(self.free_count < self.items.len(), "released more than was taken");
        self.free[self.free_count] = handle;
        self.free_count += 1;
    }

    /// Gives all places back.
    pub(crate) fn clear(&mut self) {
        for (place, handle) in self.free.iter_mut().zip((0..self.items.len()).rev()) {
            *place = u32::try_from(handle).unwrap_or(NONE);
        }
        self.free_count = self.items.len();
    }
}

impl<T> Index<u32> for Pool<T> {
    type Output = T;
    fn index(&self, handle: u32) -> &T {
        &self.items[handle as usize]
    }
}

impl<T> IndexMut<u32> for Pool<T> {
    fn index_mut(&mut self, handle: u32) -> &mut T {
        &mut self.items[handle as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;

    #[test]
    fn hands_out_every_place_once_and_what_was_freed_last_first() {
        let mut pool = Pool::with_capacity(2, 'x');
        let (a, b) = (pool.take('a').expect("room"), pool.take('b').expect("room"));
        assert_eq!((pool[a], pool[b], pool.take('c'), pool.len()), ('a', 'b', None, 2));
        pool.release(a);
        pool.release(b);
        assert_eq!((pool.take('d'), pool.len()), (Some(b), 1));
        pool.clear();
        assert_eq!((pool.len(), pool.capacity(), pool.is_full()), (0, 2, false));
    }
}
