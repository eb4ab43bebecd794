//! The tables: fields, what each message and group holds, and the names of it all.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::codec::data_tags::DataTags;
use crate::dictionary::format::Format;

/// Tags below this are found without a search.
pub(crate) const DENSE_TAGS: usize = 8192;
/// Members that one message or group can have.
pub(crate) const MEMBERS_MAX: usize = 1024;
/// No field, no block, no member.
pub(crate) const NONE: u16 = u16::MAX;

/// A listed value and its name.
pub(crate) type Listed = (Box<[u8]>, Box<str>);

/// A field: its type and its values.
#[derive(Clone, Debug)]
pub(crate) struct FieldEntry {
    pub tag: u32,
    pub format: Format,
    /// Whether only listed values are allowed.
    pub is_closed: bool,
    /// The listed values of one ASCII byte, by that byte.
    pub single: u128,
    /// All listed values, sorted, with their names.
    pub values: Box<[Listed]>,
    pub name: Box<str>,
}

impl FieldEntry {
    /// Whether the value, or each of several, is a listed one.
    #[inline]
    pub fn lists(&self, value: &[u8]) -> bool {
        match value {
            [byte] if *byte < 128 => self.single >> byte & 1 == 1,
            _ if self.format == Format::Several => {
                value.split(|byte| *byte == b' ').all(|word| self.lists_one(word))
            }
            _ => self.lists_one(value),
        }
    }

    fn lists_one(&self, value: &[u8]) -> bool {
        self.values.binary_search_by(|(listed, _)| (**listed).cmp(value)).is_ok()
    }
}

/// A member of a message or a group, with what most checks of its value need: 32 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The listed values of one ASCII byte, low half first; none when others are allowed too.
    pub single: [u64; 2],
    /// Its field.
    pub field: u16,
    /// The block of its entries, when it counts a group.
    pub group: u16,
    pub format: Format,
    pub is_closed: bool,
    /// What makes a value right at first sight.
    pub glance: Glance,
}

/// How a value is looked at first. Most are right at a glance; others are checked by every rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glance {
    /// Any value.
    Text,
    /// A listed byte.
    Listed,
    /// A few digits, in a decimal with a point among them perhaps.
    Digits,
    /// What the format takes.
    Format,
    /// None: the field counts a group, belongs to another part of the message, is one of the frame,
    /// which stands there already, or holds data, which has its length in the field before.
    Never,
}

impl Glance {
    /// Of a field in a block of this part.
    pub fn of(field: &FieldEntry, group: u16, part: Part) -> Self {
        let tag = field.tag.cast_signed();
        if group != NONE || Part::of(tag) != part || is_of_frame(tag) {
            return Self::Never;
        }
        match field.format {
            Format::Data => Self::Never,
            _ if field.is_closed => Self::Listed,
            Format::Any | Format::Several => Self::Text,
            Format::Int | Format::Count | Format::Float => Self::Digits,
            _ => Self::Format,
        }
    }
}

impl Member {
    /// Whether only listed values are allowed, and this byte is one of them.
    #[inline(always)]
    pub fn lists_byte(&self, byte: u8) -> bool {
        self.single.get(usize::from(byte / 64)).is_some_and(|half| half >> (byte % 64) & 1 == 1)
    }
}

/// BeginString, BodyLength and CheckSum, which are around what is indexed.
pub(crate) const fn is_of_frame(tag: i32) -> bool {
    matches!(tag, 8..=10)
}

/// Which part of a message a field stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Header,
    Body,
    Trailer,
}

impl Part {
    /// Where a tag belongs, in every version.
    #[inline]
    pub fn of(tag: i32) -> Self {
        // A negative tag becomes one that no set holds.
        match tag.cast_unsigned() {
            89 | 93 | 10 => Self::Trailer,
            tag if crate::codec::tag::is_header(tag) => Self::Header,
            _ => Self::Body,
        }
    }
}

/// Tags below this are found in a block without a search.
pub(crate) const DENSE_MEMBER_TAGS: usize = 2048;

/// What a message, a group, the header or the trailer holds.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The required members come first, by ascending tag.
    pub members: Box<[Member]>,
    pub required_count: usize,
    /// Member by tag below [`DENSE_MEMBER_TAGS`]; `NONE` for tags that do not belong here.
    pub by_tag: Box<[u16]>,
    /// The other members by tag, sorted.
    pub high: Box<[(u32, u16)]>,
    /// The tag that starts an entry of a group.
    pub first_tag: u32,
}

impl Block {
    /// The place of a member and what it is. Negative tags, as large numbers, are none.
    #[inline]
    pub fn member(&self, tag: i32) -> Option<(usize, &Member)> {
        let tag = tag.cast_unsigned();
        let at = match self.by_tag.get(tag as usize) {
            Some(at) => *at,
            None => self.search(tag)?,
        };
        Some((usize::from(at), self.members.get(usize::from(at))?))
    }

    #[cold]
    fn search(&self, tag: u32) -> Option<u16> {
        let at = self.high.binary_search_by_key(&tag, |(tag, _)| *tag).ok()?;
        self.high.get(at).map(|(_, member)| *member)
    }
}

/// A type of message.
#[derive(Clone, Debug)]
pub(crate) struct MessageEntry {
    pub msg_type: Box<[u8]>,
    pub name: Box<str>,
    pub is_admin: bool,
    pub block: u16,
}

/// Everything that a version or a dialect allows. Built by
/// [`DictionaryBuilder`](crate::DictionaryBuilder), then never changed; share it by reference.
#[derive(Clone, Debug)]
pub struct Dictionary {
    pub(crate) version: Box<str>,
    pub(crate) fields: Vec<FieldEntry>,
    /// Field by tag below [`DENSE_TAGS`].
    pub(crate) dense: Box<[u16]>,
    pub(crate) messages: Vec<MessageEntry>,
    /// Message by type of one ASCII byte.
    pub(crate) by_byte: Box<[u16]>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) header: u16,
    pub(crate) trailer: u16,
    pub(crate) data_tags: DataTags,
}

impl Dictionary {
    /// The version that it is for, as BeginString (8) or ApplVerID's name: `FIX.4.4`, `FIX.5.0SP2`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The name of a tag.
    #[must_use]
    pub fn field_name(&self, tag: u32) -> Option<&str> {
        Some(&self.field(tag)?.1.name)
    }

    /// The tag with this name. Cost: a walk over all fields.
    #[must_use]
    pub fn tag_of(&self, name: &str) -> Option<u32> {
        self.fields.iter().find(|field| *field.name == *name).map(|field| field.tag)
    }

    /// The name of a listed value.
    #[must_use]
    pub fn value_name(&self, tag: u32, value: &[u8]) -> Option<&str> {
        let (_, field) = self.field(tag)?;
        let at = field.values.binary_search_by(|(listed, _)| (**listed).cmp(value)).ok()?;
        field.values.get(at).map(|(_, name)| &**name)
    }

    /// The format of a tag's values.
    #[must_use]
    pub fn format(&self, tag: u32) -> Option<Format> {
        Some(self.field(tag)?.1.format)
    }

    /// Its data fields and their lengths, with the standard's. The length of a data field is the
    /// field that is named like it with `Len` or `Length` behind, or else the one with the tag
    /// before its own.
    #[must_use]
    pub const fn data_tags(&self) -> &DataTags {
        &self.data_tags
    }

    /// The name of a type of message.
    #[must_use]
    pub fn message_name(&self, msg_type: &[u8]) -> Option<&str> {
        Some(&self.message(msg_type)?.name)
    }

    /// Whether it is a message of the session layer; `None` for a type that is not known.
    #[must_use]
    pub fn is_admin(&self, msg_type: &[u8]) -> Option<bool> {
        Some(self.message(msg_type)?.is_admin)
    }

    /// How many fields, types of message, and blocks (messages and groups) it has.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize, usize) {
        (self.fields.len(), self.messages.len(), self.blocks.len())
    }

    #[inline]
    pub(crate) fn field(&self, tag: u32) -> Option<(u16, &FieldEntry)> {
        let at = match self.dense.get(tag as usize) {
            Some(at) => usize::from(*at),
            None => self.fields.binary_search_by_key(&tag, |field| field.tag).ok()?,
        };
        Some((u16::try_from(at).ok()?, self.fields.get(at)?))
    }

    #[inline]
    pub(crate) fn message(&self, msg_type: &[u8]) -> Option<&MessageEntry> {
        let at = match msg_type {
            [byte] => usize::from(*self.by_byte.get(usize::from(*byte))?),
            _ => {
                self.messages.binary_search_by(|message| (*message.msg_type).cmp(msg_type)).ok()?
            }
        };
        self.messages.get(at)
    }

    #[inline]
    pub(crate) fn block(&self, block: u16) -> Option<&Block> {
        self.blocks.get(usize::from(block))
    }
}
