//! The channels that can be subscribed to.

use crate::deribit::instruments::Kind;
use crate::deribit::market::Market;

/// How often a channel speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    Raw,
    /// Every 100 ms.
    Folded,
    /// Every second.
    Agg2,
}

/// Which instruments a channel is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Place(usize),
    /// A kind and a currency; absent is any.
    Of(Option<Kind>, Option<String>),
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    Book(usize, Interval),
    /// Price step in half ticks (0 is none) and depth.
    Grouped(usize, i64, usize, Interval),
    Ticker(usize, Interval),
    Quote(usize),
    Trades(Scope, Interval),
    UserOrders(Scope, Interval),
    UserTrades(Scope, Interval),
    UserChanges(Scope, Interval),
    /// Of a currency; absent is any.
    Portfolio(Option<String>),
    InstrumentState(Scope),
    PlatformState,
    PriceIndex(String),
    /// Known, and silent here.
    Silent,
}

impl Scope {
    /// Whether a market is in it.
    pub fn has(&self, place: usize, market: &Market) -> bool {
        match self {
            Self::Place(it) => *it == place,
            Self::Of(kind, currency) => {
                let settings = &market.settings;
                let is_currency = |it: &String| *it == settings.settlement || *it == settings.base;
                kind.is_none_or(|it| it == settings.kind)
                    && currency.as_ref().is_none_or(is_currency)
            }
        }
    }
}

impl Channel {
    pub const fn interval(&self) -> Interval {
        match self {
            Self::Book(_, it)
            | Self::Grouped(_, _, _, it)
            | Self::Ticker(_, it)
            | Self::Trades(_, it)
            | Self::UserOrders(_, it)
            | Self::UserTrades(_, it)
            | Self::UserChanges(_, it) => *it,
            // Once a second.
            Self::PriceIndex(_) => Interval::Agg2,
            _ => Interval::Raw,
        }
    }

    /// Whether only the account's owner may hear it.
    pub const fn is_private(&self) -> bool {
        matches!(
            self,
            Self::UserOrders(..)
                | Self::UserTrades(..)
                | Self::UserChanges(..)
                | Self::Portfolio(_)
        )
    }

    /// Whether raw data of it need a logon.
    pub const fn is_market_raw(&self) -> bool {
        matches!(
            self,
            Self::Book(_, Interval::Raw)
                | Self::Ticker(_, Interval::Raw)
                | Self::Trades(_, Interval::Raw)
        )
    }

    /// Reads a channel's name; `place` finds an instrument.
    pub fn parse(name: &str, markets: &[Market]) -> Option<Self> {
        let place = |name: &str| markets.iter().position(|market| market.settings.name == name);
        let parts: Vec<&str> = name.split('.').collect();
        Some(match parts.as_slice() {
            ["book", it, interval_name] => Self::Book(place(it)?, interval(interval_name)?),
            ["book", it, group, depth, interval_name] => {
                let interval = interval(interval_name).filter(|it| *it != Interval::Raw)?;
                let place = place(it)?;
                let group = match *group {
                    "none" => 0,
                    step => markets.get(place)?.book.half_ticks(crate::decimal::parse(step)?)?,
                };
                let depth = depth.parse().ok().filter(|depth| matches!(depth, 1 | 10 | 20))?;
                Self::Grouped(place, group, depth, interval)
            }
            ["ticker", it, interval_name] => Self::Ticker(place(it)?, interval(interval_name)?),
            ["incremental_ticker", it] => Self::Ticker(place(it)?, Interval::Folded),
            ["quote", it] => Self::Quote(place(it)?),
            ["trades", rest @ .., interval_name] => {
                Self::Trades(scope(rest, &place)?, interval(interval_name)?)
            }
            ["user", "orders", rest @ .., interval_name] => {
                Self::UserOrders(scope(rest, &place)?, interval(interval_name)?)
            }
            ["user", "trades", rest @ .., interval_name] => {
                Self::UserTrades(scope(rest, &place)?, interval(interval_name)?)
            }
            ["user", "changes", rest @ .., interval_name] => {
                Self::UserChanges(scope(rest, &place)?, interval(interval_name)?)
            }
            ["user", "portfolio", currency] => Self::Portfolio(any(currency)),
            ["instrument", "state", rest @ ..] => Self::InstrumentState(scope(rest, &place)?),
            ["platform_state"] | ["platform_state", "public_methods_state"] => Self::PlatformState,
            ["deribit_price_index", index] => Self::PriceIndex((*index).to_owned()),
            ["user", "lock" | "access_log" | "mmp_trigger", ..]
            | [
                "perpetual" | "deribit_price_ranking" | "estimated_expiration_price" | "markprice",
                ..,
            ]
            | ["deribit_price_statistics" | "deribit_volatility_index" | "announcements", ..]
            | ["chart", "trades", ..] => Self::Silent,
            _ => return None,
        })
    }
}

fn interval(name: &str) -> Option<Interval> {
    Some(match name {
        "raw" => Interval::Raw,
        "100ms" => Interval::Folded,
        "agg2" => Interval::Agg2,
        _ => return None,
    })
}

fn any(currency: &str) -> Option<String> {
    (!currency.eq_ignore_ascii_case("any")).then(|| currency.to_uppercase())
}

fn scope(parts: &[&str], place: &impl Fn(&str) -> Option<usize>) -> Option<Scope> {
    match parts {
        [instrument] => Some(Scope::Place(place(instrument)?)),
        [kind, currency] => {
            let kind = match *kind {
                "any" | "combo" | "future_combo" | "option_combo" => None,
                "future" => Some(Kind::Future),
                "option" => Some(Kind::Option),
                "spot" => Some(Kind::Pair),
                _ => return None,
            };
            Some(Scope::Of(kind, any(currency)))
        }
        _ => None,
    }
}
