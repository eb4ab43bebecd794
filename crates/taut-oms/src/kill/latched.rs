//! What is stopped and why: names, and words that outlive a restart.

use core::fmt;

use taut_types::{AccountId, InstrumentId, StrategyId, UserId};

use crate::filter::OrderFilter;

/// Whose trading is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KillScope {
    /// Everybody's.
    All,
    /// A user's.
    User(UserId),
    /// A strategy's.
    Strategy(StrategyId),
    /// An account's.
    Account(AccountId),
    /// Everybody's in an instrument.
    Instrument(InstrumentId),
}

/// A [`KillScope`] without its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ScopeKind {
    /// Everybody.
    All = 0,
    /// A user.
    User = 1,
    /// A strategy.
    Strategy = 2,
    /// An account.
    Account = 3,
    /// An instrument.
    Instrument = 4,
}

/// What stopped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum KillCause {
    /// Somebody asked for it.
    Command = 1,
    /// A signal of the system.
    Signal = 2,
    /// The account lost more than it may.
    LossLimit = 3,
    /// Nobody refreshed its timer.
    DeadMan = 4,
    /// What was stopped before a restart could not be read.
    Unreadable = 5,
    /// The venue has the instrument otherwise than we do.
    ReferenceData = 6,
    /// The venue holds another position than we do.
    Positions = 7,
}

/// A scope that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latched {
    /// Whose trading.
    pub scope: KillScope,
    /// By what.
    pub cause: KillCause,
}

impl KillScope {
    /// The scope without its number.
    #[must_use]
    pub const fn kind(self) -> ScopeKind {
        match self {
            Self::All => ScopeKind::All,
            Self::User(_) => ScopeKind::User,
            Self::Strategy(_) => ScopeKind::Strategy,
            Self::Account(_) => ScopeKind::Account,
            Self::Instrument(_) => ScopeKind::Instrument,
        }
    }

    const fn number(self) -> u32 {
        match self {
            Self::All => 0,
            Self::User(UserId(id))
            | Self::Strategy(StrategyId(id))
            | Self::Account(AccountId(id)) => id as u32,
            Self::Instrument(InstrumentId(id)) => id,
        }
    }
}

impl ScopeKind {
    /// The kind with this index, if it is one.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        Some(match index {
            0 => Self::All,
            1 => Self::User,
            2 => Self::Strategy,
            3 => Self::Account,
            4 => Self::Instrument,
            _ => return None,
        })
    }
}

impl From<KillScope> for OrderFilter {
    fn from(scope: KillScope) -> Self {
        match scope {
            KillScope::All => Self::ALL,
            KillScope::User(id) => Self { user: Some(id), ..Self::ALL },
            KillScope::Strategy(id) => Self { strategy: Some(id), ..Self::ALL },
            KillScope::Account(id) => Self { account: Some(id), ..Self::ALL },
            KillScope::Instrument(id) => Self { instrument: Some(id), ..Self::ALL },
        }
    }
}

impl Latched {
    /// Bits 0 to 7: the kind of scope; 8 to 15: the cause; 16 to 47: the scope's number; 48 to 63:
    /// the parity of each column of the three halves before, turned round, so that a word of
    /// zeros, or one with a bit that flipped, is none.
    #[must_use]
    pub const fn to_word(self) -> u64 {
        let number = self.scope.number() as u64;
        let word = number << 16 | (self.cause as u64) << 8 | self.scope.kind() as u64;
        let parity = (word ^ word >> 16 ^ word >> 32) as u16;
        word | (!parity as u64) << 48
    }

    /// What a word says, if it is one of [`Latched::to_word`].
    #[must_use]
    pub fn from_word(word: u64) -> Option<Self> {
        let [kind, cause, a, b, c, d, _, _] = word.to_le_bytes();
        let number = u32::from_le_bytes([a, b, c, d]);
        let scope = match ScopeKind::from_index(kind)? {
            ScopeKind::All => KillScope::All,
            ScopeKind::User => KillScope::User(UserId(a)),
            ScopeKind::Strategy => KillScope::Strategy(StrategyId(a)),
            ScopeKind::Account => KillScope::Account(AccountId(a)),
            ScopeKind::Instrument => KillScope::Instrument(InstrumentId(number)),
        };
        let cause = match cause {
            1 => KillCause::Command,
            2 => KillCause::Signal,
            3 => KillCause::LossLimit,
            4 => KillCause::DeadMan,
            5 => KillCause::Unreadable,
            6 => KillCause::ReferenceData,
            7 => KillCause::Positions,
            _ => return None,
        };
        // A word with more in it than it may have is none.
        Some(Self { scope, cause }).filter(|latched| latched.to_word() == word)
    }
}

impl fmt::Display for KillScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::User(id) => write!(f, "user {}", id.0),
            Self::Strategy(id) => write!(f, "strategy {}", id.0),
            Self::Account(id) => write!(f, "account {}", id.0),
            Self::Instrument(id) => write!(f, "instrument {}", id.0),
        }
    }
}

impl fmt::Display for KillCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Command => "command",
            Self::Signal => "signal",
            Self::LossLimit => "loss limit",
            Self::DeadMan => "dead man's timer",
            Self::Unreadable => "state of the kill switch that could not be read",
            Self::ReferenceData => "the venue has another symbol, price step or quantity step here",
            Self::Positions => "position that is another one at the venue",
        })
    }
}
