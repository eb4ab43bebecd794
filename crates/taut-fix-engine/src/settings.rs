//! Settings in TOML: what a session is called, where it connects, when it is open.

mod credentials;
mod error;
mod files;
mod import;
mod keys;
mod session;
mod tls;

pub use credentials::Credentials;
pub use error::SettingsError;
pub use import::import_quickfix;
pub use session::SessionSettings;
pub use tls::{TlsNames, TlsSettings};

use std::path::Path;

use serde::Deserialize;
use taut_fix::Role;
use taut_net::TlsServerConfig;
use toml::{Table, Value};

use crate::settings::error::{explained, explained_in, wrong};
use crate::settings::files::Files;
use crate::settings::keys::SessionKeys;
use crate::settings::tls::TlsKeys;

/// A file of settings with every key and its default, for people to start from.
pub const SAMPLE: &str = include_str!("settings/sample.toml");

/// All sessions of one side. [`import_quickfix`] makes such a file from QuickFIX's settings. All
/// that a file can say ([`SAMPLE`]):
///
/// ```toml
#[doc = include_str!("settings/sample.toml")]
/// ```
#[derive(Debug)]
pub struct Settings {
    /// In the order of the file; at least one.
    pub sessions: Vec<SessionSettings>,
    /// How many failed Logons of a CompID from one address an acceptor takes within a minute before
    /// it refuses the next, and 20 times as many of the address; 0 is any number.
    pub failed_logons_per_minute: u32,
    /// How many sessions an acceptor makes for peers that fit a `"*"`.
    pub dynamic_sessions_max: usize,
    /// TLS of an acceptor's port, when its sessions have it; an initiator's is in its session.
    pub tls: Option<TlsServerConfig>,
}

/// The top of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    defaults: Table,
    #[serde(default)]
    sessions: Vec<Table>,
    #[serde(default = "failed_logons")]
    failed_logons_per_minute: u32,
    #[serde(default = "dynamic_sessions")]
    dynamic_sessions_max: usize,
}

const fn failed_logons() -> u32 {
    30
}

const fn dynamic_sessions() -> usize {
    256
}

impl Settings {
    /// These sessions, and the usual limits.
    #[must_use]
    pub const fn new(sessions: Vec<SessionSettings>) -> Self {
        let (failed_logons_per_minute, dynamic_sessions_max) =
            (failed_logons(), dynamic_sessions());
        Self { sessions, failed_logons_per_minute, dynamic_sessions_max, tls: None }
    }

    /// Reads a file; relative paths in it start at its folder.
    ///
    /// # Errors
    /// The file cannot be read, or something in it, or that it names, is wrong.
    pub fn load(path: &Path, role: Role) -> Result<Self, SettingsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| wrong(format!("cannot read it ({error}); check the path")))?;
        Self::parse(&text, path.parent().unwrap_or(Path::new("")), role)
    }

    /// Reads the text; relative paths in it start at `folder`.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn parse(text: &str, folder: &Path, role: Role) -> Result<Self, SettingsError> {
        let file: File = toml::from_str(text).map_err(|error| explained(&error))?;
        let mut files = Files::at(folder);
        let mut sessions: Vec<SessionSettings> = Vec::new();
        let mut tls: Vec<Option<TlsKeys>> = Vec::new();
        for (at, table) in file.sessions.into_iter().enumerate() {
            let name = format!("session {} ({})", at + 1, name_of(&table));
            let merged = merge(&file.defaults, table);
            let (session, own_tls) = SessionKeys::deserialize(Value::Table(merged))
                .map_err(|error| explained_in(text, at, &error))
                .and_then(|mut keys| {
                    let own_tls = keys.tls.take().map(TlsKeys::read).transpose()?.flatten();
                    let mut session = SessionSettings::build(keys, role, &mut files)?;
                    if role == Role::Initiator {
                        session.tls = own_tls.as_ref().map(|tls| tls.client(&files)).transpose()?;
                    }
                    Ok((session, own_tls))
                })
                .map_err(|error| wrong(format!("{name}: {error}")))?;
            if role == Role::Acceptor && tls.first().is_some_and(|first| *first != own_tls) {
                let what = "tls is not that of the first session; they share a port, so put it \
                            into [defaults]";
                return Err(wrong(format!("{name}: {what}")));
            }
            tls.push(own_tls);
            if sessions.iter().any(|other| other.has_same_identity(&session)) {
                return Err(wrong(format!("{name}: another session has the same identity")));
            }
            sessions.push(session);
        }
        if sessions.is_empty() {
            return Err(wrong("there is no [[sessions]]"));
        }
        let port_tls = tls.into_iter().next().flatten().filter(|_| role == Role::Acceptor);
        Ok(Self {
            sessions,
            failed_logons_per_minute: file.failed_logons_per_minute,
            dynamic_sessions_max: file.dynamic_sessions_max,
            tls: port_tls.map(|tls| tls.server(&files)).transpose()?,
        })
    }
}

fn name_of(table: &Table) -> String {
    let text = |key| table.get(key).and_then(Value::as_str).unwrap_or("?");
    format!("{} -> {}", text("sender_comp_id"), text("target_comp_id"))
}

/// The session's own keys over the defaults; tables such as `schedule` key by key.
fn merge(defaults: &Table, own: Table) -> Table {
    let mut merged = defaults.clone();
    for (key, value) in own {
        let merged_value = match (merged.remove(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => Value::Table(merge(&below, above)),
            (_, value) => value,
        };
        merged.insert(key, merged_value);
    }
    merged
}

#[cfg(test)]
mod tests;
