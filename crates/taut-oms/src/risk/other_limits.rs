//! Limits beside those that hold.

use taut_types::Nanos;

use super::duplicates::Duplicates;
use super::limits::RiskLimits;
use super::rates::Rates;

/// Limits beside those that hold, with budgets of their own: a message counts against these when
/// they would have let it leave.
#[derive(Debug)]
pub struct OtherLimits {
    pub(super) limits: RiskLimits,
    pub(super) rates: Rates,
    pub(super) duplicates: Duplicates,
}

impl OtherLimits {
    /// With full budgets.
    #[must_use]
    pub fn new(limits: RiskLimits, now: Nanos) -> Self {
        Self { rates: Rates::new(&limits, now), limits, duplicates: Duplicates::new() }
    }
}
