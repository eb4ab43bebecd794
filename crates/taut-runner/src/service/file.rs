//! What a gateway that runs by itself is told.

use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use taut_gateway::{Owner, PositionRule, SessionSettings, WhenGone};
use taut_sys::Wait;
use taut_types::{Instrument, Nanos, StrategyId, UserId};

use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::outliers::OutlierSettings;
use crate::reading;
use crate::service::binance::BinanceKeys;
use crate::service::client::control_path;
use crate::service::copy_reader::CopyReaderKeys;
use crate::service::dead_men::{DeadMen, Watched};
use crate::service::deribit::DeribitKeys;
use crate::service::drop_copy::DropCopyKeys;
use crate::service::feed_backup::FeedBackupKeys;
use crate::service::journal::JournalKeys;
use crate::service::limits::{AccountSettings, GatewayRisk, SymbolRule, UserSettings};
use crate::service::okx::OkxKeys;
use crate::service::proxy::ProxyKeys;
use crate::service::record::RecordKeys;
use crate::service::secret::CredentialSettings;
use crate::service::subscribe_rule::{SubscribeRule, Subscribed};
use crate::settings::{GatewaySettings, InstrumentSettings, RemoteVenue, wait};

/// A gateway's file with every key, for people to start from.
pub const GATEWAY_SAMPLE: &str = include_str!("gateway.toml");

/// A file of a gateway at Deribit, which needs nothing but a key.
pub const DERIBIT_GATEWAY_SAMPLE: &str = include_str!("deribit-gateway.toml");

/// A file of a gateway at Binance, which on paper needs no key.
pub const BINANCE_GATEWAY_SAMPLE: &str = include_str!("binance-gateway.toml");

/// A file of a gateway at OKX, which needs nothing but a key.
pub const OKX_GATEWAY_SAMPLE: &str = include_str!("okx-gateway.toml");

/// A gateway's settings. All that a file can say ([`GATEWAY_SAMPLE`]):
///
/// ```toml
#[doc = include_str!("gateway.toml")]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayFile {
    /// The file that this was read from: a reload reads it again.
    #[serde(skip)]
    pub source: Option<PathBuf>,
    /// Orders go to a venue within this process, whose market follows the venue's market data: none
    /// leaves. Nothing is read from or written to the journal and the session's file.
    #[serde(skip)]
    pub is_paper: bool,
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
    /// Where orders go and market data comes from: taut's own venue. One of the venues is named.
    #[serde(default)]
    pub venue: Option<RemoteVenue>,
    /// The same: Deribit.
    #[serde(default)]
    pub deribit: Option<DeribitKeys>,
    /// The same: Binance.
    #[serde(default)]
    pub binance: Option<BinanceKeys>,
    /// The same: OKX.
    #[serde(default)]
    pub okx: Option<OkxKeys>,
    /// An HTTP proxy on the way to a venue on the web.
    #[serde(default)]
    pub proxy: Option<ProxyKeys>,
    /// Where market data comes from when it does not come from there.
    #[serde(default)]
    pub feed_backup: Option<FeedBackupKeys>,
    /// What is traded; the order gives each its number.
    #[serde(default)]
    pub instruments: Vec<InstrumentSettings>,
    /// What of the venue's instruments is traded beside them.
    #[serde(default)]
    pub subscribe: Vec<SubscribeRule>,
    /// What the venue defined, once that is known.
    #[serde(skip)]
    pub(crate) subscribed: Option<Subscribed>,
    /// For how many instruments the gateway that runs on this file has room.
    #[serde(skip)]
    pub(crate) room: Option<usize>,
    /// Whose strategies trade. Without any, every user number may trade everything.
    #[serde(default)]
    pub users: Vec<UserSettings>,
    /// What orders are for. Without any there is account 0, which the venue is not told.
    #[serde(default)]
    pub accounts: Vec<AccountSettings>,
    /// Limits of orders by instrument.
    #[serde(default)]
    pub symbols: Vec<SymbolRule>,
    /// Who may attach.
    pub strategies: Vec<StrategySettings>,
    /// How the order session is kept up.
    #[serde(default)]
    pub session: SessionKeys,
    /// Where orders are written down; without it a gateway that is killed forgets them.
    #[serde(default)]
    pub journal: Option<JournalKeys>,
    /// Where all that it hears is written down, to be done again.
    #[serde(default)]
    pub record: Option<RecordKeys>,
    /// The same: the folder of this start's recording, in the place of what the key says.
    #[serde(skip)]
    pub record_in: Option<PathBuf>,
    /// Where copies of all executions can be read.
    #[serde(default)]
    pub drop_copy: Option<DropCopyKeys>,
    /// Where the venue's own copies of our executions are read.
    #[serde(default)]
    pub drop_copy_reader: Option<CopyReaderKeys>,
    /// Room for levels and orders.
    #[serde(default)]
    pub gateway: GatewaySettings,
    /// What no order passes, where nothing else is said.
    #[serde(default)]
    pub risk: GatewayRisk,
    /// Which orders are kept to be explained.
    #[serde(default)]
    pub outliers: OutlierSettings,
}

/// What is done about a position that is another one at the venue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PositionsKey {
    /// The venue is not asked.
    Off,
    /// It is counted, logged and shown.
    #[default]
    Report,
    /// The venue's holds.
    Repair,
    /// The account is killed.
    Halt,
}

impl PositionsKey {
    const fn rule(self) -> PositionRule {
        match self {
            Self::Off => PositionRule::Off,
            Self::Report => PositionRule::Report,
            Self::Repair => PositionRule::Repair,
            Self::Halt => PositionRule::Halt,
        }
    }
}

/// How the order session is kept up: [`SessionSettings`] in plain values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionKeys {
    /// What our Logon proves who we are by.
    pub credentials: Option<CredentialSettings>,
    /// The file of the session's numbers; without one every start asks for new ones.
    pub store: Option<PathBuf>,
    /// Both numbers start again at 1 with every logon.
    pub reset_on_logon: bool,
    /// How long a request may stay without an answer before the venue is asked, in milliseconds.
    pub request_timeout_ms: u32,
    /// What is done about a position that is another one at the venue.
    pub positions: PositionsKey,
    /// Where else the venue takes orders, by priority, when `venue.orders` cannot be reached.
    pub backups: Vec<SocketAddrV4>,
    /// The shortest and the longest wait before the connection is tried again, in milliseconds.
    pub reconnect_ms: [u32; 2],
}

impl Default for SessionKeys {
    fn default() -> Self {
        Self {
            credentials: None,
            store: None,
            reset_on_logon: false,
            request_timeout_ms: 5_000,
            positions: PositionsKey::default(),
            backups: Vec::new(),
            reconnect_ms: [100, 30_000],
        }
    }
}

impl SessionKeys {
    /// Every value that cannot be; the secret is another matter.
    pub(super) fn mistakes(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        let [shortest, longest] = self.reconnect_ms;
        if shortest == 0 || longest < shortest {
            let value = format!("[{shortest}, {longest}]");
            let remedy = "the shortest wait, above 0, and the longest";
            mistakes.push(Mistake::new("session.reconnect_ms", value, remedy));
        }
        if let Some(backup) = self.backups.iter().find(|backup| backup.port() == 0) {
            mistakes.push(Mistake::new("session.backups", backup, "an address with a port"));
        }
        if self.request_timeout_ms == 0 {
            mistakes.push(Mistake::new("session.request_timeout_ms", 0, "above 0"));
        }
        mistakes
    }

    /// A venue that is not there is waited for.
    ///
    /// # Errors
    /// When the secret of the Logon cannot be read.
    pub(super) fn settings(&self) -> Result<SessionSettings, RunnerError> {
        let [shortest, longest] = self.reconnect_ms.map(|ms| Nanos::from_millis(ms.into()));
        let credentials = self.credentials.as_ref().map(CredentialSettings::build);
        Ok(SessionSettings {
            transport: taut_gateway::Transport::Plain,
            through: None,
            beside: None,
            credentials: credentials.transpose()?,
            store: self.store.clone(),
            reset_on_logon: self.reset_on_logon,
            waits_for_venue: true,
            request_timeout: Nanos::from_millis(self.request_timeout_ms.into()),
            positions: self.positions.rule(),
            backups: self.backups.clone(),
            reconnect: (shortest, longest),
        })
    }
}

/// A strategy that may attach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Orders working or on their way at one time, where `[risk]` says another number.
    #[serde(default)]
    pub open_orders_max: Option<u32>,
    /// Killed when it shows no sign of life for so long while it is attached, in milliseconds.
    #[serde(default)]
    pub dead_man_ms: Option<u32>,
    /// What becomes of its open orders when it is gone.
    #[serde(default)]
    pub when_gone: WhenGoneKey,
    /// How long they wait, in milliseconds, where they are kept for its return, or handed over to
    /// one that is not attached; without it for ever.
    #[serde(default)]
    pub keep_ms: Option<u32>,
}

/// What becomes of the open orders of a strategy that is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenGoneKey {
    /// They are cancelled.
    #[default]
    Cancel,
    /// They stay open for its return.
    Keep,
    /// They become those of the strategy with this name.
    HandOverTo(String),
}

impl StrategySettings {
    /// What becomes of its open orders, in a file where strategies are found by these names.
    fn when_gone<'a>(&self, find: impl Fn(&str) -> Option<&'a Self>) -> WhenGone {
        let span = self.keep_ms.map(|ms| Nanos::from_millis(ms.into()));
        match &self.when_gone {
            WhenGoneKey::Cancel => WhenGone::Cancel,
            WhenGoneKey::Keep => WhenGone::Keep(span),
            WhenGoneKey::HandOverTo(heir) => match find(heir) {
                Some(heir) => WhenGone::HandOver { to: heir.owner(), wait: span },
                // Such a file is refused.
                None => WhenGone::Cancel,
            },
        }
    }

    /// Why it cannot trade in the gateway's thread, if so: it ends with the gateway then, is never
    /// gone while the gateway trades, and its rounds are the gateway's.
    pub(super) fn mistake_when_fused(&self) -> Option<RunnerError> {
        let (key, value) = if let Some(ms) = self.dead_man_ms {
            ("dead_man_ms", ms.to_string())
        } else if let Some(ms) = self.keep_ms {
            ("keep_ms", ms.to_string())
        } else {
            match &self.when_gone {
                WhenGoneKey::Cancel => return None,
                WhenGoneKey::Keep => ("when_gone", "\"keep\"".to_owned()),
                WhenGoneKey::HandOverTo(heir) => {
                    ("when_gone", format!("{{ hand_over_to = \"{heir}\" }}"))
                }
            }
        };
        let remedy = "left out for a strategy in the gateway's thread, which is there for as long \
                      as the gateway";
        Some(RunnerError::setting(&format!("strategy '{}': {key}", self.name), value, remedy))
    }

    /// Whose its orders are.
    #[must_use]
    pub const fn owner(&self) -> Owner {
        Owner { user: UserId(self.user), strategy: StrategyId(self.number) }
    }
}

impl GatewayFile {
    /// One that names no venue and no strategy: for who fills in limits.
    pub(super) fn of_limits_alone() -> Result<Self, RunnerError> {
        let strategies = toml::Value::Array(Vec::new());
        let name = toml::Value::String("limits".to_owned());
        let keys = [("name", name), ("strategies", strategies)];
        reading::parsed(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// Whose venue it is at: `taut` for taut's own, or as the venue's table is called.
    #[must_use]
    pub const fn venue_name(&self) -> &'static str {
        match (&self.deribit, &self.binance, &self.okx) {
            (Some(_), ..) => "deribit",
            (_, Some(_), _) => "binance",
            (.., Some(_)) => "okx",
            (None, None, None) => "taut",
        }
    }

    /// The instruments, each at its number.
    ///
    /// # Errors
    /// The setting that cannot be.
    pub fn instruments(&self) -> Result<Vec<Instrument>, RunnerError> {
        crate::settings::build_instruments(&self.instruments)
    }

    /// The same for trading on paper, without what is for orders that really leave.
    #[must_use]
    pub fn on_paper(mut self) -> Self {
        self.is_paper = true;
        self.journal = None;
        self.drop_copy_reader = None;
        (self.session.store, self.session.reset_on_logon) = (None, true);
        self.session.backups.clear();
        self
    }

    /// The same for market data alone, on paper, beside the gateway that trades by this file: under
    /// a name of its own, and without what others connect to.
    #[must_use]
    pub fn of_feed_alone(self) -> Self {
        let paper = self.on_paper();
        let name = format!("{}-feed", paper.name);
        Self { name, control: None, drop_copy: None, record: None, ..paper }
    }

    /// The same, with all that it hears written down in this folder, which is new.
    #[must_use]
    pub fn recorded_in(self, folder: &Path) -> Self {
        Self { record_in: Some(folder.to_owned()), ..self }
    }

    /// What it hears is written down.
    pub(super) fn is_recorded(&self) -> bool {
        self.record.is_some() || self.record_in.is_some()
    }

    /// Its orders stand in its recordings, not beside them.
    pub(super) fn records_orders(&self) -> bool {
        let is_lasting = self.record_in.is_none() && !self.is_paper;
        let is_there = |record: &RecordKeys| {
            self.journal.as_ref().is_none_or(|journal| journal.folder == record.folder)
        };
        is_lasting && self.record.as_ref().is_some_and(is_there)
    }

    /// Where its orders are written down, if they are.
    pub(super) fn order_journal(&self) -> Option<JournalKeys> {
        let recorded = self.record.as_ref().filter(|_| self.records_orders());
        self.journal.clone().or_else(|| recorded.map(JournalKeys::of))
    }

    /// After so long, recovered orders whose strategies did not attach are cancelled.
    pub(super) fn reattach(&self) -> Option<Nanos> {
        self.journal.as_ref().map_or_else(JournalKeys::usual_reattach, JournalKeys::reattach)
    }

    /// Where and how it is, from a start at this time.
    pub(super) fn recording(&self, utc: Nanos) -> Option<(PathBuf, RecordKeys)> {
        let folder = self.record_in.clone();
        let keys = self.record.clone().or_else(|| Some(RecordKeys::of(folder.as_ref()?)))?;
        Some((folder.unwrap_or_else(|| keys.folder_at(utc)), keys))
    }

    /// How it waits.
    pub(super) fn waits(&self) -> Wait {
        self.wait.unwrap_or(Wait::Block)
    }

    /// Who is killed without a sign of life, when a day ends, and what becomes of whose orders.
    pub(super) fn watched(&self) -> Watched {
        let span = |ms: u32| Nanos::from_millis(ms.into());
        let strategies = self.strategies.iter();
        let dead_men = DeadMen {
            operator: self.risk.operator_dead_man_ms.map(span),
            strategies: strategies
                .filter_map(|it| Some((it.owner(), span(it.dead_man_ms?))))
                .collect(),
        };
        let when_gone = |it: &StrategySettings| it.when_gone(|name| self.strategy(name));
        let when_gone = self.strategies.iter().map(|it| (it.owner(), when_gone(it)));
        Watched { dead_men, day_ends: self.risk.day_ends, when_gone: when_gone.collect() }
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

    /// What is said of a strategy that has no such name here.
    pub(super) fn unknown_strategy(&self, name: &str) -> String {
        let names: Vec<&str> = self.strategies.iter().map(|it| it.name.as_str()).collect();
        format!("no strategy is called '{name}' here; there are: {}", names.join(", "))
    }
}
