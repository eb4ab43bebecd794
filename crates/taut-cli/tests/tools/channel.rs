//! `taut send`, `receive` and `relay` over every channel between processes, as a user runs them.

mod command;
mod every_channel;
mod flags;
mod lease;
mod streams;
