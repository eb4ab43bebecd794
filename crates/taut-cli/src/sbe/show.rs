//! `taut sbe show`.

use std::io::{self, ErrorKind, Write};

use taut_sbe_gen::{Body, Field, Presence, Schema, Type};

use super::arguments::Show;
use super::input;
use crate::exit::Failure;

pub(super) fn run(arguments: &Show) -> Result<(), Failure> {
    let schema = input::schema(&arguments.schema)?;
    input::check_names(&schema, &arguments.messages)?;
    let layout = layout(&schema, &arguments.messages);
    match io::stdout().write_all(taut_sys::visible(&layout).as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::run("standard output", error))
        }
        _ => Ok(()),
    }
}

/// One row: what stands where.
struct Row {
    offset: String,
    length: String,
    kind: String,
    name: String,
    more: String,
}

/// Where everything lies, as text.
pub(super) fn layout(schema: &Schema, only: &[String]) -> String {
    let mut text = format!(
        "schema {} id {} version {} header {} ({} bytes)\n",
        schema.package,
        schema.id,
        schema.version,
        schema[schema.header.composite].name,
        schema.header.size
    );
    for message in &schema.messages {
        if !only.is_empty() && !only.contains(&message.name) {
            continue;
        }
        let block = message.body.block_length;
        let heading = format!("\nmessage {} template {} block {block}\n", message.name, message.id);
        text.push_str(&heading);
        let mut rows = vec![Row {
            offset: "offset".to_owned(),
            length: "length".to_owned(),
            kind: "type".to_owned(),
            name: "field".to_owned(),
            more: String::new(),
        }];
        body(schema, &message.body, "", &mut rows);
        let width = rows.iter().map(|row| row.kind.len()).max().unwrap_or(0);
        for row in rows {
            let line = format!(
                "  {:>6} {:>6}  {:width$}  {}{}",
                row.offset, row.length, row.kind, row.name, row.more
            );
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

fn body(schema: &Schema, of: &Body, path: &str, rows: &mut Vec<Row>) {
    for field in &of.fields {
        self::field(schema, field, path, 0, rows);
    }
    for group in &of.groups {
        let name = format!("{path}{}", group.name);
        let dimension = &schema[group.dimension.composite].name;
        rows.push(Row {
            offset: "-".to_owned(),
            length: group.dimension.size.to_string(),
            kind: dimension.clone(),
            name: name.clone(),
            more: format!("  group, block {}{}", group.body.block_length, since(group.notes.since)),
        });
        body(schema, &group.body, &format!("{name}."), rows);
    }
    for data in &of.data {
        rows.push(Row {
            offset: "-".to_owned(),
            length: format!("{}+", data.data_offset),
            kind: schema[data.composite].name.clone(),
            name: format!("{path}{}", data.name),
            more: format!("  data{}", since(data.notes.since)),
        });
    }
}

fn field(schema: &Schema, of: &Field, path: &str, base: usize, rows: &mut Vec<Row>) {
    let kind = match &of.kind {
        Type::Plain(plain) if plain.is_array() => {
            format!("{}[{}]", plain.primitive.name(), plain.length)
        }
        Type::Plain(plain) => plain.primitive.name().to_owned(),
        Type::Composite(id) => schema[*id].name.clone(),
        Type::Enum(id) => format!("{} ({})", schema[*id].name, schema[*id].primitive.name()),
        Type::Set(id) => format!("{} ({})", schema[*id].name, schema[*id].primitive.name()),
    };
    let presence = match of.presence {
        Presence::Required => "",
        Presence::Optional => "  optional",
        Presence::Constant(_) => "  constant",
    };
    let offset = base + of.offset;
    rows.push(Row {
        offset: if of.is_constant() { "-".to_owned() } else { offset.to_string() },
        length: of.size.to_string(),
        kind,
        name: format!("{path}{}", of.name),
        more: format!("{presence}{}", since(of.notes.since)),
    });
    if let Type::Composite(id) = of.kind {
        for member in &schema[id].fields {
            field(schema, member, &format!("{path}{}.", of.name), offset, rows);
        }
    }
}

fn since(version: u32) -> String {
    if version == 0 { String::new() } else { format!("  since {version}") }
}
