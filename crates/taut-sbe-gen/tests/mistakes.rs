//! Wrong schemas are refused with file, line and what is wrong; odd ones with a warning are not.

use std::path::Path;

use taut_sbe_gen::Schema;

const TYPES: &str = r#"<composite name="messageHeader">
<type name="blockLength" primitiveType="uint16"/><type name="templateId" primitiveType="uint16"/>
<type name="schemaId" primitiveType="uint16"/><type name="version" primitiveType="uint16"/>
</composite>
<composite name="groupSizeEncoding">
<type name="blockLength" primitiveType="uint8"/><type name="numInGroup" primitiveType="uint8"/>
</composite>
<composite name="text"><type name="length" primitiveType="uint8"/>
<type name="varData" primitiveType="char" length="0"/></composite>
<enum name="Side" encodingType="uint8"><validValue name="Buy">1</validValue></enum>"#;

/// The lines before the types of a case: its first line is this one.
const FIRST: usize = 13;

fn parse(types: &str, messages: &str) -> Result<Schema, String> {
    let text = format!(
        "<sbe:messageSchema xmlns:sbe=\"urn:x\" package=\"p\" id=\"1\" version=\"2\">\n<types>\n\
         {TYPES}\n{types}\n</types>\n{messages}\n</sbe:messageSchema>"
    );
    Schema::parse(Path::new("wrong.xml"), &text, Path::new(".")).map_err(|error| error.to_string())
}

#[track_caller]
fn refused(types: &str, messages: &str, line: usize, problem: &str) {
    let error = parse(types, messages).expect_err(problem);
    assert_eq!(error, format!("wrong.xml:{line}: {problem}"));
}

fn message(inner: &str) -> String {
    format!("<sbe:message name=\"M\" id=\"1\">\n{inner}\n</sbe:message>")
}

#[test]
fn elements_as_deep_as_a_stack_are_refused() {
    for deep in [65, 100_000] {
        let nested = "<a>".repeat(deep) + &"</a>".repeat(deep);
        refused("", &nested, FIRST + 2, "elements are nested too deep");
    }
    parse("", &("<a>".repeat(20) + &"</a>".repeat(20))).expect_err("another mistake");
}

#[test]
fn types_must_make_sense() {
    for (types, line, problem) in [
        (
            "<type name=\"A\" primitiveType=\"int7\"/>",
            0,
            "primitiveType=\"int7\" is not a primitive",
        ),
        ("<type name=\"A\"/>", 0, "<type> has no attribute primitiveType"),
        ("\n<type primitiveType=\"int8\"/>", 1, "<type> has no attribute name"),
        ("<thing name=\"A\"/>", 0, "<thing> is not a kind of type"),
        (
            "<type name=\"A\" primitiveType=\"int8\" presence=\"constant\"/>",
            0,
            "a constant has neither a value nor a valueRef",
        ),
        (
            "<type name=\"A\" primitiveType=\"int8\" presence=\"constant\">128</type>",
            0,
            "128 does not fit int8 (-128 to 127)",
        ),
        (
            "<type name=\"A\" primitiveType=\"int8\" presence=\"constant\" \
             valueRef=\"Side.Sell\"/>",
            0,
            "enum Side has no value Sell",
        ),
        (
            "<type name=\"A\" primitiveType=\"int8\" presence=\"perhaps\"/>",
            0,
            "presence=\"perhaps\" is not required, optional or constant",
        ),
        (
            "<type name=\"A\" primitiveType=\"int8\" nullValue=\"x\"/>",
            0,
            "nullValue: \"x\" is not a number; without a nullValue it is -128",
        ),
        (
            "<type name=\"A\" primitiveType=\"int8\" length=\"-1\"/>",
            0,
            "attribute length=\"-1\" is not a number in its range",
        ),
        (
            "<type name=\"A\" primitiveType=\"int8\" sinceVersion=\"3\"/>",
            0,
            "sinceVersion=3 is above the schema's version 2",
        ),
        (
            "<type name=\"A\" primitiveType=\"int8\" minValue=\"5\" maxValue=\"-5\"/>",
            0,
            "minValue=5 is above maxValue=-5",
        ),
        (
            "<type name=\"A\" primitiveType=\"double\" minValue=\"0.5\" maxValue=\"0.25\"/>",
            0,
            "minValue=0.5 is above maxValue=0.25",
        ),
        (
            "<type name=\"T\" primitiveType=\"int8\" minValue=\"1\" maxValue=\"3\"/>\n\
             <enum name=\"E\" encodingType=\"T\"><validValue name=\"A\">4</validValue></enum>",
            1,
            "validValue A: 4 is above the maxValue of its type",
        ),
        (
            "<type name=\"T\" primitiveType=\"char\" minValue=\"B\"/>\n\
             <enum name=\"E\" encodingType=\"T\"><validValue name=\"A\">A</validValue></enum>",
            1,
            "validValue A: A is below the minValue of its type",
        ),
        ("<enum name=\"E\" encodingType=\"double\"/>", 0, "an enum cannot be encoded as double"),
        ("<enum name=\"E\" encodingType=\"Nothing\"/>", 0, "there is no type Nothing"),
        (
            "<enum name=\"E\" encodingType=\"uint8\">\n\
             <validValue name=\"A\">256</validValue></enum>",
            1,
            "validValue A: 256 does not fit uint8 (0 to 255)",
        ),
        (
            "<enum name=\"E\" encodingType=\"char\">\n\
             <validValue name=\"A\">AB</validValue></enum>",
            1,
            "validValue A: \"AB\" is not one character",
        ),
        (
            "<enum name=\"E\" encodingType=\"char\"><validValue name=\"A\">A</validValue>\n\
             <validValue name=\"B\">A</validValue></enum>",
            1,
            "validValue B has the value 65 of A",
        ),
        (
            "<enum name=\"E\" encodingType=\"char\"><validValue name=\"A\">A</validValue>\n\
             <validValue name=\"A\">B</validValue></enum>",
            1,
            "validValue A is already defined in line 13",
        ),
        ("<set name=\"S\" encodingType=\"int8\"/>", 0, "a set cannot be encoded as int8"),
        (
            "<set name=\"S\" encodingType=\"uint8\">\n<choice name=\"a\">8</choice></set>",
            1,
            "choice a: bit 8 does not exist in uint8",
        ),
        ("<composite name=\"C\"/>", 0, "composite C has no members"),
        (
            "<composite name=\"C\">\n<ref name=\"x\" type=\"C\"/></composite>",
            1,
            "type C contains itself",
        ),
        (
            "<composite name=\"C\"><type name=\"a\" primitiveType=\"int32\"/>\n\
             <type name=\"b\" primitiveType=\"int8\" offset=\"3\"/></composite>",
            1,
            "offset=3 of b lies in what stands before it, which ends at 4",
        ),
        (
            "<composite name=\"C\"><type name=\"a\" primitiveType=\"int32\"/>\n\
             <type name=\"a\" primitiveType=\"int8\"/></composite>",
            1,
            "member a is already defined in line 13",
        ),
    ] {
        refused(types, "", FIRST + line, problem);
    }
}

#[test]
fn composites_must_make_sense() {
    for (members, problem) in [
        (
            "<type name=\"a\" primitiveType=\"int32\"/>\
             <type name=\"b\" primitiveType=\"int8\" offset=\"0\"/>",
            "offset=0 of b lies in what stands before it, which ends at 4",
        ),
        (
            "<type name=\"a\" primitiveType=\"int32\"/>\
             <type name=\"k\" primitiveType=\"int8\" presence=\"constant\" offset=\"3\">1</type>",
            "offset=3 of k lies in what stands before it, which ends at 4",
        ),
        (
            "<type name=\"a\" primitiveType=\"int32\"/><note/>",
            "<note> stands in composite C, which has only types, enums, sets, composites and refs",
        ),
        (
            "<enum name=\"E\" encodingType=\"uint8\" presence=\"constant\"/>",
            "enum E cannot be constant; a field is, with presence=\"constant\" and \
             valueRef=\"E.value\"",
        ),
        (
            "<type name=\"year\" primitiveType=\"uint16\" nullValue=\"65536\"/>",
            "nullValue: 65536 does not fit uint16 (0 to 65535); without a nullValue it is 65535",
        ),
    ] {
        refused(&format!("<composite name=\"C\">{members}</composite>"), "", FIRST, problem);
    }
}

#[test]
fn data_are_a_length_and_bytes_right_behind_it() {
    let data = message("<data name=\"d\" id=\"1\" type=\"D\"/>");
    let length = "<type name=\"length\" primitiveType=\"uint8\"/>";
    let bytes = "<type name=\"varData\" primitiveType=\"uint8\" length=\"0\"/>";
    for (members, problem) in [
        (
            format!("{length}<type name=\"k\" primitiveType=\"uint8\"/>{bytes}"),
            "type D of data has k beside its length and its bytes, which follow each other; write \
             k as a field",
        ),
        (
            length.replace("/>", " offset=\"2\"/>") + bytes,
            "type D of data has no length at its start",
        ),
        (
            length.replace("/>", " presence=\"constant\">3</type>") + bytes,
            "type D of data has no integer length on the wire",
        ),
    ] {
        let types = format!("<composite name=\"D\">{members}</composite>");
        refused(&types, &data, FIRST + 3, problem);
    }
    // What is not on the wire may stand there.
    let constant = "<type name=\"k\" primitiveType=\"uint8\" presence=\"constant\">3</type>";
    parse(&format!("<composite name=\"D\">{length}{constant}{bytes}</composite>"), &data)
        .expect("right");
}

#[test]
fn messages_must_make_sense() {
    let group = "<group name=\"g\" id=\"2\">\n<field name=\"f\" id=\"3\" type=\"int8\"/></group>";
    let first = FIRST + 3;
    for (inner, line, problem) in [
        ("<field name=\"f\" id=\"1\" type=\"Nothing\"/>", 0, "there is no type Nothing"),
        ("<field name=\"f\" type=\"int8\"/>", 0, "<field> has no attribute id"),
        (
            "<field name=\"f\" id=\"x\" type=\"int8\"/>",
            0,
            "attribute id=\"x\" is not a number in its range",
        ),
        ("<thing/>", 0, "<thing> stands among the fields"),
        (
            "<field name=\"f\" id=\"1\" type=\"int8\"/>\n\
             <field name=\"f\" id=\"2\" type=\"int8\"/>",
            1,
            "field f is already defined in line 16",
        ),
        (
            &format!("{group}\n<field name=\"h\" id=\"1\" type=\"int8\"/>"),
            2,
            "field h stands behind a group; fields stand first, then groups, then data",
        ),
        (
            &format!("<data name=\"d\" id=\"9\" type=\"text\"/>\n{group}"),
            1,
            "group g stands behind data; fields stand first, then groups, then data",
        ),
        ("<data name=\"d\" id=\"9\" type=\"Side\"/>", 0, "type Side is not a composite"),
        (
            "<data name=\"d\" id=\"9\" type=\"messageHeader\"/>",
            0,
            "type messageHeader of data has no integer length on the wire",
        ),
        (
            "<group name=\"g\" id=\"2\" dimensionType=\"text\"/>",
            0,
            "dimensionType text has no integer blockLength on the wire",
        ),
        (
            "<group name=\"g\" id=\"2\" blockLength=\"256\"/>",
            0,
            "blockLength 256 does not fit its place in the header, a uint8",
        ),
        (
            "<field name=\"f\" id=\"1\" type=\"int64\"/>\n\
             <field name=\"g\" id=\"2\" type=\"int8\" offset=\"7\"/>",
            1,
            "offset=7 of g lies in what stands before it, which ends at 8",
        ),
        (
            "<field name=\"f\" id=\"1\" type=\"Side\" presence=\"constant\" \
             valueRef=\"Side.Sell\"/>",
            0,
            "enum Side has no value Sell",
        ),
        (
            "<field name=\"f\" id=\"1\" type=\"Side\" presence=\"constant\" valueRef=\"Side\"/>",
            0,
            "valueRef=\"Side\" is not Enum.value",
        ),
        (
            "<field name=\"f\" id=\"1\" type=\"groupSizeEncoding\" presence=\"constant\"/>",
            0,
            "only a primitive or an enum can be constant; of a composite, make the members so",
        ),
        (
            "<field name=\"f\" id=\"1\" type=\"text\"/>",
            0,
            "field f has a type of variable length; write it as <data>, behind all groups",
        ),
    ] {
        refused("", &message(inner), first + line, problem);
    }
}

#[test]
fn the_schema_as_a_whole_must_make_sense() {
    let wrong = |text: &str, problem: &str| {
        let parsed = Schema::parse(Path::new("w.xml"), text, Path::new("."));
        assert_eq!(parsed.expect_err(problem).to_string(), problem);
    };
    wrong(
        "<a>\n<b>\n</a>",
        "w.xml:3: this is not well-formed XML: expected 'b' tag, not 'a' at 3:1",
    );
    wrong(
        "<!DOCTYPE m [\n<!ELEMENT m ANY>\n<!ENTITY a \"x\">\n]>\n<messageSchema id=\"1\"/>",
        "w.xml:3: the document type defines an entity; write its text where it is used",
    );
    wrong(
        "<!-- <!ENTITY a> -->\n<!DOCTYPE m [\n<!ELEMENT m ANY>\n\
         <!ATTLIST m id CDATA #REQUIRED>\n]>\n\
         <messageSchema id=\"1\"/>",
        "w.xml:6: there is no type messageHeader",
    );
    // What stands behind the document type, in a literal or in an instruction, defines nothing.
    for prolog in [
        "<!DOCTYPE m>",
        "<?note <!ENTITY a>?>",
        "<!DOCTYPE m [<!ATTLIST m a CDATA \"]&lt;!ENTITY b\">]>",
        "<!DOCTYPE m [<?note <!ENTITY a>?> <!-- ]> -->]>",
    ] {
        wrong(
            &format!("{prolog}<schema><![CDATA[<!ENTITY a \"x\">]]></schema>"),
            "w.xml:1: the root is <schema>, not <messageSchema>",
        );
    }
    wrong(
        "<!DOCTYPE m [\n<!ATTLIST m a CDATA \"]>\">\n<!ENTITY a \"x\">]>\n<schema/>",
        "w.xml:3: the document type defines an entity; write its text where it is used",
    );
    wrong(
        "<!DOCTYPE m SYSTEM \"m.dtd\">\n<schema/>",
        "w.xml:2: the root is <schema>, not <messageSchema>",
    );
    wrong("<schema/>", "w.xml:1: the root is <schema>, not <messageSchema>");
    wrong("<messageSchema/>", "w.xml:1: <messageSchema> has no attribute id");
    wrong("<messageSchema id=\"1\"/>", "w.xml:1: there is no type messageHeader");
    wrong(
        "<messageSchema id=\"1\" byteOrder=\"middle\"/>",
        "w.xml:1: byteOrder=\"middle\" is neither littleEndian nor bigEndian",
    );
    let line = FIRST + 2;
    let twice = "<m:message xmlns:m=\"u\" name=\"A\" id=\"1\"/>\n<message name=\"B\" id=\"1\"/>";
    refused("", twice, line + 1, "message id 1 is already taken in line 15");
    let twice = "<message name=\"A\" id=\"1\"/>\n<message name=\"A\" id=\"2\"/>";
    refused("", twice, line + 1, "message A is already defined in line 15");
    refused(
        "",
        "<message name=\"A\" id=\"70000\"/>",
        line,
        "message id 70000 does not fit its place in the header, a uint16",
    );
    let short = "<message name=\"A\" id=\"1\" blockLength=\"1\">\n\
                 <field name=\"f\" id=\"1\" type=\"int16\"/></message>";
    refused("", short, line, "blockLength=1 is shorter than the fields, which need 2");
    parse("", "<y:note xmlns:y=\"urn:y\"/><documentation/>").expect("somebody else's element");
    refused("", "<note/>", line, "<note> stands among the messages");
    let schema = parse(
        "<type name=\"A\" primitiveType=\"int8\"/>\n<type name=\"A\" primitiveType=\"int16\"/>",
        "",
    );
    let warnings = schema.expect("only odd").warnings;
    assert_eq!(
        warnings[0].to_string(),
        "wrong.xml:14: type A is already defined in line 13; this one counts"
    );
}

#[test]
fn an_offset_of_a_type_that_is_no_member_is_odd() {
    let types = "<type name=\"A\" primitiveType=\"int8\" offset=\"8\"/>\
                 <composite name=\"C\"><ref name=\"a\" type=\"A\"/></composite>";
    let schema = parse(types, &message("<field name=\"a\" id=\"1\" type=\"A\"/>")).expect("odd");
    let [warning] = schema.warnings.as_slice() else { panic!("{:?}", schema.warnings) };
    assert_eq!(
        warning.problem,
        "the offset of A places nothing: only members of composites have one"
    );
    assert_eq!(schema.messages[0].body.block_length, 1);
    let composite = schema.composites.iter().find(|composite| composite.name == "C");
    assert_eq!(composite.expect("C").size, 1);
}

#[test]
fn a_field_id_that_is_used_twice_is_odd() {
    let warnings = |inner: &str| -> Vec<String> {
        let schema = parse("", &message(inner)).expect("only odd");
        schema.warnings.iter().map(ToString::to_string).collect()
    };
    let (f, g) = ("<field name=\"f\" id=\"7\" type=\"int8\"/>", "<group name=\"g\" id=\"7\">");
    let told =
        warnings(&format!("{f}\n{g}\n{f}</group>\n<data name=\"d\" id=\"7\" type=\"text\"/>"));
    let line = FIRST + 4;
    assert_eq!(
        told,
        [
            format!("wrong.xml:{line}: the id 7 of g is already taken in line {}", line - 1),
            format!("wrong.xml:{}: the id 7 of d is already taken in line {line}", line + 2),
        ]
    );
    // The entries of a group count for themselves.
    assert_eq!(warnings(&format!("{}{f}</group>", g.replace('7', "8"))), [""; 0]);
}

#[test]
fn messages_may_stand_in_an_element_of_their_own_as_in_sbe_2() {
    let two = "<message name=\"A\" id=\"1\"/>\n<message name=\"B\" id=\"2\"/>";
    let schema = parse("", &format!("<messages package=\"p\">{two}</messages>")).expect("right");
    let names: Vec<_> = schema.messages.iter().map(|message| message.name.as_str()).collect();
    assert_eq!(names, ["A", "B"]);
    // Also where both have a namespace of their own.
    let other = "<b:messages xmlns:b=\"urn:y\"><b:message name=\"A\" id=\"1\"/></b:messages>";
    assert_eq!(parse("", other).expect("right").messages.len(), 1);
    let line = FIRST + 2;
    let wrong = "<messages><types/></messages>";
    refused("", wrong, line, "<types> stands among the messages");
    let twice = format!("<messages>{two}</messages>\n<message name=\"C\" id=\"2\"/>");
    let problem = format!("message id 2 is already taken in line {}", line + 1);
    refused("", &twice, line + 2, &problem);
}

#[test]
fn includes_stay_in_the_schemas_folder() {
    let folder = tempfile::tempdir().expect("folder");
    let inner = folder.path().join("inner");
    std::fs::create_dir_all(inner.join("parts")).expect("folder");
    std::fs::write(folder.path().join("secret.xml"), "<types/>").expect("file");
    std::fs::write(inner.join("parts/types.xml"), format!("<types>{TYPES}</types>")).expect("file");
    let circle = "<types xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n\
                  <xi:include href=\"circle.xml\"/></types>";
    std::fs::write(inner.join("circle.xml"), circle).expect("file");
    let read = |href: &str| {
        let text = format!(
            "<messageSchema xmlns:xi=\"http://www.w3.org/2001/XInclude\" id=\"1\">\n\
             <xi:include href=\"{href}\"/>\n</messageSchema>"
        );
        let path = inner.join("schema.xml");
        std::fs::write(&path, text).expect("file");
        Schema::read(&path).map_err(|error| error.problem)
    };
    assert!(read("parts/types.xml").is_ok());
    assert!(read("./parts/../parts/types.xml").is_ok());
    for (href, problem) in [
        ("../secret.xml", "leaves the schema's folder"),
        ("/etc/passwd", "is not a relative path"),
        ("http://example.org/types.xml", "is not a relative path"),
        ("missing.xml", "cannot be read"),
        ("circle.xml", "go round in a circle"),
    ] {
        let said = read(href).expect_err(href);
        assert!(said.contains(problem), "{said}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secret.xml", inner.join("link.xml")).expect("link");
        assert!(read("link.xml").expect_err("link").contains("leaves the schema's folder"));
    }
}
