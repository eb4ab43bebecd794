//! Reliable UDP over real sockets.

mod ends;
mod slow;
mod spies;
mod transfers;
