//! Files with keys or accounts: readable for their owner alone.
//!
//! Lines of `name = value`, quotes around the value if you like, `#` before a remark. Keys are Z85
//! (ZeroMQ's certificate files are read as they are):
//!
//! | file | names |
//! |---|---|
//! | `curve`, a server's | `secret-key`; a `client-key` for each client that may connect, or none |
//! | `curve`, a client's | `secret-key`, and the `server-key`, which is what makes it a client's |
//! | `plain` | `user` and `password` in turn: a server takes them all, a client uses the first |

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use taut_zmtp::{Account, PublicKey, SecretKey, Security};

use crate::error::ChannelError;

const FILE_BYTES_MAX: u64 = 1 << 20;
const CURVE: &str = "`secret-key = ...` of 40 characters of Z85, and `server-key` or `client-key`";
const PLAIN: &str = "`user = ...` and `password = ...`, of at most 255 bytes each";

/// CURVE by a file of keys.
pub(super) fn curve(file: &Path) -> Result<Security, ChannelError> {
    let text = read(file)?;
    let (mut secret, mut server, mut clients) = (None, None, Vec::new());
    let wrong = || wrong(file, CURVE);
    for (name, value) in values(&text) {
        let public = || PublicKey::from_z85(value).map_err(|_| wrong());
        match name {
            "secret-key" => secret = Some(SecretKey::from_z85(value).map_err(|_| wrong())?),
            "server-key" => server = Some(public()?),
            "client-key" => clients.push(public()?),
            "public-key" => drop(public()?),
            _ => return Err(wrong()),
        }
    }
    let secret = secret.ok_or_else(wrong)?;
    match server {
        Some(_) if !clients.is_empty() => Err(wrong()),
        Some(server) => Ok(Security::CurveClient { secret, server }),
        None => {
            let clients = Some(clients).filter(|clients| !clients.is_empty());
            Ok(Security::CurveServer { secret, clients })
        }
    }
}

/// PLAIN by a file of accounts.
pub(super) fn plain(file: &Path, is_server: bool) -> Result<Security, ChannelError> {
    let text = read(file)?;
    let mut accounts = Vec::new();
    let mut user = None;
    let wrong = || wrong(file, PLAIN);
    for (name, value) in values(&text) {
        match (name, user) {
            ("user", None) => user = Some(value),
            ("password", Some(name)) => {
                accounts.push(Account::new(name, value).map_err(|_| wrong())?);
                user = None;
            }
            _ => return Err(wrong()),
        }
    }
    if user.is_some() || accounts.is_empty() {
        return Err(wrong());
    }
    let first = accounts.swap_remove(0);
    if is_server {
        accounts.push(first);
        return Ok(Security::PlainServer(accounts));
    }
    Ok(Security::PlainClient(first))
}

fn wrong(file: &Path, wanted: &'static str) -> ChannelError {
    ChannelError::File { file: file.display().to_string(), wanted }
}

fn read(file: &Path) -> Result<zeroize::Zeroizing<String>, ChannelError> {
    let name = || file.display().to_string();
    let io = |error| ChannelError::Io { what: name(), error };
    let opened = File::open(file).map_err(io)?;
    // Of what was opened, not of what the name stands for by now.
    if opened.metadata().map_err(io)?.permissions().mode() & 0o077 != 0 {
        return Err(ChannelError::Exposed { file: name() });
    }
    let mut text = zeroize::Zeroizing::new(String::with_capacity(4096));
    opened.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(io)?;
    Ok(text)
}

fn values(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().map(str::trim);
    // The sections of ZeroMQ's certificates are no values.
    let lines = lines.filter(|line| {
        !line.is_empty() && !line.starts_with('#') && !["metadata", "curve"].contains(line)
    });
    lines.map(|line| {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        let value = value.trim();
        let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        (name.trim(), bare.unwrap_or(value))
    })
}
