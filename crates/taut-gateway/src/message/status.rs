//! How a gateway is, as far as a strategy is concerned.

use taut_oms::{KillScope, ScopeKind};

use crate::owner::Owner;

/// Where the session for orders stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum SessionPhase {
    /// There is no connection; one is tried after a while.
    #[default]
    Waiting = 0,
    /// A connection is being made.
    Connecting = 1,
    /// The venue is asked for a session.
    LoggingOn = 2,
    /// The venue is asked where the open orders stand. No new one leaves.
    Reconciling = 3,
    /// Orders leave.
    Up = 4,
    /// The gateway has logged out, and ends.
    Ended = 5,
    /// The gateway is about to end: open orders are cancelled, and no new one leaves.
    Ending = 6,
}

impl SessionPhase {
    const fn from_index(index: u8) -> Option<Self> {
        Some(match index {
            0 => Self::Waiting,
            1 => Self::Connecting,
            2 => Self::LoggingOn,
            3 => Self::Reconciling,
            4 => Self::Up,
            5 => Self::Ended,
            6 => Self::Ending,
            _ => return None,
        })
    }
}

/// Kinds of scopes in which trading is stopped: all that a strategy is in for its user and itself,
/// and some accounts or instruments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KilledScopes(u8);

impl KilledScopes {
    /// None.
    pub const NONE: Self = Self(0);

    /// Those of these scopes that concern a strategy: everybody's, its user's and its own, and
    /// those of accounts and instruments, which it may trade.
    pub(crate) fn of(scopes: impl Iterator<Item = KillScope>, owner: Owner) -> Self {
        let concerns = |scope: &KillScope| match scope {
            KillScope::User(user) => *user == owner.user,
            KillScope::Strategy(strategy) => *strategy == owner.strategy,
            _ => true,
        };
        scopes.filter(concerns).fold(Self::NONE, |all, scope| all.with(scope.kind()))
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, kind: ScopeKind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// Whether one of this kind is stopped.
    #[must_use]
    pub const fn contain(self, kind: ScopeKind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// Whether nothing is stopped.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// How a gateway is, as far as a strategy is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewayStatus {
    /// Where the session for orders stands.
    pub session: SessionPhase,
    /// Whether every book can be trusted.
    pub is_feed_sound: bool,
    /// What is stopped.
    pub killed: KilledScopes,
}

impl GatewayStatus {
    pub(super) const fn to_bytes(self) -> [u8; 3] {
        [self.session as u8, self.is_feed_sound as u8, self.killed.0]
    }

    pub(super) const fn from_bytes([session, is_feed_sound, killed]: [u8; 3]) -> Option<Self> {
        let Some(session) = SessionPhase::from_index(session) else { return None };
        let is_known = is_feed_sound < 2 && killed < 1 << 5;
        let (is_feed_sound, killed) = (is_feed_sound == 1, KilledScopes(killed));
        if is_known { Some(Self { session, is_feed_sound, killed }) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::{AccountId, InstrumentId, StrategyId, UserId};

    #[test]
    fn what_is_stopped_of_others_does_not_concern_a_strategy() {
        let owner = Owner { user: UserId(3), strategy: StrategyId(4) };
        let of = |scope| KilledScopes::of([scope].into_iter(), owner);
        for scope in [
            KillScope::All,
            KillScope::User(UserId(3)),
            KillScope::Strategy(StrategyId(4)),
            KillScope::Account(AccountId(9)),
            KillScope::Instrument(InstrumentId(9)),
        ] {
            assert_eq!(of(scope), KilledScopes::NONE.with(scope.kind()), "{scope:?}");
            assert!(of(scope).contain(scope.kind()) && !of(scope).is_empty());
        }
        for scope in [KillScope::User(UserId(4)), KillScope::Strategy(StrategyId(3))] {
            assert!(of(scope).is_empty(), "{scope:?}");
        }
    }
}
