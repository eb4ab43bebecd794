//! WebSocket over a stream of the loop, client and server, plain or over TLS. The protocol is
//! taut-ws's, a state machine over bytes; this marries it to the loop.
//!
//! Give it every completion, and a function that hears what happens and answers at once:
//!
//! ```
//! use taut_io::{Completion, Io, Kernel};
//! use taut_net::{WsEvent, WsStream};
//! use taut_ws::Event;
//!
//! /// An echo's handler. True when the completion was this stream's.
//! fn handle<K: Kernel>(ws: &mut WsStream, io: &mut Io<K>, completion: &Completion<'_>) -> bool {
//!     ws.handle(io, completion, &mut |outbox, event| match event {
//!         WsEvent::Session(Event::Requested(_)) => drop(outbox.accept(None, &[])),
//!         WsEvent::Session(Event::Text(text)) => drop(outbox.text(text)),
//!         WsEvent::Session(_) | WsEvent::Gone(_) => {}
//!     })
//! }
//! ```
//!
//! Everything that is sent while a completion is handled leaves in one write. What the kernel does
//! not take waits in the outbox, up to its limit: then [`Outbox`] refuses, and the owner decides
//! whether to drop, to wait ([`WsStream::pending_bytes`]), or not to read either
//! ([`WsStream::pause`]).
//!
//! Over a plain stream a message that arrived whole and unmasked is lent from the loop's own
//! buffer. No allocation per message; over TLS, rustls allocates for each record.

pub mod client;
mod transport;

use taut_io::{Completion, Handle, Io, IoError, Kernel, Operation, TimerId};
use taut_types::Nanos;
use taut_ws::{CloseCode, Closed, Connection, Event, Handled, Outbox, State, WsCounters, WsError};

use crate::error::NetError;
use crate::proxy::Tunnel;
use crate::proxy_fault::ProxyFault;
use crate::resolve::MARK;
use crate::tls::{TlsClientConfig, TlsEvent, TlsServerConfig, TlsStream};
use crate::ws::transport::Transport;

/// How long TLS may take when the connection itself has no deadline.
const TLS_PATIENCE: Nanos = Nanos::from_secs(10);
/// What a client is told when nobody has answered its request.
const UNANSWERED: (u16, &str) = (500, "the request was not answered");

/// What happened on a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WsEvent<'e> {
    /// What the connection says. After [`Event::Closed`] the stream ends by itself.
    Session(Event<'e>),
    /// The stream is gone and its handle stale, by this fault if it did not end as it should: TLS,
    /// a reset, a deadline. Nothing comes after it.
    Gone(Option<NetError>),
}

/// A WebSocket over one stream.
#[derive(Debug)]
pub struct WsStream {
    transport: Transport,
    connection: Connection,
    timer: Option<(TimerId, Nanos)>,
    /// Close frames went both ways.
    is_agreed: bool,
    peer_ended: bool,
    is_paused: bool,
    /// A server's handshake is over, and its listener knows.
    is_proved: bool,
    /// The connection is over; the stream is too by this time.
    ending: Option<Nanos>,
    is_shut: bool,
    fault: Option<NetError>,
}

impl WsStream {
    /// A client on a connected stream, with TLS to a server of this name where asked.
    ///
    /// # Errors
    /// A stale handle, no room for a timer; a name that is none.
    pub fn client<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        tls: Option<(&TlsClientConfig, &str)>,
        connection: Connection,
    ) -> Result<Self, NetError> {
        let deadline = connection.poll_timeout().unwrap_or(io.now() + TLS_PATIENCE);
        let tls = match tls {
            None => None,
            Some((config, name)) => Some(TlsStream::client(io, stream, config, name, deadline)?),
        };
        Self::start(io, stream, tls, connection)
    }

    /// A client on a stream that is connected to a proxy, which is asked for this tunnel first.
    ///
    /// # Errors
    /// A stale handle, no room for a timer or for the request.
    pub fn client_through<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        tunnel: Tunnel,
        tls: Option<(&TlsClientConfig, &str)>,
        connection: Connection,
    ) -> Result<Self, NetError> {
        io.receive(stream)?;
        io.write(stream, tunnel.request(), None)?;
        let then = tls.map(|(config, name)| (config.clone(), name.to_owned()));
        Self::start_on(io, Transport::Tunnel { stream, tunnel, then }, connection)
    }

    /// A server on an accepted stream, with TLS where asked. Answer the client's request when it is
    /// told: one that is left is refused with 500.
    ///
    /// # Errors
    /// A stale handle, no room for a timer.
    pub fn server<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        tls: Option<&TlsServerConfig>,
        connection: Connection,
    ) -> Result<Self, NetError> {
        let deadline = connection.poll_timeout().unwrap_or(io.now() + TLS_PATIENCE);
        let tls = match tls {
            None => None,
            Some(config) => Some(TlsStream::server(io, stream, config, deadline)?),
        };
        Self::start(io, stream, tls, connection)
    }

    fn start<K: Kernel>(
        io: &mut Io<K>,
        stream: Handle,
        tls: Option<TlsStream>,
        connection: Connection,
    ) -> Result<Self, NetError> {
        let transport = match tls {
            Some(tls) => Transport::Tls { tls: Box::new(tls), is_handshaken: false },
            None => {
                io.receive(stream)?;
                Transport::Plain { stream, is_held_up: false }
            }
        };
        Self::start_on(io, transport, connection)
    }

    fn start_on<K: Kernel>(
        io: &mut Io<K>,
        transport: Transport,
        connection: Connection,
    ) -> Result<Self, NetError> {
        let timer = match connection.poll_timeout() {
            Some(due) => Some((io.timer_at(due, MARK)?, due)),
            None => None,
        };
        let mut ws = Self {
            transport,
            connection,
            timer,
            is_agreed: false,
            peer_ended: false,
            is_paused: false,
            is_proved: false,
            ending: None,
            is_shut: false,
            fault: None,
        };
        ws.flush(io);
        Ok(ws)
    }

    /// Its stream.
    #[must_use]
    pub const fn stream(&self) -> Handle {
        self.transport.stream()
    }

    /// Whether messages pass.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.connection.state() == State::Open
    }

    /// Frames that wait because the peer reads too slowly, in bytes.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.connection.poll_transmit().len()
    }

    /// The memory that its messages have now.
    #[must_use]
    pub const fn memory_bytes(&self) -> usize {
        self.connection.memory_bytes()
    }

    /// What the connection counted.
    #[must_use]
    pub const fn counters(&self) -> WsCounters {
        self.connection.counters()
    }

    /// To send outside of [`WsStream::handle`]; then [`WsStream::flush`].
    pub const fn outbox(&mut self) -> &mut Outbox {
        self.connection.outbox()
    }

    /// Takes a completion and tells what it means; false when it is another source's.
    pub fn handle<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        completion: &Completion<'_>,
        application: &mut impl FnMut(&mut Outbox, WsEvent<'_>),
    ) -> bool {
        let stream = self.stream();
        match *completion {
            Completion::Timer { timer, .. } if self.timer.is_some_and(|(own, _)| own == timer) => {
                self.timer = None;
                self.time_passed(io, application);
            }
            Completion::Failed { source, operation: Operation::Receive, error, .. }
                if source == stream && self.is_paused && error == IoError::Cancelled => {}
            Completion::Closed { source, reason } if source == stream => {
                self.gone(io, reason, application);
                return true;
            }
            _ if matches!(self.transport, Transport::Tls { .. }) => {
                if !self.handle_tls(io, completion, application) {
                    return false;
                }
            }
            Completion::Received { stream: at, bytes }
                if at == stream && matches!(self.transport, Transport::Tunnel { .. }) =>
            {
                self.take_tunnel(io, bytes);
            }
            Completion::Received { stream: at, bytes } if at == stream => {
                self.is_agreed |= take(&mut self.connection, io.now(), bytes, application);
            }
            Completion::Written { stream: at, token: MARK } if at == stream => {
                if let Transport::Plain { is_held_up, .. } = &mut self.transport {
                    *is_held_up = false;
                }
            }
            Completion::Ended { stream: at } if at == stream => self.ended(application),
            // A failed write closes the stream, and then it is told; a receive deadline is its
            // owner's, who set it.
            Completion::Failed { source, .. } if source == stream => {}
            _ => return false,
        }
        self.flush(io);
        true
    }

    /// Hands what waits to the loop: call it after sending outside of [`WsStream::handle`].
    pub fn flush<K: Kernel>(&mut self, io: &mut Io<K>) {
        // What has left may make room for a pong that waited.
        while !self.connection.poll_transmit().is_empty() {
            let taken = self.transport.write(io, self.connection.poll_transmit());
            self.connection.transmitted(taken);
            if taken == 0 {
                break;
            }
        }
        match self.connection.state() {
            State::Closed => self.end(io),
            State::Open if !self.is_proved => {
                // A stale handle is closed already.
                let _ = io.prove(self.stream());
                self.is_proved = true;
            }
            _ => {}
        }
        self.rearm(io);
    }

    /// Closes with a code and a reason: a close frame, the peer's answer, then the end of the
    /// stream.
    ///
    /// # Errors
    /// The connection is not open; the reason is too long.
    pub fn close<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        code: CloseCode,
        reason: &str,
    ) -> Result<(), WsError> {
        self.connection.outbox().close(io.now(), Some(code), reason)?;
        self.flush(io);
        Ok(())
    }

    /// Ends the stream at once: what waits is dropped, and nothing more is told.
    pub fn abort<K: Kernel>(mut self, io: &mut Io<K>) {
        if let Some((timer, _)) = self.timer.take() {
            io.cancel_timer(timer);
        }
        // A stale handle is closed already.
        let _ = io.close(self.stream());
    }

    /// Stops to read: the peer's writes meet back pressure. Its silence does not count meanwhile.
    pub fn pause<K: Kernel>(&mut self, io: &mut Io<K>) {
        if !self.is_paused && !self.peer_ended && self.transport.is_up() {
            // A stale handle is closed already.
            self.is_paused = io.cancel(self.stream(), Operation::Receive).is_ok();
        }
    }

    /// Reads on.
    pub fn resume<K: Kernel>(&mut self, io: &mut Io<K>) {
        if core::mem::take(&mut self.is_paused) {
            let _ = io.receive(self.stream());
        }
    }

    fn handle_tls<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        completion: &Completion<'_>,
        application: &mut impl FnMut(&mut Outbox, WsEvent<'_>),
    ) -> bool {
        let Transport::Tls { tls, is_handshaken } = &mut self.transport else { return false };
        if !tls.handle(io, completion) {
            return false;
        }
        let mut has_ended = false;
        while let Some(event) = tls.poll_event() {
            match event {
                TlsEvent::Handshaken => *is_handshaken = true,
                TlsEvent::Received(bytes) => {
                    self.is_agreed |= take(&mut self.connection, io.now(), bytes, application);
                }
                TlsEvent::Ended | TlsEvent::Truncated => has_ended = true,
                TlsEvent::Failed(error) => self.fault = Some(error),
                // `Completion::Closed` is the last of it.
                TlsEvent::Closed => {}
            }
        }
        if has_ended {
            self.ended(application);
        }
        true
    }

    /// What the proxy answers; then the way to the server begins.
    fn take_tunnel<K: Kernel>(&mut self, io: &mut Io<K>, bytes: &[u8]) {
        let Transport::Tunnel { stream, tunnel, then } = &mut self.transport else { return };
        let stream = *stream;
        let made = match tunnel.take(bytes) {
            Ok(false) => return,
            Err(fault) => Err(NetError::Proxy(fault)),
            Ok(true) => match then.take() {
                None => Ok(Transport::Plain { stream, is_held_up: false }),
                Some((config, name)) => {
                    let patience = io.now() + TLS_PATIENCE;
                    let deadline = self.connection.poll_timeout().unwrap_or(patience);
                    let tls = TlsStream::client(io, stream, &config, &name, deadline);
                    tls.map(|tls| Transport::Tls { tls: Box::new(tls), is_handshaken: false })
                }
            },
        };
        match made {
            Ok(transport) => self.transport = transport,
            Err(fault) => {
                self.fault = Some(fault);
                // A stale handle is closed already.
                let _ = io.close(stream);
            }
        }
    }

    /// The peer sends no more.
    fn ended(&mut self, application: &mut impl FnMut(&mut Outbox, WsEvent<'_>)) {
        self.peer_ended = true;
        if matches!(self.transport, Transport::Tunnel { .. }) {
            self.fault.get_or_insert(NetError::Proxy(ProxyFault::Ended));
        }
        tell(self.connection.handle_end(), application);
    }

    fn time_passed<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        application: &mut impl FnMut(&mut Outbox, WsEvent<'_>),
    ) {
        let now = io.now();
        if self.ending.is_some_and(|deadline| now >= deadline) {
            // A stale handle is closed already.
            let _ = io.close(self.stream());
            return;
        }
        if self.is_paused {
            // The silence is ours.
            self.connection.handle_bytes(now, &[]);
        }
        tell(self.connection.handle_timeout(now), application);
    }

    fn gone<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        reason: Option<IoError>,
        application: &mut impl FnMut(&mut Outbox, WsEvent<'_>),
    ) {
        if let Some((timer, _)) = self.timer.take() {
            io.cancel_timer(timer);
        }
        tell(self.connection.handle_end(), application);
        // Who gave way to another is counted by its listener.
        let is_fault = |why: &IoError| !matches!(why, IoError::Cancelled | IoError::Evicted);
        let reason = reason.filter(is_fault).map(NetError::Io);
        let fault = self.fault.take().or(reason);
        application(self.connection.outbox(), WsEvent::Gone(fault));
    }

    /// The connection is over: the stream ends, once everything has left, and a client's once the
    /// server has ended it.
    fn end<K: Kernel>(&mut self, io: &mut Io<K>) {
        let deadline = io.now() + self.connection.close_timeout();
        let deadline = *self.ending.get_or_insert(deadline);
        let is_drained = self.connection.poll_transmit().is_empty() || !self.transport.is_up();
        let waits = self.is_agreed && !self.connection.ends_first() && !self.peer_ended;
        if !self.is_shut && is_drained && !waits {
            self.is_shut = true;
            self.resume(io);
            self.transport.close(io, deadline);
        }
    }

    /// One timer is armed, not later than what is due; early ones look again.
    fn rearm<K: Kernel>(&mut self, io: &mut Io<K>) {
        let due = self.ending.or_else(|| self.connection.poll_timeout());
        let due = due.filter(|_| !self.is_shut);
        match (due, self.timer) {
            (Some(due), Some((_, at))) if at <= due => {}
            (due, timer) => {
                if let Some((timer, _)) = timer {
                    io.cancel_timer(timer);
                }
                // The timer that the stream was built with has left its room.
                self.timer = due.and_then(|due| Some((io.timer_at(due, MARK).ok()?, due)));
            }
        }
    }
}

/// Hands bytes to the connection and what comes of them to the application. Returns whether close
/// frames have gone both ways.
#[inline]
fn take(
    connection: &mut Connection,
    now: Nanos,
    bytes: &[u8],
    application: &mut impl FnMut(&mut Outbox, WsEvent<'_>),
) -> bool {
    let mut is_agreed = false;
    let mut rest = bytes;
    while !rest.is_empty() {
        let handled = connection.handle_bytes(now, rest);
        let consumed = handled.consumed;
        is_agreed |= matches!(handled.event, Some(Event::Closed(Closed::Agreed(_))));
        tell(handled, application);
        if connection.state() == State::Deciding {
            let (status, words) = UNANSWERED;
            // Without room for the answer it just ends.
            let _ = connection.outbox().refuse(status, &[], words);
        }
        rest = rest.get(consumed..).unwrap_or(&[]);
        if let Some(event) = connection.poll_event() {
            application(connection.outbox(), WsEvent::Session(event));
        }
    }
    is_agreed
}

#[inline]
fn tell(handled: Handled<'_>, application: &mut impl FnMut(&mut Outbox, WsEvent<'_>)) {
    if let Some(event) = handled.event {
        application(handled.outbox, WsEvent::Session(event));
    }
}
