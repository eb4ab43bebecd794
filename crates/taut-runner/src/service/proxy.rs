//! `[proxy]` of a gateway's file: an HTTP proxy on the way to a venue on the web.

use std::path::Path;

use serde::{Deserialize, Serialize};
use taut_gateway::Through;
use taut_net::{Proxy, Target};
use taut_sys::{Address, tape};

use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::service::secret::SecretSource;

/// An HTTP proxy that is asked for a tunnel (`CONNECT`) to each of the venue's hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ProxyKeys {
    /// Where it is: `http://HOST[:PORT]`.
    pub url: String,
    /// Who we are to it, where it asks.
    #[serde(default)]
    pub user: Option<String>,
    /// Where the password is.
    #[serde(default)]
    pub password: Option<SecretSource>,
}

impl ProxyKeys {
    /// Every value that cannot be; the secret is another matter. None is repeated: a URL that is
    /// wrong may have the password in it.
    pub(super) fn mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        let mut told = |key: &str, text: &str| {
            mistakes.push(Mistake::told(&format!("proxy.{key}"), format!("proxy.{key}: {text}")));
        };
        if Proxy::parse(&self.url).is_err() {
            let text = "http://HOST or http://HOST:PORT; a user stands in proxy.user, and where \
                        the password is in proxy.password";
            told("url", text);
        }
        match (&self.user, &self.password) {
            (Some(user), _)
                if user.is_empty() || user.contains(|it: char| it == ':' || it.is_control()) =>
            {
                told("user", "a name without a colon");
            }
            (Some(_), None) => told(
                "password",
                "it is missing: { file = \"PATH\" }, { env = \"NAME\" } or { fd = NUMBER }, where \
                 the user's password is",
            ),
            (None, Some(_)) => told("user", "it is missing: whose password it is"),
            _ => {}
        }
        mistakes
    }

    /// What is wrong with where the password is.
    pub(super) fn mistake_of_secret(&self) -> Option<Mistake> {
        let wrong = self.password.as_ref()?.check().err()?;
        Some(Mistake::told("proxy.password", format!("proxy.password: {wrong}")))
    }

    pub(super) fn start_paths_at(&mut self, folder: &Path) {
        if let Some(password) = &mut self.password {
            password.start_paths_at(folder);
        }
    }

    /// For people.
    pub(super) fn words(&self) -> String {
        match (&self.user, &self.password) {
            (Some(user), Some(password)) => {
                format!("{} as {user}, with the password in {}", self.url, password.words())
            }
            _ => self.url.clone(),
        }
    }

    /// `host:port` of it, where that has to be looked up.
    pub(super) fn name(&self) -> Option<String> {
        match Proxy::parse(&self.url).ok()?.target() {
            Target::Address(_) => None,
            name @ Target::Name { .. } => Some(name.to_string()),
        }
    }

    /// Where it is, as `host:port`, and the way through it to a venue's `host:port`. Reads the
    /// password.
    ///
    /// # Errors
    /// No proxy's URL; no password.
    pub(super) fn through(&self, to: &str) -> Result<(String, Through), RunnerError> {
        let wrong = |what: &dyn std::fmt::Display| RunnerError::Settings(format!("proxy: {what}"));
        let mut proxy = Proxy::parse(&self.url).map_err(|error| wrong(&error))?;
        if let (Some(user), Some(source)) = (&self.user, &self.password) {
            let password = source.read().map_err(|error| wrong(&error))?;
            proxy = proxy.with_user(user, &password).map_err(|error| wrong(&error))?;
            if tape::is_writing() {
                proxy.authorization().into_iter().for_each(|it| tape::withhold(it.as_bytes()));
            }
        }
        let at = match proxy.target() {
            Target::Address(Address::Inet(address)) => address.to_string(),
            target => target.to_string(),
        };
        let (host, port) = to
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host, port.parse().ok()?)))
            .ok_or_else(|| wrong(&format_args!("{to}: HOST:PORT is what it is asked for")))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok((at, Through { proxy, host, port }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_through_the_proxy_and_no_name_of_the_venue_is_looked_up() {
        let keys =
            ProxyKeys { url: "http://127.0.0.1:3128".to_owned(), user: None, password: None };
        let (at, through) = keys.through("venue.invalid:443").expect("a way");
        assert_eq!(
            (at.as_str(), through.host.as_str(), through.port),
            ("127.0.0.1:3128", "venue.invalid", 443)
        );
        assert_eq!(keys.name(), None);
        let named = ProxyKeys { url: "http://proxy.test".to_owned(), ..keys };
        assert_eq!(named.name().as_deref(), Some("proxy.test:80"));
        let (at, through) = named.through("[::1]:9000").expect("a way");
        assert_eq!(
            (at.as_str(), through.host.as_str(), through.port),
            ("proxy.test:80", "::1", 9000)
        );
    }

    #[test]
    fn the_password_is_read_from_where_it_is_and_shows_nowhere() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("password");
        std::fs::write(&path, "open sesame\n").expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
        let mut keys = ProxyKeys {
            url: "http://127.0.0.1:3128".to_owned(),
            user: Some("Aladdin".to_owned()),
            password: Some(SecretSource::File("password".into())),
        };
        assert!(keys.mistake_of_secret().is_some(), "it is not in this folder");
        keys.start_paths_at(folder.path());
        assert_eq!(keys.mistake_of_secret(), None);
        let (_, through) = keys.through("venue.test:443").expect("a way");
        // The example of RFC 7617, 2.
        assert_eq!(through.proxy.authorization(), Some("QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        let shown = format!("{keys:?} {through:?} {}", keys.words());
        assert!(shown.contains("as Aladdin, with the password in file"), "{shown}");
        assert!(!shown.contains("sesame") && !shown.contains("QWxh"), "{shown}");
    }
}
