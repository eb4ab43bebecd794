//! One session's settings, checked.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::store::{Retention, Rotation, Sync};
use jiff::civil::{Time, Weekday};
use jiff::tz::{Offset, TimeZone};
use taut_fix::{
    BeginString, CompId, Dictionaries, Precision, Received, Role, Rules, SessionConfig,
};
use taut_types::Nanos;

use crate::schedule::{Days, Schedule};
use crate::settings::credentials::Credentials;
use crate::settings::error::{SettingsError, wrong};
use crate::settings::files::Files;
use crate::settings::keys::{RuleKeys, ScheduleKeys, SessionKeys};
use crate::settings::tls::TlsSettings;

/// A message of a session that says nothing else.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// What may wait for a peer of a session that says nothing else.
const WAITING_BYTES_MAX: usize = 16 << 20;
/// The peer of a session that takes whoever logs on.
const ANYBODY: &str = "*";

/// Everything about one session.
#[derive(Clone)]
pub struct SessionSettings {
    /// What the pure session is told.
    pub config: SessionConfig,
    /// Whether the target is a stand-in for whoever logs on (acceptor).
    pub is_dynamic: bool,
    /// A folder for the store's file; `None` is memory.
    pub store: Option<PathBuf>,
    /// When the store's file is safe from a power cut.
    pub sync: Sync,
    /// How much the store keeps.
    pub retention: Retention,
    /// A folder for the log.
    pub log: Option<PathBuf>,
    /// How long the log may become.
    pub rotation: Rotation,
    /// When it is open; `None` is always.
    pub schedule: Option<Schedule>,
    /// What its Logon carries (initiator) or must carry (acceptor).
    pub credentials: Option<Credentials>,
    /// Whether the peer may write MsgType (35) anywhere in the header.
    pub msg_type_anywhere: bool,
    /// More fields of our Logon: tag and value.
    pub logon_fields: Vec<(i32, String)>,
    /// `HOST:PORT`, tried in turn (initiator).
    pub addresses: Vec<String>,
    /// The shortest wait before the next attempt.
    pub reconnect_min: Nanos,
    /// The longest.
    pub reconnect_max: Nanos,
    /// How long an attempt may take.
    pub connect_timeout: Nanos,
    /// TLS (initiator); an acceptor's is its port's: [`crate::Settings::tls`].
    pub tls: Option<TlsSettings>,
    /// A peer that lets more bytes wait for it is disconnected.
    pub waiting_bytes_max: usize,
}

impl SessionSettings {
    /// In memory, always open, without credentials and addresses.
    #[must_use]
    pub fn new(config: SessionConfig) -> Self {
        Self {
            config,
            is_dynamic: false,
            store: None,
            sync: Sync::EachBatch,
            retention: Retention::default(),
            log: None,
            rotation: Rotation::default(),
            schedule: None,
            credentials: None,
            msg_type_anywhere: false,
            logon_fields: Vec::new(),
            addresses: Vec::new(),
            reconnect_min: Nanos::from_secs(1),
            reconnect_max: Nanos::from_secs(30),
            connect_timeout: Nanos::from_secs(10),
            tls: None,
            waiting_bytes_max: WAITING_BYTES_MAX,
        }
    }

    pub(super) fn build(
        keys: SessionKeys,
        role: Role,
        files: &mut Files,
    ) -> Result<Self, SettingsError> {
        let is_dynamic = keys.target_comp_id == ANYBODY;
        if is_dynamic && role == Role::Initiator {
            return Err(wrong("target_comp_id = \"*\" is for acceptors: name the peer"));
        }
        let config = config(&keys, role, files)?;
        let reconnect_min = seconds("reconnect_seconds", keys.reconnect_seconds, 1.0)?;
        let reconnect_max = seconds("reconnect_seconds_max", keys.reconnect_seconds_max, 30.0)?;
        Ok(Self {
            config,
            is_dynamic,
            store: keys.store.as_ref().map(|path| files.path(path)),
            sync: sync(keys.sync.as_deref())?,
            retention: Retention {
                messages: keys.store_messages.unwrap_or(Retention::default().messages),
                bytes: keys.store_bytes.unwrap_or(Retention::default().bytes),
            },
            log: keys.log.as_ref().map(|path| files.path(path)),
            rotation: Rotation {
                bytes: keys.log_bytes.unwrap_or(Rotation::default().bytes),
                files: keys.log_files.unwrap_or(Rotation::default().files),
            },
            schedule: keys.schedule.as_ref().map(schedule).transpose()?,
            credentials: keys
                .credentials
                .map(|keys| Credentials::build(keys, role, files))
                .transpose()?,
            msg_type_anywhere: keys.msg_type_anywhere.unwrap_or(false),
            logon_fields: logon_fields(&keys.logon_fields)?,
            addresses: addresses(keys.addresses)?,
            reconnect_min,
            reconnect_max: reconnect_max.max(reconnect_min),
            connect_timeout: Nanos::from_secs(keys.connect_timeout_seconds.unwrap_or(10).into()),
            tls: None,
            waiting_bytes_max: keys.waiting_bytes_max.unwrap_or(WAITING_BYTES_MAX),
        })
    }

    /// A session for a peer of its own; [`SessionSettings::is_dynamic`] no longer holds.
    #[must_use]
    pub fn for_peer(&self, peer: CompId) -> Self {
        let mut settings = self.clone();
        settings.config.target_comp_id = peer;
        settings.is_dynamic = false;
        settings
    }

    /// Whether a Logon carries the credentials that an acceptor asks for; an initiator asks for
    /// none.
    pub(crate) fn admits(&self, logon: Received<'_>) -> bool {
        let credentials = self.credentials.as_ref();
        self.config.role == Role::Initiator || credentials.is_none_or(|it| it.are_in(logon))
    }

    /// Names of files: version, us, peer, with hyphens between them. A byte that a file name should
    /// not hold, and a hyphen within a name, becomes `%` and two digits, so that no two sessions
    /// share a file.
    #[must_use]
    pub fn file_name(&self) -> String {
        let config = &self.config;
        let names =
            [config.begin.as_str(), config.sender_comp_id.as_str(), config.target_comp_id.as_str()];
        names.map(safe).join("-")
    }

    pub(super) fn has_same_identity(&self, other: &Self) -> bool {
        let (one, other) = (&self.config, &other.config);
        (one.begin, one.sender_comp_id, one.target_comp_id)
            == (other.begin, other.sender_comp_id, other.target_comp_id)
    }
}

fn safe(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'.' | b'_' => text.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => text.push(char::from(byte)),
            byte => text += &format!("%{byte:02X}"),
        }
    }
    text
}

impl fmt::Debug for SessionSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionSettings").field(&self.file_name()).finish()
    }
}

fn seconds(key: &str, value: Option<f64>, otherwise: f64) -> Result<Nanos, SettingsError> {
    let value = value.unwrap_or(otherwise);
    if (0.001..=86_400.0).contains(&value) {
        return Ok(Nanos((value * 1e9) as i64));
    }
    Err(wrong(format!("{key} {value} is not between 0.001 and 86400")))
}

fn logon_fields(keys: &BTreeMap<String, String>) -> Result<Vec<(i32, String)>, SettingsError> {
    let one = |(tag, value): (&String, &String)| {
        let number = tag.parse::<i32>().ok().filter(|tag| *tag > 0);
        let number = number.ok_or_else(|| wrong(format!("logon_fields: \"{tag}\" is no tag")))?;
        if value.is_empty() || value.bytes().any(|byte| byte == 1) {
            return Err(wrong(format!("logon_fields.{tag}: a value is not empty and has no SOH")));
        }
        Ok((number, value.clone()))
    };
    keys.iter().map(one).collect()
}

fn addresses(texts: Vec<String>) -> Result<Vec<String>, SettingsError> {
    let port = |text: &str| text.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    match texts.iter().find(|text| port(text).is_none()) {
        Some(text) => Err(wrong(format!("addresses: \"{text}\" is no HOST:PORT"))),
        None => Ok(texts),
    }
}

fn config(
    keys: &SessionKeys,
    role: Role,
    files: &mut Files,
) -> Result<SessionConfig, SettingsError> {
    let begin = BeginString::from_bytes(keys.begin_string.as_bytes()).ok_or_else(|| {
        let known: Vec<_> = BeginString::ALL.iter().map(|begin| begin.as_str()).collect();
        wrong(format!("begin_string \"{}\" is none of {}", keys.begin_string, known.join(", ")))
    })?;
    let comp_id = |key: &str, text: &str| {
        CompId::new(text.as_bytes()).ok_or_else(|| {
            wrong(format!("{key} \"{text}\" is not 1 to 31 printable ASCII characters"))
        })
    };
    let us = comp_id("sender_comp_id", &keys.sender_comp_id)?;
    let them = comp_id("target_comp_id", &keys.target_comp_id)?;
    let mut config = SessionConfig::new(role, begin, us, them);
    config.default_application_version = application_version(keys, begin)?;
    config.dictionaries = dictionaries(keys, begin, files)?;
    config.rules = rules(&keys.validate);
    config.message_bytes_max = keys.message_bytes_max.unwrap_or(MESSAGE_BYTES_MAX);
    if !(512..=16 << 20).contains(&config.message_bytes_max) {
        return Err(wrong("message_bytes_max is not between 512 and 16777216"));
    }
    config.held_bytes = config.message_bytes_max.max(config.held_bytes);
    if let Some(name) = &keys.timestamps {
        config.precision = precision(name)?;
    }
    let set = |to: &mut Nanos, seconds: Option<u32>| {
        if let Some(seconds) = seconds {
            *to = Nanos::from_secs(seconds.into());
        }
    };
    set(&mut config.heartbeat_interval, keys.heartbeat_seconds);
    set(&mut config.logon_timeout, keys.logon_timeout_seconds);
    set(&mut config.logout_timeout, keys.logout_timeout_seconds);
    set(&mut config.resend_timeout, keys.resend_timeout_seconds);
    set(&mut config.sending_time_tolerance, keys.sending_time_tolerance_seconds);
    let flags = [
        (&mut config.check_comp_ids, keys.check_comp_ids),
        (&mut config.reset_on_logon, keys.reset_on_logon),
        (&mut config.reset_on_logout, keys.reset_on_logout),
        (&mut config.reset_on_disconnect, keys.reset_on_disconnect),
        (&mut config.last_processed, keys.last_processed),
        (&mut config.next_expected, keys.next_expected),
        (&mut config.quickfix_compatible, keys.quickfix_compatible),
    ];
    for (flag, key) in flags {
        *flag = key.unwrap_or(*flag);
    }
    config.resend_chunk = keys.resend_chunk.unwrap_or(config.resend_chunk);
    Ok(config)
}

fn application_version(
    keys: &SessionKeys,
    begin: BeginString,
) -> Result<Option<u8>, SettingsError> {
    let Some(text) = keys.default_appl_ver_id.as_deref() else {
        return if begin == BeginString::Fixt11 {
            Err(wrong("FIXT.1.1 needs default_appl_ver_id, such as \"FIX.5.0SP2\""))
        } else {
            Ok(None)
        };
    };
    const NAMES: [&str; 9] = [
        "FIX.2.7",
        "FIX.3.0",
        "FIX.4.0",
        "FIX.4.1",
        "FIX.4.2",
        "FIX.4.3",
        "FIX.4.4",
        "FIX.5.0",
        "FIX.5.0SP1",
    ];
    match text.as_bytes() {
        [code @ b'0'..=b'9'] => Ok(Some(*code)),
        b"FIX.5.0SP2" => Ok(Some(b'9')),
        _ => {
            let place = NAMES.iter().position(|name| *name == text);
            let code = place.and_then(|place| u8::try_from(place).ok());
            // Code 0 is FIX 2.7; from there they count up.
            let code = code.ok_or_else(|| {
                wrong(format!("default_appl_ver_id \"{text}\" is no version such as FIX.5.0SP2"))
            })?;
            Ok(Some(b'0' + code))
        }
    }
}

fn dictionaries(
    keys: &SessionKeys,
    begin: BeginString,
    files: &mut Files,
) -> Result<Option<Dictionaries>, SettingsError> {
    let mut read =
        |path: &Option<PathBuf>| path.as_deref().map(|path| files.dictionary(path)).transpose();
    let (application, transport) = (read(&keys.dictionary)?, read(&keys.transport_dictionary)?);
    match (application, transport) {
        (None, None) => Ok(None),
        (Some(application), Some(transport)) => Ok(Some(Dictionaries { transport, application })),
        (Some(both), None) if begin != BeginString::Fixt11 => Ok(Some(Dictionaries::one(both))),
        (Some(_), None) => Err(wrong("FIXT.1.1 needs transport_dictionary beside dictionary")),
        (None, Some(_)) => Err(wrong("transport_dictionary needs dictionary beside it")),
    }
}

fn rules(keys: &RuleKeys) -> Rules {
    let all = Rules::ALL;
    Rules {
        field_order: keys.field_order.unwrap_or(all.field_order),
        values_present: keys.values_present.unwrap_or(all.values_present),
        user_defined: keys.user_defined.unwrap_or(all.user_defined),
        allow_unknown_fields: keys.allow_unknown_fields.unwrap_or(all.allow_unknown_fields),
        required: keys.required.unwrap_or(all.required),
        formats: keys.formats.unwrap_or(all.formats),
        ranges: keys.ranges.unwrap_or(all.ranges),
        group_counts: keys.group_counts.unwrap_or(all.group_counts),
        group_starts: keys.group_starts.unwrap_or(all.group_starts),
        data_lengths: keys.data_lengths.unwrap_or(all.data_lengths),
    }
}

fn precision(name: &str) -> Result<Precision, SettingsError> {
    Ok(match name {
        "seconds" => Precision::Seconds,
        "millis" => Precision::Millis,
        "micros" => Precision::Micros,
        "nanos" => Precision::Nanos,
        "picos" => Precision::Picos,
        _ => {
            let known = "seconds, millis, micros, nanos, picos";
            return Err(wrong(format!("timestamps \"{name}\" is none of {known}")));
        }
    })
}

fn sync(name: Option<&str>) -> Result<Sync, SettingsError> {
    Ok(match name {
        None | Some("each_batch") => Sync::EachBatch,
        Some("each_message") => Sync::EachMessage,
        Some("never") => Sync::Never,
        Some(name) => {
            let known = "each_message, each_batch, never";
            return Err(wrong(format!("sync \"{name}\" is none of {known}")));
        }
    })
}

fn schedule(keys: &ScheduleKeys) -> Result<Schedule, SettingsError> {
    let time = |key: &str, text: &str| {
        let parsed = text.parse::<Time>();
        parsed.map_err(|_| wrong(format!("schedule.{key} \"{text}\" is no time such as 17:30:00")))
    };
    let days = match (&keys.start_day, &keys.end_day) {
        (Some(start), Some(end)) if keys.days.is_empty() => {
            Days::Weekly { start: weekday(start)?, end: weekday(end)? }
        }
        (None, None) => {
            Days::Daily(keys.days.iter().map(|day| weekday(day)).collect::<Result<_, _>>()?)
        }
        _ => return Err(wrong("schedule: give start_day with end_day, or days, or neither")),
    };
    let (start, end) = (time("start", &keys.start)?, time("end", &keys.end)?);
    Ok(Schedule { start, end, days, zone: zone(keys.zone.as_deref())? })
}

fn weekday(name: &str) -> Result<Weekday, SettingsError> {
    let known = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    let lower = name.to_ascii_lowercase();
    // "mon" and "Mon" are as good; so few letters are not ambiguous.
    let found = known.iter().find(|(full, _)| lower.len() >= 3 && full.starts_with(&lower));
    let found = found.map(|(_, day)| *day);
    found.ok_or_else(|| wrong(format!("schedule: \"{name}\" is no day such as monday")))
}

/// `UTC`, an offset such as `+02:00`, `local`, or a name of the IANA time zones.
fn zone(name: Option<&str>) -> Result<TimeZone, SettingsError> {
    let Some(name) = name else { return Ok(TimeZone::UTC) };
    if name == "local" {
        return Ok(TimeZone::system());
    }
    if let Some(offset) = offset(name) {
        return Ok(TimeZone::fixed(offset));
    }
    TimeZone::get(name).map_err(|_| {
        wrong(format!("schedule.zone \"{name}\" is no zone such as Europe/Berlin or +02:00"))
    })
}

fn offset(text: &str) -> Option<Offset> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    let seconds = i32::from(hours) * 3600 + i32::from(minutes) * 60;
    (hours < 24 && minutes < 60).then(|| Offset::from_seconds(sign * seconds).ok())?
}
