//! Every interleaving of a few events against a naive model, and the rules one by one.

use super::*;
use crate::exec_id::ExecId;
use std::vec::Vec;
use taut_types::{ClientOrderId, InstrumentId, Nanos, OrderTerms, Qty, RequestId, Side};

const ID: ClientOrderId = ClientOrderId(7);
const LOTS: i64 = 10;

/// An order of ten lots and all that belongs to it.
#[derive(Clone)]
struct Life {
    order: Order,
    executions: Executions,
    answers: Answers,
    /// The sum of all fills that were told.
    position: i64,
    open: i64,
}

impl Life {
    fn new() -> Self {
        let terms = OrderTerms::limit(InstrumentId(1), Side::Buy, Price(100), Lots(LOTS));
        let order = Order::new(ID, &terms, 0, 2, Nanos(1));
        let answers = Answers { orders: 1, ..Answers::default() };
        Self { order, executions: Executions::with_capacity(8), answers, position: 0, open: LOTS }
    }

    fn apply(&mut self, report: &Report) -> Change {
        assert_eq!(self.order.lots_open().0, self.open);
        let change = apply(&mut self.order, report, &mut self.executions, &mut self.answers);
        self.position += change.fills.iter().flatten().map(|fill| fill.lots.0).sum::<i64>();
        self.open = change.lots_open.0;
        assert_eq!(change.state, self.order.state);
        assert_eq!(self.position, self.order.traded.lots.0, "fills add up to what traded");
        assert!(change.lots_open.0 >= 0 && (!change.state.is_done() || self.open == 0));
        change
    }

    fn request(&mut self, kind: RequestKind, lots: i64) {
        if self.order.state.is_done() {
            return;
        }
        let version = self.order.version_sent + 1;
        let request = Pending {
            version,
            kind,
            is_lost: false,
            sequence: 0,
            sent_at: Nanos(1),
            price: Price(100),
            lots: Lots(lots),
        };
        if self.order.keep(request) {
            self.order.version_sent = version;
            match kind {
                RequestKind::Modify => self.answers.modify_requests += 1,
                _ => self.answers.cancel_requests += 1,
            }
        }
    }

    fn event(&mut self, event: OrderEvent, version: u16) -> Change {
        self.apply(&report(event, version))
    }

    fn trade(&mut self, id: &str, last: i64, total: i64) -> Change {
        self.apply(&traded(id, last, total))
    }

    fn pending(&self, kind: RequestKind) -> u16 {
        let versions = self.order.pending().filter(|it| it.kind == kind).map(|it| it.version);
        versions.min().unwrap_or(99)
    }
}

fn report(event: OrderEvent, version: u16) -> Report {
    Report::plain(RequestId { order: ID, version }, event, Qty::whole(1))
}

fn traded(id: &str, last: i64, total: i64) -> Report {
    Report {
        last: Qty::whole(last),
        price: Some(Price(100)),
        total: Some(Qty::whole(total)),
        exec_id: ExecId::new(id.as_bytes()),
        ..report(OrderEvent::Traded, 1)
    }
}

fn status(state: OrderState, total: i64) -> Report {
    let (total, average) = (Some(Qty::whole(total)), Some(Price(100)));
    Report { total, average, ..report(OrderEvent::Status(state), 1) }
}

/// What may happen in the walk.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Accepted,
    FirstTrade,
    SecondTrade,
    AskCancel,
    CancelRefused,
    Cancelled,
    Expired,
    Disconnect,
    AskReplace,
    Replaced,
    ReplaceRefused,
}

const STEPS: [Step; 11] = [
    Step::Accepted,
    Step::FirstTrade,
    Step::SecondTrade,
    Step::AskCancel,
    Step::CancelRefused,
    Step::Cancelled,
    Step::Expired,
    Step::Disconnect,
    Step::AskReplace,
    Step::Replaced,
    Step::ReplaceRefused,
];

/// The model: it looks at the whole story each time, and keeps nothing.
struct Story {
    traded: i64,
    lots: i64,
    state: OrderState,
    asked: u64,
    outstanding: u64,
}

fn tell(steps: &[Step]) -> Story {
    let mut story =
        Story { traded: 0, lots: LOTS, state: OrderState::Sent, asked: 1, outstanding: 0 };
    // Requests by what they ask; `true` while an answer is waited for, `false` once given up.
    let mut create = Some(true);
    let (mut cancels, mut modifies): (Vec<bool>, Vec<bool>) = (Vec::new(), Vec::new());
    for (at, step) in steps.iter().enumerate() {
        let is_over = story.state.is_done();
        let count = |kind| i64::from(steps[..=at].contains(&kind));
        story.traded = 4 * count(Step::FirstTrade) + 6 * count(Step::SecondTrade);
        let waiting = |all: &[bool]| all.iter().filter(|it| **it).count();
        let slots = usize::from(create == Some(true)) + waiting(&cancels) + waiting(&modifies);
        let speaks = !matches!(
            step,
            Step::AskCancel
                | Step::AskReplace
                | Step::Disconnect
                | Step::CancelRefused
                | Step::ReplaceRefused
        );
        // A trade that comes again says nothing.
        let is_again =
            matches!(step, Step::FirstTrade | Step::SecondTrade) && steps[..at].contains(step);
        if speaks && !is_again {
            create = None;
            if !is_over {
                story.state = match step {
                    Step::Cancelled => OrderState::Cancelled,
                    Step::Expired => OrderState::Expired,
                    _ => OrderState::Working,
                };
            }
        }
        match step {
            Step::AskCancel if !is_over && slots < 4 => {
                (story.asked, _) = (story.asked + 1, cancels.push(true));
            }
            Step::AskReplace if !is_over && slots < 4 => {
                (story.asked, _) = (story.asked + 1, modifies.push(true));
            }
            Step::CancelRefused | Step::Cancelled if !cancels.is_empty() => drop(cancels.remove(0)),
            Step::Replaced if !modifies.is_empty() => {
                modifies.remove(0);
                story.lots = 20;
                if story.state == OrderState::Filled {
                    story.state = OrderState::Working;
                }
            }
            Step::ReplaceRefused if !modifies.is_empty() => drop(modifies.remove(0)),
            Step::Disconnect => {
                let was_waiting =
                    create == Some(true) || waiting(&cancels) + waiting(&modifies) > 0;
                if was_waiting && !is_over {
                    story.state = OrderState::Unknown;
                }
                create = create.map(|_| false);
                cancels.iter_mut().chain(&mut modifies).for_each(|it| *it = false);
            }
            _ => {}
        }
        if story.traded >= story.lots && story.state != OrderState::Sent {
            story.state = OrderState::Filled;
        }
        story.outstanding =
            (usize::from(create == Some(true)) + waiting(&cancels) + waiting(&modifies)) as u64;
    }
    story
}

fn act(life: &mut Life, step: Step) {
    match step {
        Step::Accepted => drop(life.event(OrderEvent::Accepted, 1)),
        Step::FirstTrade => drop(life.trade("E1", 4, 4)),
        Step::SecondTrade => drop(life.trade("E2", 6, 10)),
        Step::AskCancel => life.request(RequestKind::Cancel, 0),
        Step::CancelRefused => {
            let version = life.pending(RequestKind::Cancel);
            life.event(OrderEvent::ChangeRefused, version);
        }
        Step::Cancelled => {
            let version = life.pending(RequestKind::Cancel);
            life.event(OrderEvent::Cancelled, version);
        }
        Step::Expired => drop(life.event(OrderEvent::Expired, 1)),
        Step::Disconnect => drop(life.event(OrderEvent::Lost, 0)),
        Step::AskReplace => life.request(RequestKind::Modify, 20),
        Step::Replaced => {
            let version = life.pending(RequestKind::Modify);
            if version != 99 {
                life.event(OrderEvent::Replaced, version);
            }
        }
        Step::ReplaceRefused => {
            let version = life.pending(RequestKind::Modify);
            life.event(OrderEvent::ChangeRefused, version);
        }
    }
}

/// A replacement that was not asked for, or was refused, is no event of the walk, and one more
/// request than there is room for is none either; nor is a replacement of what the venue said is
/// over, or two at once.
fn is_sane(steps: &[Step]) -> bool {
    let count = |kind: Step| steps.iter().filter(|it| **it == kind).count();
    let asked = count(Step::AskReplace);
    let last = steps[steps.len() - 1];
    let ended = steps.iter().any(|it| matches!(it, Step::Cancelled | Step::Expired));
    let place = |kind: Step| steps.iter().rposition(|it| *it == kind);
    let is_refused = place(Step::ReplaceRefused) > place(Step::AskReplace);
    (last != Step::Replaced || (asked >= count(Step::Replaced) && !ended && !is_refused))
        && asked <= 1
        && count(Step::AskCancel) <= 2
}

fn walk(life: &Life, steps: &mut Vec<Step>, left: usize, seen: &mut u64) {
    for step in STEPS {
        steps.push(step);
        if is_sane(steps) {
            let mut life = life.clone();
            act(&mut life, step);
            let story = tell(steps);
            let unanswered = life.answers.unanswered();
            assert_eq!(
                (life.position, life.order.state, unanswered),
                (story.traded, story.state, story.outstanding),
                "{steps:?}"
            );
            *seen += 1;
            if left > 1 {
                walk(&life, steps, left - 1, seen);
            }
        }
        steps.pop();
    }
}

#[test]
fn every_interleaving_of_six_events_ends_as_the_naive_model_says() {
    let mut seen = 0;
    walk(&Life::new(), &mut Vec::new(), 6, &mut seen);
    std::println!("{seen} stories");
    assert!(seen > 100_000);
}

/// Trades, what takes them back, and what asks again, in any order: the position is what the venue
/// says it is.
#[test]
fn every_order_of_trades_and_totals_gives_one_position() {
    let reports = [
        traded("E1", 4, 4),
        traded("E2", 3, 7),
        traded("E3", 3, 10),
        status(OrderState::Working, 7),
        traded("E2", 3, 7),
        report(OrderEvent::Accepted, 1),
    ];
    fn permute(life: &Life, left: &[Report]) {
        if left.is_empty() {
            assert_eq!((life.position, life.order.state), (10, OrderState::Filled));
        }
        for at in 0..left.len() {
            let mut life = life.clone();
            life.apply(&left[at]);
            let rest: Vec<_> =
                left.iter().enumerate().filter(|it| it.0 != at).map(|it| *it.1).collect();
            permute(&life, &rest);
        }
    }
    permute(&Life::new(), &reports);
}

#[test]
fn a_trade_before_the_acknowledgement_is_one_and_the_late_one_is_old() {
    let mut life = Life::new();
    let change = life.trade("E1", 4, 4);
    assert_eq!((change.state, change.lots_open), (OrderState::Working, Lots(6)));
    assert_eq!(change.answered.map(|it| it.kind), Some(RequestKind::Create));
    assert!(life.event(OrderEvent::Accepted, 1).is_old);
    assert_eq!((life.answers.acks, life.answers.unanswered()), (1, 0));
}

#[test]
fn a_late_trade_counts_after_the_cancel() {
    let mut life = Life::new();
    life.event(OrderEvent::Accepted, 1);
    life.event(OrderEvent::Cancelled, 1);
    let change = life.trade("E1", 4, 4);
    assert_eq!((change.state, life.position), (OrderState::Cancelled, 4));
    let change = life.trade("E2", 6, 10);
    assert_eq!((change.state, life.position), (OrderState::Filled, 10));
}

#[test]
fn more_than_was_ordered_counts_and_is_told() {
    let mut life = Life::new();
    let change = life.trade("E1", 12, 12);
    assert_eq!((change.state, change.trouble), (OrderState::Filled, Some(Trouble::Overfill)));
    assert_eq!(life.position, 12);
    assert!(life.order.is_quarantined);
    let change = life.trade("E2", 1, 13);
    assert_eq!((life.position, change.trouble), (13, Some(Trouble::Overfill)));
}

#[test]
fn a_cancelled_trade_is_taken_back_once() {
    let mut life = Life::new();
    life.trade("E1", 4, 4);
    life.trade("E2", 6, 10);
    let bust = |id: &str, of: &str, total| Report {
        event: OrderEvent::TradeCancelled,
        exec_ref: ExecId::new(of.as_bytes()),
        last: Qty::ZERO,
        told: Some(OrderState::Working),
        ..traded(id, 0, total)
    };
    let change = life.apply(&bust("E3", "E1", 6));
    let fill = change.fills[0].unwrap();
    assert_eq!((fill.lots, fill.is_correction, life.position), (Lots(-4), true, 6));
    assert_eq!((change.state, change.lots_open), (OrderState::Working, Lots(4)));
    assert!(life.apply(&bust("E3", "E1", 6)).is_old, "told again");
    assert!(life.apply(&bust("E4", "E1", 6)).is_old, "under another name");
    assert_eq!(life.position, 6);
    let change = life.apply(&bust("E5", "E9", 4));
    assert_eq!((change.trouble, life.position), (Some(Trouble::UnknownTrade), 4));
}

#[test]
fn a_corrected_trade_is_taken_back_and_counted_anew() {
    let mut life = Life::new();
    life.trade("E1", 4, 4);
    let correct = |id: &str, of: &str, last, total| Report {
        event: OrderEvent::TradeCorrected,
        exec_ref: ExecId::new(of.as_bytes()),
        price: Some(Price(99)),
        ..traded(id, last, total)
    };
    let change = life.apply(&correct("E2", "E1", 3, 3));
    let fills = change.fills.map(|fill| fill.map(|fill| (fill.lots.0, fill.price.0)));
    assert_eq!((fills, life.position), ([Some((-4, 100)), Some((3, 99))], 3));
    life.apply(&correct("E3", "E2", 5, 5));
    assert_eq!(life.position, 5);
    life.apply(&correct("E4", "E1", 2, 2));
    assert_eq!(life.position, 2);
    life.trade("E5", 8, 10);
    assert_eq!((life.position, life.order.state), (10, OrderState::Filled));
}

#[test]
fn part_of_a_lot_is_neither_lost_nor_rounded() {
    let mut life = Life::new();
    let half = |id: &str, last: &str, total: &str| Report {
        last: Qty::parse(last.as_bytes()).unwrap(),
        total: Some(Qty::parse(total.as_bytes()).unwrap()),
        ..traded(id, 0, 0)
    };
    let change = life.apply(&half("E1", "3.5", "3.5"));
    assert_eq!((life.position, change.trouble), (3, Some(Trouble::PartOfLot)));
    assert_eq!(life.order.traded.rest, Qty { mantissa: 5, decimals: 1 });
    assert_eq!(change.lots_open, Lots(7), "what is open is not less than it is");
    life.apply(&half("E2", "0.25", "3.75"));
    assert_eq!(life.position, 3);
    life.apply(&half("E3", "0.25", "4"));
    assert_eq!((life.position, life.order.traded.rest), (4, Qty::ZERO));
}

#[test]
fn what_was_missed_is_counted_by_the_answer_and_not_again() {
    let mut life = Life::new();
    life.trade("E1", 4, 4);
    assert!(life.trade("E3", 2, 9).asks, "three are missing");
    let mut answer = status(OrderState::Working, 9);
    answer.average = Some(Price(110));
    let change = life.apply(&answer);
    let fill = change.fills[0].unwrap();
    // 9 at 110 are 990; 6 at 100 are 600.
    assert_eq!((fill.lots, fill.price, fill.is_correction), (Lots(3), Price(130), true));
    assert_eq!(change.trouble, Some(Trouble::MissedTrades));
    let change = life.trade("E2", 3, 7);
    assert!(change.is_old && life.position == 9);
    assert_eq!(change.trouble, None, "it was expected");
    let change = life.trade("E4", 3, 9);
    assert_eq!((change.trouble, life.position), (Some(Trouble::Contradiction), 9));
}

#[test]
fn several_replacements_are_under_way_and_the_last_granted_one_holds() {
    let mut life = Life::new();
    for lots in [20, 30, 40] {
        life.request(RequestKind::Modify, lots);
    }
    assert_eq!((life.order.version_base(), life.order.lots_open_max()), (4, Lots(40)));
    let first = *life.order.pending().next().unwrap();
    assert!(!life.order.keep(first), "four at a time");
    life.event(OrderEvent::Replaced, 3);
    assert_eq!((life.order.terms.lots, life.order.version_accepted), (Lots(30), 3));
    life.event(OrderEvent::Replaced, 2);
    assert_eq!((life.order.terms.lots, life.order.version_accepted), (Lots(30), 3), "late");
    life.event(OrderEvent::ChangeRefused, 4);
    assert_eq!(life.order.terms.lots, Lots(30));
    assert!(life.event(OrderEvent::ChangeRefused, 4).is_old);
    let Answers { replaced, modify_rejects, acks, .. } = life.answers;
    assert_eq!((replaced, modify_rejects, acks, life.answers.unanswered()), (2, 1, 1, 0));
}

#[test]
fn a_trade_beyond_the_old_quantity_shows_that_the_replacement_was_granted() {
    let mut life = Life::new();
    life.event(OrderEvent::Accepted, 1);
    life.request(RequestKind::Modify, 20);
    let told = Some(OrderState::Working);
    let change = life.apply(&Report { told, ..traded("E1", 15, 15) });
    assert_eq!((change.trouble, change.state), (None, OrderState::Working));
    life.event(OrderEvent::Replaced, 2);
    assert_eq!(life.order.lots_open(), Lots(5));
}

/// The fill is told before the answer to the replacement, and that answer never comes.
#[test]
fn what_fills_the_old_quantity_while_a_larger_one_is_asked_for_ends_nothing_when_open_is_told() {
    let mut life = Life::new();
    life.event(OrderEvent::Accepted, 1);
    life.request(RequestKind::Modify, 40);
    let told = Some(OrderState::Working);
    let change = life.apply(&Report { told, ..traded("E1", LOTS, LOTS) });
    assert_eq!((change.trouble, change.state), (None, OrderState::Working));
    life.event(OrderEvent::Lost, 2);
    let order_qty = Some(Qty::whole(40));
    life.apply(&Report { order_qty, ..status(OrderState::Working, LOTS) });
    assert_eq!((life.order.state, life.order.lots_open()), (OrderState::Working, Lots(30)));
}

/// The reports of the larger quantity are still to come.
#[test]
fn the_refusal_of_one_change_ends_no_order_that_another_one_made_larger() {
    let mut life = Life::new();
    life.request(RequestKind::Modify, 20);
    life.request(RequestKind::Modify, 30);
    let open = Report { told: Some(OrderState::Working), ..traded("E1", 15, 15) };
    assert_eq!(life.apply(&open).state, OrderState::Working);
    let change = life.event(OrderEvent::ChangeRefused, 3);
    assert_eq!((change.state, change.exposure), (OrderState::Working, Lots(5)));
    let change = life.event(OrderEvent::ChangeRefused, 2);
    assert_eq!((change.state, life.position), (OrderState::Filled, 15), "nothing else is left");
}

#[test]
fn an_order_that_is_done_here_and_open_there_is_asked_about_and_goes_on_by_the_answer() {
    let mut life = Life::new();
    life.event(OrderEvent::Accepted, 1);
    life.trade("E1", LOTS, LOTS);
    assert_eq!(life.order.state, OrderState::Filled);
    let told = Some(OrderState::Working);
    let restated = Report { told, ..report(OrderEvent::Restated, 0) };
    let change = life.apply(&restated);
    assert_eq!((change.asks, change.state), (true, OrderState::Filled), "it may be late");
    assert!(!life.apply(&Report { is_resend: true, ..restated }).asks);
    let listed = Report { told, ..status(OrderState::Working, LOTS) };
    assert!(life.apply(&listed).asks && life.order.state == OrderState::Filled);
    // It was made larger, by nobody here.
    let order_qty = Some(Qty::whole(40));
    let change = life.apply(&Report { event: OrderEvent::Reopened, order_qty, ..listed });
    assert_eq!((change.state, change.trouble), (OrderState::Working, Some(Trouble::Contradiction)));
    assert_eq!((change.lots_open, life.position), (Lots(30), LOTS));
}

#[test]
fn a_request_that_is_lost_and_answered_late_is_answered_once() {
    let mut life = Life::new();
    let change = life.event(OrderEvent::Lost, 1);
    assert_eq!((change.state, life.answers.lost), (OrderState::Unknown, 1));
    assert!(life.event(OrderEvent::Lost, 1).is_old);
    life.event(OrderEvent::Accepted, 1);
    assert_eq!((life.order.state, life.answers.acks), (OrderState::Working, 1));
    assert_eq!((life.answers.lost, life.answers.unanswered()), (0, 0));
}

#[test]
fn the_answer_to_a_question_settles_every_request_that_was_lost() {
    let mut life = Life::new();
    life.event(OrderEvent::Accepted, 1);
    life.request(RequestKind::Modify, 20);
    life.request(RequestKind::Cancel, 0);
    life.event(OrderEvent::Lost, 0);
    let mut refused = life.clone();
    // Its name at the venue is the one that the replacement gave it.
    let request = RequestId { order: ID, version: 2 };
    let order_qty = Some(Qty::whole(20));
    let granted = Report { request, order_qty, ..status(OrderState::Working, 0) };
    assert!(life.apply(&granted).is_amended);
    assert!(!life.apply(&granted).is_amended, "told again");
    assert_eq!((life.order.terms.lots, life.order.version_base()), (Lots(20), 2));
    assert_eq!((life.answers.replaced, life.answers.lost, life.answers.unanswered()), (1, 1, 0));
    let order_qty = Some(Qty::whole(LOTS));
    let refusal = Report { order_qty, ..status(OrderState::Working, 0) };
    assert!(!refused.apply(&refusal).is_amended);
    assert_eq!((refused.order.lots_open_max(), refused.order.version_base()), (Lots(LOTS), 1));
    assert_eq!((refused.answers.replaced, refused.answers.unanswered()), (0, 0));
}

#[test]
fn an_order_that_the_venue_had_and_does_not_know_any_more_has_vanished() {
    let mut life = Life::new();
    let mut never_heard_of = life.clone();
    life.event(OrderEvent::Accepted, 1);
    life.request(RequestKind::Modify, 20);
    for life in [&mut life, &mut never_heard_of] {
        life.event(OrderEvent::Lost, 0);
    }
    let change = life.event(OrderEvent::NotFound, 1);
    assert_eq!((change.state, change.trouble), (OrderState::Cancelled, Some(Trouble::Vanished)));
    let change = never_heard_of.event(OrderEvent::NotFound, 1);
    assert_eq!((change.state, change.trouble), (OrderState::Rejected, None));
}

/// Whatever comes, in whatever order and with whatever numbers, adds up.
#[test]
fn no_report_breaks_the_sums() {
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (random >> 33) % below
    };
    for _ in 0..20_000 {
        let mut life = Life::new();
        for _ in 0..12 {
            let event = OrderEvent::ALL[next(28) as usize];
            let qty = |n: u64| match n {
                0 => Qty { mantissa: i64::MAX, decimals: 0 },
                1 => Qty { mantissa: 5, decimals: 1 },
                2 => Qty { mantissa: 1, decimals: 250 },
                n => Qty::whole(n.cast_signed() - 3),
            };
            let id = |n: u64| ExecId::new(&[b'E', n as u8]);
            let mut report = report(event, next(4) as u16);
            report.told = OrderState::from_index(next(13) as u8);
            (report.last, report.total) = (qty(next(16)), Some(qty(next(16))));
            (report.exec_id, report.exec_ref) = (id(next(6)), id(next(6)));
            report.order_qty = Some(qty(next(16)));
            report.price = Some(Price(next(5).cast_signed() - 2));
            let huge = report.last.mantissa == i64::MAX
                || report.total == Some(Qty { mantissa: i64::MAX, decimals: 0 });
            if huge && next(50) != 0 {
                continue;
            }
            life.apply(&report);
            if huge {
                break;
            }
            if next(3) == 0 {
                life.request(RequestKind::Modify, next(30).cast_signed() + 1);
            }
            if next(5) == 0 {
                life.request(RequestKind::Cancel, 0);
            }
            let _ = life.answers.unanswered();
        }
    }
}
