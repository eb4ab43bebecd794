//! What is known of a message before it is said.

use alloc::string::String;
use core::fmt::{self, Write};

use crate::field::Kind;
use crate::messages::CODES;
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
    /// Its row in [`CODES`].
    const NUMBER: u16;

    /// Its values as words, in the order of the row's fields.
    fn words(&self) -> [u64; VALUES_MAX];

    /// Its row.
    #[must_use]
    fn code() -> &'static Code {
        by_number(Self::NUMBER)
    }
}

/// The first row.
const FIRST: &Code = match CODES {
    [first, ..] => first,
    [] => unreachable!(),
};

/// The row of a number; the first one for a number that is none.
pub(crate) fn by_number(number: u16) -> &'static Code {
    CODES.get(usize::from(number)).unwrap_or(FIRST)
}

/// The row of a code such as `GW-0101`, in capitals or not.
#[must_use]
pub fn code(id: &str) -> Option<&'static Code> {
    CODES.iter().find(|code| code.id.eq_ignore_ascii_case(id))
}

/// The whole table as a page.
#[must_use]
pub fn codes_markdown() -> String {
    let mut page = String::from(
        "# Codes of messages\n\nWhat a gateway or a venue says on standard error or in systemd's \
         journal has a code; `taut explain CODE`\nprints what stands here. This page is the print \
         of the table in `crates/taut-log/src/messages.rs`\n(`taut explain --markdown`), and a \
         test holds it against it. How messages are written and how many:\n\
         [operate](operate/README.md#logs).\n",
    );
    let mut part = "";
    for code in CODES {
        let prefix = code.id.get(..5).unwrap_or(code.id);
        if prefix != part {
            part = prefix;
            let _ = write!(page, "\n## {}\n", part_title(part));
        }
        let Code { id, level, summary, means, remedy, fields } = code;
        let _ = write!(page, "\n### {id}\n\n*{level}*: {summary}");
        for (at, (name, _)) in fields.iter().enumerate() {
            let _ = write!(page, "{}`{name}`", if at == 0 { "; says " } else { ", " });
        }
        let _ = write!(page, ".\n\n{means}\n\n**To do:** {remedy}\n");
    }
    page
}

/// What the codes with this beginning are about.
fn part_title(prefix: &str) -> &'static str {
    match prefix {
        "GW-00" => "GW-00: a gateway's process",
        "GW-01" => "GW-01: orders and the session that carries them",
        "GW-02" => "GW-02: market data",
        "GW-04" => "GW-04: kills and limits",
        "GW-05" => "GW-05: what is written down, and copies",
        "GW-06" => "GW-06: strategies",
        "GW-07" => "GW-07: operation",
        "VN-00" => "VN-00: a venue's process",
        _ => "LG-00: the log itself",
    }
}
