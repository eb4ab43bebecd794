//! Secrets: never in a file of settings, only where they are.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, de};
use taut_fix::Role;
use taut_fix_engine::Credentials;
use taut_sys::tape::{self, Heard};
use toml::Value;

use crate::error::RunnerError;
use crate::mistakes::Mistake;

/// `session.credentials`: who logs on, and where the proof of it is. What stands in a wrong place
/// is not repeated: it may be the secret itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CredentialSettings {
    /// How the venue wants it: `password`, `deribit` or `binance`.
    pub kind: CredentialKind,
    /// Username (553): a client's id or an API key.
    pub username: String,
    /// Where the password, the client's secret or the private key in PEM is.
    pub password: SecretSource,
}

/// As the file says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CredentialKeys {
    #[serde(default)]
    kind: CredentialKind,
    username: String,
    password: SecretSource,
}

impl<'de> Deserialize<'de> for CredentialSettings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let wrong = "must have kind = \"password\", \"deribit\" or \"binance\", \
                     username = \"TEXT\" and password = { file = \"PATH\" }, { env = \"NAME\" } \
                     or { fd = NUMBER }, and nothing else: a secret does not stand in this file";
        let keys = Value::deserialize(from)?.try_into::<CredentialKeys>();
        let CredentialKeys { kind, username, password } =
            keys.map_err(|_| de::Error::custom(wrong))?;
        Ok(Self { kind, username, password })
    }
}

/// What a Logon carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CredentialKind {
    /// Username (553) and Password (554) as they are.
    #[default]
    Password,
    /// A nonce and a hash of it with the secret.
    Deribit,
    /// A signature.
    Binance,
}

/// Where a secret is. What stands in its place is not repeated: it may be the secret itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretSource {
    /// In a file that its owner alone may read (mode 0600 or less).
    File(PathBuf),
    /// In an environment variable.
    Env(String),
    /// Behind a file descriptor that is open when the program starts.
    Fd(u32),
}

impl<'de> Deserialize<'de> for SecretSource {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let wrong = "must be { file = \"PATH\" }, { env = \"NAME\" } or { fd = NUMBER }: a secret \
                     does not stand in this file";
        let Value::Table(table) = Value::deserialize(from)? else {
            return Err(de::Error::custom(wrong));
        };
        let mut entries = table.into_iter();
        match (entries.next(), entries.next()) {
            (Some((key, Value::String(path))), None) if key == "file" => {
                Ok(Self::File(path.into()))
            }
            (Some((key, Value::String(name))), None) if key == "env" => Ok(Self::Env(name)),
            (Some((key, Value::Integer(number))), None) if key == "fd" => {
                u32::try_from(number).map(Self::Fd).map_err(|_| de::Error::custom(wrong))
            }
            _ => Err(de::Error::custom(wrong)),
        }
    }
}

impl CredentialSettings {
    pub(super) fn start_paths_at(&mut self, folder: &Path) {
        self.password.start_paths_at(folder);
    }

    pub(super) fn mistake(&self) -> Option<Mistake> {
        let wrong = self.password.check().err()?;
        Some(Mistake::told(KEY, format!("{KEY}: {wrong}")))
    }

    /// Reads the secret.
    pub(super) fn build(&self) -> Result<Credentials, RunnerError> {
        let kind = match self.kind {
            CredentialKind::Password => "password",
            CredentialKind::Deribit => "deribit",
            CredentialKind::Binance => "binance",
        };
        let wrong = |what: &dyn std::fmt::Display| RunnerError::Settings(format!("{KEY}: {what}"));
        let secret = self.password.read().map_err(|error| wrong(&error))?;
        if tape::is_reading() && self.kind == CredentialKind::Binance {
            // What it signed is on the tape.
            return Ok(Credentials::Binance { api_key: self.username.clone(), seed: [0; 32] });
        }
        Credentials::new(kind, self.username.clone(), secret, Role::Initiator)
            .map_err(|error| wrong(&error))
    }
}

/// No secret is longer.
const SECRET_BYTES_MAX: usize = 1 << 16;

const KEY: &str = "session.credentials.password";

impl SecretSource {
    /// Reads `file:PATH` or `env:NAME`, as an argument of a program says it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            (_, "") => None,
            ("file", path) => Some(Self::File(path.into())),
            ("env", name) => Some(Self::Env(name.to_owned())),
            _ => None,
        }
    }

    /// The secret, for who is no part of a run that may be done again.
    ///
    /// # Errors
    /// It is not there, or others may read it: in words, without the secret.
    pub fn reveal(&self) -> Result<String, String> {
        self.read_now()
    }

    pub(super) fn start_paths_at(&mut self, folder: &Path) {
        if let Self::File(path) = self {
            *path = folder.join(&path);
        }
    }

    /// Where it is, in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::File(path) => format!("file {}", path.display()),
            Self::Env(name) => format!("environment variable {name}"),
            Self::Fd(number) => format!("file descriptor {number}"),
        }
    }

    /// Looks whether it can be read, as far as that can be seen without reading it.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::File(path) => check_mode(path),
            Self::Env(name) => std::env::var_os(name).map(drop).ok_or_else(|| self.unset()),
            Self::Fd(_) => Ok(()),
        }
    }

    /// The secret. Where a run is done again it is not there, and stars stand in its place.
    pub(super) fn read(&self) -> Result<String, String> {
        if tape::is_reading() {
            let length = tape::hear(Heard::Secret, || 0, |_, _| (), |from| from.number());
            let length = usize::try_from(length).unwrap_or(0).min(SECRET_BYTES_MAX);
            return Ok("*".repeat(length));
        }
        let secret = self.read_now()?;
        if tape::is_writing() {
            tape::withhold(secret.as_bytes());
        }
        tape::hear(Heard::Secret, || (), |(), on| on.number(secret.len() as u64), |_| None);
        Ok(secret)
    }

    fn read_now(&self) -> Result<String, String> {
        self.check()?;
        let text = match self {
            Self::File(path) => std::fs::read_to_string(path).map_err(|error| error.to_string()),
            Self::Env(name) => std::env::var(name).map_err(|_| self.unset()),
            Self::Fd(number) => std::fs::read_to_string(format!("/proc/self/fd/{number}"))
                .map_err(|error| error.to_string()),
        };
        let text = text.map_err(|error| format!("{}: {error}", self.words()))?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(format!("{}: nothing is in it", self.words()));
        }
        Ok(text.to_owned())
    }

    fn unset(&self) -> String {
        format!("{}: it is not set, or no text", self.words())
    }
}

/// A file that others may read holds no secret.
fn check_mode(path: &Path) -> Result<(), String> {
    let status = std::fs::metadata(path)
        .map_err(|error| format!("file {}: {error}; check the path", path.display()))?;
    let mode = status.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(format!(
            "file {} has mode {mode:04o}, which lets others at it; `chmod 600` it",
            path.display()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn file(mode: u32, text: &str) -> (tempfile::TempDir, SecretSource) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        std::fs::write(&path, text).expect("a file");
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, permissions).expect("its mode");
        (folder, SecretSource::File(path))
    }

    #[test]
    fn an_argument_names_a_file_or_a_variable() {
        let file = SecretSource::File("/run/x:y".into());
        assert_eq!(SecretSource::parse("file:/run/x:y"), Some(file));
        assert_eq!(SecretSource::parse("env:X"), Some(SecretSource::Env("X".to_owned())));
        for text in ["", "env:", "file:", "hunter2", "user:hunter2"] {
            assert_eq!(SecretSource::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_and_not_repeated() {
        for mode in [0o600, 0o400] {
            let (_folder, source) = file(mode, "hunter2\n");
            assert_eq!(source.read(), Ok("hunter2".to_owned()));
        }
        for (mode, word) in [(0o640, "0640"), (0o604, "0604"), (0o620, "0620")] {
            let (_folder, source) = file(mode, "hunter2\n");
            let said = source.read().expect_err("a wide mode");
            assert!(said.contains(word) && said.contains("chmod 600"), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
        let (_folder, empty) = file(0o600, "\n");
        assert!(empty.read().expect_err("nothing").contains("nothing is in it"));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let file = SecretSource::File("/nowhere/secret".into());
        assert!(file.read().expect_err("no file").contains("/nowhere/secret"));
        let variable = SecretSource::Env("TAUT_NO_SUCH_SECRET".into());
        assert!(variable.read().expect_err("unset").contains("TAUT_NO_SUCH_SECRET"));
        let descriptor = SecretSource::Fd(9_999);
        assert!(descriptor.read().expect_err("closed").contains("descriptor 9999"));
    }

    #[test]
    fn a_secret_in_the_place_of_something_else_is_not_repeated() {
        let good = "username = \"me\", password = { fd = 3 }";
        for keys in [
            "\"hunter2\"".to_owned(),
            "[\"hunter2\"]".to_owned(),
            format!("{{ kind = \"hunter2\", {good} }}"),
            format!("{{ hunter2 = 1, {good} }}"),
            "{ username = [\"hunter2\"], password = { fd = 3 } }".to_owned(),
        ] {
            let text = format!("credentials = {keys}\n");
            let error =
                toml::from_str::<std::collections::BTreeMap<String, CredentialSettings>>(&text)
                    .expect_err("no credentials");
            assert!(error.message().contains("username = \"TEXT\""), "{error}");
            assert!(!error.message().contains("hunter2"), "{}", error.message());
        }
    }

    #[test]
    fn a_secret_in_the_settings_is_refused_and_not_repeated() {
        for text in ["\"hunter2\"", "{ file = [\"hunter2\"] }", "[\"hunter2\"]", "{ hunter2 = 1 }"]
        {
            let text = format!("username = \"me\"\npassword = {text}\n");
            let error = toml::from_str::<CredentialSettings>(&text).expect_err("no place");
            assert!(error.message().contains("{ file ="), "{error}");
            assert!(!error.message().contains("hunter2"), "{error}");
        }
        let three = "username = \"me\"\npassword = { fd = 3 }\n";
        let settings = toml::from_str::<CredentialSettings>(three).expect("a place");
        assert_eq!(settings.password, SecretSource::Fd(3));
    }

    #[test]
    fn credentials_do_not_show_their_secret() {
        let (_folder, password) = file(0o600, "hunter2");
        let kind = CredentialKind::Password;
        let settings = CredentialSettings { kind, username: "me".to_owned(), password };
        let built = settings.build().expect("a password");
        assert!(!format!("{built:?} {settings:?}").contains("hunter2"));
        let key = CredentialSettings { kind: CredentialKind::Binance, ..settings };
        let said = key.build().expect_err("no key").to_string();
        assert!(said.contains("PEM") && !said.contains("hunter2"), "{said}");
    }
}
