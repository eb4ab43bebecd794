//! Why bytes are not a message, or a message does not become bytes.

use core::fmt;

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the part of the message that starts at `offset` does.
    Truncated {
        /// In bytes from the start of what was decoded.
        offset: usize,
    },
    /// A block, a length or a count at `offset` cannot be what a peer with this schema wrote.
    Malformed {
        /// In bytes from the start of what was decoded.
        offset: usize,
    },
    /// It is another message than the one asked for, or one that the schema does not have.
    OtherTemplate {
        /// What its header says.
        template: u64,
    },
    /// It is a message of another schema.
    OtherSchema {
        /// What its header says.
        schema: u64,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { offset } => {
                write!(f, "the message ends within what starts at byte {offset}")
            }
            Self::Malformed { offset } => write!(f, "malformed message at byte {offset}"),
            Self::OtherTemplate { template } => write!(f, "unexpected template {template}"),
            Self::OtherSchema { schema } => write!(f, "message of schema {schema}"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Why a message was not written. What the buffer holds is then not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer is too short.
    Full,
    /// The group has more entries than its count can say.
    TooManyEntries {
        /// How many it can have.
        count_max: u64,
    },
    /// The text or data is longer than its field or its length can say.
    TooLong {
        /// How long it can be.
        length_max: u64,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the buffer is too short for the message"),
            Self::TooManyEntries { count_max } => {
                write!(f, "the group can have {count_max} entries at most")
            }
            Self::TooLong { length_max } => {
                write!(f, "the field can have {length_max} bytes at most")
            }
        }
    }
}

impl core::error::Error for EncodeError {}

/// A decoding error before its offset is known: how many bytes were left where it was found.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    left: usize,
    truncated: bool,
}

impl Cut {
    /// The bytes end before the part does that starts with `rest`.
    #[must_use]
    #[inline]
    pub const fn truncated(rest: &[u8]) -> Self {
        Self { left: rest.len(), truncated: true }
    }

    /// What `rest` starts with cannot be.
    #[must_use]
    #[inline]
    pub const fn malformed(rest: &[u8]) -> Self {
        Self { left: rest.len(), truncated: false }
    }

    /// The error of a decoder that began with `whole`.
    #[must_use]
    #[inline]
    pub const fn within(self, whole: &[u8]) -> DecodeError {
        let offset = whole.len().saturating_sub(self.left);
        if self.truncated {
            DecodeError::Truncated { offset }
        } else {
            DecodeError::Malformed { offset }
        }
    }
}
