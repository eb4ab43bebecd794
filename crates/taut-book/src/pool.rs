//! Memory for a fixed number of equal things, handed out by number.

use alloc::{boxed::Box, vec, vec::Vec};
use core::ops::{Index, IndexMut};

/// No handle.
pub(crate) const NONE: u32 = u32::MAX;

/// A slab of `T` and the stack of its free places. What was freed last is handed out first, while
/// it is still in the cache.
#[derive(Clone, Debug)]
pub(crate) struct Pool<T> {
    items: Box<[T]>,
    free: Vec<u32>,
}

impl<T: Copy> Pool<T> {
    /// A pool for `capacity` things, fewer than 2^32 - 1.
    pub(crate) fn with_capacity(capacity: usize, blank: T) -> Self {
        let capacity = u32::try_from(capacity).unwrap_or(NONE).min(NONE - 1);
        Self {
            items: vec![blank; capacity as usize].into_boxed_slice(),
            free: (0..capacity).rev().collect(),
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    pub(crate) const fn capacity(&self) -> usize {
        self.items.len()
    }

    /// Stores a thing and tells its handle, or nothing when the pool is full.
    pub(crate) fn take(&mut self, item: T) -> Option<u32> {
        let handle = self.free.pop()?;
        self[handle] = item;
        Some(handle)
    }

    /// Gives a place back. Its handle must have been handed out by [`take`](Self::take).
    pub(crate) fn release(&mut self, handle: u32) {
        debug_assert!(self.free.len() < self.items.len(), "released more than was taken");
        self.free.push(handle);
    }

    /// Gives all places back.
    pub(crate) fn clear(&mut self) {
        self.free.clear();
        self.free.extend((0..u32::try_from(self.items.len()).unwrap_or(NONE)).rev());
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
