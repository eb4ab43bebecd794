//! What a client trusts and what a server shows. Built once, shared by all streams: the sessions
//! that can be resumed are remembered here.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use taut_sys::utc;

use crate::error::NetError;

/// Where systems keep the roots that they trust.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The file of the roots that this system trusts, in PEM; nothing where it is in none of the usual
/// places.
#[must_use]
pub fn system_roots() -> Option<&'static Path> {
    BUNDLES.iter().map(Path::new).find(|path| path.exists())
}

/// Certificates are checked against the same clock as everything else.
#[derive(Debug)]
struct Clock;

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let since = u64::try_from(utc().0).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_nanos(since)))
    }
}

/// A client's side: the roots that it trusts.
#[derive(Clone)]
pub struct TlsClientConfig(Arc<ClientConfig>);

impl TlsClientConfig {
    /// Trusts the certificates of a PEM text (a system's bundle, a venue's own root), and offers
    /// these application protocols, best first.
    ///
    /// # Errors
    /// [`NetError::TlsConfig`] when the text has no certificate, or one that is malformed.
    pub fn new(roots_pem: &[u8], protocols: &[&[u8]]) -> Result<Self, NetError> {
        Self::with_identity(roots_pem, None, protocols)
    }

    /// As [`TlsClientConfig::new`], with what a server is shown that asks who we are: the
    /// certificates of a PEM text (our own first, then what leads to the root), and the private key
    /// of another.
    ///
    /// # Errors
    /// [`NetError::TlsConfig`] also when those are malformed or the key does not fit.
    pub fn with_identity(
        roots_pem: &[u8],
        identity: Option<(&[u8], &[u8])>,
        protocols: &[&[u8]],
    ) -> Result<Self, NetError> {
        let builder =
            ClientConfig::builder_with_details(Arc::new(default_provider()), Arc::new(Clock));
        let builder =
            builder.with_safe_default_protocol_versions().map_err(|_| NetError::TlsConfig)?;
        let builder = builder.with_root_certificates(roots(roots_pem)?);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some((chain_pem, key_pem)) => {
                let (chain, key) = own(chain_pem, key_pem)?;
                builder.with_client_auth_cert(chain, key).map_err(|_| NetError::TlsConfig)?
            }
        };
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(Self(Arc::new(config)))
    }

    /// Trusts nobody: for who connects to nobody, such as a run that is done again from its
    /// [tape](taut_sys::tape).
    ///
    /// # Errors
    /// As [`TlsClientConfig::new`].
    pub fn trusting_nobody() -> Result<Self, NetError> {
        let builder =
            ClientConfig::builder_with_details(Arc::new(default_provider()), Arc::new(Clock));
        let builder =
            builder.with_safe_default_protocol_versions().map_err(|_| NetError::TlsConfig)?;
        let builder = builder.with_root_certificates(RootCertStore::empty());
        Ok(Self(Arc::new(builder.with_no_client_auth())))
    }

    pub(super) fn shared(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }
}

/// A server's side: its certificate and key.
#[derive(Clone)]
pub struct TlsServerConfig(Arc<ServerConfig>);

impl TlsServerConfig {
    /// Shows the certificates of a PEM text (its own first, then what leads to the root) with the
    /// private key of another, and takes these application protocols, best first.
    ///
    /// # Errors
    /// [`NetError::TlsConfig`] when a text is malformed or the key does not fit.
    pub fn new(chain_pem: &[u8], key_pem: &[u8], protocols: &[&[u8]]) -> Result<Self, NetError> {
        Self::with_client_roots(chain_pem, key_pem, None, protocols)
    }

    /// As [`TlsServerConfig::new`]; with roots (a PEM text), only clients that show a certificate
    /// from one of them are served.
    ///
    /// # Errors
    /// [`NetError::TlsConfig`] also when the roots have no certificate, or one that is malformed.
    pub fn with_client_roots(
        chain_pem: &[u8],
        key_pem: &[u8],
        client_roots_pem: Option<&[u8]>,
        protocols: &[&[u8]],
    ) -> Result<Self, NetError> {
        let (chain, key) = own(chain_pem, key_pem)?;
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_details(Arc::clone(&provider), Arc::new(Clock));
        let builder =
            builder.with_safe_default_protocol_versions().map_err(|_| NetError::TlsConfig)?;
        let builder = match client_roots_pem {
            None => builder.with_no_client_auth(),
            Some(text) => {
                let roots = Arc::new(roots(text)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                let verifier = verifier.build().map_err(|_| NetError::TlsConfig)?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(|_| NetError::TlsConfig)?;
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(Self(Arc::new(config)))
    }

    pub(super) fn shared(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0)
    }
}

fn roots(pem: &[u8]) -> Result<RootCertStore, NetError> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(pem) {
        let root = root.map_err(|_| NetError::TlsConfig)?;
        roots.add(root).map_err(|_| NetError::TlsConfig)?;
    }
    if roots.is_empty() { Err(NetError::TlsConfig) } else { Ok(roots) }
}

type Own = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn own(chain_pem: &[u8], key_pem: &[u8]) -> Result<Own, NetError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain_pem).collect();
    let chain = chain.map_err(|_| NetError::TlsConfig)?;
    let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(|_| NetError::TlsConfig)?;
    Ok((chain, key))
}

impl fmt::Debug for TlsClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsClientConfig")
    }
}

impl fmt::Debug for TlsServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the key.
        f.write_str("TlsServerConfig")
    }
}
