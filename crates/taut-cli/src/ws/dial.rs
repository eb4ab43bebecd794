//! What the client tools take of their arguments: a URL, and the way to it.

use std::path::{Path, PathBuf};

use clap::Args;
use taut_io::{Io, Kernel};
use taut_net::{NetError, Proxy, ProxyFault, TlsClientConfig, WsClient, WsDial, system_roots};
use taut_runner::service::SecretSource;
use taut_types::Nanos;
use taut_ws::{ClientRequest, Deflate, WsConfig, WsUrl};

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
    /// The name that the server is asked for (SNI) and that its certificate must be for; the URL's
    /// host unless told otherwise.
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// An HTTP proxy on the way, as http://HOST[:PORT].
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,
    /// Where `USER:PASSWORD` for the proxy is: file:PATH (mode 0600) or env:NAME.
    #[arg(long, value_name = "SOURCE", requires = "proxy")]
    pub proxy_user: Option<String>,
    /// Offer compression (permessage-deflate).
    #[arg(long)]
    pub compress: bool,
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
    fn config(&self) -> WsConfig {
        let message_bytes_max = self.message_bytes as usize;
        WsConfig {
            message_bytes_max,
            send_bytes_max: message_bytes_max + (1 << 20),
            handshake_timeout: self.patience(),
            deflate: self.compress.then(Deflate::default),
            ..WsConfig::default()
        }
    }

    fn patience(&self) -> Nanos {
        Nanos::from_secs(i64::from(self.patience))
    }

    fn proxy(&self) -> Result<Option<Proxy>, Failure> {
        let Some(url) = &self.proxy else { return Ok(None) };
        let usage = |error: NetError| Failure::Usage(format!("--proxy {url}: {error}"));
        let proxy = Proxy::parse(url).map_err(usage)?;
        let Some(source) = &self.proxy_user else { return Ok(Some(proxy)) };
        // What is wrong is not repeated: it may be the secret itself.
        let wrong = |words: &str| Failure::Usage(format!("--proxy-user: {words}"));
        let source = SecretSource::parse(source)
            .ok_or_else(|| wrong("file:PATH or env:NAME, where USER:PASSWORD is"))?;
        let secret = source.reveal().map_err(|words| wrong(&words))?;
        let (user, password) = secret
            .split_once(':')
            .ok_or_else(|| wrong("what is there has no colon; it must be USER:PASSWORD"))?;
        proxy.with_user(user, password).map(Some).map_err(|error| wrong(&error.to_string()))
    }
}

/// What beside the usual a request says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// As `Name: value`.
    pub headers: &'a [String],
    /// Subprotocols, the best first.
    pub protocols: &'a [String],
    /// So many redirections are followed.
    pub redirects_max: u8,
}

/// What is dialled: everything that can be wrong with it is found before anything starts.
pub struct Dial(WsDial);

impl Dial {
    /// Reads a URL and what goes with it.
    pub fn new(url: &str, asked: &Asked<'_>, options: &Options) -> Result<Self, Failure> {
        let parsed = WsUrl::parse(url).map_err(|error| {
            let form = "a URL is ws://HOST[:PORT][/PATH], or wss://";
            Failure::Usage(format!("{url}: {error}; {form}"))
        })?;
        let mut request = ClientRequest::new(&parsed);
        for header in asked.headers {
            let usage = |words: &str| Failure::Usage(format!("--header {header:?}: {words}"));
            let (name, value) =
                header.split_once(':').ok_or_else(|| usage("the form is 'Name: value'"))?;
            request = request.header(name.trim(), value.trim()).map_err(|_| {
                usage("the handshake writes it itself, or it has characters that no header has")
            })?;
        }
        for protocol in asked.protocols {
            request = request.protocol(protocol).map_err(|_| {
                let words = "letters, digits and !#$%&'*+-.^_`|~, one at the least";
                Failure::Usage(format!("--protocol {protocol:?}: {words}"))
            })?;
        }
        let dial = WsDial::new(url).map_err(|error| Failure::Usage(format!("{url}: {error}")))?;
        let tls = match (parsed.is_secure(), asked.redirects_max) {
            (true, _) => Some(roots(options.tls_roots.as_deref())?),
            // The server may send us to wss://, which needs them then.
            (false, 1..) => roots(options.tls_roots.as_deref()).ok(),
            (false, 0) => None,
        };
        Ok(Self(WsDial {
            request,
            config: options.config(),
            tls,
            server_name: options.server_name.clone(),
            proxy: options.proxy()?,
            redirects_max: asked.redirects_max,
            patience: options.patience(),
            ..dial
        }))
    }

    /// As it was written.
    pub fn name(&self) -> &str {
        &self.0.url
    }

    /// Starts to dial.
    pub fn start<K: Kernel>(&self, io: &mut Io<K>) -> Result<WsClient, Failure> {
        let mut seed = [0; 16];
        taut_sys::random_bytes(&mut seed).map_err(|error| Failure::run("random numbers", error))?;
        WsClient::start(io, self.0.clone(), seed).map_err(|error| self.failure(error))
    }

    /// Why no WebSocket came about, or how it broke.
    pub fn failure(&self, error: NetError) -> Failure {
        let dial = &self.0;
        let remedy = match error {
            NetError::Certificate(fault) => {
                let url = WsUrl::parse(&dial.url);
                let host = url.as_ref().map_or("", WsUrl::host);
                let name = dial.server_name.as_deref().unwrap_or(host);
                format!("; {}", fault.remedy("--tls-roots", name))
            }
            NetError::UnknownName if dial.proxy.is_some() => {
                "; check the name of the proxy's host".to_owned()
            }
            NetError::UnknownName => "; check the host's name".to_owned(),
            NetError::Proxy(ProxyFault::Refused(407)) => " (--proxy-user)".to_owned(),
            NetError::Redirect(_) => "; --redirects says how many are followed".to_owned(),
            _ => String::new(),
        };
        let through = match &dial.proxy {
            Some(proxy) => format!("{} through {proxy}", dial.url),
            None => dial.url.clone(),
        };
        Failure::run(&through, format!("{error}{remedy}"))
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
