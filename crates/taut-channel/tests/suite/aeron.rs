//! Reliable UDP over real sockets.

mod closing;
mod ends;
mod parameters;
mod raw;
mod slow;
mod spies;
mod transfers;
