//! FIX 4.4 as <https://docs.deribit.com/fix-api> has it: sessions, and requests that trade.
//!
//! A message becomes the request that it is by JSON-RPC, so that all interfaces trade alike. In
//! reports ClOrdID (11) is the venue's own id of the order and OrigClOrdID (41) the client's;
//! quantities are in contracts of ContractMultiplier (231). Not modelled: quotes (i, R), trade
//! capture (AD), market-maker protection (MM), words for custom tags (9002), two queues of answers
//! (all are DeribitSequential, 9007), a Logon's answer that repeats its credentials.

use serde_json::Value;
use taut_fix_engine::auth::check_deribit;
use taut_types::OrderId;

use crate::deribit::fix_fields::{self, Asked};
use crate::deribit::fix_session::FixLogon;
use crate::deribit::order::{Order, parse_order_id};
use crate::deribit::rpc::{Request, RpcError, error};
use crate::deribit::session::Credits;
use crate::deribit::state::Deribit;
use crate::deribit::token::Caller;
use crate::fix::{FixMessage, Heard};
use crate::front::Output;
use crate::inbox::Inbound;

impl Deribit {
    /// Serves the bytes of a session until a job begins: what is left then comes back behind it.
    pub(super) fn serve_fix(&mut self, connection: u64, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            let now = self.now;
            let Some(session) = self.fix_sessions.get_mut(&connection) else { return };
            let Some(heard) = session.next(now, &mut rest) else { break };
            match heard {
                Heard::Logon(logon) => self.log_on_fix(connection, &logon),
                Heard::Message(message) => self.serve_message(connection, message),
                Heard::Logout(logout) => {
                    let logon = session.logon.as_mut();
                    // DontCancelOnDisconnect (9003).
                    let keeps = logon.filter(|_| logout.text(9003) == "Y");
                    keeps.into_iter().for_each(|logon| logon.cancels_on_disconnect = false);
                }
            }
            if self.job.is_some() {
                self.inbox.push_front(Inbound::Bytes(connection, rest.to_owned(), None));
                break;
            }
        }
        self.flush_fix(connection);
    }

    fn log_on_fix(&mut self, connection: u64, logon: &FixMessage) {
        let (name, raw) = (logon.text(553).to_owned(), logon.text(96));
        let stamp = raw.split_once('.').and_then(|(ms, _)| ms.parse::<u64>().ok());
        let last = self.fix_stamps.get(&name).copied();
        let all = self.accounts.iter().enumerate();
        let mut keys = all.flat_map(|(at, it)| it.keys.iter().map(move |(key, _)| (at, key)));
        let caller = keys.find_map(|(account, key)| {
            let is_it = key.id == name
                && check_deribit(raw.as_bytes(), logon.text(554).as_bytes(), key.secret.as_bytes());
            is_it.then_some(Caller { account, read_only: key.read_only })
        });
        let problem = match (caller, stamp) {
            _ if logon.text(9002) == "Y" => Err("UseWordsafeTags (9002) is not served here"),
            (None, _) | (_, None) => Err("invalid_credentials"),
            (_, Some(stamp)) if last.is_some_and(|last| stamp <= last) => {
                Err("timestamp of RawData (96) must increase")
            }
            (Some(caller), Some(stamp)) => Ok((caller, stamp)),
        };
        let now = self.now;
        let Some(session) = self.fix_sessions.get_mut(&connection) else { return };
        match problem {
            Err(problem) => session.refuse_logon(now, problem),
            Ok((Caller { account, read_only }, stamp)) => {
                self.fix_stamps.insert(name, stamp);
                session.logon = Some(FixLogon {
                    account,
                    read_only,
                    cancels_on_disconnect: logon.text(9001) == "Y",
                    tells_trades: logon.text(9015) == "Y",
                    credits: Credits::others(),
                    follows: Vec::new(),
                });
            }
        }
    }

    /// Who has logged on to a session.
    pub(super) fn fix_caller(&self, connection: u64) -> Option<Caller> {
        let logon = self.fix_sessions.get(&connection)?.logon.as_ref()?;
        Some(Caller { account: logon.account, read_only: logon.read_only })
    }

    fn serve_message(&mut self, connection: u64, message: FixMessage) {
        let Some(Caller { account, .. }) = self.fix_caller(connection) else { return };
        let asked = match message.kind.as_str() {
            "D" => self.order_of(&message),
            "F" | "G" => self.change_of(&message, account),
            "q" => fix_fields::mass_cancel(&message),
            _ => {
                self.refusal = None;
                let now = self.now.mono;
                let logon = self.fix_sessions.get_mut(&connection).and_then(|it| it.logon.as_mut());
                if logon.is_some_and(|it| !it.credits.spend(now)) {
                    return self.reject(connection, &message, "too_many_requests");
                }
                return self.serve_question(connection, account, &message);
            }
        };
        let (us_in, fix) = (self.us(), Some(message));
        let mut request = Request { us_in, connection, fix, ..Request::default() };
        match asked {
            Ok(Asked { method, params }) => {
                (request.method, request.params) = (method.to_owned(), params);
                self.serve_request(request, None);
            }
            Err(why) => self.reply_fix(&request, &Err(why)),
        }
    }

    /// What a NewOrderSingle (D) asks for.
    fn order_of(&self, message: &FixMessage) -> Result<Asked, RpcError> {
        let name = message.text(55);
        let market = self.markets.iter().find(|it| it.settings.name == name);
        fix_fields::new_order(message, market.ok_or_else(|| error(10020))?)
    }

    /// What an OrderCancelRequest (F) or an OrderCancelReplaceRequest (G) asks for.
    fn change_of(&self, message: &FixMessage, account: usize) -> Result<Asked, RpcError> {
        let order = self.order_named(message, account)?;
        let market = self.market(order.place).ok_or_else(|| error(10020))?;
        fix_fields::change(message, order, market)
    }

    /// The order that a message names: by the venue's id (41), by the client's (11), or by its
    /// label (100010).
    fn order_named(&self, message: &FixMessage, account: usize) -> Result<&Order, RpcError> {
        if let Some(id) = message.get(41) {
            let order = parse_order_id(id).and_then(|id| self.orders.get(&id));
            return order.filter(|it| it.account == account).ok_or_else(|| error(10004));
        }
        let is_it = |order: &&Order| match (message.get(11), message.get(100_010)) {
            (Some(name), _) => order.client_id == name,
            (None, Some(label)) => order.label == label,
            (None, None) => false,
        };
        let mut live = self.live(account).filter(is_it);
        match (live.next(), live.next()) {
            (Some(order), None) => Ok(order),
            (Some(_), Some(_)) => Err(RpcError::new(13032, "non_unique_order_label")),
            // One that is over, for the reason that it is.
            (None, _) => {
                let mut all = self.orders.values().rev().filter(|it| it.account == account);
                all.find(is_it).ok_or_else(|| error(10004))
            }
        }
    }

    /// What a request came to.
    pub(super) fn reply_fix(&mut self, request: &Request, outcome: &Result<Value, RpcError>) {
        let (connection, Some(message)) = (request.connection, &request.fix) else { return };
        let account = self.fix_caller(connection).map(|it| it.account);
        let held = std::mem::take(&mut self.fix_held);
        match (message.kind.as_str(), outcome) {
            ("q", Ok(count)) => {
                let mut fields = message.same(&[11, 530, 55, 167, 100_010]);
                fields.push((531, message.text(530).to_owned()));
                fields.push((533, count.as_u64().unwrap_or(0).to_string()));
                self.send_fix(connection, "r", &fields);
            }
            ("q", Err(why)) => {
                let mut fields = message.same(&[11, 530]);
                fields.extend([(531, "0".to_owned()), (532, "99".to_owned())]);
                fields.push((58, why.words()));
                self.send_fix(connection, "r", &fields);
            }
            (_, Ok(result)) => {
                let order = result.get("order").unwrap_or(result);
                let id = order["order_id"].as_str().and_then(parse_order_id);
                let trades = result["trades"].as_array().map_or(&[][..], Vec::as_slice);
                if let Some(mut fields) = id.and_then(|id| self.report(id, b'I')) {
                    fix_fields::fills(trades, &mut fields);
                    self.send_fix(connection, "8", &fields);
                }
            }
            ("D", Err(why)) => {
                let fields = fix_fields::rejected(message, self.ms(), &why.words());
                self.send_fix(connection, "8", &fields);
            }
            (_, Err(why)) => {
                let order = account.and_then(|account| self.order_named(message, account).ok());
                let fields = fix_fields::change_rejected(message, order, why);
                self.send_fix(connection, "9", &fields);
            }
        }
        for fields in held {
            self.send_fix(connection, "8", &fields);
        }
        self.flush_fix(connection);
    }

    /// An ExecutionReport (8) of an order as it stands.
    pub(super) fn report(&mut self, id: OrderId, exec_type: u8) -> Option<Vec<(i32, String)>> {
        self.fix_reports += 1;
        let order = self.orders.get(&id)?;
        let market = self.market(order.place)?;
        let mut fields = vec![(527, self.fix_reports.to_string())];
        fields.extend(fix_fields::report(order, market, exec_type));
        Some(fields)
    }

    /// Tells an account's sessions of an order: its trades where they are reports of their own, and
    /// how it stands where that is not the answer to a request.
    pub(super) fn tell_fix(&mut self, id: OrderId, trades: &[Value]) {
        let Some(account) = self.orders.get(&id).map(|it| it.account) else { return };
        let asker = self.job.as_ref().filter(|_| self.is_executing);
        let asker = asker.filter(|job| job.request.fix.is_some());
        let asker = asker.map(|job| (job.request.connection, job.order == Some(id)));
        let of_account: Vec<(u64, bool)> = self
            .fix_sessions
            .iter()
            .filter_map(|(connection, session)| Some((*connection, session.logon.as_ref()?)))
            .filter(|(_, logon)| logon.account == account)
            .map(|(connection, logon)| (connection, logon.tells_trades))
            .collect();
        for (connection, tells_trades) in of_account {
            let is_asker = asker.is_some_and(|it| it.0 == connection);
            let is_answer = asker == Some((connection, true));
            let mut reports = Vec::new();
            let one_by_one = if tells_trades { trades } else { &[] };
            for trade in one_by_one {
                let report = self.report(id, b'F');
                reports.extend(report.map(|mut fields| {
                    fix_fields::trade(trade, &mut fields);
                    fields
                }));
            }
            if one_by_one.is_empty() && !is_answer {
                let report = self.report(id, b'I');
                reports.extend(report.map(|mut fields| {
                    fix_fields::fills(trades, &mut fields);
                    fields.push((58, "notification".to_owned()));
                    fields
                }));
            }
            if is_asker {
                // Behind the answer.
                self.fix_held.extend(reports);
                continue;
            }
            for fields in reports {
                self.send_fix(connection, "8", &fields);
            }
            self.flush_fix(connection);
        }
    }

    /// Reject (3): a message that is not served.
    pub(super) fn reject(&mut self, connection: u64, message: &FixMessage, why: &str) {
        let fields = [
            (45, message.text(34).to_owned()),
            (372, message.kind.clone()),
            (373, "99".to_owned()),
            (58, why.to_owned()),
        ];
        self.send_fix(connection, "3", &fields);
    }

    pub(super) fn send_fix(&mut self, connection: u64, kind: &str, fields: &[(i32, String)]) {
        let now = self.now;
        if let Some(session) = self.fix_sessions.get_mut(&connection) {
            session.send(now, kind, fields);
        }
    }

    /// Gives what a session has to say to its connection.
    pub(super) fn flush_fix(&mut self, connection: u64) {
        let now = self.now;
        let Some(session) = self.fix_sessions.get_mut(&connection) else { return };
        let bytes = session.transmit(now);
        let is_over = session.ends();
        if !bytes.is_empty() {
            self.out.push_back(Output::Bytes { connection, bytes });
        }
        if is_over {
            self.out.push_back(Output::Close { connection });
        }
    }

    /// Heartbeats, and the end of sessions that say nothing.
    pub(super) fn fix_time(&mut self) {
        let now = self.now;
        let is_due = |due: Option<taut_types::Nanos>| due.is_some_and(|due| due <= now.mono);
        let due = self.fix_sessions.iter().filter(|(_, session)| is_due(session.due()));
        for connection in due.map(|it| *it.0).collect::<Vec<_>>() {
            if let Some(session) = self.fix_sessions.get_mut(&connection) {
                session.handle_timeout(now);
            }
            self.flush_fix(connection);
        }
    }
}
