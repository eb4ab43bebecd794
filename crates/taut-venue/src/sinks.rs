//! The sink: connections whose bytes are read and thrown away.
//!
//! A gateway measures a bare send against it: the same call, to the same process, without an order.

use taut_io::Handle;

/// How many connections it takes at once.
pub const SINKS_MAX: usize = 4;

/// The sink's connections.
#[derive(Debug, Default)]
pub struct Sinks {
    streams: [Option<Handle>; SINKS_MAX],
}

impl Sinks {
    /// Gives a new connection a place; whether there was one.
    pub fn accept(&mut self, stream: Handle) -> bool {
        let place = self.streams.iter_mut().find(|place| place.is_none());
        place.map(|place| *place = Some(stream)).is_some()
    }

    /// Whether the stream is one of the sink's, which it is not any more.
    pub fn leave(&mut self, stream: Handle) -> bool {
        let place = self.streams.iter_mut().find(|place| **place == Some(stream));
        place.map(|place| *place = None).is_some()
    }
}
