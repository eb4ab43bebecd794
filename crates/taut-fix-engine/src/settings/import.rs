//! From QuickFIX's settings (`[DEFAULT]`, `[SESSION]`, `Key=Value`) to ours.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::settings::error::{SettingsError, wrong};

/// A section of the file: keys without their case, with their own spelling and their values.
type Section = BTreeMap<String, (String, String)>;

/// How a value is carried over.
enum Kind {
    Text,
    Number,
    Flag,
    /// A flag that means the opposite.
    NotFlag,
}

/// Keys with an equal of their own: theirs, ours, and how.
const KEYS: [(&str, &str, Kind); 32] = [
    ("BeginString", "begin_string", Kind::Text),
    ("SenderCompID", "sender_comp_id", Kind::Text),
    ("TargetCompID", "target_comp_id", Kind::Text),
    ("DefaultApplVerID", "default_appl_ver_id", Kind::Text),
    ("TransportDataDictionary", "transport_dictionary", Kind::Text),
    ("HeartBtInt", "heartbeat_seconds", Kind::Number),
    ("LogonTimeout", "logon_timeout_seconds", Kind::Number),
    ("LogoutTimeout", "logout_timeout_seconds", Kind::Number),
    ("CheckCompID", "check_comp_ids", Kind::Flag),
    ("ResetOnLogon", "reset_on_logon", Kind::Flag),
    ("ResetOnLogout", "reset_on_logout", Kind::Flag),
    ("ResetOnDisconnect", "reset_on_disconnect", Kind::Flag),
    ("ResendRequestChunkSize", "resend_chunk", Kind::Number),
    ("EnableLastMsgSeqNumProcessed", "last_processed", Kind::Flag),
    ("EnableNextExpectedMsgSeqNum", "next_expected", Kind::Flag),
    ("ReconnectInterval", "reconnect_seconds", Kind::Number),
    ("SocketConnectTimeout", "connect_timeout_seconds", Kind::Number),
    ("FileStorePath", "store", Kind::Text),
    ("FileLogPath", "log", Kind::Text),
    ("ValidateFieldsOutOfOrder", "validate.field_order", Kind::Flag),
    ("ValidateFieldsHaveValues", "validate.values_present", Kind::Flag),
    ("ValidateUserDefinedFields", "validate.user_defined", Kind::Flag),
    ("AllowUnknownMsgFields", "validate.allow_unknown_fields", Kind::Flag),
    ("ValidateUnorderedGroupFields", "validate.group_counts", Kind::Flag),
    ("CheckRequiredTags", "validate.required", Kind::Flag),
    ("SkipFieldFormatChecks", "validate.formats", Kind::NotFlag),
    ("StartTime", "schedule.start", Kind::Text),
    ("EndTime", "schedule.end", Kind::Text),
    ("StartDay", "schedule.start_day", Kind::Text),
    ("EndDay", "schedule.end_day", Kind::Text),
    ("TimeZone", "schedule.zone", Kind::Text),
    ("DefaultTimeZone", "schedule.zone", Kind::Text),
];

/// Keys that other rules below read.
const HANDLED: [&str; 16] = [
    "ConnectionType",
    "DataDictionary",
    "AppDataDictionary",
    "UseDataDictionary",
    "CheckLatency",
    "MaxLatency",
    "NonStopSession",
    "UseLocalTime",
    "Weekdays",
    "MillisecondsInTimeStamp",
    "TimestampPrecision",
    "FileStoreSync",
    "SocketConnectHost",
    "SocketConnectPort",
    "SocketUseSSL",
    "CertificateVerifyLevel",
];

/// Files in PEM, of quickfixgo and of QuickFIX: theirs, and ours in the table `tls`. Those of
/// QuickFIX are for TLS by being there.
const TLS_FILES: [(&str, &str); 10] = [
    ("SocketCertificateFile", "tls.certificate"),
    ("SocketPrivateKeyFile", "tls.key"),
    ("SocketCAFile", "tls.ca"),
    ("SocketServerName", "tls.server_name"),
    ("SNIHostName", "tls.server_name"),
    ("ServerCertificateFile", "tls.certificate"),
    ("ServerCertificateKeyFile", "tls.key"),
    ("ClientCertificateFile", "tls.certificate"),
    ("ClientCertificateKeyFile", "tls.key"),
    ("CertificationAuthoritiesFile", "tls.ca"),
];

/// Settings of TLS that stay behind, and what to do about them.
const TLS_ELSEWHERE: [(&str, &str); 10] = [
    ("SocketKeyStore", "export certificate and key as PEM files: tls.certificate, tls.key"),
    ("SocketTrustStore", "export the certificates as a PEM file: tls.ca"),
    ("SocketKeyStorePassword", ""),
    ("SocketTrustStorePassword", ""),
    ("KeyStoreType", ""),
    ("TrustStoreType", ""),
    ("SocketInsecureSkipVerify", "the acceptor's certificate is always verified"),
    ("NeedClientAuth", "clients must show a certificate when tls.ca names its roots"),
    ("EnabledProtocols", "TLS 1.2 and 1.3 are spoken"),
    ("CipherSuites", "those of TLS 1.3, and of 1.2 with forward secrecy, are spoken"),
];

/// Makes our TOML out of a QuickFIX settings file. What has no equal stands as a comment in the
/// session that it belongs to.
///
/// # Errors
/// A line is no section, setting or comment, or a value is not what its key wants.
pub fn import_quickfix(text: &str) -> Result<String, SettingsError> {
    let (defaults, sessions) = sections(text)?;
    let mut out = String::from("# Made from a QuickFIX settings file by `taut fix import`.\n");
    for own in sessions {
        let mut merged = defaults.clone();
        merged.extend(own);
        out += "\n[[sessions]]\n";
        out += &session(&merged)?;
    }
    Ok(out)
}

fn sections(text: &str) -> Result<(Section, Vec<Section>), SettingsError> {
    let mut defaults = Section::new();
    let mut sessions: Vec<Section> = Vec::new();
    let mut is_default = true;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fault = |what: &str| wrong(format!("line {}: {what}: {line}", at + 1));
        if let Some(name) = line.strip_prefix('[') {
            match name.trim_end_matches(']').trim().to_ascii_uppercase().as_str() {
                "DEFAULT" => is_default = true,
                "SESSION" => {
                    is_default = false;
                    sessions.push(Section::new());
                }
                _ => return Err(fault("a section is [DEFAULT] or [SESSION]")),
            }
            continue;
        }
        let (key, value) = line.split_once('=').ok_or_else(|| fault("this is no Key=Value"))?;
        let entry = (key.trim().to_owned(), value.trim().to_owned());
        let section = if is_default { Some(&mut defaults) } else { sessions.last_mut() };
        if let Some(section) = section {
            section.insert(entry.0.to_ascii_lowercase(), entry);
        }
    }
    if sessions.is_empty() {
        return Err(wrong("the file has no [SESSION]"));
    }
    Ok((defaults, sessions))
}

/// The lines of one session: plain keys, then tables.
#[derive(Default)]
struct Lines {
    plain: String,
    tables: BTreeMap<&'static str, String>,
}

impl Lines {
    /// `key` may name a table: `schedule.start`.
    fn put(&mut self, key: &'static str, value: &str) {
        match key.split_once('.') {
            None => _ = writeln!(self.plain, "{key} = {value}"),
            Some((table, key)) => {
                _ = writeln!(self.tables.entry(table).or_default(), "{key} = {value}");
            }
        }
    }
}

fn session(section: &Section) -> Result<String, SettingsError> {
    let get = |key: &str| section.get(&key.to_ascii_lowercase()).map(|(_, value)| value.as_str());
    let mut lines = Lines::default();
    let is_non_stop = get("NonStopSession").is_some_and(is_yes);
    for (theirs, ours, kind) in &KEYS {
        let Some(value) = get(theirs) else { continue };
        if ours.starts_with("schedule") && is_non_stop {
            continue;
        }
        let converted = convert(value, kind)
            .ok_or_else(|| wrong(format!("{theirs}={value}: this value cannot be read")))?;
        lines.put(ours, &converted);
    }
    put_special(&get, &mut lines)?;
    put_hours(&get, &mut lines, is_non_stop);
    put_addresses(section, &get, &mut lines);
    put_tls(&get, &mut lines);
    let is_known = |key: &str| {
        let has = |known: &str| known.eq_ignore_ascii_case(key);
        KEYS.iter().any(|(theirs, ..)| has(theirs))
            || HANDLED.iter().any(|known| has(known))
            || TLS_FILES.iter().any(|(known, ..)| has(known))
            || TLS_ELSEWHERE.iter().any(|(known, _)| has(known))
            || is_numbered(key)
    };
    for (key, value) in section.values() {
        if !is_known(key) {
            _ = writeln!(lines.plain, "# not carried over: {key}={value}");
        }
    }
    for (table, text) in &lines.tables {
        _ = write!(lines.plain, "\n[sessions.{table}]\n{text}");
    }
    Ok(lines.plain)
}

/// Keys whose meaning takes more than a word.
fn put_special<'a>(
    get: &impl Fn(&str) -> Option<&'a str>,
    lines: &mut Lines,
) -> Result<(), SettingsError> {
    if let Some(role) = get("ConnectionType") {
        _ = writeln!(lines.plain, "# ConnectionType={role}: the command says which side this is");
    }
    let dictionary = get("AppDataDictionary").or_else(|| get("DataDictionary"));
    if let Some(path) = dictionary.filter(|_| get("UseDataDictionary").is_none_or(is_yes)) {
        lines.put("dictionary", &quoted(path));
    }
    let is_checked = get("CheckLatency").is_none_or(is_yes);
    match get("MaxLatency").filter(|_| is_checked) {
        _ if !is_checked => lines.put("sending_time_tolerance_seconds", "0"),
        Some(seconds) => {
            let number: u32 = seconds.parse().map_err(|_| {
                wrong(format!("MaxLatency={seconds}: this is no number of seconds"))
            })?;
            lines.put("sending_time_tolerance_seconds", &number.to_string());
        }
        None => {}
    }
    let digits = get("TimestampPrecision").map(str::to_ascii_uppercase);
    let timestamps = match digits.as_deref() {
        Some("0" | "SECONDS") => Some("seconds"),
        Some("3" | "MILLIS") => Some("millis"),
        Some("6" | "MICROS") => Some("micros"),
        Some("9" | "NANOS") => Some("nanos"),
        Some(other) => return Err(wrong(format!("TimestampPrecision={other} is not known"))),
        None => get("MillisecondsInTimeStamp").filter(|value| !is_yes(value)).map(|_| "seconds"),
    };
    if let Some(timestamps) = timestamps {
        lines.put("timestamps", &quoted(timestamps));
    }
    if get("FileStoreSync").is_some_and(is_yes) {
        lines.put("sync", &quoted("each_message"));
    }
    Ok(())
}

fn put_hours<'a>(get: &impl Fn(&str) -> Option<&'a str>, lines: &mut Lines, is_non_stop: bool) {
    if is_non_stop {
        return;
    }
    if get("UseLocalTime").is_some_and(is_yes) {
        lines.put("schedule.zone", &quoted("local"));
    }
    if let Some(days) = get("Weekdays") {
        let days: Vec<_> = days.split(',').map(|day| quoted(day.trim())).collect();
        lines.put("schedule.days", &format!("[{}]", days.join(", ")));
    }
}

/// SocketConnectHost and SocketConnectPort, then those with numbers behind them.
fn put_addresses<'a>(section: &Section, get: &impl Fn(&str) -> Option<&'a str>, lines: &mut Lines) {
    let mut addresses = Vec::new();
    let suffixes = std::iter::once(String::new()).chain((0..100).map(|n: u32| n.to_string()));
    for suffix in suffixes {
        let host = section.get(&format!("socketconnecthost{suffix}"));
        let port = get(&format!("SocketConnectPort{suffix}")).or_else(|| get("SocketConnectPort"));
        if let (Some((_, host)), Some(port)) = (host, port) {
            addresses.push(quoted(&format!("{host}:{port}")));
        }
    }
    if !addresses.is_empty() {
        lines.put("addresses", &format!("[{}]", addresses.join(", ")));
    }
}

/// A session has TLS by `SocketUseSSL`, or without that key by files of QuickFIX.
fn put_tls<'a>(get: &impl Fn(&str) -> Option<&'a str>, lines: &mut Lines) {
    let is_on = get("SocketUseSSL").map_or_else(
        || {
            TLS_FILES.iter().any(|(theirs, _)| !theirs.starts_with('S') && get(theirs).is_some())
                || get("ServerCertificateFile").is_some()
        },
        is_yes,
    );
    let mut put: Vec<&str> = Vec::new();
    for (theirs, ours) in &TLS_FILES {
        let Some(value) = get(theirs) else { continue };
        if is_on && !put.contains(ours) {
            lines.put(ours, &quoted(value));
            put.push(ours);
        } else {
            _ = writeln!(lines.plain, "# not carried over: {theirs}={value}");
        }
    }
    for (theirs, remedy) in &TLS_ELSEWHERE {
        let Some(value) = get(theirs) else { continue };
        // A password is no comment.
        let value = if theirs.ends_with("Password") { "..." } else { value };
        let remedy = if remedy.is_empty() { String::new() } else { format!(" ({remedy})") };
        _ = writeln!(lines.plain, "# not carried over: {theirs}={value}{remedy}");
    }
    if let Some(value) = get("CertificateVerifyLevel") {
        _ = writeln!(lines.plain, "# not carried over: CertificateVerifyLevel={value} (tls.ca)");
    }
    if is_on && put.is_empty() {
        lines.put("tls", "true");
    }
}

fn is_numbered(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let rest = ["socketconnecthost", "socketconnectport"]
        .iter()
        .find_map(|start| lower.strip_prefix(start).map(str::to_owned));
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn convert(value: &str, kind: &Kind) -> Option<String> {
    match kind {
        Kind::Text => Some(quoted(value)),
        Kind::Number => value.parse::<u64>().ok().map(|number| number.to_string()),
        Kind::Flag => flag(value).map(|flag| flag.to_string()),
        Kind::NotFlag => flag(value).map(|flag| (!flag).to_string()),
    }
}

fn flag(value: &str) -> Option<bool> {
    match value.to_ascii_uppercase().as_str() {
        "Y" | "YES" | "TRUE" => Some(true),
        "N" | "NO" | "FALSE" => Some(false),
        _ => None,
    }
}

fn is_yes(value: &str) -> bool {
    flag(value) == Some(true)
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
