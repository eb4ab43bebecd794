//! What a Logon carries beyond the session's own fields.

use std::fmt;
use std::path::Path;

use taut_fix::{LogonContext, Received, Role, Writer};
use taut_types::Nanos;

use crate::auth::{BinanceLogon, DeribitLogon, NONCE_BYTES, check_deribit, seed_from_pem};
use crate::settings::error::{SettingsError, wrong};
use crate::settings::files::Files;
use crate::settings::keys::CredentialKeys;

/// Who logs on, and how that is proved. Secrets do not show in `Debug`.
#[derive(Clone)]
pub enum Credentials {
    /// Username (553) and Password (554) as they are.
    Password {
        /// Username (553).
        username: String,
        /// Password (554).
        password: String,
    },
    /// A nonce and a hash of it with the secret; see [`DeribitLogon`].
    Deribit {
        /// The client's id.
        client_id: String,
        /// The client's secret.
        secret: String,
    },
    /// A signature; see [`BinanceLogon`].
    Binance {
        /// The API key: Username (553).
        api_key: String,
        /// The private key's seed.
        seed: [u8; 32],
    },
}

impl Credentials {
    pub(super) fn build(
        keys: CredentialKeys,
        role: Role,
        files: &Files,
    ) -> Result<Self, SettingsError> {
        let secret = match (keys.secret, &keys.secret_file) {
            (Some(secret), None) => secret,
            (None, Some(path)) => read(&files.path(path))?,
            _ => return Err(wrong("credentials: give secret or secret_file, one of both")),
        };
        Self::new(&keys.kind, keys.username, secret, role)
    }

    /// Credentials of this kind: `password`, `deribit` or `binance`, whose secret is an Ed25519 key
    /// in PEM.
    ///
    /// # Errors
    /// What is wrong with them; the secret is not repeated.
    pub fn new(
        kind: &str,
        username: String,
        secret: String,
        role: Role,
    ) -> Result<Self, SettingsError> {
        let is_clean = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte >= b' ');
        if kind != "binance" && !(is_clean(&username) && is_clean(&secret)) {
            return Err(wrong("credentials: username and secret are one line of text"));
        }
        match kind {
            "password" => Ok(Self::Password { username, password: secret }),
            "deribit" => Ok(Self::Deribit { client_id: username, secret }),
            "binance" if role == Role::Initiator => {
                let seed = seed_from_pem(secret.as_bytes())
                    .ok_or_else(|| wrong("credentials: the secret is no Ed25519 key in PEM"))?;
                Ok(Self::Binance { api_key: username, seed })
            }
            "binance" => Err(wrong("credentials: binance is for initiators")),
            kind => {
                let known = "password, deribit, binance";
                Err(wrong(format!("credentials.kind \"{kind}\" is none of {known}")))
            }
        }
    }

    /// Writes them into our Logon. `nonce` gives random bytes that no Logon had before;
    /// `last_signed` is the time of the last one.
    pub fn write(
        &self,
        nonce: impl FnOnce() -> Option<[u8; NONCE_BYTES]>,
        last_signed: &mut Nanos,
        context: &LogonContext,
        writer: &mut Writer<'_>,
    ) {
        match self {
            Self::Password { username, password } => {
                writer.text::<553>(username.as_bytes());
                writer.text::<554>(password.as_bytes());
            }
            Self::Deribit { client_id, secret } => {
                // Without a nonce the Logon goes unsigned, and the venue refuses it.
                let Some(nonce) = nonce() else { return };
                let mut logon = DeribitLogon::new(client_id.as_bytes(), secret.as_bytes(), nonce)
                    .after(*last_signed);
                logon.write(context.now.utc, writer);
                *last_signed = context.now.utc.max(*last_signed + Nanos(1_000_000));
            }
            Self::Binance { api_key, seed } => {
                BinanceLogon::new(api_key.as_bytes(), seed).write(context, writer);
            }
        }
    }

    /// Whether a peer's Logon carries them.
    pub(super) fn are_in(&self, logon: Received<'_>) -> bool {
        let is = |tag, expected: &str| logon.value(tag) == Some(expected.as_bytes());
        match self {
            Self::Password { username, password } => is(553, username) && is(554, password),
            Self::Deribit { client_id, secret } => {
                let [raw, password] = [96, 554].map(|tag| logon.value(tag).unwrap_or_default());
                is(553, client_id) && check_deribit(raw, password, secret.as_bytes())
            }
            // No venue of ours signs like this.
            Self::Binance { .. } => false,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password { .. } => "Password",
            Self::Deribit { .. } => "Deribit",
            Self::Binance { .. } => "Binance",
        })
    }
}

fn read(path: &Path) -> Result<String, SettingsError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(format!("{}: {error}", path.display())))?;
    Ok(text.trim_end().to_owned())
}
