//! Enumerations, sets, composites, and the headers of messages, groups and data.

use crate::blank::is_nullable;
use crate::generate::names::{Scope, camel, snake, upper};
use crate::generate::plan::Plan;
use crate::generate::source::Source;
use crate::generate::values::bytes_literal;
use crate::primitive::Literal;
use crate::schema::{
    Composite, CompositeId, Data, Dimension, Enum, EnumId, Field, Notes, Presence, SetId, Slot,
    Type,
};

impl Plan<'_> {
    /// The file of the types.
    pub(crate) fn types(&self) -> String {
        let mut out = Source::default();
        out.line(format!("use core::fmt;\nuse {}::*;", self.runtime("super")));
        self.constants(&mut out);
        self.enums.iter().for_each(|&id| self.enum_type(&mut out, id));
        self.sets.iter().for_each(|&id| self.set_type(&mut out, id));
        self.composites.iter().for_each(|&id| self.composite_type(&mut out, id));
        if self.options.decodes() {
            self.frame(&mut out);
            self.split_functions(&mut out);
        }
        if self.options.encodes() {
            self.write_functions(&mut out);
        }
        out.finish()
    }

    fn constants(&self, out: &mut Source) {
        let schema = self.schema;
        out.gap();
        out.line("/// The number of the schema in message headers.");
        out.line(format!("pub const SCHEMA_ID: u64 = {};", schema.id));
        out.line("/// The version of the schema that the encoders write.");
        out.line(format!("pub const SCHEMA_VERSION: u32 = {};", schema.version));
        out.line("/// The length of the header of a message.");
        out.line(format!("pub const HEADER_BYTES: usize = {};", schema.header.size));
    }

    /// The names of an enum's values in Rust, in the schema's order.
    pub(crate) fn enum_values(&self, id: EnumId) -> Vec<String> {
        let mut scope = Scope::with(&["Unknown"]);
        self.schema[id].values.iter().map(|value| scope.unique_type(camel(&value.name))).collect()
    }

    fn enum_type(&self, out: &mut Source, id: EnumId) {
        let item: &Enum = &self.schema[id];
        let name = self.enumeration(id);
        let raw = item.primitive.rust();
        let values = self.enum_values(id);
        out.gap();
        describe(out, &item.notes, &format!("The values of `{}`.", item.name));
        out.line("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]");
        out.line(format!("pub enum {name} {{"));
        for (value, variant) in item.values.iter().zip(&values) {
            describe(out, &value.notes, &format!("`{}`, {}.", value.name, value.value));
            out.line(format!("{variant},"));
        }
        out.line("/// A value that this version of the schema does not have.");
        out.line(format!("Unknown({raw}),\n}}"));
        out.gap();
        out.line(format!("impl {name} {{"));
        out.line("/// What stands for \"no value\" in an optional field.");
        out.line(format!("pub const NULL: {raw} = {};", item.null));
        out.gap();
        out.line("/// The value with this encoding.\n#[must_use]\n#[inline]");
        out.line(format!("pub const fn from_raw(raw: {raw}) -> Self {{\nmatch raw {{"));
        for (value, variant) in item.values.iter().zip(&values) {
            out.line(format!("{} => Self::{variant},", value.value));
        }
        out.line("other => Self::Unknown(other),\n}\n}");
        out.gap();
        out.line("/// Its encoding.\n#[must_use]\n#[inline]");
        out.line(format!("pub const fn raw(self) -> {raw} {{\nmatch self {{"));
        for (value, variant) in item.values.iter().zip(&values) {
            out.line(format!("Self::{variant} => {},", value.value));
        }
        out.line("Self::Unknown(raw) => raw,\n}\n}");
        out.gap();
        out.line("/// Its name in the schema, if it is there.\n#[must_use]");
        out.line("pub const fn name(self) -> Option<&'static str> {\nmatch self {");
        for (value, variant) in item.values.iter().zip(&values) {
            out.line(format!("Self::{variant} => Some({:?}),", value.name));
        }
        out.line("Self::Unknown(_) => None,\n}\n}");
        out.gap();
        out.line("#[inline]");
        out.line(format!("pub(crate) fn from_nullable(raw: {raw}) -> Option<Self> {{"));
        out.line("if raw == Self::NULL { None } else { Some(Self::from_raw(raw)) }\n}\n}");
        out.gap();
        out.line(format!("impl Value for {name} {{"));
        out.line("fn show(&self, to: &mut Writer<'_>) -> fmt::Result {");
        out.line("match self.name() {\nSome(name) => to.name(name),");
        out.line("None => self.raw().show(to),\n}\n}\n}");
    }

    fn set_type(&self, out: &mut Source, id: SetId) {
        let item = &self.schema[id];
        let name = self.set(id);
        let raw = item.primitive.rust();
        let mut scope = Scope::with(&["EMPTY", "contains", "with", "without"]);
        let names: Vec<_> =
            item.choices.iter().map(|choice| scope.unique(upper(&choice.name))).collect();
        out.gap();
        describe(out, &item.notes, &format!("The bits of `{}`.", item.name));
        out.line("#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]");
        out.line(format!("pub struct {name}(pub {raw});"));
        out.gap();
        out.line(format!("impl {name} {{"));
        out.line("/// None of them.\npub const EMPTY: Self = Self(0);");
        for (choice, constant) in item.choices.iter().zip(&names) {
            describe(out, &choice.notes, &format!("`{}`, bit {}.", choice.name, choice.value));
            out.line(format!("pub const {constant}: Self = Self(1 << {});", choice.value));
        }
        out.gap();
        out.line("/// Whether all bits of `others` are set.\n#[must_use]\n#[inline]");
        out.line("pub const fn contains(self, others: Self) -> bool {");
        out.line("self.0 & others.0 == others.0\n}");
        out.gap();
        out.line("/// These bits and the others'.\n#[must_use]\n#[inline]");
        out.line("pub const fn with(self, others: Self) -> Self {\nSelf(self.0 | others.0)\n}");
        out.gap();
        out.line("/// These bits without the others'.\n#[must_use]\n#[inline]");
        out.line("pub const fn without(self, others: Self) -> Self {");
        out.line("Self(self.0 & !others.0)\n}\n}");
        out.gap();
        out.line(format!("impl Value for {name} {{"));
        out.line("fn show(&self, to: &mut Writer<'_>) -> fmt::Result {\nto.list(|to| {");
        out.line(format!("(0..{raw}::BITS).filter(|bit| self.0 & (1 << bit) != 0).try_for_each("));
        out.line("|bit| match bit {");
        for choice in &item.choices {
            out.line(format!("{} => to.item(&Name({:?})),", choice.value, choice.name));
        }
        out.line("_ => to.item(&bit),\n},\n)\n})\n}\n}");
    }

    fn composite_type(&self, out: &mut Source, id: CompositeId) {
        let item = &self.schema[id];
        let name = self.composite(id);
        let names = composite_members(item);
        let all = || item.fields.iter().zip(&names);
        let members = || all().filter(|(field, _)| !field.is_constant());
        out.gap();
        describe(out, &item.notes, &format!("The values of `{}`.", item.name));
        out.line("#[derive(Clone, Copy, Debug, PartialEq)]");
        out.line(format!("pub struct {name} {{"));
        for (field, member) in members() {
            describe(out, &field.notes, &self.summary(field));
            let kind = self.value_type(field, None);
            let kind = if is_nullable(field) { format!("Option<{kind}>") } else { kind };
            out.line(format!("pub {member}: {kind},"));
        }
        out.line("}");
        out.gap();
        out.line(format!("impl {name} {{"));
        out.line("/// The encoded length.");
        out.line(format!("pub const BYTES: usize = {};", item.size));
        for (field, constant) in all() {
            if let Presence::Constant(value) = &field.presence {
                describe(out, &field.notes, &self.summary(field));
                let (kind, value) = self.constant(field, value);
                out.line(format!("pub const {constant}: {kind} = {value};"));
            }
        }
        if self.options.decodes() {
            out.gap();
            let source = if members().next().is_some() { "source" } else { "_" };
            out.line("/// Reads the values.\n#[must_use]\n#[inline]");
            out.line(format!("pub fn read({source}: &[u8; {}]) -> Self {{\nSelf {{", item.size));
            for (field, member) in members() {
                let (offset, size) = (field.offset, field.size);
                out.line(format!("{member}: {{"));
                out.line(format!("let bytes = at::<{offset}, {size}, _>(source);"));
                out.line(self.read(field, false));
                out.line("},");
            }
            out.line("}\n}");
        }
        if self.options.encodes() {
            out.gap();
            let blank = bytes_literal(&self.schema.blank_block(&item.fields, item.size));
            let mutable = if members().next().is_some() { "mut " } else { "" };
            out.line("/// The encoded values.\n#[must_use]\n#[inline]");
            out.line(format!("pub fn bytes(&self) -> [u8; {}] {{", item.size));
            out.line(format!("let {mutable}to = {blank};"));
            for (field, member) in members() {
                let (offset, size) = (field.offset, field.size);
                if is_nullable(field) {
                    let bytes = self.write(field, "value", false);
                    out.line(format!("if let Some(value) = self.{member} {{"));
                    out.line(format!("put::<{offset}, {size}, _>(&mut to, {bytes});\n}}"));
                } else {
                    let bytes = self.write(field, &format!("self.{member}"), false);
                    out.line(format!("put::<{offset}, {size}, _>(&mut to, {bytes});"));
                }
            }
            out.line("to\n}");
        }
        out.line("}");
        out.gap();
        out.line(format!("impl Value for {name} {{"));
        out.line("fn show(&self, to: &mut Writer<'_>) -> fmt::Result {\nto.record(|to| {");
        for (field, member) in all() {
            let path = if field.is_constant() { "Self::" } else { "self." };
            let value = format!("{path}{member}");
            let shown = self.shown(field, &value, is_nullable(field), true);
            out.line(format!("to.field({:?}, &{shown})?;", field.name));
        }
        out.line("Ok(())\n})\n}\n}");
    }

    /// One line on a field: type and presence.
    pub(crate) fn summary(&self, field: &Field) -> String {
        let kind = match &field.kind {
            Type::Plain(plain) if plain.is_array() => {
                format!("{} values of {}", plain.length, plain.primitive.name())
            }
            Type::Plain(plain) => plain.primitive.name().to_owned(),
            Type::Composite(id) => self.schema[*id].name.clone(),
            Type::Enum(id) => self.schema[*id].name.clone(),
            Type::Set(id) => self.schema[*id].name.clone(),
        };
        match &field.presence {
            Presence::Constant(_) => format!("`{}`: {kind}, a constant.", field.name),
            Presence::Optional => format!("`{}`: {kind}, optional.", field.name),
            Presence::Required => format!("`{}`: {kind}.", field.name),
        }
    }

    /// What the header of a message says beside numbers, lengths and version: the members of its
    /// composite and their names.
    pub(crate) fn header_more(&self) -> Vec<(&Field, String)> {
        let header = &self.schema.header;
        let composite = &self.schema[header.composite];
        let names = composite_members(composite);
        let all = header.extras.iter().map(|&at| (&composite.fields[at], names[at].clone()));
        all.filter(|(field, _)| !field.is_constant()).collect()
    }

    /// The type that shows what a header says more.
    fn header_more_type(&self, out: &mut Source) {
        let (header, more) = (&self.schema.header, self.header_more());
        out.gap();
        out.line("/// What a message header says beside numbers, lengths and version.");
        out.line("#[derive(Clone, Copy)]");
        out.line(format!("pub(crate) struct HeaderMore<'a>(&'a [u8; {}]);", header.size));
        out.gap();
        out.line("impl Value for HeaderMore<'_> {");
        out.line("fn show(&self, to: &mut Writer<'_>) -> fmt::Result {");
        out.line(format!("let header = {}::read(self.0);", self.composite(header.composite)));
        out.line("to.record(|to| {");
        for (field, member) in more {
            let value = format!("header.{member}");
            let shown = self.shown(field, &value, is_nullable(field), true);
            out.line(format!("to.field({:?}, &{shown})?;", field.name));
        }
        out.line("Ok(())\n})\n}\n}");
    }

    /// The function that reads the header of a message.
    fn frame(&self, out: &mut Source) {
        let header = &self.schema.header;
        let has_more = !self.header_more().is_empty();
        if has_more {
            self.header_more_type(out);
        }
        out.gap();
        out.line("/// What a message header says, and the body behind it.");
        out.line("pub(crate) struct Frame<'a> {\npub(crate) template: u64,");
        out.line("pub(crate) length: Option<usize>,\npub(crate) version: u32,");
        if has_more {
            out.line("pub(crate) more: HeaderMore<'a>,");
        }
        out.line("pub(crate) body: &'a [u8],\n}");
        out.gap();
        out.line("impl<'a> Frame<'a> {\n#[inline(always)]");
        out.line("pub(crate) fn split(bytes: &'a [u8]) -> Result<Self, DecodeError> {");
        out.line(format!(
            "let (head, body) = split::<{}>(bytes).map_err(|cut| cut.within(bytes))?;",
            header.size
        ));
        let read = |slot: Slot| {
            let bytes = format!("at::<{}, {}, _>(head)", slot.offset, slot.primitive.bytes());
            self.number(slot.primitive, &bytes)
        };
        if let Some(slot) = header.schema {
            out.line(format!("let schema = {};", cast(slot, "u64", &read(slot))));
            out.line("if schema != SCHEMA_ID {");
            out.line("return Err(DecodeError::OtherSchema { schema });\n}");
        }
        out.line(format!(
            "let template = {};",
            cast(header.template, "u64", &read(header.template))
        ));
        match header.block_length {
            Some(slot) => {
                let value = self.usize_or(slot, &read(slot), "Cut::malformed(bytes).within(bytes)");
                out.line(format!("let length = Some({value});"));
            }
            None => out.line("let length = None;"),
        }
        match header.version {
            Some(slot) => {
                let value = read(slot);
                let value = match (slot.primitive.is_unsigned(), slot.primitive.bytes()) {
                    (true, 1 | 2) => format!("u32::from({value})"),
                    (true, 4) => value,
                    _ => format!("u32::try_from({value}).unwrap_or(u32::MAX)"),
                };
                out.line(format!("let version = {value};"));
            }
            None => out.line("let version = SCHEMA_VERSION;"),
        }
        let more = if has_more { "more: HeaderMore(head), " } else { "" };
        out.line(format!("Ok(Self {{ template, length, version, {more}body }})\n}}\n}}"));
    }

    /// A `usize` from a slot's number, or `error`.
    fn usize_or(&self, slot: Slot, value: &str, error: &str) -> String {
        match (slot.primitive.is_unsigned(), slot.primitive.bytes()) {
            (true, 1 | 2) => format!("usize::from({value})"),
            _ => format!("usize::try_from({value}).or(Err({error}))?"),
        }
    }

    /// The functions that split groups and data off.
    fn split_functions(&self, out: &mut Source) {
        let read = |slot: Slot| {
            let bytes = format!("at::<{}, {}, _>(head)", slot.offset, slot.primitive.bytes());
            self.usize_or(slot, &self.number(slot.primitive, &bytes), "Cut::malformed(bytes)")
        };
        for &id in &self.dimensions {
            let Some(dimension) = self.dimension_of(id) else { continue };
            let (name, size) = (self.function(id), dimension.size);
            out.gap();
            out.line(format!("/// Splits a group behind a `{}` off.", self.schema[id].name));
            out.line("#[inline(always)]");
            out.line(format!("pub(crate) fn {name}_entries<'a, E: Body<'a>>("));
            out.line("bytes: &'a [u8],\nversion: u32,");
            out.line(") -> Result<(Group<'a, E>, &'a [u8]), Cut> {");
            out.line(format!("let (head, rest) = split::<{size}>(bytes)?;"));
            out.line(format!("let length = {};", read(dimension.block_length)));
            out.line(format!("let count = {};", read(dimension.count)));
            out.line("Group::split(rest, length, count, version)\n}");
        }
        for &id in &self.data {
            let Some(data) = self.data_of(id) else { continue };
            let (name, start) = (self.function(id), data.data_offset);
            out.gap();
            out.line(format!("/// Splits a `{}` off.", self.schema[id].name));
            out.line("#[inline(always)]");
            out.line(format!(
                "pub(crate) fn {name}_data(bytes: &[u8]) -> Result<(&[u8], &[u8]), Cut> {{"
            ));
            out.line(format!("let (head, rest) = split::<{start}>(bytes)?;"));
            out.line(format!("split_at(rest, {})\n}}", read(data.length)));
        }
    }

    /// The functions that write what stands before groups, and data.
    fn write_functions(&self, out: &mut Source) {
        for &id in &self.dimensions {
            if let Some(dimension) = self.dimension_of(id) {
                self.fill_function(out, id, dimension);
            }
        }
        for &id in &self.data {
            if let Some(data) = self.data_of(id) {
                self.put_function(out, id, data);
            }
        }
    }

    fn fill_function(&self, out: &mut Source, id: CompositeId, dimension: &Dimension) {
        let (name, size) = (self.function(id), dimension.size);
        let (length, count) = (dimension.block_length.primitive, dimension.count);
        out.gap();
        out.line(format!("/// Writes a `{}`.\n#[inline]", self.schema[id].name));
        out.line(format!("pub(crate) fn {name}_fill("));
        out.line(format!("head: &mut [u8; {size}],\nlength: {},\ncount: usize,", length.rust()));
        let counts = [(dimension.group_count, "groups"), (dimension.data_count, "data")];
        let counts = counts.into_iter().filter_map(|(slot, name)| Some((slot?, name)));
        for (slot, name) in counts.clone() {
            out.line(format!("{name}: {},", slot.primitive.rust()));
        }
        out.line(") -> Result<(), EncodeError> {");
        self.narrowed(out, count, "count", "count", "TooManyEntries");
        out.line(format!("*head = [0; {size}];"));
        let lengths = [(dimension.block_length, "length"), (count, "count")];
        for (slot, name) in lengths.into_iter().chain(counts) {
            self.put_slot(out, slot, name);
        }
        out.line("Ok(())\n}");
    }

    fn put_function(&self, out: &mut Source, id: CompositeId, data: &Data) {
        let (name, slot, start) = (self.function(id), data.length, data.data_offset);
        out.gap();
        out.line(format!("/// Writes a `{}`, and gives what follows it.", self.schema[id].name));
        out.line("#[inline]");
        out.line(format!("pub(crate) fn {name}_put<'a>("));
        out.line("buffer: &'a mut [u8],\ndata: &[u8],");
        out.line(") -> Result<&'a mut [u8], EncodeError> {");
        self.narrowed(out, slot, "length", "data.len()", "TooLong");
        out.line(format!("let (head, rest) = split_mut::<{start}>(buffer)?;"));
        out.line(format!("*head = [0; {start}];"));
        self.put_slot(out, slot, "length");
        out.line("put_data(rest, data)\n}");
    }

    /// A number as its slot has it, or the error that names the largest one.
    fn narrowed(&self, out: &mut Source, slot: Slot, name: &str, value: &str, error: &str) {
        let max = slot.max;
        let (_, top) = slot.primitive.range().unwrap_or_default();
        out.line(format!("let {name} = {}::try_from({value})", slot.primitive.rust()));
        let error = format!("EncodeError::{error} {{ {name}_max: {max} }}");
        if i128::from(max) < top {
            out.line(format!(".ok()\n.filter(|&{name}| {name} <= {max})\n.ok_or({error})?;"));
        } else {
            out.line(format!(".or(Err({error}))?;"));
        }
    }

    fn put_slot(&self, out: &mut Source, slot: Slot, value: &str) {
        let (offset, size, order) = (slot.offset, slot.primitive.bytes(), self.order());
        out.line(format!("put::<{offset}, {size}, _>(head, {value}.to_{order}_bytes());"));
    }

    /// The bytes of the header of a message.
    pub(crate) fn header_bytes(&self, at: usize) -> Vec<u8> {
        let header = &self.schema.header;
        let (message, _) = &self.messages[at];
        let composite = &self.schema[header.composite];
        let mut bytes = self.schema.blank_block(&composite.fields, header.size);
        let counts = (message.body.groups.len(), message.body.data.len());
        let values = [
            (header.block_length, message.body.block_length as u64),
            (Some(header.template), message.id),
            (header.schema, self.schema.id),
            (header.version, self.schema.version.into()),
            (header.group_count, counts.0 as u64),
            (header.data_count, counts.1 as u64),
        ];
        for (slot, value) in values {
            let Some(slot) = slot else { continue };
            let value = self.schema.byte_order.encode(slot.primitive, &Literal::Int(value.into()));
            if let Some(to) = bytes.get_mut(slot.offset..slot.offset + value.len()) {
                to.copy_from_slice(&value);
            }
        }
        bytes
    }
}

/// The names of a composite's members in Rust, in the schema's order.
fn composite_members(item: &Composite) -> Vec<String> {
    let mut scope = Scope::with(&["read", "bytes", "BYTES", "decode"]);
    let name = |field: &Field| match field.is_constant() {
        true => scope.unique(upper(&field.name)),
        false => scope.unique(snake(&field.name)),
    };
    item.fields.iter().map(name).collect()
}

/// A description from the schema, or what can be said without one; then the versions.
pub(crate) fn describe(out: &mut Source, notes: &Notes, otherwise: &str) {
    if notes.description.is_empty() {
        out.line(format!("/// {otherwise}"));
    } else {
        out.doc(&notes.description);
        out.line("///");
        out.line(format!("/// {otherwise}"));
    }
    if notes.since > 0 {
        out.line(format!("/// Since version {}.", notes.since));
    }
    if let Some(version) = notes.deprecated {
        out.line(format!("/// Deprecated since version {version}."));
    }
}

/// Widens or narrows a slot's number.
fn cast(slot: Slot, to: &str, value: &str) -> String {
    match slot.primitive.rust() {
        same if same == to => value.to_owned(),
        "u8" | "u16" | "u32" => format!("{to}::from({value})"),
        _ => format!("{to}::try_from({value}).unwrap_or({to}::MAX)"),
    }
}
