//! A word before a message rate is spent.

use alloc::boxed::Box;

use taut_types::{AccountId, Nanos, UserId};

use super::limits::{MessageRates, RiskLimits};
use super::rates::Rates;
use super::spent::Spent;
use super::usage::{MessagesLeft, MessagesOf};
use crate::throttle::Rate;

/// Which messages a budget is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// New orders and modifies.
    Orders,
    /// Cancels.
    Cancels,
}

/// A budget of messages has come to the share at which a warning is due
/// ([`RiskLimits::rate_warning_percent`]), or is back at half of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateWarning {
    /// Whose.
    pub of: MessagesOf,
    /// Of which messages.
    pub kind: MessageKind,
    /// Whether the share is passed; else the budget is back at half of it.
    pub is_high: bool,
    /// Messages that could leave now, one after the other.
    pub left: u32,
    /// Messages that can leave at once when nothing is spent.
    pub at_once: u32,
}

/// A budget, and whether it was told to be nearly spent.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    /// None when it is not limited.
    at_once: u32,
    is_high: bool,
}

/// The budgets of one of them: for orders and for cancels.
type Pair = [Watched; 2];

/// The budgets that are limited, by the numbers of users and accounts.
#[derive(Debug)]
pub(super) struct Warnings {
    percent: u8,
    users: Box<[Pair]>,
    accounts: Box<[Pair]>,
    venue: Pair,
}

impl Warnings {
    pub(super) fn new(limits: &RiskLimits) -> Self {
        let percent = limits.rate_warning_percent;
        // A share of one message, or of none, is nothing to warn of.
        let is_watched = |rate: &Rate| percent > 0 && *rate != Rate::UNLIMITED && rate.burst > 1;
        let watched = |rate: Rate| {
            let at_once = if is_watched(&rate) { rate.burst } else { 0 };
            Watched { at_once, is_high: false }
        };
        let pair = |rates: MessageRates| [rates.orders, rates.cancels].map(watched);
        Self {
            percent,
            users: limits.users().map(|limits| pair(limits.rates)).collect(),
            accounts: limits.accounts().map(|limits| pair(limits.rates)).collect(),
            venue: pair(limits.venue),
        }
    }

    /// Under other limits; what was told of budgets that are still there is not told again. Cost: a
    /// few steps for each user and account.
    pub(super) fn set(&mut self, limits: &RiskLimits, spent: &mut Spent) {
        let was = core::mem::replace(self, Self::new(limits));
        let before = was.users.iter().chain(&*was.accounts).chain([&was.venue]).flatten();
        let now = self.users.iter_mut().chain(&mut *self.accounts).chain([&mut self.venue]);
        for (now, before) in now.flatten().zip(before) {
            now.is_high = before.is_high && now.at_once > 0;
        }
        // What nobody spent from may be past its share now.
        (0..=u8::MAX).zip(&self.users).for_each(|(id, _)| spent.users.insert(id));
        (0..=u8::MAX).zip(&self.accounts).for_each(|(id, _)| spent.accounts.insert(id));
    }

    /// A budget that has passed the share since the last call, or is back at half of it. Only those
    /// that were spent from are looked at, and those that are past their share.
    pub(super) fn poll(&mut self, now: Nanos, rates: &mut Rates) -> Option<RateWarning> {
        let percent = self.percent;
        if percent == 0 {
            return None;
        }
        for id in rates.spent.users.iter() {
            let (of, pair) = (MessagesOf::User(UserId(id)), self.users.get_mut(usize::from(id)));
            let pair = pair.map(|pair| (change(pair, percent, of, rates.left(now, of)), pair));
            match pair {
                Some((changed @ Some(_), _)) => return changed,
                Some((None, pair)) if is_past(pair) => {}
                _ => rates.spent.users.remove(id),
            }
        }
        for id in rates.spent.accounts.iter() {
            let of = MessagesOf::Account(AccountId(id));
            let pair = self.accounts.get_mut(usize::from(id));
            let pair = pair.map(|pair| (change(pair, percent, of, rates.left(now, of)), pair));
            match pair {
                Some((changed @ Some(_), _)) => return changed,
                Some((None, pair)) if is_past(pair) => {}
                _ => rates.spent.accounts.remove(id),
            }
        }
        let of = MessagesOf::Venue;
        change(&mut self.venue, percent, of, rates.left(now, of))
    }
}

/// Whether one of them is past its share: then it is looked at until it is back.
fn is_past(pair: &Pair) -> bool {
    pair.iter().any(|it| it.is_high)
}

/// What is to be told of one of them.
fn change(pair: &mut Pair, percent: u8, of: MessagesOf, left: MessagesLeft) -> Option<RateWarning> {
    let kinds = [(MessageKind::Orders, left.orders), (MessageKind::Cancels, left.cancels)];
    pair.iter_mut().zip(kinds).find_map(|(it, (kind, left))| {
        let at_once = it.at_once;
        let used = u64::from(at_once.saturating_sub(left)) * 100;
        let share = u64::from(percent) * u64::from(at_once);
        let is_high = at_once > 0 && if it.is_high { used * 2 > share } else { used >= share };
        let has_changed = core::mem::replace(&mut it.is_high, is_high) != is_high;
        has_changed.then_some(RateWarning { of, kind, is_high, left, at_once })
    })
}

#[cfg(test)]
mod tests {
    use taut_types::{ClientOrderId, StrategyId};

    use super::*;
    use crate::risk::{Risk, RiskSizes, UserLimits};

    const NOW: Nanos = Nanos::from_secs(10);

    fn limits(percent: u8) -> RiskLimits {
        let sizes = RiskSizes { instruments: 1, accounts: 1, users: 4, strategies: 4 };
        let mut limits = RiskLimits::closed(sizes);
        limits.set_users(UserLimits::UNLIMITED);
        let cancels = Rate { per_second: 10, burst: 10 };
        let rates = MessageRates { cancels, ..MessageRates::UNLIMITED };
        limits.set_user(UserId(2), UserLimits { rates, ..UserLimits::UNLIMITED }).unwrap();
        limits.set_accounts(crate::risk::AccountLimits {
            rates: MessageRates::UNLIMITED,
            ..Default::default()
        });
        limits.venue = MessageRates::UNLIMITED;
        limits.rate_warning_percent = percent;
        limits
    }

    fn cancel(risk: &mut Risk, count: usize) {
        let id = ClientOrderId::of(UserId(2), StrategyId(1), 1);
        (0..count).for_each(|_| risk.check_cancel(NOW, id, AccountId(0)).unwrap());
    }

    #[test]
    fn each_crossing_is_told_once_in_both_directions() {
        let mut risk = Risk::new(limits(80), NOW);
        cancel(&mut risk, 7);
        assert_eq!(risk.poll_rate_warning(NOW), None);
        cancel(&mut risk, 1);
        let high = RateWarning {
            of: MessagesOf::User(UserId(2)),
            kind: MessageKind::Cancels,
            is_high: true,
            left: 2,
            at_once: 10,
        };
        assert_eq!(risk.poll_rate_warning(NOW), Some(high));
        cancel(&mut risk, 1);
        assert_eq!(risk.poll_rate_warning(NOW), None, "it is told once");
        // Other limits of another kind do not tell it again, and it is not over at 79%.
        risk.set_limits(limits(80)).unwrap();
        let later = |ms| NOW + Nanos::from_millis(ms);
        assert_eq!(risk.poll_rate_warning(later(300)), None);
        let low = RateWarning { is_high: false, left: 6, ..high };
        assert_eq!(risk.poll_rate_warning(later(500)), Some(low));
        assert_eq!(risk.poll_rate_warning(later(900)), None);
    }

    #[test]
    fn who_wants_no_warning_gets_none() {
        let mut risk = Risk::new(limits(0), NOW);
        cancel(&mut risk, 10);
        assert_eq!(risk.poll_rate_warning(NOW), None);
    }

    #[test]
    fn only_budgets_that_were_spent_from_or_are_past_their_share_are_looked_at() {
        let mut risk = Risk::new(limits(80), NOW);
        let looked_at = |risk: &Risk| {
            let spent = &risk.rates.spent;
            (spent.users.iter().count(), spent.accounts.iter().count())
        };
        assert_eq!(looked_at(&risk), (0, 0));
        cancel(&mut risk, 3);
        assert_eq!(looked_at(&risk), (1, 1));
        assert_eq!(risk.poll_rate_warning(NOW), None);
        assert_eq!(looked_at(&risk), (0, 0));
        cancel(&mut risk, 5);
        assert!(risk.poll_rate_warning(NOW).is_some_and(|it| it.is_high));
        assert_eq!(risk.poll_rate_warning(NOW), None);
        assert_eq!(looked_at(&risk), (1, 0), "until it is back");
        let later = NOW + Nanos::from_millis(500);
        assert!(risk.poll_rate_warning(later).is_some_and(|it| !it.is_high));
        assert_eq!(risk.poll_rate_warning(later), None);
        assert_eq!(looked_at(&risk), (0, 0));
    }

    #[test]
    fn a_budget_that_other_limits_make_smaller_is_looked_at() {
        let mut risk = Risk::new(limits(100), NOW);
        cancel(&mut risk, 8);
        assert_eq!(risk.poll_rate_warning(NOW), None);
        risk.set_limits(limits(80)).unwrap();
        assert!(risk.poll_rate_warning(NOW).is_some_and(|it| it.is_high));
    }
}
