//! A client's way to an open WebSocket: the name, a proxy, TLS, the opening handshake, and where
//! the server sends it instead.

use taut_io::{Completion, Io, Kernel};
use taut_sys::StreamOptions;
use taut_types::Nanos;
use taut_ws::{ClientRequest, Closed, Connection, Event, Outbox, Refused, Seed, WsConfig, WsUrl};

use crate::connect::{Connecting, Connector};
use crate::error::{NetError, RedirectFault};
use crate::proxy::Proxy;
use crate::target::Target;
use crate::tls::TlsClientConfig;
use crate::ws::{WsEvent, WsStream};

/// What a client dials.
#[derive(Clone, Debug)]
pub struct WsDial {
    /// `ws://` or `wss://`.
    pub url: String,
    /// What is asked for there: headers, subprotocols, compression.
    pub request: ClientRequest,
    /// The connection's limits.
    pub config: WsConfig,
    /// Whom it trusts, for `wss://`.
    pub tls: Option<TlsClientConfig>,
    /// The name that the server's certificate must be for, and that it is asked for (SNI), in the
    /// place of the URL's host. It does not go along where the server redirects.
    pub server_name: Option<String>,
    /// The proxy on the way.
    pub proxy: Option<Proxy>,
    /// So many redirections are followed (301, 302, 307, 308), none of them from `wss` to `ws`. The
    /// request's own headers stay behind on the way to another host.
    pub redirects_max: u8,
    /// How its streams are made.
    pub options: StreamOptions,
    /// By this time a WebSocket must have come about, everything included.
    pub patience: Nanos,
}

impl WsDial {
    /// What the URL names, directly, with the usual limits, ten seconds, and no redirections.
    ///
    /// # Errors
    /// [`NetError::MalformedTarget`]: it is no URL of a WebSocket.
    pub fn new(url: &str) -> Result<Self, NetError> {
        let parsed = WsUrl::parse(url).map_err(|_| NetError::MalformedTarget)?;
        target(&parsed)?;
        Ok(Self {
            url: url.to_owned(),
            request: ClientRequest::new(&parsed),
            config: WsConfig::default(),
            tls: None,
            server_name: None,
            proxy: None,
            redirects_max: 0,
            options: StreamOptions::default(),
            patience: Nanos::from_secs(10),
        })
    }
}

/// A connection, however far it is. Give it every completion.
#[derive(Debug)]
pub struct WsClient {
    dial: WsDial,
    /// Of `redirects_max`.
    redirects: u8,
    deadline: Nanos,
    /// Random bytes of who starts it; each connection masks with others.
    seed: [u8; 16],
    state: State,
}

#[derive(Debug)]
enum State {
    Connecting(Connector),
    Up(Box<WsStream>),
    /// Failed, or gone.
    Over,
}

impl WsClient {
    /// Starts to dial. The seed is sixteen secret bytes of the system's generator.
    ///
    /// # Errors
    /// When no attempt could be started at all; a URL that is none; `wss://` without roots.
    pub fn start<K: Kernel>(
        io: &mut Io<K>,
        dial: WsDial,
        seed: [u8; 16],
    ) -> Result<Self, NetError> {
        let deadline = io.now() + dial.patience;
        let connector = connector(io, &dial, deadline)?;
        Ok(Self { dial, redirects: 0, deadline, seed, state: State::Connecting(connector) })
    }

    /// Where it is, or tries to be: where the server sent it last.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.dial.url
    }

    /// Its WebSocket, once it has a stream.
    pub fn ws(&mut self) -> Option<&mut WsStream> {
        match &mut self.state {
            State::Up(ws) => Some(ws),
            _ => None,
        }
    }

    /// Whether nothing more will come.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Takes a completion; tells what the WebSocket says. False when it is another source's.
    ///
    /// # Errors
    /// No WebSocket came about, or it broke below: it is over.
    pub fn handle<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        completion: &Completion<'_>,
        application: &mut impl FnMut(&mut Outbox, Event<'_>),
    ) -> Result<bool, NetError> {
        match &mut self.state {
            State::Over => Ok(false),
            State::Connecting(connector) => match connector.handle(io, completion) {
                Connecting::NotMine => Ok(false),
                Connecting::Underway => Ok(true),
                Connecting::Failed(error) => self.fail(error),
                Connecting::Connected(stream) => match self.open(io, stream) {
                    Ok(ws) => {
                        self.state = State::Up(Box::new(ws));
                        Ok(true)
                    }
                    Err(error) => {
                        // A stale handle is closed already.
                        let _ = io.close(stream);
                        self.fail(error)
                    }
                },
            },
            State::Up(ws) => {
                let (mut gone, mut elsewhere) = (None, None);
                let follows = self.dial.redirects_max > 0;
                let is_ours = ws.handle(io, completion, &mut |outbox, event| match event {
                    WsEvent::Session(Event::Closed(Closed::Refused(refused)))
                        if follows && is_redirection(&refused) =>
                    {
                        elsewhere = refused.location.map(str::to_owned);
                    }
                    WsEvent::Session(event) => application(outbox, event),
                    WsEvent::Gone(fault) => gone = Some(fault),
                });
                if let Some(location) = elsewhere {
                    return self.follow(io, &location, gone.is_some());
                }
                match gone {
                    None => return Ok(is_ours),
                    Some(None) => self.state = State::Over,
                    Some(Some(fault)) => return self.fail(fault),
                }
                Ok(is_ours)
            }
        }
    }

    fn fail(&mut self, error: NetError) -> Result<bool, NetError> {
        self.state = State::Over;
        Err(error)
    }

    fn open<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        stream: taut_io::Handle,
    ) -> Result<WsStream, NetError> {
        let dial = &self.dial;
        let url = WsUrl::parse(&dial.url).map_err(|_| NetError::MalformedTarget)?;
        let handshake_timeout = (self.deadline - io.now()).max(Nanos(1));
        let config = WsConfig { handshake_timeout, ..dial.config };
        let mut seed = self.seed;
        for (place, byte) in seed.iter_mut().zip([self.redirects]) {
            *place ^= byte;
        }
        let connection = Connection::client(&config, &dial.request, Seed::new(seed), io.now());
        let connection = connection.map_err(|_| NetError::MalformedTarget)?;
        let name = dial.server_name.as_deref().unwrap_or(url.host());
        let tls = match (url.is_secure(), &dial.tls) {
            (false, _) => None,
            (true, Some(tls)) => Some((tls, name)),
            (true, None) => return Err(NetError::TlsConfig),
        };
        match &dial.proxy {
            None => WsStream::client(io, stream, tls, connection),
            Some(proxy) => {
                let tunnel = proxy.tunnel(url.host(), url.port());
                WsStream::client_through(io, stream, tunnel, tls, connection)
            }
        }
    }

    /// The server sends us to this place.
    fn follow<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        location: &str,
        is_gone: bool,
    ) -> Result<bool, NetError> {
        if let State::Up(ws) = core::mem::replace(&mut self.state, State::Over)
            && !is_gone
        {
            ws.abort(io);
        }
        self.redirect(location).map_err(NetError::Redirect)?;
        self.state = State::Connecting(connector(io, &self.dial, self.deadline)?);
        Ok(true)
    }

    fn redirect(&mut self, location: &str) -> Result<(), RedirectFault> {
        let limit = self.dial.redirects_max;
        if self.redirects >= limit {
            return Err(RedirectFault::TooMany { limit });
        }
        let from = WsUrl::parse(&self.dial.url).map_err(|_| RedirectFault::Location)?;
        let url = from.join(location).ok_or(RedirectFault::Location)?;
        let to = WsUrl::parse(&url).map_err(|_| RedirectFault::Location)?;
        if from.is_secure() && !to.is_secure() {
            return Err(RedirectFault::Downgrade);
        }
        if to.is_secure() && self.dial.tls.is_none() {
            return Err(RedirectFault::NoRoots);
        }
        self.dial.request = self.dial.request.redirected(&from, &to);
        if from.host() != to.host() {
            self.dial.server_name = None;
        }
        self.redirects += 1;
        self.dial.url = url;
        Ok(())
    }
}

const fn is_redirection(refused: &Refused<'_>) -> bool {
    matches!(refused.status, 301 | 302 | 307 | 308) && refused.location.is_some()
}

fn connector<K: Kernel>(
    io: &mut Io<K>,
    dial: &WsDial,
    deadline: Nanos,
) -> Result<Connector, NetError> {
    let url = WsUrl::parse(&dial.url).map_err(|_| NetError::MalformedTarget)?;
    if url.is_secure() && dial.tls.is_none() {
        return Err(NetError::TlsConfig);
    }
    let server = target(&url)?;
    let target = dial.proxy.as_ref().map_or(&server, Proxy::target);
    Connector::start(io, target, &dial.options, deadline)
}

fn target(url: &WsUrl<'_>) -> Result<Target, NetError> {
    let (host, port) = (url.host(), url.port());
    if host.contains(':') {
        return Target::parse(&format!("[{host}]:{port}"));
    }
    Target::parse(&format!("{host}:{port}"))
}
