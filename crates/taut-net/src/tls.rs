//! TLS over a stream of the loop, client and server. The protocol is rustls's, a state machine over
//! bytes; this marries it to the loop, so that nothing ever blocks.
//!
//! Give it every completion; what it makes of them is then in [`TlsStream::poll_event`]:
//!
//! ```text
//! if tls.handle(io, &completion) {
//!     while let Some(event) = tls.poll_event() { .. }
//! }
//! ```
//!
//! Cost: a record is decrypted in place and copied once; rustls allocates for each record, so an
//! order path that counts nanoseconds ends TLS elsewhere (a proxy on the host) or uses a leased
//! line.

mod config;
mod session;

use std::io::ErrorKind;

use rustls::pki_types::ServerName;
use rustls::{AlertDescription, ClientConnection, Connection, HandshakeKind, ServerConnection};
use taut_io::{ByteBuffer, Completion, Handle, Io, IoError, Kernel, Limit, Misuse, Operation};
use taut_types::Nanos;

use crate::certificate::CertificateFault;
use crate::error::NetError;
pub use config::{TlsClientConfig, TlsServerConfig, system_roots};
use session::Session;

/// What one completion can decrypt to: a receive takes 64 KiB at most, and the rest of a record may
/// wait before it.
const PLAIN_BYTES: usize = 96 * 1024;
/// Encrypted bytes on their way to the loop.
const CIPHER_BYTES: usize = 32 * 1024;
/// Writes of this crate; the owner of the stream sees them complete and leaves them.
const TOKEN: u64 = crate::resolve::MARK;
/// How long a refused peer has to take the alert.
const ALERT_PATIENCE: Nanos = Nanos::from_secs(1);
/// Smaller pieces than this are not tried when the loop has no room.
const PIECE_BYTES_MIN: usize = 512;

/// What happened on a TLS stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsEvent<'t> {
    /// The handshake is over, and the peer is who it should be: bytes can be written.
    Handshaken,
    /// Decrypted bytes, until the next call.
    Received(&'t [u8]),
    /// The peer said that it sends no more (`close_notify`); writing goes on.
    Ended,
    /// The stream ended without that: somebody cut it, and bytes may be missing.
    Truncated,
    /// The stream is refused, broken, or too slow to begin. It closes.
    Failed(NetError),
    /// The stream is gone, and its handle stale.
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Handshaking,
    Open,
    /// Everything that is encrypted leaves, then the stream ends, by this time.
    Closing(Nanos),
    /// Our half is shut; the peer's goes on until it ends too.
    Shut,
    /// Refused, or gone: nothing counts any more.
    Over,
}

/// How far the hello of a server's peer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hello {
    /// Nothing of it.
    None,
    Part,
    /// Another one was asked for, which took no signature.
    AskedAgain,
    /// The answer is made, and signed.
    Answered,
}

/// TLS over one stream.
pub struct TlsStream {
    stream: Handle,
    session: Session,
    phase: Phase,
    plain: ByteBuffer,
    /// Bytes of `plain` that the last event lent out.
    lent: usize,
    cipher: ByteBuffer,
    /// As a server: how far the peer's hello has come.
    hello: Hello,
    peer_ended: bool,
    refused: bool,
    handshaken: bool,
    /// At most an end and a close wait.
    ending: Option<TlsEvent<'static>>,
    closed: bool,
}

impl TlsStream {
    /// Starts the client's handshake on a connected stream, to end by `deadline`. The certificate
    /// must be for `server_name` (a DNS name or an address) and lead to a root of the
    /// configuration.
    ///
    /// # Errors
    /// A name that is none; a stale handle.
    pub fn client<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        config: &TlsClientConfig,
        server_name: &str,
        deadline: Nanos,
    ) -> Result<Self, NetError> {
        let name = ServerName::try_from(server_name.to_owned());
        let name = name.map_err(|_| NetError::MalformedTarget)?;
        let begin = || ClientConnection::new(config.shared(), name).map(Connection::Client);
        let session = Session::client(begin).ok_or(NetError::TlsConfig)?;
        Self::start(io, stream, session, deadline)
    }

    /// Starts the server's handshake on an accepted stream, to end by `deadline`.
    ///
    /// # Errors
    /// A stale handle.
    pub fn server<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        config: &TlsServerConfig,
        deadline: Nanos,
    ) -> Result<Self, NetError> {
        let session = ServerConnection::new(config.shared()).map_err(|_| NetError::TlsConfig)?;
        Self::start(io, stream, Session::server(Connection::Server(session)), deadline)
    }

    fn start<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        session: Session,
        deadline: Nanos,
    ) -> Result<Self, NetError> {
        io.seal(stream);
        io.receive(stream)?;
        io.set_receive_deadline(stream, Some(deadline))?;
        let mut tls = Self {
            stream,
            session,
            phase: Phase::Handshaking,
            plain: ByteBuffer::new(PLAIN_BYTES),
            lent: 0,
            cipher: ByteBuffer::new(CIPHER_BYTES),
            hello: Hello::None,
            peer_ended: false,
            refused: false,
            handshaken: false,
            ending: None,
            closed: false,
        };
        tls.flush(io);
        Ok(tls)
    }

    /// Its stream.
    #[must_use]
    pub const fn stream(&self) -> Handle {
        self.stream
    }

    /// The application protocol that was agreed on.
    #[must_use]
    pub fn protocol(&self) -> Option<&[u8]> {
        self.session.live().and_then(|session| session.alpn_protocol())
    }

    /// Whether the handshake resumed an earlier session, which saves the certificates.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Takes a completion; false when it is another source's.
    pub fn handle<K: Kernel>(&mut self, io: &mut Io<K>, completion: &Completion<'_>) -> bool {
        let stream = self.stream;
        match *completion {
            Completion::Received { stream: at, bytes } if at == stream => self.decrypt(io, bytes),
            Completion::Ended { stream: at } if at == stream => {
                if !self.peer_ended && !self.refused {
                    self.end_with(TlsEvent::Truncated);
                }
            }
            Completion::Written { stream: at, token: TOKEN } if at == stream => self.flush(io),
            Completion::Failed { source, operation: Operation::Receive, error, .. }
                if source == stream && self.phase == Phase::Handshaking =>
            {
                self.fail(io, error.into());
            }
            // A write that failed closes the stream, and then it is told; a receive deadline is its
            // owner's, who set it.
            Completion::Failed { source, operation: Operation::Write, .. } if source == stream => {}
            Completion::Closed { source, .. } if source == stream => {
                self.phase = Phase::Over;
                self.closed = true;
            }
            _ => return false,
        }
        true
    }

    /// What happened, oldest first. Bytes that it lends are gone at the next call.
    pub fn poll_event(&mut self) -> Option<TlsEvent<'_>> {
        self.plain.consume(core::mem::take(&mut self.lent));
        if core::mem::take(&mut self.handshaken) {
            return Some(TlsEvent::Handshaken);
        }
        if !self.plain.readable().is_empty() {
            self.lent = self.plain.readable().len();
            return Some(TlsEvent::Received(self.plain.readable()));
        }
        let ended = self.ending.take();
        ended.or_else(|| core::mem::take(&mut self.closed).then_some(TlsEvent::Closed))
    }

    /// Encrypts and writes, whole or not at all.
    ///
    /// # Errors
    /// [`Limit::WriteBytes`] while the peer reads too slowly: nothing was taken. Misuse before the
    /// handshake is over and after [`TlsStream::close`].
    pub fn write<K: Kernel>(&mut self, io: &mut Io<K>, bytes: &[u8]) -> Result<(), NetError> {
        if self.phase != Phase::Open {
            return Err(NetError::Io(IoError::Misuse(Misuse::ShutDown)));
        }
        if !self.is_flushed() {
            self.flush(io);
        }
        if !self.is_flushed() {
            return Err(NetError::Io(IoError::Limit(Limit::WriteBytes)));
        }
        // Without a limit of its own, the session takes everything.
        let is_taken = self.session.write(bytes);
        self.flush(io);
        if is_taken { Ok(()) } else { Err(NetError::TlsViolation) }
    }

    /// Ends the stream as TLS ends: what was written leaves, then `close_notify`, then the end; the
    /// stream closes when the peer has ended too, at `deadline` in any case.
    pub fn close<K: Kernel>(&mut self, io: &mut Io<K>, deadline: Nanos) {
        if matches!(self.phase, Phase::Handshaking | Phase::Open) {
            self.session.send_close_notify();
            self.close_by(io, deadline);
        }
    }

    /// Ends when everything that is encrypted has left, but not later than that.
    fn close_by<K: Kernel>(&mut self, io: &mut Io<K>, deadline: Nanos) {
        self.phase = Phase::Closing(deadline);
        self.flush(io);
        // A peer that does not read holds the writes up: then they end the stream. A stale handle
        // is closed already.
        let _ = io.set_write_deadline(self.stream, Some(deadline));
    }

    fn decrypt<K: Kernel>(&mut self, io: &mut Io<K>, mut bytes: &[u8]) {
        // What the owner did not ask for is gone, as with any other completion.
        self.plain.consume(self.plain.readable().len());
        self.lent = 0;
        let is_server = self.session.is_server();
        if is_server && self.hello == Hello::None && io.peer_has_ended(self.stream) {
            // A client began a handshake and left: that is not worth a signature.
            (self.peer_ended, self.refused) = (true, true);
            return self.end_with(TlsEvent::Truncated);
        }
        while !bytes.is_empty() && !self.refused {
            match self.session.read_tls(&mut bytes) {
                Some(0) => break,
                Some(_) => {}
                None => return self.fail(io, NetError::TlsViolation),
            }
            if let Err(error) = self.session.process() {
                if self.phase != Phase::Handshaking {
                    // What stood before it was sealed, and may say why.
                    self.take_plain();
                }
                return self.fail(io, error.map_or(NetError::TlsViolation, |it| fault(&it)));
            }
            self.take_plain();
        }
        if self.phase == Phase::Handshaking && !self.session.is_handshaking() {
            self.phase = Phase::Open;
            self.handshaken = true;
            // Taking a deadline back cannot fail on a live stream.
            let _ = io.set_receive_deadline(self.stream, None);
        }
        if is_server && self.phase == Phase::Handshaking && self.hello != Hello::Answered {
            self.hello = self.hello_after();
            if self.hello != Hello::Answered {
                // The signature is still to come. A stale handle is closed already.
                let _ = io.has_not_begun(self.stream);
            }
        }
        self.flush(io);
    }

    fn handshake_kind(&self) -> Option<HandshakeKind> {
        self.session.live().and_then(|session| session.handshake_kind())
    }

    /// How far the hello has come, now that something was read of it.
    fn hello_after(&self) -> Hello {
        let kind = self.handshake_kind();
        let was_asked_again = kind == Some(HandshakeKind::FullWithHelloRetryRequest);
        match self.session.wants_write() {
            true if was_asked_again && self.hello != Hello::AskedAgain => Hello::AskedAgain,
            true => Hello::Answered,
            false if self.hello == Hello::AskedAgain => Hello::AskedAgain,
            false => Hello::Part,
        }
    }

    fn take_plain(&mut self) {
        loop {
            match self.session.read(self.plain.spare()) {
                Ok(0) => {
                    if !core::mem::replace(&mut self.peer_ended, true) {
                        self.end_with(TlsEvent::Ended);
                    }
                    return;
                }
                Ok(bytes) => {
                    self.plain.wrote(bytes);
                    self.plain.commit_all();
                }
                // Nothing more is decrypted; a cut stream is told by the loop.
                Err(ErrorKind::Interrupted) => {}
                Err(_) => return,
            }
        }
    }

    fn end_with(&mut self, event: TlsEvent<'static>) {
        self.ending.get_or_insert(event);
    }

    /// Tells the peer why, as far as the session knows, and closes.
    fn fail<K: Kernel>(&mut self, io: &mut Io<K>, error: NetError) {
        if core::mem::replace(&mut self.refused, true) || self.phase == Phase::Over {
            return;
        }
        self.end_with(TlsEvent::Failed(error));
        self.close_by(io, io.now() + ALERT_PATIENCE);
    }

    fn is_flushed(&self) -> bool {
        self.cipher.readable().is_empty() && !self.session.wants_write()
    }

    /// Hands over to the loop what is encrypted; what it has no room for waits until an earlier
    /// write completes.
    fn flush<K: Kernel>(&mut self, io: &mut Io<K>) {
        loop {
            while self.session.wants_write() && self.cipher.free() > 0 {
                if !self.session.write_tls(&mut self.cipher) {
                    break;
                }
            }
            let waiting = self.cipher.readable().len();
            if waiting == 0 {
                break;
            }
            let mut piece = waiting;
            let taken = loop {
                let bytes = self.cipher.readable().get(..piece).unwrap_or(&[]);
                match io.write(self.stream, bytes, Some(TOKEN)) {
                    Err(IoError::Limit(Limit::WriteBytes)) if piece > PIECE_BYTES_MIN => piece /= 2,
                    Ok(()) => break piece,
                    // No room, or the stream is closing: it says so itself.
                    Err(_) => break 0,
                }
            };
            self.cipher.consume(taken);
            if taken == 0 || self.is_flushed() {
                break;
            }
        }
        if let Phase::Closing(deadline) = self.phase
            && self.is_flushed()
        {
            self.phase = if self.refused { Phase::Over } else { Phase::Shut };
            // A stale handle is closed already.
            let _ = io.close_gracefully(self.stream, deadline);
        }
    }
}

impl std::fmt::Debug for TlsStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsStream")
            .field("stream", &self.stream)
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}

/// Whose fault it is.
fn fault(error: &rustls::Error) -> NetError {
    use AlertDescription as Alert;
    match error {
        rustls::Error::InvalidCertificate(cause) => {
            NetError::Certificate(CertificateFault::of(cause))
        }
        rustls::Error::NoCertificatesPresented => NetError::Certificate(CertificateFault::Absent),
        rustls::Error::NoApplicationProtocol
        | rustls::Error::AlertReceived(Alert::NoApplicationProtocol) => NetError::NoCommonProtocol,
        rustls::Error::AlertReceived(
            Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::CertificateRequired
            | Alert::AccessDenied,
        ) => NetError::CertificateRefused,
        _ => NetError::TlsViolation,
    }
}
