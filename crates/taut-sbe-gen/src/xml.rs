//! A schema's XML as a tree that owns its strings and knows its lines, with its includes followed.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::error::{Place, SchemaError};

const XINCLUDE: &str = "http://www.w3.org/2001/XInclude";
/// The elements of SBE; others of other namespaces are somebody else's.
const ELEMENTS: &[&str] = &[
    "messageSchema",
    "types",
    "type",
    "composite",
    "ref",
    "enum",
    "validValue",
    "set",
    "choice",
    "messages",
    "message",
    "field",
    "group",
    "data",
];
/// Elements that explain and define nothing.
const PROSE: &[&str] = &["annotation", "documentation", "description", "comment"];
/// Deeper nesting of includes is a loop.
const INCLUDE_DEPTH_MAX: usize = 16;
/// Deeper nesting of elements is no schema, and the stack has an end.
const ELEMENT_DEPTH_MAX: usize = 64;

/// An element: its name and attributes without namespaces' prefixes.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) text: String,
    pub(crate) children: Vec<Node>,
    attributes: Vec<(String, String)>,
}

impl Node {
    /// The value of an attribute that belongs to no namespace.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The value of an attribute that must be there.
    pub(crate) fn required(&self, name: &str) -> Result<&str, SchemaError> {
        match self.attribute(name) {
            Some(value) if !value.trim().is_empty() => Ok(value.trim()),
            Some(_) => Err(self.error(format!("attribute {name} of <{}> is empty", self.name))),
            None => Err(self.error(format!("<{}> has no attribute {name}", self.name))),
        }
    }

    /// The value of an attribute as a number, if it is there.
    pub(crate) fn number<T: std::str::FromStr>(
        &self,
        name: &str,
    ) -> Result<Option<T>, SchemaError> {
        let Some(value) = self.attribute(name) else { return Ok(None) };
        value.trim().parse().map(Some).map_err(|_| {
            self.error(format!("attribute {name}=\"{value}\" is not a number in its range"))
        })
    }

    /// An error at this element.
    pub(crate) fn error(&self, problem: impl Into<String>) -> SchemaError {
        SchemaError::new(&self.place, problem)
    }
}

/// Reads the file and what it includes from its own folder.
pub(crate) fn read_file(path: &Path) -> Result<Node, SchemaError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    Loader { folder }.file(path, Depth::default())
}

/// Reads a schema that is text; its includes are looked up in `folder`.
pub(crate) fn read_text(name: &Path, text: &str, folder: &Path) -> Result<Node, SchemaError> {
    Loader { folder: folder.to_path_buf() }.text(name, text, Depth::default())
}

/// How deep it is in files and in elements.
#[derive(Clone, Copy, Default)]
struct Depth {
    includes: usize,
    elements: usize,
}

struct Loader {
    folder: PathBuf,
}

impl Loader {
    fn file(&self, path: &Path, depth: Depth) -> Result<Node, SchemaError> {
        let bytes = fs::read(path).map_err(|error| {
            SchemaError::in_file(path, format!("cannot read it ({error}); check the path"))
        })?;
        let text = decode(bytes).map_err(|problem| SchemaError::in_file(path, problem))?;
        self.text(path, &text, depth)
    }

    fn text(&self, path: &Path, text: &str, depth: Depth) -> Result<Node, SchemaError> {
        let file: Arc<Path> = Arc::from(path);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // A document type (B3's schemas have one) says nothing that a schema needs; entities would
        // be text that stands elsewhere.
        if let Some(line) = entity_line(text) {
            let place = Place { file, line };
            return Err(SchemaError::new(
                &place,
                "the document type defines an entity; write its text where it is used",
            ));
        }
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(text, options).map_err(|error| {
            SchemaError {
                place: Place { file: Arc::clone(&file), line: error.pos().row },
                problem: format!("this is not well-formed XML: {error}"),
            }
        })?;
        let mut lines = Lines { text, at: 0, line: 1 };
        self.node(document.root_element(), &file, &mut lines, depth)
    }

    fn node(
        &self,
        from: roxmltree::Node<'_, '_>,
        file: &Arc<Path>,
        lines: &mut Lines<'_>,
        depth: Depth,
    ) -> Result<Node, SchemaError> {
        let place = Place { file: Arc::clone(file), line: lines.of(from.range().start) };
        if depth.elements > ELEMENT_DEPTH_MAX {
            return Err(SchemaError::new(&place, "elements are nested too deep"));
        }
        let attributes = from
            .attributes()
            .filter(|attribute| attribute.namespace().is_none())
            .map(|attribute| (attribute.name().to_owned(), attribute.value().to_owned()))
            .collect();
        let mut node = Node {
            name: from.tag_name().name().to_owned(),
            place,
            text: from
                .children()
                .filter_map(|child| child.is_text().then(|| child.text())?)
                .collect(),
            children: Vec::new(),
            attributes,
        };
        let inside = Depth { elements: depth.elements + 1, ..depth };
        let own = from.document().root_element().tag_name().namespace();
        for child in from.children().filter(roxmltree::Node::is_element) {
            let namespace = child.tag_name().namespace();
            let is_foreign = namespace.is_some() && namespace != own && namespace != Some(XINCLUDE);
            if (is_foreign && !ELEMENTS.contains(&child.tag_name().name()))
                || PROSE.contains(&child.tag_name().name())
            {
                continue;
            }
            let is_include = child.tag_name().namespace() == Some(XINCLUDE)
                && child.tag_name().name() == "include";
            let inner = self.node(child, file, lines, inside)?;
            if is_include {
                let root = self.include(&inner, file, inside)?;
                match root.name.as_str() {
                    // Definitions join those around the include; anything else stands in its place.
                    "messageSchema" => node.children.extend(root.children),
                    "types" if node.name == "types" => node.children.extend(root.children),
                    _ => node.children.push(root),
                }
            } else {
                node.children.push(inner);
            }
        }
        Ok(node)
    }

    /// Reads the file that an include names: relative, and inside the schema's folder.
    fn include(&self, node: &Node, from: &Path, depth: Depth) -> Result<Node, SchemaError> {
        let href = node.required("href")?;
        if depth.includes >= INCLUDE_DEPTH_MAX {
            return Err(node.error(format!("the includes of {href} go round in a circle")));
        }
        let relative = Path::new(href);
        let plain = relative.components().all(|part| {
            matches!(part, Component::Normal(_) | Component::CurDir | Component::ParentDir)
        });
        if !plain || href.contains("://") || href.contains('\\') {
            return Err(node.error(format!("include href=\"{href}\" is not a relative path")));
        }
        let path = from.parent().unwrap_or(Path::new("")).join(relative);
        let unreadable =
            |error| node.error(format!("the included file {href} cannot be read: {error}"));
        let real = fs::canonicalize(&path).map_err(unreadable)?;
        let folder = fs::canonicalize(&self.folder).map_err(unreadable)?;
        if !real.starts_with(&folder) {
            return Err(node.error(format!("include href=\"{href}\" leaves the schema's folder")));
        }
        self.file(&path, Depth { includes: depth.includes + 1, ..depth })
    }
}

/// The line of the first entity that a document type defines. What looks like one in a comment, or
/// behind the document type, is none.
fn entity_line(text: &str) -> Option<u32> {
    let mut rest = text;
    let mut is_in_type = false;
    while let Some(at) = rest.find(['<', '"', '\'', ']']) {
        let found = rest.get(at..)?;
        rest = if let Some(comment) = found.strip_prefix("<!--") {
            comment.split_once("-->")?.1
        } else if let Some(instruction) = found.strip_prefix("<?") {
            instruction.split_once("?>")?.1
        } else if let Some(inside) = found.strip_prefix("<!DOCTYPE") {
            is_in_type = true;
            inside
        } else if !is_in_type {
            // The root, or no XML.
            return None;
        } else if found.starts_with("<!ENTITY") {
            let before = text.get(..text.len() - found.len())?;
            return u32::try_from(before.matches('\n').count() + 1).ok();
        } else if let Some(declaration) = found.strip_prefix("<!") {
            declaration
        } else if let Some(literal) = found.strip_prefix(['"', '\'']) {
            let quote = found.chars().next()?;
            literal.split_once(quote)?.1
        } else {
            // Its end, or the root.
            return None;
        };
    }
    None
}

/// A file's text: in UTF-8, in UTF-16 with its mark, as XML asks for, or in ISO 8859-1.
fn decode(bytes: Vec<u8>) -> Result<String, String> {
    let wide = match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => Some((rest, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, rest @ ..] => Some((rest, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    if let Some((bytes, unit)) = wide {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let text = char::decode_utf16(pairs.iter().copied().map(unit)).collect::<Result<_, _>>();
        return text
            .ok()
            .filter(|_| rest.is_empty())
            .ok_or_else(|| "the file starts as UTF-16 and is none; save it as UTF-8".to_owned());
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error.into_bytes(),
    };
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line).to_lowercase();
    if line.contains("8859-1") || line.contains("1252") {
        return Ok(bytes.into_iter().map(char::from).collect());
    }
    let declared =
        line.split_once("encoding=").and_then(|(_, name)| name.split(['"', '\'']).nth(1));
    let declared = match declared {
        Some(name) if name != "utf-8" => format!(", but in {name}"),
        _ => String::new(),
    };
    Err(format!("the file is not in UTF-8, UTF-16 or ISO-8859-1{declared}; save it as UTF-8"))
}

/// Counts lines while it goes through a text from front to back.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl Lines<'_> {
    fn of(&mut self, offset: usize) -> u32 {
        let passed = self.text.as_bytes().get(self.at..offset).unwrap_or_default();
        let breaks = passed.iter().filter(|&&byte| byte == b'\n').count();
        self.line += u32::try_from(breaks).unwrap_or(0);
        self.at = self.at.max(offset);
        self.line
    }
}
