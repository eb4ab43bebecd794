//! What everything of a schema is called in Rust.

use std::collections::{BTreeSet, HashMap};

use crate::generate::names::{Scope, camel, snake};
use crate::generate::options::Options;
use crate::schema::{Body, Composite, CompositeId, EnumId, Field, Message, Schema, SetId, Type};

/// Names that the generated code has for itself.
const TAKEN: &[&str] = &[
    "Option",
    "Some",
    "None",
    "Result",
    "Ok",
    "Err",
    "Self",
    "Iterator",
    "IntoIterator",
    "FnMut",
    "Fn",
    "AsRef",
    "From",
    "Into",
    "Sized",
    "Copy",
    "Clone",
    "Debug",
    "Default",
    "DecodeError",
    "EncodeError",
    "Cut",
    "Block",
    "Body",
    "Group",
    "Entries",
    "Entry",
    "Json",
    "Show",
    "Writer",
    "Value",
    "Utf8",
    "Latin1",
    "Hex",
    "Name",
    "Frame",
    "HeaderMore",
    "Message",
    "PhantomData",
    "String",
    "Vec",
];

/// Names for the types of a schema, and which of them are needed.
pub(crate) struct Plan<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) options: &'s Options,
    /// The messages to generate, and what they are called.
    pub(crate) messages: Vec<(&'s Message, String)>,
    pub(crate) composites: BTreeSet<CompositeId>,
    pub(crate) enums: BTreeSet<EnumId>,
    pub(crate) sets: BTreeSet<SetId>,
    /// Composites before groups and data.
    pub(crate) dimensions: BTreeSet<CompositeId>,
    pub(crate) data: BTreeSet<CompositeId>,
    composite_names: Vec<String>,
    enum_names: Vec<String>,
    set_names: Vec<String>,
    function_names: Vec<String>,
    body_names: HashMap<*const Body, String>,
}

impl<'s> Plan<'s> {
    /// A plan for the messages of the options; for all when none is named.
    pub(crate) fn new(schema: &'s Schema, options: &'s Options) -> Self {
        let only = &options.messages;
        let mut scope = Scope::with(TAKEN);
        let chosen: Vec<&Message> = schema
            .messages
            .iter()
            .filter(|message| only.is_empty() || only.contains(&message.name))
            .collect();
        let mut body_names = HashMap::new();
        let mut messages = Vec::new();
        let mut variants = Scope::default();
        for message in &chosen {
            let name = variants.unique_type(camel(&message.name));
            name_bodies(&message.body, &name, &mut scope, &mut body_names);
            messages.push((*message, name));
        }
        let nested = |inside: &Option<String>, name: &str, scope: &mut Scope| {
            let path = inside.as_deref().map(camel).unwrap_or_default();
            let own = camel(name);
            if scope.is_taken(&own) && inside.is_some() {
                scope.unique_type(format!("{path}{own}"))
            } else {
                scope.unique_type(own)
            }
        };
        // What stands on its own keeps its name; what is defined in a composite comes second.
        let mut composite_names = vec![String::new(); schema.composites.len()];
        let mut enum_names = vec![String::new(); schema.enums.len()];
        let mut set_names = vec![String::new(); schema.sets.len()];
        for is_inside in [false, true] {
            for (name, item) in composite_names.iter_mut().zip(&schema.composites) {
                if item.inside.is_some() == is_inside {
                    *name = nested(&item.inside, &item.name, &mut scope);
                }
            }
            for (name, item) in enum_names.iter_mut().zip(&schema.enums) {
                if item.inside.is_some() == is_inside {
                    *name = nested(&item.inside, &item.name, &mut scope);
                }
            }
            for (name, item) in set_names.iter_mut().zip(&schema.sets) {
                if item.inside.is_some() == is_inside {
                    *name = nested(&item.inside, &item.name, &mut scope);
                }
            }
        }
        let mut functions = Scope::default();
        // Numbered when taken, since words follow: with `_` behind it would be no snake case.
        let stem = |item: &Composite| functions.unique_type(snake(&item.name));
        let function_names = schema.composites.iter().map(stem).collect();
        let mut plan = Self {
            schema,
            options,
            messages,
            composites: BTreeSet::new(),
            enums: BTreeSet::new(),
            sets: BTreeSet::new(),
            dimensions: BTreeSet::new(),
            data: BTreeSet::new(),
            composite_names,
            enum_names,
            set_names,
            function_names,
            body_names,
        };
        plan.need_composite(schema.header.composite);
        if only.is_empty() {
            plan.need_all();
        }
        for message in chosen {
            plan.need_body(&message.body);
        }
        plan
    }

    pub(crate) fn composite(&self, id: CompositeId) -> &str {
        &self.composite_names[id.0]
    }

    pub(crate) fn enumeration(&self, id: EnumId) -> &str {
        &self.enum_names[id.0]
    }

    pub(crate) fn set(&self, id: SetId) -> &str {
        &self.set_names[id.0]
    }

    /// The stem of the functions that read and write a composite before groups or data.
    pub(crate) fn function(&self, id: CompositeId) -> &str {
        &self.function_names[id.0]
    }

    /// The stem of the types of a message or a group.
    pub(crate) fn body(&self, body: &Body) -> &str {
        self.body_names.get(&std::ptr::from_ref(body)).map_or("", String::as_str)
    }

    fn need_all(&mut self) {
        self.enums.extend((0..self.schema.enums.len()).map(EnumId));
        self.sets.extend((0..self.schema.sets.len()).map(SetId));
        for at in (0..self.schema.composites.len()).map(CompositeId) {
            if !self.schema[at].has_var_data {
                self.need_composite(at);
            }
        }
    }

    fn need_composite(&mut self, id: CompositeId) {
        let schema = self.schema;
        let composite: &Composite = &schema[id];
        if !composite.has_var_data && self.composites.insert(id) {
            composite.fields.iter().for_each(|field| self.need_field(field));
        }
    }

    fn need_field(&mut self, field: &Field) {
        match field.kind {
            Type::Plain(_) => {}
            Type::Composite(id) => self.need_composite(id),
            Type::Enum(id) => {
                self.enums.insert(id);
            }
            Type::Set(id) => {
                self.sets.insert(id);
            }
        }
    }

    fn need_body(&mut self, body: &Body) {
        body.fields.iter().for_each(|field| self.need_field(field));
        for group in &body.groups {
            self.dimensions.insert(group.dimension.composite);
            self.need_body(&group.body);
        }
        self.data.extend(body.data.iter().map(|data| data.composite));
    }
}

fn name_bodies(
    body: &Body,
    name: &str,
    scope: &mut Scope,
    names: &mut HashMap<*const Body, String>,
) {
    let mut stem = name.to_owned();
    let mut number = 2;
    while scope.is_taken(&format!("{stem}Decoder")) || scope.is_taken(&format!("{stem}Encoder")) {
        stem = format!("{name}{number}");
        number += 1;
    }
    scope.unique_type(format!("{stem}Decoder"));
    scope.unique_type(format!("{stem}Encoder"));
    for group in &body.groups {
        name_bodies(&group.body, &format!("{stem}{}", camel(&group.name)), scope, names);
    }
    names.insert(std::ptr::from_ref(body), stem);
}
