//! Message rates of users, accounts and the venue.

use alloc::boxed::Box;

use taut_types::{AccountId, Nanos, UserId};

use super::limits::{MessageRates, RiskLimits};
use super::reject::RiskReject;
use super::spent::Spent;
use super::usage::{MessagesLeft, MessagesOf};
use crate::throttle::Throttle;

/// The budgets of one of them.
#[derive(Clone, Copy, Debug)]
struct Budgets {
    orders: Throttle,
    cancels: Throttle,
}

impl Budgets {
    fn new(rates: MessageRates, now: Nanos) -> Self {
        let full = |rate: crate::throttle::Rate| Throttle::new(rate.per_second, rate.burst, now);
        Self { orders: full(rates.orders), cancels: full(rates.cancels) }
    }

    fn left(&self, now: Nanos) -> MessagesLeft {
        MessagesLeft { orders: self.orders.left(now), cancels: self.cancels.left(now) }
    }

    fn set(&mut self, rates: MessageRates) {
        self.orders.set_rate(rates.orders);
        self.cancels.set_rate(rates.cancels);
    }
}

/// Every budget; a message is counted in three of them or in none.
#[derive(Debug)]
pub(super) struct Rates {
    users: Box<[Budgets]>,
    accounts: Box<[Budgets]>,
    venue: Budgets,
    /// Since warnings were looked for.
    pub(super) spent: Spent,
}

impl Rates {
    pub(super) fn new(limits: &RiskLimits, now: Nanos) -> Self {
        Self {
            users: limits.users().map(|limits| Budgets::new(limits.rates, now)).collect(),
            accounts: limits.accounts().map(|limits| Budgets::new(limits.rates, now)).collect(),
            venue: Budgets::new(limits.venue, now),
            spent: Spent::default(),
        }
    }

    /// Other rates; what was spent stays spent.
    pub(super) fn set(&mut self, limits: &RiskLimits) {
        let users = self.users.iter_mut().zip(limits.users());
        users.for_each(|(own, limits)| own.set(limits.rates));
        let accounts = self.accounts.iter_mut().zip(limits.accounts());
        accounts.for_each(|(own, limits)| own.set(limits.rates));
        self.venue.set(limits.venue);
    }

    /// What is left of a budget; nothing of one that there is not.
    pub(super) fn left(&self, now: Nanos, of: MessagesOf) -> MessagesLeft {
        let budgets = match of {
            MessagesOf::User(user) => self.users.get(usize::from(user.0)),
            MessagesOf::Account(account) => self.accounts.get(usize::from(account.0)),
            MessagesOf::Venue => Some(&self.venue),
        };
        budgets.map_or_else(MessagesLeft::default, |budgets| budgets.left(now))
    }

    /// Counts a new order or a modify, if all three budgets have it. A rehearsal counts nothing.
    #[inline]
    pub(super) fn take_order(
        &mut self,
        now: Nanos,
        user: UserId,
        account: AccountId,
        is_rehearsal: bool,
    ) -> Result<(), RiskReject> {
        let (user_id, account_id) = (user.0, account.0);
        let user = self.users.get_mut(usize::from(user_id)).ok_or(RiskReject::NotPermitted)?;
        let account = self.accounts.get_mut(usize::from(account_id));
        let account = account.ok_or(RiskReject::Unknown)?;
        if !user.orders.allows(now) {
            return Err(RiskReject::UserRate);
        }
        if !account.orders.allows(now) {
            return Err(RiskReject::AccountRate);
        }
        if !self.venue.orders.allows(now) {
            return Err(RiskReject::VenueRate);
        }
        if !is_rehearsal {
            self.venue.orders.count(now);
            user.orders.count(now);
            account.orders.count(now);
            self.spent.users.insert(user_id);
            self.spent.accounts.insert(account_id);
        }
        Ok(())
    }

    /// Counts a cancel, if all three budgets have it; else when they will.
    #[inline]
    pub(super) fn take_cancel(
        &mut self,
        now: Nanos,
        user: UserId,
        account: AccountId,
    ) -> Result<(), Nanos> {
        let (user_id, account_id) = (user.0, account.0);
        // An owner that is not known any more has no budget of its own.
        let user = self.users.get_mut(usize::from(user_id));
        let account = self.accounts.get_mut(usize::from(account_id));
        let own = [user, account, Some(&mut self.venue)];
        let mut free_at = now;
        for budgets in own.iter().flatten() {
            if !budgets.cancels.allows(now) {
                free_at = free_at.max(budgets.cancels.free_at());
            }
        }
        if free_at > now {
            return Err(free_at);
        }
        own.into_iter().flatten().for_each(|budgets| budgets.cancels.count(now));
        self.spent.users.insert(user_id);
        self.spent.accounts.insert(account_id);
        Ok(())
    }
}
