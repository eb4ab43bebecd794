//! The sink: connections whose bytes are read and thrown away.
//!
//! A gateway measures a bare send against it: the same call, to the same process, without an order.

use taut_sys::{TcpListener, TcpStream};

use crate::clients::accept;
use crate::error::VenueError;

/// How many connections it takes at once.
pub const SINKS_MAX: usize = 4;

/// A listener and its connections.
#[derive(Debug)]
pub struct Sinks {
    listener: TcpListener,
    streams: [Option<TcpStream>; SINKS_MAX],
    scratch: Box<[u8]>,
}

impl Sinks {
    pub fn new(listener: TcpListener) -> Self {
        let scratch = vec![0; 1 << 16].into_boxed_slice();
        Self { listener, streams: [const { None }; SINKS_MAX], scratch }
    }

    pub const fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// The connections.
    pub fn streams(&self) -> impl Iterator<Item = &TcpStream> {
        self.streams.iter().flatten()
    }

    /// Takes the connections that wait; one beyond the last place is closed at once.
    pub fn accept(&mut self) -> Result<bool, VenueError> {
        let mut worked = false;
        while let Some(stream) = accept(&self.listener, "sink listener")? {
            worked = true;
            if let Some(place) = self.streams.iter_mut().find(|place| place.is_none()) {
                *place = Some(stream);
            }
        }
        Ok(worked)
    }

    /// Reads what has arrived. Cost: one system call for each connection.
    pub fn drain(&mut self) -> bool {
        let mut worked = false;
        for place in &mut self.streams {
            let Some(stream) = place else { continue };
            match stream.recv(&mut self.scratch) {
                Ok(None) => {}
                Ok(Some(0)) | Err(_) => {
                    *place = None;
                    worked = true;
                }
                Ok(Some(_)) => worked = true,
            }
        }
        worked
    }
}
