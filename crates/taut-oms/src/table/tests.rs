//! The table: answers once, places, lists.

use super::*;
use crate::exec_id::ExecId;
use crate::state::{OrderEvent as E, OrderState};
use std::vec::Vec;
use taut_types::{AccountId, Qty, StrategyId, UserId};

fn terms(instrument: u32) -> OrderTerms {
    OrderTerms::limit(InstrumentId(instrument), Side::Buy, Price(100), Lots(10))
}

fn create(table: &mut OrderTable, id: u64) -> Result<(), TableError> {
    table.create(ClientOrderId(id), &terms(1), 0, id, Nanos(id.cast_signed()))
}

fn report(id: u64, version: u16, event: E) -> Report {
    Report::plain(RequestId { order: ClientOrderId(id), version }, event, Qty::whole(1))
}

fn trade(id: u64, exec: u8, last: i64, total: i64) -> Report {
    Report {
        last: Qty::whole(last),
        total: Some(Qty::whole(total)),
        price: Some(Price(100)),
        exec_id: ExecId::new(&[b'E', exec]),
        ..report(id, 1, E::Traded)
    }
}

fn cancel(table: &mut OrderTable, id: u64) {
    let (request, base) = table.check_cancel(ClientOrderId(id)).unwrap();
    assert_eq!(base.version, 1);
    table.cancel(request, 100 + id, Nanos(1));
}

#[test]
fn every_request_is_answered_once_in_each_way_of_a_life() {
    let mut table = OrderTable::with_capacity(8);
    (1..=5).for_each(|id| create(&mut table, id).unwrap());
    assert_eq!(table.answers().unanswered(), 5);
    let mut ends = Vec::new();
    let mut run = |table: &mut OrderTable, id, reports: &[Report]| {
        for report in reports {
            table.apply(report).unwrap();
        }
        ends.push(table.get(ClientOrderId(id)).unwrap().state);
    };
    run(&mut table, 1, &[report(1, 1, E::Accepted), trade(1, 1, 4, 4), trade(1, 2, 6, 10)]);
    run(&mut table, 2, &[report(2, 1, E::Accepted)]);
    cancel(&mut table, 2);
    run(&mut table, 2, &[report(2, 2, E::Cancelled)]);
    run(&mut table, 3, &[report(3, 1, E::Rejected)]);
    run(&mut table, 4, &[report(4, 1, E::Accepted), trade(4, 3, 1, 1), report(4, 1, E::Expired)]);
    run(&mut table, 5, &[report(5, 1, E::Accepted)]);
    cancel(&mut table, 5);
    // The fill that crosses the cancel: the cancel is refused, the order is filled.
    run(&mut table, 5, &[trade(5, 4, 10, 10), report(5, 2, E::ChangeRefused)]);
    use OrderState as S;
    let expected =
        [S::Filled, S::Working, S::Cancelled, S::Rejected, S::Expired, S::Working, S::Filled];
    assert_eq!(ends, expected);
    let Answers { fills, expired, cancels, cancel_rejects, .. } = *table.answers();
    assert_eq!((fills, expired, cancels, cancel_rejects), (4, 1, 1, 1));
    assert_eq!((table.answers().unanswered(), table.open_orders().count()), (0, 0));
    assert_eq!(table.open_count(), 0);
}

#[test]
fn a_place_is_reused_only_after_its_order_is_done_and_answered() {
    let mut table = OrderTable::with_capacity(2);
    create(&mut table, 1).unwrap();
    create(&mut table, 2).unwrap();
    assert!(!table.has_room_for(ClientOrderId(3)));
    assert_eq!(create(&mut table, 3), Err(TableError::Full));
    cancel(&mut table, 1);
    table.apply(&trade(1, 1, 10, 10)).unwrap();
    assert_eq!(create(&mut table, 3), Err(TableError::Full), "its cancel has no answer");
    table.apply(&report(1, 2, E::ChangeRefused)).unwrap();
    assert_eq!(create(&mut table, 1), Err(TableError::Full), "the id was used");
    assert!(table.has_room_for(ClientOrderId(3)) && table.get(ClientOrderId(1)).is_some());
    create(&mut table, 3).unwrap();
    assert!(table.get(ClientOrderId(1)).is_none());
    assert_eq!(table.apply(&report(1, 1, E::Accepted)), Err(TableError::UnknownOrder));
}

#[test]
fn open_orders_are_found_by_what_they_have_in_common() {
    let mut table = OrderTable::with_capacity(4_096);
    let id = |strategy, number| ClientOrderId::of(UserId(1), StrategyId(strategy), number);
    for number in 0..300 {
        let strategy = (number % 3) as u8;
        let terms = OrderTerms { account: AccountId((number % 2) as u8), ..terms(number as u32) };
        table.create(id(strategy, number), &terms, 0, number, Nanos(1)).unwrap();
        if number % 5 == 0 {
            let request = RequestId::create(id(strategy, number));
            table.apply(&Report::plain(request, E::Rejected, Qty::whole(1))).unwrap();
        }
    }
    assert_eq!(table.open_count(), 240);
    let mut of_one = table.open_orders().filter(|order| order.id.strategy() == StrategyId(1));
    assert!(of_one.all(|order| order.id.number() % 3 == 1 && order.id.number() % 5 != 0));
    let of_account = table.open_orders().filter(|order| order.terms.account == AccountId(1));
    assert_eq!(of_account.count(), 120);
    let numbers: Vec<_> = table.open_orders().map(|order| order.id.number()).collect();
    assert!(numbers.is_sorted(), "the oldest first");
}

#[test]
fn requests_depend_on_versions() {
    let mut table = OrderTable::with_capacity(4);
    let id = ClientOrderId(1);
    assert_eq!(table.check_cancel(id), Err(TableError::UnknownOrder));
    create(&mut table, 1).unwrap();
    assert_eq!(table.check_modify(id, Some(1)), Err(TableError::Version { accepted: 0 }));
    table.apply(&report(1, 1, E::Accepted)).unwrap();
    let (second, base) = table.check_modify(id, Some(1)).unwrap();
    assert_eq!((second.version, base.version), (2, 1));
    table.modify(second, Price(101), Lots(5), 7, Nanos(9));
    let (third, base) = table.check_modify(id, None).unwrap();
    assert_eq!((third.version, base.version), (3, 2), "it builds on what is under way");
    table.modify(third, Price(102), Lots(6), 8, Nanos(9));
    assert_eq!(table.check_modify(id, Some(2)), Err(TableError::Version { accepted: 1 }));
    let (fourth, base) = table.check_cancel(id).unwrap();
    assert_eq!((fourth.version, base.version), (4, 3));
    table.cancel(fourth, 9, Nanos(9));
    assert_eq!(table.check_modify(id, None), Err(TableError::BeingCancelled));
    assert_eq!(table.check_cancel(id), Err(TableError::BeingCancelled));
    table.apply(&report(1, 2, E::Replaced)).unwrap();
    table.apply(&report(1, 3, E::Replaced)).unwrap();
    let order = table.get(id).unwrap();
    assert_eq!((order.terms.price, order.terms.lots), (Price(102), Lots(6)));
    table.apply(&report(1, 4, E::Cancelled)).unwrap();
    assert_eq!(table.check_cancel(id), Err(TableError::Done));
    assert_eq!(table.answers().unanswered(), 0);
    create(&mut table, 2).unwrap();
    assert!(table.quarantine(ClientOrderId(2)) && !table.quarantine(ClientOrderId(2)));
    assert_eq!(table.check_modify(ClientOrderId(2), None), Err(TableError::Quarantined));
    assert!(table.check_cancel(ClientOrderId(2)).is_ok());
}

#[test]
fn requests_without_an_answer_are_found_by_time_and_by_number() {
    let mut table = OrderTable::with_capacity(8);
    (1..=3).for_each(|id| create(&mut table, id).unwrap());
    let overdue = |table: &OrderTable, at| table.overdue(Nanos(at)).map(|it| it.request.order.0);
    assert_eq!((overdue(&table, 0), overdue(&table, 1)), (None, Some(1)));
    table.apply(&report(1, 1, E::Accepted)).unwrap();
    assert_eq!((overdue(&table, 1), overdue(&table, 9)), (None, Some(2)));
    table.apply(&report(2, 1, E::Lost)).unwrap();
    assert_eq!(overdue(&table, 9), Some(3));
    assert_eq!(table.request_of(3).map(|it| it.request.order.0), Some(3));
    assert_eq!(table.request_of(1), None);
    table.apply(&report(3, 1, E::Rejected)).unwrap();
    assert_eq!((overdue(&table, 9), table.next_waiting()), (None, None));
    assert_eq!((table.answers().lost, table.answers().unanswered()), (1, 0));
}

#[test]
fn an_open_order_is_handed_over_with_what_is_under_way_and_one_that_is_over_is_not() {
    let mut table = OrderTable::with_capacity(4);
    let [first, second] = [1, 2].map(|user| Owner { user: UserId(user), strategy: StrategyId(9) });
    let id = first.order(5);
    table.create(id, &terms(1), 7, 1, Nanos(1)).unwrap();
    assert_eq!(table.owner(id), first);
    let before = *table.get(id).unwrap();
    assert_eq!(table.hand_over(id, first), None, "it has it");
    let after = table.hand_over(id, second).unwrap();
    assert_eq!(after, Order { owner: second, ..before });
    assert_eq!((table.owner(id), after.counted_as()), (second, second.order(5)));
    assert_eq!(table.owner(first.order(6)), first, "of an order that nobody knows, its sender");
    // The answer finds it by the id that it was sent with.
    let report = Report::plain(RequestId::create(id), E::Accepted, Qty::whole(1));
    assert!(table.apply(&report).unwrap().answered.is_some());
    table.apply(&Report { event: E::Cancelled, ..report }).unwrap();
    assert_eq!(table.hand_over(id, first), None, "it is over");
    assert_eq!(table.hand_over(first.order(6), second), None);
    assert_eq!(table.owner(id), second);
    // Out of a journal it is whose it was.
    let mut table = OrderTable::with_capacity(4);
    table.adopt(Order::recovered(id, &terms(1), 7, (1, 1), (Lots(0), 0)).owned_by(second)).unwrap();
    assert_eq!(table.owner(id), second);
}
