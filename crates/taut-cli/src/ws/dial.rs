//! A client's way to an open WebSocket: name, stream, TLS, opening handshake.

use std::path::{Path, PathBuf};

use clap::Args;
use taut_io::{Completion, Io, Kernel};
use taut_net::{Connecting, Connector, Target, TlsClientConfig, WsEvent, WsStream, system_roots};
use taut_sys::StreamOptions;
use taut_types::Nanos;
use taut_ws::{ClientRequest, Connection, Outbox, Seed, WsConfig, WsUrl};

use crate::exit::Failure;
use crate::input::read;

/// A connection, the one before it, and the names that are looked up.
pub const SOURCES: usize = 8;

/// What every client tool takes.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Roots to trust for wss://, in PEM; the system's unless told otherwise.
    #[arg(long, value_name = "FILE")]
    pub tls_roots: Option<PathBuf>,
    /// Give up after so many seconds when no WebSocket has come about.
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub patience: u32,
    /// The longest message that is taken.
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20,
          value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    pub message_bytes: u32,
}

impl Options {
    /// The connection's limits.
    pub fn config(&self) -> WsConfig {
        let message_bytes_max = self.message_bytes as usize;
        WsConfig {
            message_bytes_max,
            send_bytes_max: message_bytes_max + (1 << 20),
            handshake_timeout: self.patience(),
            ..WsConfig::default()
        }
    }

    fn patience(&self) -> Nanos {
        Nanos::from_secs(i64::from(self.patience))
    }
}

/// What a client dials: everything that can be wrong with it is found before anything starts.
pub struct Dial {
    name: String,
    target: Target,
    tls: Option<(TlsClientConfig, String)>,
    request: ClientRequest,
    config: WsConfig,
    patience: Nanos,
}

impl Dial {
    /// Reads a URL, with headers as `Name: value`.
    pub fn new(url: &str, headers: &[String], options: &Options) -> Result<Self, Failure> {
        let parsed = WsUrl::parse(url).map_err(|error| {
            let form = "a URL is ws://HOST[:PORT][/PATH], or wss://";
            Failure::Usage(format!("{url}: {error}; {form}"))
        })?;
        let mut request = ClientRequest::new(&parsed);
        for header in headers {
            let usage = |words: &str| Failure::Usage(format!("--header {header:?}: {words}"));
            let (name, value) =
                header.split_once(':').ok_or_else(|| usage("the form is 'Name: value'"))?;
            request = request.header(name.trim(), value.trim()).map_err(|_| {
                usage("the handshake writes it itself, or it has characters that no header has")
            })?;
        }
        let host = parsed.host();
        let is_v6 = host.contains(':');
        let address = if is_v6 { format!("[{host}]") } else { host.to_owned() };
        let target = Target::parse(&format!("{address}:{}", parsed.port()))
            .map_err(|error| Failure::Usage(format!("{url}: {error}")))?;
        let tls = match parsed.is_secure() {
            false => None,
            true => Some((roots(options.tls_roots.as_deref())?, host.to_owned())),
        };
        let (config, patience) = (options.config(), options.patience());
        Ok(Self { name: url.to_owned(), target, tls, request, config, patience })
    }

    /// As it was written.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn roots(path: Option<&Path>) -> Result<TlsClientConfig, Failure> {
    let path = match path {
        Some(path) => path,
        None => system_roots().ok_or_else(|| {
            let text = "this system has no bundle of roots where others have it; give --tls-roots";
            Failure::Usage(String::from(text))
        })?,
    };
    TlsClientConfig::new(&read(path)?, &[b"http/1.1"])
        .map_err(|error| Failure::in_file(path, error))
}

/// A client's connection, however far it is.
pub enum Client {
    /// Until then it must stand, handshakes included.
    Connecting(Connector, Nanos),
    Up(Box<WsStream>),
    /// Failed, or gone.
    Over,
}

impl Client {
    /// Starts to dial.
    pub fn start<K: Kernel>(io: &mut Io<K>, dial: &Dial) -> Result<Self, Failure> {
        let deadline = io.now() + dial.patience;
        let connector = Connector::start(io, &dial.target, &StreamOptions::default(), deadline);
        let connector = connector.map_err(|error| cannot_connect(dial, error))?;
        Ok(Self::Connecting(connector, deadline))
    }

    /// Takes a completion; tells what the open connection says. `Err` when none came about, or it
    /// broke below the WebSocket.
    pub fn handle<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        dial: &Dial,
        completion: &Completion<'_>,
        application: &mut impl FnMut(&mut Outbox, taut_ws::Event<'_>),
    ) -> Result<(), Failure> {
        match self {
            Self::Over => Ok(()),
            Self::Connecting(connector, deadline) => match connector.handle(io, completion) {
                Connecting::Connected(stream) => {
                    let mut seed = [0; 16];
                    taut_sys::random_bytes(&mut seed)
                        .map_err(|error| Failure::run("random numbers", error))?;
                    let seed = Seed::new(seed);
                    let handshake_timeout = (*deadline - io.now()).max(Nanos(1));
                    let config = WsConfig { handshake_timeout, ..dial.config };
                    let made = Connection::client(&config, &dial.request, seed, io.now());
                    let connection = made.map_err(|error| Failure::run(&dial.name, error))?;
                    let tls = dial.tls.as_ref().map(|(config, name)| (config, name.as_str()));
                    let ws = WsStream::client(io, stream, tls, connection);
                    *self = Self::Up(Box::new(ws.map_err(|error| cannot_connect(dial, error))?));
                    Ok(())
                }
                Connecting::Failed(error) => {
                    *self = Self::Over;
                    Err(cannot_connect(dial, error))
                }
                Connecting::Underway | Connecting::NotMine => Ok(()),
            },
            Self::Up(ws) => {
                let mut gone = None;
                ws.handle(io, completion, &mut |outbox, event| match event {
                    WsEvent::Session(event) => application(outbox, event),
                    WsEvent::Gone(fault) => gone = Some(fault),
                });
                match gone {
                    None => Ok(()),
                    Some(fault) => {
                        *self = Self::Over;
                        fault.map_or(Ok(()), |fault| Err(cannot_connect(dial, fault)))
                    }
                }
            }
        }
    }

    /// The open connection.
    pub fn ws(&mut self) -> Option<&mut WsStream> {
        match self {
            Self::Up(ws) => Some(ws),
            _ => None,
        }
    }

    /// Whether nothing more will come.
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Over)
    }
}

fn cannot_connect(dial: &Dial, error: taut_net::NetError) -> Failure {
    let remedy = match error {
        taut_net::NetError::Certificate(fault) => {
            let name = dial.tls.as_ref().map_or("", |(_, name)| name);
            format!("; {}", fault.remedy("--tls-roots", name))
        }
        taut_net::NetError::UnknownName => "; check the host's name".to_owned(),
        _ => String::new(),
    };
    Failure::run(&dial.name, format!("{error}{remedy}"))
}
