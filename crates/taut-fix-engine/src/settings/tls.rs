//! TLS: what is shown, and who is believed.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use taut_net::{NetError, TlsClientConfig, TlsServerConfig};
use toml::Value;

use crate::settings::error::{SettingsError, explained, wrong};
use crate::settings::files::Files;

/// Certificates and key, as their files have them.
type Identity = (Vec<u8>, Vec<u8>);

/// `tls`: `true`, or a table of these.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct TlsKeys {
    /// Our certificate and what leads to its root, in PEM: an acceptor's own, or the one by which
    /// an initiator is known.
    certificate: Option<PathBuf>,
    /// Its private key, in PEM.
    key: Option<PathBuf>,
    /// Roots in PEM: those that an initiator trusts (without it, the system's), or those that the
    /// clients of an acceptor must have a certificate from.
    ca: Option<PathBuf>,
    /// The name in the acceptor's certificate, when it is not the host of the address.
    server_name: Option<String>,
}

impl TlsKeys {
    /// What the key's value means; `None` is without TLS.
    pub fn read(value: Value) -> Result<Option<Self>, SettingsError> {
        match value {
            Value::Boolean(false) => Ok(None),
            Value::Boolean(true) => Ok(Some(Self::default())),
            table => Self::deserialize(table).map(Some).map_err(|error| explained(&error)),
        }
    }

    /// An initiator's.
    pub fn client(&self, files: &Files) -> Result<TlsSettings, SettingsError> {
        let (roots, trusted) = match &self.ca {
            Some(path) => (read(files, "ca", path)?, files.path(path)),
            None => system_roots()?,
        };
        let identity = self.identity(files)?;
        let identity = identity.as_ref().map(|(chain, key)| (&chain[..], &key[..]));
        let config = TlsClientConfig::with_identity(&roots, identity, &[]);
        let config = config.map_err(|_| self.unusable(&trusted))?;
        let (server_name, keys) = (self.server_name.clone(), TlsNames::OF_SESSION);
        Ok(TlsSettings { config, server_name, trusted, keys })
    }

    /// An acceptor's.
    pub fn server(&self, files: &Files) -> Result<TlsServerConfig, SettingsError> {
        if self.server_name.is_some() {
            return Err(wrong("tls.server_name is for initiators: it is in our certificate"));
        }
        let Some((chain, key)) = self.identity(files)? else {
            return Err(wrong("tls: an acceptor needs certificate and key (PEM files)"));
        };
        let ca = self.ca.as_ref();
        let roots = ca.map(|path| read(files, "ca", path)).transpose()?;
        let config = TlsServerConfig::with_client_roots(&chain, &key, roots.as_deref(), &[]);
        config.map_err(|_| self.unusable(&ca.map_or_else(PathBuf::new, |path| files.path(path))))
    }

    fn identity(&self, files: &Files) -> Result<Option<Identity>, SettingsError> {
        match (&self.certificate, &self.key) {
            (None, None) => Ok(None),
            (Some(chain), Some(key)) => {
                Ok(Some((read(files, "certificate", chain)?, read(files, "key", key)?)))
            }
            _ => Err(wrong("tls: give certificate and key, or neither")),
        }
    }

    fn unusable(&self, roots: &Path) -> SettingsError {
        let name = |path: &Option<PathBuf>| {
            path.as_ref().map_or_else(|| String::from("none"), |path| path.display().to_string())
        };
        wrong(format!(
            "tls: certificate ({}), key ({}) or ca ({}) is no PEM file of its kind, or the key \
             does not fit the certificate",
            name(&self.certificate),
            name(&self.key),
            roots.display()
        ))
    }
}

/// An initiator's TLS.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// Whom it trusts, and what it shows.
    pub config: TlsClientConfig,
    /// The name that the acceptor's certificate must be for; `None` is the address's host.
    pub server_name: Option<String>,
    /// The file of the roots, for words.
    pub trusted: PathBuf,
    /// What these are called where they are set, for words.
    pub keys: TlsNames,
}

/// How an initiator's settings call what its TLS stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsNames {
    /// The roots.
    pub ca: &'static str,
    /// The name that must be in the acceptor's certificate, where it can be set.
    pub server_name: Option<&'static str>,
    /// The certificate that it shows, where it can be set.
    pub certificate: Option<&'static str>,
}

impl TlsNames {
    /// Those of a session's `tls`.
    pub const OF_SESSION: Self = Self {
        ca: "tls.ca",
        server_name: Some("tls.server_name"),
        certificate: Some("tls.certificate"),
    };
}

impl TlsSettings {
    /// The name that must be in the certificate of who answers at this `HOST:PORT`.
    pub(crate) fn name_for<'a>(&'a self, address: &'a str) -> &'a str {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        self.server_name.as_deref().unwrap_or(host)
    }

    /// An error in words that say what was expected.
    pub(crate) fn explain(&self, address: &str, error: &NetError) -> String {
        let (name, trusted) = (self.name_for(address), self.trusted.display());
        let named = |key: Option<&str>| key.map_or_else(String::new, |key| format!(" ({key})"));
        let name_key = named(self.keys.server_name);
        match error {
            NetError::Certificate(fault) => {
                let remedy = fault.remedy(&format!("{trusted} ({})", self.keys.ca), name);
                format!("TLS: {error}; asked for \"{name}\"{name_key}: {remedy}")
            }
            NetError::CertificateRefused => {
                let key = named(self.keys.certificate);
                format!("TLS: {error}{key}, or wants one and got none")
            }
            NetError::TlsViolation => format!("TLS: {error}; is the port one with TLS?"),
            NetError::MalformedTarget => {
                format!("TLS: \"{name}\" is no name of a server{name_key}")
            }
            _ => error.to_string(),
        }
    }
}

fn read(files: &Files, key: &str, path: &Path) -> Result<Vec<u8>, SettingsError> {
    let path = files.path(path);
    std::fs::read(&path).map_err(|error| wrong(format!("tls.{key}: {}: {error}", path.display())))
}

fn system_roots() -> Result<(Vec<u8>, PathBuf), SettingsError> {
    let read = |path: &Path| std::fs::read(path).ok().map(|bytes| (bytes, path.to_owned()));
    let found = taut_net::system_roots().and_then(read);
    found.ok_or_else(|| wrong("tls: this system has no bundle of roots; give ca (a PEM file)"))
}
