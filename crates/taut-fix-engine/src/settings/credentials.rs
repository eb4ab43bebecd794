//! What a Logon carries beyond the session's own fields.

use std::fmt;
use std::path::Path;

use taut_fix::Role;

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
    /// A nonce and a hash of it with the secret; see [`crate::auth::DeribitLogon`].
    Deribit {
        /// The client's id.
        client_id: String,
        /// The client's secret.
        secret: String,
    },
    /// A signature; see [`crate::auth::BinanceLogon`].
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
        let username = keys.username;
        let is_clean = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte >= b' ');
        if keys.kind != "binance" && !(is_clean(&username) && is_clean(&secret)) {
            return Err(wrong("credentials: username and secret are one line of text"));
        }
        match keys.kind.as_str() {
            "password" => Ok(Self::Password { username, password: secret }),
            "deribit" => Ok(Self::Deribit { client_id: username, secret }),
            "binance" if role == Role::Initiator => {
                let seed = crate::auth::seed_from_pem(secret.as_bytes())
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
