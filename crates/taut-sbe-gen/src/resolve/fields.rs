//! Fields of blocks and members of composites: their types, presence and offsets.

use crate::error::SchemaError;
use crate::resolve::elements::{Names, notes};
use crate::resolve::types::{Typed, Types, unknown_presence};
use crate::schema::{Composite, Constant, Field, Plain, Presence, Type};
use crate::xml::Node;

impl<'n> Types<'n> {
    pub(super) fn composite_of(
        &mut self,
        node: &'n Node,
        inside: Option<&str>,
    ) -> Result<Composite, SchemaError> {
        let name = node.required("name")?;
        let path = inside.map_or_else(|| name.to_owned(), |outer| format!("{outer}.{name}"));
        let mut names = Names::default();
        let mut fields = Vec::new();
        let mut size = 0;
        let mut has_var_data = false;
        for child in &node.children {
            if !matches!(child.name.as_str(), "type" | "composite" | "enum" | "set" | "ref") {
                return Err(child.error(format!(
                    "<{}> stands in composite {name}, which has only types, enums, sets, \
                     composites and refs",
                    child.name
                )));
            }
            let member = child.required("name")?;
            names.add(child, "member", member)?;
            let typed = match child.name.as_str() {
                "ref" => self.named(child.required("type")?, child)?,
                _ => self.defined(child, Some(&path))?,
            };
            if let Type::Composite(at) = typed.kind {
                has_var_data |= self.composites[at.0].has_var_data;
            }
            has_var_data |= matches!(&typed.kind, Type::Plain(plain) if plain.length == 0);
            let typed = match child.name.as_str() {
                "ref" => self.with_presence(child, typed)?,
                _ => typed,
            };
            if size > 0 && child.number("offset")? == Some(0) {
                return Err(overlaps(member, 0, size, child));
            }
            let field = self.placed(child, 0, typed, size)?;
            size = field.end().max(size);
            fields.push(field);
        }
        if fields.is_empty() {
            return Err(node.error(format!("composite {name} has no members")));
        }
        let inside = inside.map(str::to_owned);
        let notes = notes(node, self.version)?;
        Ok(Composite { name: name.to_owned(), inside, fields, size, has_var_data, notes })
    }

    /// A field of a block, behind `at` bytes of it.
    pub(super) fn field(&mut self, node: &'n Node, at: usize) -> Result<Field, SchemaError> {
        let name = node.required("name")?;
        let id = identity(node)?;
        let typed = self.named(node.required("type")?, node)?;
        let variable = match &typed.kind {
            Type::Plain(plain) => plain.length == 0,
            Type::Composite(id) => self.composites[id.0].has_var_data,
            _ => false,
        };
        if variable && !matches!(typed.presence, Presence::Constant(_)) {
            return Err(node.error(format!(
                "field {name} has a type of variable length; write it as <data>, behind all groups"
            )));
        }
        let typed = self.with_presence(node, typed)?;
        self.placed(node, id, typed, at)
    }

    /// What the element's own presence makes of its type's.
    fn with_presence(&mut self, node: &Node, typed: Typed) -> Result<Typed, SchemaError> {
        if matches!(typed.presence, Presence::Constant(_)) {
            return Ok(typed);
        }
        let own = node.attribute("presence").map(str::trim);
        // A ref has its type's value, on the wire like it.
        let says_value = own == Some("constant") && node.name != "ref";
        if !says_value && (own == Some("constant") || node.attribute("valueRef").is_some()) {
            self.warnings.push(node.error(format!(
                "{} is on the wire: a valueRef needs a <field> with presence=\"constant\"",
                node.required("name")?
            )));
        }
        let presence = match own {
            None => return Ok(typed),
            Some("required") => Presence::Required,
            Some("optional") => Presence::Optional,
            Some("constant") if says_value => {
                Presence::Constant(self.field_constant(node, &typed)?)
            }
            Some("constant") => return Ok(typed),
            Some(other) => return Err(unknown_presence(node, other)),
        };
        Ok(Typed { presence, ..typed })
    }

    fn field_constant(&mut self, node: &Node, typed: &Typed) -> Result<Constant, SchemaError> {
        match &typed.kind {
            Type::Plain(plain) => {
                let plain: Plain = plain.clone();
                self.constant(node, &plain)
            }
            Type::Enum(id) => {
                let (at, index) = match node.attribute("valueRef") {
                    Some(reference) => self.reference(reference, node)?,
                    None => {
                        let item = &self.enums[id.0];
                        let text = node.text.trim();
                        let index = item.values.iter().position(|value| value.name == text);
                        let none = || node.error(format!("enum {} has no value {text}", item.name));
                        (*id, index.ok_or_else(none)?)
                    }
                };
                if at != *id {
                    let (named, own) = (&self.enums[at.0].name, &self.enums[id.0].name);
                    return Err(
                        node.error(format!("valueRef names {named}, but the type is {own}"))
                    );
                }
                Ok(Constant::Choice(at, index))
            }
            _ => Err(node.error(
                "only a primitive or an enum can be constant; of a composite, make the members so",
            )),
        }
    }

    /// The field at its own offset, or right behind what stands before it.
    fn placed(
        &self,
        node: &Node,
        id: u32,
        typed: Typed,
        behind: usize,
    ) -> Result<Field, SchemaError> {
        let name = node.required("name")?;
        let size = match (&typed.presence, &typed.kind) {
            (Presence::Constant(_), _) => 0,
            (_, Type::Plain(plain)) => plain
                .primitive
                .bytes()
                .checked_mul(plain.length)
                .filter(|&bytes| bytes <= BLOCK_BYTES_MAX)
                .ok_or_else(|| node.error(format!("{name} is too long")))?,
            (_, Type::Composite(at)) => self.composites[at.0].size,
            (_, Type::Enum(at)) => self.enums[at.0].primitive.bytes(),
            (_, Type::Set(at)) => self.sets[at.0].primitive.bytes(),
        };
        let offset = match node.number("offset")? {
            // Like no offset at all.
            Some(0) | None => behind,
            // Variable data stand right behind their length.
            _ if matches!(&typed.kind, Type::Plain(plain) if plain.length == 0) => behind,
            Some(offset) if offset < behind => {
                return Err(overlaps(name, offset, behind, node));
            }
            // Also a constant's: it takes no room, but what follows stands behind its place.
            Some(offset) => offset,
        };
        if offset > BLOCK_BYTES_MAX {
            return Err(node.error(format!("offset={offset} of {name} is too large")));
        }
        let mut notes = notes(node, self.version)?;
        notes.since = notes.since.max(typed.since);
        Ok(Field {
            name: name.to_owned(),
            id,
            kind: typed.kind,
            presence: typed.presence,
            offset,
            size,
            notes,
        })
    }
}

fn overlaps(name: &str, offset: usize, behind: usize, node: &Node) -> SchemaError {
    node.error(format!(
        "offset={offset} of {name} lies in what stands before it, which ends at {behind}"
    ))
}

/// Longer blocks are a mistake in the schema.
pub(super) const BLOCK_BYTES_MAX: usize = 1 << 24;

/// The number of a field, a group or data.
pub(super) fn identity(node: &Node) -> Result<u32, SchemaError> {
    node.number("id")?.ok_or_else(|| node.error(format!("<{}> has no attribute id", node.name)))
}
