//! What a WebSocket's bytes leave on: the stream itself, or TLS over it.

use taut_io::{Handle, Io, IoError, Kernel, Limit};
use taut_types::Nanos;

use crate::proxy::Tunnel;
use crate::resolve::MARK;
use crate::tls::{TlsClientConfig, TlsStream};

/// Smaller pieces than this are not tried when the loop has no room.
const PIECE_BYTES_MIN: usize = 512;
/// TLS takes everything and keeps it: it is given so much at once.
const TLS_PIECE_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub enum Transport {
    /// A proxy is asked for the way to the server, which is TLS or none.
    Tunnel {
        stream: Handle,
        tunnel: Tunnel,
        then: Option<(TlsClientConfig, String)>,
    },
    Plain {
        stream: Handle,
        /// Something waits in the loop; an empty write behind it says when it has left.
        is_held_up: bool,
    },
    Tls {
        tls: Box<TlsStream>,
        is_handshaken: bool,
    },
}

impl Transport {
    pub const fn stream(&self) -> Handle {
        match self {
            Self::Plain { stream, .. } | Self::Tunnel { stream, .. } => *stream,
            Self::Tls { tls, .. } => tls.stream(),
        }
    }

    /// Whether bytes can leave.
    pub const fn is_up(&self) -> bool {
        match self {
            Self::Plain { .. } => true,
            Self::Tunnel { .. } => false,
            Self::Tls { is_handshaken, .. } => *is_handshaken,
        }
    }

    /// Writes what there is room for, and returns how much. What the kernel does not take at once
    /// holds the rest up, so that it leaves in one write later; a completion follows then.
    pub fn write<K: Kernel>(&mut self, io: &mut Io<K>, bytes: &[u8]) -> usize {
        match self {
            Self::Plain { stream, is_held_up } => write_plain(io, *stream, is_held_up, bytes),
            Self::Tunnel { .. } | Self::Tls { is_handshaken: false, .. } => 0,
            Self::Tls { tls, .. } => {
                let mut taken = 0;
                while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
                    let piece = rest.get(..TLS_PIECE_BYTES).unwrap_or(rest);
                    if tls.write(io, piece).is_err() {
                        break;
                    }
                    taken += piece.len();
                }
                taken
            }
        }
    }

    /// Ends it as it should end; by the deadline in any case.
    pub fn close<K: Kernel>(&mut self, io: &mut Io<K>, deadline: Nanos) {
        // A stale handle is closed already.
        match self {
            Self::Plain { stream, .. } => drop(io.close_gracefully(*stream, deadline)),
            Self::Tunnel { stream, .. } => drop(io.close(*stream)),
            Self::Tls { tls, is_handshaken: true } => tls.close(io, deadline),
            Self::Tls { tls, .. } => drop(io.close(tls.stream())),
        }
    }
}

fn write_plain<K: Kernel>(
    io: &mut Io<K>,
    stream: Handle,
    is_held_up: &mut bool,
    bytes: &[u8],
) -> usize {
    let mut taken = 0;
    while !*is_held_up && let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
        let Some(piece) = write_piece(io, stream, rest) else { break };
        taken += piece;
        if io.unsent_bytes(stream).is_ok_and(|waiting| waiting > 0) {
            *is_held_up = io.write(stream, &[], Some(MARK)).is_ok();
        }
    }
    taken
}

/// As much of it as the loop takes at once, which is at most what it keeps for a stream. `None`
/// when the stream is closing; it says so itself.
fn write_piece<K: Kernel>(io: &mut Io<K>, stream: Handle, bytes: &[u8]) -> Option<usize> {
    let mut piece = bytes.len();
    loop {
        match io.write(stream, bytes.get(..piece)?, None) {
            Ok(()) => return Some(piece),
            Err(IoError::Limit(Limit::WriteBytes)) if piece > PIECE_BYTES_MIN => piece /= 2,
            Err(_) => return None,
        }
    }
}
