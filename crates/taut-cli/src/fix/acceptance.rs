//! The sessions that the QuickFIX acceptance suite connects to.

use std::path::Path;
use std::sync::Arc;

use taut_fix::{BeginString, CompId, Dictionaries, Dictionary, Role, Rules, SessionConfig};
use taut_fix_engine::{SessionSettings, Settings};

use crate::exit::Failure;
use crate::terminal::tell;

/// What we are called.
const OUR_COMP_ID: &[u8] = b"ISLD";

/// One session of the suite.
struct Profile {
    begin: BeginString,
    /// What the peer is called.
    peer: &'static str,
    transport: &'static str,
    application: &'static str,
    application_version: Option<u8>,
    values_present: bool,
}

const fn plain(begin: BeginString, peer: &'static str, dictionary: &'static str) -> Profile {
    let (transport, application) = (dictionary, dictionary);
    let application_version = None;
    Profile { begin, peer, transport, application, application_version, values_present: true }
}

const fn fixt(peer: &'static str, application: &'static str, version: u8) -> Profile {
    Profile {
        application,
        application_version: Some(version),
        ..plain(BeginString::Fixt11, peer, "FIXT11.xml")
    }
}

const PROFILES: [Profile; 10] = [
    plain(BeginString::Fix40, "TW40", "FIX40.xml"),
    plain(BeginString::Fix41, "TW41", "FIX41.xml"),
    plain(BeginString::Fix42, "TW42", "FIX42.xml"),
    plain(BeginString::Fix43, "TW43", "FIX43.xml"),
    plain(BeginString::Fix44, "TW44", "FIX44.xml"),
    fixt("TW50", "FIX50.xml", b'7'),
    fixt("TW50SP1", "FIX50SP1.xml", b'8'),
    fixt("TW50SP2", "FIX50SP2.xml", b'9'),
    plain(BeginString::Fix44, "TW", "FIX44.xml"),
    Profile {
        values_present: false,
        ..plain(BeginString::Fix44, "NO_CHECK_FIELDS_HAVE_VALUES", "FIX44.xml")
    },
];

/// The sessions whose dictionaries are in the folder, told one by one.
pub fn settings(folder: &Path) -> Result<Settings, Failure> {
    std::fs::read_dir(folder).map_err(|error| Failure::unreadable(folder, error))?;
    let mut loaded: Vec<(&'static str, Arc<Dictionary>)> = Vec::new();
    let mut sessions = Vec::new();
    for profile in &PROFILES {
        let names = [profile.transport, profile.application];
        let label = format!("{} {}", profile.begin.as_str(), profile.peer);
        if let Some(missing) = names.iter().find(|name| !folder.join(name).is_file()) {
            tell(format_args!("not enabled: {label} ({missing} is not there)"));
            continue;
        }
        let [transport, application] = names.map(|name| dictionary(folder, name, &mut loaded));
        let dictionaries = Dictionaries { transport: transport?, application: application? };
        sessions.push(SessionSettings::new(config(profile, dictionaries)?));
        tell(format_args!("enabled: {label} ({})", profile.application));
    }
    if sessions.is_empty() {
        let folder = folder.display();
        return Err(Failure::Usage(format!("{folder} holds no dictionary such as FIX44.xml")));
    }
    // The suite logs on wrongly on purpose, and often.
    Ok(Settings { failed_logons_per_minute: 0, ..Settings::new(sessions) })
}

fn config(profile: &Profile, dictionaries: Dictionaries) -> Result<SessionConfig, Failure> {
    let name = |text: &[u8]| {
        CompId::new(text).ok_or_else(|| Failure::Run(String::from("a CompID is too long")))
    };
    let (ours, theirs) = (name(OUR_COMP_ID)?, name(profile.peer.as_bytes())?);
    let mut config = SessionConfig::new(Role::Acceptor, profile.begin, ours, theirs);
    config.default_application_version = profile.application_version;
    config.dictionaries = Some(dictionaries);
    config.rules = Rules { values_present: profile.values_present, ..Rules::ALL };
    config.reset_on_logon = true;
    Ok(config)
}

/// Each file is read once.
fn dictionary(
    folder: &Path,
    name: &'static str,
    loaded: &mut Vec<(&'static str, Arc<Dictionary>)>,
) -> Result<Arc<Dictionary>, Failure> {
    if let Some((_, dictionary)) = loaded.iter().find(|(known, _)| *known == name) {
        return Ok(Arc::clone(dictionary));
    }
    let path = folder.join(name);
    let dictionary =
        taut_fix_engine::dictionary::load(&path).map_err(|error| Failure::in_file(&path, error))?;
    let dictionary = Arc::new(dictionary);
    loaded.push((name, Arc::clone(&dictionary)));
    Ok(dictionary)
}
