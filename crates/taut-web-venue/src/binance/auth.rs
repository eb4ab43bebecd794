//! Who asks: keys, signatures and their times, sessions that are logged on, listen keys.

use serde_json::{Value, json};

use crate::binance::error::{ApiError, error};
use crate::binance::keys::{ApiKey, ListenKey};
use crate::binance::methods::{Access, Act, Call, Source};
use crate::binance::session::{ApiSession, Kind, Logon};
use crate::binance::state::Binance;
use crate::front::{Denied, HttpRequest};

/// How long a request may be under way, in milliseconds, unless it says so.
const WINDOW_MS: i64 = 5_000;
const WINDOW_MAX_MS: i64 = 60_000;
/// How far a clock may be ahead.
const AHEAD_MS: i64 = 1_000;
/// A listen key's life.
const LISTEN_MS: i64 = 60 * 60_000;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    pub account: usize,
    pub read_only: bool,
}

impl Binance {
    /// Who asks, if it may.
    pub(super) fn caller(&self, call: &Call) -> Result<Caller, ApiError> {
        let params = &call.params;
        let named = match &call.source {
            Source::Http { key, .. } => key.as_deref(),
            Source::Socket { .. } => params.get("apiKey"),
            Source::Fix(_) => {
                let account = self.fix_account(call.connection).ok_or_else(|| error(-2015))?;
                if params.get("timestamp").is_some() {
                    self.check_time(call)?;
                }
                return allowed(call, account, false);
            }
        };
        if let Some(logon) = self.logon(call.connection).filter(|_| named.is_none()) {
            if call.method.access != Access::Key {
                self.check_time(call)?;
            }
            return allowed(call, logon.account, logon.read_only);
        }
        let named = named.ok_or_else(|| error(-2014))?;
        let key = self.keys.get(named).ok_or_else(|| error(-2015))?;
        if call.method.access != Access::Key {
            let signature = params.needed("signature")?;
            self.check_time(call)?;
            let text = match &call.source {
                Source::Http { signed, .. } => signed.clone(),
                Source::Socket { .. } | Source::Fix(_) => params.signed_text(),
            };
            if !key.has_signed(&text, signature) {
                return Err(error(-1022));
            }
        }
        allowed(call, key.account, key.read_only)
    }

    fn check_time(&self, call: &Call) -> Result<(), ApiError> {
        let window = call.params.decimal("recvWindow")?.map(|it| (it / 1_000_000_000) as i64);
        if window.is_some_and(|it| it > WINDOW_MAX_MS) {
            return Err(error(-1131));
        }
        let given = call.params.needed("timestamp")?;
        let given: i64 = given.parse().map_err(|_| ApiError::mandatory("timestamp"))?;
        // Microseconds are told by their size.
        let given = if given > 100_000_000_000_000 { given / 1_000 } else { given };
        let now = self.ms();
        if given >= now + AHEAD_MS {
            let text = "Timestamp for this request was 1000ms ahead of the server's time.";
            return Err(ApiError::new(-1021, text));
        }
        if now.saturating_sub(given) > window.unwrap_or(WINDOW_MS) {
            Err(error(-1021))
        } else {
            Ok(())
        }
    }

    /// Whether who asks may have the SBE streams: whoever has an Ed25519 key.
    pub(super) fn check_sbe_key(&self, request: &HttpRequest) -> Result<(), Denied> {
        let named = request.header("x-mbx-apikey");
        if named.and_then(|named| self.keys.get(named)).is_some_and(ApiKey::is_ed25519) {
            return Ok(());
        }
        let code = if named.is_none() { -2014 } else { -2015 };
        Err(Denied { status: 401, body: error(code).json().to_string() })
    }

    pub(super) fn api_session(&mut self, connection: u64) -> Option<&mut ApiSession> {
        match self.sessions.get_mut(&connection).map(|it| &mut it.kind) {
            Some(Kind::Api(session)) => Some(session),
            _ => None,
        }
    }

    fn logon(&self, connection: u64) -> Option<&Logon> {
        match self.sessions.get(&connection).map(|it| &it.kind) {
            Some(Kind::Api(session)) => session.logon.as_ref(),
            _ => None,
        }
    }

    /// `session.logon`: for Ed25519 keys only.
    pub(super) fn log_on(&mut self, call: &Call, caller: Caller) -> Result<Value, ApiError> {
        let named = call.params.needed("apiKey")?.to_owned();
        if !self.keys.get(&named).is_some_and(ApiKey::is_ed25519) {
            return Err(ApiError::new(-4056, "HMAC_SHA256 API key is not supported."));
        }
        let since_ms = self.ms();
        if let Some(session) = self.api_session(call.connection) {
            let Caller { account, read_only } = caller;
            session.logon = Some(Logon { account, read_only, key: named, since_ms });
        }
        Ok(self.session_status(call))
    }

    /// `session.status`, `session.logout` behind its work.
    pub(super) fn session_status(&self, call: &Call) -> Value {
        let logon = self.logon(call.connection);
        let session = self.sessions.get(&call.connection);
        let api = session.and_then(|it| match &it.kind {
            Kind::Api(api) => Some(api),
            Kind::Streams { .. } => None,
        });
        json!({
            "apiKey": logon.map(|it| &it.key),
            "authorizedSince": logon.map(|it| it.since_ms),
            "connectedSince": session.map(|it| it.since_ms),
            "returnRateLimits": api.is_some_and(|it| !it.hides_limits),
            "serverTime": self.ms(),
            "userDataStream": api.is_some_and(|it| !it.user_streams.is_empty()),
        })
    }

    /// POST, PUT and DELETE of the listen key, which the venue itself has given up.
    pub(super) fn listen_key(&mut self, call: &Call, account: usize) -> Result<Value, ApiError> {
        let expires_ms = self.ms() + LISTEN_MS;
        let own = self.listen_keys.iter().find(|(_, it)| it.account == account);
        let own = own.map(|(key, _)| key.clone());
        match call.params.get("listenKey").map(str::to_owned) {
            _ if call.method.act == Act::ListenStart => {
                let key = own.unwrap_or_else(|| self.unique_name(60));
                self.listen_keys.insert(key.clone(), ListenKey { account, expires_ms });
                Ok(json!({ "listenKey": key }))
            }
            Some(named) if own.as_deref() == Some(&named) => {
                if call.method.act == Act::ListenStop {
                    self.listen_keys.remove(&named);
                } else {
                    self.listen_keys.insert(named, ListenKey { account, expires_ms });
                }
                Ok(json!({}))
            }
            Some(_) => Err(error(-1125)),
            None => Err(ApiError::mandatory("listenKey")),
        }
    }
}

fn allowed(call: &Call, account: usize, read_only: bool) -> Result<Caller, ApiError> {
    if read_only && call.method.access == Access::Trade {
        return Err(error(-2015));
    }
    Ok(Caller { account, read_only })
}
