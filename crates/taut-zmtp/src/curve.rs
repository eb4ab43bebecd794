//! CURVE: encryption and authentication by Curve25519 (RFC 25 and 26, CurveZMQ).

pub mod boxes;
pub mod client;
pub mod keys;
pub mod server;
pub mod stream;
