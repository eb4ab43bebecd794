//! A feed that begins again under the same stream: its numbers start over.
//!
//! The numbers alone do not tell: the other line brings old ones too, and late. But a line on its
//! own goes up, but for some reordering. So a sign of a new run is a number that a line has brought
//! before or has left far behind. What comes shortly after the last new packet may still be a copy
//! that the network made, and is none. A line that was not heard before has nothing to go by: for
//! it the sign is a number from before the last new packet when that is longer ago than any line is
//! late.

use taut_types::{Nanos, SequenceNumber};

use crate::feed::line::Line;
use crate::feed::sequencer::Verdict;

/// A number so far behind the highest of its line is no reordering any more.
const REORDERED_MAX: u32 = u64::BITS;

/// What looks like a new run of the stream.
#[derive(Debug)]
pub(crate) struct RestartDetector {
    a: Trail,
    b: Trail,
    /// When a line last brought a packet that nobody had.
    last_new: Nanos,
    /// Signs since then.
    signs: u32,
}

/// Spans: see [`ArbiterConfig`](crate::feed::ArbiterConfig).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RestartTimeouts {
    pub(crate) lag: Nanos,
    pub(crate) silence: Nanos,
}

/// The numbers that one line has brought.
#[derive(Clone, Copy, Debug, Default)]
struct Trail {
    highest: u64,
    /// Bit n: the number n below the highest has come.
    brought: u64,
}

impl Trail {
    /// Takes note of a number; whether the line had brought it, or was far beyond it.
    #[inline]
    fn is_repeated(&mut self, sequence: u64) -> bool {
        let Some(behind) = self.highest.checked_sub(sequence) else {
            let ahead = u32::try_from(sequence - self.highest).unwrap_or(u32::MAX);
            self.brought = self.brought.checked_shl(ahead).unwrap_or(0) | 1;
            self.highest = sequence;
            return false;
        };
        if behind >= REORDERED_MAX.into() {
            return true;
        }
        let bit = 1 << behind;
        let is_repeated = self.brought & bit != 0;
        self.brought |= bit;
        is_repeated
    }
}

impl RestartDetector {
    pub(crate) fn new(now: Nanos) -> Self {
        Self { a: Trail::default(), b: Trail::default(), last_new: now, signs: 0 }
    }

    /// Takes note of a packet, whose turn would be `next`; whether it is a sign of a new run.
    #[inline]
    pub(crate) fn packet(
        &mut self,
        now: Nanos,
        timeouts: RestartTimeouts,
        (line, sequence): (Line, SequenceNumber),
        next: SequenceNumber,
        verdict: Verdict,
    ) -> bool {
        let trail = match (line, verdict) {
            (Line::A, Verdict::Apply | Verdict::Stored | Verdict::Duplicate) => &mut self.a,
            (Line::B, Verdict::Apply | Verdict::Stored | Verdict::Duplicate) => &mut self.b,
            _ => return false,
        };
        let is_repeated = trail.is_repeated(sequence.0);
        if !is_repeated && verdict != Verdict::Duplicate {
            (self.last_new, self.signs) = (now, 0);
            return false;
        }
        self.judge(now, timeouts, is_repeated, sequence < next)
    }

    /// Takes note of a heartbeat; whether it is a sign of a new run.
    pub(crate) fn heartbeat(
        &mut self,
        now: Nanos,
        timeouts: RestartTimeouts,
        (line, last): (Line, SequenceNumber),
        next: SequenceNumber,
    ) -> bool {
        let highest = match line {
            Line::A => self.a.highest,
            Line::B => self.b.highest,
            Line::Retransmission => return false,
        };
        if last.0.saturating_add(1) >= next.0 && last.0 >= highest {
            // The run that is followed is alive.
            self.signs = 0;
            return false;
        }
        self.judge(now, timeouts, last.0 < highest, last.0.saturating_add(1) < next.0)
    }

    /// How many signs there have been since the last new packet.
    #[inline]
    pub(crate) const fn signs(&self) -> u32 {
        self.signs
    }

    fn judge(
        &mut self,
        now: Nanos,
        timeouts: RestartTimeouts,
        is_repeated: bool,
        is_old: bool,
    ) -> bool {
        let since = now.since(self.last_new);
        let is_sign =
            since >= timeouts.lag && (is_repeated || (is_old && since >= timeouts.silence));
        self.signs = self.signs.saturating_add(u32::from(is_sign));
        is_sign
    }
}
