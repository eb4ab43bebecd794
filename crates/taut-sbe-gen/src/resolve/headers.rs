//! The composites that carry lengths and counts: message headers, group dimensions, data lengths.

use crate::error::SchemaError;
use crate::primitive::{Literal, Primitive};
use crate::resolve::types::Types;
use crate::schema::{Composite, CompositeId, Dimension, Field, Header, Slot, Type};
use crate::xml::Node;

/// How venues call the parts, in lower case and without separators.
const BLOCK_LENGTH: &[&str] = &["blocklength", "rootblocklength"];
const TEMPLATE: &[&str] = &["templateid", "messageid", "msgid", "messagetype", "msgtype"];
const SCHEMA: &[&str] = &["schemaid"];
const VERSION: &[&str] = &["version", "schemaversion"];
const COUNT: &[&str] = &["numingroup", "groupcount", "count"];
const GROUP_COUNT: &[&str] = &["numgroups", "numberofgroups"];
const DATA_COUNT: &[&str] = &["numvardatafields", "numvardata", "numberofvardata"];
const LENGTH: &[&str] = &["length"];
const VAR_DATA: &[&str] = &["vardata", "data"];

pub(super) fn message_header(
    types: &Types<'_>,
    id: CompositeId,
    at: &Node,
) -> Result<Header, SchemaError> {
    let composite = &types.composites[id.0];
    let parts = [BLOCK_LENGTH, TEMPLATE, SCHEMA, VERSION, GROUP_COUNT, DATA_COUNT];
    let [block_length, template, schema, version, group_count, data_count] =
        parts.map(|names| slot(composite, names));
    let extras = (0..composite.fields.len())
        .filter(|&at| !parts.iter().any(|names| find(composite, names) == Some(at)))
        .collect();
    Ok(Header {
        composite: id,
        size: composite.size,
        block_length,
        template: template.ok_or_else(|| {
            at.error(format!(
                "header type {} has no integer templateId on the wire",
                composite.name
            ))
        })?,
        schema,
        version,
        group_count,
        data_count,
        extras,
    })
}

pub(super) fn dimension(
    types: &Types<'_>,
    id: CompositeId,
    at: &Node,
) -> Result<Dimension, SchemaError> {
    let composite = &types.composites[id.0];
    let lacks = |part| {
        at.error(format!("dimensionType {} has no integer {part} on the wire", composite.name))
    };
    Ok(Dimension {
        composite: id,
        size: composite.size,
        block_length: slot(composite, BLOCK_LENGTH).ok_or_else(|| lacks("blockLength"))?,
        count: slot(composite, COUNT).ok_or_else(|| lacks("numInGroup"))?,
        group_count: slot(composite, GROUP_COUNT),
        data_count: slot(composite, DATA_COUNT),
    })
}

/// The length of variable-length data, and its bytes, which stand right behind it.
pub(super) fn data<'t>(
    types: &'t Types<'_>,
    id: CompositeId,
    at: &Node,
) -> Result<(Slot, &'t Field), SchemaError> {
    let composite = &types.composites[id.0];
    let lacks = |part| at.error(format!("type {} of data has no {part}", composite.name));
    let length = slot(composite, LENGTH).ok_or_else(|| lacks("integer length on the wire"))?;
    let is_open = |field: &&Field| matches!(&field.kind, Type::Plain(plain) if plain.length == 0);
    let bytes = composite
        .fields
        .iter()
        .find(is_open)
        .or_else(|| find(composite, VAR_DATA).map(|at| &composite.fields[at]))
        .ok_or_else(|| lacks("varData"))?;
    if bytes.offset < length.offset + length.primitive.bytes() {
        return Err(lacks("varData behind its length"));
    }
    if length.offset > 0 {
        return Err(lacks("length at its start"));
    }
    let is_part = |field: &&Field| {
        field.is_constant() || field.offset == length.offset || std::ptr::eq(*field, bytes)
    };
    if let Some(other) = composite.fields.iter().find(|field| !is_part(field)) {
        let (name, other) = (&composite.name, &other.name);
        return Err(at.error(format!(
            "type {name} of data has {other} beside its length and its bytes, which follow each \
             other; write {other} as a field"
        )));
    }
    Ok((length, bytes))
}

fn find(composite: &Composite, names: &[&str]) -> Option<usize> {
    let position = |name| composite.fields.iter().position(|field| plain_name(field) == name);
    names.iter().copied().find_map(position)
}

fn plain_name(field: &Field) -> String {
    field.name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

/// The integer of a member, and the largest value that may be written to it.
fn integer(field: &Field) -> Option<(Primitive, u64)> {
    let Type::Plain(plain) = &field.kind else { return None };
    if plain.is_array() || field.is_constant() {
        return None;
    }
    let Primitive::Int { signed, .. } = plain.primitive else { return None };
    let (_, top) = plain.primitive.range()?;
    // Without a maxValue the largest number of an unsigned type is its null.
    let default = if signed { top } else { top - 1 };
    let max = match plain.max {
        Some(Literal::Int(max)) => max,
        _ => default,
    };
    Some((plain.primitive, u64::try_from(max).unwrap_or(0)))
}

fn slot(composite: &Composite, names: &[&str]) -> Option<Slot> {
    let field = composite.fields.get(find(composite, names)?)?;
    let (primitive, max) = integer(field)?;
    Some(Slot { offset: field.offset, primitive, max })
}
