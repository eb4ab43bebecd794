//! The tables of this crate against the schema file: names, numbers, offsets and lengths.

use std::string::{String, ToString};
use std::vec::Vec;

use crate::block::*;
use crate::message::*;
use crate::{SCHEMA_ID, SCHEMA_VERSION};

const SCHEMA: &str = include_str!("../../schema/taut-market-data.xml");

type Fields = &'static [(&'static str, usize, usize)];

/// A message or a group: its name, its number in the schema, its block.
struct Block {
    name: String,
    id: usize,
    bytes: usize,
    fields: Vec<(String, usize, usize)>,
}

fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&std::format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn number(line: &str, name: &str) -> usize {
    attribute(line, name).and_then(|value| value.parse().ok()).unwrap()
}

fn type_bytes(name: &str) -> usize {
    match name {
        "OrderId" | "TradeId" | "Sequence" | "Price" | "Lots" | "Mantissa" => 8,
        "InstrumentId" | "SnapshotId" | "Count" => 4,
        "Side" | "ReduceReason" | "Decimals" => 1,
        "Symbol" => 16,
        other => panic!("the test does not know type {other}"),
    }
}

/// Messages and groups in the order of the file.
fn blocks() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for line in SCHEMA.lines().map(str::trim) {
        if line.starts_with("<sbe:message ") || line.starts_with("<group ") {
            blocks.push(Block {
                name: attribute(line, "name").unwrap().to_string(),
                id: number(line, "id"),
                bytes: number(line, "blockLength"),
                fields: Vec::new(),
            });
        } else if line.starts_with("<field ") {
            let name = attribute(line, "name").unwrap().to_string();
            let bytes = type_bytes(attribute(line, "type").unwrap());
            blocks.last_mut().unwrap().fields.push((name, number(line, "offset"), bytes));
        }
    }
    blocks
}

/// `order_id` as the schema writes it: `orderId`.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap().to_string();
    words.fold(first, |text, word| text + &word[..1].to_uppercase() + &word[1..])
}

#[test]
fn the_tables_say_what_the_schema_file_says() {
    let expected: [(&str, u16, usize, Fields); 12] = [
        ("OrderAdd", ORDER_ADD, OrderAdd::BYTES, OrderAdd::FIELDS),
        ("OrderReduce", ORDER_REDUCE, OrderReduce::BYTES, OrderReduce::FIELDS),
        ("OrderDelete", ORDER_DELETE, OrderDelete::BYTES, OrderDelete::FIELDS),
        ("LevelUpdate", LEVEL_UPDATE, LevelUpdate::BYTES, LevelUpdate::FIELDS),
        ("Trade", TRADE, Trade::BYTES, Trade::FIELDS),
        ("SnapshotBegin", SNAPSHOT_BEGIN, SnapshotBegin::BYTES, SnapshotBegin::FIELDS),
        ("SnapshotLevels", SNAPSHOT_LEVELS, SnapshotPart::BYTES, SnapshotPart::FIELDS),
        ("levels", 4, SnapshotLevel::BYTES, SnapshotLevel::FIELDS),
        ("SnapshotOrders", SNAPSHOT_ORDERS, SnapshotPart::BYTES, SnapshotPart::FIELDS),
        ("orders", 4, SnapshotOrder::BYTES, SnapshotOrder::FIELDS),
        ("SnapshotEnd", SNAPSHOT_END, SnapshotEnd::BYTES, SnapshotEnd::FIELDS),
        (
            "InstrumentDefinition",
            INSTRUMENT_DEFINITION,
            InstrumentDefinition::BYTES,
            InstrumentDefinition::FIELDS,
        ),
    ];
    let blocks = blocks();
    assert_eq!(blocks.len(), expected.len());
    for (block, (name, id, bytes, fields)) in blocks.iter().zip(expected) {
        let fields: Vec<_> = fields.iter().map(|&(f, at, len)| (camel(f), at, len)).collect();
        assert_eq!((&*block.name, block.id, block.bytes), (name, usize::from(id), bytes));
        assert_eq!(block.fields, fields, "fields of {name}");
    }
}

#[test]
fn fields_lie_side_by_side_within_their_block() {
    for block in blocks() {
        let end = block.fields.iter().fold(0, |end, (name, at, bytes)| {
            assert_eq!(*at, end, "{} of {}", name, block.name);
            at + bytes
        });
        assert_eq!(block.bytes, end.next_multiple_of(4), "{}", block.name);
    }
}

#[test]
fn the_schema_has_its_number_and_version() {
    let head = SCHEMA.split_once("<types>").unwrap().0.replace('\n', " ");
    assert_eq!(attribute(&head, "id"), Some(&*SCHEMA_ID.to_string()));
    // The first `version` is that of XML itself.
    let head = head.split_once("messageSchema").unwrap().1;
    assert_eq!(attribute(head, "version"), Some(&*SCHEMA_VERSION.to_string()));
    assert_eq!(attribute(head, "package"), Some("taut.marketdata"));
    assert_eq!(attribute(head, "byteOrder"), Some("littleEndian"));
}
