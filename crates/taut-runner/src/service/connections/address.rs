//! From the text of an address to where it is: names are looked up, roots of trust are read.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, ToSocketAddrs};
use std::path::Path;

use taut_gateway::{StreamAddress, Through};
use taut_net::{TlsClientConfig, system_roots};
use taut_sys::tape::{self, Get, Heard, Put};
use taut_ws::WsUrl;

use crate::error::RunnerError;
use crate::service::proxy::ProxyKeys;

/// Where a name is, or the proxy on the way to it.
pub struct Found {
    pub first: SocketAddrV4,
    pub others: Vec<SocketAddrV4>,
    pub through: Option<Through>,
}

impl Found {
    /// A stream there; another address is tried with each attempt.
    pub fn stream(self, url: String) -> StreamAddress {
        let mut at = StreamAddress::new(SocketAddr::V4(self.first), url);
        at.others = self.others.into_iter().map(SocketAddr::V4).collect();
        at.through = self.through;
        at
    }
}

/// A WebSocket of a venue, ready to be connected to.
pub struct WebSocketAt {
    pub found: Found,
    pub url: String,
    pub tls: Option<TlsClientConfig>,
}

/// What is wrong with a URL.
pub fn url_mistake(key: &str, url: &str) -> Option<RunnerError> {
    let remedy = "a URL such as wss://HOST/PATH or ws://HOST:PORT/PATH";
    WsUrl::parse(url).is_err().then(|| RunnerError::setting(key, url, remedy))
}

/// The way to a venue's hosts.
#[derive(Clone, Copy)]
pub struct Way<'a> {
    /// Where the host is, in the place of where its name says.
    pub address: Option<SocketAddrV4>,
    /// Roots that its certificate is checked by; the system's where none are named.
    pub ca: Option<&'a Path>,
    pub proxy: Option<&'a ProxyKeys>,
}

impl Way<'_> {
    /// Looks up where `host:port` is, or the proxy; takes the address that it is said to be at.
    pub fn to(&self, key: &str, host: &str) -> Result<Found, RunnerError> {
        if let Some(proxy) = self.proxy {
            let (at, through) = proxy.through(host)?;
            return Ok(Found { through: Some(through), ..look_up("proxy.url", &at)? });
        }
        match self.address {
            Some(first) => Ok(Found { first, others: Vec::new(), through: None }),
            None => look_up(key, host),
        }
    }

    /// The same for the host of a URL.
    pub fn web_socket(&self, key: &str, url: &str) -> Result<WebSocketAt, RunnerError> {
        let Ok(parsed) = WsUrl::parse(url) else {
            return Err(RunnerError::setting(key, url, "a URL such as wss://HOST/PATH"));
        };
        let host = parsed.host();
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let found = self.to(key, &format!("{host}:{}", parsed.port()))?;
        let tls = if parsed.is_secure() { Some(trust(self.ca, &[b"http/1.1"])?) } else { None };
        Ok(WebSocketAt { found, url: url.to_owned(), tls })
    }
}

/// A name that a part of the venue is found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// `host:port`.
    pub host: String,
    pub served: Served,
}

/// What is at a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    Orders,
    /// Questions about orders, where another connection takes these.
    Questions,
    Stream,
    Snapshots,
}

impl Named {
    /// The host of a URL, where it has to be looked up: not with an address beside it.
    pub fn of_url(url: &str, address: Option<SocketAddrV4>, served: Served) -> Option<Self> {
        let parsed = WsUrl::parse(url).ok().filter(|_| address.is_none())?;
        Some(Self { host: format!("{}:{}", parsed.host(), parsed.port()), served })
    }
}

/// Where `host:port` is: one address at least.
pub fn addresses_of(key: &str, host: &str) -> Result<Vec<SocketAddrV4>, RunnerError> {
    let Found { first, others, .. } = look_up(key, host)?;
    Ok(std::iter::once(first).chain(others).collect())
}

/// Where `host:port` is.
fn look_up(key: &str, host: &str) -> Result<Found, RunnerError> {
    if tape::is_reading() {
        let get = |from: &mut Get<'_>| get_addresses(from);
        let all = tape::hear(Heard::Place, Vec::new, |_, _| (), get);
        let mut all = all.into_iter();
        let first = all.next().unwrap_or(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        return Ok(Found { first, others: all.collect(), through: None });
    }
    let found = find(key, host)?;
    let all: Vec<_> = std::iter::once(found.first).chain(found.others.iter().copied()).collect();
    tape::hear(Heard::Place, || (), |(), on| put_addresses(&all, on), |_| None);
    Ok(found)
}

/// Writes addresses down.
pub fn put_addresses(addresses: &[SocketAddrV4], on: &mut Put<'_>) {
    on.number(addresses.len() as u64);
    for address in addresses {
        on.bytes(&address.ip().octets());
        on.number(address.port().into());
    }
}

/// Reads what [`put_addresses`] wrote.
pub fn get_addresses(from: &mut Get<'_>) -> Option<Vec<SocketAddrV4>> {
    let count = from.number()?;
    let address = |from: &mut Get<'_>| {
        let ip: [u8; 4] = from.bytes()?.try_into().ok()?;
        Some(SocketAddrV4::new(ip.into(), u16::try_from(from.number()?).ok()?))
    };
    (0..count).map(|_| address(from)).collect()
}

fn find(key: &str, host: &str) -> Result<Found, RunnerError> {
    let failed = |why: &dyn std::fmt::Display| {
        RunnerError::Run(format!(
            "{key}: {host}: {why}; is the name right, and is there a network?"
        ))
    };
    let found = host.to_socket_addrs().map_err(|error| failed(&error))?;
    let mut v4 = found.filter_map(|address| match address {
        std::net::SocketAddr::V4(address) => Some(address),
        std::net::SocketAddr::V6(_) => None,
    });
    let first = v4.next().ok_or_else(|| failed(&"it has no IPv4 address"))?;
    Ok(Found { first, others: v4.collect(), through: None })
}

/// Whom a client trusts: the file of roots that is named, or the system's.
pub fn trust(ca: Option<&Path>, protocols: &[&[u8]]) -> Result<TlsClientConfig, RunnerError> {
    if tape::is_reading() {
        // There is no session, and nobody to be trusted.
        let nobody = TlsClientConfig::trusting_nobody();
        return nobody.map_err(|error| RunnerError::run("TLS", error));
    }
    let path = ca.map_or_else(|| system_roots().map(Path::to_path_buf), |ca| Some(ca.to_owned()));
    let path = path.ok_or_else(|| {
        let text = "this system has no bundle of trusted roots where others have it; name one with \
                    `ca`";
        RunnerError::Settings(text.to_owned())
    })?;
    let named = |why: &dyn std::fmt::Display| {
        RunnerError::Settings(format!("ca: {}: {why}", path.display()))
    };
    let roots = std::fs::read(&path).map_err(|error| named(&error))?;
    TlsClientConfig::new(&roots, protocols).map_err(|error| named(&error))
}
