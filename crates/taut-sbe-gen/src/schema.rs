//! A schema with everything resolved: the intermediate form between XML and code.

use std::ops::Index;

use crate::error::SchemaError;
use crate::primitive::{ByteOrder, Charset, Literal, Primitive};

/// A resolved schema.
#[derive(Debug)]
pub struct Schema {
    /// Its package name.
    pub package: String,
    /// Its number, which stands in message headers.
    pub id: u64,
    /// Its version.
    pub version: u32,
    /// What it says about itself.
    pub description: String,
    /// The order of the bytes in numbers.
    pub byte_order: ByteOrder,
    /// What stands before every message.
    pub header: Header,
    /// Composite types; nested ones stand before those that contain them.
    pub composites: Vec<Composite>,
    /// Enumerations.
    pub enums: Vec<Enum>,
    /// Sets of bits.
    pub sets: Vec<Set>,
    /// The messages in the order of the file.
    pub messages: Vec<Message>,
    /// What is odd but not wrong.
    pub warnings: Vec<SchemaError>,
}

impl Schema {
    /// The encoded length of one value of a type.
    #[must_use]
    pub fn size(&self, of: &Type) -> usize {
        match of {
            Type::Plain(plain) => plain.primitive.bytes() * plain.length,
            Type::Composite(at) => self[*at].size,
            Type::Enum(at) => self[*at].primitive.bytes(),
            Type::Set(at) => self[*at].primitive.bytes(),
        }
    }

    /// The message with this name.
    #[must_use]
    pub fn message(&self, name: &str) -> Option<&Message> {
        self.messages.iter().find(|message| message.name == name)
    }
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $list:ident: $item:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) usize);

        impl Index<$name> for Schema {
            type Output = $item;
            fn index(&self, at: $name) -> &$item {
                &self.$list[at.0]
            }
        }
    };
}

handle!(
    /// A composite of the schema that it came from.
    CompositeId, composites: Composite
);
handle!(
    /// An enumeration of the schema that it came from.
    EnumId, enums: Enum
);
handle!(
    /// A set of the schema that it came from.
    SetId, sets: Set
);

/// What a schema tells about a definition beside its shape.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Its description.
    pub description: String,
    /// What it means in FIX.
    pub semantic_type: Option<String>,
    /// The schema version that brought it.
    pub since: u32,
    /// The schema version that deprecated it.
    pub deprecated: Option<u32>,
}

/// The type of a field.
#[derive(Clone, Debug)]
pub enum Type {
    /// A primitive or an array of one.
    Plain(Plain),
    /// A composite.
    Composite(CompositeId),
    /// An enumeration.
    Enum(EnumId),
    /// A set of bits.
    Set(SetId),
}

/// A primitive value, or an array of them.
#[derive(Clone, Debug)]
pub struct Plain {
    /// Of what.
    pub primitive: Primitive,
    /// How many; 1 is a single value unless `array` is set, 0 has a variable length.
    pub length: usize,
    /// The characters, when it is text.
    pub charset: Option<Charset>,
    /// The smallest value, where the schema names one.
    pub min: Option<Literal>,
    /// The largest value, where the schema names one.
    pub max: Option<Literal>,
    /// What stands for "no value".
    pub null: Literal,
}

impl Plain {
    /// Whether it is more than one value.
    #[must_use]
    pub const fn is_array(&self) -> bool {
        self.length != 1
    }

    /// Whether it is an array of characters.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.is_array() && self.primitive == Primitive::Char
    }
}

/// Whether a value must be, may be or cannot be there.
#[derive(Clone, Debug)]
pub enum Presence {
    /// It is always there.
    Required,
    /// It may be null.
    Optional,
    /// It is not on the wire: the schema says what it is.
    Constant(Constant),
}

/// A value that is in the schema and not on the wire.
#[derive(Clone, Debug)]
pub enum Constant {
    /// A number or a text.
    Value(Literal),
    /// A value of an enumeration, by its index there.
    Choice(EnumId, usize),
}

/// A field of a block or a member of a composite.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its number; 0 for members of composites.
    pub id: u32,
    /// Its type.
    pub kind: Type,
    /// Whether it is there.
    pub presence: Presence,
    /// Where it starts in its block.
    pub offset: usize,
    /// Its encoded length; 0 for a constant.
    pub size: usize,
    /// The rest.
    pub notes: Notes,
}

impl Field {
    /// The byte behind it.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.offset + self.size
    }

    /// Whether the schema says its value.
    #[must_use]
    pub const fn is_constant(&self) -> bool {
        matches!(self.presence, Presence::Constant(_))
    }
}

/// Values that always stand together.
#[derive(Clone, Debug)]
pub struct Composite {
    /// Its name.
    pub name: String,
    /// The composites around it, outermost first, when it is defined inside another.
    pub inside: Option<String>,
    /// Its members.
    pub fields: Vec<Field>,
    /// Its encoded length.
    pub size: usize,
    /// Whether a member has a variable length.
    pub has_var_data: bool,
    /// The rest.
    pub notes: Notes,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Its name.
    pub name: String,
    /// The composite that it is defined in.
    pub inside: Option<String>,
    /// How its values are encoded.
    pub primitive: Primitive,
    /// What stands for "no value".
    pub null: i128,
    /// Its values.
    pub values: Vec<Choice>,
    /// The rest.
    pub notes: Notes,
}

/// A set of bits.
#[derive(Clone, Debug)]
pub struct Set {
    /// Its name.
    pub name: String,
    /// The composite that it is defined in.
    pub inside: Option<String>,
    /// How it is encoded.
    pub primitive: Primitive,
    /// Its bits, each with its number.
    pub choices: Vec<Choice>,
    /// The rest.
    pub notes: Notes,
}

/// A value of an enumeration or a bit of a set.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Its name.
    pub name: String,
    /// Its value, or the number of its bit from the least significant.
    pub value: i128,
    /// The rest.
    pub notes: Notes,
}

/// An integer somewhere in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Where it starts.
    pub offset: usize,
    /// How it is encoded.
    pub primitive: Primitive,
    /// The largest value that may be written.
    pub max: u64,
}

/// What stands before every message. A part that its composite lacks is taken from the schema.
#[derive(Clone, Debug)]
pub struct Header {
    /// Its composite.
    pub composite: CompositeId,
    /// Its encoded length.
    pub size: usize,
    /// The length of the root block.
    pub block_length: Option<Slot>,
    /// The number of the message.
    pub template: Slot,
    /// The number of the schema.
    pub schema: Option<Slot>,
    /// The version of the schema.
    pub version: Option<Slot>,
    /// How many groups the message has.
    pub group_count: Option<Slot>,
    /// How many variable-length fields the message has.
    pub data_count: Option<Slot>,
    /// The indices of all other members.
    pub extras: Vec<usize>,
}

/// What stands before the entries of a group.
#[derive(Clone, Debug)]
pub struct Dimension {
    /// Its composite.
    pub composite: CompositeId,
    /// Its encoded length.
    pub size: usize,
    /// The length of an entry's block.
    pub block_length: Slot,
    /// The number of entries.
    pub count: Slot,
    /// How many groups an entry has.
    pub group_count: Option<Slot>,
    /// How many variable-length fields an entry has.
    pub data_count: Option<Slot>,
}

/// A block of fields, the groups behind it, and the variable-length data behind those: the body of
/// a message or an entry of a group.
#[derive(Clone, Debug)]
pub struct Body {
    /// The length of the block in this version.
    pub block_length: usize,
    /// The schema version that the body has always had.
    pub since: u32,
    /// The fields.
    pub fields: Vec<Field>,
    /// The groups.
    pub groups: Vec<Group>,
    /// The variable-length data.
    pub data: Vec<Data>,
}

impl Body {
    /// The length of the block in the oldest version of it: all later ones are at least as long.
    #[must_use]
    pub fn oldest_block_length(&self) -> usize {
        self.block_length_at(self.since)
    }

    /// The end of the last field that a version of the schema has, or the whole block's length
    /// when it has all of them.
    #[must_use]
    pub fn block_length_at(&self, version: u32) -> usize {
        let of_version = self.fields.iter().filter(|field| field.notes.since <= version);
        of_version.map(Field::end).max().unwrap_or(0)
    }

    /// Whether a field came after the body itself.
    #[must_use]
    pub const fn is_newer(&self, notes: &Notes) -> bool {
        notes.since > self.since
    }

    /// Whether nothing follows its block.
    #[must_use]
    pub const fn is_flat(&self) -> bool {
        self.groups.is_empty() && self.data.is_empty()
    }
}

/// A repeating group.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its number.
    pub id: u32,
    /// What stands before its entries.
    pub dimension: Dimension,
    /// An entry.
    pub body: Body,
    /// The rest.
    pub notes: Notes,
}

/// Data of variable length behind its length.
#[derive(Clone, Debug)]
pub struct Data {
    /// Its name.
    pub name: String,
    /// Its number.
    pub id: u32,
    /// Its composite.
    pub composite: CompositeId,
    /// The length.
    pub length: Slot,
    /// Where the data starts behind the start of the composite.
    pub data_offset: usize,
    /// The characters, when it is text.
    pub charset: Option<Charset>,
    /// The rest.
    pub notes: Notes,
}

/// A message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its name.
    pub name: String,
    /// Its number, which stands in its header.
    pub id: u64,
    /// What it holds.
    pub body: Body,
    /// The rest.
    pub notes: Notes,
}
