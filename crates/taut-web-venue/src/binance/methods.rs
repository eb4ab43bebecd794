//! Which request does what, over REST and over the WebSocket API, and what each costs.

use crate::binance::params::Params;
use crate::fix::FixMessage;
use Access::{Key, Open, Read, Trade};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Ping,
    Time,
    ExchangeInfo,
    Depth,
    RecentTrades,
    AggTrades,
    Klines,
    AvgPrice,
    Ticker24h,
    TickerPrice,
    TickerBook,
    Account,
    OrderLimits,
    Place,
    Test,
    Cancel,
    CancelReplace,
    Amend,
    Order,
    OpenOrders,
    CancelAll,
    AllOrders,
    MyTrades,
    LogOn,
    SessionStatus,
    LogOut,
    Subscribe,
    Unsubscribe,
    Subscriptions,
    ListenStart,
    ListenKeep,
    ListenStop,
    Coins,
    SystemStatus,
    UsdMDepth,
    UsdMInfo,
    NoFutures,
    NoMargin,
}

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Open,
    /// A key, without a signature.
    Key,
    /// A signature, or a session that is logged on.
    Read,
    /// The same, of a key that may trade.
    Trade,
}

/// A request of the interface.
#[derive(Debug)]
pub struct Method {
    pub act: Act,
    /// Its name on the WebSocket API; empty where it has none.
    pub name: &'static str,
    /// Verb and path of REST; empty where it has none.
    pub route: &'static str,
    pub access: Access,
    /// At the least: some weigh more by what they ask for.
    pub weight: u32,
}

const fn row(
    act: Act,
    name: &'static str,
    route: &'static str,
    access: Access,
    weight: u32,
) -> Method {
    Method { act, name, route, access, weight }
}

/// Every request that is served.
#[rustfmt::skip]
pub static METHODS: &[Method] = &[
    row(Act::Ping, "ping", "GET /api/v3/ping", Open, 1),
    row(Act::Time, "time", "GET /api/v3/time", Open, 1),
    row(Act::ExchangeInfo, "exchangeInfo", "GET /api/v3/exchangeInfo", Open, 20),
    row(Act::Depth, "depth", "GET /api/v3/depth", Open, 5),
    row(Act::RecentTrades, "trades.recent", "GET /api/v3/trades", Open, 25),
    row(Act::RecentTrades, "trades.historical", "GET /api/v3/historicalTrades", Open, 25),
    row(Act::AggTrades, "trades.aggregate", "GET /api/v3/aggTrades", Open, 4),
    row(Act::Klines, "klines", "GET /api/v3/klines", Open, 2),
    row(Act::Klines, "uiKlines", "GET /api/v3/uiKlines", Open, 2),
    row(Act::AvgPrice, "avgPrice", "GET /api/v3/avgPrice", Open, 2),
    row(Act::Ticker24h, "ticker.24hr", "GET /api/v3/ticker/24hr", Open, 2),
    row(Act::TickerPrice, "ticker.price", "GET /api/v3/ticker/price", Open, 2),
    row(Act::TickerBook, "ticker.book", "GET /api/v3/ticker/bookTicker", Open, 2),
    row(Act::Account, "account.status", "GET /api/v3/account", Read, 20),
    row(Act::OrderLimits, "account.rateLimits.orders", "GET /api/v3/rateLimit/order", Read, 40),
    row(Act::Place, "order.place", "POST /api/v3/order", Trade, 1),
    row(Act::Test, "order.test", "POST /api/v3/order/test", Trade, 1),
    row(Act::Cancel, "order.cancel", "DELETE /api/v3/order", Trade, 1),
    row(Act::CancelReplace, "order.cancelReplace", "POST /api/v3/order/cancelReplace", Trade, 1),
    row(Act::Amend, "order.amend.keepPriority", "PUT /api/v3/order/amend/keepPriority", Trade, 4),
    row(Act::Order, "order.status", "GET /api/v3/order", Read, 4),
    row(Act::OpenOrders, "openOrders.status", "GET /api/v3/openOrders", Read, 6),
    row(Act::CancelAll, "openOrders.cancelAll", "DELETE /api/v3/openOrders", Trade, 1),
    row(Act::AllOrders, "allOrders", "GET /api/v3/allOrders", Read, 20),
    row(Act::MyTrades, "myTrades", "GET /api/v3/myTrades", Read, 20),
    row(Act::LogOn, "session.logon", "", Read, 2),
    row(Act::SessionStatus, "session.status", "", Open, 2),
    row(Act::LogOut, "session.logout", "", Open, 2),
    row(Act::Subscribe, "userDataStream.subscribe", "", Key, 2),
    row(Act::Subscribe, "userDataStream.subscribe.signature", "", Read, 2),
    row(Act::Unsubscribe, "userDataStream.unsubscribe", "", Open, 2),
    row(Act::Subscriptions, "session.subscriptions", "", Open, 2),
    row(Act::ListenStart, "userDataStream.start", "POST /api/v3/userDataStream", Key, 2),
    row(Act::ListenKeep, "userDataStream.ping", "PUT /api/v3/userDataStream", Key, 2),
    row(Act::ListenStop, "userDataStream.stop", "DELETE /api/v3/userDataStream", Key, 2),
    // What clients ask of the venue's other services when they start.
    row(Act::Coins, "", "GET /sapi/v1/capital/config/getall", Read, 10),
    row(Act::SystemStatus, "", "GET /sapi/v1/system/status", Open, 1),
    row(Act::NoMargin, "", "GET /sapi/v1/margin/allPairs", Key, 1),
    row(Act::NoMargin, "", "GET /sapi/v1/margin/isolated/allPairs", Key, 1),
    row(Act::Ping, "", "GET /fapi/v1/ping", Open, 1),
    row(Act::Time, "", "GET /fapi/v1/time", Open, 1),
    row(Act::UsdMInfo, "", "GET /fapi/v1/exchangeInfo", Open, 1),
    row(Act::UsdMDepth, "", "GET /fapi/v1/depth", Open, 20),
    row(Act::NoFutures, "", "GET /dapi/v1/exchangeInfo", Open, 1),
];

impl Act {
    /// Whether it reaches the matching engine.
    pub const fn is_trading(self) -> bool {
        matches!(
            self,
            Self::Place | Self::Cancel | Self::CancelReplace | Self::Amend | Self::CancelAll
        )
    }

    /// Whether its weight is given back when it succeeds (since 2026-04-02).
    pub const fn is_free(self) -> bool {
        matches!(self, Self::Place | Self::Cancel | Self::CancelReplace | Self::CancelAll)
    }

    /// Whether its answer counts orders.
    pub const fn counts_orders(self) -> bool {
        matches!(self, Self::Place | Self::CancelReplace)
    }
}

impl Method {
    pub fn named(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|it| !it.name.is_empty() && it.name == name)
    }

    /// The same of the futures' WebSocket API: of it a book is played.
    pub fn of_usd_m(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|it| it.act == Act::UsdMDepth && name == "depth")
    }

    pub fn routed(verb: &str, path: &str) -> Option<&'static Self> {
        METHODS.iter().find(|it| it.route.split_once(' ') == Some((verb, path)))
    }

    /// What a request weighs.
    pub fn weight_of(&self, params: &Params) -> u32 {
        let has_symbol = params.get("symbol").is_some();
        let limit = params.integer("limit").ok().flatten();
        match self.act {
            Act::Depth => match limit {
                None | Some(..=100) => 5,
                Some(..=500) => 25,
                Some(..=1_000) => 50,
                Some(_) => 250,
            },
            Act::UsdMDepth => match limit {
                Some(..=50) => 2,
                Some(51..=100) => 5,
                None | Some(101..=500) => 10,
                Some(_) => 20,
            },
            Act::Ticker24h if !has_symbol => 80,
            Act::TickerPrice | Act::TickerBook if !has_symbol => 4,
            Act::OpenOrders if !has_symbol => 80,
            _ => self.weight,
        }
    }
}

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    pub connection: u64,
    pub source: Source,
    pub method: &'static Method,
    pub params: Params,
    /// What it was charged.
    pub weight: u32,
    /// Whose it is, once that is known.
    pub account: Option<usize>,
}

/// How a request came.
#[derive(Clone, Debug)]
pub enum Source {
    /// By REST: `X-MBX-APIKEY`, and the text that is signed.
    Http { key: Option<String>, signed: String },
    /// By the WebSocket API: the id as it came, in JSON, and whether it wants `rateLimits`.
    Socket { id: String, shows_limits: bool },
    /// By FIX.
    Fix(FixMessage),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_asked_for_and_names_are_unique() {
        for (at, method) in METHODS.iter().enumerate() {
            let (verb, path) = method.route.split_once(' ').unwrap_or_default();
            let found = Method::named(method.name).or(Method::routed(verb, path));
            assert!(std::ptr::eq(found.expect("a row"), &METHODS[at]), "{method:?}");
        }
        assert!(Method::named("").is_none() && Method::routed("POST", "/api/v3/ping").is_none());
    }

    #[test]
    fn a_deep_book_weighs_more() {
        let depth = Method::named("depth").expect("a row");
        for (limit, weight) in [("5", 5), ("100", 5), ("500", 25), ("1000", 50), ("5000", 250)] {
            assert_eq!(depth.weight_of(&Params::of_http(&format!("limit={limit}"), "")), weight);
        }
    }
}
