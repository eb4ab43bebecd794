//! The receiving half: the expected number and the gap in front of it.

use taut_types::Nanos;

/// How a number compares with the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It is the one.
    Expected,
    /// Messages are missing before it.
    TooHigh,
    /// It was used before.
    TooLow,
}

/// The expected number, and the resend that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Inbound {
    expected: u64,
    gap: Option<Gap>,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    /// BeginSeqNo of the request.
    asked_from: u64,
    /// Monotonic time of the request.
    asked_at: Nanos,
    /// The highest number seen: everything up to it will be sent again.
    highest: u64,
}

impl Inbound {
    /// Expects number 1.
    pub const fn new() -> Self {
        Self { expected: 1, gap: None }
    }

    /// The number that comes next.
    pub const fn expected(&self) -> u64 {
        self.expected
    }

    /// Starts again at this number, without a gap.
    pub const fn restart(&mut self, expected: u64) {
        *self = Self { expected, gap: None };
    }

    /// Forgets a gap: a new connection will show it again.
    pub const fn forget_gap(&mut self) {
        self.gap = None;
    }

    /// Compares a number with the expected one.
    pub const fn order(&self, sequence: u64) -> Order {
        if sequence == self.expected {
            Order::Expected
        } else if sequence > self.expected {
            Order::TooHigh
        } else {
            Order::TooLow
        }
    }

    /// The expected number came.
    pub fn advance(&mut self) {
        self.set_expected(self.expected.saturating_add(1));
    }

    /// Goes on at this number; closes the gap that lies before it.
    pub fn set_expected(&mut self, expected: u64) {
        self.expected = expected;
        self.gap = self.gap.filter(|gap| expected <= gap.highest);
    }

    /// Notes a number that is too high; returns where to ask from, unless that is asked already.
    ///
    /// A resend comes in order, so a message of it that is too high shows a hole in the resend
    /// itself: that is asked for again, once for each place where one starts.
    pub fn note_gap(&mut self, sequence: u64, poss_dup: bool, now: Nanos) -> Option<u64> {
        let from = self.expected;
        let ask = match &mut self.gap {
            None => true,
            Some(gap) => {
                gap.highest = gap.highest.max(sequence);
                poss_dup && gap.asked_from != from
            }
        };
        if !ask {
            return None;
        }
        let highest = self.gap.map_or(sequence, |gap| gap.highest);
        self.gap = Some(Gap { asked_from: from, asked_at: now, highest });
        Some(from)
    }

    /// When the last request was sent, while a gap is open.
    pub fn gap_asked_at(&self) -> Option<Nanos> {
        self.gap.map(|gap| gap.asked_at)
    }
}

#[cfg(test)]
mod tests {
    use super::{Inbound, Order};
    use taut_types::Nanos;

    const NOW: Nanos = Nanos::ZERO;

    #[test]
    fn asks_once_and_closes_when_the_highest_has_come() {
        let mut inbound = Inbound::new();
        inbound.advance();
        assert_eq!(inbound.order(5), Order::TooHigh);
        assert_eq!(inbound.note_gap(5, false, NOW), Some(2));
        assert_eq!(inbound.note_gap(6, false, NOW), None);
        for _ in 2..=6 {
            assert!(inbound.gap_asked_at().is_some());
            inbound.advance();
        }
        assert_eq!(inbound.expected(), 7);
        assert!(inbound.gap_asked_at().is_none());
        assert_eq!(inbound.order(1), Order::TooLow);
    }

    #[test]
    fn asks_again_for_a_hole_in_the_resend_but_once() {
        let mut inbound = Inbound::new();
        assert_eq!(inbound.note_gap(9, false, NOW), Some(1));
        inbound.advance();
        assert_eq!(inbound.note_gap(3, true, NOW), Some(2));
        assert_eq!(inbound.note_gap(4, true, NOW), None);
        assert_eq!(inbound.note_gap(10, false, NOW), None);
        inbound.set_expected(11);
        assert!(inbound.gap_asked_at().is_none());
    }
}
