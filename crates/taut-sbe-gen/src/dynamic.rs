//! Messages by their schema at run time, without generated code: for tools and tests. A message
//! becomes a tree of values, and a tree a message.

mod decode;
mod encode;
mod numbers;
mod value;

use std::fmt;

pub use value::Value;

/// More entries than this must consume bytes.
const EMPTY_ENTRIES_MAX: usize = 65_535;

/// A message with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicMessage {
    /// Its name in the schema.
    pub message: String,
    /// Its number.
    pub template: u64,
    /// The version of the schema that its sender has.
    pub version: u32,
    /// The length of its root block, when it is not the one of that version in this schema.
    pub block_length: Option<usize>,
    /// What its header says beside template, schema, version and lengths; may be empty.
    pub header: Vec<(String, Value)>,
    /// Its fields, groups and data by name: a [`Value::Record`].
    pub fields: Value,
}

impl fmt::Display for DynamicMessage {
    /// One line of JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{{\"message\":\"{}\",\"template\":{},\"version\":{}",
            self.message, self.template, self.version
        )?;
        if let Some(length) = self.block_length {
            write!(f, ",\"block_length\":{length}")?;
        }
        if !self.header.is_empty() {
            write!(f, ",\"header\":{}", Value::Record(self.header.clone()))?;
        }
        write!(f, ",\"fields\":{}}}", self.fields)
    }
}

/// Why bytes are not a message, or values do not make one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DynamicError {
    /// The bytes end before the part of the message that starts at `offset` does.
    Truncated {
        /// In bytes from the start.
        offset: usize,
    },
    /// A length or a count cannot be right.
    Malformed {
        /// In bytes from the start.
        offset: usize,
    },
    /// The schema has no message with this number.
    OtherTemplate(u64),
    /// It is a message of the schema with this number.
    OtherSchema(u64),
    /// A value is missing, of the wrong kind, or does not fit: where, and what.
    Value {
        /// The path of names to it.
        path: String,
        /// What is wrong.
        problem: String,
    },
}

impl fmt::Display for DynamicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { offset } => {
                write!(f, "the message ends within what starts at byte {offset}")
            }
            Self::Malformed { offset } => write!(f, "malformed message at byte {offset}"),
            Self::OtherTemplate(template) => write!(f, "the schema has no template {template}"),
            Self::OtherSchema(schema) => write!(f, "a message of schema {schema}"),
            Self::Value { path, problem } => write!(f, "{path}: {problem}"),
        }
    }
}

impl std::error::Error for DynamicError {}
