//! How values stand in a line.

use alloc::string::String;
use core::fmt::{self, Write};

use taut_types::Nanos;

const NS_A_SECOND: i64 = 1_000_000_000;
const SECONDS_A_DAY: i64 = 86_400;

/// A UTC as RFC 3339 has it, with nanoseconds.
pub(crate) struct Utc(pub Nanos);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, ns) = (self.0.0.div_euclid(NS_A_SECOND), self.0.0.rem_euclid(NS_A_SECOND));
        let (days, of_day) = (seconds.div_euclid(SECONDS_A_DAY), seconds.rem_euclid(SECONDS_A_DAY));
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ns:09}Z")
    }
}

/// The civil date of a day since 1970-01-01: year, month and day. Times of 64 bits end in 2262, so
/// that counting years is quick enough.
fn civil(mut days: i64) -> (i64, usize, i64) {
    let mut year = 1970;
    while days < 0 {
        year -= 1;
        days += days_of_year(year);
    }
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    let february = if days_of_year(year) == 366 { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in months {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

const fn days_of_year(year: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if is_leap { 366 } else { 365 }
}

/// A value of logfmt: in quotes where it would not be one word, or none. What a terminal would obey
/// is for who prints the line to make visible.
pub(crate) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |it: char| !it.is_whitespace() && !it.is_control() && !"\"=\\".contains(it);
        if !self.0.is_empty() && self.0.chars().all(is_plain) {
            return f.write_str(self.0);
        }
        f.write_char('"')?;
        for letter in self.0.chars() {
            match letter {
                '"' | '\\' => write!(f, "\\{letter}")?,
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('"')
    }
}

/// A string of JSON (RFC 8259, section 7).
pub(crate) fn json_string(line: &mut String, text: &str) {
    line.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => line.extend(['\\', letter]),
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            other if other.is_control() => _ = write!(line, "\\u{:04x}", u32::from(other)),
            other => line.push(other),
        }
    }
    line.push('"');
}
