//! What the venue has counted of its limits, as its answers have it: of all programs together.

use taut_market_data::MarketDataError;
use taut_market_data::scan::Scanner;

use super::values::{number, text};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimitKind {
    /// The weight of the requests of an address (`REQUEST_WEIGHT`).
    Weight,
    /// The orders of an account that have not traded (`ORDERS`).
    Orders,
    /// Something else.
    Other,
}

/// A limit, and how much of it is used in the window of the venue's clock in which the answer left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// What is counted.
    pub kind: RateLimitKind,
    /// How long a window is, in milliseconds; not zero. Windows are aligned to the venue's clock.
    pub window_ms: u64,
    /// What fits into one.
    pub limit: u64,
    /// What is in it.
    pub count: u64,
}

/// Reads the `rateLimits` of an answer. One that lacks something is left out.
///
/// # Errors
/// [`MarketDataError::Malformed`] when they are no array of objects; what stands before the fault
/// has been told.
pub fn read_rate_limits(
    limits: &[u8],
    mut visit: impl FnMut(RateLimit),
) -> Result<(), MarketDataError> {
    let mut scanner = Scanner::new(limits);
    let read = scanner.array(|scanner| {
        let mut kind = RateLimitKind::Other;
        let (mut interval, mut intervals, mut limit, mut count) = (None, None, None, None);
        scanner.object(|scanner, key| {
            match key {
                b"rateLimitType" => kind = named(text(scanner)?),
                b"interval" => interval = interval_ms(text(scanner)?),
                b"intervalNum" => intervals = number(scanner)?,
                b"limit" => limit = number(scanner)?,
                b"count" => count = number(scanner)?,
                _ => scanner.skip_value()?,
            }
            Some(())
        })?;
        let window_ms = interval.zip(intervals).and_then(|(ms, many)| u64::checked_mul(ms, many));
        if let (Some(window_ms), Some(limit), Some(count)) = (window_ms, limit, count)
            && window_ms > 0
        {
            visit(RateLimit { kind, window_ms, limit, count });
        }
        Some(())
    });
    read.ok_or_else(|| scanner.error())
}

fn named(kind: &[u8]) -> RateLimitKind {
    match kind {
        b"REQUEST_WEIGHT" => RateLimitKind::Weight,
        b"ORDERS" => RateLimitKind::Orders,
        _ => RateLimitKind::Other,
    }
}

fn interval_ms(interval: &[u8]) -> Option<u64> {
    match interval {
        b"SECOND" => Some(1_000),
        b"MINUTE" => Some(60_000),
        b"HOUR" => Some(3_600_000),
        b"DAY" => Some(86_400_000),
        _ => None,
    }
}
