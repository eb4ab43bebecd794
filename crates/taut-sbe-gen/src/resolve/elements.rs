//! What all elements of a schema have: names, versions, and numbers that must fit.

use std::collections::HashMap;

use crate::error::SchemaError;
use crate::schema::{Notes, Slot};
use crate::xml::Node;

/// Whether a number can stand in its place in a header.
pub(super) fn fits(
    node: &Node,
    what: &str,
    value: u64,
    slot: Option<Slot>,
) -> Result<(), SchemaError> {
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
pub(super) fn notes(node: &Node, schema_version: u32) -> Result<Notes, SchemaError> {
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
pub(super) struct Names(HashMap<String, u32>);

impl Names {
    pub(super) fn add(&mut self, node: &Node, what: &str, name: &str) -> Result<(), SchemaError> {
        match self.0.insert(name.to_owned(), node.place.line) {
            None => Ok(()),
            Some(line) => {
                Err(node.error(format!("{what} {name} is already defined in line {line}")))
            }
        }
    }
}
