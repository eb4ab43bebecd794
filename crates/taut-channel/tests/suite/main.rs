//! Channels by their URIs. One program for all of these tests: a program more costs a link.
//!
//! Beside it stand the programs that `cargo xtask` and other commands name, and the tests that
//! must be alone in their process.

mod aeron;
mod every_channel;
mod garbage;
mod images;
mod lease;
mod lease_faults;
mod memory;
mod relay;
mod shared;
mod shared_loop;
mod sockets;
mod zmtp;
