//! What a connection's bytes travel on: a stream, or TLS over it.

use taut_io::{Completion, Handle, Io, IoError, Kernel, Limit, Operation};
use taut_net::{NetError, TlsEvent, TlsServerConfig, TlsStream};
use taut_types::Nanos;

/// How long TLS may take.
const TLS_PATIENCE: Nanos = Nanos::from_secs(10);
/// How long the end may take.
const END_PATIENCE: Nanos = Nanos::from_secs(2);
/// Smaller pieces than this are not tried when the loop has no room.
const PIECE_BYTES_MIN: usize = 512;
const PIECE_BYTES_MAX: usize = 64 << 10;

/// A stream, plain or not.
#[derive(Debug)]
pub enum Wire {
    Plain(Handle),
    Tls { tls: Box<TlsStream>, is_up: bool },
}

/// What a completion brought.
#[derive(Debug, Default)]
pub struct Arrived {
    pub bytes: Vec<u8>,
    pub has_ended: bool,
}

impl Wire {
    pub fn start<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        tls: Option<&TlsServerConfig>,
    ) -> Result<Self, NetError> {
        let Some(config) = tls else {
            io.receive(stream)?;
            return Ok(Self::Plain(stream));
        };
        let tls = TlsStream::server(io, stream, config, io.now() + TLS_PATIENCE)?;
        Ok(Self::Tls { tls: Box::new(tls), is_up: false })
    }

    pub const fn stream(&self) -> Handle {
        match self {
            Self::Plain(stream) => *stream,
            Self::Tls { tls, .. } => tls.stream(),
        }
    }

    /// Takes a completion of this stream.
    pub fn handle<K: Kernel>(&mut self, io: &mut Io<K>, completion: &Completion<'_>) -> Arrived {
        let mut arrived = Arrived::default();
        match self {
            Self::Plain(_) => match completion {
                Completion::Received { bytes, .. } => arrived.bytes.extend_from_slice(bytes),
                Completion::Ended { .. } => arrived.has_ended = true,
                _ => {}
            },
            Self::Tls { tls, is_up } => {
                tls.handle(io, completion);
                while let Some(event) = tls.poll_event() {
                    match event {
                        TlsEvent::Handshaken => *is_up = true,
                        TlsEvent::Received(bytes) => arrived.bytes.extend_from_slice(bytes),
                        TlsEvent::Ended | TlsEvent::Truncated => arrived.has_ended = true,
                        TlsEvent::Failed(_) | TlsEvent::Closed => {}
                    }
                }
            }
        }
        arrived
    }

    /// Writes what there is room for, and returns how much.
    pub fn write<K: Kernel>(&mut self, io: &mut Io<K>, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            let mut piece = rest.len().min(PIECE_BYTES_MAX);
            let written = loop {
                let bytes = rest.get(..piece).unwrap_or(rest);
                let done = match self {
                    Self::Plain(stream) => io.write(*stream, bytes, None).map_err(NetError::Io),
                    Self::Tls { is_up: false, .. } => return taken,
                    Self::Tls { tls, .. } => tls.write(io, bytes),
                };
                match done {
                    Ok(()) => break piece,
                    Err(NetError::Io(IoError::Limit(Limit::WriteBytes)))
                        if piece > PIECE_BYTES_MIN =>
                    {
                        piece /= 2;
                    }
                    Err(_) => return taken,
                }
            };
            taken += written;
        }
        taken
    }

    /// Reads no further. What it is called for, a request, has come behind TLS's handshake.
    pub fn pause<K: Kernel>(&self, io: &mut Io<K>) {
        // A stale handle is closed already.
        let _ = io.cancel(self.stream(), Operation::Receive);
    }

    /// Reads on.
    pub fn resume<K: Kernel>(&self, io: &mut Io<K>) {
        let _ = io.receive(self.stream());
    }

    /// Ends it behind what was written.
    pub fn close<K: Kernel>(&mut self, io: &mut Io<K>) {
        let deadline = io.now() + END_PATIENCE;
        // A stale handle is closed already.
        match self {
            Self::Plain(stream) => drop(io.close_gracefully(*stream, deadline)),
            Self::Tls { tls, is_up: true } => tls.close(io, deadline),
            Self::Tls { tls, .. } => drop(io.close(tls.stream())),
        }
    }

    /// Ends it at once.
    pub fn abort<K: Kernel>(&mut self, io: &mut Io<K>) {
        let _ = io.close(self.stream());
    }
}
