//! Where a server listens, and as whom.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use taut_io::{Admission, EpollKernel, EventLoop, Handle};
use taut_net::TlsServerConfig;
use taut_sys::{Address, StreamOptions};

use crate::exit::Failure;
use crate::input::read;

/// Reads `HOST:PORT`, where the host is an address or a name, `localhost` for one.
///
/// # Errors
/// What it must be, or that the name has no address.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|error| {
        format!("{error}; give ADDRESS:PORT or NAME:PORT, such as localhost:0, port 0 for any")
    })?;
    found.next().ok_or_else(|| "the name has no address".to_owned())
}

/// Listens at an address; the listener, and the address as it is where port 0 was asked for.
///
/// # Errors
/// It cannot be listened on.
pub fn listen(
    events: &mut EventLoop<EpollKernel>,
    at: SocketAddr,
    admission: &Admission,
) -> Result<(Handle, Address), Failure> {
    let listener = events.io().listen(&Address::Inet(at), &StreamOptions::default(), admission);
    let listener =
        listener.map_err(|error| Failure::run(&format!("cannot listen on {at}"), error))?;
    let address = events.io().local_address(listener);
    Ok((listener, address.map_err(|error| Failure::run("the socket", error))?))
}

/// The certificate and the key of a server of HTTP/1.1 in PEM, where it has both.
///
/// # Errors
/// A file cannot be read, or the two are no pair.
pub fn tls(chain: Option<&Path>, key: Option<&Path>) -> Result<Option<TlsServerConfig>, Failure> {
    let (Some(chain), Some(key)) = (chain, key) else { return Ok(None) };
    let config = TlsServerConfig::new(&read(chain)?, &read(key)?, &[b"http/1.1"]);
    let pair = format!("{} and {}", chain.display(), key.display());
    config.map(Some).map_err(|error| Failure::Usage(format!("{pair}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::listen_address;

    #[test]
    fn addresses_and_names_are_taken_and_what_is_none_is_told_the_form() {
        for text in ["127.0.0.1:0", "[::1]:80", "localhost:7"] {
            let found = listen_address(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(found.ip().is_loopback(), "{text}");
        }
        for text in ["", "127.0.0.1", "localhost", "localhost:x", ":65536"] {
            let error = listen_address(text).expect_err(text);
            assert!(error.contains("localhost:0"), "{text}: {error}");
        }
    }
}
