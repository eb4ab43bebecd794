//! A host and a port, by name or address.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// A host and a port: `127.0.0.1:4000`, `[::1]:4000`, `localhost:4000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    host: String,
    port: u16,
}

pub(crate) const ENDPOINT: &str = "HOST:PORT, such as 127.0.0.1:4000 or [::1]:4000";

impl Endpoint {
    /// Reads `HOST:PORT`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.bytes().all(|byte| byte.is_ascii_digit()).then(|| port.parse().ok())??;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let sound = match bare {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                let letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
                !host.is_empty() && host.bytes().all(letter)
            }
        };
        sound.then(|| Self { host: bare.unwrap_or(host).to_owned(), port })
    }

    /// The host, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The address, if the host is one; a name needs [`Endpoint::resolve`].
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        let address: IpAddr = self.host.parse().ok()?;
        Some(SocketAddr::new(address, self.port))
    }

    /// Whether it is a multicast group.
    #[must_use]
    pub fn is_multicast(&self) -> bool {
        self.address().is_some_and(|address| address.ip().is_multicast())
    }

    /// The address, of a name the first one. Blocks while it asks the resolver.
    ///
    /// # Errors
    /// What the resolver says.
    pub fn resolve(&self) -> std::io::Result<SocketAddr> {
        if let Some(address) = self.address() {
            return Ok(address);
        }
        let mut found = (self.host.as_str(), self.port).to_socket_addrs()?;
        found.next().ok_or_else(|| std::io::Error::other("the name has no address"))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Some(address) => address.fmt(f),
            None => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn reads_names_and_addresses_and_refuses_the_rest() {
        for text in ["127.0.0.1:0", "[::1]:65535", "localhost:4000", "a-b.c_d:1"] {
            assert_eq!(Endpoint::parse(text).expect(text).to_string(), text);
        }
        for text in ["", ":1", "host", "host:", "host:65536", "host:+1", "::1:1", "[x]:1", "a b:1"]
        {
            assert_eq!(Endpoint::parse(text), None, "{text}");
        }
        assert!(Endpoint::parse("239.1.1.1:1").is_some_and(|group| group.is_multicast()));
    }
}
