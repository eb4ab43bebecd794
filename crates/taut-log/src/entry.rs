//! A message that was said, with all that a line of it holds.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use taut_types::Nanos;

use crate::code::{Code, Message};
use crate::lines::{Quoted, Utc, json_string};
use crate::table::by_number;

/// A value of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u64),
    /// A name or an address.
    Text(String),
}

/// A message that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its row in the table.
    pub code: &'static Code,
    /// When it was said.
    pub utc: Nanos,
    /// What happened, in words.
    pub message: Cow<'static, str>,
    /// Its values with their names.
    pub fields: Vec<(&'static str, Value)>,
    /// What somebody else said about it; empty where nobody did.
    pub detail: String,
    /// How often the same was held back since the last line of it.
    pub repeated: u32,
}

impl Entry {
    /// A message of a thread that has the time to make up its words: no ring is between.
    #[must_use]
    pub fn new<M: Message>(_: &M, utc: Nanos, words: impl Into<String>) -> Self {
        Self {
            code: by_number(M::NUMBER),
            utc,
            message: Cow::Owned(words.into()),
            fields: Vec::new(),
            detail: String::new(),
            repeated: 0,
        }
    }

    /// A line of logfmt, without its end:
    /// `time=2026-01-02T03:04:05.000000006Z level=info code=GW-0101 msg="orders can be sent"`.
    #[must_use]
    pub fn logfmt(&self) -> String {
        let Self { code, utc, message, fields, detail, repeated } = self;
        let (level, id) = (code.level, code.id);
        let mut line = String::new();
        // A string takes it all.
        let _ = write!(line, "time={} level={level} code={id} msg={}", Utc(*utc), Quoted(message));
        for (name, value) in fields {
            let _ = match value {
                Value::Number(number) => write!(line, " {name}={number}"),
                Value::Text(text) => write!(line, " {name}={}", Quoted(text)),
            };
        }
        if !detail.is_empty() {
            let _ = write!(line, " detail={}", Quoted(detail));
        }
        if *repeated > 0 {
            let _ = write!(line, " repeated={repeated}");
        }
        line
    }

    /// The same as an object of JSON in one line.
    #[must_use]
    pub fn json(&self) -> String {
        let Self { code, utc, message, fields, detail, repeated } = self;
        let mut line = String::new();
        let (level, id) = (code.level, code.id);
        let _ = write!(line, r#"{{"time":"{}","level":"{level}","code":"{id}","msg":"#, Utc(*utc));
        json_string(&mut line, message);
        for (name, value) in fields {
            let _ = write!(line, r#","{name}":"#);
            match value {
                Value::Number(number) => _ = write!(line, "{number}"),
                Value::Text(text) => json_string(&mut line, text),
            }
        }
        if !detail.is_empty() {
            line.push_str(r#","detail":"#);
            json_string(&mut line, detail);
        }
        if *repeated > 0 {
            let _ = write!(line, r#","repeated":{repeated}"#);
        }
        line.push('}');
        line
    }

    /// The same as a datagram of systemd's journal (its native protocol): `MESSAGE`, `PRIORITY`,
    /// `TAUT_CODE` and each value as a field `TAUT_...`. A field whose text has more than one line
    /// goes with its length, in 8 bytes, little endian.
    #[must_use]
    pub fn journal(&self, identifier: &str) -> Vec<u8> {
        let Self { code, message, fields, detail, repeated, .. } = self;
        let mut datagram = Vec::new();
        let mut words = String::new();
        let _ = write!(words, "{message}");
        for (name, value) in fields {
            let _ = write!(words, " {name}={value}");
        }
        if !detail.is_empty() {
            let _ = write!(words, ": {detail}");
        }
        if *repeated > 0 {
            let _ = write!(words, " repeated={repeated}");
        }
        journal_field(&mut datagram, "MESSAGE", &words);
        words.clear();
        let _ = write!(words, "{}", code.level.priority());
        journal_field(&mut datagram, "PRIORITY", &words);
        journal_field(&mut datagram, "SYSLOG_IDENTIFIER", identifier);
        journal_field(&mut datagram, "TAUT_CODE", code.id);
        let mut name_of = String::from("TAUT_");
        for (name, value) in fields {
            name_of.truncate("TAUT_".len());
            name_of.extend(name.chars().map(|letter| letter.to_ascii_uppercase()));
            words.clear();
            let _ = write!(words, "{value}");
            journal_field(&mut datagram, &name_of, &words);
        }
        if *repeated > 0 {
            words.clear();
            let _ = write!(words, "{repeated}");
            journal_field(&mut datagram, "TAUT_REPEATED", &words);
        }
        datagram
    }
}

impl fmt::Display for Entry {
    /// A line of [logfmt](Self::logfmt).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.logfmt())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

fn journal_field(datagram: &mut Vec<u8>, name: &str, text: &str) {
    datagram.extend_from_slice(name.as_bytes());
    if text.contains('\n') {
        datagram.push(b'\n');
        datagram.extend_from_slice(&(text.len() as u64).to_le_bytes());
    } else {
        datagram.push(b'=');
    }
    datagram.extend_from_slice(text.as_bytes());
    datagram.push(b'\n');
}
