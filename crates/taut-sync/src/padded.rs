//! Values that share a cache line with nothing else.

use core::ops::{Deref, DerefMut};

/// A value alone on its cache lines.
///
/// The alignment is 128 bytes, not 64: the adjacent-line prefetcher of x86 pulls lines in pairs, so
/// two writers 64 bytes apart still disturb each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(128))]
pub struct CachePadded<T> {
    value: T,
}

impl<T> CachePadded<T> {
    /// Pads `value`.
    pub const fn new(value: T) -> Self {
        Self { value }
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for CachePadded<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::CachePadded;

    #[test]
    fn neighbours_are_two_lines_apart() {
        let pair = [CachePadded::new(1u8), CachePadded::new(2u8)];
        let first = core::ptr::from_ref(&pair[0]) as usize;
        let second = core::ptr::from_ref(&pair[1]) as usize;
        assert_eq!(second - first, 128);
        assert_eq!(*pair[0] + *pair[1], 3);
    }
}
