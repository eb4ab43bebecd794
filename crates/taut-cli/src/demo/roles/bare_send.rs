//! The bare send: the same system call with the same bytes to the same process, without taut
//! around it. It is what `send` must be compared with, measured in the same run.

use std::net::{SocketAddr, SocketAddrV4};

use taut_gateway::{GatewayError, Observer, Regions};
use taut_io::{Completion, Handle, Io, Kernel};
use taut_lat::Recorder;
use taut_sys::{Address, Clock, StreamOptions};
use taut_types::Nanos;

/// Time between two bare sends: rare enough to cost the run nothing.
const INTERVAL: Nanos = Nanos::from_millis(5);

/// A connection to where the venue reads and forgets.
pub struct BareSend<'m> {
    sink: SocketAddrV4,
    stream: Option<Handle>,
    is_connected: bool,
    due: Nanos,
    histogram: Recorder<'m>,
}

impl<'m> BareSend<'m> {
    pub fn new(sink: SocketAddrV4, regions: &Regions<'m>) -> Result<Self, GatewayError> {
        let histogram = Recorder::new(regions.bare_send).ok_or(GatewayError::Histograms)?;
        Ok(Self { sink, stream: None, is_connected: false, due: Nanos::ZERO, histogram })
    }
}

impl<K: Kernel> Observer<K> for BareSend<'_> {
    fn on_start(&mut self, io: &mut Io<K>, clock: &Clock) -> Result<(), GatewayError> {
        let to = Address::Inet(SocketAddr::V4(self.sink));
        self.stream = Some(io.connect(&to, &StreamOptions::default(), None)?);
        self.due = clock.now() + INTERVAL;
        Ok(())
    }

    fn on_completion(
        &mut self,
        io: &mut Io<K>,
        completion: &Completion<'_>,
    ) -> Result<(), GatewayError> {
        if let Completion::Connected { stream } = *completion
            && self.stream == Some(stream)
        {
            // Its end is the venue's end, and nobody awaits it.
            io.set_hot(stream, true)?;
            self.is_connected = true;
        }
        Ok(())
    }

    fn on_idle(
        &mut self,
        io: &mut Io<K>,
        clock: &Clock,
        last_order: &[u8],
    ) -> Result<(), GatewayError> {
        let now = clock.now();
        let Some(stream) = self.stream else { return Ok(()) };
        if now < self.due || last_order.is_empty() || !self.is_connected {
            return Ok(());
        }
        self.due = now + INTERVAL;
        // The socket itself: what the loop adds to a send is not part of a bare one.
        let socket = io.socket(stream)?;
        let before = clock.ticks();
        let sent = socket.send(last_order)?;
        let after = clock.ticks();
        // A send that the kernel took in part is another kind of call.
        if sent == Some(last_order.len()) {
            let span = clock.at(after).since(clock.at(before));
            self.histogram.record(span.0.unsigned_abs());
        }
        Ok(())
    }
}
