//! Typed messages: what their fields mean, and which must be there.

pub mod admin;
pub mod execution;
pub mod header;
pub mod msg_type;
pub mod order;
pub mod values;
