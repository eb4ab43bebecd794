//! From a schema's XML to what it means: types looked up, offsets computed, mistakes found.

mod fields;
mod headers;
mod messages;
mod types;

use std::collections::HashMap;
use std::path::Path;

use crate::error::SchemaError;
use crate::primitive::ByteOrder;
use crate::schema::{Header, Notes, Schema, Slot};
use crate::xml::{self, Node};
use types::Types;

impl Schema {
    /// Reads a schema from a file; what it includes must lie in the same folder.
    ///
    /// # Errors
    /// The first mistake with its file and line.
    pub fn read(path: &Path) -> Result<Self, SchemaError> {
        resolve(&xml::read_file(path)?)
    }

    /// Reads a schema from text. `name` stands in errors; includes are looked up in `folder`.
    ///
    /// # Errors
    /// The first mistake with its line.
    pub fn parse(name: &Path, text: &str, folder: &Path) -> Result<Self, SchemaError> {
        resolve(&xml::read_text(name, text, folder)?)
    }
}

fn resolve(root: &Node) -> Result<Schema, SchemaError> {
    if root.name != "messageSchema" {
        return Err(root.error(format!("the root is <{}>, not <messageSchema>", root.name)));
    }
    let byte_order = match root.attribute("byteOrder").map(str::trim) {
        None | Some("littleEndian") => ByteOrder::Little,
        Some("bigEndian") => ByteOrder::Big,
        Some(other) => {
            return Err(
                root.error(format!("byteOrder=\"{other}\" is neither littleEndian nor bigEndian"))
            );
        }
    };
    let id = root.number("id")?.ok_or_else(|| root.error("<messageSchema> has no attribute id"))?;
    let version = root.number("version")?.unwrap_or(0);
    let mut types = Types::collect(root, version)?;
    types.resolve_all()?;
    let header = header(root, &mut types)?;
    let messages = messages::all(root, &mut types, &header)?;
    fits(root, "id", id, header.schema)?;
    fits(root, "version", version.into(), header.version)?;
    Ok(Schema {
        package: root.attribute("package").unwrap_or_default().trim().to_owned(),
        id,
        version,
        description: root.attribute("description").unwrap_or_default().to_owned(),
        byte_order,
        header,
        composites: types.composites,
        enums: types.enums,
        sets: types.sets,
        messages,
        warnings: types.warnings,
    })
}

fn header(root: &Node, types: &mut Types<'_>) -> Result<Header, SchemaError> {
    let name = root.attribute("headerType").unwrap_or("messageHeader").trim();
    let composite = types.composite(name, root)?;
    headers::message_header(types, composite, root)
}

/// Whether a number can stand in its place in a header.
fn fits(node: &Node, what: &str, value: u64, slot: Option<Slot>) -> Result<(), SchemaError> {
    let Some((slot, (_, top))) = slot.and_then(|slot| Some((slot, slot.primitive.range()?))) else {
        return Ok(());
    };
    if i128::from(value) <= top {
        return Ok(());
    }
    let name = slot.primitive.name();
    Err(node.error(format!("{what} {value} does not fit its place in the header, a {name}")))
}

/// Description, meaning and versions of a definition.
fn notes(node: &Node, schema_version: u32) -> Result<Notes, SchemaError> {
    let since = node.number("sinceVersion")?.unwrap_or(0);
    if since > schema_version {
        return Err(node.error(format!(
            "sinceVersion={since} is above the schema's version {schema_version}"
        )));
    }
    Ok(Notes {
        description: node.attribute("description").unwrap_or_default().trim().to_owned(),
        semantic_type: node.attribute("semanticType").map(|name| name.trim().to_owned()),
        since,
        deprecated: node.number("deprecated")?,
    })
}

/// Says that a name is used twice.
#[derive(Default)]
struct Names(HashMap<String, u32>);

impl Names {
    fn add(&mut self, node: &Node, what: &str, name: &str) -> Result<(), SchemaError> {
        match self.0.insert(name.to_owned(), node.place.line) {
            None => Ok(()),
            Some(line) => {
                Err(node.error(format!("{what} {name} is already defined in line {line}")))
            }
        }
    }
}
