//! FIX 4.4: order entry and drop copy, as "FIX API" of the venue's documents has them.
//!
//! A message becomes the request that it is on the WebSocket API, so that all interfaces trade
//! alike; what is told of it by an ExecutionReport is told to every session of the account. A Logon
//! that is refused is answered by a Logout.
//!
//! Not modelled: order lists (E, N), stops, News, the refusal of a gap in the numbers (what is
//! missing is asked for again), the time for which a SenderCompID is barred that did not log out.

use serde_json::Value;

use crate::binance::error::ApiError;
use crate::binance::fix_fields::{rejected, request_of};
use crate::binance::fix_session::{Arrivals, Credentials, FixLogon, MESSAGES_MAX};
use crate::binance::methods::{Act, Call, Method, Source};
use crate::binance::state::Binance;
use crate::fix::{FixMessage, Heard};
use crate::front::Output;
use crate::inbox::Inbound;

impl Binance {
    /// Serves the bytes of a session until a job begins: what is left then comes back behind it.
    pub(super) fn serve_fix(&mut self, connection: u64, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            let now = self.now;
            let Some(session) = self.fix_sessions.get_mut(&connection) else { return };
            let Some(heard) = session.next(now, &mut rest) else { break };
            match heard {
                Heard::Logon(logon) => self.log_on_fix(connection, Credentials::of(&logon)),
                Heard::Message(request) => {
                    let arrivals = session.logon.as_mut().map(|it| &mut it.arrivals);
                    if arrivals.is_some_and(|it| it.is_too_fast(now.mono)) {
                        session.log_out(now, "Too many messages.");
                        break;
                    }
                    self.request_fix(connection, request);
                }
                Heard::Logout(_) => {}
            }
            if self.job.is_some() {
                self.inbox.push_front(Inbound::Bytes(connection, rest.to_owned(), None));
                break;
            }
        }
        self.flush_fix(connection);
    }

    fn log_on_fix(&mut self, connection: u64, it: Credentials) {
        const REFUSED: &str = "Invalid API-key, IP, or permissions for action.";
        let now = self.now;
        let key = self.keys.get(&it.key).filter(|key| key.is_ed25519());
        let signed = key.filter(|key| key.has_signed(&it.text, &it.signature));
        let may = signed.filter(|key| it.is_drop_copy || !key.read_only).map(|key| key.account);
        let is_taken = |account| {
            let mut logons = self.fix_sessions.values().filter_map(|it| it.logon.as_ref());
            logons.any(|other| other.account == account && other.sender == it.sender)
        };
        let (account, problem) = match (it.problem, may) {
            (Some(problem), _) => (None, problem),
            (None, None) => (None, REFUSED),
            (None, Some(account)) if is_taken(account) => {
                (None, "SenderCompID (49) is in use by another session.")
            }
            (None, Some(account)) => (Some(account), ""),
        };
        let Some(session) = self.fix_sessions.get_mut(&connection) else { return };
        match account {
            Some(account) => {
                let Credentials { sender, only_acks, is_drop_copy, .. } = it;
                let arrivals = Arrivals::default();
                session.logon =
                    Some(FixLogon { account, sender, only_acks, is_drop_copy, arrivals });
            }
            None => session.refuse_logon(now, problem),
        }
    }

    fn request_fix(&mut self, connection: u64, request: FixMessage) {
        let logon = self.fix_sessions.get(&connection).and_then(|it| it.logon.as_ref());
        if logon.is_none_or(|it| it.is_drop_copy) {
            let why = ApiError::new(-1000, "A drop copy session takes no requests.");
            return self.reject(connection, &request, &why);
        }
        if request.kind == "XLQ" {
            return self.tell_limits(connection, &request);
        }
        let asked = request_of(&request);
        let asked = asked.and_then(|(name, params)| Some((Method::named(name)?, params)));
        let Some((method, params)) = asked else {
            let why = ApiError::new(-1000, "This message is not served here.");
            return self.reject(connection, &request, &why);
        };
        let source = Source::Fix(request);
        self.serve_call(Call { connection, source, method, params, weight: 0, account: None });
    }

    /// The account of a session.
    pub(super) fn fix_account(&self, connection: u64) -> Option<usize> {
        Some(self.fix_sessions.get(&connection)?.logon.as_ref()?.account)
    }

    /// LimitResponse (XLR).
    fn tell_limits(&mut self, connection: u64, request: &FixMessage) {
        let (now, ms) = (self.now, self.ms());
        let account = self.fix_account(connection);
        let account = account.and_then(|it| self.accounts.get_mut(it));
        let orders = account.map(|it| {
            it.counts.turn(ms);
            let counts = &it.counts;
            [(counts.ten_seconds.count, counts.max_10s), (counts.day.count, counts.max_day)]
        });
        let [short, day] = orders.unwrap_or_default();
        let Some(session) = self.fix_sessions.get_mut(&connection) else { return };
        let messages = session.logon.as_ref().map_or(0, |it| it.arrivals.count());
        let messages = u32::try_from(messages).unwrap_or(u32::MAX);
        let mut fields = request.same(&[6136]);
        fields.push((25_003, "3".to_owned()));
        for (kind, (count, most), interval, unit) in [
            ("2", (messages, MESSAGES_MAX), "10", "s"),
            ("1", short, "10", "s"),
            ("1", day, "1", "d"),
        ] {
            fields.push((25_004, kind.to_owned()));
            fields.push((25_005, count.to_string()));
            fields.push((25_006, most.to_string()));
            fields.push((25_007, interval.to_owned()));
            fields.push((25_008, unit.to_owned()));
        }
        session.send(now, "XLR", &fields);
    }

    /// What a request came to. What was done is told by its reports.
    pub(super) fn reply_fix(
        &mut self,
        call: &Call,
        request: &FixMessage,
        outcome: &Result<Value, ApiError>,
    ) {
        let connection = call.connection;
        match (call.method.act, outcome) {
            (Act::CancelAll, Ok(cancelled)) => {
                let count = cancelled.as_array().map_or(0, Vec::len).to_string();
                let mut fields = request.same(&[11, 55, 530]);
                fields.extend([(531, "1".to_owned()), (533, count)]);
                self.send_fix(connection, "r", &fields);
            }
            (_, Ok(_)) => {}
            (_, Err(why)) if is_malformed(why.code) => self.reject(connection, request, why),
            (Act::CancelReplace, Err(why)) => self.refuse_replacement(connection, request, why),
            (act, Err(why)) => {
                let told = [(25_016, why.code.to_string()), (58, why.text.clone())];
                let (kind, mut fields) = match act {
                    Act::Cancel => {
                        let mut fields = request.same(&[11, 41, 37, 55, 25_002]);
                        fields.push((434, "1".to_owned()));
                        ("9", fields)
                    }
                    Act::Amend => ("XAR", request.same(&[11, 41, 37, 55, 38])),
                    Act::CancelAll => {
                        let mut fields = request.same(&[11, 55, 530]);
                        fields.extend([(531, "0".to_owned()), (532, "99".to_owned())]);
                        ("r", fields)
                    }
                    _ => {
                        let fields = rejected(request, self.ms(), why.code, &why.text);
                        return self.send_fix(connection, "8", &fields);
                    }
                };
                fields.extend(told);
                self.send_fix(connection, kind, &fields);
            }
        }
        self.flush_fix(connection);
    }

    /// OrderCancelReject (9) where the cancel failed, and an ExecutionReport (8) of the order that
    /// was not placed.
    fn refuse_replacement(&mut self, connection: u64, request: &FixMessage, why: &ApiError) {
        let half = |name: &str| {
            let half = why.data.as_ref().map(|data| &data[name])?;
            Some((half["code"].as_i64()?, half["msg"].as_str()?.to_owned()))
        };
        if let Some((code, text)) = half("cancelResponse") {
            let mut fields = request.same(&[41, 37, 55, 25_002]);
            let cancel = request.get(25_034).map(str::to_owned);
            fields.extend(cancel.map(|name| (11, name)));
            fields.push((434, "1".to_owned()));
            fields.extend([(25_016, code.to_string()), (58, text)]);
            self.send_fix(connection, "9", &fields);
        }
        let is_placed = why.data.as_ref().is_some_and(|data| data["newOrderResult"] == "SUCCESS");
        if !is_placed {
            let (code, text) = half("newOrderResponse").unwrap_or((why.code, why.text.clone()));
            let fields = rejected(request, self.ms(), code, &text);
            self.send_fix(connection, "8", &fields);
        }
    }

    /// Reject (3): a message that cannot be a request.
    fn reject(&mut self, connection: u64, request: &FixMessage, why: &ApiError) {
        let reason = if why.code == -1021 { "10" } else { "99" };
        let fields = [
            (45, request.text(34).to_owned()),
            (372, request.kind.clone()),
            (373, reason.to_owned()),
            (25_016, why.code.to_string()),
            (58, why.text.clone()),
        ];
        self.send_fix(connection, "3", &fields);
        self.flush_fix(connection);
    }

    fn send_fix(&mut self, connection: u64, kind: &str, fields: &[(i32, String)]) {
        let now = self.now;
        if let Some(session) = self.fix_sessions.get_mut(&connection) {
            session.send(now, kind, fields);
        }
    }

    /// Tells an account's sessions what happened to one of its orders.
    pub(super) fn tell_fix(&mut self, account: usize, fields: &[(i32, String)]) {
        let asker = self.job.as_ref().filter(|_| self.is_executing).map(|it| it.call.connection);
        let listens = |connection: u64, logon: &FixLogon| {
            logon.account == account && (!logon.only_acks || asker == Some(connection))
        };
        let sessions = self.fix_sessions.iter().filter_map(|(connection, session)| {
            let logon = session.logon.as_ref()?;
            listens(*connection, logon).then_some(*connection)
        });
        for connection in sessions.collect::<Vec<_>>() {
            self.send_fix(connection, "8", fields);
            self.flush_fix(connection);
        }
    }

    /// Gives what a session has to say to its connection.
    fn flush_fix(&mut self, connection: u64) {
        let now = self.now;
        let Some(session) = self.fix_sessions.get_mut(&connection) else { return };
        let bytes = session.transmit(now);
        let is_over = session.ends();
        if !bytes.is_empty() {
            self.out.push_back(Output::Bytes { connection, bytes });
        }
        if is_over {
            self.fix_sessions.remove(&connection);
            self.out.push_back(Output::Close { connection });
        }
    }

    /// Heartbeats, and the end of sessions that say nothing.
    pub(super) fn fix_time(&mut self) {
        let now = self.now;
        self.fix_sessions.values_mut().for_each(|session| session.handle_timeout(now));
        let connections: Vec<u64> = self.fix_sessions.keys().copied().collect();
        connections.into_iter().for_each(|connection| self.flush_fix(connection));
    }
}

/// Whether a request was refused for what it is, before anything was tried.
const fn is_malformed(code: i64) -> bool {
    matches!(code, -1199..=-1100 | -1000 | -1021 | -1022)
}
