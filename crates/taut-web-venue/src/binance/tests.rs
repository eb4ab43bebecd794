//! The interface as its clients see it.

mod feeds;
mod orders;
mod rig;
mod sessions;
mod shapes;
