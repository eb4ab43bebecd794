//! The formats of values (FIX 4.4 volume 1, "Data Types").

use crate::codec::timestamp::{is_timestamp, parse_timestamp};

/// What a value must look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Format {
    /// Any bytes: texts, currencies, exchanges, countries.
    #[default]
    Any,
    /// One byte.
    Char,
    /// `Y` or `N`.
    Boolean,
    /// An integer with an optional minus sign.
    Int,
    /// An integer without a sign: lengths, counts, sequence numbers.
    Count,
    /// A decimal with an optional minus sign: prices, quantities, amounts, percentages.
    Float,
    /// A day of the month, 1 to 31.
    DayOfMonth,
    /// `YYYYMMDD`.
    Date,
    /// `HH:MM:SS` with an optional fraction.
    TimeOnly,
    /// `YYYYMMDD-HH:MM:SS` with an optional fraction.
    Timestamp,
    /// `YYYYMM`, optionally with a day (`DD`) or a week (`w1` to `w5`).
    MonthYear,
    /// Several values, a space between them: each must be among the listed ones.
    Several,
    /// Any bytes, delimiters too: another field gives their number.
    Data,
}

impl Format {
    /// The format of a type's name in a QuickFIX dictionary. Names that are not known allow
    /// anything; in FIX 4.0 and 4.1 a CHAR may be longer than one, and TIME and DATE are what later
    /// versions call UTCTIMESTAMP and UTCDATE.
    #[must_use]
    pub fn from_type_name(name: &str, chars_are_texts: bool) -> Self {
        match name {
            "CHAR" if chars_are_texts => Self::Any,
            "CHAR" => Self::Char,
            "BOOLEAN" => Self::Boolean,
            "INT" => Self::Int,
            "LENGTH" | "NUMINGROUP" | "SEQNUM" | "TAGNUM" => Self::Count,
            "PRICE" | "PRICEOFFSET" | "QTY" | "QUANTITY" | "AMT" | "FLOAT" | "PERCENTAGE" => {
                Self::Float
            }
            "DAYOFMONTH" => Self::DayOfMonth,
            "DATE" | "UTCDATE" | "UTCDATEONLY" | "LOCALMKTDATE" => Self::Date,
            "UTCTIMEONLY" => Self::TimeOnly,
            "TIME" | "UTCTIMESTAMP" => Self::Timestamp,
            "MONTHYEAR" => Self::MonthYear,
            "MULTIPLEVALUESTRING" | "MULTIPLESTRINGVALUE" | "MULTIPLECHARVALUE" => Self::Several,
            "DATA" | "XMLDATA" => Self::Data,
            _ => Self::Any,
        }
    }

    /// Whether the value has the format.
    #[inline(always)]
    #[must_use]
    pub fn accepts(self, value: &[u8]) -> bool {
        match self {
            Self::Any | Self::Several | Self::Data => true,
            Self::Char => value.len() == 1,
            Self::Boolean => matches!(value, b"Y" | b"N"),
            Self::Int => all_digits(value.strip_prefix(b"-").unwrap_or(value)),
            Self::Count => all_digits(value),
            Self::Float => is_decimal(value.strip_prefix(b"-").unwrap_or(value)),
            Self::DayOfMonth => match value {
                [day] => matches!(day, b'1'..=b'9'),
                [tens, units] => day(*tens, *units),
                _ => false,
            },
            Self::Date => is_date(value),
            Self::TimeOnly => is_time(value),
            Self::Timestamp => is_timestamp(value),
            Self::MonthYear => is_month_year(value),
        }
    }
}

#[inline]
fn all_digits(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_digit)
}

/// Digits with at most one point, and at least one digit. Values are short: a loop that stops at
/// the first wrong byte is faster than one that counts in vectors.
#[inline]
fn is_decimal(value: &[u8]) -> bool {
    let mut has_point = false;
    for byte in value {
        if byte.wrapping_sub(b'0') > 9 {
            if *byte != b'.' || has_point {
                return false;
            }
            has_point = true;
        }
    }
    value.len() > usize::from(has_point)
}

fn day(tens: u8, units: u8) -> bool {
    matches!((tens, units), (b'0', b'1'..=b'9') | (b'1' | b'2', b'0'..=b'9') | (b'3', b'0' | b'1'))
}

fn month(tens: u8, units: u8) -> bool {
    matches!((tens, units), (b'0', b'1'..=b'9') | (b'1', b'0'..=b'2'))
}

fn is_date(value: &[u8]) -> bool {
    match value {
        [year @ .., m1, m2, d1, d2] if year.len() == 4 => {
            all_digits(year) && month(*m1, *m2) && day(*d1, *d2)
        }
        _ => false,
    }
}

/// A time is what a timestamp of any day holds.
fn is_time(value: &[u8]) -> bool {
    const DAY: &[u8; 9] = b"20000101-";
    let mut stamp = [0; 32];
    let (Some(date), true) = (stamp.get_mut(..DAY.len()), value.len() <= 32 - DAY.len()) else {
        return false;
    };
    date.copy_from_slice(DAY);
    let end = DAY.len() + value.len();
    match stamp.get_mut(DAY.len()..end) {
        Some(time) => time.copy_from_slice(value),
        None => return false,
    }
    stamp.get(..end).is_some_and(|stamp| parse_timestamp(stamp).is_some())
}

fn is_month_year(value: &[u8]) -> bool {
    match value {
        [y1, y2, y3, y4, m1, m2, rest @ ..] => {
            all_digits(&[*y1, *y2, *y3, *y4])
                && month(*m1, *m2)
                && match rest {
                    [] => true,
                    [b'w', week] => matches!(week, b'1'..=b'5'),
                    [tens, units] => day(*tens, *units),
                    _ => false,
                }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    fn check(format: Format, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(format.accepts(text.as_bytes()), "{format:?} {text}");
        }
        for text in bad {
            assert!(!format.accepts(text.as_bytes()), "{format:?} {text}");
        }
    }

    #[test]
    fn the_old_names_of_types_are_known() {
        for (old, new) in [("TIME", "UTCTIMESTAMP"), ("DATE", "UTCDATE"), ("QUANTITY", "QTY")] {
            assert_eq!(Format::from_type_name(old, true), Format::from_type_name(new, false));
        }
    }

    #[test]
    fn each_format_takes_what_the_standard_says() {
        check(Format::Char, &["a", "="], &["", "ab"]);
        check(Format::Boolean, &["Y", "N"], &["y", "1", ""]);
        check(Format::Int, &["0", "-5", "007"], &["", "-", "+5", "1.0", "1e3", " 1"]);
        check(Format::Count, &["0", "12"], &["-1", "", "x"]);
        let floats = ["1", "-1", "002000.00", ".5", "5.", "0.0"];
        check(Format::Float, &floats, &["", "-", ".", "+200.00", "1.2.3", "1e5", "1,5"]);
        check(Format::DayOfMonth, &["1", "01", "31"], &["0", "00", "32", "1x"]);
        check(Format::Date, &["20240229"], &["20241301", "20240132", "2024022", "2024-2-29"]);
        check(Format::TimeOnly, &["12:34:56", "23:59:60.123"], &["24:00:00", "1:2:3", ""]);
        check(Format::Timestamp, &["20240229-12:34:56"], &["20040415", ""]);
        check(Format::MonthYear, &["202402", "20240229", "202402w3"], &["202413", "202402w6", "2"]);
        check(Format::Any, &["", "x"], &[]);
    }

    #[test]
    fn type_names_have_formats() {
        assert_eq!(Format::from_type_name("CHAR", true), Format::Any);
        assert_eq!(Format::from_type_name("CHAR", false), Format::Char);
        assert_eq!(Format::from_type_name("QTY", false), Format::Float);
        assert_eq!(Format::from_type_name("XMLDATA", false), Format::Data);
    }
}
