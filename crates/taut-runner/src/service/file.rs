//! What a gateway that runs by itself is told.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use taut_gateway::{Owner, SessionSettings};
use taut_sys::Wait;
use taut_types::{Instrument, Nanos, StrategyId, UserId};

use crate::error::RunnerError;
use crate::reading;
use crate::service::client::control_path;
use crate::service::journal::JournalKeys;
use crate::settings::{GatewaySettings, InstrumentSettings, RemoteVenue, RiskSettings, wait};

/// A gateway's file with every key, for people to start from.
pub const GATEWAY_SAMPLE: &str = include_str!("gateway.toml");

/// A gateway's settings. All that a file can say ([`GATEWAY_SAMPLE`]):
///
/// ```toml
#[doc = include_str!("gateway.toml")]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayFile {
    /// Its name, by which strategies and operators find it.
    pub name: String,
    /// Its control socket, in the place of the one that its name gives.
    #[serde(default)]
    pub control: Option<PathBuf>,
    /// How it waits when there is nothing to do.
    #[serde(default, with = "wait")]
    pub wait: Option<Wait>,
    /// The CPU that it runs on; without it whichever the system gives it.
    #[serde(default)]
    pub cpu: Option<usize>,
    /// Where orders go and market data comes from.
    pub venue: RemoteVenue,
    /// What is traded; the order gives each its number.
    pub instruments: Vec<InstrumentSettings>,
    /// Who may attach.
    pub strategies: Vec<StrategySettings>,
    /// How the order session is kept up.
    #[serde(default)]
    pub session: SessionKeys,
    /// Where orders are written down; without it a gateway that is killed forgets them.
    #[serde(default)]
    pub journal: Option<JournalKeys>,
    /// Room for levels and orders.
    #[serde(default)]
    pub gateway: GatewaySettings,
    /// What no order passes.
    #[serde(default)]
    pub risk: RiskSettings,
}

/// How the order session is kept up: [`SessionSettings`] in plain values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionKeys {
    /// The file of the session's numbers; without one every start asks for new ones.
    pub store: Option<PathBuf>,
    /// Both numbers start again at 1 with every logon.
    pub reset_on_logon: bool,
    /// How long a request may stay without an answer before the venue is asked, in milliseconds.
    pub request_timeout_ms: u32,
    /// The shortest and the longest wait before the connection is tried again, in milliseconds.
    pub reconnect_ms: [u32; 2],
}

impl Default for SessionKeys {
    fn default() -> Self {
        Self {
            store: None,
            reset_on_logon: false,
            request_timeout_ms: 5_000,
            reconnect_ms: [100, 30_000],
        }
    }
}

impl SessionKeys {
    fn check(&self) -> Result<(), RunnerError> {
        let [shortest, longest] = self.reconnect_ms;
        if shortest == 0 || longest < shortest {
            let value = format!("[{shortest}, {longest}]");
            let remedy = "the shortest wait, above 0, and the longest";
            return Err(RunnerError::setting("session.reconnect_ms", value, remedy));
        }
        if self.request_timeout_ms == 0 {
            return Err(RunnerError::setting("session.request_timeout_ms", 0, "above 0"));
        }
        Ok(())
    }

    /// A venue that is not there is waited for.
    pub(super) fn settings(&self) -> SessionSettings {
        let [shortest, longest] = self.reconnect_ms.map(|ms| Nanos::from_millis(ms.into()));
        SessionSettings {
            store: self.store.clone(),
            reset_on_logon: self.reset_on_logon,
            waits_for_venue: true,
            request_timeout: Nanos::from_millis(self.request_timeout_ms.into()),
            reconnect: (shortest, longest),
        }
    }
}

/// A strategy that may attach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StrategySettings {
    /// Its name.
    pub name: String,
    /// Its user's number.
    #[serde(default)]
    pub user: u8,
    /// Its own number: with the user's, a part of the id of each of its orders. It must stay what
    /// it is for as long as there are orders.
    pub number: u8,
}

impl StrategySettings {
    /// Whose its orders are.
    #[must_use]
    pub const fn owner(&self) -> Owner {
        Owner { user: UserId(self.user), strategy: StrategyId(self.number) }
    }
}

impl GatewayFile {
    /// The settings of a file.
    ///
    /// # Errors
    /// What is wrong in it: the file, the line, the key, the key that was meant.
    pub fn read(path: &Path) -> Result<Self, RunnerError> {
        let named = |error: &dyn std::fmt::Display| {
            RunnerError::Settings(format!("{}: {error}", path.display()))
        };
        let text = std::fs::read_to_string(path)
            .map_err(|error| named(&format_args!("{error}; check the path")))?;
        let mut file: Self = reading::from_text(&text).map_err(|error| named(&error))?;
        if let (Some(journal), Some(folder)) = (&mut file.journal, path.parent()) {
            journal.folder = folder.join(&journal.folder);
        }
        file.check().map_err(|error| named(&error))?;
        Ok(file)
    }

    /// The instruments, each at its number.
    ///
    /// # Errors
    /// The setting that cannot be.
    pub fn instruments(&self) -> Result<Vec<Instrument>, RunnerError> {
        crate::settings::build_instruments(&self.instruments)
    }

    /// Looks at every value.
    ///
    /// # Errors
    /// The first setting that cannot be, its value and what would be right.
    pub fn check(&self) -> Result<(), RunnerError> {
        if self.name.is_empty() || self.name.contains(['/', '\0']) {
            return Err(RunnerError::setting("name", &self.name, "a name without a slash"));
        }
        if self.instruments.is_empty() {
            let text = "[[instruments]]: none is named; a gateway trades at least one";
            return Err(RunnerError::Settings(text.to_owned()));
        }
        self.instruments()?;
        let (mut names, mut owners) = (BTreeSet::new(), BTreeSet::new());
        for (at, strategy) in self.strategies.iter().enumerate() {
            let key = |what: &str| format!("strategies[{at}].{what}");
            if strategy.name.is_empty() || !names.insert(&strategy.name) {
                let remedy = "a name that no other one has";
                return Err(RunnerError::setting(&key("name"), &strategy.name, remedy));
            }
            if !owners.insert(strategy.owner()) {
                let remedy = "a number that no other strategy of this user has";
                return Err(RunnerError::setting(&key("number"), strategy.number, remedy));
            }
        }
        self.session.check()?;
        self.journal.iter().try_for_each(JournalKeys::check)?;
        self.venue.check()
    }

    /// Where it listens.
    #[must_use]
    pub fn control_path(&self) -> PathBuf {
        self.control.clone().unwrap_or_else(|| control_path(&self.name))
    }

    /// The strategy with this name.
    #[must_use]
    pub fn strategy(&self, name: &str) -> Option<&StrategySettings> {
        self.strategies.iter().find(|strategy| strategy.name == name)
    }
}
