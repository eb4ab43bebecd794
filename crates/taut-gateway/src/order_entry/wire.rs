//! What stands between the loop's stream and the handler's bytes: nothing, TLS, or a WebSocket;
//! before each of them, a proxy that is asked for the way.

use taut_io::{Completion, Handle, Io, Kernel};
use taut_net::{NetError, ProxyFault, TlsEvent, TlsStream, WsEvent, WsStream};
use taut_sys::random_bytes;
use taut_types::Nanos;
use taut_ws::{ClientRequest, Connection, Event, KeepAlive, Seed, WsConfig, WsUrl};

pub use super::tunnel::Gone;
use super::tunnel::{Asked, Asking};
use crate::config::Transport;
use crate::ended::wait_after;
use crate::through::Through;

/// How long TLS may take to begin; a WebSocket has a time of its own.
const HANDSHAKE_TIME: Nanos = Nanos::from_secs(5);
/// The longest message of a venue: a list of all orders.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// One connection.
#[derive(Debug)]
pub enum Wire {
    /// The loop's stream as it is.
    Plain,
    Tls(Box<TlsStream>),
    WebSocket(Box<WsStream>),
    /// A proxy has not answered yet.
    Tunnel(Box<Asking>),
}

/// What a completion came to, once it is out of its wrapping.
#[derive(Debug, Default)]
pub struct Unwrapped {
    /// Bytes can be sent from now on.
    pub is_open: bool,
    /// The connection is over.
    pub is_gone: bool,
    /// It is the session's second connection.
    pub is_beside: bool,
    /// How long to wait at the least before the next attempt, as the end of the connection says.
    pub wait_min: Nanos,
    /// Why there is no way through the proxy.
    pub fault: Option<ProxyFault>,
    bytes: Vec<u8>,
    /// Where each piece ends: a message, or bytes of a stream.
    ends: Vec<usize>,
}

impl Unwrapped {
    /// Messages, or bytes of a stream, as they came.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends
            .iter()
            .filter_map(move |&end| self.bytes.get(std::mem::replace(&mut start, end)..end))
    }

    fn clear(&mut self) {
        (self.is_open, self.is_gone, self.is_beside) = (false, false, false);
        (self.wait_min, self.fault) = (Nanos::ZERO, None);
        self.bytes.clear();
        self.ends.clear();
    }

    pub fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        self.ends.push(self.bytes.len());
    }
}

impl Wire {
    /// What the settings ask for, on a stream that is connected.
    pub fn open(
        io: &mut Io<impl Kernel>,
        stream: Handle,
        transport: &Transport,
        through: Option<&Through>,
    ) -> Result<Self, Gone> {
        let is_web_socket = matches!(transport, Transport::WebSocket { .. });
        if let Some(through) = through.filter(|_| !is_web_socket) {
            let asking = Asking::start(io, stream, through, transport)?;
            return Ok(Self::Tunnel(Box::new(asking)));
        }
        match transport {
            Transport::Plain | Transport::Http { tls: None } => Ok(Self::Plain),
            Transport::Tls { config, name } | Transport::Http { tls: Some((config, name)) } => {
                let deadline = io.now() + HANDSHAKE_TIME;
                let tls = TlsStream::client(io, stream, config, name, deadline);
                tls.map(|tls| Self::Tls(Box::new(tls))).map_err(|_| Gone)
            }
            Transport::WebSocket { url, tls } => {
                let url = WsUrl::parse(url).map_err(|_| Gone)?;
                let settings = WsConfig {
                    message_bytes_max: MESSAGE_BYTES_MAX,
                    keep_alive: Some(KeepAlive::DEFAULT),
                    ..WsConfig::default()
                };
                let mut seed = [0; 16];
                random_bytes(&mut seed).map_err(|_| Gone)?;
                let request = ClientRequest::new(&url);
                let connection = Connection::client(&settings, &request, Seed::new(seed), io.now());
                let tls = tls.as_ref().map(|tls| (tls, url.host()));
                let connection = connection.map_err(|_| Gone)?;
                let ws = match through.map(Through::tunnel) {
                    None => WsStream::client(io, stream, tls, connection),
                    Some(tunnel) => WsStream::client_through(io, stream, tunnel, tls, connection),
                };
                ws.map(|ws| Self::WebSocket(Box::new(ws))).map_err(|_| Gone)
            }
        }
    }

    /// Whether the loop's stream brings the handler's bytes as they are.
    #[inline]
    pub const fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Takes a completion out of its wrapping; whether it was one of this connection's.
    pub fn take(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
        into: &mut Unwrapped,
    ) -> bool {
        into.clear();
        match self {
            Self::Plain => false,
            Self::Tls(tls) => {
                let is_taken = tls.handle(io, completion);
                while let Some(event) = tls.poll_event() {
                    match event {
                        TlsEvent::Handshaken => into.is_open = true,
                        TlsEvent::Received(bytes) => into.push(bytes),
                        _ => into.is_gone = true,
                    }
                }
                is_taken
            }
            Self::WebSocket(ws) => ws.handle(io, completion, &mut |_, event| match event {
                WsEvent::Session(Event::Opened(_)) => into.is_open = true,
                WsEvent::Session(Event::Text(text)) => into.push(text.as_bytes()),
                WsEvent::Session(Event::Binary(bytes)) => into.push(bytes),
                WsEvent::Session(Event::Closed(closed)) => {
                    (into.is_gone, into.wait_min) = (true, wait_after(&closed));
                }
                WsEvent::Gone(fault) => {
                    into.is_gone = true;
                    if let Some(NetError::Proxy(fault)) = fault {
                        into.fault = Some(fault);
                    }
                }
                WsEvent::Session(_) => {}
            }),
            Self::Tunnel(asking) => {
                match asking.take(io, completion) {
                    Asked::NotOurs => return false,
                    Asked::Waits => {}
                    Asked::Refused(fault) => (into.is_gone, into.fault) = (true, fault),
                    Asked::Stands(stream, transport) => {
                        match Self::open(io, stream, &transport, None) {
                            Ok(wire) => {
                                // What has nothing to agree on with the venue is open now.
                                into.is_open = wire.is_plain();
                                *self = wire;
                            }
                            Err(Gone) => into.is_gone = true,
                        }
                    }
                }
                true
            }
        }
    }

    /// Sends bytes, or one message, on a connection that is wrapped.
    pub fn write(&mut self, io: &mut Io<impl Kernel>, bytes: &[u8]) -> Result<(), Gone> {
        match self {
            Self::Plain | Self::Tunnel(_) => Err(Gone),
            Self::Tls(tls) => tls.write(io, bytes).map_err(|_| Gone),
            Self::WebSocket(ws) => {
                let text = std::str::from_utf8(bytes).map_err(|_| Gone)?;
                ws.outbox().text(text).map_err(|_| Gone)?;
                ws.flush(io);
                Ok(())
            }
        }
    }

    /// Closes it: what waits is dropped, and nothing more is told of it.
    pub fn close(self, io: &mut Io<impl Kernel>, stream: Handle) {
        if let Self::WebSocket(ws) = self {
            ws.abort(io);
        }
        // One that is closed already is stale.
        let _ = io.close(stream);
    }
}

#[cfg(test)]
mod tests {
    use taut_io::{Admission, EventLoop, LoopConfig, SimConfig, SimKernel, WaitStrategy};
    use taut_net::Proxy;
    use taut_sys::{Address, StreamOptions};

    use super::*;
    use crate::order_entry::tunnel::{PATIENCE, no_way};

    /// What came of asking a proxy that answers so, or not at all: whether bytes pass, why not, and
    /// what the venue behind it was sent.
    fn ask(answer: Option<&str>) -> (bool, Option<String>, Vec<u8>) {
        let kernel = SimKernel::new(8, SimConfig::default());
        let mut events = EventLoop::new(kernel, LoopConfig::default()).expect("a loop");
        let io = events.io();
        let (any, options) = (Address::Inet(([127, 0, 0, 1], 0).into()), StreamOptions::default());
        let listener = io.listen(&any, &options, &Admission::OPEN).expect("a listener");
        let at = io.local_address(listener).expect("an address");
        let stream = io.connect(&at, &options, None).expect("an attempt");
        let proxy = Proxy::parse("http://proxy.test").expect("a proxy");
        let through = Through { proxy, host: "venue.test".to_owned(), port: 9000 };
        let (mut wire, mut far, mut asked) = (Wire::Plain, None, Vec::new());
        let (mut is_open, mut said, mut arrived) = (false, None, Vec::new());
        let mut unwrapped = Unwrapped::default();
        let mut handler = |io: &mut Io<SimKernel>, completion: Completion<'_>| match completion {
            Completion::Accepted { stream, .. } => {
                far = Some(stream);
                io.receive(stream).expect("a stream");
            }
            Completion::Connected { .. } => {
                let transport = Transport::Plain;
                wire = Wire::open(io, stream, &transport, Some(&through)).expect("room");
                assert!(!wire.is_plain() && wire.write(io, b"too early").is_err());
            }
            Completion::Received { stream: source, bytes } if Some(source) == far => {
                if asked.ends_with(b"\r\n\r\n") {
                    return arrived.extend_from_slice(bytes);
                }
                asked.extend_from_slice(bytes);
                if !asked.ends_with(b"\r\n\r\n") {
                    return;
                }
                assert!(asked.starts_with(b"CONNECT venue.test:9000 HTTP/1.1\r\n"));
                // In two pieces.
                let (first, rest) = answer.unwrap_or_default().split_at(answer.map_or(0, |_| 9));
                io.write(source, first.as_bytes(), None).expect("room");
                io.write(source, rest.as_bytes(), None).expect("room");
            }
            completion => {
                if wire.take(io, &completion, &mut unwrapped) {
                    if unwrapped.is_open {
                        is_open = true;
                        io.write(stream, b"8=FIX.4.4", None).expect("room");
                    }
                    if unwrapped.is_gone {
                        let fault = unwrapped.fault.map(no_way);
                        said = said.take().or(fault).or(Some(String::new()));
                    }
                }
            }
        };
        let span = PATIENCE + Nanos::from_secs(1);
        events.run_for(&mut handler, WaitStrategy::Block, span).expect("virtual time passes");
        (is_open, said, arrived)
    }

    #[test]
    fn bytes_pass_once_the_proxy_has_said_that_the_tunnel_stands() {
        let (is_open, said, arrived) = ask(Some("HTTP/1.1 200 OK\r\nVia: x\r\n\r\n"));
        assert_eq!((is_open, said, arrived.as_slice()), (true, None, &b"8=FIX.4.4"[..]));
    }

    #[test]
    fn a_proxy_that_refuses_or_says_nothing_is_no_way() {
        let (is_open, said, arrived) = ask(Some("HTTP/1.1 403 Forbidden\r\n\r\n"));
        assert!(!is_open && arrived.is_empty());
        assert!(said.as_ref().is_some_and(|said| said.contains("403")), "{said:?}");
        assert_eq!(ask(None), (false, Some(String::new()), Vec::new()), "given up in time");
    }
}
