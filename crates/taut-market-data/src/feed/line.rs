//! The lines that bring a feed's packets.

use taut_types::Nanos;

use crate::feed::sequencer::Verdict;

/// Where a packet came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The first of two lines that carry the same packets.
    A = 0,
    /// The other one.
    B = 1,
    /// An answer to a request: see [`RetransmitRequest`](crate::feed::RetransmitRequest).
    Retransmission = 2,
}

/// What a line has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounters {
    /// Its packets.
    pub packets: u64,
    /// Those that were new: the line was the first, or the only one, to bring them.
    pub first: u64,
    /// How often it fell silent.
    pub silences: u64,
}

/// The lines and when they were heard.
#[derive(Debug)]
pub(crate) struct Lines {
    a: Watched,
    b: Watched,
    retransmission: LineCounters,
}

/// A line that must not be silent.
#[derive(Debug)]
struct Watched {
    counters: LineCounters,
    heard: Nanos,
    is_silent: bool,
}

impl Watched {
    fn new(now: Nanos) -> Self {
        Self { counters: LineCounters::default(), heard: now, is_silent: false }
    }

    #[inline]
    const fn hear(&mut self, now: Nanos) {
        (self.heard, self.is_silent) = (now, false);
    }

    fn check(&mut self, now: Nanos, silence: Nanos) -> bool {
        if !self.is_silent && now.since(self.heard) >= silence {
            self.is_silent = true;
            self.counters.silences += 1;
        }
        self.is_silent
    }

    fn next_silence(&self, silence: Nanos) -> Option<Nanos> {
        (!self.is_silent).then_some(self.heard + silence)
    }
}

impl Lines {
    pub(crate) fn new(now: Nanos) -> Self {
        let retransmission = LineCounters::default();
        Self { a: Watched::new(now), b: Watched::new(now), retransmission }
    }

    #[inline]
    pub(crate) const fn hear(&mut self, line: Line, now: Nanos) {
        match line {
            Line::A => self.a.hear(now),
            Line::B => self.b.hear(now),
            Line::Retransmission => {}
        }
    }

    #[inline]
    pub(crate) const fn note(&mut self, line: Line, verdict: Verdict) {
        let counters = match line {
            Line::A => &mut self.a.counters,
            Line::B => &mut self.b.counters,
            Line::Retransmission => &mut self.retransmission,
        };
        counters.packets += 1;
        if matches!(verdict, Verdict::Apply | Verdict::Stored) {
            counters.first += 1;
        }
    }

    /// Notices lines that have fallen silent; whether both have.
    pub(crate) fn check(&mut self, now: Nanos, silence: Nanos) -> bool {
        let (a, b) = (self.a.check(now, silence), self.b.check(now, silence));
        a && b
    }

    /// When the next line that is heard may be silent.
    pub(crate) fn next_silence(&self, silence: Nanos) -> Option<Nanos> {
        match (self.a.next_silence(silence), self.b.next_silence(silence)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    pub(crate) const fn get(&self, line: Line) -> &LineCounters {
        match line {
            Line::A => &self.a.counters,
            Line::B => &self.b.counters,
            Line::Retransmission => &self.retransmission,
        }
    }
}
