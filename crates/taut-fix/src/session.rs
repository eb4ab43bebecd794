//! The session layer (FIX 4.4 volume 2, "FIX Session Protocol"): `table` says what happens.

pub mod counters;
pub mod disconnect;
pub mod now;
pub mod table;
