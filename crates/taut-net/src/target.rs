//! Where to connect to, as a user writes it.

use std::fmt;
use std::net::SocketAddr;

use taut_sys::Address;

use crate::error::NetError;

/// A place to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An address: nothing has to be looked up.
    Address(Address),
    /// A name to look up.
    Name {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
}

impl Target {
    /// Reads `host:port`, `1.2.3.4:port`, `[::1]:port`, `unix:/path` or `unix:@abstract`.
    ///
    /// # Errors
    /// [`NetError::MalformedTarget`]; a path that is too long.
    pub fn parse(text: &str) -> Result<Self, NetError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" | "@" => Err(NetError::MalformedTarget),
                path => Ok(Self::Address(Address::unix(path)?)),
            };
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self::Address(Address::Inet(address)));
        }
        let (host, port) = text.rsplit_once(':').ok_or(NetError::MalformedTarget)?;
        let port = port.parse().map_err(|_| NetError::MalformedTarget)?;
        // A colon or a bracket left in the host is an IPv6 address that did not parse.
        if host.is_empty() || host.contains([':', '[', ']', '/', ' ']) {
            return Err(NetError::MalformedTarget);
        }
        Ok(Self::Name { host: host.to_owned(), port })
    }
}

impl From<Address> for Target {
    fn from(address: Address) -> Self {
        Self::Address(address)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(Address::Unix(name)) => {
                write!(f, "unix:{}", String::from_utf8_lossy(name.as_bytes()))
            }
            Self::Address(address) => address.fmt(f),
            Self::Name { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_target_reads_back_as_it_was_written() {
        for text in ["10.1.2.3:80", "[::1]:443", "unix:/run/x", "unix:@x", "venue.example:9001"] {
            assert_eq!(Target::parse(text).expect(text).to_string(), text);
        }
    }

    #[test]
    fn refuses_what_is_no_target() {
        for text in
            ["", "host", ":80", "host:", "host:65536", "::1:80", "[::1:80", "unix:", "a b:1"]
        {
            assert_eq!(Target::parse(text), Err(NetError::MalformedTarget), "{text}");
        }
        assert!(Target::parse(&format!("unix:/{}", "x".repeat(200))).is_err());
    }
}
