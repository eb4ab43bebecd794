//! Time as `i64` nanoseconds.

use core::fmt;
use core::ops::{Add, Sub};

/// A point in time, or a span of it, in nanoseconds.
///
/// Which clock a point belongs to is the context's business: monotonic inside a host, UTC between
/// hosts. Arithmetic saturates, so that no input can make it panic; 2^63 ns are 292 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub i64);

impl Nanos {
    /// The origin of its clock, or no time at all.
    pub const ZERO: Self = Self(0);
    /// Later than every time.
    pub const MAX: Self = Self(i64::MAX);

    /// A span of whole microseconds.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of whole milliseconds.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of whole seconds.
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// The span from `earlier` to `self`, at least zero.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        let span = self.0.saturating_sub(earlier.0);
        Self(if span < 0 { 0 } else { span })
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Nanos;

    #[test]
    fn saturates_instead_of_overflowing() {
        assert_eq!(Nanos::MAX + Nanos::from_secs(1), Nanos::MAX);
        assert_eq!(Nanos(i64::MIN) - Nanos(1), Nanos(i64::MIN));
        assert_eq!(Nanos::from_secs(i64::MAX), Nanos::MAX);
    }

    #[test]
    fn a_span_is_never_negative() {
        assert_eq!(Nanos(5).since(Nanos(7)), Nanos::ZERO);
        assert_eq!(Nanos(7).since(Nanos(5)), Nanos(2));
    }
}
