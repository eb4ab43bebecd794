//! Which method does what, and what stands before each: credits, a logon, rights.

use std::collections::VecDeque;

use serde_json::{Value, json};
use taut_types::Nanos;

use crate::deribit::rpc::{self, Params, Request, RpcError, error};
use crate::deribit::session::Heartbeat;
use crate::deribit::state::{Deribit, Done, Job, Outcome, Wants};
use crate::deribit::token::Caller;
use crate::front::{HttpRequest, Output, Refusal};

/// What the venue calls its version.
const VERSION: &str = "1.2.26";

impl Deribit {
    pub(super) fn serve_text(&mut self, connection: u64, text: &str) {
        let us_in = self.us();
        match rpc::read(text) {
            Ok(request) => {
                let request = Request { us_in, connection, ..request };
                self.serve_request(request, None);
            }
            Err((id, problem)) => {
                let request = Request { id, us_in, connection, ..Request::default() };
                self.reply(&request, &Err(problem));
            }
        }
    }

    pub(super) fn serve_http(&mut self, connection: u64, http: &HttpRequest) {
        let mut request =
            Request { us_in: self.us(), connection, is_http: true, ..Request::default() };
        let named = http.path.strip_prefix("/api/v2").map(|rest| rest.trim_matches('/'));
        match (named, http.method.as_str()) {
            (None, _) => return self.reply(&request, &Err(error(-32601))),
            (Some(method), "GET") if !method.is_empty() => {
                request.method = method.to_owned();
                request.params = Params::of_query(&http.query);
            }
            (Some(method), "POST") => match rpc::read(&String::from_utf8_lossy(&http.body)) {
                Ok(read) => {
                    let name = if read.method.is_empty() { method.to_owned() } else { read.method };
                    request = Request { id: read.id, params: read.params, method: name, ..request };
                }
                Err((id, problem)) => {
                    request.id = id;
                    return self.reply(&request, &Err(problem));
                }
            },
            _ => return self.reply(&request, &Err(error(-32600))),
        }
        self.serve_request(request, Some(http));
    }

    pub(super) fn serve_request(&mut self, request: Request, http: Option<&HttpRequest>) {
        let refusal = self.refusal.take();
        match refusal {
            Some(Refusal::Maintenance) => return self.reply(&request, &Err(error(11051))),
            Some(Refusal::Busy) if is_trading(&request.method) => {
                let busy = RpcError::new(10047, "matching_engine_queue_full");
                return self.reply(&request, &Err(busy));
            }
            Some(Refusal::Expired) if request.method.starts_with("private/") => {
                if let Some(session) = self.sessions.get_mut(&request.connection) {
                    session.account = None;
                }
                return self.reply(&request, &Err(error(13009)));
            }
            _ => {}
        }
        let outcome = if refusal == Some(Refusal::TooMany) || !self.spend(&request) {
            Err(error(10028))
        } else {
            self.call(&request, http)
        };
        match outcome {
            Ok(Done::Now(result)) => self.reply(&request, &Ok(result)),
            Ok(Done::Job(mut job)) => {
                self.hides_outcome =
                    refusal == Some(Refusal::Unknown) && is_trading(&request.method);
                job.request = request;
                self.job = Some(job);
            }
            Ok(Done::Answered) => {}
            Ok(Done::End) => {
                self.end_without_cancelling(request.connection);
                self.out.push_back(Output::Close { connection: request.connection });
            }
            Err(problem) => {
                let is_over = problem.code == 10028 && !request.is_http;
                self.reply(&request, &Err(problem));
                if is_over {
                    self.out.push_back(Output::Close { connection: request.connection });
                }
            }
        }
    }

    /// Takes a request's credits of its connection; the matching engine's are the account's.
    fn spend(&mut self, request: &Request) -> bool {
        let now = self.now.mono;
        let session = self.sessions.get_mut(&request.connection);
        is_trading(&request.method) || session.is_none_or(|it| it.credits.spend(now))
    }

    fn call(&mut self, request: &Request, http: Option<&HttpRequest>) -> Outcome {
        let method = request.method.as_str();
        if method.starts_with("private/") {
            let caller = self.caller(request, http)?;
            if request.is_http && is_for_sockets(method) {
                return Err(error(10030));
            }
            return self.call_private(request, caller);
        }
        let now = |value: Value| Ok(Done::Now(value));
        match method {
            "public/test" => self.test(request),
            "public/hello" => now(json!({ "version": VERSION })),
            "public/get_time" => now(json!(self.ms())),
            "public/auth" => self.auth(request),
            "public/status" => now(json!({ "locked": "false", "locked_indices": [] })),
            "public/get_currencies" => now(self.currencies()),
            "public/get_instruments" => self.instruments(request).map(Done::Now),
            "public/get_instrument" => self.instrument(request).map(Done::Now),
            "public/get_order_book" => self.order_book(request).map(Done::Now),
            "public/ticker" => self.ticker(request).map(Done::Now),
            "public/get_index_price" => self.index_price(request).map(Done::Now),
            "public/get_book_summary_by_instrument" | "public/get_book_summary_by_currency" => {
                self.book_summaries(request).map(Done::Now)
            }
            "public/get_last_trades_by_instrument"
            | "public/get_last_trades_by_instrument_and_time" => {
                self.last_trades(request).map(Done::Now)
            }
            "public/get_last_trades_by_currency"
            | "public/get_last_trades_by_currency_and_time" => {
                self.last_trades(request).map(Done::Now)
            }
            _ if request.is_http && is_for_sockets(method) => Err(error(10030)),
            "public/set_heartbeat" => self.set_heartbeat(request),
            "public/disable_heartbeat" => {
                if let Some(session) = self.sessions.get_mut(&request.connection) {
                    session.heartbeat = None;
                }
                now(json!("ok"))
            }
            "public/subscribe" => self.subscribe(request),
            "public/unsubscribe" => self.unsubscribe(request).map(Done::Now),
            "public/unsubscribe_all" => now(self.unsubscribe_all(request)),
            _ => Err(error(-32601)),
        }
    }

    fn call_private(&mut self, request: &Request, caller: Caller) -> Outcome {
        let method = request.method.as_str();
        if caller.read_only && is_trading(method) {
            return Err(error(13021));
        }
        let account = caller.account;
        let now = self.now.mono;
        let credits = self.matching.get_mut(account).filter(|_| is_trading(method));
        if credits.is_some_and(|it| !it.spend(now)) {
            return Err(error(10028));
        }
        match method {
            "private/buy" | "private/sell" => self.place(request, account),
            "private/edit" | "private/edit_by_label" => self.edit(request, account),
            "private/cancel" => self.cancel(request, account),
            "private/cancel_by_label"
            | "private/cancel_all"
            | "private/cancel_all_by_currency"
            | "private/cancel_all_by_instrument"
            | "private/cancel_all_by_kind_or_type" => self.cancel_many(request, account),
            "private/subscribe" => self.subscribe(request),
            "private/unsubscribe" => self.unsubscribe(request).map(Done::Now),
            "private/unsubscribe_all" => Ok(Done::Now(self.unsubscribe_all(request))),
            "private/logout" => Ok(Done::End),
            "private/enable_cancel_on_disconnect" | "private/disable_cancel_on_disconnect" => {
                self.cancel_on_disconnect(request, account)
            }
            "private/get_cancel_on_disconnect" => {
                let session = self.sessions.get(&request.connection);
                let enabled = session.is_some_and(|it| it.cancels_on_disconnect);
                Ok(Done::Now(json!({ "scope": "connection", "enabled": enabled })))
            }
            _ => self.query(request, account).map(Done::Now),
        }
    }

    fn test(&mut self, request: &Request) -> Outcome {
        if let Some(beat) =
            self.sessions.get_mut(&request.connection).and_then(|it| it.heartbeat.as_mut())
        {
            beat.is_asked = false;
        }
        if request.params.text("expected_result").as_deref() == Some("exception") {
            return Err(RpcError::new(10001, "error"));
        }
        Ok(Done::Now(json!({ "version": VERSION })))
    }

    fn set_heartbeat(&mut self, request: &Request) -> Outcome {
        let seconds = request.params.integer("interval")?.unwrap_or(0);
        if seconds < 10 {
            return Err(RpcError::param("interval", "must be at least 10"));
        }
        let interval = Nanos::from_secs(seconds.min(3_600));
        let due = self.now.mono + interval;
        if let Some(session) = self.sessions.get_mut(&request.connection) {
            session.heartbeat = Some(Heartbeat { interval, due, is_asked: false });
        }
        Ok(Done::Now(json!("ok")))
    }

    fn cancel_on_disconnect(&mut self, request: &Request, account: usize) -> Outcome {
        let enables = request.method.ends_with("enable_cancel_on_disconnect")
            && !request.method.ends_with("disable_cancel_on_disconnect");
        let scope = request.params.text("scope").unwrap_or_else(|| "connection".to_owned());
        match (scope.as_str(), self.sessions.get_mut(&request.connection)) {
            ("account", session) => {
                if let Some(account) = self.accounts.get_mut(account) {
                    account.cancels_on_disconnect = enables;
                }
                if let Some(session) = session {
                    session.cancels_on_disconnect = enables;
                }
            }
            ("connection", Some(session)) => session.cancels_on_disconnect = enables,
            ("connection", None) => return Err(error(10030)),
            _ => return Err(RpcError::param("scope", "connection or account")),
        }
        Ok(Done::Now(json!("ok")))
    }

    /// Sends the heartbeats that are due, and ends who does not answer a test request.
    pub(super) fn beat(&mut self) {
        let now = self.now.mono;
        for (&connection, session) in &mut self.sessions {
            let Some(beat) = session.heartbeat.as_mut().filter(|beat| beat.due <= now) else {
                continue;
            };
            if beat.is_asked {
                session.heartbeat = None;
                self.out.push_back(Output::Close { connection });
                continue;
            }
            beat.due = now + beat.interval;
            beat.is_asked = true;
            for kind in ["heartbeat", "test_request"] {
                let params = json!({ "type": kind });
                let text = json!({ "jsonrpc": "2.0", "method": "heartbeat", "params": params });
                let text = text.to_string();
                self.out.push_back(Output::Text { connection, text });
            }
        }
    }

    /// A connection is gone: its orders go too, where that was asked for.
    pub(super) fn serve_closed(&mut self, connection: u64) {
        let session = self.sessions.remove(&connection);
        let fix = self.fix_sessions.remove(&connection).and_then(|it| it.logon);
        self.tokens.retain(|_, token| !token.is_of(connection));
        let cancels = session.is_some_and(|it| it.cancels_on_disconnect)
            || fix.is_some_and(|it| it.cancels_on_disconnect);
        if !cancels {
            return;
        }
        let orders =
            self.orders.values_mut().filter(|it| it.connection == connection && it.state.is_live());
        let commands: VecDeque<_> = orders
            .map(|order| {
                order.cancel_reason = Some("cancel_on_disconnect");
                (order.place, taut_engine::Command::Cancel { order_id: order.id })
            })
            .collect();
        self.job = Some(Box::new(Job {
            request: Request::default(),
            commands,
            wants: Wants::Nothing,
            order: None,
            trades: Vec::new(),
            error: None,
        }));
    }

    fn end_without_cancelling(&mut self, connection: u64) {
        self.sessions.remove(&connection);
        self.tokens.retain(|_, token| !token.is_of(connection));
    }
}

fn is_trading(method: &str) -> bool {
    let method = method.strip_prefix("private/").unwrap_or_default();
    matches!(method, "buy" | "sell" | "edit" | "edit_by_label" | "cancel")
        || method.starts_with("cancel_all")
        || method == "cancel_by_label"
}

fn is_for_sockets(method: &str) -> bool {
    method.ends_with("subscribe")
        || method.ends_with("unsubscribe_all")
        || method.ends_with("heartbeat")
        || method.ends_with("cancel_on_disconnect") && !method.contains("get_")
        || method == "private/logout"
}
