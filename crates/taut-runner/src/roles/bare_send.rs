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

/// A longer order is not repeated.
const ORDER_BYTES_MAX: usize = 1_024;

/// A connection to where the venue reads and forgets.
pub struct BareSend<'m> {
    sink: SocketAddrV4,
    stream: Option<Handle>,
    is_connected: bool,
    due: Nanos,
    /// What the last new order was.
    last_order: Vec<u8>,
    histogram: Recorder<'m>,
}

impl<'m> BareSend<'m> {
    pub fn new(sink: SocketAddrV4, regions: &Regions<'m>) -> Result<Self, GatewayError> {
        let histogram = Recorder::new(regions.bare_send).ok_or(GatewayError::Histograms)?;
        let last_order = Vec::with_capacity(ORDER_BYTES_MAX);
        let (stream, due) = (None, Nanos::ZERO);
        Ok(Self { sink, stream, is_connected: false, due, last_order, histogram })
    }
}

impl Observer for BareSend<'_> {
    fn on_start(&mut self, io: &mut Io<impl Kernel>, clock: &Clock) -> Result<(), GatewayError> {
        let to = Address::Inet(SocketAddr::V4(self.sink));
        self.stream = Some(io.connect(&to, &StreamOptions::default(), None)?);
        self.due = clock.now() + INTERVAL;
        Ok(())
    }

    fn on_completion(
        &mut self,
        io: &mut Io<impl Kernel>,
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

    fn on_order_sent(&mut self, bytes: &[u8]) {
        self.last_order.clear();
        if bytes.len() <= self.last_order.capacity() {
            self.last_order.extend_from_slice(bytes);
        }
    }

    fn on_idle(&mut self, io: &mut Io<impl Kernel>, clock: &Clock) -> Result<(), GatewayError> {
        let now = clock.now();
        let Some(stream) = self.stream else { return Ok(()) };
        if now < self.due || self.last_order.is_empty() || !self.is_connected {
            return Ok(());
        }
        self.due = now + INTERVAL;
        // The socket itself: what the loop adds to a send is not part of a bare one.
        let socket = io.socket(stream)?;
        let before = clock.ticks();
        let sent = socket.send(&self.last_order)?;
        let after = clock.ticks();
        // A send that the kernel took in part is another kind of call.
        if sent == Some(self.last_order.len()) {
            let span = clock.at(after).since(clock.at(before));
            self.histogram.record(span.0.unsigned_abs());
        }
        Ok(())
    }
}
