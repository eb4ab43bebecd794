//! Whose trading and which orders are meant.

use clap::{Args, ValueEnum};
use taut_runner::service::{FilterNames, ScopeName, SideName};

/// Whose trading: everybody's, or that of one of these.
#[derive(Args, Clone, Debug)]
#[group(multiple = false)]
pub struct Scope {
    /// That of this user: its name in the settings, or its number where it has none
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// That for this account
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// That of this strategy
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// That in this instrument
    #[arg(long, value_name = "SYMBOL")]
    symbol: Option<String>,
}

impl Scope {
    pub fn name(&self) -> ScopeName {
        let Self { user, account, strategy, symbol } = self.clone();
        let user = user.map(ScopeName::User);
        let account = account.map(ScopeName::Account);
        let strategy = strategy.map(ScopeName::Strategy);
        let symbol = symbol.map(ScopeName::Symbol);
        user.or(account).or(strategy).or(symbol).unwrap_or(ScopeName::All)
    }
}

/// Which orders: those that have all of this.
#[derive(Args, Clone, Debug)]
pub struct Filter {
    /// Those of this user: its name in the settings, or its number where it has none
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Those for this account
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Those of this strategy
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// Those in this instrument
    #[arg(long, value_name = "SYMBOL")]
    symbol: Option<String>,
    /// Those of this side
    #[arg(long, value_enum)]
    side: Option<Side>,
}

/// A side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Side {
    Buy,
    Sell,
}

impl Filter {
    pub fn names(&self) -> FilterNames {
        let Self { user, account, strategy, symbol, side } = self.clone();
        let side = side.map(|side| match side {
            Side::Buy => SideName::Buy,
            Side::Sell => SideName::Sell,
        });
        FilterNames { user, account, strategy, symbol, side }
    }
}
