//! What a block holds before anything in it is set.

use crate::primitive::Literal;
use crate::schema::{Field, Presence, Schema, Type};

impl Schema {
    /// The bytes of a field that nobody has set: null where it can be, zero where not.
    pub(crate) fn blank(&self, field: &Field) -> Vec<u8> {
        let optional = is_nullable(field);
        match &field.kind {
            Type::Plain(plain) if optional => {
                self.byte_order.encode(plain.primitive, &plain.null).repeat(plain.length)
            }
            Type::Enum(id) if optional => {
                self.byte_order.encode(self[*id].primitive, &Literal::Int(self[*id].null))
            }
            Type::Composite(id) if !field.is_constant() => {
                self.blank_block(&self[*id].fields, self[*id].size)
            }
            _ => vec![0; field.size],
        }
    }

    /// The bytes of a block in which nothing has been set.
    pub(crate) fn blank_block(&self, fields: &[Field], size: usize) -> Vec<u8> {
        let mut block = vec![0; size];
        for field in fields.iter().filter(|field| !field.is_constant()) {
            // A block of an older version does not have the newer fields.
            if let Some(to) = block.get_mut(field.offset..field.end()) {
                to.copy_from_slice(&self.blank(field));
            }
        }
        block
    }
}

/// Whether a field's bytes can say that there is no value.
pub(crate) const fn is_nullable(field: &Field) -> bool {
    matches!(field.presence, Presence::Optional)
        && matches!(field.kind, Type::Plain(_) | Type::Enum(_))
}
