//! Who asks: `public/auth`, tokens, and the `Authorization` of HTTP.

use base64ct::{Base64, Encoding};
use serde_json::{Value, json};

use crate::deribit::rpc::{Request, RpcError, error};
use crate::deribit::state::{Deribit, Done, Outcome};
use crate::deribit::token::{Caller, Token};
use crate::front::HttpRequest;

/// How long a token is good, in seconds, where its scope does not say so (`expires:`).
const TOKEN_SECONDS: i64 = 31_536_000;
/// How far a signature's time may be off, in milliseconds.
const CLOCK_MS: i64 = 60_000;
/// Nonces that are remembered.
const NONCES_MAX: usize = 10_000;

impl Deribit {
    /// `public/auth`.
    pub(super) fn auth(&mut self, request: &Request) -> Outcome {
        let params = &request.params;
        let scope = params.text("scope").unwrap_or_default();
        let (caller, scope) = match params.needed("grant_type")?.as_str() {
            "client_credentials" => {
                let (id, secret) = (params.needed("client_id")?, params.needed("client_secret")?);
                (self.check_secret(&id, &secret)?, scope)
            }
            "client_signature" => {
                let timestamp = params
                    .integer("timestamp")?
                    .ok_or_else(|| RpcError::param("timestamp", "value required"))?;
                let (nonce, data) = (
                    params.text("nonce").unwrap_or_default(),
                    params.text("data").unwrap_or_default(),
                );
                let text = format!("{timestamp}\n{nonce}\n{data}");
                let (id, signature) = (params.needed("client_id")?, params.needed("signature")?);
                (self.check_signature(&id, timestamp, &nonce, &text, &signature)?, scope)
            }
            "refresh_token" => {
                let refresh = params.needed("refresh_token")?;
                let token = self
                    .tokens
                    .remove(&refresh)
                    .filter(|it| it.is_refresh && it.expires_ms > self.ms());
                let Token { account, read_only, scope, .. } = token.ok_or_else(|| error(13004))?;
                (Caller { account, read_only }, scope)
            }
            _ => return Err(RpcError::param("grant_type", "wrong value")),
        };
        Ok(Done::Now(self.grant(request, caller, &scope)))
    }

    fn grant(&mut self, request: &Request, caller: Caller, scope: &str) -> Value {
        let is_session = scope.split_whitespace().any(|part| part.starts_with("session:"));
        let connection = (!is_session && !request.is_http).then_some(request.connection);
        if let Some(session) = self.sessions.get_mut(&request.connection) {
            (session.account, session.read_only) = (Some(caller.account), caller.read_only);
            session.cancels_on_disconnect |=
                self.accounts.get(caller.account).is_some_and(|it| it.cancels_on_disconnect);
        }
        let rights = if caller.read_only { "read" } else { "read_write" };
        let life =
            scope.split_whitespace().find(|it| it.starts_with("session:")).unwrap_or("connection");
        let granted = format!(
            "{life} mainaccount account:{rights} block_trade:{rights} custody:{rights} \
             trade:{rights} wallet:{rights}"
        );
        let asked = scope.split_whitespace().find_map(|it| it.strip_prefix("expires:"));
        let seconds = asked.and_then(|it| it.parse().ok()).filter(|it| *it > 0);
        let seconds = seconds.unwrap_or(TOKEN_SECONDS).min(TOKEN_SECONDS);
        let expires_ms = self.ms() + seconds * 1_000;
        let mut token = |is_refresh: bool| {
            let number = self.next_token;
            self.next_token += 1;
            // Not a secret that holds: this is a simulator. It looks like one, and is unique.
            let name = format!(
                "{}.{number:08x}{:016x}",
                self.now.utc.0 / 1_000_000,
                mix(number ^ self.now.utc.0 as u64)
            );
            let Caller { account, read_only } = caller;
            let expires_ms = if is_refresh { expires_ms * 2 } else { expires_ms };
            let scope = scope.to_owned();
            self.tokens.insert(
                name.clone(),
                Token { account, read_only, is_refresh, connection, expires_ms, scope },
            );
            name
        };
        let (access, refresh) = (token(false), token(true));
        let now = self.ms();
        self.tokens.retain(|_, it| it.expires_ms > now);
        let mut result = json!({
            "access_token": access,
            "refresh_token": refresh,
            "expires_in": seconds,
            "scope": granted,
            "token_type": "bearer",
            "enabled_features": [],
        });
        if let (Some(state), Some(map)) = (request.params.text("state"), result.as_object_mut()) {
            map.insert("state".to_owned(), json!(state));
        }
        result
    }

    /// Who a private request is from.
    pub(super) fn caller(
        &mut self,
        request: &Request,
        http: Option<&HttpRequest>,
    ) -> Result<Caller, RpcError> {
        if request.fix.is_some() {
            return self.fix_caller(request.connection).ok_or_else(|| error(10000));
        }
        if let Some(http) = http.filter(|it| !it.authorization.is_empty()) {
            return self.authorized(http, request.connection);
        }
        if let Some(token) = request.params.text("access_token") {
            return self.check_token(&token, request.connection);
        }
        let session = self.sessions.get(&request.connection);
        let of = |it: &crate::deribit::session::Session| {
            Some(Caller { account: it.account?, read_only: it.read_only })
        };
        session.and_then(of).ok_or_else(|| error(10000))
    }

    fn authorized(&mut self, http: &HttpRequest, connection: u64) -> Result<Caller, RpcError> {
        let (scheme, rest) =
            http.authorization.split_once(' ').unwrap_or((&http.authorization, ""));
        match scheme.to_ascii_lowercase().as_str() {
            "bearer" => self.check_token(rest.trim(), connection),
            "basic" => {
                let bytes = Base64::decode_vec(rest.trim()).map_err(|_| error(13004))?;
                let text = String::from_utf8(bytes).map_err(|_| error(13004))?;
                let (id, secret) = text.split_once(':').ok_or_else(|| error(13004))?;
                self.check_secret(id, secret)
            }
            "deri-hmac-sha256" => {
                let part = |name: &str| {
                    let of = |part: &str| {
                        Some(part.trim().strip_prefix(name)?.strip_prefix('=')?.to_owned())
                    };
                    rest.split(',').find_map(of).unwrap_or_default()
                };
                let timestamp: i64 = part("ts").parse().map_err(|_| error(13004))?;
                let nonce = part("nonce");
                let body = String::from_utf8_lossy(&http.body).into_owned();
                let text =
                    format!("{timestamp}\n{nonce}\n{}\n{}\n{body}\n", http.method, http.target());
                self.check_signature(&part("id"), timestamp, &nonce, &text, &part("sig"))
            }
            _ => Err(error(13004)),
        }
    }

    fn check_token(&self, name: &str, connection: u64) -> Result<Caller, RpcError> {
        let token = self.tokens.get(name).filter(|it| !it.is_refresh && it.expires_ms > self.ms());
        let token = token.filter(|it| it.connection.is_none_or(|it| it == connection));
        let Token { account, read_only, .. } = token.ok_or_else(|| error(13009))?;
        Ok(Caller { account: *account, read_only: *read_only })
    }

    fn check_secret(&self, id: &str, secret: &str) -> Result<Caller, RpcError> {
        let keys = self
            .accounts
            .iter()
            .enumerate()
            .flat_map(|(at, it)| it.keys.iter().map(move |key| (at, key)));
        for (account, (key, _)) in keys {
            if key.id == id && key.secret == secret {
                return Ok(Caller { account, read_only: key.read_only });
            }
        }
        Err(error(13004))
    }

    fn check_signature(
        &mut self,
        id: &str,
        timestamp: i64,
        nonce: &str,
        text: &str,
        signature: &str,
    ) -> Result<Caller, RpcError> {
        let used = format!("{id}\n{nonce}\n{signature}");
        if (self.ms() - timestamp).abs() > CLOCK_MS {
            return Err(error(13004));
        }
        if self.nonces.contains(&used) {
            let data = Some(json!({ "invalid": "nonce" }));
            return Err(RpcError { data, ..error(13004) });
        }
        let keys = self
            .accounts
            .iter()
            .enumerate()
            .flat_map(|(at, it)| it.keys.iter().map(move |key| (at, key)));
        for (account, (key, hmac)) in keys {
            if key.id == id && hmac.is_signed_hex(&[text.as_bytes()], signature.as_bytes()) {
                let read_only = key.read_only;
                if self.nonces.len() >= NONCES_MAX {
                    self.nonces.pop_front();
                }
                self.nonces.push_back(used);
                return Ok(Caller { account, read_only });
            }
        }
        Err(error(13004))
    }
}

/// Spreads a number's bits (SplitMix64's finaliser).
const fn mix(number: u64) -> u64 {
    let a = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let b = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    b ^ (b >> 31)
}
