//! The interface as its clients see it.

mod feeds;
mod fix;
mod orders;
mod own_feed;
mod rig;
mod sbe;
mod sessions;
mod shapes;
mod usd_m;
