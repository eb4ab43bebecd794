//! Whole fills or partial ones.

/// How much of an order is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FillModel {
    /// All of it or nothing: one that takes gets everything at the best, one that rests everything
    /// as soon as a trade reaches it. For orders that are small beside the market's.
    #[default]
    Whole,
    /// One that takes gets what the levels hold, one that rests what a trade leaves for it.
    Partial,
}
