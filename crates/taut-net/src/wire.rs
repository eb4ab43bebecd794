//! What a server's connection travels on: a stream, or TLS over it. For protocols whose owner keeps
//! what has not left: a write takes what there is room for.

use taut_io::{Completion, Handle, Io, IoError, Kernel, Limit, Operation};
use taut_types::Nanos;

use crate::error::NetError;
use crate::tls::{TlsEvent, TlsServerConfig, TlsStream};

/// How long TLS may take.
const TLS_PATIENCE: Nanos = Nanos::from_secs(10);
/// How long the end may take.
const END_PATIENCE: Nanos = Nanos::from_secs(2);
/// Smaller pieces than this are not tried when the loop has no room.
const PIECE_BYTES_MIN: usize = 512;
const PIECE_BYTES_MAX: usize = 64 << 10;

/// An accepted stream, plain or with TLS.
#[derive(Debug)]
pub struct Wire(Inner);

#[derive(Debug)]
enum Inner {
    Plain(Handle),
    Tls { tls: Box<TlsStream>, is_up: bool },
}

/// What a completion brought.
#[derive(Debug, Default)]
pub struct Arrived {
    /// What the peer said, decrypted.
    pub bytes: Vec<u8>,
    /// Whether it says no more.
    pub has_ended: bool,
}

impl Wire {
    /// Begins to read from an accepted stream, with TLS where a certificate is given.
    ///
    /// # Errors
    /// A stale handle, no room for a timer.
    pub fn start<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        tls: Option<&TlsServerConfig>,
    ) -> Result<Self, NetError> {
        let Some(config) = tls else {
            io.receive(stream)?;
            return Ok(Self(Inner::Plain(stream)));
        };
        let tls = TlsStream::server(io, stream, config, io.now() + TLS_PATIENCE)?;
        Ok(Self(Inner::Tls { tls: Box::new(tls), is_up: false }))
    }

    /// Its stream.
    #[must_use]
    pub const fn stream(&self) -> Handle {
        match &self.0 {
            Inner::Plain(stream) => *stream,
            Inner::Tls { tls, .. } => tls.stream(),
        }
    }

    /// Takes a completion of this stream.
    pub fn handle<K: Kernel>(&mut self, io: &mut Io<K>, completion: &Completion<'_>) -> Arrived {
        let mut arrived = Arrived::default();
        match &mut self.0 {
            Inner::Plain(_) => match completion {
                Completion::Received { bytes, .. } => arrived.bytes.extend_from_slice(bytes),
                Completion::Ended { .. } => arrived.has_ended = true,
                _ => {}
            },
            Inner::Tls { tls, is_up } => {
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

    /// Writes what there is room for, and returns how many bytes; none before TLS's handshake is
    /// over.
    pub fn write<K: Kernel>(&mut self, io: &mut Io<K>, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            let mut piece = rest.len().min(PIECE_BYTES_MAX);
            let written = loop {
                let bytes = rest.get(..piece).unwrap_or(rest);
                let done = match &mut self.0 {
                    Inner::Plain(stream) => io.write(*stream, bytes, None).map_err(NetError::Io),
                    Inner::Tls { is_up: false, .. } => return taken,
                    Inner::Tls { tls, .. } => tls.write(io, bytes),
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
        match &mut self.0 {
            Inner::Plain(stream) => drop(io.close_gracefully(*stream, deadline)),
            Inner::Tls { tls, is_up: true } => tls.close(io, deadline),
            Inner::Tls { tls, .. } => drop(io.close(tls.stream())),
        }
    }

    /// Ends it at once.
    pub fn abort<K: Kernel>(&mut self, io: &mut Io<K>) {
        let _ = io.close(self.stream());
    }
}
