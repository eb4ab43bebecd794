//! The project's own tools.
#![forbid(unsafe_code)]
fn main() {}
