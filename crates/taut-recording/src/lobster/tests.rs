//! Recorded flow: small files whose meaning is known. The real ones are scenarios of their own.

use std::path::Path;

use taut_engine::{Command, NewOrder};
use taut_types::{HalfTicks, Lots, Nanos, OrderId, Price, Side, TimeInForce};

use super::{FlowEvent, LobsterFlow, TimedEvent};

fn parse(text: &str) -> LobsterFlow {
    LobsterFlow::parse("f.csv", text.as_bytes()).expect("a right file")
}

fn refusal(text: &str) -> String {
    LobsterFlow::parse("f.csv", text.as_bytes()).expect_err("a wrong file").to_string()
}

fn new(order_id: u64, side: Side, cents: i64, lots: i64, ioc: bool) -> Command {
    let good_till = TimeInForce::GoodTillCancel;
    let time_in_force = if ioc { TimeInForce::ImmediateOrCancel } else { good_till };
    let (order_id, price, lots) = (OrderId(order_id), HalfTicks(cents * 2), Lots(lots));
    Command::New(NewOrder::limit(order_id, 0, side, price, lots).force(time_in_force))
}

fn cancel(order_id: u64) -> Command {
    Command::Cancel { order_id: OrderId(order_id) }
}

fn commands(flow: &LobsterFlow) -> Vec<(usize, Command)> {
    let command = |event: &TimedEvent| match event.event {
        FlowEvent::Command(command) => Some((event.line, command)),
        _ => None,
    };
    flow.events().iter().filter_map(command).collect()
}

#[test]
fn rows_become_commands_at_their_time() {
    let flow = parse(
        "100.5,1,10,50,10000,1\n100.6,2,10,20,10000,1\n100.6,5,0,7,10050,-1\n\
         100.7,4,10,25,10000,1\n101.5,7,0,0,-1,-1\n102.5,3,10,5,10000,1\n",
    );
    let reduce = Command::Reduce { order_id: OrderId(10), by: Lots(20) };
    let expected = [
        (1, new(10, Side::Buy, 100, 50, false)),
        (2, reduce),
        (4, new(11, Side::Sell, 100, 25, true)),
        (6, cancel(10)),
    ];
    assert_eq!(commands(&flow), expected);
    let print =
        FlowEvent::Print { price: Price(1_005_000_000), lots: Lots(7), aggressor_side: Side::Buy };
    assert_eq!(flow.events()[2].event, print);
    assert_eq!(flow.events()[4].event, FlowEvent::Halt);
    assert_eq!(flow.events()[5].at, Nanos::from_secs(2));
    let summary = flow.summary();
    assert_eq!((summary.rows, summary.starts_at), (6, Nanos(100_500_000_000)));
    assert_eq!((summary.span, summary.halts), (Nanos::from_secs(2), 1));
}

#[test]
fn an_order_that_is_never_added_rested_before_with_the_sum_of_its_rows() {
    let flow = parse("1,1,10,50,10000,1\n2,2,9,20,10100,-1\n3,4,9,30,10100,-1\n4,3,9,1,10100,-1\n");
    let (side, price) = (Side::Sell, HalfTicks(202));
    let initial = NewOrder::limit(OrderId(9), 0, side, price, Lots(51));
    assert_eq!(flow.initial_orders(), [initial]);
    assert_eq!(commands(&flow).last(), Some(&(4, cancel(9))));
}

#[test]
fn an_order_that_is_never_added_and_has_a_larger_id_enters_at_its_place() {
    // 12 must have entered before 13 did; 14 at its first row.
    let flow = parse("1,1,10,50,10000,1\n2,1,13,5,10000,1\n3,3,12,7,9900,1\n4,3,14,8,9900,1\n");
    assert_eq!((flow.initial_orders().len(), flow.summary().late_orders), (0, 2));
    let expected = [
        (1, new(10, Side::Buy, 100, 50, false)),
        (2, new(12, Side::Buy, 99, 7, false)),
        (2, new(13, Side::Buy, 100, 5, false)),
        (3, cancel(12)),
        (4, new(14, Side::Buy, 99, 8, false)),
        (4, cancel(14)),
    ];
    assert_eq!(commands(&flow), expected);
}

#[test]
fn an_inferred_order_that_would_trade_waits() {
    // Bid 9 at 101 cannot have been there when ask 8 at 100 was.
    let flow = parse("1,1,10,50,9000,1\n2,3,8,5,10000,-1\n3,1,11,5,9000,1\n4,4,9,7,10100,1\n");
    assert_eq!(flow.initial_orders().len(), 1);
    assert_eq!(commands(&flow)[2], (3, new(9, Side::Buy, 101, 7, false)));
}

#[test]
fn orders_before_an_executed_one_are_queued_again_behind_it() {
    let flow = parse(
        "1,1,10,50,10000,1\n2,1,11,5,10000,1\n3,1,12,5,10000,1\n4,4,12,5,10000,1\n\
         5,3,10,50,10000,1\n6,3,11,5,10000,1\n",
    );
    assert_eq!(flow.summary().requeued, 2);
    let expected = [
        (4, cancel(10)),
        (4, new(10, Side::Buy, 100, 50, false)),
        (4, cancel(11)),
        (4, new(11, Side::Buy, 100, 5, false)),
        (4, new(13, Side::Sell, 100, 5, true)),
        (5, cancel(10)),
        (6, cancel(11)),
    ];
    assert_eq!(commands(&flow)[3..], expected);
}

#[test]
fn orders_that_contradict_a_later_row_and_have_none_have_vanished() {
    // Bid 10 is gone when ask 12 enters below it, and bid 11 when the worse bid 13 trades.
    let flow = parse(
        "1,1,10,50,10000,1\n1,1,11,5,9800,1\n2,1,12,5,9900,-1\n3,1,13,5,9700,1\n4,4,13,5,9700,1\n",
    );
    assert_eq!(flow.summary().vanished, 2);
    let expected = [
        (3, cancel(10)),
        (3, new(12, Side::Sell, 99, 5, false)),
        (4, new(13, Side::Buy, 97, 5, false)),
        (5, cancel(11)),
        (5, new(14, Side::Sell, 97, 5, true)),
    ];
    assert_eq!(commands(&flow)[2..], expected);
}

#[test]
fn rows_that_contradict_each_other_are_refused() {
    let add = "1,1,10,50,10000,1\n";
    for (row, message) in [
        ("2,1,10,5,10000,1", "f.csv:2: field `order id` is \"10\": it was added at line 1 before"),
        ("2,3,10,51,10000,1", "f.csv:2: field `size` is \"51\": its order has 50 left"),
        ("2,3,10,50,10100,1", "f.csv:2: field `price` is \"10100\": its order rests at 10000"),
        ("2,3,10,50,10000,-1", "f.csv:2: field `direction` is \"-1\": the order rests on the"),
        (
            "2,4,10,50,10000,1\n3,3,10,50,10000,1",
            "f.csv:3: field `order id` is \"10\": the order has left the book in a row above",
        ),
        ("2,2,9,5,9900,1\n3,1,9,5,9900,1", "f.csv:3: field `order id` is \"9\": rows above name"),
    ] {
        let refusal = refusal(&format!("{add}{row}\n"));
        assert!(refusal.starts_with(message), "{refusal}");
    }
    // Less than what is left is possible: a part may have gone where the file does not look.
    assert_eq!(
        commands(&parse(&format!("{add}2,3,10,40,10000,1\n"))).last(),
        Some(&(2, cancel(10)))
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = LobsterFlow::read(Path::new("no/such.csv")).expect_err("no file").to_string();
    assert!(error.starts_with("no/such.csv: cannot read it"), "{error}");
}
