//! From XML to tables: fields first, then components and groups as they are needed, then messages.

use std::collections::HashMap;

use roxmltree::{Document, Node};
use taut_fix::{
    BlockId, Dictionary, DictionaryBuilder, FixError, Format, ListedValue, MemberDefinition,
};

use crate::dictionary::error::DictionaryError;

/// How deep components and groups may nest, so that one that holds itself ends as an error.
const DEPTH_MAX: usize = 16;

type Result<T> = std::result::Result<T, DictionaryError>;

/// Reads a dictionary from its text.
///
/// # Errors
/// [`DictionaryError::Wrong`] with the line: no XML, an element or an attribute that is missing or
/// wrong, a name that is not defined, more than the tables can number.
pub fn parse(text: &str) -> Result<Dictionary> {
    let document = Document::parse(text)
        .map_err(|error| DictionaryError::wrong(error.pos().row, error.to_string()))?;
    let root = document.root_element();
    let mut reader = Reader {
        builder: DictionaryBuilder::new(),
        tags: HashMap::new(),
        components: HashMap::new(),
        expanded: HashMap::new(),
    };
    let version = reader.version(root)?;
    reader.read_fields(child(root, "fields")?, &version)?;
    for component in elements(child(root, "components").ok(), "component") {
        reader.components.insert(attribute(component, "name")?, component);
    }
    let header = reader.block(child(root, "header")?)?;
    let trailer = reader.block(child(root, "trailer")?)?;
    for message in elements(Some(child(root, "messages")?), "message") {
        let block = reader.block(message)?;
        let is_admin = message.attribute("msgcat") == Some("admin");
        let msg_type = attribute(message, "msgtype")?.as_bytes();
        reader.builder.message(msg_type, attribute(message, "name")?, is_admin, block);
    }
    reader.builder.build(&version, header, trailer).map_err(|error| too_large(root, error))
}

/// What has been read so far.
struct Reader<'d, 'x> {
    builder: DictionaryBuilder,
    /// Tag by name.
    tags: HashMap<&'d str, u32>,
    components: HashMap<&'d str, Node<'d, 'x>>,
    /// Components that were used, with their own requirements.
    expanded: HashMap<&'d str, Vec<MemberDefinition>>,
}

impl<'d, 'x> Reader<'d, 'x> {
    /// `FIX.4.4`, `FIXT.1.1`, `FIX.5.0SP2`.
    fn version(&self, root: Node<'d, 'x>) -> Result<String> {
        let kind = root.attribute("type").unwrap_or("FIX");
        let (major, minor) = (attribute(root, "major")?, attribute(root, "minor")?);
        let pack = root.attribute("servicepack").filter(|pack| *pack != "0");
        let pack = pack.map_or_else(String::new, |pack| format!("SP{pack}"));
        Ok(format!("{kind}.{major}.{minor}{pack}"))
    }

    fn read_fields(&mut self, fields: Node<'d, 'x>, version: &str) -> Result<()> {
        let chars_are_texts = matches!(version, "FIX.4.0" | "FIX.4.1");
        for field in elements(Some(fields), "field") {
            let number = attribute(field, "number")?;
            let tag = number.parse::<u32>().ok().filter(|tag| (1..=999_999_999).contains(tag));
            let tag = tag.ok_or_else(|| wrong(field, format!("\"{number}\" is no tag")))?;
            let name = attribute(field, "name")?;
            let format = Format::from_type_name(attribute(field, "type")?, chars_are_texts);
            let mut values: Vec<ListedValue<'_>> = Vec::new();
            for value in elements(Some(field), "value") {
                let text = attribute(value, "enum")?;
                values.push((text.as_bytes(), value.attribute("description").unwrap_or(text)));
            }
            let is_open = field.attribute("allowOtherValues").is_some_and(is_yes);
            self.builder.field(tag, name, format, &values, is_open);
            if self.tags.insert(name, tag).is_some_and(|other| other != tag) {
                return Err(wrong(field, format!("two fields are named \"{name}\"")));
            }
        }
        Ok(())
    }

    fn block(&mut self, parent: Node<'d, 'x>) -> Result<BlockId> {
        let members = self.members(parent, 0)?;
        self.builder.block(&members).map_err(|error| too_large(parent, error))
    }

    /// The fields, groups and components in an element, components opened.
    fn members(&mut self, parent: Node<'d, 'x>, depth: usize) -> Result<Vec<MemberDefinition>> {
        if depth > DEPTH_MAX {
            return Err(wrong(parent, String::from("components or groups nest too deep")));
        }
        let mut members = Vec::new();
        for node in parent.children().filter(Node::is_element) {
            let required = node.attribute("required").is_some_and(is_yes);
            match node.tag_name().name() {
                "field" => {
                    members.push(MemberDefinition { tag: self.tag(node)?, required, group: None });
                }
                "group" => {
                    let inner = self.members(node, depth + 1)?;
                    let group = self.builder.block(&inner).map_err(|e| too_large(node, e))?;
                    let group = Some(group);
                    members.push(MemberDefinition { tag: self.tag(node)?, required, group });
                }
                "component" => {
                    let opened = self.component(node, depth)?;
                    members.extend(opened.into_iter().map(|mut member| {
                        member.required &= required;
                        member
                    }));
                }
                other => return Err(wrong(node, format!("<{other}> does not belong here"))),
            }
        }
        Ok(members)
    }

    /// A component is opened once; its groups are shared by all who use it.
    fn component(&mut self, node: Node<'d, 'x>, depth: usize) -> Result<Vec<MemberDefinition>> {
        let name = attribute(node, "name")?;
        if let Some(opened) = self.expanded.get(name) {
            return Ok(opened.clone());
        }
        let component = self.components.get(name).copied();
        let component = component.ok_or_else(|| undefined(node, "component", name))?;
        let opened = self.members(component, depth + 1)?;
        self.expanded.insert(name, opened.clone());
        Ok(opened)
    }

    fn tag(&self, node: Node<'d, 'x>) -> Result<u32> {
        let name = attribute(node, "name")?;
        self.tags.get(name).copied().ok_or_else(|| undefined(node, "field", name))
    }
}

fn is_yes(value: &str) -> bool {
    matches!(value, "Y" | "y" | "true")
}

fn elements<'d, 'x>(
    parent: Option<Node<'d, 'x>>,
    name: &'static str,
) -> impl Iterator<Item = Node<'d, 'x>> {
    let children = parent.into_iter().flat_map(|parent| parent.children());
    children.filter(move |node| node.has_tag_name(name))
}

fn child<'d, 'x>(parent: Node<'d, 'x>, name: &'static str) -> Result<Node<'d, 'x>> {
    elements(Some(parent), name).next().ok_or_else(|| wrong(parent, format!("<{name}> is missing")))
}

fn attribute<'d>(node: Node<'d, '_>, name: &str) -> Result<&'d str> {
    node.attribute(name)
        .ok_or_else(|| wrong(node, format!("<{}> has no \"{name}\"", node.tag_name().name())))
}

fn undefined(node: Node<'_, '_>, kind: &str, name: &str) -> DictionaryError {
    wrong(node, format!("there is no {kind} \"{name}\""))
}

fn too_large(node: Node<'_, '_>, error: FixError) -> DictionaryError {
    wrong(node, format!("more than the tables can hold ({error:?})"))
}

fn wrong(node: Node<'_, '_>, what: String) -> DictionaryError {
    DictionaryError::wrong(node.document().text_pos_at(node.range().start).row, what)
}
