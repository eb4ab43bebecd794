//! Encoders: one for each message, and one for the entries of each group. A type parameter counts
//! the groups and data that have been written, so that their order cannot be wrong.

use crate::blank::is_nullable;
use crate::generate::decoder::Members;
use crate::generate::plan::Plan;
use crate::generate::source::Source;
use crate::generate::types::describe;
use crate::generate::values::{bytes_literal, is_bytes};
use crate::schema::{Body, Data, Field, Group, Type};

/// What encoders call their own functions.
const TAKEN: &[&str] = &[
    "new",
    "finish",
    "clone",
    "fmt",
    "into",
    "from",
    "try_into",
    "try_from",
    "borrow",
    "borrow_mut",
    "type_id",
];

impl Plan<'_> {
    /// The encoder of a message, and those of its groups.
    pub(crate) fn message_encoder(&self, out: &mut Source, at: usize) {
        let (message, _) = &self.messages[at];
        let body = &message.body;
        let name = format!("{}Encoder", self.body(body));
        let (header, length) = (self.schema.header.size, body.block_length);
        let stages = body.groups.len() + body.data.len();
        let extras = !self.schema.header.extras.is_empty();
        out.gap();
        let what = format!("Writes the message `{}`, template {}.", message.name, message.id);
        describe(out, &message.notes, &what);
        out.line("#[derive(Debug)]");
        out.line(format!("pub struct {name}<'a, const STAGE: usize = 0> {{"));
        if extras {
            out.line(format!("head: &'a mut [u8; {header}],"));
        }
        out.line(format!("block: &'a mut [u8; {length}],"));
        out.line("rest: &'a mut [u8],\nlength: usize,\n}");
        out.gap();
        out.line(format!("impl<'a> {name}<'a> {{"));
        out.line("/// Writes the header and an empty block: what is not set is null or zero.\n///");
        out.line("/// # Errors\n/// When the buffer is shorter than both.\n#[inline]");
        out.line("pub fn new(buffer: &'a mut [u8]) -> Result<Self, EncodeError> {");
        out.line("let length = buffer.len();");
        out.line(format!("let (whole, rest) = split_mut::<{}>(buffer)?;", header + length));
        out.line(format!("let (head, block) = split_mut::<{header}>(whole)?;"));
        out.line(format!("let (block, _) = split_mut::<{length}>(block)?;"));
        out.line(format!("*head = {};", bytes_literal(&self.header_bytes(at))));
        out.line(format!(
            "*block = {};",
            bytes_literal(&self.schema.blank_block(&body.fields, length))
        ));
        out.line(format!(
            "Ok(Self {{ {}block, rest, length }})\n}}\n}}",
            if extras { "head, " } else { "" }
        ));
        out.gap();
        let members = Members::new(body, TAKEN);
        let generics = format!("impl<'a, const STAGE: usize> {name}<'a, STAGE>");
        if extras || body.fields.iter().any(|field| !field.is_constant()) {
            out.line(format!(
                "{} {{",
                generics.replace("'a, const", "const").replace("<'a, STAGE>", "<'_, STAGE>")
            ));
            self.header_setters(out, &members);
            self.setters(out, body, &members);
            out.line("}");
        }
        let carried: &[&str] =
            if extras { &["head", "block", "length"] } else { &["block", "length"] };
        self.stages(out, body, &name, &members, carried);
        out.gap();
        out.line(format!("impl {name}<'_, {stages}> {{"));
        out.line("/// The length of the message with its header.\n#[must_use]\n#[inline]");
        out.line("pub const fn finish(self) -> usize {\nself.length - self.rest.len()\n}\n}");
        self.group_encoders(out, body);
    }

    /// What a header holds beside the four parts of SBE is set by the caller.
    fn header_setters(&self, out: &mut Source, members: &Members) {
        let header = &self.schema.header;
        let mut scope = crate::generate::names::Scope::with(TAKEN);
        for name in members.fields.iter().chain(&members.groups).chain(&members.data) {
            scope.unique(name.clone());
        }
        for &at in &header.extras {
            let field = &self.schema[header.composite].fields[at];
            if !field.is_constant() {
                let name = crate::generate::names::snake(&field.name);
                let name = scope.unique(format!("header_{name}"));
                self.setter(out, field, &name, None, "head");
            }
        }
    }

    fn group_encoders(&self, out: &mut Source, body: &Body) {
        for group in &body.groups {
            self.group_encoder(out, group);
            self.group_encoders(out, &group.body);
        }
    }

    fn group_encoder(&self, out: &mut Source, group: &Group) {
        let body = &group.body;
        let name = format!("{}Encoder", self.body(body));
        let members = Members::new(body, TAKEN);
        let (length, flat) = (body.block_length, body.is_flat());
        let has_fields = body.fields.iter().any(|field| !field.is_constant());
        out.gap();
        describe(out, &group.notes, &format!("Writes an entry of the group `{}`.", group.name));
        out.line("#[derive(Debug)]");
        if flat {
            out.line(format!("pub struct {name}<'a> {{"));
            out.line(format!("block: &'a mut [u8; {length}],\n}}"));
            if has_fields {
                out.gap();
                out.line(format!("impl {name}<'_> {{"));
            }
        } else {
            out.line(format!("pub struct {name}<'a, const STAGE: usize = 0> {{"));
            out.line(format!("block: &'a mut [u8; {length}],\nrest: &'a mut [u8],\n}}"));
            if has_fields {
                out.gap();
                out.line(format!("impl<const STAGE: usize> {name}<'_, STAGE> {{"));
            }
        }
        if has_fields {
            self.setters(out, body, &members);
            out.line("}");
        }
        self.stages(out, body, &name, &members, &["block"]);
    }

    fn setters(&self, out: &mut Source, body: &Body, members: &Members) {
        for (at, field) in body.fields.iter().enumerate() {
            if !field.is_constant() {
                let text = members.field_texts[at].as_deref();
                self.setter(out, field, &members.fields[at], text, "block");
            }
        }
    }

    fn setter(&self, out: &mut Source, field: &Field, name: &str, text: Option<&str>, to: &str) {
        let (offset, size) = (field.offset, field.size);
        let borrowed = matches!(&field.kind, Type::Plain(plain) if is_bytes(plain));
        let kind = self.value_type(field, None);
        let kind = if borrowed { format!("&{kind}") } else { kind };
        let bytes = self.write(field, "value", borrowed);
        out.gap();
        describe(out, &field.notes, &self.summary(field));
        out.line("#[inline]");
        if is_nullable(field) && borrowed {
            out.line(format!("pub fn {name}(&mut self, value: Option<{kind}>) -> &mut Self {{"));
        } else if is_nullable(field) {
            out.line(format!(
                "pub fn {name}(&mut self, value: impl Into<Option<{kind}>>) -> &mut Self {{"
            ));
        } else {
            out.line(format!("pub fn {name}(&mut self, value: {kind}) -> &mut Self {{"));
        }
        if is_nullable(field) {
            let null = self.null(field);
            let value = if borrowed { "value" } else { "value.into()" };
            out.line(format!("let bytes = {value}.map_or({null}, |value| {bytes});"));
            out.line(format!("put::<{offset}, {size}, _>(self.{to}, bytes);\nself\n}}"));
        } else {
            out.line(format!("put::<{offset}, {size}, _>(self.{to}, {bytes});\nself\n}}"));
        }
        if let Some(text) = text {
            out.gap();
            out.line(format!("/// `{}` as a text, filled up with zeros.\n///", field.name));
            out.line(format!("/// # Errors\n/// When it is longer than {size} bytes."));
            out.line(format!(
                "pub fn {text}(\n&mut self,\ntext: impl AsRef<[u8]>,\n) -> Result<&mut Self, \
                 EncodeError> {{"
            ));
            out.line("let bytes = padded(text.as_ref())?;");
            out.line(format!("put::<{offset}, {size}, _>(self.{to}, bytes);\nOk(self)\n}}"));
        }
    }

    /// One step for each group and data: from the stage before it to the stage behind it.
    fn stages(
        &self,
        out: &mut Source,
        body: &Body,
        name: &str,
        members: &Members,
        carried: &[&str],
    ) {
        let carried = carried.join(", ");
        for (stage, group) in body.groups.iter().enumerate() {
            out.gap();
            out.line(format!("impl<'a> {name}<'a, {stage}> {{"));
            self.group_stage(out, group, &members.groups[stage], (name, stage), &carried);
            out.line("}");
        }
        for (at, data) in body.data.iter().enumerate() {
            let stage = body.groups.len() + at;
            out.gap();
            out.line(format!("impl<'a> {name}<'a, {stage}> {{"));
            self.data_stage(out, data, &members.data[at], (name, stage), &carried);
            out.line("}");
        }
    }

    fn group_stage(
        &self,
        out: &mut Source,
        group: &Group,
        member: &str,
        (name, stage): (&str, usize),
        carried: &str,
    ) {
        let body = &group.body;
        let entry = format!("{}Encoder", self.body(body));
        let (size, length) = (group.dimension.size, body.block_length);
        let stages = body.groups.len() + body.data.len();
        describe(
            out,
            &group.notes,
            &format!("The group `{}`, an entry for each item.", group.name),
        );
        out.line("///\n/// # Errors");
        out.line(
            "/// When the buffer is too short, or there are more items than the count can say.",
        );
        out.line("#[inline]");
        out.line(format!("pub fn {member}<I: IntoIterator>("));
        out.line("self,\nitems: I,");
        if body.is_flat() {
            out.line(format!("mut each: impl FnMut(&mut {entry}<'_>, I::Item),"));
        } else {
            out.line("mut each: impl FnMut(");
            out.line(format!("{entry}<'a>,\nI::Item,"));
            out.line(format!(") -> Result<{entry}<'a, {stages}>, EncodeError>,"));
        }
        let next = stage + 1;
        out.line(format!(") -> Result<{name}<'a, {next}>, EncodeError> {{"));
        out.line(format!("let Self {{ {carried}, rest }} = self;"));
        out.line(format!("let (dimension, mut rest) = split_mut::<{size}>(rest)?;"));
        out.line("let mut count = 0;\nfor item in items {");
        out.line(format!("let (block, behind) = split_mut::<{length}>(rest)?;"));
        let blank = bytes_literal(&self.schema.blank_block(&body.fields, length));
        out.line(format!("*block = {blank};"));
        if body.is_flat() {
            out.line(format!("each(&mut {entry} {{ block }}, item);\nrest = behind;"));
        } else {
            out.line(format!("rest = each({entry} {{ block, rest: behind }}, item)?.rest;"));
        }
        out.line("count += 1;\n}");
        let mut counts = String::new();
        if group.dimension.group_count.is_some() {
            counts.push_str(&format!(", {}", body.groups.len()));
        }
        if group.dimension.data_count.is_some() {
            counts.push_str(&format!(", {}", body.data.len()));
        }
        let function = self.function(group.dimension.composite);
        out.line(format!("{function}_fill(dimension, {length}, count{counts})?;"));
        out.line(format!("Ok({name} {{ {carried}, rest }})\n}}"));
    }

    fn data_stage(
        &self,
        out: &mut Source,
        data: &Data,
        member: &str,
        (name, stage): (&str, usize),
        carried: &str,
    ) {
        let function = self.function(data.composite);
        let next = stage + 1;
        describe(out, &data.notes, &format!("The data `{}`.", data.name));
        out.line("///\n/// # Errors");
        out.line("/// When the buffer is too short, or the data longer than its length can say.");
        out.line("#[inline]");
        out.line(format!(
            "pub fn {member}(\nself,\ndata: impl AsRef<[u8]>,\n) -> Result<{name}<'a, {next}>, \
             EncodeError> {{"
        ));
        out.line(format!("let Self {{ {carried}, rest }} = self;"));
        out.line(format!("let rest = {function}_put(rest, data.as_ref())?;"));
        out.line(format!("Ok({name} {{ {carried}, rest }})\n}}"));
    }
}
