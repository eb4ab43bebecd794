//! The interface over engines, without connections.

mod bad_days;
mod description;
mod feeds;
mod fix;
mod orders;
mod rig;
mod sessions;
