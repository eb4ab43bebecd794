//! Thin drivers on the loop of `taut-io`: each is a value that its owner gives the completions to,
//! and that says what they mean. None blocks, none owns a thread, except that a name is looked up
//! on a short-lived one.
//!
//! | driver | what for |
//! |---|---|
//! | [`Connector`] | a name or an address to a stream, several addresses in turn, one deadline |
//! | [`TlsStream`] | TLS over a stream, client and server |
//! | [`WsStream`] | WebSocket over a stream or over TLS, client and server |
//! | [`WsClient`] | a URL to an open WebSocket: name, proxy, TLS, redirections |
//! | [`Proxy`] | an HTTP proxy on a client's way |
//! | [`Wire`] | a server's connection, plain or over TLS, for a protocol of its owner's |
//! | [`Frames`] | a stream cut into frames |
//! | [`Feed`], [`FeedSender`] | multicast and unicast datagrams |
//! | [`Feeds`] | several feeds into one buffer |
//! | [`UnixListener`] | a Unix socket at a path |
//! | [`FileReader`] | a plain file, chunk by chunk |
//! | [`tcp`] | what was granted of what was asked |
//!
//! Putting the lines of a feed in order is the business of `taut_market_data::feed::Arbiter`.
//!
//! What needs no driver stays in `taut-io`: connecting to an address, listening, read and write
//! deadlines, half close, ordered and vectored writes, datagrams, pipes and passed descriptors
//! (`Io::adopt`), timers and posts. Options are in `taut-sys` (`StreamOptions`, `DatagramOptions`,
//! and the membership calls of `Socket`, which `Io::socket` reaches).
//!
//! ```
//! use taut_io::{Admission, Completion, EpollKernel, EventLoop, Io, LoopConfig, WaitStrategy};
//! use taut_net::{Connecting, Connector, Target};
//! use taut_sys::{Address, StreamOptions};
//! use taut_types::Nanos;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut events = EventLoop::new(EpollKernel::new(1024)?, LoopConfig::default())?;
//! let io = events.io();
//! let options = StreamOptions::default();
//! let listener = io.listen(&Address::Inet("127.0.0.1:0".parse()?), &options, &Admission::OPEN)?;
//! let target = Target::parse(&format!("localhost:{}", io.local_address(listener)?.port()))?;
//! let deadline = io.now() + Nanos::from_secs(5);
//! let mut connector = Connector::start(io, &target, &options, deadline)?;
//! let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
//!     match connector.handle(io, &completion) {
//!         Connecting::Connected(stream) => {
//!             assert!(io.write(stream, b"hello", None).is_ok());
//!             io.stop();
//!         }
//!         Connecting::Failed(error) => panic!("{error}"),
//!         Connecting::Underway | Connecting::NotMine => {}
//!     }
//! };
//! events.run(&mut handler, WaitStrategy::Block)?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod certificate;
mod connect;
mod error;
mod feeds;
mod file;
mod frames;
mod multicast;
mod proxy;
mod proxy_fault;
mod resolve;
mod target;
pub mod tcp;
pub mod tls;
mod unix;
mod wire;
mod ws;

pub use certificate::CertificateFault;
pub use connect::{Connecting, Connector};
pub use error::{NetError, RedirectFault};
pub use feeds::{FeedPacket, Feeds};
pub use file::{FileRead, FileReader};
pub use frames::{Frames, Framing, LengthPrefix};
pub use multicast::{Feed, FeedSender};
pub use proxy::{Proxy, Tunnel};
pub use proxy_fault::ProxyFault;
pub use resolve::{Lookup, MARK, Resolution, Resolved, system_lookup};
pub use target::Target;
pub use tls::{TlsClientConfig, TlsEvent, TlsServerConfig, TlsStream, system_roots};
pub use unix::UnixListener;
pub use wire::{Arrived, Wire};
pub use ws::client::{WsClient, WsDial};
pub use ws::{WsEvent, WsStream};
