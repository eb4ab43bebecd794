//! The interface as its clients see it.

mod feeds;
mod fix;
mod orders;
mod own_feed;
mod rig;
mod sessions;
mod shapes;
