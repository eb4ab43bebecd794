//! Bytes to fields and back; knows no message type and no session.

pub mod begin;
pub mod body;
pub mod data_tags;
pub mod fields;
pub mod frame;
pub mod index;
pub mod lead;
pub mod number;
pub mod tag;
pub mod text;
pub mod timestamp;
pub mod window;
pub mod writer;
