//! The client's half of the opening handshake (RFC 6455, 4.1 and 4.2.1).

use alloc::string::String;

use crate::accept::{KEY_BYTES, is_key};
use crate::config::ClientRequest;
use crate::deflate::extension::{HEADER, Written};
use crate::deflate::settings::DeflateParameters;
use crate::error::HandshakeFault;
use crate::head::Head;

/// What a client asks for. The rules of 4.2.1 hold for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    head: Head<'a>,
    path: &'a str,
    host: &'a str,
    key: &'a str,
}

impl<'a> Request<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, HandshakeFault> {
        let head = Head::parse(bytes)?;
        let mut words = head.start_line().split(' ');
        let (method, path, version) = (words.next(), words.next(), words.next());
        if words.next().is_some() || version != Some("HTTP/1.1") {
            return Err(HandshakeFault::NotHttp);
        }
        if method != Some("GET") {
            return Err(HandshakeFault::Method);
        }
        // The target is a path, or a whole URL (4.2.1, item 1).
        let is_target = |path: &&str| path.starts_with('/') || path.contains("://");
        let path = path.filter(is_target).ok_or(HandshakeFault::Head)?;
        let host = head.once("Host").ok_or(HandshakeFault::Host)?;
        if !head.has_item("Upgrade", "websocket") {
            return Err(HandshakeFault::Upgrade);
        }
        if !head.has_item("Connection", "Upgrade") {
            return Err(HandshakeFault::Connection);
        }
        if head.once("Sec-WebSocket-Version") != Some("13") {
            return Err(HandshakeFault::Version);
        }
        let key = head.once("Sec-WebSocket-Key").filter(|key| is_key(key));
        let key = key.ok_or(HandshakeFault::Key)?;
        Ok(Self { head, path, host, key })
    }

    /// Path and query.
    #[must_use]
    pub const fn path(&self) -> &'a str {
        self.path
    }

    /// Where it believes it is.
    #[must_use]
    pub const fn host(&self) -> &'a str {
        self.host
    }

    /// The page that a browser runs it for: what a server that is open to browsers must look at
    /// (10.2).
    #[must_use]
    pub fn origin(&self) -> Option<&'a str> {
        self.head.once("Origin")
    }

    /// The value of a header that is there once.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.head.once(name)
    }

    /// All headers, as they came.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.head.headers()
    }

    /// The subprotocols that it offers, the best first.
    pub fn protocols(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.head.items("Sec-WebSocket-Protocol")
    }

    pub(crate) const fn key(&self) -> &'a str {
        self.key
    }

    pub(crate) const fn head(&self) -> &Head<'a> {
        &self.head
    }
}

/// The request as text. Built once, before the connection starts.
pub fn write(
    request: &ClientRequest,
    offers: &[DeflateParameters],
    key: &[u8; KEY_BYTES],
) -> String {
    let mut text = String::with_capacity(512);
    let mut put = |parts: &[&str]| parts.iter().for_each(|part| text.push_str(part));
    put(&["GET ", &request.path, " HTTP/1.1\r\nHost: ", &request.host]);
    put(&["\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "]);
    put(&[core::str::from_utf8(key).unwrap_or(""), "\r\nSec-WebSocket-Version: 13\r\n"]);
    for (at, protocol) in request.protocols.iter().enumerate() {
        put(&[if at == 0 { "Sec-WebSocket-Protocol: " } else { ", " }, protocol]);
    }
    if !request.protocols.is_empty() {
        put(&["\r\n"]);
    }
    for (at, offer) in offers.iter().enumerate() {
        put(&if at == 0 { [HEADER, ": "] } else { [", ", ""] });
        put(&Written::offer(offer).parts());
    }
    if !offers.is_empty() {
        put(&["\r\n"]);
    }
    for (name, value) in &request.headers {
        put(&[name, ": ", value, "\r\n"]);
    }
    put(&["\r\n"]);
    text
}
