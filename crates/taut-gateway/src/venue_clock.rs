//! The venue's clock.

use taut_types::Nanos;

const MS: i64 = 1_000_000;

/// Two readings that are further apart than the time that they took, and this, are a jump.
const JUMP: i64 = 100 * MS;

/// What is known of a venue's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReading {
    /// The venue's UTC less the monotonic time of this machine.
    pub ahead: Nanos,
    /// How long the question and its answer took: the offset is right within half of that.
    pub round_trip: Nanos,
    /// How often the offset was another one than it can have become.
    pub jumps: u64,
}

/// What time it is at the venue, by the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VenueClock {
    /// The venue's UTC less the monotonic time.
    ahead: Option<Nanos>,
    /// How long the question and its answer took.
    round_trip: Nanos,
    /// What it was in the session before.
    before: Option<Nanos>,
    jumps: u64,
}

impl VenueClock {
    /// The venue said at `heard` that it is `server_ms`; it was asked at `asked`. Of two readings
    /// the one with the shorter way counts more: a longer one is let in when it contradicts.
    pub(crate) fn told(&mut self, server_ms: u64, asked: Nanos, heard: Nanos) {
        let round_trip = (heard - asked).max(Nanos::ZERO);
        // The venue's millisecond was half over, and half of the way was gone.
        let server = Nanos(server_ms as i64 * MS + MS / 2);
        let ahead = server - Nanos(asked.0 + round_trip.0 / 2);
        if let Some(known) = self.ahead.or(self.before) {
            let apart = (ahead.0 - known.0).abs();
            self.jumps += u64::from(apart > (round_trip.0 + self.round_trip.0) / 2 + JUMP);
        }
        let is_new = match self.ahead {
            None => true,
            Some(known) => {
                let apart = (ahead.0 - known.0).abs();
                round_trip <= self.round_trip || apart > (round_trip.0 + self.round_trip.0) / 2 + MS
            }
        };
        if is_new {
            (self.ahead, self.round_trip) = (Some(ahead), round_trip);
        } else {
            // What was measured long ago counts less and less.
            self.round_trip = Nanos(self.round_trip.0 + self.round_trip.0 / 8 + 1);
        }
    }

    /// Another session begins, perhaps with another of the venue's machines: it is asked anew.
    pub(crate) fn forget(&mut self) {
        self.before = self.ahead.or(self.before);
        (self.ahead, self.round_trip) = (None, Nanos::ZERO);
    }

    /// What is known, once the venue has said what time it is.
    pub(crate) fn reading(&self) -> Option<ClockReading> {
        let Self { round_trip, jumps, .. } = *self;
        self.ahead.map(|ahead| ClockReading { ahead, round_trip, jumps })
    }

    /// The venue's time, milliseconds of UTC.
    #[inline]
    pub(crate) fn at(&self, mono: Nanos) -> Option<u64> {
        let utc = mono + self.ahead?;
        Some(utc.0.unsigned_abs() / MS as u64)
    }

    /// When the venue's clock shows this.
    pub(crate) fn mono(&self, server_ms: u64) -> Option<Nanos> {
        let server = i64::try_from(server_ms).ok()?.checked_mul(MS)?;
        Some(Nanos(server.checked_sub(self.ahead?.0)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_says_best_what_time_it_is() {
        let mut clock = VenueClock::default();
        assert_eq!(clock.at(Nanos(1)), None);
        let ms = |ms: i64| Nanos::from_millis(ms);
        clock.told(1_700_000_000_000, ms(100), ms(110));
        assert_eq!(clock.at(ms(105)), Some(1_700_000_000_000));
        assert_eq!(clock.at(ms(205)), Some(1_700_000_000_100));
        assert_eq!(clock.mono(1_700_000_000_100), Some(ms(205) - Nanos(MS / 2)));
        // A slow answer that agrees changes nothing, one that cannot be does.
        clock.told(1_700_000_000_100, ms(150), ms(250));
        assert_eq!(clock.at(ms(205)), Some(1_700_000_000_100));
        clock.told(1_700_000_005_000, ms(200), ms(300));
        assert_eq!(clock.at(ms(250)), Some(1_700_000_005_000));
    }

    #[test]
    fn a_clock_that_jumps_is_counted_also_from_one_session_to_the_next() {
        let mut clock = VenueClock::default();
        assert_eq!(clock.reading(), None);
        let ms = |ms: i64| Nanos::from_millis(ms);
        clock.told(1_700_000_000_000, ms(100), ms(110));
        clock.told(1_700_000_001_000, ms(1_100), ms(1_130));
        clock.forget();
        assert_eq!((clock.reading(), clock.at(ms(1_200))), (None, None));
        clock.told(1_700_000_002_000, ms(2_100), ms(2_104));
        let told = clock.reading().unwrap();
        assert_eq!((told.jumps, told.round_trip), (0, ms(4)));
        // A second later by its clock, and half a second by ours; then it stays there.
        clock.told(1_700_000_003_000, ms(2_600), ms(2_604));
        clock.told(1_700_000_004_000, ms(3_600), ms(3_604));
        assert_eq!(clock.reading().map(|it| it.jumps), Some(1));
        clock.forget();
        clock.told(1_700_000_004_000, ms(4_600), ms(4_604));
        assert_eq!(clock.reading().map(|it| it.jumps), Some(2));
    }
}
