//! The crate from outside: two sessions joined in memory, golden bytes, rules of the session layer,
//! properties, allocations, and the session cases of the QuickFIX acceptance definitions.

mod acceptance;
mod allocation;
mod encoder;
mod fixt;
mod golden;
mod link;
mod pair;
mod properties;
mod recovery;
mod rules;
mod splits;
mod support;
