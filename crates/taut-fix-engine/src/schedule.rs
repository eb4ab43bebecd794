//! When a session is open: every day or every week, in the time of a place.
//!
//! An opening is a *period*. Sequence numbers live as long as their period: a session whose last
//! period is over starts again at 1.

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use taut_types::Nanos;

/// Opening hours. Start and end are the wall clock's of `zone`: when a clock is put forward over
/// one of them, it counts at the moment of the change.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// When a period starts.
    pub start: Time,
    /// When it ends; not later than the start means the next day. The same as the start: a period
    /// lasts a day, or a week.
    pub end: Time,
    /// On which days.
    pub days: Days,
    /// Whose clock.
    pub zone: TimeZone,
}

/// The days of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Days {
    /// A period starts on each of these; empty is every day.
    Daily(Vec<Weekday>),
    /// One period each week.
    Weekly {
        /// The day on which it starts.
        start: Weekday,
        /// The day on which it ends.
        end: Weekday,
    },
}

/// One opening: from its start to before its end, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The first nanosecond.
    pub start: Nanos,
    /// The first nanosecond behind it.
    pub end: Nanos,
}

impl Schedule {
    /// The period that a moment lies in; `None` when the session is closed then.
    #[must_use]
    pub fn period(&self, utc: Nanos) -> Option<Period> {
        let now = Timestamp::from_nanosecond(i128::from(utc.0)).ok()?;
        let today = now.to_zoned(self.zone.clone()).date();
        // The youngest start that has been is at most a week back.
        (0..=7).find_map(|back| {
            let day = today.checked_sub(Span::new().days(back)).ok()?;
            let period = self.period_from(day)?;
            (period.start <= utc && utc < period.end).then_some(period)
        })
    }

    /// The period that starts on this day, if one does.
    fn period_from(&self, day: Date) -> Option<Period> {
        let length = match &self.days {
            Days::Daily(days) if days.is_empty() || days.contains(&day.weekday()) => {
                i64::from(self.end <= self.start)
            }
            Days::Weekly { start, end } if day.weekday() == *start => {
                let days = i64::from(start.until(*end));
                if days == 0 && self.end <= self.start { 7 } else { days }
            }
            _ => return None,
        };
        let last = day.checked_add(Span::new().days(length)).ok()?;
        Some(Period { start: self.instant(day, self.start)?, end: self.instant(last, self.end)? })
    }

    fn instant(&self, day: Date, time: Time) -> Option<Nanos> {
        let zoned = self.zone.to_ambiguous_zoned(day.to_datetime(time)).compatible().ok()?;
        i64::try_from(zoned.timestamp().as_nanosecond()).ok().map(Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::{Days, Period, Schedule};
    use jiff::civil::{Weekday, time};
    use jiff::tz::TimeZone;
    use taut_types::Nanos;

    fn at(text: &str) -> Nanos {
        let stamp: jiff::Timestamp = text.parse().expect("a time");
        Nanos(i64::try_from(stamp.as_nanosecond()).expect("a near time"))
    }

    fn span(start: &str, end: &str) -> Option<Period> {
        Some(Period { start: at(start), end: at(end) })
    }

    fn zone(name: &str) -> TimeZone {
        TimeZone::get(name).expect("a zone")
    }

    #[test]
    fn a_day_ends_where_it_says_and_may_run_over_midnight() {
        let mut hours = Schedule {
            start: time(8, 0, 0, 0),
            end: time(17, 0, 0, 0),
            days: Days::Daily(Vec::new()),
            zone: TimeZone::UTC,
        };
        let day = span("2026-03-02T08:00:00Z", "2026-03-02T17:00:00Z");
        assert_eq!(hours.period(at("2026-03-02T08:00:00Z")), day);
        assert_eq!(hours.period(at("2026-03-02T16:59:59.999999999Z")), day);
        assert_eq!(hours.period(at("2026-03-02T17:00:00Z")), None);
        assert_eq!(hours.period(at("2026-03-02T07:59:59Z")), None);
        (hours.start, hours.end) = (hours.end, hours.start);
        let night = span("2026-03-02T17:00:00Z", "2026-03-03T08:00:00Z");
        assert_eq!(hours.period(at("2026-03-03T02:00:00Z")), night);
        hours.end = hours.start;
        let round = span("2026-03-02T17:00:00Z", "2026-03-03T17:00:00Z");
        assert_eq!(hours.period(at("2026-03-03T16:59:00Z")), round);
    }

    #[test]
    fn only_named_days_open_and_their_nights_belong_to_them() {
        let hours = Schedule {
            start: time(22, 0, 0, 0),
            end: time(6, 0, 0, 0),
            days: Days::Daily(vec![Weekday::Monday, Weekday::Friday]),
            zone: TimeZone::UTC,
        };
        // 2026-03-02 is a Monday.
        assert!(hours.period(at("2026-03-02T23:00:00Z")).is_some());
        assert!(hours.period(at("2026-03-03T05:00:00Z")).is_some());
        assert!(hours.period(at("2026-03-03T23:00:00Z")).is_none());
        assert!(hours.period(at("2026-03-07T05:00:00Z")).is_some());
        assert!(hours.period(at("2026-03-07T23:00:00Z")).is_none());
    }

    #[test]
    fn a_week_runs_from_sunday_to_friday_in_new_york() {
        let hours = Schedule {
            start: time(17, 0, 0, 0),
            end: time(17, 0, 0, 0),
            days: Days::Weekly { start: Weekday::Sunday, end: Weekday::Friday },
            zone: zone("America/New_York"),
        };
        // Winter time when it opens on 2026-03-01; summer time (2026-03-08) in the next week.
        let winter = span("2026-03-01T22:00:00Z", "2026-03-06T22:00:00Z");
        assert_eq!(hours.period(at("2026-03-06T21:59:59Z")), winter);
        assert_eq!(hours.period(at("2026-03-06T22:00:00Z")), None);
        assert_eq!(hours.period(at("2026-03-08T20:59:59Z")), None);
        let summer = span("2026-03-08T21:00:00Z", "2026-03-13T21:00:00Z");
        assert_eq!(hours.period(at("2026-03-08T21:00:00Z")), summer);
        let whole = Days::Weekly { start: Weekday::Sunday, end: Weekday::Sunday };
        let always = Schedule { days: whole, ..hours };
        let week = span("2026-03-01T22:00:00Z", "2026-03-08T21:00:00Z");
        assert_eq!(always.period(at("2026-03-08T20:59:59Z")), week);
    }

    #[test]
    fn hours_that_the_clock_skips_start_at_the_change() {
        // On 2026-03-29 in Berlin 02:00 is followed by 03:00.
        let hours = Schedule {
            start: time(2, 30, 0, 0),
            end: time(5, 0, 0, 0),
            days: Days::Daily(Vec::new()),
            zone: zone("Europe/Berlin"),
        };
        let short = span("2026-03-29T01:30:00Z", "2026-03-29T03:00:00Z");
        assert_eq!(hours.period(at("2026-03-29T02:00:00Z")), short);
        let fixed = Schedule { zone: TimeZone::fixed(jiff::tz::offset(2)), ..hours };
        let plain = span("2026-03-29T00:30:00Z", "2026-03-29T03:00:00Z");
        assert_eq!(fixed.period(at("2026-03-29T02:00:00Z")), plain);
    }

    #[test]
    fn periods_of_a_year_never_overlap() {
        let hours = Schedule {
            start: time(2, 30, 0, 0),
            end: time(2, 15, 0, 0),
            days: Days::Daily(Vec::new()),
            zone: zone("Europe/Berlin"),
        };
        let mut last: Option<Period> = None;
        for quarter in 0..365 * 96 {
            let utc = at("2026-01-01T00:00:00Z") + Nanos::from_secs(900 * quarter);
            let Some(period) = hours.period(utc) else { continue };
            if let Some(last) = last.filter(|last| *last != period) {
                assert!(last.end <= period.start, "{last:?} {period:?}");
            }
            last = Some(period);
        }
    }
}
