//! The bare send: the same system call with the same bytes to the same process, without taut
//! around it. It is what `send` must be compared with, measured in the same run.

use std::net::{SocketAddr, SocketAddrV4};

use taut_io::{EpollKernel, Handle, Io};
use taut_sys::{Address, Clock, StreamOptions};
use taut_types::Nanos;

use crate::error::GatewayError;
use crate::regions::Recorders;

/// Time between two bare sends: rare enough to cost the run nothing.
const INTERVAL: Nanos = Nanos::from_millis(5);

/// A connection to the venue's sink.
#[derive(Debug)]
pub(crate) struct Probe {
    stream: Handle,
    connected: bool,
    due: Nanos,
    count: u64,
}

impl Probe {
    pub(crate) fn connect(
        io: &mut Io<EpollKernel>,
        sink: SocketAddrV4,
        now: Nanos,
    ) -> Result<Self, GatewayError> {
        let to = Address::Inet(SocketAddr::V4(sink));
        let stream = io.connect(&to, &StreamOptions::default(), None)?;
        Ok(Self { stream, connected: false, due: now + INTERVAL, count: 0 })
    }

    pub(crate) const fn stream(&self) -> Handle {
        self.stream
    }

    /// The connection stands.
    pub(crate) const fn connected(&mut self) {
        self.connected = true;
    }

    /// Sends `message` and records how long the call took, when it is time to.
    pub(crate) fn poll(
        &mut self,
        io: &mut Io<EpollKernel>,
        clock: &Clock,
        message: &[u8],
        recorders: &mut Recorders<'_>,
    ) -> Result<(), GatewayError> {
        let now = clock.now();
        if now < self.due || message.is_empty() || !self.connected {
            return Ok(());
        }
        self.due = now + INTERVAL;
        // The socket itself: what the loop adds to a send is not part of a bare one.
        let socket = io.socket(self.stream)?;
        let before = clock.ticks();
        let sent = socket.send(message)?;
        let after = clock.ticks();
        // A send that the kernel took in part is another kind of call.
        if sent == Some(message.len()) {
            self.count += 1;
            let span = clock.at(after).since(clock.at(before));
            recorders.bare_send.record(span.0.unsigned_abs());
        }
        Ok(())
    }

    pub(crate) const fn count(&self) -> u64 {
        self.count
    }
}
