//! Decoders: one for each message, and one for the entries of each group.

use crate::blank::is_nullable;
use crate::generate::names::{Scope, snake};
use crate::generate::plan::Plan;
use crate::generate::source::Source;
use crate::generate::types::describe;
use crate::primitive::Charset;
use crate::schema::{Body, Data, Field, Group, Presence, Type};

/// Groups and data up to which a body is split in line. Messages that must be fast have fewer; of
/// long rows the compiler makes much code, slowly, and of sixteen groups wrong code (rustc 1.95).
const IN_LINE_MAX: usize = 6;

/// What decoders call their own functions.
const TAKEN: &[&str] = &[
    "decode",
    "decode_prefix",
    "decode_body",
    "json",
    "acting_version",
    "block_bytes",
    "split",
    "show",
    "show_message",
    "clone",
    "fmt",
    "to_string",
    "into",
    "from",
    "try_into",
    "try_from",
    "borrow",
    "type_id",
    "to_owned",
    "block",
    "header_more",
];

/// The names of a body's functions in Rust, in the order of the schema.
pub(crate) struct Members {
    pub(crate) fields: Vec<String>,
    /// The text of a field of characters has a function of its own.
    pub(crate) field_texts: Vec<Option<String>>,
    pub(crate) groups: Vec<String>,
    pub(crate) data: Vec<String>,
    pub(crate) data_texts: Vec<Option<String>>,
}

impl Members {
    pub(crate) fn new(body: &Body, taken: &[&str]) -> Self {
        let mut scope = Scope::with(taken);
        let fields = body.fields.iter().map(|field| scope.unique(snake(&field.name))).collect();
        let groups = body.groups.iter().map(|group| scope.unique(snake(&group.name))).collect();
        let data = body.data.iter().map(|data| scope.unique(snake(&data.name))).collect();
        let mut text = |name: &str, is_text: bool| {
            is_text.then(|| scope.unique(format!("{}_text", snake(name))))
        };
        let field_texts =
            body.fields.iter().map(|field| text(&field.name, has_text(field))).collect();
        let data_texts = body
            .data
            .iter()
            .map(|data| text(&data.name, data.charset == Some(Charset::Utf8)))
            .collect();
        Self { fields, field_texts, groups, data, data_texts }
    }
}

fn has_text(field: &Field) -> bool {
    let text = matches!(&field.kind, Type::Plain(plain) if plain.is_text()
        && !matches!(plain.charset, Some(Charset::Latin1 | Charset::Other)));
    text && !field.is_constant()
}

impl Plan<'_> {
    /// The decoder of a message, and those of its groups.
    pub(crate) fn message_decoder(&self, out: &mut Source, at: usize) {
        let (message, _) = &self.messages[at];
        let what = format!("The message `{}`, template {}.", message.name, message.id);
        out.gap();
        describe(out, &message.notes, &what);
        let has_header = !self.header_more().is_empty();
        self.body_decoder(out, &message.body, has_header);
        let name = format!("{}Decoder", self.body(&message.body));
        out.gap();
        out.line(format!("impl<'a> {name}<'a> {{"));
        out.line("/// The number of the message in its header.");
        out.line(format!("pub const TEMPLATE_ID: u64 = {};", message.id));
        out.gap();
        out.line("/// Decodes a message with its header, and checks all of it.\n///");
        out.line("/// # Errors\n/// When the bytes are not this message.\n#[inline]");
        out.line("pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {");
        out.line("Self::decode_prefix(bytes).map(|(message, _)| message)\n}");
        out.gap();
        out.line("/// Decodes a message with its header, and gives the bytes behind it.\n///");
        out.line("/// # Errors\n/// When the bytes do not start with this message.\n#[inline]");
        out.line(
            "pub fn decode_prefix(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {",
        );
        out.line("let frame = Frame::split(bytes)?;");
        out.line("if frame.template != Self::TEMPLATE_ID {");
        out.line("return Err(DecodeError::OtherTemplate { template: frame.template });\n}");
        out.line(format!("let length = frame.length.unwrap_or({});", message.body.block_length));
        let split =
            "Self::split(frame.body, length, frame.version).map_err(|cut| cut.within(bytes))";
        if has_header {
            out.line(format!("let (message, rest) = {split}?;"));
            out.line("Ok((Self { header_more: Some(frame.more), ..message }, rest))\n}");
        } else {
            out.line(format!("{split}\n}}"));
        }
        out.gap();
        out.line(
            "/// Decodes a body whose header has been read elsewhere, and gives the bytes behind",
        );
        out.line("/// it.\n///");
        out.line("/// # Errors\n/// When the bytes do not start with this body.\n#[inline]");
        out.line("pub fn decode_body(\nbytes: &'a [u8],\nblock_length: usize,\nversion: u32,");
        out.line(") -> Result<(Self, &'a [u8]), DecodeError> {");
        out.line("Self::split(bytes, block_length, version).map_err(|cut| cut.within(bytes))\n}");
        out.gap();
        out.line("/// Shows the message as JSON.\n#[must_use]");
        out.line("pub const fn json(&self) -> Json<'_, Self> {\nJson::new(self)\n}\n}");
        out.gap();
        out.line(format!("impl Show for {name}<'_> {{"));
        out.line("fn show_message(&self, to: &mut Writer<'_>) -> fmt::Result {");
        if has_header {
            out.line("let header = self.header_more.as_ref().map(|more| more as &dyn Value);");
        } else {
            out.line("let header = None;");
        }
        out.line(format!(
            "to.message({:?}, {}, self.block.version, header, |to| self.show(to))\n}}\n}}",
            message.name, message.id
        ));
        for implementation in ["Display", "Debug"] {
            out.gap();
            out.line(format!("impl fmt::{implementation} for {name}<'_> {{"));
            out.line("fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {");
            out.line("self.show_message(&mut Writer::text(f))\n}\n}");
        }
        self.group_decoders(out, &message.body);
    }

    fn group_decoders(&self, out: &mut Source, body: &Body) {
        for group in &body.groups {
            let name = format!("{}Decoder", self.body(&group.body));
            out.gap();
            describe(out, &group.notes, &format!("An entry of the group `{}`.", group.name));
            self.body_decoder(out, &group.body, false);
            out.gap();
            out.line(format!("impl fmt::Debug for {name}<'_> {{"));
            out.line("fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {");
            out.line("Writer::text(f).record(|to| self.show(to))\n}\n}");
            self.group_decoders(out, &group.body);
        }
    }

    /// The struct, its getters, and how it is split off.
    fn body_decoder(&self, out: &mut Source, body: &Body, has_header: bool) {
        let name = format!("{}Decoder", self.body(body));
        let members = Members::new(body, TAKEN);
        let bytes = body.oldest_block_length();
        out.line("#[derive(Clone, Copy)]");
        out.line(format!("pub struct {name}<'a> {{\nblock: Block<'a, {bytes}>,"));
        if has_header {
            out.line("header_more: Option<HeaderMore<'a>>,");
        }
        for (group, member) in body.groups.iter().zip(&members.groups) {
            out.line(format!("{member}: {},", self.group_type(group)));
        }
        for (data, member) in body.data.iter().zip(&members.data) {
            out.line(format!("{member}: {},", data_type(body, data)));
        }
        out.line("}");
        out.gap();
        out.line(format!("impl<'a> {name}<'a> {{"));
        out.line("/// The version of the schema that its sender has.\n#[must_use]\n#[inline]");
        out.line("pub const fn acting_version(&self) -> u32 {\nself.block.version\n}");
        out.gap();
        out.line("/// Its block as it is on the wire, with what newer versions added.");
        out.line("#[must_use]\n#[inline]");
        out.line("pub const fn block_bytes(&self) -> &'a [u8] {\nself.block.all\n}");
        for (at, field) in body.fields.iter().enumerate() {
            self.getter(out, body, field, &members.fields[at]);
            if let Some(text) = &members.field_texts[at] {
                let is_option = is_nullable(field) || body.is_newer(&field.notes);
                let get = format!("self.{}()", members.fields[at]);
                out.gap();
                out.line(format!("/// `{}` up to its first zero, if it is text.", field.name));
                out.line("#[must_use]");
                out.line(format!("pub fn {text}(&self) -> Option<&'a str> {{"));
                out.line(if is_option { format!("text({get}?)") } else { format!("text({get})") });
                out.line("}");
            }
        }
        for (group, member) in body.groups.iter().zip(&members.groups) {
            out.gap();
            describe(out, &group.notes, &format!("The group `{}`.", group.name));
            out.line("#[must_use]\n#[inline]");
            out.line(format!("pub const fn {member}(&self) -> {} {{", self.group_type(group)));
            out.line(format!("self.{member}\n}}"));
        }
        for (at, data) in body.data.iter().enumerate() {
            let member = &members.data[at];
            out.gap();
            describe(out, &data.notes, &format!("The data `{}`.", data.name));
            out.line("#[must_use]\n#[inline]");
            out.line(format!("pub const fn {member}(&self) -> {} {{", data_type(body, data)));
            out.line(format!("self.{member}\n}}"));
            if let Some(text) = &members.data_texts[at] {
                let option = if body.is_newer(&data.notes) { "?" } else { "" };
                out.gap();
                out.line(format!("/// `{}`, if it is text.\n#[must_use]", data.name));
                out.line(format!("pub fn {text}(&self) -> Option<&'a str> {{"));
                out.line(format!("core::str::from_utf8(self.{member}{option}).ok()\n}}"));
            }
        }
        out.line("}");
        self.body_trait(out, body, &name, &members, has_header);
    }

    fn group_type(&self, group: &Group) -> String {
        format!("Group<'a, {}Decoder<'a>>", self.body(&group.body))
    }

    fn getter(&self, out: &mut Source, body: &Body, field: &Field, name: &str) {
        out.gap();
        describe(out, &field.notes, &self.summary(field));
        out.line("#[must_use]\n#[inline]");
        if let Presence::Constant(value) = &field.presence {
            let (kind, value) = self.constant(field, value);
            out.line(format!("pub const fn {name}(&self) -> {kind} {{\n{value}\n}}"));
            return;
        }
        let kind = self.value_type(field, Some("'a"));
        let (offset, size) = (field.offset, field.size);
        let read = self.read(field, true);
        if body.is_newer(&field.notes) {
            let since = field.notes.since;
            let map = if is_nullable(field) { "and_then" } else { "map" };
            out.line(format!("pub fn {name}(&self) -> Option<{kind}> {{"));
            out.line(format!("let bytes = self.block.newer::<{offset}, {size}>({since});"));
            out.line(format!("bytes.{map}(|bytes| {read})\n}}"));
            return;
        }
        let kind = if is_nullable(field) { format!("Option<{kind}>") } else { kind };
        out.line(format!("pub fn {name}(&self) -> {kind} {{"));
        out.line(format!("let bytes = at::<{offset}, {size}, _>(self.block.base);"));
        out.line(format!("{read}\n}}"));
    }

    fn body_trait(
        &self,
        out: &mut Source,
        body: &Body,
        name: &str,
        members: &Members,
        has_header: bool,
    ) {
        out.gap();
        out.line(format!("impl<'a> Body<'a> for {name}<'a> {{"));
        out.line(format!("const FLAT: bool = {};", body.is_flat()));
        out.line(format!("const BYTES: usize = {};", body.oldest_block_length()));
        out.gap();
        out.line("#[inline]");
        out.line("fn split(\nbytes: &'a [u8],\nlength: usize,\nversion: u32,");
        out.line(") -> Result<(Self, &'a [u8]), Cut> {");
        out.line("let (block, rest) = Block::split(bytes, length, version)?;");
        for (group, member) in body.groups.iter().zip(&members.groups) {
            let function = self.function(group.dimension.composite);
            let split = step(body, &format!("{function}_entries(rest, version)"));
            out.line(when_known(body, &group.notes, member, &split, "Group::EMPTY"));
        }
        for (data, member) in body.data.iter().zip(&members.data) {
            let function = self.function(data.composite);
            if body.is_newer(&data.notes) {
                let known = format!("{function}_data(rest).map(|(data, rest)| (Some(data), rest))");
                let split = step(body, &known);
                out.line(when_known(body, &data.notes, member, &split, "None"));
            } else {
                let split = step(body, &format!("{function}_data(rest)"));
                out.line(format!("let ({}, rest) = {split};", part(member)));
            }
        }
        let parts = members.groups.iter().chain(&members.data);
        let more = has_header.then(|| "header_more: None".to_owned());
        let all: Vec<String> = ["block".to_owned()]
            .into_iter()
            .chain(more)
            .chain(parts.map(|member| format!("{member}: {}", part(member))))
            .collect();
        out.line(format!("Ok((Self {{ {} }}, rest))\n}}", all.join(", ")));
        out.gap();
        self.show_function(out, body, members);
        out.line("}");
    }

    fn show_function(&self, out: &mut Source, body: &Body, members: &Members) {
        let is_empty = body.fields.is_empty() && body.is_flat();
        let to = if is_empty { "_" } else { "to" };
        out.line(format!("fn show(&self, {to}: &mut Writer<'_>) -> fmt::Result {{"));
        for (field, member) in body.fields.iter().zip(&members.fields) {
            let is_option = is_nullable(field) || body.is_newer(&field.notes);
            let shown = self.shown(field, &format!("self.{member}()"), is_option, false);
            out.line(format!("to.field({:?}, &{shown})?;", field.name));
        }
        for (group, member) in body.groups.iter().zip(&members.groups) {
            out.line(format!("to.field({:?}, &self.{member})?;", group.name));
        }
        for (data, member) in body.data.iter().zip(&members.data) {
            let shape = match data.charset {
                Some(Charset::Utf8) => "Utf8",
                Some(Charset::Latin1) => "Latin1",
                _ => "Hex",
            };
            let shown = match body.is_newer(&data.notes) {
                true => format!("self.{member}.map({shape})"),
                false => format!("{shape}(self.{member})"),
            };
            out.line(format!("to.field({:?}, &{shown})?;", data.name));
        }
        out.line("Ok(())\n}");
    }
}

/// The call that splits a part off, out of line where there are many.
fn step(body: &Body, call: &str) -> String {
    match body.groups.len() + body.data.len() > IN_LINE_MAX {
        true => format!("apart(|| {call})?"),
        false => format!("{call}?"),
    }
}

/// Splits a part off that its sender knows; what its sender does not know is `absent`.
fn when_known(
    body: &Body,
    notes: &crate::schema::Notes,
    member: &str,
    split: &str,
    absent: &str,
) -> String {
    match body.is_newer(notes) {
        true => format!(
            "let ({}, rest) =\nif version < {} {{\n({absent}, rest)\n}} else {{\n\
             {split}\n}};",
            part(member),
            notes.since
        ),
        false => format!("let ({}, rest) = {split};", part(member)),
    }
}

/// The variable of a part that was split off. A member that ends in `_` goes behind: two of them
/// inside a name are no snake case.
fn part(member: &str) -> String {
    if member.ends_with('_') { format!("part_{member}") } else { format!("{member}_part") }
}

fn data_type(body: &Body, data: &Data) -> &'static str {
    if body.is_newer(&data.notes) { "Option<&'a [u8]>" } else { "&'a [u8]" }
}
