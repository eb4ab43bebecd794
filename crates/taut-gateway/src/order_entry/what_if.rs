//! What other limits would have made of the requests that are served.

use taut_oms::{Modify, OrderTable, OtherLimits, Reference, Risk, RiskLimits, RiskReject};
use taut_types::{ClientOrderId, Nanos, OrderTerms};

/// Refused requests that are told one by one.
const TOLD_MAX: usize = 20;

/// What limits beside those that hold say of each new order and each modify: of every request by
/// itself, with what was held and open when it came, whatever they said of those before.
#[derive(Debug)]
pub struct WhatIf {
    other: OtherLimits,
    /// Requests that were judged.
    pub judged: u64,
    /// By reason, how many would have been refused.
    pub refused: Vec<(RiskReject, u64)>,
    /// The first of them: when, which, and what it asked for.
    pub first: Vec<(Nanos, ClientOrderId, OrderTerms, RiskReject)>,
}

impl WhatIf {
    pub(crate) fn new(limits: RiskLimits, now: Nanos) -> Self {
        let other = OtherLimits::new(limits, now);
        Self { other, judged: 0, refused: Vec::new(), first: Vec::new() }
    }

    pub(super) fn judge(
        &mut self,
        (risk, table): (&mut Risk, &OrderTable),
        now: Nanos,
        (id, terms): (ClientOrderId, &OrderTerms),
        reference: &Reference,
    ) {
        let best_own = |instrument, side| table.best_own(None, instrument, side);
        let judged = risk.judge(&mut self.other, now, (id, terms), reference, best_own);
        self.note(now, (id, terms), judged);
    }

    pub(super) fn judge_modify(
        &mut self,
        (risk, table): (&mut Risk, &OrderTable),
        now: Nanos,
        (target, modify): (ClientOrderId, Modify<'_>),
        reference: &Reference,
    ) {
        let best_own = |instrument, side| table.best_own(Some(target), instrument, side);
        let judged = risk.judge_modify(&mut self.other, now, modify, reference, best_own);
        self.note(now, (target, modify.new), judged);
    }

    fn note(
        &mut self,
        now: Nanos,
        (id, terms): (ClientOrderId, &OrderTerms),
        judged: Result<(), RiskReject>,
    ) {
        self.judged += 1;
        let Err(why) = judged else { return };
        match self.refused.iter_mut().find(|(other, _)| *other == why) {
            Some((_, count)) => *count += 1,
            None => self.refused.push((why, 1)),
        }
        if self.first.len() < TOLD_MAX {
            self.first.push((now, id, *terms, why));
        }
    }
}
