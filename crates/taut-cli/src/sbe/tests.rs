//! Messages in frames, from bytes to JSON and back.

mod binance;

use std::path::Path;

use taut_recording::pcap;
use taut_sbe_gen::{Schema, Value};
use taut_testkit::for_each_seed;

use super::arguments::Framing;
use super::decode::Decoder;
use super::encode::encode;
use super::show;

const SCHEMA: &str = r#"<messageSchema package="t" id="7" version="1">
    <types>
        <composite name="messageHeader">
            <type name="blockLength" primitiveType="uint16"/>
            <type name="templateId" primitiveType="uint16"/>
            <type name="schemaId" primitiveType="uint16"/>
            <type name="version" primitiveType="uint16"/>
            <type name="seqNum" primitiveType="uint32"/>
        </composite>
        <composite name="groupSizeEncoding">
            <type name="blockLength" primitiveType="uint16"/>
            <type name="numInGroup" primitiveType="uint8"/>
        </composite>
        <composite name="text"><type name="length" primitiveType="uint8"/>
            <type name="varData" primitiveType="char" length="0"/></composite>
    </types>
    <message name="Logon" id="5" blockLength="12">
        <field name="at" id="1" type="uint64"/>
        <field name="heartbeat" id="2" type="uint16" presence="optional" sinceVersion="1"/>
        <group name="pairs" id="3"><field name="n" id="4" type="int8"/></group>
        <data name="user" id="5" type="text"/>
    </message>
</messageSchema>"#;

const LINES: &str = "{\"message\":\"Logon\",\"template\":5,\"version\":1,\"header\":{\"seqNum\":1},\
    \"fields\":{\"at\":18446744073709551615,\"heartbeat\":null,\"pairs\":[{\"n\":-1},{\"n\":2}],\
    \"user\":\"a\\u0001\\\"b\"}}\n\
    {\"message\":\"Logon\",\"template\":5,\"version\":0,\"header\":{\"seqNum\":2},\
    \"fields\":{\"at\":3,\"heartbeat\":null,\"pairs\":[],\"user\":\"\"}}\n";

fn schema(text: &str) -> Schema {
    Schema::parse(Path::new("t.xml"), text, Path::new(".")).expect("a schema")
}

fn decode(schema: &Schema, framing: Framing, bytes: &[u8]) -> (String, usize) {
    let (name, place) = ("file".to_owned(), String::new());
    let mut out = Decoder { schema, out: Vec::new(), name, place, failed: 0 };
    out.file(framing, bytes).expect("memory");
    (String::from_utf8(out.out).expect("text"), out.failed)
}

#[test]
fn doubles_come_back_bit_by_bit() {
    let schema = schema(&SCHEMA.replacen("type=\"uint64\"", "type=\"double\"", 1));
    for_each_seed(0..2_000, |_, mut random| {
        let double = f64::from_bits(random.u64(..));
        if !double.is_finite() {
            return;
        }
        let line = format!(
            "{{\"message\":\"Logon\",\"template\":5,\"version\":1,\"header\":{{\"seqNum\":1}},\
             \"fields\":{{\"at\":{double:e},\"heartbeat\":null,\"pairs\":[],\"user\":\"\"}}}}\n"
        );
        let bytes = encode(&schema, Framing::Raw, &line).expect("a message");
        // Behind the header of twelve bytes.
        assert_eq!(bytes[12..20], double.to_le_bytes(), "{double:e}");
        let (told, failed) = decode(&schema, Framing::Raw, &bytes);
        assert_eq!(failed, 0);
        assert_eq!(encode(&schema, Framing::Raw, &told).expect("the same"), bytes, "{double:e}");
    });
}

#[test]
fn raw_messages_come_back_as_they_were() {
    let schema = schema(SCHEMA);
    let bytes = encode(&schema, Framing::Raw, LINES).expect("messages");
    // Header, block, dimension, two entries, length and four letters; then a block of version 0.
    assert_eq!(bytes.len(), 12 + 12 + 3 + 2 + 1 + 4 + 12 + 8 + 3 + 1);
    assert_eq!(decode(&schema, Framing::Raw, &bytes), (LINES.to_owned(), 0));
    let (lines, failed) = decode(&schema, Framing::Raw, &bytes[..bytes.len() - 1]);
    assert_eq!((lines.lines().count(), failed), (1, 1));
}

#[test]
fn sofh_frames_have_the_standards_shape_or_the_schemas() {
    let plain = schema(SCHEMA);
    let bytes = encode(&plain, Framing::Sofh, LINES).expect("messages");
    assert_eq!(bytes[..6], [0, 0, 0, 40, 0xeb, 0x50]);
    assert_eq!(decode(&plain, Framing::Sofh, &bytes), (LINES.to_owned(), 0));
    assert_eq!(decode(&plain, Framing::Sofh, &bytes[..50]).1, 1);

    let own = "<types><composite name=\"sofh\"><type name=\"messageLength\" \
        primitiveType=\"uint32\"/><type name=\"encodingType\" primitiveType=\"uint16\"/>\
        </composite>";
    let own = schema(&SCHEMA.replace("<types>", own));
    let bytes = encode(&own, Framing::Sofh, LINES).expect("messages");
    assert_eq!(bytes[..6], [40, 0, 0, 0, 0x50, 0xeb]);
    assert_eq!(decode(&own, Framing::Sofh, &bytes), (LINES.to_owned(), 0));
}

#[test]
fn an_mdp3_datagram_carries_its_packet_header_in_every_line() {
    let schema = schema(SCHEMA);
    let packet = ",\"packet\":{\"sequence\":9,\"sending_time\":77}}\n";
    let lines = LINES.replace("}\n", packet);
    let bytes = encode(&schema, Framing::Mdp3, &lines).expect("messages");
    assert_eq!(bytes[..14], [9, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0, 36, 0]);
    assert_eq!(decode(&schema, Framing::Mdp3, &bytes), (lines, 0));
    assert_eq!(decode(&schema, Framing::Mdp3, &bytes[..20]).1, 1);
}

#[test]
fn wrong_lines_are_refused_with_their_number() {
    let schema = schema(SCHEMA);
    for (line, problem) in [
        ("{", "line 1: EOF while parsing an object at line 1 column 1"),
        ("{}", "line 1: there is no message's name"),
        ("{\"message\":\"X\"}", "line 1: the schema has no message X"),
        ("{\"message\":\"Logon\",\"template\":6}", "line 1: Logon has template 5, not 6"),
        ("{\"message\":\"Logon\",\"fields\":{}}", "line 1: Logon.at: there is no value"),
        ("{\"message\":\"Logon\",\"fields\":{\"no\":1}}", "line 1: Logon: there is no field no"),
        (
            "{\"message\":\"Logon\",\"fields\":{\"at\":-1}}",
            "line 1: Logon.at: -1 does not fit uint64",
        ),
        (
            "{\"message\":\"Logon\",\"fields\":{\"at\":1,\"pairs\":[{\"n\":200}]}}",
            "line 1: Logon.pairs.0.n: 200 does not fit int8",
        ),
    ] {
        assert_eq!(encode(&schema, Framing::Raw, line), Err(problem.to_owned()));
    }
    let long =
        format!("{{\"message\":\"Logon\",\"fields\":{{\"at\":1,\"user\":{:?}}}}}", "x".repeat(255));
    let problem = "line 1: Logon.user: it can have 254 bytes at most".to_owned();
    assert_eq!(encode(&schema, Framing::Raw, &long), Err(problem));
}

/// A capture of one datagram on Ethernet with a VLAN tag.
fn capture(payload: &[u8], big: bool) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let length = u16::try_from(payload.len()).expect("short");
    let mut packet = vec![0; 12];
    packet.extend([0x81, 0, 0, 1, 0x08, 0]);
    packet.extend([0x45, 0]);
    packet.extend((28 + length).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 224, 0, 0, 5]);
    packet.extend([0x12, 0x34, 0x43, 0x21]);
    packet.extend((8 + length).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    let bytes = u32::try_from(packet.len()).expect("short");
    let mut file: Vec<u8> =
        [0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, 1].into_iter().flat_map(word).collect();
    file.extend([5, 6, bytes, bytes].into_iter().flat_map(word));
    file.extend(packet);
    // An ARP packet is not for us.
    file.extend([5, 7, 14, 14].into_iter().flat_map(word));
    file.extend([[0; 6], [0; 6]].concat());
    file.extend([0x08, 0x06]);
    file
}

#[test]
fn udp_datagrams_come_out_of_a_capture_with_time_and_addresses() {
    let schema = schema(SCHEMA);
    let first = LINES.lines().next().expect("a line");
    for (big, framing) in [(false, Framing::Raw), (true, Framing::Sofh), (false, Framing::Mdp3)] {
        let payload = encode(&schema, framing, first).expect("a message");
        let file = capture(&payload, big);
        let read = pcap::read(&file).expect("a capture");
        assert_eq!((read.datagrams.len(), read.skipped), (1, 1));
        assert_eq!(read.datagrams[0].payload, payload);
        let (line, failed) = decode(&schema, Framing::UdpPcap, &file);
        let packet = "\"packet\":{\"time_ns\":5000006000,\"source\":\"10.0.0.1:4660\",\
            \"destination\":\"224.0.0.5:17185\"";
        assert!(line.contains(packet) && failed == 0, "{line}");
        assert_eq!(line.contains("sending_time"), framing == Framing::Mdp3);
        // What stands before the end of a torn file is decoded, and the tear is told.
        let first_end = file.len() - 16 - 14;
        for cut in 24..file.len() {
            let torn = decode(&schema, Framing::UdpPcap, &file[..cut]);
            let kept = if cut < first_end { "" } else { line.as_str() };
            let tears = usize::from(cut != 24 && cut != first_end);
            assert_eq!(torn, (kept.to_owned(), tears), "{cut}");
        }
        for cut in 0..24 {
            assert_eq!(decode(&schema, Framing::UdpPcap, &file[..cut]).1, 1);
        }
    }
}

#[test]
fn a_layout_names_every_field_with_offset_length_and_type() {
    let layout = show::layout(&schema(SCHEMA), &[]);
    let expected = "schema t id 7 version 1 header messageHeader (12 bytes)\n\n\
        message Logon template 5 block 12\n\
        \x20 offset length  type               field\n\
        \x20      0      8  uint64             at\n\
        \x20      8      2  uint16             heartbeat  optional  since 1\n\
        \x20      -      3  groupSizeEncoding  pairs  group, block 1\n\
        \x20      0      1  int8               pairs.n\n\
        \x20      -     1+  text               user  data\n";
    assert_eq!(layout, expected);
}

#[test]
fn what_a_terminal_obeys_is_escaped_in_texts() {
    let text = Value::Text("a\u{1b}\u{7f}\u{9b}\u{202e}b".to_owned());
    assert_eq!(text.to_string(), "\"a\\u001b\\u007f\\u009b\\u202eb\"");
}
