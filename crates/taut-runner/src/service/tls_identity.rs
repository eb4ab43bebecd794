//! A server's certificate and key, by the files that a venue's settings name.

use std::fs;
use std::path::Path;

use taut_net::TlsServerConfig;

use crate::error::RunnerError;

/// Reads `tls.chain`, `tls.key` and, where clients must have a certificate, `tls.client_ca`.
///
/// # Errors
/// A file that cannot be read, or is no such PEM file: its key and its path.
pub(super) fn server_identity(
    chain: &Path,
    key: &Path,
    client_ca: Option<&Path>,
) -> Result<TlsServerConfig, RunnerError> {
    let (chain_pem, key_pem) = (read("chain", chain)?, read("key", key)?);
    let without_roots = TlsServerConfig::new(&chain_pem, &key_pem, &[]).map_err(|_| {
        let files = format!("{}, {}", chain.display(), key.display());
        let remedy = "PEM files: certificates, and the private key of the first one";
        RunnerError::setting("tls.chain, tls.key", files, remedy)
    })?;
    let Some(client_ca) = client_ca else { return Ok(without_roots) };
    let roots = read("client_ca", client_ca)?;
    TlsServerConfig::with_client_roots(&chain_pem, &key_pem, Some(&roots), &[]).map_err(|_| {
        let remedy = "a PEM file with at least one root certificate";
        RunnerError::setting("tls.client_ca", client_ca.display(), remedy)
    })
}

fn read(key: &str, path: &Path) -> Result<Vec<u8>, RunnerError> {
    let failed = |error| RunnerError::Settings(format!("tls.{key} = {}: {error}", path.display()));
    fs::read(path).map_err(failed)
}
