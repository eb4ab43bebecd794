//! Requests are read, admitted, served and answered, alike over REST and the WebSocket API.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use taut_engine::Command;

use crate::binance::auth::Caller;
use crate::binance::control::is_request_id;
use crate::binance::error::{ApiError, error};
use crate::binance::limits::Excess;
use crate::binance::methods::{Access, Act, Call, Method, Source};
use crate::binance::params::Params;
use crate::binance::session::Kind;
use crate::binance::settings::SymbolMarket;
use crate::binance::state::{Binance, Job, Replacement, Wants};
use crate::front::{HttpRequest, Output, Refusal};

/// What a request comes to.
pub enum Done {
    Now(Value),
    Job(Box<Job>),
}

pub type Outcome = Result<Done, ApiError>;

impl Binance {
    pub(super) fn serve_http(&mut self, connection: u64, http: &HttpRequest) {
        let body = String::from_utf8_lossy(&http.body);
        let Some(method) = Method::routed(&http.method, &http.path) else {
            let path = format!("{} {}: no such request here", http.method, http.path);
            let body = ApiError::new(-1000, &path).json().to_string();
            let headers = Vec::new();
            self.out.push_back(Output::Answer { connection, status: 404, headers, body });
            return;
        };
        let source = Source::Http {
            key: http.header("x-mbx-apikey").map(str::to_owned),
            signed: unsigned(&http.query) + &unsigned(&body),
        };
        let params = Params::of_http(&http.query, &body);
        self.serve_call(Call { connection, source, method, params, weight: 0, account: None });
    }

    pub(super) fn serve_api(&mut self, connection: u64, text: &str) {
        #[derive(Deserialize)]
        struct Request<'a> {
            #[serde(borrow, default)]
            id: Option<&'a RawValue>,
            method: String,
            #[serde(borrow, default)]
            params: Option<&'a RawValue>,
        }
        let Ok(request) = serde_json::from_str::<Request<'_>>(text) else {
            let problem = ApiError::new(-1100, "Illegal characters found in a parameter.");
            return self.reply_socket(connection, "null", &Err(problem), None);
        };
        let id = request.id.map_or("null", RawValue::get).to_owned();
        let params = match request.params.map(RawValue::get) {
            None | Some("null") => Some(Params::default()),
            Some(params) => Params::of_json(params),
        };
        let session = match self.sessions.get(&connection).map(|it| &it.kind) {
            Some(Kind::Api(session)) => Some(session),
            _ => None,
        };
        let hides = session.is_some_and(|it| it.hides_limits);
        let method = match session.map(|it| it.market).unwrap_or_default() {
            SymbolMarket::SpotMarket => Method::named(&request.method),
            SymbolMarket::UsdM => Method::of_usd_m(&request.method),
        };
        let (Some(method), Some(params), true) = (method, params, is_request_id(&id)) else {
            let text = match method {
                None => format!("Unknown method '{}'.", request.method),
                Some(_) => "Invalid request.".to_owned(),
            };
            return self.reply_socket(connection, &id, &Err(ApiError::new(-1100, &text)), None);
        };
        let shows_limits = match params.get("returnRateLimits") {
            Some(word) => word == "true",
            None => !hides,
        };
        let source = Source::Socket { id, shows_limits };
        self.serve_call(Call { connection, source, method, params, weight: 0, account: None });
    }

    pub(super) fn serve_call(&mut self, mut call: Call) {
        call.weight = call.method.weight_of(&call.params);
        let hides = self.refusal == Some(Refusal::Unknown) && call.method.act.is_trading();
        let outcome = self.admit(&call).and_then(|()| self.call(&mut call));
        match outcome {
            Ok(Done::Now(result)) => self.reply(&call, &Ok(result)),
            Ok(Done::Job(mut job)) => {
                job.call = call;
                self.hides_outcome = hides;
                self.job = Some(job);
            }
            Err(problem) => self.reply(&call, &Err(problem)),
        }
    }

    /// Whether a request is served at all.
    fn admit(&mut self, call: &Call) -> Result<(), ApiError> {
        let ms = self.ms();
        match self.refusal.take() {
            Some(Refusal::Maintenance) => return Err(error(-1016)),
            Some(Refusal::Busy) if call.method.act.is_trading() => return Err(error(-1008)),
            Some(Refusal::TooMany) => return Err(excess(Excess::Wait(1), ms)),
            Some(Refusal::Expired) if call.method.access != Access::Open => {
                if let Some(session) = self.api_session(call.connection) {
                    session.logon = None;
                }
                return Err(error(-2015));
            }
            _ => {}
        }
        match call.source {
            // It counts messages.
            Source::Fix(_) => Ok(()),
            _ => self.weight.spend(ms, call.weight).map_err(|it| {
                self.refused_by_weight += 1;
                excess(it, ms)
            }),
        }
    }

    fn call(&mut self, call: &mut Call) -> Outcome {
        if call.method.access == Access::Open {
            return self.call_open(call).map(Done::Now);
        }
        let caller = self.caller(call)?;
        call.account = Some(caller.account);
        let account = caller.account;
        match call.method.act {
            Act::Place => self.place(call, account),
            Act::Test => self.test(call, account).map(Done::Now),
            Act::Cancel => self.cancel(call, account),
            Act::CancelReplace => self.cancel_replace(call, account),
            Act::Amend => self.amend(call, account),
            Act::CancelAll => self.cancel_all(call, account),
            _ => self.call_private(call, caller).map(Done::Now),
        }
    }

    fn call_open(&mut self, call: &Call) -> Result<Value, ApiError> {
        let params = &call.params;
        match call.method.act {
            Act::Ping => Ok(json!({})),
            Act::Time => Ok(json!({ "serverTime": self.ms() })),
            Act::ExchangeInfo => self.exchange_info(params),
            Act::NoFutures => Ok(self.no_futures()),
            Act::UsdMInfo => Ok(self.usd_m_info()),
            Act::UsdMDepth => self.usd_m_depth(params),
            Act::SystemStatus => Ok(json!({ "status": 0, "msg": "normal" })),
            Act::Depth => self.depth(params),
            Act::RecentTrades => self.recent_trades(params),
            Act::AggTrades => self.aggregate_trades(params),
            Act::Klines => self.klines(params),
            Act::AvgPrice => self.average_price(params),
            Act::Ticker24h => self.for_symbols(params, Self::ticker),
            Act::TickerPrice => self.for_symbols(params, Self::price_ticker),
            Act::TickerBook => self.for_symbols(params, Self::book_ticker),
            Act::SessionStatus => Ok(self.session_status(call)),
            Act::LogOut => {
                if let Some(session) = self.api_session(call.connection) {
                    session.logon = None;
                }
                Ok(self.session_status(call))
            }
            Act::Unsubscribe => self.unsubscribe_user(call),
            Act::Subscriptions => Ok(self.user_subscriptions(call)),
            _ => Err(error(-1000)),
        }
    }

    fn call_private(&mut self, call: &Call, caller: Caller) -> Result<Value, ApiError> {
        let (params, account) = (&call.params, caller.account);
        match call.method.act {
            Act::Account => Ok(self.account_status(params, account)),
            Act::OrderLimits => Ok(self.order_limits(account)),
            Act::Order => self.order_status(params, account),
            Act::OpenOrders => self.open_orders(params, account),
            Act::AllOrders => self.all_orders(params, account),
            Act::MyTrades => self.my_trades(params, account),
            Act::Coins => Ok(self.coins(account)),
            // There is no margin here, which clients ask for when they start.
            Act::NoMargin => Ok(json!([])),
            Act::LogOn => self.log_on(call, caller),
            Act::Subscribe => self.subscribe_user(call, account),
            Act::ListenStart | Act::ListenKeep | Act::ListenStop => self.listen_key(call, account),
            _ => Err(error(-1000)),
        }
    }

    /// The job has no command left: it is answered.
    pub(super) fn finish(&mut self, mut job: Job) {
        let shown = |id| {
            let order = self.orders.get(&id)?;
            Some((order, self.market(order.place)?))
        };
        let placed = |detail| {
            let (order, market) = job.order.and_then(shown)?;
            Some(order.placed(market, detail, &job.fills))
        };
        let cancelled = |id| shown(id).map(|(order, market)| order.cancelled(market));
        let found = |value: Option<Value>, code| value.ok_or_else(|| error(code));
        let outcome = match (&job.wants, &job.refused) {
            (Wants::Replaced { .. }, _) => self.replaced(&job),
            (_, Some(refused)) => Err(refused.clone()),
            (Wants::Placed(detail), None) => found(placed(*detail), -1000),
            (Wants::Cancelled(id), None) => found(cancelled(*id), -2011),
            (Wants::AllCancelled(ids), None) => {
                Ok(ids.iter().filter_map(|id| cancelled(*id)).collect())
            }
            (Wants::Amended(id), None) => found(
                shown(*id).map(|(order, market)| {
                    json!({
                        "transactTime": order.updated_ms,
                        "executionId": self.next_execution - 1,
                        "amendedOrder": order.amended(market),
                    })
                }),
                -2013,
            ),
        };
        job.commands.clear();
        let is_hidden = std::mem::take(&mut self.hides_outcome);
        let outcome = if is_hidden { Err(unknown()) } else { outcome };
        self.reply(&job.call, &outcome);
    }

    /// The answer to a cancel-replace: both halves, whatever became of them.
    fn replaced(&self, job: &Job) -> Result<Value, ApiError> {
        let Wants::Replaced { cancel, place } = &job.wants else { return Err(error(-1000)) };
        let shown = |id| {
            let order = self.orders.get(&id)?;
            Some((order, self.market(order.place)?))
        };
        let cancelled = match cancel {
            Ok(id) => Ok(shown(*id).map(|(order, market)| order.cancelled(market))),
            Err(problem) => Err(problem.json()),
        };
        let placed = match (place, &job.refused) {
            (Replacement::Sent(_), Some(refused)) | (Replacement::Refused(refused), _) => {
                Some(Err(refused.json()))
            }
            (Replacement::Sent(detail), None) => Some(Ok(job
                .order
                .and_then(shown)
                .map(|(order, market)| order.placed(market, *detail, &job.fills)))),
            (Replacement::NotAttempted, _) => None,
        };
        let word = |is_done: bool| if is_done { "SUCCESS" } else { "FAILURE" };
        let (is_cancelled, is_placed) = (cancelled.is_ok(), matches!(placed, Some(Ok(_))));
        let data = json!({
            "cancelResult": word(is_cancelled),
            "newOrderResult": if placed.is_some() { word(is_placed) } else { "NOT_ATTEMPTED" },
            "cancelResponse": cancelled.unwrap_or_else(Some),
            "newOrderResponse": placed.and_then(|it| it.unwrap_or_else(Some)),
        });
        match (is_cancelled, is_placed) {
            (true, true) => Ok(data),
            (false, false) => Err(ApiError {
                data: Some(data),
                ..ApiError::new(-2022, "Order cancel-replace failed.")
            }),
            _ => Err(ApiError {
                status: 409,
                data: Some(data),
                ..ApiError::new(-2021, "Order cancel-replace partially failed.")
            }),
        }
    }

    fn reply(&mut self, call: &Call, outcome: &Result<Value, ApiError>) {
        if let Source::Fix(request) = &call.source {
            return self.reply_fix(call, request, outcome);
        }
        if outcome.is_ok() && call.method.act.is_free() {
            self.weight.give_back(call.weight);
        }
        let counts = call.account.filter(|_| call.method.act.counts_orders());
        let counts = counts.and_then(|it| self.accounts.get(it)).map(|it| &it.counts);
        let connection = call.connection;
        match &call.source {
            Source::Http { .. } => {
                let used = self.weight.used().to_string();
                let mut headers =
                    vec![("x-mbx-used-weight", used.clone()), ("x-mbx-used-weight-1m", used)];
                if let Some(counts) = counts {
                    let (short, day) = (counts.ten_seconds.count, counts.day.count);
                    headers.push(("x-mbx-order-count-10s", short.to_string()));
                    headers.push(("x-mbx-order-count-1d", day.to_string()));
                }
                let (status, body) = match outcome {
                    Ok(result) => (200, result.to_string()),
                    Err(problem) => {
                        if let Some(seconds) = problem.retry_after {
                            headers.push(("Retry-After", seconds.to_string()));
                        }
                        (problem.status, problem.json().to_string())
                    }
                };
                self.out.push_back(Output::Answer { connection, status, headers, body });
            }
            Source::Fix(_) => {}
            Source::Socket { id, shows_limits } => {
                let limits = shows_limits.then(|| {
                    let mut limits = vec![self.weight.json()];
                    limits.extend(counts.into_iter().flat_map(|it| it.json()));
                    Value::from(limits)
                });
                self.reply_socket(connection, id, outcome, limits);
            }
        }
    }

    fn reply_socket(
        &mut self,
        connection: u64,
        id: &str,
        outcome: &Result<Value, ApiError>,
        limits: Option<Value>,
    ) {
        let limits = limits.map_or(String::new(), |it| format!(",\"rateLimits\":{it}"));
        let (status, outcome) = match outcome {
            Ok(result) => (200, format!("\"result\":{result}")),
            Err(problem) => (problem.status, format!("\"error\":{}", problem.json())),
        };
        let text = format!("{{\"id\":{id},\"status\":{status},{outcome}{limits}}}");
        self.out.push_back(Output::Text { connection, text });
    }
}

impl Job {
    /// One command after the other; who asks is known later.
    pub(super) fn new(call: &Call, commands: Vec<(usize, Command)>, wants: Wants) -> Self {
        Self {
            call: call.clone(),
            commands: commands.into(),
            wants,
            order: None,
            fills: Vec::new(),
            refused: None,
        }
    }
}

/// A query or a form without its signature.
fn unsigned(text: &str) -> String {
    let parts = text.split('&').filter(|part| !part.starts_with("signature="));
    parts.collect::<Vec<_>>().join("&")
}

/// Nobody knows what became of a request.
fn unknown() -> ApiError {
    let text = "Timeout waiting for response from backend server. Send status unknown; execution \
                status unknown.";
    ApiError { status: 408, ..ApiError::new(-1007, text) }
}

fn excess(it: Excess, ms: i64) -> ApiError {
    match it {
        Excess::Wait(seconds) => {
            let data = Some(json!({ "serverTime": ms, "retryAfter": ms + seconds * 1_000 }));
            ApiError { retry_after: Some(seconds), data, ..error(-1003) }
        }
        Excess::Banned(until) => {
            let text = format!(
                "Way too much request weight used; IP banned until {until}. Please use WebSocket \
                 Streams for live updates to avoid bans."
            );
            let data = Some(json!({ "serverTime": ms, "retryAfter": until }));
            let retry_after = Some((until - ms + 999) / 1_000);
            ApiError { status: 418, retry_after, data, ..ApiError::new(-1003, &text) }
        }
    }
}
