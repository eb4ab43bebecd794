//! A gateway's file in words.

use taut_oms::{AccountLimits, Amount, MessageRates, OrderLimits, Rate, SelfMatch, UserLimits};
use taut_types::{
    AccountId, ContractKind, Instrument, InstrumentId, Lots, Nanos, Price, Qty, UserId,
};

use crate::error::RunnerError;
use crate::recording::WhenFull;
use crate::service::connections;
use crate::service::file::{GatewayFile, PositionsKey, StrategySettings, WhenGoneKey};
use crate::service::rules::{Rules, account_ids};

/// Names in a line, before the others are only counted.
const NAMES_MAX: usize = 12;

impl GatewayFile {
    /// What the file says, line by line: what is connected, what is traded, and who may trade what
    /// with which limits. It says where secrets are, never what they are.
    ///
    /// # Errors
    /// As [`GatewayFile::check`].
    pub fn explain(&self) -> Result<Vec<String>, RunnerError> {
        self.check()?;
        let rules = self.rules()?;
        let mut lines = vec![format!("gateway '{}'", self.name)];
        let mut say = |what: &str, text: String| lines.push(format!("  {what:<16} {text}"));
        self.explain_connections(&mut say);
        for instrument in &self.instruments()? {
            let (symbol, tick, lot) = (instrument.symbol(), instrument.tick(), instrument.lot());
            let what = format!("instrument {}", instrument.id().0);
            let kind = match instrument.kind() {
                ContractKind::Linear => "",
                ContractKind::Inverse => ", inverse",
            };
            let further = reference_data(instrument);
            say(&what, format!("{symbol}, tick {tick}, lot {lot}{kind}{further}"));
        }
        for rule in &self.subscribe {
            say(
                "instruments",
                format!("'{}', whatever the venue defines at the start", rule.pattern),
            );
        }
        if self.takes_instruments() {
            // How many the patterns mean, the venue says.
            let room = match (&self.gateway.instruments_max, self.subscribe.is_empty()) {
                (None, false) => "for a quarter more than there are then, 16 at least".to_owned(),
                _ => format!("for {} instruments", self.instruments_max()),
            };
            say("room", format!("{room}: a reload adds them while the others trade on"));
        }
        self.explain_limits(&rules, &mut say);
        self.explain_owners(&rules, &mut say);
        Ok(lines)
    }

    fn explain_connections(&self, say: &mut impl FnMut(&str, String)) {
        say("control socket", self.control_path().display().to_string());
        connections::explain(self, say);
        if let Some(proxy) = &self.proxy {
            say("proxy", format!("all of it through {}", proxy.words()));
        }
        for backup in &self.session.backups {
            say("", format!("backup for orders: {backup}"));
        }
        if let Some(credentials) = &self.session.credentials {
            let (user, place) = (&credentials.username, credentials.password.words());
            let secret = match connections::reads_secret(self) {
                true => format!("with the secret in {place}"),
                false => "whose secret is not read on paper".to_owned(),
            };
            say("logon", format!("as {user}, {secret}"));
        }
        if self.venue.is_some() {
            let rule = match self.session.positions {
                PositionsKey::Off => "not compared with the venue's",
                PositionsKey::Report => "compared with the venue's; what differs is told",
                PositionsKey::Repair => "compared with the venue's; its positions hold",
                PositionsKey::Halt => "compared with the venue's; what differs kills its account",
            };
            say("positions", rule.to_owned());
        }
        if let Some(drop_copy) = &self.drop_copy {
            let (at, us) = (drop_copy.listen, &drop_copy.sender_comp_id);
            let readers = drop_copy.sessions.join(", ");
            say("drop copy", format!("FIX 4.4 at {at} as {us}, for {readers}"));
        }
        if let Some(reader) = &self.drop_copy_reader {
            let (at, us, after) = (&reader.address, &reader.sender_comp_id, reader.after_ms);
            say("", format!("the venue's, at {at} as {us}: what orders do not say in {after} ms"));
        }
        let forgets = "none: a gateway that is killed forgets its orders and positions".to_owned();
        let is_recorded = self.records_orders();
        let journal = self.order_journal().map_or(forgets, |journal| {
            let within = if is_recorded { "in the recordings in " } else { "" };
            let (folder, durability) = (journal.folder.display(), journal.durability.name());
            format!("{within}{folder}, durability {durability}")
        });
        say("journal", journal);
        if let Some((folder, keys)) = self.recording(Nanos::ZERO) {
            let folder = self.record_in.as_ref().map_or(&keys.folder, |_| &folder).display();
            let then = match keys.when_full {
                WhenFull::Drop => "it trades on while that is full, and counts what is missing",
                _ => "it ends when that is full",
            };
            say("recorded", format!("in {folder}; {then}"));
        }
    }

    fn explain_limits(&self, rules: &Rules, say: &mut impl FnMut(&str, String)) {
        let limits = &rules.risk.limits;
        say("to the venue", rates(&limits.venue));
        say(
            "own orders",
            match limits.self_match {
                SelfMatch::Allow => "may meet; nobody here keeps them apart".to_owned(),
                SelfMatch::CancelNewest => {
                    "that could meet: the newer one does not leave".to_owned()
                }
                SelfMatch::CancelOldest => {
                    "that could meet: the resting ones are cancelled".to_owned()
                }
                SelfMatch::CancelBoth => {
                    "that could meet: the newer one does not leave, the resting ones are cancelled"
                        .to_owned()
                }
            },
        );
        if self.risk.duplicate_window_ms > 0 {
            let window = self.risk.duplicate_window_ms;
            say("duplicates", format!("the same order again within {window} ms does not leave"));
        }
        let restricted = (0..).zip(&rules.restricted).filter(|(_, is)| **is).map(|(at, _)| at);
        let restricted: Vec<usize> = restricted.collect();
        if !restricted.is_empty() {
            say("restricted", format!("nobody trades {}", self.symbols_of(&restricted)));
        }
        // What no rule decides for any account has the limits of all.
        let ruled = |at: &usize| rules.decides.iter().any(|decided| decided.contains(at));
        let others: Vec<usize> = (0..self.instruments.len()).filter(|at| !ruled(at)).collect();
        let accounts = account_ids(self);
        if let Some(orders) = self.limits_of(rules, others.first(), &accounts) {
            say("orders", format!("in {}: {}", self.symbols_of(&others), order(orders)));
        }
        for (at, (rule, decided)) in self.symbols.iter().zip(&rules.decides).enumerate() {
            let decided: Vec<usize> = decided.iter().copied().collect();
            let only = match &rule.account {
                Some(name) => format!(" for {name}"),
                None => String::new(),
            };
            let own = rule.account.as_ref().map(|name| {
                self.accounts
                    .iter()
                    .filter(|account| account.name == *name)
                    .map(|account| AccountId(account.id))
                    .collect::<Vec<_>>()
            });
            let own = own.unwrap_or_else(|| accounts.clone());
            let pattern = &rule.pattern;
            let text = match self.limits_of(rules, decided.first(), &own) {
                Some(orders) => {
                    format!("'{pattern}'{only} is {}: {}", self.symbols_of(&decided), order(orders))
                }
                None => format!("'{pattern}'{only} decides for no instrument"),
            };
            say(&format!("symbols[{at}]"), text);
        }
    }

    fn explain_owners(&self, rules: &Rules, say: &mut impl FnMut(&str, String)) {
        let limits = &rules.risk.limits;
        for account in account_ids(self) {
            let named = self.accounts.iter().find(|own| own.id == account.0);
            let name = named.map_or("not named to the venue", |own| own.name.as_str());
            if let Some(own) = limits.account(account) {
                let what = format!("account {}", account.0);
                say(&what, format!("{name}: {}", account_words(own)));
            }
        }
        if self.users.is_empty() {
            say("users", "every user number may trade everything".to_owned());
        }
        let may = rules.may_trade.iter().zip(&rules.trades_for);
        for (user, (may_trade, trades_for)) in self.users.iter().zip(may) {
            let may = may_trade.iter().zip(&rules.restricted).enumerate();
            let may = may.filter(|(_, (may, restricted))| **may && !**restricted);
            let may: Vec<usize> = may.map(|(at, _)| at).collect();
            let accounts: Vec<String> =
                trades_for.iter().map(|account| self.account_name(*account)).collect();
            let what = format!("user {}", user.id);
            say(
                &what,
                match may.as_slice() {
                    [] => format!("{} may trade nothing, and cancel", user.name),
                    may => format!(
                        "{} may trade {} for {}",
                        user.name,
                        self.symbols_of(may),
                        names(&accounts)
                    ),
                },
            );
            if let Some(own) = limits.user(UserId(user.id)) {
                say("", user_words(own));
            }
        }
        if self.strategies.is_empty() {
            say("strategies", "none may attach: add [[strategies]]".to_owned());
        }
        for strategy in &self.strategies {
            let user = self.users.iter().find(|user| user.id == strategy.user);
            let user = user.map_or_else(|| strategy.user.to_string(), |user| user.name.clone());
            let (name, number) = (&strategy.name, strategy.number);
            let open = limits.strategy(taut_types::StrategyId(number));
            let text = format!("{name}, number {number}, of user {user}: {open} open orders");
            say("strategy", text);
            if let Some(words) = when_gone_words(strategy) {
                say("", words);
            }
        }
    }

    /// The limits of the first of some instruments, for the first of some accounts.
    fn limits_of<'r>(
        &self,
        rules: &'r Rules,
        instrument: Option<&usize>,
        accounts: &[AccountId],
    ) -> Option<&'r OrderLimits> {
        let instrument = InstrumentId(u32::try_from(*instrument?).ok()?);
        rules.risk.limits.orders_of(instrument, *accounts.first()?)
    }

    /// The name of an account, or its number where it has none.
    pub(super) fn account_name(&self, account: AccountId) -> String {
        let named = self.accounts.iter().find(|own| own.id == account.0);
        named.map_or_else(|| format!("account {}", account.0), |own| own.name.clone())
    }

    fn symbols_of(&self, places: &[usize]) -> String {
        let symbols = places.iter().filter_map(|at| self.instruments.get(*at));
        names(&symbols.map(|instrument| instrument.symbol.clone()).collect::<Vec<_>>())
    }
}

/// What few instruments have beside a tick and a lot.
fn reference_data(instrument: &Instrument) -> String {
    let mut text = String::new();
    for step in instrument.ticks().steps() {
        text += &format!(", tick {} from {} on", step.tick, step.from);
    }
    if instrument.multiplier() != Qty::whole(1) {
        text += &format!(", multiplier {}", instrument.multiplier());
    }
    if let Ok(least) = instrument.qty(instrument.lots_min())
        && instrument.lots_min() > Lots(1)
    {
        text += &format!(", at least {least}");
    }
    if instrument.notional_min() > Price(0) {
        text += &format!(", worth at least {}", instrument.notional_min());
    }
    text
}

fn names(all: &[String]) -> String {
    match all.get(..NAMES_MAX) {
        Some(some) if all.len() > NAMES_MAX => {
            format!("{} and {} more", some.join(", "), all.len() - NAMES_MAX)
        }
        _ => all.join(", "),
    }
}

fn order(limits: &OrderLimits) -> String {
    let mut text = lots(limits.lots_max);
    if limits.notional_max < Amount::MAX {
        text += &format!(" worth {}", limits.notional_max);
    }
    text += &format!(" an order, within {} of the market", percent(limits.collar_ppm));
    if limits.last_trade_collar_ppm != OrderLimits::NO_COLLAR {
        text += &format!(" and {} of the last trade", percent(limits.last_trade_collar_ppm));
    }
    text + &format!(", {} long, {} short", lots(limits.long_lots_max), lots(limits.short_lots_max))
}

fn account_words(limits: &AccountLimits) -> String {
    let mut text = format!("{} open orders", limits.open_orders_max);
    for (amount, what) in
        [(limits.gross_max, "gross"), (limits.net_max, "net"), (limits.loss_max, "lost in a day")]
    {
        if amount < Amount::MAX {
            text += &format!(", {amount} {what}");
        }
    }
    format!("{text}; {}", rates(&limits.rates))
}

fn user_words(limits: &UserLimits) -> String {
    let mut words = Vec::new();
    if limits.open_orders_max < u32::MAX {
        words.push(format!("{} open orders", limits.open_orders_max));
    }
    if limits.lots_max < Lots(i64::MAX) {
        words.push(format!("{} an order", lots(limits.lots_max)));
    }
    if limits.notional_max < Amount::MAX {
        words.push(format!("an order worth {}", limits.notional_max));
    }
    words.push(rates(&limits.rates));
    words.join("; ")
}

/// What becomes of a strategy's open orders when it ends, where they are not cancelled.
pub(super) fn when_gone_words(strategy: &StrategySettings) -> Option<String> {
    let how_long = match strategy.keep_ms {
        Some(ms) => format!("{ms} ms long, and are cancelled then"),
        None => "as long as that takes".to_owned(),
    };
    match &strategy.when_gone {
        WhenGoneKey::Cancel => None,
        WhenGoneKey::Keep => Some(format!("at its end they wait for its return, {how_long}")),
        WhenGoneKey::HandOverTo(heir) => Some(format!(
            "at its end they become those of {heir}, and wait for it where it is not attached, \
             {how_long}"
        )),
    }
}

fn rates(rates: &MessageRates) -> String {
    let words = |rate: Rate, what: &str| match rate {
        Rate::UNLIMITED => format!("{what} at any rate"),
        Rate { per_second, burst } => format!("{per_second} {what} a second, {burst} at once"),
    };
    format!("{}; {}", words(rates.orders, "orders"), words(rates.cancels, "cancels"))
}

fn lots(lots: Lots) -> String {
    format!("{} lots", lots.0)
}

/// Parts per million as a percentage.
fn percent(ppm: u32) -> String {
    let (whole, rest) = (ppm / 10_000, ppm % 10_000);
    let rest = format!("{rest:04}");
    match rest.trim_end_matches('0') {
        "" => format!("{whole}%"),
        rest => format!("{whole}.{rest}%"),
    }
}
