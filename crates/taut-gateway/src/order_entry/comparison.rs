//! Positions beside the venue's: which accounts are asked about, what was told, what differs.

use std::collections::BTreeMap;

use taut_types::{AccountId, InstrumentId, Lots, Nanos, Price};

/// Comparisons in a row that differ from each other, after which the last one counts.
const ROUNDS_MAX: u32 = 4;

/// What is done about a position that is another one at the venue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PositionRule {
    /// The venue is not asked.
    Off,
    /// It is counted and told.
    #[default]
    Report,
    /// The venue's holds: what differs is booked to [`Owner::HOUSE`](crate::Owner::HOUSE), and
    /// counts for the account's limits.
    Repair,
    /// The account is killed, until somebody revives it.
    Halt,
}

/// What was done about a position that differed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionOutcome {
    /// It was told.
    Reported,
    /// It is the venue's now.
    Repaired,
    /// It was to be the venue's, and stays: there is no price to book it at, or no room.
    Unrepaired,
    /// The account was killed.
    Halted,
}

/// A position that is another one at the venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionDifference {
    /// In this account.
    pub account: AccountId,
    /// In this instrument.
    pub instrument: InstrumentId,
    /// What the gateway has, over all strategies: bought less sold.
    pub own: Lots,
    /// What the venue has.
    pub venue: Lots,
    /// What was done about it.
    pub outcome: PositionOutcome,
}

/// What comparing positions has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionComparisons {
    /// How often all positions were compared.
    pub made: u64,
    /// How often the venue did not answer, or refused to: orders pass without a comparison.
    pub unanswered: u64,
    /// Positions that differed, in all of them.
    pub differences: u64,
    /// Those that are the venue's now.
    pub repaired: u64,
    /// What differed in the last one.
    pub last: Vec<PositionDifference>,
}

/// What the account in turn holds of each instrument, says the venue.
pub(super) type Told = BTreeMap<InstrumentId, Lots>;

/// The question that has no answer yet.
#[derive(Clone, Copy, Debug)]
struct Asked {
    account: AccountId,
    /// The number of its message.
    message: u64,
    since: Nanos,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing more: all is compared, or cannot be.
    Over,
    /// Nothing, before there is an answer.
    Wait,
    /// This account is to be asked about.
    Ask(AccountId),
    /// All accounts were compared: what differs is to be judged.
    Judge,
}

/// The comparison after a logon. Each account is asked about, one after the other, and compared at
/// the moment at which its answer is whole: what the venue says later is not in it. Where a venue's
/// answers and its reports come in no certain order that may be wrong: what differs is asked again,
/// and counts when it differs by the same again.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    is_over: bool,
    accounts: Vec<AccountId>,
    /// The place of the account that is in turn.
    next: usize,
    asked: Option<Asked>,
    told: Told,
    prices: BTreeMap<(AccountId, InstrumentId), Price>,
    /// What differs in this round.
    found: Vec<PositionDifference>,
    /// And in the one before.
    before: Option<Vec<PositionDifference>>,
    rounds: u32,
    /// Orders leave meanwhile: what differs by something else each time proves nothing.
    trades_go_on: bool,
}

impl Comparison {
    /// A session begins: these accounts are to be asked about, or none.
    pub(super) fn begin(&mut self, accounts: impl IntoIterator<Item = AccountId>) {
        *self = Self { accounts: accounts.into_iter().collect(), ..Self::default() };
        self.is_over = self.accounts.is_empty();
    }

    /// The comparison that has begun is made while orders leave.
    pub(super) const fn trades_go_on(&mut self) {
        self.trades_go_on = true;
    }

    /// What is to be done now.
    pub(super) fn step(&self) -> Step {
        match (self.is_over, self.asked, self.accounts.get(self.next)) {
            (true, ..) => Step::Over,
            (_, Some(_), _) => Step::Wait,
            (_, None, Some(account)) => Step::Ask(*account),
            (_, None, None) => Step::Judge,
        }
    }

    /// The account in turn was asked about.
    pub(super) fn asked(&mut self, message: u64, since: Nanos) {
        let account = self.accounts.get(self.next).copied();
        self.asked = account.map(|account| Asked { account, message, since });
    }

    /// The account in turn, while there is a question about it.
    pub(super) fn account_asked(&self) -> Option<AccountId> {
        self.asked.map(|asked| asked.account)
    }

    /// One of the answers about the account in turn.
    pub(super) fn tell(&mut self, instrument: InstrumentId, lots: Lots, price: Price) {
        let Some(account) = self.account_asked() else { return };
        let sum = self.told.entry(instrument).or_default();
        sum.0 = sum.0.saturating_add(lots.0);
        if price > Price(0) {
            self.prices.insert((account, instrument), price);
        }
    }

    /// The account in turn was compared, and these positions of it differ.
    pub(super) fn compared(&mut self, found: Vec<PositionDifference>) {
        self.asked = None;
        self.next += 1;
        self.found.extend(found);
        self.told.clear();
    }

    /// The venue missed what it was asked: it is asked again.
    pub(super) fn missed(&mut self) {
        if self.asked.take().is_some() {
            self.begin_again();
        }
    }

    /// Whether a message that was refused is the question: then nothing is compared.
    pub(super) fn is_refused(&mut self, message: u64) -> bool {
        let is_it = self.asked.is_some_and(|asked| asked.message == message);
        self.is_over |= is_it;
        is_it
    }

    /// The question is refused, or cannot be asked; whether there was one.
    pub(super) fn give_up(&mut self) -> bool {
        !std::mem::replace(&mut self.is_over, true)
    }

    /// Whether there was no answer for so long: then nothing is compared.
    pub(super) fn is_overdue(&mut self, now: Nanos, timeout: Nanos) -> bool {
        let asked = self.asked.filter(|_| !self.is_over);
        let is_late = asked.is_some_and(|asked| now.since(asked.since) >= timeout);
        self.is_over |= is_late;
        is_late
    }

    /// What the venue has.
    pub(super) const fn told(&self) -> &Told {
        &self.told
    }

    /// All accounts were compared. What differs for certain, when that is known; else all is asked
    /// again.
    pub(super) fn judge(&mut self) -> Option<Vec<PositionDifference>> {
        let found = std::mem::take(&mut self.found);
        self.rounds += 1;
        let is_last = self.rounds >= ROUNDS_MAX;
        let is_certain = is_last && !self.trades_go_on || self.before.as_ref() == Some(&found);
        if found.is_empty() || is_certain {
            self.is_over = true;
            return Some(found);
        }
        self.is_over = is_last;
        self.before = Some(found);
        self.begin_again();
        None
    }

    /// At what price the venue settles a position, where it said so.
    pub(super) fn price(&self, account: AccountId, instrument: InstrumentId) -> Option<Price> {
        self.prices.get(&(account, instrument)).copied()
    }

    fn begin_again(&mut self) {
        self.next = 0;
        self.told.clear();
        self.found.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differs_by(lots: i64) -> Vec<PositionDifference> {
        let (account, instrument) = (AccountId(0), InstrumentId(0));
        let (own, venue, outcome) = (Lots(0), Lots(lots), PositionOutcome::Reported);
        vec![PositionDifference { account, instrument, own, venue, outcome }]
    }

    /// What rounds in which this differs come to.
    fn judged(trades_go_on: bool, rounds: &[i64]) -> Option<Vec<PositionDifference>> {
        let mut comparison = Comparison::default();
        comparison.begin([AccountId(0)]);
        if trades_go_on {
            comparison.trades_go_on();
        }
        for lots in rounds {
            assert_eq!(comparison.step(), Step::Ask(AccountId(0)));
            comparison.compared(differs_by(*lots));
            assert_eq!(comparison.step(), Step::Judge);
            let judged = comparison.judge();
            if judged.is_some() || comparison.step() == Step::Over {
                assert_eq!(comparison.step(), Step::Over);
                return judged;
            }
        }
        panic!("{rounds:?}: it goes on");
    }

    #[test]
    fn what_differs_by_the_same_twice_counts_and_while_trades_go_on_nothing_else() {
        for trades_go_on in [false, true] {
            assert_eq!(judged(trades_go_on, &[1, 1]), Some(differs_by(1)));
            assert_eq!(judged(trades_go_on, &[1, 2, 2]), Some(differs_by(2)));
        }
        assert_eq!(judged(false, &[1, 2, 3, 4]), Some(differs_by(4)));
        assert_eq!(judged(true, &[1, 2, 3, 4]), None);
    }
}
