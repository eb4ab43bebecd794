//! What stands where in a block, what is not on the wire, and how texts are encoded.

mod support;

use std::path::Path;

use taut_sbe_gen::{Body, Constant, Literal, Message, Options, Presence, Schema, Type, Value};

fn own(name: &str) -> Schema {
    Schema::read(&support::own(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn places(body: &Body) -> Vec<(&str, usize, usize)> {
    body.fields.iter().map(|field| (field.name.as_str(), field.offset, field.size)).collect()
}

fn only_message(schema: &Schema) -> &Message {
    schema.messages.first().expect("a message")
}

#[test]
fn offsets_place_values_and_what_follows_a_constant() {
    let schema = own("offsets.xml");
    let order = &only_message(&schema).body;
    let expected = [
        ("side", 3, 1),
        ("zero", 4, 4),
        ("fixed", 11, 0),
        ("quantity", 11, 4),
        ("money", 16, 10),
        ("flag", 26, 1),
        ("never", 40, 0),
    ];
    assert_eq!(places(order), expected);
    assert_eq!(order.block_length, 40);
    let groups: Vec<_> = order.groups.iter().map(|group| &group.body).collect();
    assert_eq!(places(groups[0]), [("leg", 0, 1), ("fixed", 6, 0), ("ratio", 6, 4)]);
    assert_eq!(places(groups[1]), [("end", 0, 1), ("side", 5, 0)]);
    assert_eq!((groups[0].block_length, groups[1].block_length), (10, 5));
    let money = schema.composites.iter().find(|composite| composite.name == "Money");
    let offsets: Vec<_> = money.expect("Money").fields.iter().map(|field| field.offset).collect();
    assert_eq!(offsets, [1, 4, 4, 10]);
    // Variable data stand right behind their length, whatever their offset is.
    assert_eq!(order.data[0].data_offset, 2);
}

#[test]
fn constants_have_the_schemas_values_and_take_no_room() {
    let schema = own("constants.xml");
    let body = &only_message(&schema).body;
    let value = |name: &str| {
        let field = body.fields.iter().find(|field| field.name == name).expect(name);
        match &field.presence {
            Presence::Constant(Constant::Value(Literal::Bytes(bytes))) => {
                String::from_utf8_lossy(bytes).into_owned()
            }
            Presence::Constant(Constant::Value(Literal::Int(value))) => value.to_string(),
            Presence::Constant(Constant::Value(Literal::Float(value))) => value.to_string(),
            Presence::Constant(Constant::Choice(id, at)) => schema[*id].values[*at].name.clone(),
            Presence::Required | Presence::Optional => format!("{} bytes", field.size),
        }
    };
    for (name, expected) in [
        ("letter", "103"),
        ("inferred", "Petrol"),
        ("padded", "GH"),
        ("latin", "été"),
        ("latinLetter", "233"),
        ("chinese", "中文"),
        ("largest", "255"),
        ("smallest", "-9223372036854775808"),
        ("real", "10000000000"),
        ("nanoseconds", "9"),
        ("kindB", "66"),
        ("kind", "A"),
        ("number", "9"),
        ("time", "11 bytes"),
        ("nothing", "0 bytes"),
        ("unit", "1 bytes"),
    ] {
        assert_eq!(value(name), expected, "{name}");
    }
    assert_eq!(body.block_length, 1 + 4 + 11 + 1 + 2);
    let warnings: Vec<_> = schema.warnings.iter().map(|odd| odd.problem.as_str()).collect();
    let odd = "is on the wire: a valueRef needs a <field> with presence=\"constant\"";
    assert_eq!(warnings, [format!("seen {odd}"), format!("unit {odd}")]);
}

#[test]
fn texts_in_other_encodings_keep_their_bytes() {
    let (schema, message) = (own("charsets.xml"), support::texts());
    let bytes = schema.encode(&message).unwrap_or_else(|error| panic!("{error}"));
    let (again, rest) = schema.decode(&bytes).unwrap_or_else(|error| panic!("{error}"));
    assert!(rest.is_empty());
    assert_eq!(again, message);
    assert_eq!(bytes[8 + 16..8 + 20], [b'n', 0xe9, 0, 0]);
}

/// A schema with one message of these fields.
fn with(types: &str, fields: &str) -> String {
    format!(
        "<messageSchema package=\"p\" id=\"1\" version=\"0\"><types>\
         <composite name=\"messageHeader\">\
         <type name=\"blockLength\" primitiveType=\"uint16\"/>\
         <type name=\"templateId\" primitiveType=\"uint16\"/>\
         <type name=\"schemaId\" primitiveType=\"uint16\"/>\
         <type name=\"version\" primitiveType=\"uint16\"/></composite>{types}</types>\
         <message name=\"M\" id=\"1\">{fields}</message></messageSchema>"
    )
}

#[test]
fn an_enum_may_name_its_null() {
    // The standard's optionalBoolean.
    let boolean = "<enum name=\"Maybe\" encodingType=\"uint8\">\
                   <validValue name=\"false\">0</validValue>\
                   <validValue name=\"nullValue\">255</validValue></enum>";
    let fields = "<field name=\"a\" id=\"1\" type=\"Maybe\"/>\
                  <field name=\"b\" id=\"2\" type=\"Maybe\" presence=\"optional\"/>";
    let schema = Schema::parse(Path::new("m.xml"), &with(boolean, fields), Path::new("."));
    let schema = schema.unwrap_or_else(|error| panic!("{error}"));
    let told: Vec<_> = schema.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with(": validValue nullValue is the null value of its enum, 255"));
    let (message, _) = schema.decode(&[2, 0, 1, 0, 1, 0, 0, 0, 255, 255]).expect("a message");
    assert_eq!(message.fields.get("a"), Some(&Value::Text("nullValue".to_owned())));
    assert_eq!(message.fields.get("b"), Some(&Value::Null));
    let folder = tempfile::tempdir().expect("folder");
    support::program(&schema, &Options::default(), "fn main() {}", folder.path());
}

#[test]
fn a_field_is_no_older_than_its_type() {
    let since = "sinceVersion=\"1\"";
    for kind in [
        format!("<type name=\"T\" primitiveType=\"uint16\" {since}/>"),
        format!(
            "<enum name=\"T\" encodingType=\"uint8\" {since}>\
             <validValue name=\"x\">1</validValue></enum>"
        ),
        format!(
            "<composite name=\"T\" {since}><type name=\"m\" primitiveType=\"int8\"/></composite>"
        ),
    ] {
        let fields = "<field name=\"a\" id=\"1\" type=\"uint8\"/>\
                      <field name=\"t\" id=\"2\" type=\"T\"/>";
        let text = with(&kind, fields).replacen("version=\"0\"", "version=\"1\"", 1);
        let schema = Schema::parse(Path::new("s.xml"), &text, Path::new("."));
        let schema = schema.unwrap_or_else(|error| panic!("{error}"));
        // A sender of version 0 does not know the type.
        let (message, _) = schema.decode(&[1, 0, 1, 0, 1, 0, 0, 0, 7]).expect("an old message");
        assert_eq!(message.fields.get("a"), Some(&Value::Int(7)));
        assert_eq!(message.fields.get("t"), Some(&Value::Null), "{kind}");
        assert_eq!(schema.messages[0].body.fields[1].notes.since, 1);
    }
}

#[test]
fn schemas_may_be_in_utf_16_and_say_what_else_they_are_in() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("schema.xml");
    let fields = "<field name=\"a\" id=\"1\" type=\"uint8\" description=\"中文\"/>";
    let text = format!("<?xml version=\"1.0\" encoding=\"UTF-16\"?>{}", with("", fields));
    let read = |bytes: Vec<u8>| {
        std::fs::write(&path, bytes).expect("file");
        Schema::read(&path).map_err(|error| error.problem)
    };
    let mark = || std::iter::once(0xfeff).chain(text.encode_utf16());
    for bytes in [
        mark().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
        mark().flat_map(u16::to_be_bytes).collect::<Vec<u8>>(),
    ] {
        let cut = bytes[..bytes.len() - 1].to_vec();
        let schema = read(bytes).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(only_message(&schema).body.fields[0].notes.description, "中文");
        assert_eq!(
            read(cut).expect_err("half a character"),
            "the file starts as UTF-16 and is none; save it as UTF-8"
        );
    }
    let line = b"<?xml version='1.0' encoding='GB18030'?>\n<a b=\"\xd6\xd0\"/>".to_vec();
    assert_eq!(
        read(line).expect_err("an encoding that is not read"),
        "the file is not in UTF-8, UTF-16 or ISO-8859-1, but in gb18030; save it as UTF-8"
    );
    assert_eq!(
        read(b"<a b=\"\xd6\xd0\"/>".to_vec()).expect_err("an encoding that it does not say"),
        "the file is not in UTF-8, UTF-16 or ISO-8859-1; save it as UTF-8"
    );
}

#[test]
fn headers_may_have_constants() {
    let schema = own("constants.xml");
    let header = &schema[schema.header.composite];
    assert_eq!((header.size, schema.header.size), (8, 8));
    let dimension = &only_message(&schema).body.groups[0].dimension;
    assert_eq!((dimension.size, dimension.count.offset), (3, 2));
    let nothing = only_message(&schema).body.fields.iter().find(|field| field.name == "nothing");
    assert!(matches!(nothing.map(|field| &field.kind), Some(Type::Composite(id))
        if schema[*id].fields.len() == 2 && schema[*id].size == 0));
}
