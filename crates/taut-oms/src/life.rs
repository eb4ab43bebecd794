//! What a report does to its order: the table of states, the quantities, the requests it answers.

use taut_types::{Lots, OrderType, Price};

use crate::amount::Amount;
use crate::answers::Answers;
use crate::executions::Executions;
use crate::order::{Order, Pending};
use crate::quarantine::Trouble;
use crate::report::{Answered, Change, Fill, Report, RequestKind};
use crate::state::{OrderEvent, OrderState, Verdict};
use crate::traded::Traded;

/// Applies a report to its order. Whatever it says has an outcome; nothing here can fail.
///
/// Quantities follow these rules. A trade counts once by the name of its execution, in whatever
/// order trades come. All that counts together is never more than the most that the venue said has
/// traded: so what was taken from its total is not counted again when its own report comes late.
/// What the total has and no report told is a reason to ask; the answer to that is counted.
pub fn apply(
    order: &mut Order,
    report: &Report,
    executions: &mut Executions,
    answers: &mut Answers,
) -> Change {
    let (mut next, verdict) = order.state.after(report.event);
    // What the venue had and does not know any more is not as if it never arrived.
    let is_gone = report.event == OrderEvent::NotFound
        && (verdict == Verdict::Odd || (order.version_accepted > 0 && !order.state.is_done()));
    let mut change = Change {
        id: order.id,
        side: order.terms.side,
        was: order.state,
        state: order.state,
        lots_open: order.lots_open(),
        exposure_was: order.lots_open_max(),
        exposure: order.lots_open_max(),
        fills: [None; 2],
        answered: None,
        is_amended: false,
        is_old: verdict == Verdict::Old,
        trouble: None,
        asks: false,
    };
    let is_execution = matches!(
        report.event,
        OrderEvent::Traded | OrderEvent::TradeCancelled | OrderEvent::TradeCorrected
    );
    if is_execution && !report.exec_id.is_none() && executions.contains(order.id, &report.exec_id) {
        change.is_old = true;
        return change;
    }
    if is_gone {
        (next, change.trouble) = (OrderState::Cancelled, Some(Trouble::Vanished));
    } else if verdict == Verdict::Odd {
        (change.trouble, change.asks) = (Some(Trouble::Contradiction), true);
    }
    let (price, lots) = (order.terms.price, order.terms.lots);
    if !answer(order, report, answers, &mut change) {
        change.is_old = true;
        return change;
    }
    change.is_amended = (order.terms.price, order.terms.lots) != (price, lots);
    match report.event {
        OrderEvent::Traded => trade(order, report, executions, &mut change),
        OrderEvent::TradeCancelled | OrderEvent::TradeCorrected => {
            correct(order, report, executions, &mut change);
        }
        OrderEvent::Status(_) | OrderEvent::Reopened => follow_total(order, report, &mut change),
        _ => note_total(order, report, &mut change),
    }
    order.state = settled(order, report, next, &mut change);
    change.state = order.state;
    change.lots_open = order.lots_open();
    change.exposure = order.lots_open_max();
    let is_told_done = report.told.map(OrderState::is_done);
    // The venue means something else than we do. Of what it may have said before, only that an
    // order stands open which is done here is worth a question.
    let may_be_news = !change.is_old || (stands_open(report) && !report.is_resend);
    change.asks |= may_be_news && is_told_done.is_some_and(|done| done != order.state.is_done());
    count_end(order, report, answers, &change);
    order.is_quarantined |= change.trouble.is_some();
    change
}

/// Whether the report says where the order stands: that it is open.
fn stands_open(report: &Report) -> bool {
    let is_state = matches!(report.event, OrderEvent::Status(_) | OrderEvent::Restated);
    is_state && report.told.is_some_and(|told| !told.is_done())
}

/// Ends the requests that the report answers. False when it answers one that has its answer.
fn answer(order: &mut Order, report: &Report, answers: &mut Answers, change: &mut Change) -> bool {
    use OrderEvent as E;
    let version = report.request.version;
    let is = |kind: RequestKind| move |it: &Pending| it.kind == kind;
    let of_version = |it: &Pending| it.version == version;
    match report.event {
        E::PendingNew | E::Status(OrderState::PendingNew | OrderState::Sent) => return true,
        E::Lost => {
            let mut found = false;
            for request in order.requests.iter_mut().flatten() {
                if !request.is_lost && (version == 0 || request.version == version) {
                    (request.is_lost, found) = (true, true);
                    answers.lost += 1;
                }
            }
            return found;
        }
        E::ChangeRefused => {
            let refused = |it: &Pending| of_version(it) && it.kind != RequestKind::Create;
            let Some(request) = order.take(refused) else { return false };
            let is_cancel = request.kind == RequestKind::Cancel;
            let count =
                if is_cancel { &mut answers.cancel_rejects } else { &mut answers.modify_rejects };
            *count += 1;
            answered(&request, answers, change);
            return true;
        }
        _ => {}
    }
    // Whatever else the venue says of an order says that it has it, or never will.
    if let Some(create) = order.take(is(RequestKind::Create)) {
        let is_refused =
            matches!(report.event, E::Rejected | E::NotFound | E::Status(OrderState::Rejected));
        *(if is_refused { &mut answers.order_rejects } else { &mut answers.acks }) += 1;
        if !is_refused {
            order.version_accepted = order.version_accepted.max(1);
        }
        answered(&create, answers, change);
    }
    match report.event {
        E::Replaced => {
            let asked = order.take(|it| of_version(it) && it.kind == RequestKind::Modify);
            if let Some(request) = &asked {
                answers.replaced += 1;
                answered(request, answers, change);
            }
            replace(order, report, asked.as_ref());
        }
        E::Restated => restate(order, report),
        E::Status(_) | E::Reopened => {
            settle_lost(order, report, answers, change);
            restate(order, report);
        }
        E::Cancelled => {
            let cancel = order
                .take(|it| of_version(it) && it.kind == RequestKind::Cancel)
                .or_else(|| order.take(is(RequestKind::Cancel)));
            if let Some(request) = cancel {
                answers.cancels += 1;
                answered(&request, answers, change);
            }
        }
        _ => {}
    }
    true
}

/// The answer to a question is younger than every request that was lost: such a one was granted
/// before, or never will be.
fn settle_lost(order: &mut Order, report: &Report, answers: &mut Answers, change: &mut Change) {
    let version = report.request.version;
    let is_granted =
        |it: &Pending| it.is_lost && it.kind == RequestKind::Modify && it.version == version;
    if let Some(request) = order.take(is_granted) {
        answers.replaced += 1;
        answered(&request, answers, change);
        replace(order, report, Some(&request));
    }
    for request in &mut order.requests {
        request.take_if(|it| it.is_lost);
    }
}

fn answered(request: &Pending, answers: &mut Answers, change: &mut Change) {
    answers.lost -= u64::from(request.is_lost);
    let Pending { version, kind, sent_at, .. } = *request;
    change.answered = Some(Answered { version, kind, sent_at });
}

/// The order has other terms: those that were asked for, or what the venue says.
fn replace(order: &mut Order, report: &Report, asked: Option<&Pending>) {
    let version = report.request.version;
    if version != 0 && version <= order.version_accepted {
        // A later request was granted before.
        return;
    }
    if let Some(asked) = asked {
        (order.terms.price, order.terms.lots) = (asked.price, asked.lots);
    }
    order.version_accepted = order.version_accepted.max(version);
    follow_terms(order, report);
}

fn restate(order: &mut Order, report: &Report) {
    // While a change is under way the answer may be of before or after it.
    if order.awaited().all(|request| request.kind != RequestKind::Modify) {
        follow_terms(order, report);
    }
}

fn follow_terms(order: &mut Order, report: &Report) {
    let told = report.order_qty.and_then(|qty| Traded::of(qty, report.lot));
    if let Some(told) = told.filter(|told| told.rest.is_zero() && told.lots > Lots::ZERO) {
        order.terms.lots = told.lots;
    }
    if let Some(price) = report.order_price.filter(|_| order.terms.order_type == OrderType::Limit) {
        order.terms.price = price;
    }
}

/// Counts a trade.
fn trade(order: &mut Order, report: &Report, executions: &mut Executions, change: &mut Change) {
    let lot = report.lot;
    let total = report.total.and_then(|qty| Traded::of(qty, lot)).unwrap_or(Traded::ZERO);
    let Some(mut last) = Traded::of(report.last, lot) else {
        change.trouble = Some(Trouble::Unreadable);
        change.asks = true;
        return;
    };
    if !last.is_some() {
        // A venue that tells totals only.
        last = total.minus(order.traded, lot).max(Traded::ZERO);
    }
    if last.is_more_than(total) {
        // The total cannot be less than its part: the part is believed.
        order.told = order.told.max(order.traded.plus(last, lot));
        change.trouble = Some(Trouble::Contradiction);
    }
    order.told = order.told.max(total);
    let counted = last.min(order.told.minus(order.traded, lot));
    let left_out = last.minus(counted.max(Traded::ZERO), lot);
    if left_out.is_some() {
        let is_again = report.is_resend && !counted.is_some();
        if left_out.is_more_than(order.inferred) && !is_again {
            // As much was never said to have traded.
            change.trouble = Some(Trouble::Contradiction);
            change.asks = true;
        }
        order.inferred = order.inferred.minus(left_out.min(order.inferred), lot);
        change.is_old = !counted.is_some();
    }
    let price = report.price.or(report.average).unwrap_or(Price(0));
    if !report.exec_id.is_none() {
        executions.insert(order.id, report.exec_id, last, price);
    }
    if counted.is_some() {
        change.fills[0] = Some(count(order, report, counted, price, false));
        note_part(order, change);
    }
    change.asks |= order.misses_trades();
}

/// Takes a trade back, or puts another in its place.
fn correct(order: &mut Order, report: &Report, executions: &mut Executions, change: &mut Change) {
    let (lot, is_cancel) = (report.lot, report.event == OrderEvent::TradeCancelled);
    let missing = order.told.minus(order.traded, lot).max(Traded::ZERO);
    let last = Traded::of(report.last, lot).unwrap_or(Traded::ZERO);
    let now = if is_cancel { Traded::ZERO } else { last };
    let price = report.price.or(report.average).unwrap_or(Price(0));
    match executions.get(order.id, &report.exec_ref) {
        Some(earlier) => {
            executions.correct(&earlier, report.exec_id, now, price);
            if !earlier.traded.is_some() && !now.is_some() {
                change.is_old = true;
                return;
            }
            let back = Traded::ZERO.minus(earlier.traded, lot);
            change.fills[0] = Some(count(order, report, back, earlier.price, true));
        }
        None => {
            // What is left by the venue's total, and else what it says was taken back.
            change.trouble = Some(Trouble::UnknownTrade);
            change.asks = true;
            executions.insert(order.id, report.exec_id, now, price);
            let total = report.total.and_then(|qty| Traded::of(qty, lot));
            let left = total.unwrap_or_else(|| order.traded.minus(last, lot));
            let back = left.minus(now, lot).minus(order.traded, lot);
            if back != Traded::ZERO && !back.is_some() {
                change.fills[0] = Some(count(order, report, back, price, true));
            }
        }
    }
    if now.is_some() {
        change.fills[1] = Some(count(order, report, now, price, true));
    }
    order.told = order.traded.plus(missing, lot);
    note_part(order, change);
}

/// The answer to a question: what it has more than we were told is counted.
fn follow_total(order: &mut Order, report: &Report, change: &mut Change) {
    let Some(total) = report.total.and_then(|qty| Traded::of(qty, report.lot)) else { return };
    if total.is_more_than(order.traded) {
        let missed = total.minus(order.traded, report.lot);
        let price = missed_price(order, report, missed);
        order.inferred = order.inferred.plus(missed, report.lot);
        change.fills[0] = Some(count(order, report, missed, price, true));
        change.trouble = Some(Trouble::MissedTrades);
        note_part(order, change);
    } else if order.traded.is_more_than(total) {
        change.trouble = Some(Trouble::Contradiction);
    }
    order.told = order.told.max(total);
}

/// At which price so much traded, by the average before and after.
fn missed_price(order: &Order, report: &Report, missed: Traded) -> Price {
    let Some(average) = report.average else { return order.terms.price };
    let lots = i128::from(missed.lots.0);
    let all = i128::from(order.traded.lots.0.saturating_add(missed.lots.0));
    if lots <= 0 {
        return average;
    }
    let worth = i128::from(average.0).saturating_mul(all).saturating_sub(order.notional);
    i64::try_from(worth / lots).map_or(average, Price)
}

/// A total in a report that is no trade: one that is missing may be on its way.
fn note_total(order: &mut Order, report: &Report, change: &mut Change) {
    if let Some(total) = report.total.and_then(|qty| Traded::of(qty, report.lot)) {
        order.told = order.told.max(total);
        change.asks |= order.misses_trades();
    }
}

fn note_part(order: &Order, change: &mut Change) {
    if !order.traded.rest.is_zero() {
        change.trouble = Some(Trouble::PartOfLot);
    }
}

/// Adds to what has traded.
fn count(
    order: &mut Order,
    report: &Report,
    more: Traded,
    price: Price,
    is_correction: bool,
) -> Fill {
    let before = order.traded.lots;
    order.traded = order.traded.plus(more, report.lot);
    let lots = Lots(order.traded.lots.0.saturating_sub(before.0));
    let worth = i128::from(price.0) * i128::from(lots.0);
    order.notional = order.notional.saturating_add(worth);
    Fill {
        order: order.id,
        instrument: order.terms.instrument,
        account: order.terms.account,
        side: order.terms.side,
        price,
        lots,
        exec_id: report.exec_id,
        is_correction,
        fee: Amount::ZERO,
    }
}

/// The state by what is left.
fn settled(order: &Order, report: &Report, next: OrderState, change: &mut Change) -> OrderState {
    use OrderState as S;
    let lots = order.terms.lots;
    let most = order
        .pending()
        .filter(|it| it.kind == RequestKind::Modify)
        .fold(lots, |most, it| most.max(it.lots));
    let is_told_open = report.told.is_some_and(|told| !told.is_done());
    let is_over = order.traded.is_more_than(Traded::lots(most));
    if is_over && (order.traded.lots > lots || change.fills[0].is_some()) {
        change.trouble = Some(Trouble::Overfill);
    }
    let is_whole = order.traded.lots >= lots;
    // What says neither that it is open nor that it is over, such as the refusal of another change,
    // ends no order that was open.
    let is_untold = report.told.is_none() && change.fills[0].is_none() && !change.was.is_done();
    // A larger quantity may have been granted by a report that is still to come.
    let may_go_on = (is_told_open || is_untold) && most > lots && order.traded.lots < most;
    match next {
        S::Rejected => next,
        // Nothing was said: an order that was open when all of it had traded still is.
        S::Unknown if report.event == OrderEvent::Lost => next,
        _ if is_whole && !may_go_on => S::Filled,
        // What was whole is not any more: a trade was taken back, or the order was made larger.
        S::Filled if let OrderEvent::Status(told @ (S::Cancelled | S::Expired)) = report.event => {
            // It was made larger while nobody heard, and ended before the rest traded.
            told
        }
        S::Filled if matches!(report.event, OrderEvent::Status(_)) => {
            change.trouble = Some(Trouble::Contradiction);
            next
        }
        S::Filled if order.misses_trades() => next,
        S::Filled if is_told_open || report.event == OrderEvent::Replaced => S::Working,
        S::Filled if change.fills[0].is_some() => S::Cancelled,
        S::Working if report.event == OrderEvent::Traded && report.told == Some(S::Filled) => {
            if order.misses_trades() {
                return next;
            }
            if order.pending().any(|it| it.lots <= order.traded.lots) {
                return S::Filled;
            }
            change.trouble = Some(Trouble::Contradiction);
            change.asks = true;
            next
        }
        _ => next,
    }
}

/// Counts trades, and an end that answers no request of ours.
fn count_end(order: &Order, report: &Report, answers: &mut Answers, change: &Change) {
    let is_fill = |fill: &&Fill| !fill.is_correction;
    answers.fills += change.fills.iter().flatten().filter(is_fill).count() as u64;
    let is_end = order.state.is_done() && !change.was.is_done();
    let is_unasked = match report.event {
        OrderEvent::Expired | OrderEvent::DoneForDay => true,
        OrderEvent::Cancelled => change.answered.is_none_or(|it| it.kind != RequestKind::Cancel),
        _ => false,
    };
    answers.expired += u64::from(is_end && is_unasked && order.state != OrderState::Filled);
}

#[cfg(test)]
mod tests;
