//! How much of the limits is used.

use taut_oms::{
    AccountUsage, Amount, MessageRates, MessagesLeft, MessagesOf, OrderLimits, Rate, Risk,
};
use taut_types::{AccountId, InstrumentId, Lots, Nanos, Side, StrategyId, UserId};

use crate::service::file::GatewayFile;
use crate::service::protocol::LimitLine;
use crate::service::rules::{Rules, account_ids};

/// What is used, by numbers, as the trading thread sees it.
#[derive(Debug)]
pub struct Usage {
    venue: MessagesLeft,
    users: Vec<(u32, MessagesLeft)>,
    accounts: Vec<(AccountUsage, MessagesLeft)>,
    strategies: Vec<u32>,
    held: Vec<Held>,
}

/// A position, or open orders, of an account in an instrument.
#[derive(Debug)]
struct Held {
    instrument: InstrumentId,
    account: AccountId,
    position: Lots,
    /// Open buys and open sells.
    open: [Lots; 2],
}

impl Usage {
    /// Looks at everything.
    pub fn of(risk: &Risk, now: Nanos) -> Self {
        let sizes = risk.limits().sizes();
        let numbers = |count: usize| (0..=u8::MAX).take(count);
        let left = |of| risk.messages_left(now, of);
        let mut held = Vec::new();
        for instrument in (0..).take(sizes.instruments).map(InstrumentId) {
            for account in numbers(sizes.accounts).map(AccountId) {
                let position = risk.position(instrument, account);
                let open = Side::BOTH.map(|side| risk.open_lots(instrument, account, side));
                if position != Lots::ZERO || open != [Lots::ZERO; 2] {
                    held.push(Held { instrument, account, position, open });
                }
            }
        }
        Self {
            venue: left(MessagesOf::Venue),
            users: numbers(sizes.users)
                .map(UserId)
                .map(|user| (risk.user_open_orders(user), left(MessagesOf::User(user))))
                .collect(),
            accounts: numbers(sizes.accounts)
                .map(AccountId)
                .map(|it| (risk.account_usage(it), left(MessagesOf::Account(it))))
                .collect(),
            strategies: numbers(sizes.strategies)
                .map(|number| risk.strategy_open_orders(StrategyId(number)))
                .collect(),
            held,
        }
    }

    /// What is in force and how much of it is used, line by line.
    pub fn lines(&self, file: &GatewayFile, rules: &Rules) -> Vec<LimitLine> {
        let mut lines = Lines(Vec::new());
        let limits = &rules.risk.limits;
        lines.rates("gateway", &file.name, &limits.venue, self.venue);
        for user in &file.users {
            let own = limits.user(UserId(user.id)).zip(self.users.get(usize::from(user.id)));
            let Some((own, (open_orders, left))) = own else { continue };
            lines.count("user", &user.name, "open orders", *open_orders, own.open_orders_max);
            lines.rates("user", &user.name, &own.rates, *left);
        }
        for account in account_ids(file) {
            let own = limits.account(account).zip(self.accounts.get(usize::from(account.0)));
            let Some((own, (used, left))) = own else { continue };
            let name = &file.account_name(account);
            lines.count("account", name, "open orders", used.open_orders, own.open_orders_max);
            lines.amount("account", name, "gross", used.gross, own.gross_max);
            lines.amount("account", name, "net", used.net, own.net_max);
            let loss = (-used.profit).max(Amount::ZERO);
            lines.amount("account", name, "loss", loss, own.loss_max);
            lines.rates("account", name, &own.rates, *left);
        }
        for strategy in &file.strategies {
            let used = self.strategies.get(usize::from(strategy.number)).copied().unwrap_or(0);
            let max = limits.strategy(StrategyId(strategy.number));
            lines.count("strategy", &strategy.name, "open orders", used, max);
        }
        for held in &self.held {
            let Some(own) = limits.orders_of(held.instrument, held.account) else { continue };
            let symbol = file.instruments.get(held.instrument.0 as usize);
            let symbol = symbol.map_or("?", |instrument| instrument.symbol.as_str());
            let name = format!("{symbol} {}", file.account_name(held.account));
            lines.held(&name, held, own);
        }
        lines.0
    }
}

struct Lines(Vec<LimitLine>);

impl Lines {
    fn push(&mut self, scope: &str, name: &str, limit: &str, used: String, max: Option<String>) {
        self.0.push(LimitLine {
            scope: scope.to_owned(),
            name: name.to_owned(),
            limit: limit.to_owned(),
            used,
            max,
        });
    }

    fn count(&mut self, scope: &str, name: &str, limit: &str, used: u32, max: u32) {
        let max = (max < u32::MAX).then(|| max.to_string());
        self.push(scope, name, limit, used.to_string(), max);
    }

    fn amount(&mut self, scope: &str, name: &str, limit: &str, used: Amount, max: Amount) {
        let max = (max < Amount::MAX).then(|| max.to_string());
        self.push(scope, name, limit, used.to_string(), max);
    }

    /// Messages of a burst that were used a moment ago.
    fn rates(&mut self, scope: &str, name: &str, rates: &MessageRates, left: MessagesLeft) {
        for (what, rate, left) in [
            ("orders at once", rates.orders, left.orders),
            ("cancels at once", rates.cancels, left.cancels),
        ] {
            if rate != Rate::UNLIMITED {
                let used = rate.burst.saturating_sub(left).to_string();
                let max = format!("{}, {} a second", rate.burst, rate.per_second);
                self.push(scope, name, what, used, Some(max));
            }
        }
    }

    /// A position with all open orders of a side filled, against the largest one.
    fn held(&mut self, name: &str, held: &Held, own: &OrderLimits) {
        let [buys, sells] = held.open;
        for (what, used, max) in [
            ("long lots", held.position.0.saturating_add(buys.0), own.long_lots_max),
            ("short lots", sells.0.saturating_sub(held.position.0), own.short_lots_max),
        ] {
            self.push("instrument", name, what, used.max(0).to_string(), Some(max.0.to_string()));
        }
    }
}
