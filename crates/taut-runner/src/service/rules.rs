//! From a gateway's file to limits: names resolved, regular expressions applied to the instruments.

use std::collections::{BTreeMap, BTreeSet};

use taut_fix::ShortText;
use taut_gateway::{Accounts, RiskConfig, RiskRules};
use taut_oms::{
    AccountLimits, Amount, LimitsError, MessageRates, OrderLimits, Rate, RiskLimits, RiskSizes,
    UserLimits,
};
use taut_types::{AccountId, InstrumentId, Lots, Nanos, StrategyId, UserId};

use crate::mistakes::Mistake;
use crate::reading::nearest;
use crate::service::dead_men::check_dead_man;
use crate::service::file::GatewayFile;
use crate::service::limits::{GatewayRisk, SymbolRule, Throttle, UserSettings};
use crate::service::money::Money;
use crate::service::name::{NAME_BYTES_MAX, is_name};
use crate::service::pattern::{Pattern, Patterns};
use crate::settings::InstrumentSettings;

/// Groups of instruments that permissions can tell apart.
const GROUPS_MAX: usize = 64;

/// What a file says about who may trade what.
#[derive(Clone, Debug)]
pub struct Rules {
    /// For the gateway.
    pub risk: RiskRules,
    /// By user of the file: whether it may trade each instrument.
    pub may_trade: Vec<Vec<bool>>,
    /// By user of the file: the accounts that it trades for.
    pub trades_for: Vec<Vec<AccountId>>,
    /// By rule of `[[symbols]]`: the instruments that it is the first for, for any account.
    pub decides: Vec<BTreeSet<usize>>,
    /// By instrument: whether nobody may trade it.
    pub restricted: Vec<bool>,
}

impl Rules {
    /// The rules of a file.
    ///
    /// # Errors
    /// Every limit, name and pattern that cannot be.
    pub fn build(file: &GatewayFile) -> Result<Self, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        check_risk(&file.risk, &mut mistakes);
        check_accounts(file, &mut mistakes);
        check_users(file, &mut mistakes);
        let built = Building { file, mistakes: &mut mistakes }.build();
        if mistakes.is_empty() { Ok(built) } else { Err(mistakes) }
    }

    /// The rules and the accounts, for a gateway that is to be built.
    pub fn config(self, file: &GatewayFile) -> RiskConfig {
        RiskConfig::Each { rules: self.risk, accounts: accounts(file) }
    }
}

/// The limits of `[risk]` and `[[symbols]]` where there are no users and no accounts.
///
/// # Errors
/// Every limit and pattern that cannot be.
pub fn risk_of(
    instruments: &[InstrumentSettings],
    risk: &GatewayRisk,
    symbols: &[SymbolRule],
) -> Result<RiskConfig, Vec<Mistake>> {
    let mut file = GatewayFile::of_limits_alone().map_err(|error| vec![error.into()])?;
    file.instruments = instruments.to_vec();
    file.risk = risk.clone();
    file.symbols = symbols.to_vec();
    Ok(Rules::build(&file)?.config(&file))
}

/// The accounts' names at the venue.
fn accounts(file: &GatewayFile) -> Accounts {
    let named = file.accounts.iter().filter_map(|account| {
        Some((AccountId(account.id), ShortText::new(account.name.as_bytes())?))
    });
    Accounts::new(&named.collect::<Vec<_>>())
}

/// The numbers of the accounts; without any in the file there is account 0.
pub fn account_ids(file: &GatewayFile) -> Vec<AccountId> {
    match file.accounts.as_slice() {
        [] => vec![AccountId(0)],
        all => all.iter().map(|account| AccountId(account.id)).collect(),
    }
}

struct Building<'a> {
    file: &'a GatewayFile,
    mistakes: &'a mut Vec<Mistake>,
}

impl Building<'_> {
    fn build(&mut self) -> Rules {
        let file = self.file;
        let accounts = account_ids(file);
        let account_count = accounts.iter().map(|account| usize::from(account.0) + 1).max();
        let sizes = RiskSizes {
            instruments: file.instruments_max(),
            accounts: account_count.unwrap_or(1),
            users: 256,
            strategies: 256,
        };
        let mut limits = RiskLimits::closed(sizes);
        limits.venue = rates(&file.risk.throttle());
        limits.self_match = file.risk.self_match.into();
        limits.duplicate_window = Nanos::from_millis(file.risk.duplicate_window_ms.into());
        limits.rate_warning_percent = file.risk.rate_warning_percent;
        limits.set_orders_default(order_limits(&file.risk, &SymbolRule::default()));
        let restricted = self.restrict(&mut limits);
        let decides = self.limit_symbols(&mut limits, &accounts);
        self.limit_accounts(&mut limits);
        limits.set_strategies(file.risk.open_orders_max);
        for strategy in &file.strategies {
            let open_orders_max = strategy.open_orders_max.unwrap_or(file.risk.open_orders_max);
            let set = limits.set_strategy(StrategyId(strategy.number), open_orders_max);
            self.note("strategies", set);
        }
        let trades_for = self.limit_users(&mut limits, &accounts);
        let may_trade = self.permitted_instruments();
        let groups = self.permit(&mut limits, &accounts, &trades_for, &may_trade);
        let risk = RiskRules { limits, groups };
        Rules { risk, may_trade, trades_for, decides, restricted }
    }

    fn restrict(&mut self, limits: &mut RiskLimits) -> Vec<bool> {
        let patterns = Patterns::new("risk.restricted", &self.file.risk.restricted, self.mistakes);
        let restricted: Vec<bool> =
            self.file.instruments.iter().map(|it| patterns.mean(&it.symbol)).collect();
        for (id, _) in (0..).zip(&restricted).filter(|(_, is_restricted)| **is_restricted) {
            let set = limits.set_restricted(InstrumentId(id), true);
            self.note("risk.restricted", set);
        }
        restricted
    }

    /// The first rule of an instrument and an account says their limits.
    fn limit_symbols(
        &mut self,
        limits: &mut RiskLimits,
        accounts: &[AccountId],
    ) -> Vec<BTreeSet<usize>> {
        let file = self.file;
        let mut decides = vec![BTreeSet::new(); file.symbols.len()];
        let mut rules = Vec::with_capacity(file.symbols.len());
        for (at, rule) in file.symbols.iter().enumerate() {
            let key = format!("symbols[{at}]");
            check_rule(&key, rule, self.mistakes);
            let account = rule.account.as_ref().map(|name| {
                self.account(&format!("{key}.account"), name).unwrap_or(AccountId(u8::MAX))
            });
            match Pattern::new(&format!("{key}.pattern"), &rule.pattern) {
                Ok(pattern) => rules.push((at, pattern, account)),
                Err(mistake) => self.mistakes.push(mistake),
            }
        }
        for (number, instrument) in (0..).zip(&file.instruments) {
            let means =
                |rule: &&(usize, Pattern, Option<AccountId>)| rule.1.means(&instrument.symbol);
            let own: Vec<_> = rules.iter().filter(means).collect();
            for account in accounts {
                let first =
                    own.iter().find(|(_, _, only)| only.is_none_or(|only| only == *account));
                let Some((at, ..)) = first else { continue };
                let Some((rule, decided)) = file.symbols.get(*at).zip(decides.get_mut(*at)) else {
                    continue;
                };
                decided.insert(number as usize);
                let own = order_limits(&file.risk, rule);
                let set = limits.set_orders(InstrumentId(number), *account, own);
                self.note("symbols", set);
            }
        }
        decides
    }

    fn limit_accounts(&mut self, limits: &mut RiskLimits) {
        let risk = &self.file.risk;
        let common = AccountLimits {
            open_orders_max: risk.open_orders_max,
            gross_max: amount(risk.gross_max),
            net_max: amount(risk.net_max),
            loss_max: amount(risk.loss_max),
            rates: MessageRates::UNLIMITED,
        };
        limits.set_accounts(common);
        for account in &self.file.accounts {
            let own = &account.limits;
            let own = AccountLimits {
                open_orders_max: own.open_orders_max.unwrap_or(common.open_orders_max),
                gross_max: own.gross_max.map_or(common.gross_max, |money| money.0),
                net_max: own.net_max.map_or(common.net_max, |money| money.0),
                loss_max: own.loss_max.map_or(common.loss_max, |money| money.0),
                rates: rates(&account.throttle),
            };
            let set = limits.set_account(AccountId(account.id), own);
            self.note("accounts", set);
        }
    }

    /// The limits of users; returns the accounts that each trades for.
    fn limit_users(
        &mut self,
        limits: &mut RiskLimits,
        accounts: &[AccountId],
    ) -> Vec<Vec<AccountId>> {
        let file = self.file;
        let common = UserLimits::UNLIMITED;
        limits.set_users(common);
        let mut trades_for = Vec::with_capacity(file.users.len());
        for (at, user) in file.users.iter().enumerate() {
            let own = UserLimits {
                open_orders_max: user.limits.open_orders_max.unwrap_or(common.open_orders_max),
                lots_max: user.limits.lots_max.map_or(common.lots_max, Lots),
                notional_max: amount(user.limits.notional_max),
                rates: rates(&user.throttle),
            };
            let set = limits.set_user(UserId(user.id), own);
            self.note("users", set);
            trades_for.push(match &user.accounts {
                None => accounts.to_vec(),
                Some(names) => {
                    let key = |index: usize| format!("users[{at}].accounts[{index}]");
                    let names = names.iter().enumerate();
                    names.filter_map(|(index, name)| self.account(&key(index), name)).collect()
                }
            });
        }
        trades_for
    }

    fn permitted_instruments(&mut self) -> Vec<Vec<bool>> {
        let file = self.file;
        let mut may = |at: usize, user: &UserSettings| match &user.symbols {
            None => vec![true; file.instruments.len()],
            Some(symbols) => {
                let key = format!("users[{at}].symbols");
                let patterns = Patterns::new(&key, symbols, self.mistakes);
                file.instruments.iter().map(|it| patterns.mean(&it.symbol)).collect()
            }
        };
        file.users.iter().enumerate().map(|(at, user)| may(at, user)).collect()
    }

    /// Instruments that the same users may trade are a group. Returns the group of each.
    fn permit(
        &mut self,
        limits: &mut RiskLimits,
        accounts: &[AccountId],
        trades_for: &[Vec<AccountId>],
        may_trade: &[Vec<bool>],
    ) -> Vec<u8> {
        let file = self.file;
        if file.users.is_empty() {
            for user in (0..=u8::MAX).map(UserId) {
                for account in accounts {
                    let set = limits.permit(user, *account, 0, true);
                    self.note("users", set);
                }
            }
            return vec![0; file.instruments.len()];
        }
        let mut known: BTreeMap<Vec<bool>, u8> = BTreeMap::new();
        let mut groups = Vec::with_capacity(file.instruments.len());
        for instrument in 0..file.instruments.len() {
            let who: Vec<bool> =
                may_trade.iter().map(|may| may.get(instrument) == Some(&true)).collect();
            let next = known.len();
            if next == GROUPS_MAX && !known.contains_key(&who) {
                let text = "[[users]] symbols: no more than 64 groups of instruments that the same \
                            users may trade; give users that trade alike the same symbols";
                self.mistakes.push(Mistake::told("users", text));
                break;
            }
            groups.push(*known.entry(who).or_insert(next as u8));
        }
        for (who, group) in &known {
            let users = file.users.iter().zip(who).zip(trades_for);
            for ((user, _), own) in users.filter(|((_, may), _)| **may) {
                for account in own {
                    let set = limits.permit(UserId(user.id), *account, *group, true);
                    self.note("users", set);
                }
            }
        }
        groups
    }

    /// The account of this name.
    fn account(&mut self, key: &str, name: &str) -> Option<AccountId> {
        let known = self.file.accounts.iter().find(|account| account.name == name);
        if known.is_none() {
            let names = || self.file.accounts.iter().map(|account| account.name.as_str());
            let meant = nearest(name, names());
            let meant = meant.map_or_else(String::new, |it| format!("; did you mean `{it}`?"));
            let remedy = format!("the name of one of [[accounts]]{meant}");
            self.mistakes.push(Mistake::new(key, name, remedy));
        }
        known.map(|account| AccountId(account.id))
    }

    fn note(&mut self, key: &str, set: Result<(), LimitsError>) {
        if let Err(error) = set {
            self.mistakes.push(Mistake::told(key, format!("{key}: {error}")));
        }
    }
}

/// The limits of `[risk]`, with what a rule says in their place.
fn order_limits(risk: &GatewayRisk, rule: &SymbolRule) -> OrderLimits {
    let position = rule.position_lots_max;
    let side = |own: Option<i64>, common: Option<i64>| {
        Lots(own.or(position).or(common).unwrap_or(risk.position_lots_max))
    };
    let last = rule.last_trade_collar_ppm.or(risk.last_trade_collar_ppm);
    OrderLimits {
        collar_ppm: rule.collar_ppm.unwrap_or(risk.collar_ppm),
        last_trade_collar_ppm: last.unwrap_or(OrderLimits::NO_COLLAR),
        lots_max: Lots(rule.lots_max.unwrap_or(risk.lots_max)),
        notional_max: amount(rule.notional_max.or(risk.notional_max)),
        long_lots_max: side(rule.long_lots_max, risk.long_lots_max),
        short_lots_max: side(rule.short_lots_max, risk.short_lots_max),
    }
}

fn amount(money: Option<Money>) -> Amount {
    money.map_or(Amount::MAX, |money| money.0)
}

fn rates(throttle: &Throttle) -> MessageRates {
    let rate = |per_second: Option<u32>, burst: Option<u32>| {
        per_second.map_or(Rate::UNLIMITED, |per_second| Rate {
            per_second,
            burst: burst.unwrap_or(per_second),
        })
    };
    MessageRates {
        orders: rate(throttle.orders_per_second, throttle.orders_burst),
        cancels: rate(throttle.cancels_per_second, throttle.cancels_burst),
    }
}

fn check_lots(key: &str, lots: &[(&str, Option<i64>)], mistakes: &mut Vec<Mistake>) {
    for (name, lots) in lots {
        if let Some(lots) = lots.filter(|lots| *lots < 0) {
            mistakes.push(Mistake::new(&format!("{key}.{name}"), lots, "from 0 on"));
        }
    }
}

fn check_throttle(key: &str, throttle: &Throttle, mistakes: &mut Vec<Mistake>) {
    let Throttle { orders_per_second, orders_burst, cancels_per_second, cancels_burst } = *throttle;
    for (name, per_second, burst) in [
        ("orders", orders_per_second, orders_burst),
        ("cancels", cancels_per_second, cancels_burst),
    ] {
        if let (None, Some(burst)) = (per_second, burst) {
            let remedy = format!("beside a {name}_per_second");
            mistakes.push(Mistake::new(&format!("{key}.{name}_burst"), burst, remedy));
        }
    }
}

fn check_risk(risk: &GatewayRisk, mistakes: &mut Vec<Mistake>) {
    let lots = [
        ("lots_max", Some(risk.lots_max)),
        ("position_lots_max", Some(risk.position_lots_max)),
        ("long_lots_max", risk.long_lots_max),
        ("short_lots_max", risk.short_lots_max),
    ];
    check_lots("risk", &lots, mistakes);
    check_throttle("risk", &risk.throttle(), mistakes);
    check_dead_man("risk.operator_dead_man_ms", risk.operator_dead_man_ms, mistakes);
    if risk.rate_warning_percent > 100 {
        let (key, percent) = ("risk.rate_warning_percent", risk.rate_warning_percent);
        mistakes.push(Mistake::new(key, percent, "from 0 to 100"));
    }
}

fn check_rule(key: &str, rule: &SymbolRule, mistakes: &mut Vec<Mistake>) {
    let lots = [
        ("lots_max", rule.lots_max),
        ("position_lots_max", rule.position_lots_max),
        ("long_lots_max", rule.long_lots_max),
        ("short_lots_max", rule.short_lots_max),
    ];
    check_lots(key, &lots, mistakes);
}

fn check_accounts(file: &GatewayFile, mistakes: &mut Vec<Mistake>) {
    let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for (at, account) in file.accounts.iter().enumerate() {
        let key = |what: &str| format!("accounts[{at}].{what}");
        let is_text = ShortText::new(account.name.as_bytes()).is_some();
        if !is_text || !names.insert(&account.name) {
            let remedy = "1 to 23 printable letters, which no other account has";
            mistakes.push(Mistake::new(&key("name"), &account.name, remedy));
        }
        if !ids.insert(account.id) {
            let remedy = "a number that no other account has";
            mistakes.push(Mistake::new(&key("id"), account.id, remedy));
        }
        check_throttle(&key("throttle"), &account.throttle, mistakes);
    }
}

fn check_users(file: &GatewayFile, mistakes: &mut Vec<Mistake>) {
    let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for (at, user) in file.users.iter().enumerate() {
        let key = |what: &str| format!("users[{at}].{what}");
        if !is_name(&user.name) || !names.insert(&user.name) {
            let remedy = format!("1 to {NAME_BYTES_MAX} bytes, which no other user has");
            mistakes.push(Mistake::new(&key("name"), &user.name, remedy));
        }
        if !ids.insert(user.id) {
            let remedy = "a number that no other user has";
            mistakes.push(Mistake::new(&key("id"), user.id, remedy));
        }
        check_lots(&key("limits"), &[("lots_max", user.limits.lots_max)], mistakes);
        check_throttle(&key("throttle"), &user.throttle, mistakes);
    }
}

#[cfg(test)]
mod tests;
