//! Timers that stop a scope when nobody refreshes them.

use taut_types::Nanos;

use super::latched::KillScope;

/// Timers at one time.
const TIMERS_MAX: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Timer {
    scope: KillScope,
    interval: Nanos,
    /// When it runs out; [`Nanos::MAX`] once it has, until it is refreshed.
    due: Nanos,
}

/// The timers, and which of them runs out first.
#[derive(Debug)]
pub(super) struct Timers {
    timers: [Option<Timer>; TIMERS_MAX],
    earliest: Nanos,
}

impl Default for Timers {
    fn default() -> Self {
        Self { timers: [None; TIMERS_MAX], earliest: Nanos::MAX }
    }
}

impl Timers {
    /// Starts a scope's timer, or starts it anew. False when there is no room.
    pub(super) fn arm(&mut self, scope: KillScope, interval: Nanos, now: Nanos) -> bool {
        let is_own = |timer: &&mut Option<Timer>| timer.is_some_and(|timer| timer.scope == scope);
        let slot = match self.timers.iter_mut().find(is_own) {
            Some(slot) => Some(slot),
            None => self.timers.iter_mut().find(|timer| timer.is_none()),
        };
        let Some(slot) = slot else { return false };
        *slot = Some(Timer { scope, interval, due: now + interval });
        self.look();
        true
    }

    pub(super) fn disarm(&mut self, scope: KillScope) {
        let timers = self.timers.iter_mut();
        timers.filter(|timer| timer.is_some_and(|timer| timer.scope == scope)).for_each(|timer| {
            *timer = None;
        });
        self.look();
    }

    pub(super) fn refresh(&mut self, scope: KillScope, now: Nanos) {
        if let Some(timer) = self.timers.iter_mut().flatten().find(|timer| timer.scope == scope) {
            timer.due = now + timer.interval;
            self.look();
        }
    }

    #[inline]
    pub(super) const fn earliest(&self) -> Option<Nanos> {
        if self.earliest.0 == i64::MAX { None } else { Some(self.earliest) }
    }

    /// A scope whose timer has run out.
    #[inline]
    pub(super) fn expire(&mut self, now: Nanos) -> Option<KillScope> {
        if now < self.earliest || self.earliest == Nanos::MAX { None } else { self.take(now) }
    }

    #[cold]
    fn take(&mut self, now: Nanos) -> Option<KillScope> {
        let timer = self.timers.iter_mut().flatten().find(|timer| timer.due <= now)?;
        timer.due = Nanos::MAX;
        let scope = timer.scope;
        self.look();
        Some(scope)
    }

    fn look(&mut self) {
        let due = self.timers.iter().flatten().map(|timer| timer.due);
        self.earliest = due.min().unwrap_or(Nanos::MAX);
    }
}
