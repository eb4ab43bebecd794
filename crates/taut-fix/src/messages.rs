//! Typed messages: what their fields mean, and which must be there.

pub mod charges;
pub mod execution;
pub mod order;
pub mod order_flow;
pub mod position;
pub mod reject;
pub mod status;
pub mod values;
