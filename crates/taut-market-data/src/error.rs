//! What can be wrong with a venue's message.

use core::fmt;

/// Why a message gives no events. Nothing of it has been handed over then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarketDataError {
    /// The venue, or the way from it: the message is not what the venue documents.
    Malformed {
        /// Where in the message, in bytes.
        offset: usize,
        /// What should stand there.
        expected: Expected,
    },
    /// The caller's room: the message has more levels than the decoder was built for.
    TooManyLevels {
        /// How many it has room for.
        levels_max: usize,
    },
}

/// What should have stood where a message is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// JSON, or more of it.
    Json,
    /// A string without escapes.
    Text,
    /// An integer from 0 to 2^64 - 1.
    Number,
    /// A number that the scale holds exactly.
    Decimal,
    /// A price above zero with at most nine decimals.
    Price,
    /// A size of zero or more with no more decimals than the decoder was built for.
    Size,
    /// A field that this kind of message must have.
    Field(&'static str),
    /// A first id `U` that is not above the last id `u`.
    IdsInOrder,
    /// The rest of a message that ends early.
    Bytes,
    /// A value of the venue's schema.
    Value,
}

impl fmt::Display for MarketDataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Malformed { offset, expected } => {
                write!(f, "{expected} is expected at byte {offset} of the message")
            }
            Self::TooManyLevels { levels_max } => write!(
                f,
                "the message has more than {levels_max} levels: build the decoder for more"
            ),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Json => f.write_str("JSON of the documented shape"),
            Self::Text => f.write_str("a string without escapes"),
            Self::Number => f.write_str("an integer from 0 to 2^64 - 1"),
            Self::Decimal => f.write_str("a number that the scale holds exactly"),
            Self::Price => f.write_str("a price above zero with at most nine decimals"),
            Self::Size => f.write_str("a size of zero or more that the scale can hold"),
            Self::Field(name) => write!(f, "a field \"{name}\""),
            Self::IdsInOrder => f.write_str("a first id U that is not above the last id u"),
            Self::Bytes => f.write_str("the rest of the message"),
            Self::Value => f.write_str("a value of the schema"),
        }
    }
}

impl core::error::Error for MarketDataError {}
