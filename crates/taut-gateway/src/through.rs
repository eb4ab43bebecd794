//! A proxy on the way to the venue.

use taut_net::{Proxy, Tunnel};

/// An HTTP proxy on the way to the venue: the addresses beside it are the proxy's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Through {
    /// The proxy, and who we are to it.
    pub proxy: Proxy,
    /// The host that it is asked for a tunnel to, by name or address.
    pub host: String,
    /// The port there.
    pub port: u16,
}

impl Through {
    /// The tunnel to the venue.
    pub(crate) fn tunnel(&self) -> Tunnel {
        self.proxy.tunnel(&self.host, self.port)
    }
}
