//! From a schema's XML to what it means: types looked up, offsets computed, mistakes found.

mod elements;
mod fields;
mod headers;
mod messages;
mod types;

use std::path::Path;

use crate::error::SchemaError;
use crate::primitive::ByteOrder;
use crate::schema::{Header, Schema};
use crate::xml::{self, Node};
use elements::fits;
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
