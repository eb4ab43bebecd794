//! The session layer, order entry and market data of FIX 4.4, from the standard (FIX 4.4 with
//! errata 20030618, volumes 1 and 6): the fields that orders and books commonly carry. What the
//! standard requires in messages about positions and venues leave out (Account, AccountType,
//! settlement prices) is optional here. For every field of every message, load an XML dictionary
//! instead.

use alloc::vec::Vec;

use crate::dictionary::builder::{BlockId, DictionaryBuilder, ListedValue, MemberDefinition};
use crate::dictionary::format::Format;
use crate::dictionary::tables::Dictionary;
use crate::error::{FixError, Limit};

/// Tag, name, type and listed values (`value=NAME`, a space between them).
const FIELDS: &str = include_str!("fix44_fields.txt");
/// Blocks: `name type` and members; `*` marks a required one, `453(...)` a group.
const MESSAGES: &str = include_str!("fix44_messages.txt");
const DEPTH_MAX: usize = 8;

/// Builds the tables. Cost: some hundred microseconds and 200 KB.
///
/// # Errors
/// None in practice; the tables are checked by a test.
pub fn fix44() -> Result<Dictionary, FixError> {
    let wrong = FixError::Limit(Limit::DictionarySize);
    let mut builder = DictionaryBuilder::new();
    for line in FIELDS.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(tag), Some(name), Some(kind)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let values: Vec<ListedValue<'_>> = words
            .filter_map(|word| word.split_once('='))
            .map(|(value, name)| (value.as_bytes(), name))
            .collect();
        let tag = tag.parse().map_err(|_| wrong)?;
        builder.field(tag, name, Format::from_type_name(kind, false), &values, false);
    }
    let (mut header, mut trailer) = (None, None);
    for line in MESSAGES.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(kind)) = (words.next(), words.next()) else { continue };
        let block = block(&mut builder, &mut words, 0)?;
        match name {
            "Header" => header = Some(block),
            "Trailer" => trailer = Some(block),
            _ => {
                let is_admin = matches!(kind.as_bytes(), [b'0'..=b'5' | b'A']);
                builder.message(kind.as_bytes(), name, is_admin, block);
            }
        }
    }
    let (header, trailer) = (header.ok_or(wrong)?, trailer.ok_or(wrong)?);
    builder.build("FIX.4.4", header, trailer)
}

/// Members up to the end of the line or of the group.
fn block<'t>(
    builder: &mut DictionaryBuilder,
    words: &mut impl Iterator<Item = &'t str>,
    depth: usize,
) -> Result<BlockId, FixError> {
    let wrong = FixError::Limit(Limit::DictionarySize);
    let mut members = Vec::new();
    while let Some(word) = words.next().filter(|word| *word != ")") {
        let (word, is_group) = word.strip_suffix('(').map_or((word, false), |tag| (tag, true));
        let (word, required) = word.strip_suffix('*').map_or((word, false), |tag| (tag, true));
        let tag = word.parse().map_err(|_| wrong)?;
        if !builder.has_field(tag) || depth > DEPTH_MAX {
            return Err(wrong);
        }
        let group = if is_group { Some(block(builder, words, depth + 1)?) } else { None };
        members.push(MemberDefinition { tag, required, group });
    }
    builder.block(&members)
}

#[cfg(test)]
mod tests {
    use super::{FIELDS, fix44};

    #[test]
    fn the_tables_are_whole() {
        let dictionary = fix44().unwrap();
        let (fields, messages, _) = dictionary.sizes();
        assert_eq!(fields, FIELDS.lines().count());
        assert_eq!(messages, 24);
        assert_eq!(dictionary.message_name(b"D"), Some("NewOrderSingle"));
        assert_eq!(dictionary.value_name(59, b"3"), Some("IMMEDIATE_OR_CANCEL"));
        assert_eq!(dictionary.is_admin(b"A"), Some(true));
        assert_eq!(dictionary.is_admin(b"D"), Some(false));
    }
}
