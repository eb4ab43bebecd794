//! The interface over engines, without connections.

mod bad_days;
mod description;
mod feeds;
mod fix;
mod orders;
mod own_feed;
mod rig;
mod sessions;
mod states;
