//! The interface over engines, without connections.

mod description;
mod feeds;
mod orders;
mod rig;
mod sessions;
