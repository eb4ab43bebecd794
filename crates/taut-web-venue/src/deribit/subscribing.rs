//! Subscriptions come and go.

use serde_json::{Value, json};
use taut_types::Side;

use crate::decimal::number;
use crate::deribit::channels::Channel;
use crate::deribit::market::Market;
use crate::deribit::publish;
use crate::deribit::rpc::{self, Request, RpcError, error};
use crate::deribit::session::Subscription;
use crate::deribit::state::{Deribit, Done, Outcome};
use crate::front::Output;

/// Channels of a connection.
const CHANNELS_MAX: usize = 500;

impl Deribit {
    pub(super) fn subscribe(&mut self, request: &Request) -> Outcome {
        let names = request.params.list("channels")?;
        let session = self.sessions.get(&request.connection).ok_or_else(|| error(10030))?;
        let mut taken: Vec<(String, Channel)> = Vec::new();
        for name in names {
            let Some(channel) = Channel::parse(&name, &self.markets) else { continue };
            let is_known = session.account.is_some();
            if channel.is_market_raw() && !is_known {
                return Err(error(13778));
            }
            // A private channel is not for everybody: it is left out.
            if channel.is_private() && !is_known {
                continue;
            }
            taken.push((name, channel));
        }
        if session.subscriptions.len() + taken.len() > CHANNELS_MAX {
            return Err(error(11052));
        }
        let mut first = Vec::new();
        for (name, channel) in &taken {
            if let Some(text) = self.begin(request.connection, name, channel) {
                first.push(text);
            }
        }
        // The answer comes before the first data.
        let names: Vec<&String> = taken.iter().map(|(name, _)| name).collect();
        self.reply(request, &Ok(json!(names)));
        let connection = request.connection;
        self.out.extend(first.into_iter().map(|text| Output::Text { connection, text }));
        Ok(Done::Answered)
    }

    /// Begins a subscription; what it says first.
    fn begin(&mut self, connection: u64, name: &str, channel: &Channel) -> Option<String> {
        let (now, ms) = (self.now.mono, self.ms());
        let at = match channel {
            Channel::Book(place, _) | Channel::Grouped(place, ..) => *place,
            Channel::Ticker(place, _) | Channel::Quote(place) => *place,
            _ => usize::MAX,
        };
        let market = self.markets.get(at);
        let change_id = market.map_or(0, |it| it.change_id);
        let data = match (channel, market) {
            (Channel::Book(..), Some(market)) => Some(snapshot(market, ms)),
            (Channel::Grouped(_, group, depth, _), Some(market)) => {
                Some(publish::grouped(market, *group, *depth, ms))
            }
            (Channel::Ticker(place, _), Some(market)) => {
                Some(market.ticker(ms, self.index(*place)))
            }
            (Channel::Quote(_), Some(market)) => Some(publish::quote(market, ms)),
            (Channel::PriceIndex(name), _) => {
                publish::price_index(name, &self.markets, &self.indexes(), ms)
            }
            (Channel::PlatformState, _) if name == "platform_state" => {
                Some(json!({ "price_index": "btc_usd", "locked": false }))
            }
            (Channel::PlatformState, _) => {
                Some(json!({ "allow_unauthenticated_public_requests": true }))
            }
            (Channel::Portfolio(currency), _) => {
                let account = self.sessions.get(&connection)?.account?;
                let currencies = self.currencies_of(account);
                let mut all =
                    currencies.iter().filter(|it| currency.as_ref().is_none_or(|c| c == *it));
                all.next().map(|it| self.portfolio(account, it))
            }
            _ => None,
        };
        let session = self.sessions.get_mut(&connection)?;
        session.subscriptions.retain(|it| it.name != name);
        session.subscriptions.push(Subscription::new(name, channel.clone(), now, change_id));
        data.map(|data| rpc::notification(name, &data))
    }

    pub(super) fn unsubscribe(&mut self, request: &Request) -> Result<Value, RpcError> {
        let names = request.params.list("channels")?;
        let session = self.sessions.get_mut(&request.connection).ok_or_else(|| error(10030))?;
        session.subscriptions.retain(|it| !names.contains(&it.name));
        Ok(json!(names))
    }

    pub(super) fn unsubscribe_all(&mut self, request: &Request) -> Value {
        if let Some(session) = self.sessions.get_mut(&request.connection) {
            session.subscriptions.clear();
        }
        json!("ok")
    }
}

/// The whole book, as a channel begins with it.
fn snapshot(market: &Market, ms: i64) -> Value {
    let levels = |side: Side| -> Value {
        market
            .book
            .levels(side)
            .map(|(price, amount)| json!(["new", number(price), number(amount)]))
            .collect()
    };
    json!({
        "type": "snapshot",
        "timestamp": ms,
        "instrument_name": market.settings.name,
        "change_id": market.change_id,
        "bids": levels(Side::Buy),
        "asks": levels(Side::Sell),
    })
}
