//! SBE (Simple Binary Encoding 1.0, and what schemas use of 2.0): from a venue's schema to Rust.
//!
//! [`Schema::read`] takes the XML, follows its includes inside the schema's folder, and resolves
//! types, offsets, presence and versions; a mistake is a [`SchemaError`] with its file and line.
//! From a schema come
//!
//! - source: [`generate_crate`] a crate of its own, [`generate_module`] one file for a `build.rs`.
//!   It is `no_std`, free of `unsafe` and allocates nothing; it depends on the crate `taut-sbe`, or
//!   carries a copy of it ([`Options::stand_alone`]). [`Options`] also choose messages and
//!   directions;
//! - messages without generated code: [`Schema::decode`] and [`Schema::encode`] go between bytes
//!   and a tree of [`Value`]s, for tools and tests.
//!
//! In a `build.rs`, with the result included by
//! `mod stream { include!(concat!(env!("OUT_DIR"), "/stream.rs")); }`:
//!
//! ```no_run
//! use taut_sbe_gen::{Direction, Options, Schema, generate_module};
//!
//! let schema = Schema::read("schemas/stream.xml".as_ref())?;
//! let options = Options::default().direction(Direction::Decode);
//! let file = std::path::Path::new(&std::env::var("OUT_DIR")?).join("stream.rs");
//! std::fs::write(file, generate_module(&schema, &options))?;
//! println!("cargo::rerun-if-changed=schemas/stream.xml");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is generated
//! A `<Message>Decoder` for each message borrows the bytes. `decode` checks all of the message
//! once: header, block, every group and every length. After that no getter can fail, and none
//! checks bounds: the block is an array of known length, groups are iterators over checked bytes,
//! data are slices. Nothing in it can panic, whatever the bytes are. Values that the schema does
//! not name stay values (`Unknown(raw)`), nulls are `None`, and so is what a newer version of the
//! schema added and the sender does not have.
//!
//! A body of more than six groups and data is split out of line, part by part: of sixteen groups in
//! a row (`tests/schemas/sizes.xml`) rustc 1.95 with `-O` makes wrong machine code.
//!
//! An `<Message>Encoder` writes into the caller's buffer and never outside it. `new` writes the
//! header and an empty block, in which optional fields are null; setters fill the block; then
//! groups and data follow in the schema's order, which a type parameter enforces. Counts and
//! lengths are checked, and nothing is cut to fit. The ranges that a schema gives its values
//! (`minValue`, `maxValue`) are not checked, except the largest count and the largest length.
//!
//! ```text
//! let mut to = DepthDiffStreamEventEncoder::new(&mut buffer)?;
//! to.event_time(time).first_book_update_id(7).last_book_update_id(9);
//! let to = to.bids(&bids, |entry, level| { entry.price(level.price).qty(level.qty); })?;
//! let to = to.asks(&asks, |entry, level| { entry.price(level.price).qty(level.qty); })?;
//! let length = to.symbol("BTCUSDT")?.finish();
//!
//! let message = DepthDiffStreamEventDecoder::decode(&buffer[..length])?;
//! for bid in message.bids() { book.set(bid.price(), bid.qty()); }
//! ```
//!
//! # What a schema may be
//! What the standard of SBE 1.0 says counts. Where it is silent, values stand where the reference's
//! tool (sbe-all 1.38.1) puts them: an offset of a constant places what follows it, although the
//! constant takes no room; `offset="0"` of a field is like none; variable data stand right behind
//! their length; a field is no older than its type (`sinceVersion`).
//!
//! With a warning, since not every tool does the same, a type's own offset places nothing where a
//! field or a `<ref>` names the type (it is the offset of a composite's member), a `<ref>` is on
//! the wire unless its type is constant, and so is a field with a `valueRef` and no
//! `presence="constant"`.
//!
//! Texts are UTF-8 (ASCII) or ISO 8859-1; of other encodings, such as GB18030, Shift-JIS or UTF-16,
//! the bytes are handed through as they are, with the zeros at the end of an array. (The
//! reference's Java ends an array's text at the first zero byte, also within a character of
//! UTF-16, and writes a mark of byte order before texts in "UTF-16".) The file itself is in UTF-8,
//! in UTF-16 with a mark of byte order, or in ISO 8859-1.
//!
//! These are refused on purpose, although the reference's tool takes them, with the section of the
//! standard that says so:
//!
//! - names, values and bits that stand twice in an enum or a set ("Encoding specification of
//!   enumeration", "Encoding specification of multi-value choice"): the reference's Java for them
//!   does not compile;
//! - values that their type cannot hold: a `nullValue`, a constant, an id or a version beyond its
//!   range, a `minValue` above the `maxValue` ("Schema validation"). The reference cuts them off.
//!   The standard's own `monthYear` has one, a `nullValue` of 65536 for a uint16: leave it out;
//! - constants without a value: a composite or a set cannot be one, nor can an enum, only a field
//!   of it with a `valueRef` ("Schema validation");
//! - lengths, counts and template ids that are constant: they are on the wire ("Message header",
//!   "Repeating group dimension encoding", "Variable-length data encoding");
//! - a type of variable length (`length="0"`) as a field: such data have an element of their own,
//!   `<data>`, and nothing stands between their length and their bytes ("Variable-length string
//!   encoding");
//! - a composite without members ("Composite encodings");
//! - elements that the standard does not have: one may be a field with a misspelled name. Those of
//!   other namespaces, and prose (`documentation`, `description`), are passed over;
//! - a `byteOrder` that is neither `littleEndian` nor `bigEndian` (the reference takes every other
//!   word for little endian);
//! - entities of a document type, and files in other encodings than those above: write the text
//!   where it is used, and save the file as UTF-8.
//!
//! An enum may have a value that is its null, as the standard's `optionalBoolean` does; the
//! reference's tool refuses that.
//!
//! # Example
//! ```
//! use std::path::Path;
//! use taut_sbe_gen::{Options, Schema, generate_module};
//!
//! let schema = r#"<messageSchema package="tiny" id="1" version="0">
//!     <types>
//!         <composite name="messageHeader">
//!             <type name="blockLength" primitiveType="uint16"/>
//!             <type name="templateId" primitiveType="uint16"/>
//!             <type name="schemaId" primitiveType="uint16"/>
//!             <type name="version" primitiveType="uint16"/>
//!         </composite>
//!     </types>
//!     <message name="Ping" id="1"><field name="at" id="1" type="uint64"/></message>
//! </messageSchema>"#;
//! let schema = Schema::parse(Path::new("tiny.xml"), schema, Path::new("."))?;
//! let module = generate_module(&schema, &Options::default());
//! assert!(module.contains("pub struct PingDecoder<'a>"));
//!
//! let bytes = [8, 0, 1, 0, 1, 0, 0, 0, 42, 0, 0, 0, 0, 0, 0, 0];
//! let (message, rest) = schema.decode(&bytes)?;
//! assert_eq!(
//!     message.to_string(),
//!     r#"{"message":"Ping","template":1,"version":0,"fields":{"at":42}}"#
//! );
//! assert!(rest.is_empty());
//! assert_eq!(schema.encode(&message)?, bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod blank;
mod dynamic;
mod error;
mod generate;
mod primitive;
mod resolve;
mod schema;
mod xml;

pub use dynamic::{DynamicError, DynamicMessage, Value};
pub use error::{Place, SchemaError};
pub use generate::{Direction, Files, MARK, Options, generate_crate, generate_module};
pub use primitive::{ByteOrder, Charset, Literal, Primitive};
pub use schema::{
    Body, Choice, Composite, CompositeId, Constant, Data, Dimension, Enum, EnumId, Field, Group,
    Header, Message, Notes, Plain, Presence, Schema, Set, SetId, Slot, Type,
};
