//! Numbers for people.

/// A duration with three significant digits: `412 ns`, `8.24 µs`, `1.05 ms`, `2.50 s`.
pub fn human_ns(ns: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    let ns = ns as f64;
    // A unit is used until its number would be rounded up to 1000.
    let (unit, scale) = UNITS.into_iter().find(|(_, scale)| ns / scale < 999.5).unwrap_or(UNITS[2]);
    let number = ns / scale;
    let decimals = match number {
        n if n < 9.995 => 2,
        n if n < 99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$} {unit}")
}

/// A count with its thousands apart: `1,234,567`.
pub fn human_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share as a percentage: `12.3%`.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// A tick of a logarithmic time axis: `500 ns`, `1 µs`.
pub fn axis_ns(ns: f64) -> String {
    let (unit, scale) = match ns {
        n if n < 1e3 => ("ns", 1.0),
        n if n < 1e6 => ("µs", 1e3),
        n if n < 1e9 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    format!("{:.0} {unit}", ns / scale)
}

/// Memory: `7.8 GiB`.
pub fn human_bytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1u32 << 30))
}

/// `2026-11-20 10:55:03 UTC` from nanoseconds since 1970.
pub fn utc_text(utc_ns: i64) -> String {
    let seconds = utc_ns.div_euclid(1_000_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil_date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month and day of the proleptic Gregorian calendar, from days since 1970-01-01.
///
/// Years are counted from March, so that the leap day is the last of its year; 400 years have
/// 146,097 days and five months from March (or August) have 153.
fn civil_date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468; // since 0000-03-01
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_the_right_unit() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (9_994, "9.99 µs"),
            (9_995, "10.0 µs"),
            (99_950, "100 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (2_500_000_000, "2.50 s"),
            (68_719_476_735, "68.7 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(human_ns(ns), text);
        }
    }

    #[test]
    fn thousands_stand_apart() {
        let counts = [0, 999, 1_000, 1_234_567].map(human_count);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc_text(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc_text(951_782_399_999_999_999), "2000-02-28 23:59:59 UTC");
        assert_eq!(utc_text(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc_text(1_795_172_103_000_000_000), "2026-11-20 10:55:03 UTC");
        assert_eq!(utc_text(-1), "1969-12-31 23:59:59 UTC");
    }
}
