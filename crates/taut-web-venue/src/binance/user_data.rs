//! What owners are told: execution reports and balances, over subscriptions and listen keys.

use serde_json::{Value, json};
use taut_types::OrderId;

use crate::binance::error::{ApiError, error};
use crate::binance::fix_fields;
use crate::binance::frames::{self, AccountPosition, AssetBalance, ExecutionReport, Prevention};
use crate::binance::methods::Call;
use crate::binance::order::{Fill, Order, force_name, order_number, side_name};
use crate::binance::session::Kind;
use crate::binance::state::Binance;
use crate::binance::stream::Stream;
use crate::decimal::{fixed8, times};
use crate::front::Output;

/// What an owner is told, in both languages.
#[derive(Debug)]
pub struct Report {
    pub json: String,
    /// The fields of an ExecutionReport (8).
    pub fix: Vec<(i32, String)>,
}

/// What happened to an order.
pub enum Execution<'a> {
    New,
    Trade(&'a Fill),
    Cancelled,
    Replaced,
    Expired,
    /// It met an order of its own account; without more when it was cancelled for that.
    Prevention(Option<Prevented>),
}

/// What an order became smaller by, and against which.
#[derive(Clone, Copy, Debug)]
pub struct Prevented {
    pub counter: OrderId,
    pub lots: i64,
    pub price: i128,
}

impl Execution<'_> {
    const fn name(&self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::Trade(_) => "TRADE",
            Self::Cancelled => "CANCELED",
            Self::Replaced => "REPLACED",
            Self::Expired => "EXPIRED",
            Self::Prevention(_) => "TRADE_PREVENTION",
        }
    }
}

impl Binance {
    pub(super) fn execution_report(&self, order: &Order, it: &Execution<'_>) -> Option<Report> {
        let market = self.market(order.place)?;
        let (ms, amount) = (self.ms(), |lots| fixed8(market.book.amount(lots)));
        let fill = match it {
            Execution::Trade(fill) => Some(*fill),
            _ => None,
        };
        let (last_lots, last_price) = fill.map_or((0, 0), |fill| (fill.lots, fill.price));
        let prevention = match it {
            Execution::Prevention(Some(by)) => Some(Prevention {
                prevented: amount(order.prevented),
                last_prevented: amount(by.lots),
                trade_group: -1,
                counter_order: order_number(by.counter),
                counter_symbol: &market.settings.name,
                quantity: amount(by.lots),
                price: fixed8(by.price),
                notional: fixed8(times(market.book.amount(by.lots), by.price)),
            }),
            _ => None,
        };
        // The id of a cancel or an amend stands in front of the one before.
        let (client_id, original_id) = match (&order.cancel_id, &order.amended_from, it) {
            (Some(cancel), _, Execution::Cancelled) => (cancel.as_str(), order.client_id.as_str()),
            (_, Some(before), Execution::Replaced) => (order.client_id.as_str(), before.as_str()),
            _ => (order.client_id.as_str(), ""),
        };
        let report = ExecutionReport {
            e: "executionReport",
            event_ms: ms,
            s: &market.settings.name,
            client_id,
            side: side_name(order.side),
            kind: order.kind.name(),
            force: force_name(order.force),
            quantity: amount(order.lots),
            price: fixed8(order.price.unwrap_or(0)),
            stop_price: fixed8(0),
            iceberg: amount(order.iceberg.unwrap_or(0)),
            list: -1,
            original_id,
            execution: it.name(),
            status: if matches!(it, Execution::New) { "NEW" } else { order.status.name() },
            reject_reason: "NONE",
            order_id: order_number(order.id),
            last_quantity: amount(last_lots),
            filled: amount(order.filled),
            last_price: fixed8(last_price),
            commission: fill.map_or_else(|| "0".to_owned(), |fill| fixed8(fill.commission)),
            commission_asset: fill.map(|fill| fill.commission_asset.as_str()),
            transaction_ms: ms,
            trade_id: fill.map_or(-1, |fill| fill.trade_id as i64),
            prevented_match: order.prevented_match,
            execution_id: self.next_execution,
            is_on_book: order.status.is_live() && order.price.is_some(),
            is_maker: fill.is_some_and(|fill| fill.is_maker),
            ignored: false,
            created_ms: order.created_ms,
            notional: fixed8(order.notional),
            last_notional: fixed8(times(market.book.amount(last_lots), last_price)),
            quote_quantity: fixed8(order.quote_quantity),
            working_ms: order.created_ms,
            stp_mode: order.stp.0,
            prevention,
        };
        Some(Report { json: frames::text(&report), fix: fix_fields::execution_report(&report) })
    }

    /// Tells what an account has of a market's two assets.
    pub(super) fn tell_position(&mut self, account: usize, place: usize) {
        let Some(market) = self.market(place) else { return };
        let assets = [market.settings.base.clone(), market.settings.quote.clone()];
        let balance = |asset: String| {
            let (free, locked) = self.balance(account, &asset);
            AssetBalance { asset, free: fixed8(free), locked: fixed8(locked) }
        };
        let position = AccountPosition {
            e: "outboundAccountPosition",
            event_ms: self.ms(),
            updated_ms: self.ms(),
            balances: assets.map(balance).into(),
        };
        self.tell(account, &frames::text(&position));
    }

    /// What is free and what is locked of an asset, at 1e-9.
    pub(super) fn balance(&self, account: usize, asset: &str) -> (i128, i128) {
        let total = self.accounts.get(account).and_then(|it| it.balances.get(asset));
        let free = self.free(account, asset, None);
        (free, total.copied().unwrap_or(0) - free)
    }

    /// Tells an account something, wherever it listens.
    pub(super) fn tell(&mut self, account: usize, event: &str) {
        for (&connection, session) in &self.sessions {
            let Kind::Api(api) = &session.kind else { continue };
            for (id, _) in api.user_streams.iter().filter(|(_, it)| **it == account) {
                let text = format!("{{\"subscriptionId\":{id},\"event\":{event}}}");
                self.out.push_back(Output::Text { connection, text });
            }
        }
        self.publish(&Stream::Account(account), |_| event.to_owned());
    }

    /// `userDataStream.subscribe` and `userDataStream.subscribe.signature`.
    pub(super) fn subscribe_user(
        &mut self,
        call: &Call,
        account: usize,
    ) -> Result<Value, ApiError> {
        let session = self.api_session(call.connection).ok_or_else(|| error(-1000))?;
        if call.method.name == "userDataStream.subscribe" && session.logon.is_none() {
            return Err(error(-2015));
        }
        let id = session.next_user_stream;
        session.next_user_stream += 1;
        session.user_streams.insert(id, account);
        Ok(json!({ "subscriptionId": id }))
    }

    /// `userDataStream.unsubscribe`: one subscription, or all of the connection's.
    pub(super) fn unsubscribe_user(&mut self, call: &Call) -> Result<Value, ApiError> {
        let wanted = call.params.integer("subscriptionId")?;
        let (connection, ms) = (call.connection, self.ms());
        let session = self.api_session(connection).ok_or_else(|| error(-1000))?;
        let is_wanted = |id: &u64| wanted.is_none_or(|it| u64::try_from(it) == Ok(*id));
        let ended = session.user_streams.extract_if(.., |id, _| is_wanted(id));
        let ended: Vec<u64> = ended.map(|(id, _)| id).collect();
        for id in ended {
            let event = json!({ "e": "eventStreamTerminated", "E": ms });
            let text = format!("{{\"subscriptionId\":{id},\"event\":{event}}}");
            self.out.push_back(Output::Text { connection, text });
        }
        Ok(json!({}))
    }

    /// `session.subscriptions`.
    pub(super) fn user_subscriptions(&mut self, call: &Call) -> Value {
        let session = self.api_session(call.connection);
        let ids = session.into_iter().flat_map(|it| it.user_streams.keys());
        ids.map(|id| json!({ "subscriptionId": id })).collect()
    }
}
