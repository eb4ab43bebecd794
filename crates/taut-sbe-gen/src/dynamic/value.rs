//! A tree of values, which prints itself as JSON.

use std::fmt::{self, Write as _};

/// A value of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// There is none.
    Null,
    /// An integer.
    Int(i128),
    /// A number of the type `double`.
    Double(f64),
    /// A number of the type `float`.
    Float(f32),
    /// A text, the name of an enum's value, or bytes in hexadecimal digits.
    Text(String),
    /// An array, the entries of a group, or the bits of a set.
    List(Vec<Value>),
    /// Values by name, in the schema's order.
    Record(Vec<(String, Value)>),
}

impl Value {
    /// The value with this name in a record.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Record(items) => items.iter().find(|(key, _)| key == name).map(|(_, item)| item),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Double(value) if value.is_finite() => write!(f, "{value:?}"),
            Self::Double(value) => write!(f, "\"{value:?}\""),
            Self::Float(value) if value.is_finite() => write!(f, "{value:?}"),
            Self::Float(value) => write!(f, "\"{value:?}\""),
            Self::Text(text) => quoted(f, text),
            Self::List(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Self::Record(items) => {
                f.write_str("{")?;
                for (at, (name, item)) in items.iter().enumerate() {
                    f.write_str(if at > 0 { "," } else { "" })?;
                    quoted(f, name)?;
                    write!(f, ":{item}")?;
                }
                f.write_str("}")
            }
        }
    }
}

/// As JSON writes it, and with every character escaped that a terminal would obey, or that changes
/// the direction of what stands behind it.
fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => write!(f, "\\u{:04x}", character as u32)?,
            _ => f.write_char(character)?,
        }
    }
    f.write_str("\"")
}

/// The digits of bytes.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of digits.
pub(super) fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let value =
        |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|&[high, low]| Some(value(high)? << 4 | value(low)?)).collect()
}
