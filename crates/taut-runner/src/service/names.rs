//! What an operator names, and the numbers that the gateway knows it by.

use taut_gateway::OrderFilter;
use taut_oms::KillScope;
use taut_types::{AccountId, Instrument, InstrumentId, Side, StrategyId, UserId};

use crate::service::file::GatewayFile;
use crate::service::protocol::{FilterNames, ScopeName, SideName};

/// Names of a file and of its instruments.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    pub file: &'a GatewayFile,
    pub instruments: &'a [Instrument],
}

impl Names<'_> {
    /// Whose trading is meant.
    pub fn scope(self, name: &ScopeName) -> Result<KillScope, String> {
        Ok(match name {
            ScopeName::All => KillScope::All,
            ScopeName::User(name) => KillScope::User(self.user(name)?),
            ScopeName::Account(name) => KillScope::Account(self.account(name)?),
            ScopeName::Strategy(name) => KillScope::Strategy(self.strategy(name)?),
            ScopeName::Symbol(name) => KillScope::Instrument(self.instrument(name)?),
        })
    }

    /// Which orders are meant.
    pub fn filter(self, names: &FilterNames) -> Result<OrderFilter, String> {
        let FilterNames { user, account, strategy, symbol, side } = names;
        Ok(OrderFilter {
            user: user.as_deref().map(|name| self.user(name)).transpose()?,
            account: account.as_deref().map(|name| self.account(name)).transpose()?,
            strategy: strategy.as_deref().map(|name| self.strategy(name)).transpose()?,
            instrument: symbol.as_deref().map(|name| self.instrument(name)).transpose()?,
            side: side.map(|side| match side {
                SideName::Buy => Side::Buy,
                SideName::Sell => Side::Sell,
            }),
        })
    }

    /// What a scope is called; its number, where it has no name.
    pub fn of(self, scope: KillScope) -> ScopeName {
        let named = |name: Option<&String>, number: u8| {
            name.map_or_else(|| number.to_string(), String::clone)
        };
        match scope {
            KillScope::All => ScopeName::All,
            KillScope::User(UserId(id)) => {
                let user = self.file.users.iter().find(|user| user.id == id);
                ScopeName::User(named(user.map(|user| &user.name), id))
            }
            KillScope::Account(AccountId(id)) => {
                let account = self.file.accounts.iter().find(|account| account.id == id);
                ScopeName::Account(named(account.map(|account| &account.name), id))
            }
            KillScope::Strategy(StrategyId(id)) => {
                let strategy = self.file.strategies.iter().find(|it| it.number == id);
                ScopeName::Strategy(named(strategy.map(|it| &it.name), id))
            }
            KillScope::Instrument(id) => {
                let known = self.instruments.get(id.0 as usize);
                ScopeName::Symbol(
                    known.map_or_else(
                        || id.0.to_string(),
                        |instrument| instrument.symbol().to_string(),
                    ),
                )
            }
        }
    }

    fn user(self, name: &str) -> Result<UserId, String> {
        let known = self.file.users.iter().map(|user| (user.name.as_str(), user.id));
        number("user", name, known).map(UserId)
    }

    fn account(self, name: &str) -> Result<AccountId, String> {
        let known = self.file.accounts.iter().map(|account| (account.name.as_str(), account.id));
        number("account", name, known).map(AccountId)
    }

    fn strategy(self, name: &str) -> Result<StrategyId, String> {
        let known = self.file.strategies.iter().map(|it| (it.name.as_str(), it.number));
        number("strategy", name, known).map(StrategyId)
    }

    fn instrument(self, name: &str) -> Result<InstrumentId, String> {
        let mut known = self.instruments.iter();
        let found = known.find(|instrument| instrument.symbol().to_string() == name);
        found.map(Instrument::id).ok_or_else(|| format!("no instrument is called '{name}' here"))
    }
}

/// The number of a name, or the number that stands in its place: what has no name in the settings
/// may trade, too.
fn number<'n>(
    kind: &str,
    name: &str,
    known: impl Iterator<Item = (&'n str, u8)> + Clone,
) -> Result<u8, String> {
    let named = known.clone().find(|(own, _)| *own == name).map(|(_, number)| number);
    named.or_else(|| name.parse().ok()).ok_or_else(|| {
        let names: Vec<&str> = known.map(|(name, _)| name).collect();
        match names.as_slice() {
            [] => format!("no {kind} has a name here: a number from 0 to 255 is one"),
            names => format!("no {kind} is called '{name}' here; there are: {}", names.join(", ")),
        }
    })
}
