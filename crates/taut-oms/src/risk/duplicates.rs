//! Orders that left a moment ago.

use alloc::boxed::Box;

use taut_types::{ClientOrderId, Nanos, OrderTerms};

/// Sets of places; an order's terms choose one.
const SETS: usize = 1_024;
/// Places of a set, the newest first; one that is full forgets its oldest order.
const PLACES: usize = 4;

/// Terms in 64 bits, and when they left.
#[derive(Clone, Copy, Debug)]
struct Left {
    terms: u64,
    at: Nanos,
}

/// The newest 4,096 orders by a hash of their terms: 64 KiB. A set is one line of the cache; an
/// order is forgotten early only when four others of its set left after it.
#[derive(Debug)]
pub(super) struct Duplicates {
    sets: Box<[Set]>,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Set([Left; PLACES]);

impl Duplicates {
    pub(super) fn new() -> Self {
        // Terms that hash to 0 left a very long time ago.
        let never = Left { terms: 0, at: Nanos(i64::MIN) };
        Self { sets: core::iter::repeat_n(Set([never; PLACES]), SETS).collect() }
    }

    /// Whether these terms left less than `window` before `now`.
    #[inline]
    pub(super) fn contains(&self, terms: u64, now: Nanos, window: Nanos) -> bool {
        let left_after = now - window;
        let Set(places) = &self.sets[set(terms)];
        places.iter().any(|left| left.terms == terms && left.at > left_after)
    }

    /// These terms leave.
    #[inline]
    pub(super) fn insert(&mut self, terms: u64, now: Nanos) {
        let Set([a, b, c, _]) = self.sets[set(terms)];
        self.sets[set(terms)] = Set([Left { terms, at: now }, a, b, c]);
    }
}

const fn set(terms: u64) -> usize {
    terms as usize % SETS
}

/// A strategy's order as 64 bits; two that differ have the same with a chance of 2^-64.
#[inline]
pub(super) fn fingerprint(id: ClientOrderId, terms: &OrderTerms) -> u64 {
    let small = u64::from(terms.instrument.0) << 32
        | u64::from(terms.account.0) << 24
        | (terms.side as u64) << 16
        | (terms.order_type as u64) << 12
        | (terms.time_in_force as u64) << 8
        | u64::from(terms.flags.bits()) << 1
        | u64::from(terms.stop_price.is_some());
    // Multiplying and folding (as in wyhash) mixes every bit into all others.
    let fold = |a: u64, b: u64| {
        let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd6e8_feb8_6659_fd93);
        (product >> 64) as u64 ^ product as u64
    };
    let owner = u64::from(id.user().0) << 8 | u64::from(id.strategy().0);
    let prices = fold(terms.price.0.cast_unsigned(), small);
    let sizes = fold(terms.lots.0.cast_unsigned(), owner);
    let rest = (terms.stop_price.unwrap_or_default().0 ^ terms.lots_shown.0.rotate_left(32))
        .cast_unsigned();
    fold(prices ^ rest, sizes)
}
