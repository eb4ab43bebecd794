//! Clocks: raw ticks inside a process, CLOCK_MONOTONIC for what leaves it, UTC between hosts.
//!
//! A tick is one unfenced read of the time-stamp counter where the kernel itself trusts the counter
//! (its clocksource is `tsc`), and a nanosecond of CLOCK_MONOTONIC through the vDSO elsewhere. A
//! [`TickMapping`] turns ticks into CLOCK_MONOTONIC nanoseconds; processes of one run share one
//! mapping, so that their stamps compare. The one who made it ([`Anchoring`]) anchors it anew about
//! every 100 ms and keeps the largest error that it found.

use rustix::time::{ClockId, clock_gettime};
use taut_types::Nanos;

use crate::tape;

fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    Nanos::from_secs(time.tv_sec) + Nanos(time.tv_nsec)
}

/// CLOCK_MONOTONIC. Cost: one vDSO call, 20 to 30 ns.
#[must_use]
pub fn monotonic() -> Nanos {
    read(ClockId::Monotonic)
}

/// UTC (CLOCK_REALTIME), nanoseconds since 1970. Cost: one vDSO call.
#[must_use]
pub fn utc() -> Nanos {
    Nanos(tape::time(|| read(ClockId::Realtime).0.cast_unsigned()).cast_signed())
}

/// Reads the time-stamp counter, not serialised: neighbouring instructions may move across it by a
/// few nanoseconds, which is cheaper than a fence in every stamp.
#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: RDTSC is part of x86-64 and, run in user mode under a kernel that lets it (Linux does
    // unless PR_SET_TSC forbids it, in which case it faults), has no memory operands and no effect
    // but its result.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn counter() -> u64 {
    monotonic().0.cast_unsigned()
}

/// Whether the kernel trusts the counter as its own clock: then it is constant, does not stop and
/// agrees between the CPUs.
fn counter_is_trusted() -> bool {
    cfg!(target_arch = "x86_64")
        && std::fs::read_to_string(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
        .is_ok_and(|name| name.trim() == "tsc")
}

/// Words of a [`TickMapping`] in shared memory.
pub const MAPPING_WORDS: usize = 5;

/// How ticks become nanoseconds: a common point and a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickMapping {
    uses_counter: bool,
    base_ticks: u64,
    base: Nanos,
    /// Nanoseconds per tick, times 2^32.
    rate: u64,
    /// UTC minus CLOCK_MONOTONIC.
    utc_offset: Nanos,
}

impl TickMapping {
    /// The mapping as words, to pass it to another process.
    #[must_use]
    pub const fn to_words(self) -> [u64; MAPPING_WORDS] {
        [
            self.uses_counter as u64,
            self.base_ticks,
            self.base.0.cast_unsigned(),
            self.rate,
            self.utc_offset.0.cast_unsigned(),
        ]
    }

    /// The mapping of [`TickMapping::to_words`].
    #[must_use]
    pub const fn from_words(words: [u64; MAPPING_WORDS]) -> Self {
        let [uses_counter, base_ticks, base, rate, utc_offset] = words;
        Self {
            uses_counter: uses_counter != 0,
            base_ticks,
            base: Nanos(base.cast_signed()),
            rate,
            utc_offset: Nanos(utc_offset.cast_signed()),
        }
    }

    /// CLOCK_MONOTONIC at this tick. Cost: one widening multiplication.
    #[inline]
    #[must_use]
    pub const fn at(&self, ticks: u64) -> Nanos {
        // Signed, because a stamp may be a little older than the anchor.
        let ticks = ticks.wrapping_sub(self.base_ticks).cast_signed() as i128;
        // The shift leaves less than 2^63 for any two points that one machine lives to see.
        Nanos(self.base.0.wrapping_add(((ticks * self.rate as i128) >> 32) as i64))
    }
}

/// A reader of time: ticks now, and what they mean.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    mapping: TickMapping,
    ticks: Ticks,
}

/// Where ticks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ticks {
    Counter,
    Monotonic,
    /// Either of them, over the thread's tape.
    Taped,
}

impl Ticks {
    const fn of(mapping: &TickMapping) -> Self {
        if mapping.uses_counter { Self::Counter } else { Self::Monotonic }
    }
}

impl Clock {
    /// A clock over a mapping that somebody made.
    #[must_use]
    pub const fn new(mapping: TickMapping) -> Self {
        Self { mapping, ticks: Ticks::of(&mapping) }
    }

    /// The same clock, each reading of which stands on the thread's [`tape`].
    #[must_use]
    pub const fn taped(self) -> Self {
        Self { ticks: Ticks::Taped, ..self }
    }

    /// What its ticks mean.
    #[must_use]
    pub const fn mapping(&self) -> TickMapping {
        self.mapping
    }

    /// A clock whose ticks are nanoseconds of CLOCK_MONOTONIC: nothing to measure first, and a vDSO
    /// call for each look.
    #[must_use]
    pub const fn vdso() -> Self {
        let mapping = TickMapping {
            uses_counter: false,
            base_ticks: 0,
            base: Nanos::ZERO,
            rate: 1 << 32,
            utc_offset: Nanos::ZERO,
        };
        Self::new(mapping)
    }

    /// A clock on which it is always `now`, for who turns the time himself: a simulation.
    #[must_use]
    pub const fn standing_at(now: Nanos, utc: Nanos) -> Self {
        let utc_offset = Nanos(utc.0 - now.0);
        let mapping =
            TickMapping { uses_counter: false, base_ticks: 0, base: now, rate: 0, utc_offset };
        Self::new(mapping)
    }

    /// Whether it is [one that stands](Self::standing_at): who waits by it waits for ever.
    #[must_use]
    pub const fn stands(&self) -> bool {
        self.mapping.rate == 0
    }

    /// Takes over a newer mapping.
    pub const fn set_mapping(&mut self, mapping: TickMapping) {
        self.mapping = mapping;
        if !matches!(self.ticks, Ticks::Taped) {
            self.ticks = Ticks::of(&mapping);
        }
    }

    /// Ticks now. Cost: one unfenced counter read (2 to 10 ns).
    #[inline]
    #[must_use]
    pub fn ticks(&self) -> u64 {
        match self.ticks {
            Ticks::Counter => counter(),
            Ticks::Monotonic => monotonic().0.cast_unsigned(),
            Ticks::Taped => self.taped_ticks(),
        }
    }

    #[inline(never)]
    fn taped_ticks(&self) -> u64 {
        tape::ticks(|| match self.mapping.uses_counter {
            true => counter(),
            false => monotonic().0.cast_unsigned(),
        })
    }

    /// CLOCK_MONOTONIC at this tick.
    #[inline]
    #[must_use]
    pub const fn at(&self, ticks: u64) -> Nanos {
        self.mapping.at(ticks)
    }

    /// CLOCK_MONOTONIC now, from the counter.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.at(self.ticks())
    }

    /// UTC of a monotonic time, by the mapping's last look at both clocks.
    #[inline]
    #[must_use]
    pub fn utc_at(&self, monotonic: Nanos) -> Nanos {
        monotonic + self.mapping.utc_offset
    }

    /// Whether a tick is a time-stamp counter tick (or else a vDSO nanosecond).
    #[must_use]
    pub const fn uses_counter(&self) -> bool {
        self.mapping.uses_counter
    }
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    ticks: u64,
    monotonic: Nanos,
    utc_offset: Nanos,
}

/// The tightest of a few looks at the counter around one look at CLOCK_MONOTONIC.
fn anchor(uses_counter: bool) -> Anchor {
    let ticks = || if uses_counter { counter() } else { monotonic().0.cast_unsigned() };
    let mut best = (u64::MAX, 0, Nanos::ZERO);
    for _ in 0..16 {
        let before = ticks();
        let now = monotonic();
        let width = ticks().wrapping_sub(before);
        if width < best.0 {
            best = (width, before.wrapping_add(width / 2), now);
        }
    }
    Anchor { ticks: best.1, monotonic: best.2, utc_offset: utc() - monotonic() }
}

/// The maker of a mapping: anchors it and keeps its error.
#[derive(Debug)]
pub struct Anchoring {
    mapping: TickMapping,
    /// Where the rate's baseline starts; moved along so that the rate follows a slewed clock.
    baseline: Anchor,
    previous: Anchor,
    error_ns_max: u64,
}

/// How long a baseline of the rate may grow.
const BASELINE: Nanos = Nanos::from_secs(10);
/// The first baseline: 30 ns of uncertainty over it is less than one part in a million.
const FIRST_BASELINE: Nanos = Nanos::from_millis(40);

impl Anchoring {
    /// Measures the counter's rate. Takes 40 ms where ticks are counter ticks.
    #[must_use]
    pub fn start() -> Self {
        let uses_counter = counter_is_trusted();
        let first = anchor(uses_counter);
        let mut mapping = TickMapping {
            uses_counter,
            base_ticks: first.ticks,
            base: first.monotonic,
            rate: 1 << 32,
            utc_offset: first.utc_offset,
        };
        if uses_counter {
            while monotonic() < first.monotonic + FIRST_BASELINE {
                crate::poll::sleep(Nanos::from_millis(5));
            }
            mapping.rate = rate(first, anchor(true));
        }
        Self { mapping, baseline: first, previous: first, error_ns_max: 0 }
    }

    /// Anchors the mapping at this moment; call it about every 100 ms.
    pub fn renew(&mut self) -> TickMapping {
        let now = anchor(self.mapping.uses_counter);
        let error = self.mapping.at(now.ticks) - now.monotonic;
        self.error_ns_max = self.error_ns_max.max(error.0.unsigned_abs());
        if self.mapping.uses_counter {
            self.mapping.rate = rate(self.baseline, now);
            if now.monotonic - self.baseline.monotonic > BASELINE {
                self.baseline = self.previous;
            }
        }
        self.mapping.base_ticks = now.ticks;
        self.mapping.base = now.monotonic;
        self.mapping.utc_offset = now.utc_offset;
        self.previous = now;
        self.mapping
    }

    /// The current mapping.
    #[must_use]
    pub const fn mapping(&self) -> TickMapping {
        self.mapping
    }

    /// The largest step that an anchoring made, in nanoseconds: how wrong a stamp can be.
    #[must_use]
    pub const fn error_ns_max(&self) -> u64 {
        self.error_ns_max
    }
}

/// Nanoseconds per tick between two anchors, times 2^32.
fn rate(from: Anchor, to: Anchor) -> u64 {
    let ticks = u128::from(to.ticks.wrapping_sub(from.ticks)).max(1);
    let ns = u128::from(to.monotonic.since(from.monotonic).0.unsigned_abs());
    u64::try_from((ns << 32) / ticks).unwrap_or(1 << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapped_counter_follows_the_monotonic_clock() {
        let mut anchoring = Anchoring::start();
        let mut clock = Clock::new(anchoring.mapping());
        for _ in 0..3 {
            let (before, mapped, after) = (monotonic(), clock.now(), monotonic());
            let slack = Nanos::from_micros(50);
            assert!(mapped + slack >= before && mapped <= after + slack);
            clock.set_mapping(anchoring.renew());
        }
        assert!(anchoring.error_ns_max() < 1_000_000);
    }

    #[test]
    fn a_mapping_survives_its_words_and_maps_earlier_ticks_too() {
        let mapping = TickMapping {
            uses_counter: true,
            base_ticks: 1_000,
            base: Nanos(5_000),
            rate: 1 << 31,
            utc_offset: Nanos(-3),
        };
        assert_eq!(TickMapping::from_words(mapping.to_words()), mapping);
        assert_eq!(mapping.at(1_010), Nanos(5_005));
        assert_eq!(mapping.at(990), Nanos(4_995));
    }
}
