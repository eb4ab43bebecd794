//! A connection of the loop, with or without TLS.

use taut_fix::{FieldIndex, Now};
use taut_io::{Completion, Handle, Io, IoError, Kernel};
use taut_net::{NetError, TlsClientConfig, TlsEvent, TlsServerConfig, TlsStream};
use taut_types::Nanos;

use crate::application::Application;
use crate::endpoint::Endpoint;

/// What is handed to the loop at once: half of what it lets wait.
const PIECE_BYTES: usize = 32 * 1024;
/// How long the peer may take to close.
pub const CLOSE_TIMEOUT: Nanos = Nanos::from_secs(10);
/// Tells that what was handed over has left.
const TOKEN: u64 = u64::from_be_bytes(*b"tautlink");

/// A connection.
#[derive(Debug)]
pub struct Transport {
    stream: Stream,
    /// The loop has enough for now, and will say when it wants more.
    is_waiting: bool,
    /// What its session left to be sent before our end: the session may have another connection
    /// by then.
    rest: Vec<u8>,
    /// Our end follows what waits, and by then it is over.
    ending: Option<Nanos>,
    is_ended: bool,
    fault: Option<NetError>,
}

#[derive(Debug)]
enum Stream {
    Plain(Handle),
    Tls(Box<TlsStream>),
}

/// What happened on it.
#[derive(Debug)]
pub enum TransportEvent<'a> {
    /// The handshake of TLS is over.
    Ready,
    /// Bytes of the peer.
    Bytes(&'a [u8]),
    /// The peer sends no more.
    Ended,
    /// It is gone; why, when it did not end as it should.
    Closed(Option<NetError>),
}

impl Transport {
    /// Over a stream without TLS.
    pub fn plain<K: Kernel>(io: &mut Io<K>, stream: Handle) -> Result<Self, NetError> {
        io.receive(stream)?;
        Ok(Self::new(Stream::Plain(stream)))
    }

    /// As TLS's client: the certificate must be for `name`, the handshake over by `deadline`.
    pub fn client<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        (config, name): (&TlsClientConfig, &str),
        deadline: Nanos,
    ) -> Result<Self, NetError> {
        let tls = TlsStream::client(io, stream, config, name, deadline)?;
        Ok(Self::new(Stream::Tls(Box::new(tls))))
    }

    /// As TLS's server: the handshake must be over by `deadline`.
    pub fn server<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        config: &TlsServerConfig,
        deadline: Nanos,
    ) -> Result<Self, NetError> {
        let tls = TlsStream::server(io, stream, config, deadline)?;
        Ok(Self::new(Stream::Tls(Box::new(tls))))
    }

    const fn new(stream: Stream) -> Self {
        Self {
            stream,
            is_waiting: false,
            rest: Vec::new(),
            ending: None,
            is_ended: false,
            fault: None,
        }
    }

    /// Its stream.
    pub fn stream(&self) -> Handle {
        match &self.stream {
            Stream::Plain(stream) => *stream,
            Stream::Tls(tls) => tls.stream(),
        }
    }

    /// Whether bytes can be written at once, without a handshake before.
    pub const fn is_plain(&self) -> bool {
        matches!(self.stream, Stream::Plain(_))
    }

    /// Whether our end is on its way: what the peer still says is of no interest.
    pub const fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    /// Why it was broken off.
    pub const fn fault(&self) -> Option<NetError> {
        self.fault
    }

    /// Tells what a completion of its stream means.
    pub fn handle<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        completion: &Completion<'_>,
        mut tell: impl FnMut(TransportEvent<'_>),
    ) {
        let is_ending = self.is_ending();
        let mut tell = |event: TransportEvent<'_>| {
            if !is_ending || !matches!(event, TransportEvent::Bytes(_) | TransportEvent::Ready) {
                tell(event);
            }
        };
        match &mut self.stream {
            Stream::Plain(_) => match *completion {
                Completion::Received { bytes, .. } => tell(TransportEvent::Bytes(bytes)),
                Completion::Ended { .. } => tell(TransportEvent::Ended),
                Completion::Written { .. } => self.is_waiting = false,
                Completion::Closed { reason, .. } => {
                    let why = self.fault.or(reason.filter(is_fault).map(NetError::from));
                    tell(TransportEvent::Closed(why));
                }
                // It closes, and says why.
                _ => {}
            },
            Stream::Tls(tls) => {
                tls.handle(io, completion);
                self.is_waiting = false;
                while let Some(event) = tls.poll_event() {
                    match event {
                        TlsEvent::Handshaken => tell(TransportEvent::Ready),
                        TlsEvent::Received(bytes) => tell(TransportEvent::Bytes(bytes)),
                        TlsEvent::Ended | TlsEvent::Truncated => tell(TransportEvent::Ended),
                        TlsEvent::Failed(error) => self.fault = Some(error),
                        TlsEvent::Closed => tell(TransportEvent::Closed(self.fault)),
                    }
                }
            }
        }
    }

    /// Lets a session send what it has, and ends the connection when the session is over, or the
    /// peer too slow. Returns when there is something to do again.
    pub fn serve<K: Kernel, A: Application>(
        &mut self,
        io: &mut Io<K>,
        now: Now,
        endpoint: &mut Endpoint<A>,
        index: &mut FieldIndex,
    ) -> Option<Nanos> {
        self.send_output(io, endpoint);
        if endpoint.can_go_on() {
            endpoint.receive(now, &[], index);
            self.send_output(io, endpoint);
        }
        // Never does it stop listening instead: two that did so would wait for each other.
        let waiting = endpoint.waiting_bytes();
        let limit = endpoint.settings().waiting_bytes_max;
        if waiting > limit {
            endpoint.application().warn(&format!(
                "the peer reads too slowly: {waiting} bytes wait for it, waiting_bytes_max is \
                 {limit}; the connection ends"
            ));
            self.break_off(io, None);
        } else if endpoint.is_over() {
            self.take_rest(endpoint);
            self.end(io, now.mono + CLOSE_TIMEOUT);
        } else if endpoint.can_go_on() {
            // Other connections have their turn in between.
            return Some(now.mono);
        }
        endpoint.due(now).filter(|_| !self.is_ending())
    }

    /// Takes over what a session has not sent yet.
    pub fn take_rest<A: Application>(&mut self, endpoint: &mut Endpoint<A>) {
        let output = endpoint.output();
        if !self.is_ended {
            self.rest.extend_from_slice(output);
        }
        let taken = output.len();
        endpoint.transmitted(taken);
    }

    /// Hands over what the loop takes of what is left to be sent, and our end behind it.
    pub fn flush<K: Kernel>(&mut self, io: &mut Io<K>) {
        let rest = std::mem::take(&mut self.rest);
        let sent = self.send(io, &rest);
        self.rest = rest;
        self.rest.drain(..sent);
        if let Some(deadline) = self.ending
            && self.rest.is_empty()
            && !std::mem::replace(&mut self.is_ended, true)
        {
            // A stale handle is closed already.
            match &mut self.stream {
                Stream::Plain(stream) => _ = io.close_gracefully(*stream, deadline),
                Stream::Tls(tls) => tls.close(io, deadline),
            }
        }
    }

    /// Sends our end behind what waits, and closes when the peer has ended too, by `deadline`: what
    /// the peer still says is not lost on the way to it.
    pub fn end<K: Kernel>(&mut self, io: &mut Io<K>, deadline: Nanos) {
        self.ending.get_or_insert(deadline);
        self.flush(io);
    }

    /// Closes at once; what waits is lost.
    pub fn break_off<K: Kernel>(&mut self, io: &mut Io<K>, why: Option<NetError>) {
        self.fault = self.fault.or(why);
        self.rest.clear();
        self.ending.get_or_insert(Nanos::ZERO);
        self.is_ended = true;
        // A stale handle is closed already.
        let _ = io.close(self.stream());
    }

    fn send_output<K: Kernel, A: Application>(
        &mut self,
        io: &mut Io<K>,
        endpoint: &mut Endpoint<A>,
    ) {
        let sent = self.send(io, endpoint.output());
        endpoint.transmitted(sent);
    }

    /// Hands over what the loop takes and returns how much that is; for the rest it says when.
    fn send<K: Kernel>(&mut self, io: &mut Io<K>, bytes: &[u8]) -> usize {
        let mut sent = 0;
        while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
            if self.is_waiting || self.is_ended {
                break;
            }
            let piece = rest.get(..PIECE_BYTES).unwrap_or(rest);
            match write(&mut self.stream, io, piece) {
                Ok(has_room) => {
                    sent += piece.len();
                    self.is_waiting = !has_room;
                }
                Err(NetError::Io(IoError::Limit(_))) if !self.is_plain() => self.is_waiting = true,
                Err(error) => {
                    self.break_off(io, Some(error));
                    return bytes.len();
                }
            }
        }
        sent
    }
}

/// Hands bytes over; returns whether more may follow at once.
fn write<K: Kernel>(stream: &mut Stream, io: &mut Io<K>, bytes: &[u8]) -> Result<bool, NetError> {
    match stream {
        Stream::Plain(stream) => {
            io.write(*stream, bytes, None)?;
            let has_left = io.unsent_bytes(*stream)? == 0;
            if !has_left {
                io.write(*stream, &[], Some(TOKEN))?;
            }
            Ok(has_left)
        }
        Stream::Tls(tls) => tls.write(io, bytes).map(|()| true),
    }
}

/// Our own closing is none, and neither is who gave way: the listener counts those.
const fn is_fault(reason: &IoError) -> bool {
    !matches!(reason, IoError::Cancelled | IoError::Evicted)
}

/// The stream that a completion is of.
pub const fn stream_of(completion: &Completion<'_>) -> Option<Handle> {
    match *completion {
        Completion::Received { stream, .. }
        | Completion::Ended { stream }
        | Completion::Written { stream, .. } => Some(stream),
        Completion::Failed { source, .. } | Completion::Closed { source, .. } => Some(source),
        _ => None,
    }
}
