//! What passes through a kernel whose answers are given again, for who writes packets of it.

use alloc::boxed::Box;
use core::net::SocketAddr;

use taut_sys::{Address, DatagramInfo};

/// Something that passed. Bytes that are sealed, as TLS's are, do not.
#[derive(Debug)]
pub enum Traffic<'a> {
    /// A stream begins; the peer's address, where it is known.
    Stream {
        /// The socket's place.
        place: u32,
        /// The peer's address.
        peer: Option<&'a Address>,
        /// Whether the peer connected.
        is_accepted: bool,
    },
    /// A socket for datagrams was opened; where, if it is known.
    Datagrams {
        /// The socket's place.
        place: u32,
        /// Its own address.
        at: Option<&'a Address>,
    },
    /// Bytes of a stream, or a datagram, came in.
    In {
        /// The socket's place.
        place: u32,
        /// The bytes.
        bytes: &'a [u8],
        /// What the kernel said of a datagram.
        info: Option<&'a DatagramInfo>,
    },
    /// Bytes of a stream, or a datagram, went out.
    Out {
        /// The socket's place.
        place: u32,
        /// Those that the kernel took.
        bytes: &'a [u8],
        /// Where a datagram went, where it was said.
        to: Option<SocketAddr>,
    },
    /// The socket is closed.
    Closed {
        /// The socket's place.
        place: u32,
    },
}

/// Who sees it.
pub type Witness = Box<dyn FnMut(Traffic<'_>) + Send>;
