//! Who may do what, and how much: the tables of limits in a gateway's file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use taut_gateway::GatewayConfig;
use taut_oms::SelfMatch;

use crate::service::day::DayEnd;
use crate::service::money::Money;

/// `[risk]`: what holds for everything together, and where nothing else is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayRisk {
    /// How far a price may lie from the market, in parts per million of it.
    pub collar_ppm: u32,
    /// How far it may lie from the last trade; without it that is not asked for.
    pub last_trade_collar_ppm: Option<u32>,
    /// The largest order.
    pub lots_max: i64,
    /// The most that an order may be worth; in an inverse contract in the coin that it is settled
    /// in.
    pub notional_max: Option<Money>,
    /// The largest position in an instrument for an account, long or short, with all open orders
    /// of that side filled.
    pub position_lots_max: i64,
    /// The largest long position, where it is another.
    pub long_lots_max: Option<i64>,
    /// The largest short position, where it is another.
    pub short_lots_max: Option<i64>,
    /// Orders working or on their way at one time, of each account and strategy.
    pub open_orders_max: u32,
    /// Worth of all positions of an account, whatever their direction. Each counts in what it is
    /// settled in, and nothing is converted, here and in the two below.
    pub gross_max: Option<Money>,
    /// Worth of all positions of an account, long less short.
    pub net_max: Option<Money>,
    /// What an account may lose in a day; beyond it, it is killed.
    pub loss_max: Option<Money>,
    /// New orders and modifies to the venue a second, whoever sends them.
    pub orders_per_second: u32,
    /// New orders and modifies at once.
    pub orders_burst: u32,
    /// Cancels to the venue a second; those beyond it wait.
    pub cancels_per_second: Option<u32>,
    /// Cancels at once.
    pub cancels_burst: Option<u32>,
    /// An order of a strategy with the terms of one that left no longer ago does not leave, in
    /// milliseconds; 0 lets it.
    pub duplicate_window_ms: u32,
    /// Of a budget of messages, the part in hundredths at which strategies are warned; 0 for never.
    pub rate_warning_percent: u8,
    /// What happens to an order that could trade with an own one.
    pub self_match: SelfMatchMode,
    /// When a day ends, "HH:MM" of UTC: positions are settled, and profit, fees and losses count
    /// from 0; without it only when the operator says so.
    pub day_ends: Option<DayEnd>,
    /// Where a snapshot of each day is written at its end; without it nowhere.
    pub snapshot_folder: Option<PathBuf>,
    /// Everything is killed when the operator does not say for so long that it is there, in
    /// milliseconds; without it nobody need.
    pub operator_dead_man_ms: Option<u32>,
    /// Instruments that nobody may trade: names or regular expressions over whole names.
    pub restricted: Vec<String>,
}

impl Default for GatewayRisk {
    fn default() -> Self {
        let limits = GatewayConfig::default_risk();
        Self {
            collar_ppm: limits.collar_ppm,
            last_trade_collar_ppm: None,
            lots_max: limits.lots_max.0,
            notional_max: None,
            position_lots_max: limits.position_lots_max.0,
            long_lots_max: None,
            short_lots_max: None,
            open_orders_max: limits.open_orders_max,
            gross_max: None,
            net_max: None,
            loss_max: None,
            orders_per_second: limits.orders.per_second,
            orders_burst: limits.orders.burst,
            cancels_per_second: None,
            cancels_burst: None,
            duplicate_window_ms: 0,
            rate_warning_percent: 80,
            self_match: SelfMatchMode::Allow,
            day_ends: None,
            snapshot_folder: None,
            operator_dead_man_ms: None,
            restricted: Vec::new(),
        }
    }
}

impl GatewayRisk {
    /// The limits of a user, an account or a strategy where nothing else is said are these.
    pub(super) const fn throttle(&self) -> Throttle {
        Throttle {
            orders_per_second: Some(self.orders_per_second),
            orders_burst: Some(self.orders_burst),
            cancels_per_second: self.cancels_per_second,
            cancels_burst: self.cancels_burst,
        }
    }
}

/// What happens to an order that could trade with an own one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelfMatchMode {
    /// It may: the venue prevents it, or nobody does.
    #[default]
    Allow,
    /// The new one does not leave.
    CancelNewest,
    /// The resting ones are cancelled, then the new one leaves.
    CancelOldest,
    /// The resting ones are cancelled, and the new one does not leave.
    CancelBoth,
}

impl From<SelfMatchMode> for SelfMatch {
    fn from(mode: SelfMatchMode) -> Self {
        match mode {
            SelfMatchMode::Allow => Self::Allow,
            SelfMatchMode::CancelNewest => Self::CancelNewest,
            SelfMatchMode::CancelOldest => Self::CancelOldest,
            SelfMatchMode::CancelBoth => Self::CancelBoth,
        }
    }
}

/// `[[symbols]]`: limits of orders in the instruments of a pattern. The first rule that an
/// instrument and an account match says what differs from `[risk]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SymbolRule {
    /// A name, or a regular expression over the whole name.
    pub pattern: String,
    /// For this account alone.
    #[serde(default)]
    pub account: Option<String>,
    /// As in [`GatewayRisk`], and so the others.
    #[serde(default)]
    pub collar_ppm: Option<u32>,
    /// How far a price may lie from the last trade.
    #[serde(default)]
    pub last_trade_collar_ppm: Option<u32>,
    /// The largest order.
    #[serde(default)]
    pub lots_max: Option<i64>,
    /// The most that an order may be worth.
    #[serde(default)]
    pub notional_max: Option<Money>,
    /// The largest position, long or short.
    #[serde(default)]
    pub position_lots_max: Option<i64>,
    /// The largest long position, where it is another.
    #[serde(default)]
    pub long_lots_max: Option<i64>,
    /// The largest short position, where it is another.
    #[serde(default)]
    pub short_lots_max: Option<i64>,
}

/// Messages: so many a second on average, so many at once. What is not said is not limited; at once
/// as many as a second has, where only that is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Throttle {
    /// New orders and modifies a second.
    pub orders_per_second: Option<u32>,
    /// New orders and modifies at once.
    pub orders_burst: Option<u32>,
    /// Cancels a second, which have a budget of their own; those beyond it wait.
    pub cancels_per_second: Option<u32>,
    /// Cancels at once.
    pub cancels_burst: Option<u32>,
}

/// `[[users]]`: somebody whose strategies trade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserSettings {
    /// Its name.
    pub name: String,
    /// Its number: a part of the id of each of its orders. It must stay what it is for as long as
    /// there are orders.
    pub id: u8,
    /// The accounts that it may trade for; all without this.
    #[serde(default)]
    pub accounts: Option<Vec<String>>,
    /// What it may trade, names or regular expressions over whole names; everything without this.
    /// It may cancel its orders in any case.
    #[serde(default)]
    pub symbols: Option<Vec<String>>,
    /// What its orders may be.
    #[serde(default)]
    pub limits: UserLimitKeys,
    /// How many messages it may send.
    #[serde(default)]
    pub throttle: Throttle,
}

/// What the orders of a user may be, beside what holds for their instruments and accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserLimitKeys {
    /// The largest order.
    pub lots_max: Option<i64>,
    /// The most that an order may be worth.
    pub notional_max: Option<Money>,
    /// Orders working or on their way at one time.
    pub open_orders_max: Option<u32>,
}

/// `[[accounts]]`: what orders are for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountSettings {
    /// Its name at the venue: FIX Account (1).
    pub name: String,
    /// Its number, by which strategies name it.
    pub id: u8,
    /// What it has of each currency that is to be followed, before the trades that the gateway
    /// knows of.
    #[serde(default)]
    pub balances: BTreeMap<String, Money>,
    /// What it may have.
    #[serde(default)]
    pub limits: AccountLimitKeys,
    /// How many messages may be sent for it.
    #[serde(default)]
    pub throttle: Throttle,
}

/// What an account may have; what is not said is as in [`GatewayRisk`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccountLimitKeys {
    /// Orders working or on their way at one time.
    pub open_orders_max: Option<u32>,
    /// Worth of all positions, whatever their direction.
    pub gross_max: Option<Money>,
    /// Worth of all positions, long less short.
    pub net_max: Option<Money>,
    /// What it may lose in a day; beyond it, it is killed.
    pub loss_max: Option<Money>,
}
