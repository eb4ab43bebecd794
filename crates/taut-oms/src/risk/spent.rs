//! Whose message budgets were spent from.

/// Numbers of users or accounts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ids([u64; 4]);

impl Ids {
    /// Cost: a load, a shift and a store.
    #[inline]
    pub(super) const fn insert(&mut self, id: u8) {
        self.0[(id >> 6) as usize] |= 1 << (id & 63);
    }

    pub(super) const fn remove(&mut self, id: u8) {
        self.0[(id >> 6) as usize] &= !(1 << (id & 63));
    }

    /// Those in it, in order. Cost: four steps, and a few for each.
    pub(super) fn iter(self) -> impl Iterator<Item = u8> {
        (0..4_u8).zip(self.0).flat_map(|(word, mut bits)| {
            core::iter::from_fn(move || {
                let bit = bits.trailing_zeros() as u8;
                let id = (bits != 0).then_some((word << 6) | (bit & 63));
                bits &= bits.wrapping_sub(1);
                id
            })
        })
    }
}

/// Who spent since somebody looked.
#[derive(Debug, Default)]
pub(super) struct Spent {
    pub(super) users: Ids,
    pub(super) accounts: Ids,
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::Ids;

    #[test]
    fn what_is_put_in_is_in_it_once_until_it_is_taken_out() {
        let mut ids = Ids::default();
        assert_eq!(ids.iter().next(), None);
        [255, 0, 63, 64, 0].into_iter().for_each(|id| ids.insert(id));
        assert_eq!(ids.iter().collect::<Vec<_>>(), [0, 63, 64, 255]);
        [63, 0, 1].into_iter().for_each(|id| ids.remove(id));
        assert_eq!(ids.iter().collect::<Vec<_>>(), [64, 255]);
        (0..=u8::MAX).for_each(|id| ids.insert(id));
        assert!(ids.iter().eq(0..=u8::MAX));
    }
}
