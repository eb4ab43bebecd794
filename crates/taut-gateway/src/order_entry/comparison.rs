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

/// What an account holds of an instrument, says the venue, and its price of it.
pub(super) type Told = BTreeMap<(AccountId, InstrumentId), (Lots, Price)>;

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
    /// All accounts were told: they are to be compared.
    Compare,
}

/// The comparison after a logon. Each account is asked about, one after the other. A trade may come
/// between an answer and the last one: what differs is asked again, and counts when it differs by
/// the same again.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    is_over: bool,
    accounts: Vec<AccountId>,
    /// The place of the account that is in turn.
    next: usize,
    asked: Option<Asked>,
    told: Told,
    before: Option<Vec<PositionDifference>>,
    rounds: u32,
}

impl Comparison {
    /// A session begins: these accounts are to be asked about, or none.
    pub(super) fn begin(&mut self, accounts: impl IntoIterator<Item = AccountId>) {
        *self = Self { accounts: accounts.into_iter().collect(), ..Self::default() };
        self.is_over = self.accounts.is_empty();
    }

    /// What is to be done now.
    pub(super) fn step(&self) -> Step {
        match (self.is_over, self.asked, self.accounts.get(self.next)) {
            (true, ..) => Step::Over,
            (_, Some(_), _) => Step::Wait,
            (_, None, Some(account)) => Step::Ask(*account),
            (_, None, None) => Step::Compare,
        }
    }

    /// The account in turn was asked about.
    pub(super) fn asked(&mut self, message: u64, since: Nanos) {
        let account = self.accounts.get(self.next).copied();
        self.asked = account.map(|account| Asked { account, message, since });
    }

    /// The account that an answer is about which names none.
    pub(super) fn account_asked(&self) -> Option<AccountId> {
        self.asked.map(|asked| asked.account)
    }

    /// One of the answers.
    pub(super) fn tell(&mut self, key: (AccountId, InstrumentId), lots: Lots, price: Price) {
        if self.asked.is_none() {
            return;
        }
        let (sum, last) = self.told.entry(key).or_default();
        sum.0 = sum.0.saturating_add(lots.0);
        if price > Price(0) {
            *last = price;
        }
    }

    /// The account that was asked about is told.
    pub(super) fn all_told(&mut self) {
        if self.asked.take().is_some() {
            self.next += 1;
        }
    }

    /// The venue missed what it was asked: it is asked again.
    pub(super) fn missed(&mut self) {
        if self.asked.take().is_some() {
            (self.next, self.told) = (0, Told::new());
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

    /// All positions were compared, and these differ. What does so for certain, when that is
    /// known; else all is asked again.
    pub(super) fn compared(
        &mut self,
        found: Vec<PositionDifference>,
    ) -> Option<Vec<PositionDifference>> {
        self.rounds += 1;
        let is_certain =
            found.is_empty() || self.before.as_ref() == Some(&found) || self.rounds >= ROUNDS_MAX;
        if is_certain {
            self.is_over = true;
            return Some(found);
        }
        (self.before, self.next, self.told) = (Some(found), 0, Told::new());
        None
    }
}
