//! What the crate promises, law by law, on virtual time.

mod ends;
mod forgeries;
mod gaps;
mod heartbeats;
mod memory;
mod outage;
mod pair;
mod repairs;
mod security;
mod spies;
mod strangers;
mod tether;
