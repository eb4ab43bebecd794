//! Whose an order is.

pub use taut_oms::Owner;
