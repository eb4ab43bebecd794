//! One channel of the feed: a UDP socket that loses nothing on this side.

use taut_sys::{Socket, SysError, yield_cpu};

use crate::error::{During, VenueError};

/// Attempts before a datagram is given up: some seconds of a send buffer that does not drain.
const ATTEMPTS_MAX: u32 = 1_000_000;

/// A sending channel. Published sequence numbers must be real, so a datagram that the kernel does
/// not take is offered again until it does.
#[derive(Debug)]
pub struct Channel {
    socket: Socket,
    name: &'static str,
    pub retries: u64,
    pub failures: u64,
}

impl Channel {
    pub const fn new(socket: Socket, name: &'static str) -> Self {
        Self { socket, name, retries: 0, failures: 0 }
    }

    /// Sends one datagram.
    #[inline]
    pub fn send(&mut self, datagram: &[u8]) -> Result<(), VenueError> {
        match self.socket.send(datagram) {
            Ok(Some(_)) => Ok(()),
            first => self.send_again(datagram, first),
        }
    }

    #[cold]
    fn send_again(
        &mut self,
        datagram: &[u8],
        first: Result<Option<usize>, SysError>,
    ) -> Result<(), VenueError> {
        let mut outcome = first;
        for _ in 0..ATTEMPTS_MAX {
            match outcome {
                Ok(Some(_)) => return Ok(()),
                Ok(None) => yield_cpu(),
                // A unicast peer that does not listen refused an earlier datagram; this one was not
                // sent, and can be now.
                Err(error) if error.is_peer_gone() => {}
                Err(_) => break,
            }
            self.retries += 1;
            outcome = self.socket.send(datagram);
        }
        if matches!(outcome, Ok(Some(_))) {
            return Ok(());
        }
        self.failures += 1;
        outcome.during(self.name)?;
        Err(VenueError::FeedBlocked { thing: self.name })
    }
}
