//! What is known of a message before it is said.

use core::fmt;

use crate::field::Kind;
use crate::record::VALUES_MAX;

/// How much a message matters: who is on call looks at warnings by day, at errors at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Info,
    /// Somebody did something that matters.
    Notice,
    /// It trades on, and something is not as it should be.
    Warning,
    /// Orders, books or records are at stake.
    Error,
}

impl Level {
    /// Its name in a line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Its number as a priority of syslog's (RFC 5424, section 6.2.1), which systemd's journal has.
    #[must_use]
    pub const fn priority(self) -> u8 {
        match self {
            Self::Error => 3,
            Self::Warning => 4,
            Self::Notice => 5,
            Self::Info => 6,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A row of the table: all that is known of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Such as `GW-0101`: what it is about, and a number that stays its own.
    pub id: &'static str,
    /// How much it matters.
    pub level: Level,
    /// What happened, in a few words.
    pub summary: &'static str,
    /// What that means.
    pub means: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// The names of its values, and what they are.
    pub fields: &'static [(&'static str, Kind)],
}

impl fmt::Display for Code {
    /// As `taut explain` prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, level, summary, means, remedy, fields } = self;
        writeln!(f, "{id} ({level}): {summary}")?;
        if !fields.is_empty() {
            let names = fields.iter().map(|(name, _)| *name);
            write!(f, "\n  says      ")?;
            for (at, name) in names.enumerate() {
                write!(f, "{}{name}", if at == 0 { "" } else { ", " })?;
            }
            writeln!(f)?;
        }
        writeln!(f, "\n  means     {means}")?;
        write!(f, "\n  to do     {remedy}")
    }
}

/// A message that can be said: a type whose fields are its values.
pub trait Message {
    /// Its row in [`CODES`](crate::messages::CODES).
    const NUMBER: u16;

    /// Its values as words, in the order of the row's fields.
    fn words(&self) -> [u64; VALUES_MAX];
}
