//! Messages, their groups and their variable-length data.

use std::collections::HashMap;

use crate::error::SchemaError;
use crate::primitive::Charset;
use crate::resolve::elements::{Names, fits, notes};
use crate::resolve::fields::{BLOCK_BYTES_MAX, identity};
use crate::resolve::headers;
use crate::resolve::types::Types;
use crate::schema::{Body, Data, Group, Header, Message, Type};
use crate::xml::Node;

/// What a group without a dimensionType has.
const DIMENSION: &str = "groupSizeEncoding";
/// Deeper nesting is a mistake.
const GROUP_DEPTH_MAX: usize = 32;

pub(super) fn all<'n>(
    root: &'n Node,
    types: &mut Types<'n>,
    header: &Header,
) -> Result<Vec<Message>, SchemaError> {
    let mut names = Names::default();
    let mut ids = HashMap::new();
    let mut messages = Vec::new();
    for node in message_nodes(root) {
        if node.name != "message" {
            return Err(node.error(format!("<{}> stands among the messages", node.name)));
        }
        let name = node.required("name")?;
        names.add(node, "message", name)?;
        let id: u64 = identity(node)?.into();
        if let Some(line) = ids.insert(id, node.place.line) {
            return Err(node.error(format!("message id {id} is already taken in line {line}")));
        }
        let notes = notes(node, types.version)?;
        let body = body(node, types, notes.since, 0)?;
        fits(node, "message id", id, Some(header.template))?;
        fits(node, "blockLength", body.block_length as u64, header.block_length)?;
        messages.push(Message { name: name.to_owned(), id, body, notes });
    }
    Ok(messages)
}

/// What stands where messages do: behind the types, since SBE 2.0 in `<messages>`.
fn message_nodes(root: &Node) -> impl Iterator<Item = &Node> {
    let nodes = root.children.iter().filter(|node| node.name != "types");
    nodes.flat_map(|node| match node.name.as_str() {
        "messages" => node.children.as_slice(),
        _ => std::slice::from_ref(node),
    })
}

fn body<'n>(
    node: &'n Node,
    types: &mut Types<'n>,
    since: u32,
    depth: usize,
) -> Result<Body, SchemaError> {
    if depth > GROUP_DEPTH_MAX {
        return Err(node.error("groups are nested too deep"));
    }
    let mut body =
        Body { block_length: 0, since, fields: Vec::new(), groups: Vec::new(), data: Vec::new() };
    let mut names = Names::default();
    let mut ids = HashMap::new();
    let mut length = 0;
    for child in &node.children {
        if !matches!(child.name.as_str(), "field" | "group" | "data") {
            return Err(child.error(format!("<{}> stands among the fields", child.name)));
        }
        let name = child.required("name")?;
        names.add(child, "field", name)?;
        if let Some(id) = child.number::<u32>("id")?
            && let Some(line) = ids.insert(id, child.place.line)
        {
            let odd = format!("the id {id} of {name} is already taken in line {line}");
            types.warnings.push(child.error(odd));
        }
        match child.name.as_str() {
            "field" if body.is_flat() => {
                let field = types.field(child, length)?;
                length = field.end().max(length);
                body.fields.push(field);
            }
            "group" if body.data.is_empty() => body.groups.push(group(child, types, since, depth)?),
            "data" => body.data.push(data(child, types)?),
            kind => {
                let behind = if body.data.is_empty() { "a group" } else { "data" };
                return Err(child.error(format!(
                    "{kind} {name} stands behind {behind}; fields stand first, then groups, then \
                     data"
                )));
            }
        }
    }
    body.block_length = match node.number("blockLength")? {
        // Like no length at all.
        Some(0) | None => length,
        Some(declared) if declared < length => {
            return Err(node.error(format!(
                "blockLength={declared} is shorter than the fields, which need {length}"
            )));
        }
        Some(declared) => declared,
    };
    if body.block_length > BLOCK_BYTES_MAX {
        return Err(node.error(format!("the block of {} bytes is too long", body.block_length)));
    }
    Ok(body)
}

fn group<'n>(
    node: &'n Node,
    types: &mut Types<'n>,
    outer: u32,
    depth: usize,
) -> Result<Group, SchemaError> {
    let name = node.attribute("dimensionType").unwrap_or(DIMENSION).trim();
    let composite = types.composite(name, node)?;
    let dimension = headers::dimension(types, composite, node)?;
    let notes = notes(node, types.version)?;
    let body = body(node, types, notes.since.max(outer), depth + 1)?;
    fits(node, "blockLength", body.block_length as u64, Some(dimension.block_length))?;
    let id = identity(node)?;
    Ok(Group { name: node.required("name")?.to_owned(), id, dimension, body, notes })
}

fn data<'n>(node: &'n Node, types: &mut Types<'n>) -> Result<Data, SchemaError> {
    let composite = types.composite(node.required("type")?, node)?;
    let (length, bytes) = headers::data(types, composite, node)?;
    let Type::Plain(plain) = &bytes.kind else {
        return Err(node.error("varData is not of a primitive type"));
    };
    let is_text = plain.primitive == crate::primitive::Primitive::Char;
    Ok(Data {
        name: node.required("name")?.to_owned(),
        id: identity(node)?,
        composite,
        length,
        data_offset: length.offset + length.primitive.bytes(),
        charset: plain.charset.or_else(|| is_text.then_some(Charset::Utf8)),
        notes: notes(node, types.version)?,
    })
}
