//! The venue's clock.

use taut_types::Nanos;

const MS: i64 = 1_000_000;

/// What time it is at the venue, by the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VenueClock {
    /// The venue's UTC less the monotonic time.
    ahead: Option<Nanos>,
    /// How long the question and its answer took.
    round_trip: Nanos,
}

impl VenueClock {
    /// The venue said at `heard` that it is `server_ms`; it was asked at `asked`. Of two readings
    /// the one with the shorter way counts more: a longer one is let in when it contradicts.
    pub(crate) fn told(&mut self, server_ms: u64, asked: Nanos, heard: Nanos) {
        let round_trip = (heard - asked).max(Nanos::ZERO);
        // The venue's millisecond was half over, and half of the way was gone.
        let server = Nanos(server_ms as i64 * MS + MS / 2);
        let ahead = server - Nanos(asked.0 + round_trip.0 / 2);
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
}
