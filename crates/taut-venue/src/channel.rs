//! One channel of the feed: a UDP socket that loses nothing on this side.

use taut_io::{Handle, Io, IoError, Kernel};
use taut_sys::yield_cpu;

use crate::error::{During, VenueError};

/// Attempts before a datagram is given up: some seconds of a send buffer that does not drain.
const ATTEMPTS_MAX: u32 = 1_000_000;

/// A sending channel. Published sequence numbers must be real, so a datagram that the kernel does
/// not take is offered again until it does.
#[derive(Debug)]
pub struct Channel {
    socket: Handle,
    name: &'static str,
    pub retries: u64,
    pub failures: u64,
}

impl Channel {
    pub const fn new(socket: Handle, name: &'static str) -> Self {
        Self { socket, name, retries: 0, failures: 0 }
    }

    /// Sends one datagram.
    #[inline]
    pub fn send(&mut self, io: &mut Io<impl Kernel>, datagram: &[u8]) -> Result<(), VenueError> {
        match io.send_to(self.socket, datagram, None) {
            Ok(true) => Ok(()),
            first => self.send_again(io, datagram, first),
        }
    }

    #[cold]
    fn send_again(
        &mut self,
        io: &mut Io<impl Kernel>,
        datagram: &[u8],
        first: Result<bool, IoError>,
    ) -> Result<(), VenueError> {
        let mut outcome = first;
        for _ in 0..ATTEMPTS_MAX {
            match outcome {
                Ok(true) => return Ok(()),
                Ok(false) => yield_cpu(),
                // A unicast peer that does not listen refused an earlier datagram; this one was not
                // sent, and can be now.
                Err(IoError::System(error)) if error.is_peer_gone() => {}
                Err(_) => break,
            }
            self.retries += 1;
            outcome = io.send_to(self.socket, datagram, None);
        }
        self.failures += u64::from(outcome != Ok(true));
        match outcome {
            Ok(true) => Ok(()),
            Ok(false) => Err(VenueError::FeedBlocked { thing: self.name }),
            Err(IoError::System(error)) => Err(error).during(self.name),
            Err(error) => Err(error.into()),
        }
    }
}
