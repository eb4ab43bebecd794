//! Positions are compared with the venue's after each logon, before new orders leave, and after
//! trades in the account that are not ours.

use std::collections::BTreeMap;

use taut_fix::Now;
use taut_io::{Io, Kernel};
use taut_journal::{Entry, LOT_VALUE};
use taut_oms::{Amount, KillCause, KillScope, PositionKey, RiskInstrument, Traded};
use taut_types::{AccountId, InstrumentId, Lots, Nanos, Price};

use super::OrderSession;
use super::comparison::{PositionComparisons, PositionDifference, PositionOutcome, Step};
use super::handler::{NotSent, OrderHandler, VenuePosition};
use crate::config::PositionRule;
use crate::owner::Owner;

/// Between two comparisons because of others' trades.
const COMPARED_AGAIN: Nanos = Nanos::from_secs(10);

impl<H: OrderHandler> OrderSession<H> {
    /// What comparing positions has come to.
    pub(crate) const fn position_comparisons(&self) -> &PositionComparisons {
        &self.comparisons
    }

    /// A session begins: every account is to be asked about, where the venue can be.
    pub(super) fn begin_comparison(&mut self) {
        let is_asked = self.handler.capabilities().tells_positions
            && self.settings.positions != PositionRule::Off;
        let named = self.accounts.all();
        let nameless = (is_asked && named.is_empty()).then_some(AccountId(0));
        self.comparison.begin(named.into_iter().filter(|_| is_asked).chain(nameless));
    }

    /// Somebody else has traded in the account, by hand or the venue itself (a liquidation): its
    /// positions are compared again, at most once in ten seconds.
    pub(super) fn compare_after_foreign_trades(&mut self, io: &mut Io<impl Kernel>, now: Now) {
        let foreign = self.reports.foreign_trades();
        if foreign != self.foreign_trades && now.mono >= self.compares_again {
            (self.foreign_trades, self.compares_again) = (foreign, now.mono + COMPARED_AGAIN);
            self.begin_comparison();
            self.comparison.trades_go_on();
        }
        self.compare_positions(io, now);
    }

    /// The venue says what it holds for us. What we do not trade, or not for that account, is no
    /// business of this gateway.
    pub(super) fn position_told(&mut self, told: &VenuePosition) {
        let is_it = |it: &&taut_types::Instrument| it.symbol().as_bytes() == told.symbol.as_bytes();
        let Some(instrument) = self.instruments.iter().find(is_it) else { return };
        let Some(account) = self.comparison.account_asked() else { return };
        let named = told.account.filter(|_| !self.accounts.is_empty());
        if named.is_some_and(|name| self.accounts.named(name.as_bytes()) != Some(account)) {
            return;
        }
        let lots = |qty| Traded::of(qty, instrument.lot()).map(|traded| traded.lots.0);
        let held = lots(told.long).zip(lots(told.short));
        // A position that is beyond all numbers is as far off as it can be.
        let held = held.map_or(i64::MAX, |(long, short)| long.saturating_sub(short));
        self.comparison.tell(instrument.id(), Lots(held), told.price);
    }

    /// The venue does not say what it holds: orders pass without it, and that is counted.
    pub(super) fn positions_untold(&mut self) {
        if self.comparison.give_up() {
            self.comparisons.unanswered += 1;
        }
    }

    /// Gives up a question that has no answer for so long.
    pub(super) fn await_positions(&mut self, now: Nanos) {
        let timeout = self.settings.request_timeout;
        self.comparisons.unanswered += u64::from(self.comparison.is_overdue(now, timeout));
    }

    /// Asks what is to be asked, and compares what was told; whether that is over.
    pub(super) fn compare_positions(&mut self, io: &mut Io<impl Kernel>, now: Now) -> bool {
        loop {
            match self.comparison.step() {
                Step::Over => return true,
                Step::Wait => return false,
                Step::Ask(account) => {
                    let left = self.handler.ask_positions(now, self.accounts.name(account));
                    if self.is_left(left) {
                        let message = self.send_question(io, now);
                        self.comparison.asked(message, now.mono);
                        return false;
                    }
                    if left != Err(NotSent::Unsupported) {
                        return false;
                    }
                    self.positions_untold();
                }
                Step::Judge => {
                    if let Some(found) = self.comparison.judge() {
                        self.settle_positions(now.utc, found);
                    }
                }
            }
        }
    }

    /// All that an account holds is told: it is compared before anything else is heard.
    pub(super) fn all_positions_told(&mut self) {
        let Some(account) = self.comparison.account_asked() else { return };
        let told = self.comparison.told();
        let mut own: BTreeMap<InstrumentId, i64> = told.keys().map(|it| (*it, 0)).collect();
        for held in self.positions.reports().filter(|held| held.key.account == account) {
            let sum = own.entry(held.key.instrument).or_default();
            *sum = sum.saturating_add(held.lots.0);
        }
        let both = own.into_iter().map(|(instrument, own)| PositionDifference {
            account,
            instrument,
            own: Lots(own),
            venue: told.get(&instrument).copied().unwrap_or_default(),
            outcome: PositionOutcome::Reported,
        });
        let found = both.filter(|both| both.own != both.venue).collect();
        self.comparison.compared(found);
    }

    /// Does what the rule says about positions that differ.
    fn settle_positions(&mut self, utc: Nanos, mut found: Vec<PositionDifference>) {
        for difference in &mut found {
            let rule = self.settings.positions;
            difference.outcome = match rule {
                PositionRule::Off | PositionRule::Report => PositionOutcome::Reported,
                PositionRule::Repair => match self.repair(utc, difference) {
                    Some(()) => {
                        self.comparisons.repaired += 1;
                        PositionOutcome::Repaired
                    }
                    None => PositionOutcome::Unrepaired,
                },
                PositionRule::Halt => {
                    let scope = KillScope::Account(difference.account);
                    self.risk.kill_switch_mut().kill(scope, KillCause::Positions);
                    PositionOutcome::Halted
                }
            };
        }
        let comparisons = &mut self.comparisons;
        comparisons.made += 1;
        comparisons.differences += found.len() as u64;
        comparisons.last = found;
    }

    /// Makes a position the venue's, with what was traded since it was compared; nothing when it
    /// cannot be.
    fn repair(&mut self, utc: Nanos, difference: &PositionDifference) -> Option<()> {
        let PositionDifference { account, instrument, own, venue, .. } = *difference;
        let since = self.positions.account(account, instrument).0.saturating_sub(own.0);
        let venue = Lots(venue.0.saturating_add(since));
        let of = RiskInstrument::of(self.instruments.get(instrument.0 as usize)?)?;
        let price = self.price_of(account, instrument)?;
        let Owner { user, strategy } = Owner::HOUSE;
        let key = PositionKey { account, user, strategy, instrument };
        let moved = self.positions.recover(key, venue, price).ok()?;
        self.risk.traded(instrument, account, moved, price, Amount::ZERO);
        let held = self.positions.get(key)?.rescaled(of.lot_value, LOT_VALUE);
        self.journal.note(utc, || Entry::Position(key, held));
        Some(())
    }

    /// What an instrument is worth now: the middle of our market, the venue's settlement price, or
    /// what it was bought at.
    fn price_of(&self, account: AccountId, instrument: InstrumentId) -> Option<Price> {
        let held = || self.positions.reports().filter(|it| it.key.instrument == instrument);
        let told = self.comparison.price(account, instrument);
        self.positions.mark_of(instrument).or(told).or_else(|| held().find_map(|held| held.average))
    }
}
