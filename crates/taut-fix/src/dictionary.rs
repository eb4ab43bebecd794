//! Which fields, values and groups a version or a dialect of FIX allows.
//!
//! [`builder::DictionaryBuilder`] makes the tables once (from an XML file, say), `check` holds
//! messages against them without allocating.

pub mod builder;
pub mod builtin;
mod check;
pub mod format;
pub mod rules;
pub mod tables;
