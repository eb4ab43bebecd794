//! permessage-deflate (RFC 7692): what is agreed on, and the two streams that come of it.

pub mod deflating;
pub mod extension;
pub mod inflating;
pub mod settings;
