//! What has arrived of a stream, and what is missing of it.

use taut_types::Nanos;

use super::naks::NakPolicy;
use crate::counters::SubscriptionCounters;
use crate::frame::DataHeader;
use crate::gaps::{Filled, Gap, Gaps};
use crate::terms::Terms;
use crate::window::Window;

/// Gaps of one image: fewer for small windows.
const GAPS_MAX: i64 = 4096;
const GAPS_MIN: i64 = 64;

/// What became of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Something in it was missing.
    pub is_new: bool,
    /// It showed that something else is.
    pub has_gap: bool,
}

/// The window with the gaps in it.
#[derive(Debug)]
pub struct Arrivals {
    terms: Terms,
    gaps: Gaps,
    window: Window,
    naks: NakPolicy,
    /// Where the round of NAKs is.
    place: usize,
}

impl Arrivals {
    pub fn new(terms: Terms, start: i64, window: i64, mtu: usize, naks: NakPolicy) -> Self {
        let count_max = (window / mtu as i64).clamp(GAPS_MIN, GAPS_MAX);
        let gaps = Gaps::new(count_max as usize, start);
        Self { terms, gaps, window: Window::new(window, mtu), naks, place: 0 }
    }

    /// Everything below has arrived or is a gap.
    #[inline]
    pub const fn high(&self) -> i64 {
        self.gaps.high()
    }

    /// Everything below can be read.
    #[inline]
    pub fn contiguous(&self) -> i64 {
        self.gaps.contiguous()
    }

    pub const fn capacity(&self) -> i64 {
        self.window.capacity()
    }

    /// When a gap is due.
    #[inline]
    pub const fn next_due(&self) -> Nanos {
        self.gaps.next_due()
    }

    pub fn first_gap(&self) -> Option<&Gap> {
        self.gaps.first()
    }

    /// Gives the first gap up.
    pub fn pass_first_gap(&mut self) {
        self.gaps.pass_first();
    }

    /// Gives all gaps up.
    pub fn pass_gaps(&mut self) {
        self.gaps.pass_all();
    }

    /// The frame at a position below [`Self::contiguous`].
    #[inline]
    pub fn frame(&self, position: i64) -> Option<(DataHeader, &[u8])> {
        self.window.frame(position)
    }

    /// Takes what is missing of a datagram whose frames were checked and lie inside the window.
    #[inline]
    pub fn take(
        &mut self,
        now: Nanos,
        (position, end): (i64, i64),
        datagram: &[u8],
        least: Option<Nanos>,
        counters: &mut SubscriptionCounters,
    ) -> Taken {
        let high = self.gaps.high();
        if position >= high {
            let is_new = self.extend(now, position, end, counters);
            if is_new {
                self.window.write(position, datagram);
            }
            return Taken { is_new, has_gap: position > high };
        }
        let is_new = self.fill(now, position, end, datagram, least, counters);
        counters.duplicates += u64::from(!is_new);
        Taken { is_new, has_gap: false }
    }

    /// The sender has come to a position: what is missing up to there is a gap.
    pub fn propose(
        &mut self,
        now: Nanos,
        position: i64,
        counters: &mut SubscriptionCounters,
    ) -> bool {
        position > self.gaps.high() && self.open_gap(now, position, counters)
    }

    /// The next gap that is due, which is put off for as long as its repair takes; each comes once
    /// in a round.
    pub fn next_due_gap(&mut self, now: Nanos, timeout: Nanos) -> Option<Gap> {
        let due = self.gaps.due_from(self.place, now);
        let Some((at, gap)) = due.and_then(|at| Some((at, self.gaps.get_mut(at)?))) else {
            self.place = 0;
            self.gaps.settle();
            return None;
        };
        gap.attempts = gap.attempts.saturating_add(1);
        gap.due = now + self.naks.retry(gap.attempts, timeout);
        self.place = at + 1;
        Some(*gap)
    }
}

impl Arrivals {
    /// A run above everything known: what lies before it becomes a gap.
    #[inline]
    fn extend(
        &mut self,
        now: Nanos,
        start: i64,
        end: i64,
        counters: &mut SubscriptionCounters,
    ) -> bool {
        if start > self.gaps.high() && !self.open_gap(now, start, counters) {
            return false;
        }
        self.gaps.extend(start, end, now, now)
    }

    /// Everything below `start` was sent. A gap ends with its term, because a NAK names one term.
    fn open_gap(&mut self, now: Nanos, start: i64, counters: &mut SubscriptionCounters) -> bool {
        let due = now + self.naks.first();
        let high = self.gaps.high();
        let boundary = high + self.terms.remaining(high);
        let is_in_term = self.terms.offset(high) > 0;
        let is_open = (is_in_term && self.gaps.grow_last(start.min(boundary)))
            || start <= boundary
            || self.gaps.extend(boundary, boundary, now, due);
        let is_open = is_open && self.gaps.extend(start, start, now, due);
        if is_open {
            counters.gaps += 1;
            counters.gap_bytes += (start - high) as u64;
        } else {
            counters.gaps_full += 1;
        }
        is_open
    }

    /// A run below the highest position: what is missing of it is taken. False when nothing was.
    fn fill(
        &mut self,
        now: Nanos,
        position: i64,
        end: i64,
        datagram: &[u8],
        least: Option<Nanos>,
        counters: &mut SubscriptionCounters,
    ) -> bool {
        if let Filled::Inside(gap) = self.gaps.look(position, end) {
            if !self.gaps.fill(position, end) {
                counters.gaps_full += 1;
                return false;
            }
            self.naks.learn(now.since(gap.found), least);
            self.window.write(position, datagram);
            return true;
        }
        let (mut at, mut rest, mut is_new) = (position, datagram, false);
        while let Some(header) = DataHeader::read(rest) {
            let Some((frame, later)) = rest.split_at_checked(header.wire_bytes()) else { break };
            let next = at + header.log_bytes();
            let is_missing = match self.gaps.look(at, next) {
                Filled::Fresh => self.extend(now, at, next, counters),
                Filled::Inside(_) => self.gaps.fill(at, next),
                Filled::Nothing => false,
            };
            if is_missing {
                self.window.write(at, frame);
                is_new = true;
            }
            (at, rest) = (next, later);
        }
        is_new
    }
}
