//! The venue over real loopback sockets and on the simulated kernel, on a made-up clock.

mod allocation;
mod amend;
mod busts;
mod client;
mod consumer;
mod entry;
mod feed;
mod journaled;
mod lines;
mod many;
mod members;
mod phases;
mod positions;
mod power;
mod recorded;
mod rig;
mod sessions;
mod ship;
mod simulated;
mod standby;
mod stream;
mod tls;
mod versions;
