//! The types of a schema by name.

use std::collections::HashMap;

use crate::error::SchemaError;
use crate::primitive::{Charset, Literal, Primitive};
use crate::resolve::elements::{Names, notes};
use crate::schema::{
    Choice, Composite, CompositeId, Constant, Enum, EnumId, Plain, Presence, Set, SetId, Type,
};
use crate::xml::Node;

/// A type with the presence that it gives to its fields.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) kind: Type,
    pub(super) presence: Presence,
    /// The schema version that brought it: none of its fields is older.
    pub(super) since: u32,
}

/// What is known of the types so far.
pub(super) struct Types<'n> {
    nodes: Vec<&'n Node>,
    by_name: HashMap<&'n str, &'n Node>,
    known: HashMap<&'n str, Typed>,
    /// Those whose members are being resolved: meeting one of them again is a circle.
    open: Vec<&'n str>,
    pub(super) version: u32,
    pub(super) composites: Vec<Composite>,
    pub(super) enums: Vec<Enum>,
    pub(super) sets: Vec<Set>,
    pub(super) warnings: Vec<SchemaError>,
}

impl<'n> Types<'n> {
    pub(super) fn collect(root: &'n Node, version: u32) -> Result<Self, SchemaError> {
        let mut types = Self {
            nodes: Vec::new(),
            by_name: HashMap::new(),
            known: HashMap::new(),
            open: Vec::new(),
            version,
            composites: Vec::new(),
            enums: Vec::new(),
            sets: Vec::new(),
            warnings: Vec::new(),
        };
        for block in root.children.iter().filter(|node| node.name == "types") {
            for node in &block.children {
                if !matches!(node.name.as_str(), "type" | "composite" | "enum" | "set") {
                    return Err(node.error(format!("<{}> is not a kind of type", node.name)));
                }
                let name = node.required("name")?;
                if node.attribute("offset").is_some() {
                    types.warnings.push(node.error(format!(
                        "the offset of {name} places nothing: only members of composites have one"
                    )));
                }
                if let Some(before) = types.by_name.insert(name, node) {
                    let line = before.place.line;
                    types.warnings.push(node.error(format!(
                        "type {name} is already defined in line {line}; this one counts"
                    )));
                    types.nodes.retain(|known| !std::ptr::eq(*known, before));
                }
                types.nodes.push(node);
            }
        }
        Ok(types)
    }

    pub(super) fn resolve_all(&mut self) -> Result<(), SchemaError> {
        for node in self.nodes.clone() {
            self.named(node.required("name")?, node)?;
        }
        Ok(())
    }

    /// The type of this name: the schema's own, or a primitive.
    pub(super) fn named(&mut self, name: &str, at: &Node) -> Result<Typed, SchemaError> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        let Some((&name, &node)) = self.by_name.get_key_value(name) else {
            return Primitive::from_name(name)
                .map(|primitive| Typed {
                    kind: Type::Plain(plain(primitive)),
                    presence: Presence::Required,
                    since: 0,
                })
                .ok_or_else(|| at.error(format!("there is no type {name}")));
        };
        if self.open.contains(&name) {
            return Err(at.error(format!("type {name} contains itself")));
        }
        self.open.push(name);
        let typed = self.defined(node, None)?;
        self.open.pop();
        self.known.insert(name, typed.clone());
        Ok(typed)
    }

    pub(super) fn composite(&mut self, name: &str, at: &Node) -> Result<CompositeId, SchemaError> {
        match self.named(name, at)?.kind {
            Type::Composite(id) => Ok(id),
            _ => Err(at.error(format!("type {name} is not a composite"))),
        }
    }

    /// Resolves a definition; `inside` is the path of composites around it.
    pub(super) fn defined(
        &mut self,
        node: &'n Node,
        inside: Option<&str>,
    ) -> Result<Typed, SchemaError> {
        let since = notes(node, self.version)?.since;
        let required = |kind| Typed { kind, presence: Presence::Required, since };
        match node.name.as_str() {
            "type" => self.encoded(node),
            "composite" => {
                let composite = self.composite_of(node, inside)?;
                self.composites.push(composite);
                Ok(required(Type::Composite(CompositeId(self.composites.len() - 1))))
            }
            "enum" => {
                if node.attribute("presence").map(str::trim) == Some("constant") {
                    return Err(node.error(format!(
                        "enum {0} cannot be constant; a field is, with presence=\"constant\" and \
                         valueRef=\"{0}.value\"",
                        node.required("name")?
                    )));
                }
                let item = self.enum_of(node, inside)?;
                self.enums.push(item);
                Ok(required(Type::Enum(EnumId(self.enums.len() - 1))))
            }
            "set" => {
                let item = self.set_of(node, inside)?;
                self.sets.push(item);
                Ok(required(Type::Set(SetId(self.sets.len() - 1))))
            }
            other => Err(node.error(format!("<{other}> is not a kind of type"))),
        }
    }

    fn encoded(&mut self, node: &'n Node) -> Result<Typed, SchemaError> {
        let since = notes(node, self.version)?.since;
        let name = node.required("primitiveType")?;
        let primitive = Primitive::from_name(name)
            .ok_or_else(|| node.error(format!("primitiveType=\"{name}\" is not a primitive")))?;
        let literal = |attribute: &str| {
            let value = node.attribute(attribute).map(|value| primitive.parse(value));
            value.transpose().map_err(|problem| node.error(format!("{attribute}: {problem}")))
        };
        let mut plain = Plain {
            length: node.number("length")?.unwrap_or(1),
            charset: node.attribute("characterEncoding").map(Charset::from_name),
            min: literal("minValue")?,
            max: literal("maxValue")?,
            null: literal("nullValue")
                .map_err(without_null(primitive))?
                .unwrap_or(primitive.null()),
            ..self::plain(primitive)
        };
        if is_above(plain.min.as_ref(), plain.max.as_ref()) {
            let text = |name: &str| node.attribute(name).unwrap_or_default().trim().to_owned();
            let (min, max) = (text("minValue"), text("maxValue"));
            return Err(node.error(format!("minValue={min} is above maxValue={max}")));
        }
        let presence = match node.attribute("presence").map(str::trim) {
            None | Some("required") => Presence::Required,
            Some("optional") => Presence::Optional,
            Some("constant") => {
                let constant = self.constant(node, &plain)?;
                if let Constant::Value(Literal::Bytes(bytes)) = &constant {
                    plain.length = bytes.len();
                }
                Presence::Constant(constant)
            }
            Some(other) => return Err(unknown_presence(node, other)),
        };
        Ok(Typed { kind: Type::Plain(plain), presence, since })
    }

    /// The value of a constant type or field: its valueRef or its text.
    pub(super) fn constant(&mut self, node: &Node, plain: &Plain) -> Result<Constant, SchemaError> {
        if let Some(reference) = node.attribute("valueRef") {
            let (at, index) = self.reference(reference, node)?;
            let value = self.enums[at.0].values[index].value;
            return match plain.primitive.range() {
                Some((min, max)) if (min..=max).contains(&value) => {
                    Ok(Constant::Value(Literal::Int(value)))
                }
                _ => Err(node.error(format!(
                    "valueRef {reference} is {value}, which does not fit {}",
                    plain.primitive.name()
                ))),
            };
        }
        let text = node.text.as_str();
        if text.trim().is_empty() && !(plain.primitive == Primitive::Char && text == " ") {
            return Err(node.error("a constant has neither a value nor a valueRef"));
        }
        let explicit = node.attribute("length").is_some() && plain.length != 1;
        if plain.primitive == Primitive::Char && (explicit || text.trim().len() > 1) {
            let text = text.trim();
            // In another encoding than UTF-8 a character is a byte at least.
            let is_utf8 = plain.charset.is_none_or(|charset| charset == Charset::Utf8);
            let needs = if is_utf8 { text.len() } else { text.chars().count() };
            if node.attribute("length").is_some() && needs > plain.length {
                let length = plain.length;
                return Err(node.error(format!("the constant is longer than its length {length}")));
            }
            let letter = match plain.charset {
                Some(Charset::Latin1) if !explicit => text.parse::<char>().ok(),
                _ => None,
            };
            return Ok(Constant::Value(match letter.map(u8::try_from) {
                Some(Ok(letter)) => Literal::Int(letter.into()),
                _ => Literal::Bytes(text.as_bytes().to_vec()),
            }));
        }
        plain.primitive.parse(text).map(Constant::Value).map_err(|problem| node.error(problem))
    }

    /// What a valueRef names: `Enum.value`.
    pub(super) fn reference(
        &mut self,
        reference: &str,
        at: &Node,
    ) -> Result<(EnumId, usize), SchemaError> {
        let (name, value) = reference
            .trim()
            .split_once('.')
            .ok_or_else(|| at.error(format!("valueRef=\"{reference}\" is not Enum.value")))?;
        let id = match self.by_name.contains_key(name) {
            true => match self.named(name, at)?.kind {
                Type::Enum(id) => id,
                _ => return Err(at.error(format!("valueRef names {name}, which is no enum"))),
            },
            // An enum that is defined inside a composite.
            false => self
                .enums
                .iter()
                .position(|item| item.name == name)
                .map(EnumId)
                .ok_or_else(|| at.error(format!("valueRef names {name}, which is no enum")))?,
        };
        let values = &self.enums[id.0].values;
        let index = values
            .iter()
            .position(|item| item.name == value)
            .ok_or_else(|| at.error(format!("enum {name} has no value {value}")))?;
        Ok((id, index))
    }

    /// The type that an enum or a set is encoded as.
    fn encoding(&mut self, node: &Node) -> Result<Plain, SchemaError> {
        let name = node.required("encodingType")?;
        if let Some(primitive) = Primitive::from_name(name) {
            return Ok(self::plain(primitive));
        }
        match self.named(name, node)?.kind {
            Type::Plain(plain) if !plain.is_array() => Ok(plain),
            _ => Err(node.error(format!("encodingType=\"{name}\" is not a single primitive"))),
        }
    }

    fn enum_of(&mut self, node: &Node, inside: Option<&str>) -> Result<Enum, SchemaError> {
        let encoding = self.encoding(node)?;
        let primitive = encoding.primitive;
        let null = match (node.attribute("nullValue"), &encoding.null) {
            (Some(text), _) => match primitive.parse(text) {
                Ok(Literal::Int(value)) => value,
                _ => return Err(node.error(format!("nullValue=\"{text}\" is not a value"))),
            },
            (None, &Literal::Int(value)) => value,
            _ => {
                return Err(
                    node.error(format!("an enum cannot be encoded as {}", primitive.name()))
                );
            }
        };
        let values = self.choices(node, "validValue", |text| {
            let literal = primitive.parse(text)?;
            let value = text.trim();
            match &literal {
                // A name for "no value", which the range leaves out.
                Literal::Int(raw) if *raw == null => Ok(*raw),
                _ if is_above(encoding.min.as_ref(), Some(&literal)) => {
                    Err(format!("{value} is below the minValue of its type"))
                }
                _ if is_above(Some(&literal), encoding.max.as_ref()) => {
                    Err(format!("{value} is above the maxValue of its type"))
                }
                Literal::Int(raw) => Ok(*raw),
                _ => Err("it is not an integer".to_owned()),
            }
        })?;
        if let Some(at) = values.iter().position(|choice| choice.value == null) {
            let choice = &values[at].name;
            let odd = format!("validValue {choice} is the null value of its enum, {null}");
            self.warnings.push(node.children[at].error(odd));
        }
        Ok(Enum {
            name: node.required("name")?.to_owned(),
            inside: inside.map(str::to_owned),
            primitive,
            null,
            values,
            notes: notes(node, self.version)?,
        })
    }

    fn set_of(&mut self, node: &Node, inside: Option<&str>) -> Result<Set, SchemaError> {
        let primitive = self.encoding(node)?.primitive;
        if !primitive.is_unsigned() {
            return Err(node.error(format!("a set cannot be encoded as {}", primitive.name())));
        }
        let bits = i128::try_from(primitive.bytes() * 8).unwrap_or_default();
        let choices = self.choices(node, "choice", |text| match text.trim().parse() {
            Ok(bit) if (0..bits).contains(&bit) => Ok(bit),
            Ok(bit) => Err(format!("bit {bit} does not exist in {}", primitive.name())),
            Err(_) => Err(format!("\"{}\" is not the number of a bit", text.trim())),
        })?;
        Ok(Set {
            name: node.required("name")?.to_owned(),
            inside: inside.map(str::to_owned),
            primitive,
            choices,
            notes: notes(node, self.version)?,
        })
    }

    fn choices(
        &self,
        node: &Node,
        kind: &str,
        parse: impl Fn(&str) -> Result<i128, String>,
    ) -> Result<Vec<Choice>, SchemaError> {
        let owner = node.required("name")?;
        let mut names = Names::default();
        let mut choices: Vec<Choice> = Vec::new();
        for child in &node.children {
            if child.name != kind {
                return Err(
                    child.error(format!("<{}> stands in {owner}, not <{kind}>", child.name))
                );
            }
            let name = child.required("name")?;
            names.add(child, kind, name)?;
            let value = parse(&child.text)
                .map_err(|problem| child.error(format!("{kind} {name}: {problem}")))?;
            if let Some(same) = choices.iter().find(|choice| choice.value == value) {
                let same = &same.name;
                return Err(child.error(format!("{kind} {name} has the value {value} of {same}")));
            }
            let notes = notes(child, self.version)?;
            choices.push(Choice { name: name.to_owned(), value, notes });
        }
        Ok(choices)
    }
}

pub(super) fn unknown_presence(node: &Node, presence: &str) -> SchemaError {
    node.error(format!("presence=\"{presence}\" is not required, optional or constant"))
}

/// Adds to what is wrong with a nullValue which value stands for "no value" without it.
fn without_null(primitive: Primitive) -> impl Fn(SchemaError) -> SchemaError {
    move |error| {
        let null = match primitive.null() {
            Literal::Int(null) => null.to_string(),
            _ => "NaN".to_owned(),
        };
        let problem = format!("{}; without a nullValue it is {null}", error.problem);
        SchemaError { problem, ..error }
    }
}

/// Whether both are given and the first is the greater one.
fn is_above(one: Option<&Literal>, other: Option<&Literal>) -> bool {
    match (one, other) {
        (Some(Literal::Int(one)), Some(Literal::Int(other))) => one > other,
        (Some(Literal::Float(one)), Some(Literal::Float(other))) => one > other,
        _ => false,
    }
}

/// One value of a primitive, as it is without a type of the schema.
fn plain(primitive: Primitive) -> Plain {
    Plain { primitive, length: 1, charset: None, min: None, max: None, null: primitive.null() }
}
