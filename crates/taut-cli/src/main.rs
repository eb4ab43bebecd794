//! The `taut` command.
#![forbid(unsafe_code)]
fn main() {}
