//! What the gateway's bare send is sent to: a listener whose connections are read and forgotten.

use taut_io::{Admission, Completion, Endpoint, Handle, Io, Kernel};
use taut_sys::{Socket, StreamOptions};
use taut_venue::{Observer, VenueError};

/// The run's own gateway, and nobody else: nothing is said that could prove it.
const ADMISSION: Admission =
    Admission { connections_max: 4, per_source_max: 4, handshake_timeout: None };

/// Its listener and its connections.
pub const SINK_SOURCES: usize = 1 + ADMISSION.connections_max;

/// A listener on the venue's loop: a bare send costs what an order's does, without an order.
#[derive(Debug)]
pub struct ReadAndForget {
    socket: Option<Endpoint<StreamOptions>>,
    listener: Option<Handle>,
    /// What it accepted: other streams of the loop are somebody else's.
    streams: Vec<Handle>,
}

impl ReadAndForget {
    /// On this listening socket.
    pub fn new(socket: Socket) -> Self {
        Self { socket: Some(socket.into()), listener: None, streams: Vec::new() }
    }
}

impl<K: Kernel> Observer<K> for ReadAndForget {
    fn on_start(&mut self, io: &mut Io<K>) -> Result<(), VenueError> {
        let listen = |socket| io.listen_on(socket, &ADMISSION);
        self.listener = self.socket.take().map(listen).transpose()?;
        Ok(())
    }

    fn on_completion(&mut self, io: &mut Io<K>, completion: &Completion<'_>) {
        // A stream that broke meanwhile says so itself.
        let _ = match *completion {
            Completion::Accepted { listener, stream, .. } if Some(listener) == self.listener => {
                self.streams.push(stream);
                io.receive(stream)
            }
            Completion::Ended { stream } if self.streams.contains(&stream) => {
                self.streams.retain(|it| *it != stream);
                io.close(stream)
            }
            _ => Ok(()),
        };
    }
}

#[cfg(test)]
mod tests {
    use taut_io::{EpollKernel, EventLoop, LoopConfig};
    use taut_sys::Address;

    use super::*;

    #[test]
    fn what_is_sent_is_swallowed_and_the_ends_are_closed() {
        let kernel = EpollKernel::new(8).expect("a kernel");
        let mut events = EventLoop::new(kernel, LoopConfig::default()).expect("a loop");
        let any_port = Address::Inet("127.0.0.1:0".parse().expect("an address"));
        let listener = Socket::listen(&any_port, &StreamOptions::default()).expect("a port");
        let at = listener.local_address().expect("an address");
        let mut sink = ReadAndForget::new(listener);
        sink.on_start(events.io()).expect("it listens");
        let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
            sink.on_completion(io, &completion);
        };
        let connect = || Socket::connect(&at, &StreamOptions::default()).expect("connected").0;
        let streams = [connect(), connect()];
        let mut sent = 0;
        // Far more than the kernel keeps for who does not read.
        while sent < 4_000_000 {
            for stream in &streams {
                sent += stream.send(&[0; 4_096]).unwrap_or(None).unwrap_or(0);
            }
            events.poll(&mut handler).expect("a turn");
        }
        drop(streams);
        while events.io().source_count() > 1 {
            events.poll(&mut handler).expect("a turn");
        }
    }
}
