//! Orders over TLS, in a venue's file.

use std::net::{SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use taut_io::EpollKernel;
use taut_net::TlsServerConfig;
use taut_sys::{Address, Socket, StreamOptions};
use taut_venue::Venue;

use crate::error::RunnerError;
use crate::service::tls_identity::server_identity;

/// Where a venue takes orders over TLS, and as whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VenueTlsKeys {
    /// Where clients connect.
    pub orders: SocketAddrV4,
    /// The venue's certificate and those that signed it, PEM.
    pub chain: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// The roots, PEM, that clients must have a certificate from; without it none is asked for.
    #[serde(default)]
    pub client_ca: Option<PathBuf>,
}

impl VenueTlsKeys {
    pub(super) fn start_paths_at(&mut self, folder: &Path) {
        let paths = [Some(&mut self.chain), Some(&mut self.key), self.client_ca.as_mut()];
        for path in paths.into_iter().flatten() {
            *path = folder.join(&*path);
        }
    }

    /// Reads its files.
    ///
    /// # Errors
    /// A file that cannot be read, or is no such PEM file.
    pub(super) fn identity(&self) -> Result<TlsServerConfig, RunnerError> {
        server_identity(&self.chain, &self.key, self.client_ca.as_deref())
    }

    /// Has the venue take orders there.
    ///
    /// # Errors
    /// As [`identity`](Self::identity); an address that another program has.
    pub(super) fn open(&self, venue: &mut Venue<EpollKernel>) -> Result<(), RunnerError> {
        let failed = |error: &dyn std::fmt::Display| {
            RunnerError::run(format!("tls.orders = {}", self.orders), error.to_string())
        };
        let identity = self.identity()?;
        let at = Address::Inet(SocketAddr::V4(self.orders));
        let orders = Socket::listen(&at, &StreamOptions::default());
        let orders = orders.map_err(|error| failed(&error))?;
        venue.listen_tls(orders.into(), identity).map_err(|error| failed(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rcgen::generate_simple_self_signed;

    use super::*;

    #[test]
    fn a_file_that_is_missing_or_is_no_certificate_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut keys = VenueTlsKeys {
            orders: "127.0.0.1:9885".parse().expect("an address"),
            chain: "venue.pem".into(),
            key: "venue.key".into(),
            client_ca: None,
        };
        keys.start_paths_at(folder.path());
        let said = keys.identity().expect_err("there is none").to_string();
        assert!(said.contains("tls.chain") && said.contains("venue.pem"), "{said}");
        let made = generate_simple_self_signed(vec!["venue".to_owned()]).expect("a certificate");
        fs::write(&keys.chain, made.cert.pem()).expect("room");
        fs::write(&keys.key, "no key").expect("room");
        let said = keys.identity().expect_err("no key").to_string();
        assert!(said.contains("venue.key: must be PEM files"), "{said}");
        fs::write(&keys.key, made.signing_key.serialize_pem()).expect("room");
        assert!(keys.identity().is_ok());
        keys.client_ca = Some(folder.path().join("clients.pem"));
        let said = keys.identity().expect_err("there is none").to_string();
        assert!(said.contains("tls.client_ca"), "{said}");
        fs::write(folder.path().join("clients.pem"), "no root").expect("room");
        let said = keys.identity().expect_err("no root").to_string();
        assert!(said.contains("clients.pem: must be a PEM file"), "{said}");
    }
}
