//! `tcp://HOST:PORT` and `ipc://PATH`: ZeroMQ's wire over TCP and Unix sockets.
//!
//! A topic is the first frame of a two-part message; without one a message is one frame, and
//! subscriptions are held against its first bytes. What comes with more parts than two is handed
//! over with the first as its topic and the others joined. A publication that is closed sends what
//! waits, then its end of the stream, and is closed when its peers have closed theirs.

mod publication;
mod secrets;
mod settings;
mod socket;
mod streams;
mod subscription;
mod transport;
mod wire;

pub(crate) use publication::{ZmtpClaim, ZmtpPublication};
pub use socket::ZmtpSocketEnd;
pub(crate) use subscription::ZmtpSubscription;
