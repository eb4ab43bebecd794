//! A TCP connection and the bytes on their way in and out.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use taut_sys::{Socket, StreamOptions, SysError};

/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;
/// A peer that lets so much pile up is gone.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// A connection.
#[derive(Debug)]
pub struct Link {
    socket: Socket,
    /// The peer's address, if it is known.
    pub peer: Option<SocketAddr>,
    /// What waits to be sent.
    pub output: Vec<u8>,
    /// Our end is sent: what still comes is read and forgotten.
    pub is_ending: bool,
    /// Nothing more can come or go.
    pub is_over: bool,
}

impl Link {
    pub fn new(socket: Socket) -> Self {
        let peer = socket.peer_address().ok().and_then(|address| address.inet());
        Self { socket, peer, output: Vec::new(), is_ending: false, is_over: false }
    }

    pub fn ip(&self) -> Option<IpAddr> {
        self.peer.map(|peer| peer.ip().to_canonical())
    }

    /// Hands over what came, piece by piece; notes the peer's end.
    pub fn receive(&mut self, mut take: impl FnMut(&mut Vec<u8>, &[u8])) {
        let mut buffer = [0; READ_BYTES];
        while !self.is_over {
            match self.socket.receive(&mut buffer) {
                Ok(None) => return,
                Ok(Some(0)) | Err(_) => self.is_over = true,
                Ok(Some(_)) if self.is_ending => {}
                Ok(Some(bytes)) => {
                    take(&mut self.output, buffer.get(..bytes).unwrap_or_default());
                }
            }
        }
    }

    /// Sends what the kernel takes.
    pub fn flush(&mut self) {
        let mut sent = 0;
        while let Some(rest) = self.output.get(sent..).filter(|rest| !rest.is_empty()) {
            match self.socket.send(rest) {
                Ok(None) => break,
                Ok(Some(bytes)) => sent += bytes,
                Err(_) => {
                    self.is_over = true;
                    break;
                }
            }
        }
        self.output.drain(..sent);
        self.is_over |= self.output.len() > WAITING_BYTES_MAX;
    }

    /// Sends our end behind what waits; what the peer still says is not lost on the way to it.
    pub fn end(&mut self) {
        self.flush();
        self.is_ending = true;
        self.is_over |= self.socket.shut_down_send().is_err();
    }

    pub fn apply(&self, options: &StreamOptions) -> Result<(), SysError> {
        self.socket.apply(options)
    }

    /// How a connection under way ended.
    pub fn connect_result(&self) -> Result<(), SysError> {
        self.socket.connect_result()
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
