//! The protocol between sockets of ours, byte by byte and on virtual time.

mod allocations;
mod endless;
mod exchange;
mod fan_out;
mod golden;
mod handshake;
mod heartbeat;
mod mutated;
mod policies;
mod wire;
