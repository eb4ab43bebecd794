//! RFC 6455, section by section, and what other libraries got wrong.
#![forbid(unsafe_code)]

mod allocations;
mod closing;
mod deflate;
mod frames;
mod golden;
mod handshake;
mod keep_alive;
mod memory;
mod mutated;
mod rig;
mod sonic;
mod splits;
