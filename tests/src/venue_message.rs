//! Messages laid out by a venue's schema, field by field, for the tests of decoders that have a
//! schema of their own.

use taut_sbe_gen::{Body, Schema};

/// A message while it is written. Little endian, with the standard header of eight bytes.
#[derive(Debug)]
pub struct VenueMessage<'a> {
    body: &'a Body,
    bytes: Vec<u8>,
}

/// The value of a field, by the field's name.
pub type Named<'a> = (&'a str, i64);

impl<'a> VenueMessage<'a> {
    /// The message with this number and these fields; all other bytes of its block are zero.
    #[must_use]
    pub fn new(schema: &'a Schema, template: u16, fields: &[Named<'_>]) -> Self {
        let found = schema.messages.iter().find(|message| message.id == u64::from(template));
        let body = &found.expect("the schema has the template").body;
        let words = [word(body.block_length), template, word(schema.id), word(schema.version)];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u16::to_le_bytes).collect();
        block(body, fields, &mut bytes);
        Self { body, bytes }
    }

    /// Appends a group, its entries one by one. Groups come in the schema's order.
    #[must_use]
    pub fn group(mut self, name: &str, entries: &[&[Named<'_>]]) -> Self {
        let group = self.body.groups.iter().find(|group| group.name == name).expect("a group");
        let dimension = &group.dimension;
        let start = self.bytes.len();
        self.bytes.resize(start + dimension.size, 0);
        let slots =
            [(&dimension.block_length, group.body.block_length), (&dimension.count, entries.len())];
        for (slot, value) in slots {
            let at = start + slot.offset;
            let size = slot.primitive.bytes();
            self.bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
        for entry in entries {
            block(&group.body, entry, &mut self.bytes);
        }
        self
    }

    /// Appends data behind a length of one byte, and gives the message.
    #[must_use]
    pub fn text(mut self, text: &str) -> Vec<u8> {
        self.bytes.push(u8::try_from(text.len()).expect("a short text"));
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes
    }

    /// The message.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

fn block(body: &Body, fields: &[Named<'_>], bytes: &mut Vec<u8>) {
    let start = bytes.len();
    bytes.resize(start + body.block_length, 0);
    for &(name, value) in fields {
        let field = body.fields.iter().find(|field| field.name == name).expect("a field");
        let at = start + field.offset;
        bytes[at..at + field.size].copy_from_slice(&value.to_le_bytes()[..field.size]);
    }
}

fn word(value: impl TryInto<u16>) -> u16 {
    value.try_into().ok().expect("a header's word")
}
