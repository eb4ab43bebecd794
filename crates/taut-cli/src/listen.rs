//! Where a server listens.

use std::net::{SocketAddr, ToSocketAddrs};

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
