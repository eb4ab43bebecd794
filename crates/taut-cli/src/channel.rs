//! What the tools over channels share: arguments, the measuring message, clocks, accounting.

pub mod arguments;
pub mod clock;
pub mod counted;
pub mod failure;
pub mod pair;
pub mod sequence;
pub mod stamp;
