//! Builds a dictionary. This is the one part of the crate that allocates as it goes.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::codec::data_tags::DataTags;
use crate::dictionary::format::Format;
use crate::dictionary::tables::{
    Block, DENSE_MEMBER_TAGS, DENSE_TAGS, Dictionary, FieldEntry, Glance, MEMBERS_MAX, Member,
    MessageEntry, NONE, Part,
};
use crate::error::{FixError, Limit};

/// A listed value: its text on the wire and its name.
pub type ListedValue<'a> = (&'a [u8], &'a str);

/// A block that was added: what a message, a group, the header or the trailer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockId(u16);

/// A member of a block to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberDefinition {
    /// Its tag, which was added before.
    pub tag: u32,
    /// Whether it must be there.
    pub required: bool,
    /// The block of each entry, when the field counts a group.
    pub group: Option<BlockId>,
}

/// Collects fields first, then blocks (inner groups before outer ones), then messages.
#[derive(Debug, Default)]
pub struct DictionaryBuilder {
    fields: BTreeMap<u32, FieldEntry>,
    blocks: Vec<Vec<MemberDefinition>>,
    messages: BTreeMap<Box<[u8]>, MessageEntry>,
}

impl DictionaryBuilder {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field, or replaces the one with its tag. Without listed values every value goes, and
    /// so does it when `is_open`.
    pub fn field(
        &mut self,
        tag: u32,
        name: &str,
        format: Format,
        values: &[ListedValue<'_>],
        is_open: bool,
    ) {
        let mut listed: Vec<_> =
            values.iter().map(|(value, name)| (Box::from(*value), Box::from(*name))).collect();
        listed.sort();
        let single = values.iter().filter(|(value, _)| value.len() == 1).flat_map(|(v, _)| *v);
        let entry = FieldEntry {
            tag,
            format,
            is_closed: !is_open && !values.is_empty(),
            single: single.filter(|byte| **byte < 128).fold(0, |bits, byte| bits | 1 << byte),
            values: listed.into_boxed_slice(),
            name: Box::from(name),
        };
        self.fields.insert(tag, entry);
    }

    /// Whether a tag was added.
    #[must_use]
    pub fn has_field(&self, tag: u32) -> bool {
        self.fields.contains_key(&tag)
    }

    /// Adds a block; the first member of a group's starts its entries. A tag that comes twice is
    /// required if one of them is.
    ///
    /// # Errors
    /// [`Limit::DictionarySize`].
    pub fn block(&mut self, members: &[MemberDefinition]) -> Result<BlockId, FixError> {
        let id = u16::try_from(self.blocks.len()).ok().filter(|id| *id != NONE);
        let id = id.ok_or(FixError::Limit(Limit::DictionarySize))?;
        self.blocks.push(members.to_vec());
        Ok(BlockId(id))
    }

    /// Adds a type of message.
    pub fn message(&mut self, msg_type: &[u8], name: &str, is_admin: bool, block: BlockId) {
        let entry = MessageEntry {
            msg_type: Box::from(msg_type),
            name: Box::from(name),
            is_admin,
            block: block.0,
        };
        self.messages.insert(Box::from(msg_type), entry);
    }

    /// The finished dictionary.
    ///
    /// # Errors
    /// [`Limit::DictionarySize`] when there is more than can be numbered: 65,534 of fields, blocks
    /// or messages, 1,024 members of a block.
    pub fn build(
        self,
        version: &str,
        header: BlockId,
        trailer: BlockId,
    ) -> Result<Dictionary, FixError> {
        let too_large = FixError::Limit(Limit::DictionarySize);
        let fields: Vec<_> = self.fields.into_values().collect();
        let messages: Vec<_> = self.messages.into_values().collect();
        if fields.len() >= usize::from(NONE) || messages.len() >= usize::from(NONE) {
            return Err(too_large);
        }
        let number = |at: usize| u16::try_from(at).unwrap_or(NONE);
        let mut dense = vec![NONE; DENSE_TAGS].into_boxed_slice();
        for (at, field) in fields.iter().enumerate() {
            if let Some(entry) = dense.get_mut(field.tag as usize) {
                *entry = number(at);
            }
        }
        let mut by_byte = vec![NONE; 256].into_boxed_slice();
        for (at, message) in messages.iter().enumerate() {
            if let [byte] = *message.msg_type
                && let Some(entry) = by_byte.get_mut(usize::from(byte))
            {
                *entry = number(at);
            }
        }
        let part_of = |block: usize| match number(block) {
            block if block == header.0 => Part::Header,
            block if block == trailer.0 => Part::Trailer,
            _ => Part::Body,
        };
        let blocks = self.blocks.iter().enumerate();
        let blocks: Result<Vec<_>, _> =
            blocks.map(|(at, members)| finish_block(&fields, members, part_of(at))).collect();
        Ok(Dictionary {
            version: Box::from(version),
            blocks: blocks?,
            data_tags: data_tags(&fields),
            fields,
            dense,
            messages,
            by_byte,
            header: header.0,
            trailer: trailer.0,
        })
    }
}

/// The lengths of the data fields, by their names or else by the tag before.
fn data_tags(fields: &[FieldEntry]) -> DataTags {
    let lengths = || fields.iter().filter(|it| matches!(it.format, Format::Count | Format::Int));
    let named: BTreeMap<&str, u32> = lengths()
        .filter_map(|it| {
            let data = it.name.strip_suffix("Len").or_else(|| it.name.strip_suffix("Length"))?;
            Some((data, it.tag))
        })
        .collect();
    let before = |tag: u32| {
        let wanted = tag.checked_sub(1);
        lengths().map(|it| it.tag).find(|length| Some(*length) == wanted)
    };
    let data = fields.iter().filter(|it| it.format == Format::Data);
    DataTags::with_extra(data.filter_map(|it| {
        let length = named.get(&*it.name).copied().or_else(|| before(it.tag))?;
        Some((length, it.tag))
    }))
}

fn finish_block(
    fields: &[FieldEntry],
    members: &[MemberDefinition],
    part: Part,
) -> Result<Block, FixError> {
    let at = |tag: u32| fields.binary_search_by_key(&tag, |field| field.tag).ok();
    // One entry for each tag, ascending; the required ones go to the front. BeginString and
    // BodyLength are in every frame, though in no index.
    let is_framed = |tag: u32| part == Part::Header && matches!(tag, 8 | 9);
    let mut merged: BTreeMap<usize, (bool, u16)> = BTreeMap::new();
    for member in members {
        let Some(field) = at(member.tag) else { continue };
        let group = member.group.map_or(NONE, |group| group.0);
        let required = member.required && !is_framed(member.tag);
        let entry = merged.entry(field).or_insert((required, group));
        entry.0 |= required;
    }
    if merged.len() > MEMBERS_MAX {
        return Err(FixError::Limit(Limit::DictionarySize));
    }
    let of = |wanted: bool| {
        let merged = merged.iter().filter(move |(_, (required, _))| *required == wanted);
        merged.filter_map(|(at, (_, group))| {
            let field = fields.get(*at)?;
            let single = if field.is_closed { field.single } else { 0 };
            let member = Member {
                single: [single as u64, (single >> 64) as u64],
                field: u16::try_from(*at).ok()?,
                group: *group,
                format: field.format,
                is_closed: field.is_closed,
                glance: Glance::of(field, *group, part),
            };
            Some((field.tag, member))
        })
    };
    let finished: Vec<(u32, Member)> = of(true).chain(of(false)).collect();
    let mut by_tag = vec![NONE; DENSE_MEMBER_TAGS].into_boxed_slice();
    let mut high = Vec::new();
    for (index, (tag, _)) in finished.iter().enumerate() {
        let index = u16::try_from(index).unwrap_or(NONE);
        match by_tag.get_mut(*tag as usize) {
            Some(entry) => *entry = index,
            None => high.push((*tag, index)),
        }
    }
    high.sort_unstable();
    Ok(Block {
        required_count: of(true).count(),
        members: finished.into_iter().map(|(_, member)| member).collect(),
        by_tag,
        high: high.into_boxed_slice(),
        first_tag: members.first().map_or(0, |member| member.tag),
    })
}

#[cfg(test)]
mod tests {
    use super::{DictionaryBuilder, Format};

    #[test]
    fn lengths_of_data_fields_are_found_by_name_or_by_the_tag_before() {
        let mut builder = DictionaryBuilder::new();
        for (tag, name, kind) in [
            (5001, "BlobLen", "LENGTH"),
            (5005, "Blob", "DATA"),
            (5010, "SizeOfDocument", "INT"),
            (5011, "Document", "XMLDATA"),
            (5020, "NoteLength", "LENGTH"),
            (5021, "Note", "STRING"),
            (5030, "Owner", "STRING"),
            (5031, "Orphan", "DATA"),
            (6000, "MemoLength", "LENGTH"),
            (5999, "Memo", "DATA"),
        ] {
            builder.field(tag, name, Format::from_type_name(kind, false), &[], false);
        }
        let empty = builder.block(&[]).unwrap();
        let dictionary = builder.build("FIX.4.4", empty, empty).unwrap();
        let tags = dictionary.data_tags();
        let found = [5001, 5010, 5020, 5030, 6000, 95].map(|length| tags.data_tag(length));
        assert_eq!(found, [Some(5005), Some(5011), None, None, Some(5999), Some(96)]);
    }
}
