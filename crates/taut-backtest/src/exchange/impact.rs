//! What our orders changed in a market.

/// What became of the recorded volume beside our orders, in lots. While we send nothing, all but
/// [`aggressed`](Self::aggressed), [`hidden`](Self::hidden) and
/// [`out_of_turn`](Self::out_of_turn) is 0. Sums saturate.
///
/// Each lot that a recorded aggressor brought met one of our orders (`made`), was `hidden` or
/// `displaced`, or met one of the market's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// What recorded aggressors brought.
    pub aggressed: i64,
    /// Of it, what traded with our orders.
    pub made: i64,
    /// Of it, what no order was named for and none of ours met: it traded with what was not
    /// displayed.
    pub hidden: i64,
    /// Of it, what found nothing, because it was gone.
    pub displaced: i64,
    /// Of it, what the recording has trade with orders that were not first in line.
    pub out_of_turn: i64,
    /// What our orders took from the market's.
    pub taken: i64,
    /// What the market's orders took from ours, which stood across their way.
    pub crossed: i64,
    /// What the market's orders took from each other, because ours had kept one of them waiting.
    pub rematched: i64,
    /// What recorded cancels and modifications would have taken off orders that did not have it
    /// any more.
    pub gone: i64,
}

impl Impact {
    /// What the market traded with our orders, whoever came first.
    #[must_use]
    pub const fn traded_with_us(&self) -> i64 {
        self.made.saturating_add(self.taken).saturating_add(self.crossed)
    }
}

/// Adds to one of the sums.
pub fn add(sum: &mut i64, lots: i64) {
    *sum = sum.saturating_add(lots);
}
