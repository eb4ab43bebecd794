//! The kill switch: what was stopped stays stopped until somebody says otherwise.
//!
//! While a scope is latched, its new orders and modifies are refused; cancels always pass.
//! [`KillSwitch::poll_killed`] tells each scope once, so that its open orders are cancelled,
//! whatever latched it: a call, a loss limit, or a timer that nobody refreshed.

use alloc::boxed::Box;

use taut_types::{AccountId, ClientOrderId, InstrumentId, Nanos, OrderTerms, StrategyId, UserId};

mod latched;
mod timers;

pub use latched::{KillCause, KillScope, Latched, ScopeKind};
use timers::Timers;

/// A scope that is stopped: by what, and whether [`KillSwitch::poll_killed`] has told it.
#[derive(Clone, Copy, Debug)]
struct Latch {
    cause: KillCause,
    is_told: bool,
}

/// Room for every number of 8 bits.
const IDS: usize = 256;

/// Which scopes are stopped. Fixed in size; a check costs two compares while nothing is stopped.
#[derive(Debug)]
pub struct KillSwitch {
    /// How many latches there are, so that a check looks no further while there is none.
    latch_count: u32,
    untold_count: u32,
    all: Option<Latch>,
    users: [Option<Latch>; IDS],
    strategies: [Option<Latch>; IDS],
    accounts: [Option<Latch>; IDS],
    instruments: Box<[Option<Latch>]>,
    timers: Timers,
}

impl KillSwitch {
    /// Nothing is stopped; instruments have the numbers below `instrument_count`.
    #[must_use]
    pub fn new(instrument_count: usize) -> Self {
        Self {
            latch_count: 0,
            untold_count: 0,
            all: None,
            users: [None; IDS],
            strategies: [None; IDS],
            accounts: [None; IDS],
            instruments: core::iter::repeat_n(None, instrument_count).collect(),
            timers: Timers::default(),
        }
    }

    /// Stops a scope. Whether it was not stopped before; an instrument that there is not cannot be.
    pub fn kill(&mut self, scope: KillScope, cause: KillCause) -> bool {
        let Some(latch @ None) = self.latch_mut(scope) else { return false };
        *latch = Some(Latch { cause, is_told: false });
        self.latch_count += 1;
        self.untold_count += 1;
        true
    }

    /// Lets a scope trade again, as far as no other one that it is in is stopped. Whether it was
    /// stopped.
    pub fn revive(&mut self, scope: KillScope) -> bool {
        let Some(latch) = self.latch_mut(scope).and_then(Option::take) else { return false };
        self.latch_count -= 1;
        self.untold_count -= u32::from(!latch.is_told);
        true
    }

    /// The widest stopped scope that an order is in.
    #[must_use]
    #[inline]
    pub fn killed(&self, id: ClientOrderId, terms: &OrderTerms) -> Option<ScopeKind> {
        if self.latch_count == 0 { None } else { self.find(id, terms) }
    }

    /// Whether anything is stopped.
    #[must_use]
    #[inline]
    pub const fn has_latched(&self) -> bool {
        self.latch_count != 0
    }

    /// A scope that was stopped since the last call: its open orders are to be cancelled
    /// ([`OrderFilter`](crate::OrderFilter)`::from(scope)`).
    pub fn poll_killed(&mut self) -> Option<KillScope> {
        if self.untold_count == 0 {
            return None;
        }
        let untold = |latch: &Option<Latch>| latch.is_some_and(|latch| !latch.is_told);
        let scope = self.latches().find(|(_, latch)| untold(latch)).map(|(scope, _)| scope)?;
        if let Some(Some(latch)) = self.latch_mut(scope) {
            latch.is_told = true;
            self.untold_count -= 1;
        }
        Some(scope)
    }

    /// What is stopped, to be written down ([`Latched::to_word`]) or shown.
    pub fn latched(&self) -> impl Iterator<Item = Latched> {
        self.latches()
            .filter_map(|(scope, latch)| latch.map(|Latch { cause, .. }| Latched { scope, cause }))
    }

    /// Stops what was stopped before a restart; told again, since orders may have survived it. A
    /// word that is none stops everything: what it said is not known.
    pub fn restore(&mut self, words: impl IntoIterator<Item = u64>) {
        for word in words {
            let unreadable = Latched { scope: KillScope::All, cause: KillCause::Unreadable };
            let Latched { scope, cause } = Latched::from_word(word).unwrap_or(unreadable);
            self.kill(scope, cause);
        }
    }

    /// Stops a scope when it is not [refreshed](Self::refresh) for so long (a dead man's switch).
    /// False when there is no room for one more timer.
    pub fn arm(&mut self, scope: KillScope, interval: Nanos, now: Nanos) -> bool {
        self.timers.arm(scope, interval, now)
    }

    /// Takes a scope's timer away.
    pub fn disarm(&mut self, scope: KillScope) {
        self.timers.disarm(scope);
    }

    /// Who keeps this scope alive is alive. It does not revive what is stopped.
    #[inline]
    pub fn refresh(&mut self, scope: KillScope, now: Nanos) {
        self.timers.refresh(scope, now);
    }

    /// When [`KillSwitch::handle_timeout`] has something to do.
    #[must_use]
    #[inline]
    pub const fn poll_timeout(&self) -> Option<Nanos> {
        self.timers.earliest()
    }

    /// Stops the scopes whose timers ran out.
    #[inline]
    pub fn handle_timeout(&mut self, now: Nanos) {
        while let Some(scope) = self.timers.expire(now) {
            self.kill(scope, KillCause::DeadMan);
        }
    }

    #[cold]
    fn find(&self, id: ClientOrderId, terms: &OrderTerms) -> Option<ScopeKind> {
        let scopes = [
            KillScope::All,
            KillScope::User(id.user()),
            KillScope::Strategy(id.strategy()),
            KillScope::Account(terms.account),
            KillScope::Instrument(terms.instrument),
        ];
        scopes.into_iter().find(|scope| self.latch(*scope).is_some()).map(KillScope::kind)
    }

    fn latch(&self, scope: KillScope) -> Option<Latch> {
        match scope {
            KillScope::All => self.all,
            KillScope::User(UserId(id)) => self.users[usize::from(id)],
            KillScope::Strategy(StrategyId(id)) => self.strategies[usize::from(id)],
            KillScope::Account(AccountId(id)) => self.accounts[usize::from(id)],
            KillScope::Instrument(InstrumentId(id)) => {
                self.instruments.get(id as usize).copied().flatten()
            }
        }
    }

    fn latch_mut(&mut self, scope: KillScope) -> Option<&mut Option<Latch>> {
        match scope {
            KillScope::All => Some(&mut self.all),
            KillScope::User(UserId(id)) => self.users.get_mut(usize::from(id)),
            KillScope::Strategy(StrategyId(id)) => self.strategies.get_mut(usize::from(id)),
            KillScope::Account(AccountId(id)) => self.accounts.get_mut(usize::from(id)),
            KillScope::Instrument(InstrumentId(id)) => self.instruments.get_mut(id as usize),
        }
    }

    /// Every scope and its latch, the widest first.
    fn latches(&self) -> impl Iterator<Item = (KillScope, Option<Latch>)> {
        let small = |latches: &[Option<Latch>; IDS], scope: fn(u8) -> KillScope| {
            let latches = *latches;
            (0..=u8::MAX).map(move |id| (scope(id), latches[usize::from(id)]))
        };
        core::iter::once((KillScope::All, self.all))
            .chain(small(&self.users, |id| KillScope::User(UserId(id))))
            .chain(small(&self.strategies, |id| KillScope::Strategy(StrategyId(id))))
            .chain(small(&self.accounts, |id| KillScope::Account(AccountId(id))))
            .chain(
                (0..)
                    .zip(&self.instruments)
                    .map(|(id, latch)| (KillScope::Instrument(InstrumentId(id)), *latch)),
            )
    }
}

#[cfg(test)]
mod tests;
