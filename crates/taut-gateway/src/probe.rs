//! The bare send: the same system call with the same bytes to the same process, without taut
//! around it. It is what `send` must be compared with, measured in the same run.

use std::net::SocketAddrV4;

use taut_sys::{Clock, TcpStream};
use taut_types::Nanos;

use crate::error::GatewayError;
use crate::regions::Recorders;

/// Time between two bare sends: rare enough to cost the run nothing.
const INTERVAL: Nanos = Nanos::from_millis(5);

/// A connection to the venue's sink.
#[derive(Debug)]
pub(crate) struct Probe {
    stream: TcpStream,
    due: Nanos,
    count: u64,
}

impl Probe {
    pub(crate) fn connect(sink: SocketAddrV4, now: Nanos) -> Result<Self, GatewayError> {
        Ok(Self { stream: TcpStream::connect(sink)?, due: now + INTERVAL, count: 0 })
    }

    /// Sends `message` and records how long the call took, when it is time to.
    pub(crate) fn poll(
        &mut self,
        clock: &Clock,
        message: &[u8],
        recorders: &mut Recorders<'_>,
    ) -> Result<(), GatewayError> {
        let now = clock.now();
        if now < self.due || message.is_empty() {
            return Ok(());
        }
        self.due = now + INTERVAL;
        let before = clock.ticks();
        let sent = self.stream.send(message)?;
        let after = clock.ticks();
        // A send that the kernel took in part is another kind of call.
        if sent == message.len() {
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
