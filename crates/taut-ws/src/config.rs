//! What a connection is told before it starts.

use alloc::string::String;
use alloc::vec::Vec;

use taut_types::Nanos;

use crate::deflate::settings::{Deflate, DeflateParameters};
use crate::error::{Misuse, WsError};
use crate::head::{is_token, is_value};
use crate::url::WsUrl;

/// Which side we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Asks, and masks what it sends.
    Client,
    /// Answers.
    Server,
}

/// Limits and times of a connection. Before the handshake it has memory for the peer's HTTP head,
/// and some KiB; that of messages is taken as they fill it, up to these limits, and given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WsConfig {
    /// The longest message that is accepted; a longer one closes with 1009.
    pub message_bytes_max: usize,
    /// The most fragments of one message, which may be empty: what a message may cost us in frames.
    pub fragments_max: u32,
    /// What may wait to be sent, frame headers included.
    pub send_bytes_max: usize,
    /// The longest HTTP head of the peer.
    pub head_bytes_max: usize,
    /// From the connection's start to the end of its opening handshake.
    pub handshake_timeout: Nanos,
    /// From our close frame to the peer's.
    pub close_timeout: Nanos,
    /// Without it, a peer that is gone is noticed only when the transport notices it.
    pub keep_alive: Option<KeepAlive>,
    /// Compression (RFC 7692), where the peer agrees.
    pub deflate: Option<Deflate>,
}

/// When to ask whether the peer is there, and when to give it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// From one of our pings to the next.
    pub interval: Nanos,
    /// How long nothing may come.
    pub timeout: Nanos,
}

impl KeepAlive {
    /// A ping every ten seconds, and thirty of silence.
    pub const DEFAULT: Self =
        Self { interval: Nanos::from_secs(10), timeout: Nanos::from_secs(30) };
}

impl Default for WsConfig {
    fn default() -> Self {
        Self {
            message_bytes_max: 1 << 20,
            fragments_max: 1 << 20,
            send_bytes_max: 1 << 16,
            head_bytes_max: 8 << 10,
            handshake_timeout: Nanos::from_secs(10),
            close_timeout: Nanos::from_secs(5),
            keep_alive: Some(KeepAlive::DEFAULT),
            deflate: None,
        }
    }
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRequest {
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) protocols: Vec<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) deflate: Vec<DeflateParameters>,
}

/// Headers that the handshake writes itself.
const OURS: [&str; 7] = [
    "host",
    "upgrade",
    "connection",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
];

impl ClientRequest {
    /// Asks for what the URL names.
    #[must_use]
    pub fn new(url: &WsUrl<'_>) -> Self {
        Self {
            host: String::from(url.authority()),
            path: url.path(),
            protocols: Vec::new(),
            headers: Vec::new(),
            deflate: Vec::new(),
        }
    }

    /// Offers a subprotocol, the best first.
    ///
    /// # Errors
    /// It is no token (RFC 9110, 5.6.2).
    pub fn protocol(mut self, name: &str) -> Result<Self, WsError> {
        if !is_token(name) {
            return Err(WsError::Misuse(Misuse::HeaderText));
        }
        self.protocols.push(String::from(name));
        Ok(self)
    }

    /// Offers compression with these parameters before those of [`WsConfig::deflate`], which are
    /// what it falls back on; the best first.
    ///
    /// # Errors
    /// A window that is not 8 to 15 bits.
    pub fn deflate(mut self, offer: DeflateParameters) -> Result<Self, WsError> {
        offer.check()?;
        self.deflate.push(offer);
        Ok(self)
    }

    /// The same at the place that a server sends us to. Headers do not go along to another host or
    /// port, for any of them may be a key (RFC 9110, 15.4); from 80 to 443 of one host they do.
    #[must_use]
    pub fn redirected(&self, from: &WsUrl<'_>, to: &WsUrl<'_>) -> Self {
        let is_secured = (from.port(), to.port()) == (80, 443) && to.is_secure();
        let is_same =
            from.host().eq_ignore_ascii_case(to.host()) && (from.port() == to.port() || is_secured);
        let headers = if is_same { self.headers.clone() } else { Vec::new() };
        let (host, path) = (String::from(to.authority()), to.path());
        Self {
            host,
            path,
            headers,
            protocols: self.protocols.clone(),
            deflate: self.deflate.clone(),
        }
    }

    /// Adds a header: `Origin`, `Authorization`, whatever a venue asks for.
    ///
    /// # Errors
    /// The name is no token or one that the handshake writes itself; the value has control
    /// characters.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, WsError> {
        let is_ours = OURS.iter().any(|ours| ours.eq_ignore_ascii_case(name));
        if is_ours || !is_token(name) || !is_value(value) {
            return Err(WsError::Misuse(Misuse::HeaderText));
        }
        self.headers.push((String::from(name), String::from(value)));
        Ok(self)
    }
}
