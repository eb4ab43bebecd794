//! A gateway with QuickFIX (its Go engine) at the other end: as the venue, as the reader of drop
//! copies.
//!
//! `bench/peers/fix/install.sh` builds the peer into `bench/peers/fix/target`, or `TAUT_FIX_PEERS`
//! names such a folder; without it these tests skip with a notice.
#![forbid(unsafe_code)]

mod drop_copy;
mod peer;
mod trader;
mod venue;
mod wire;
mod world;
