//! Right histories have an order, and wrong ones none.

use std::collections::HashMap;

use super::*;
use crate::{Draw, for_each_seed};

fn new(order: Order, side: Side, price: i64, qty: i64) -> Ask {
    Ask::New { order, side, price, qty }
}

fn request(client: usize, ask: Ask, asked: u64, answered: u64, answer: Answer) -> Request {
    Request { client, ask, asked, answered: Some((answered, answer)), hint: 0 }
}

const fn trade(order: Order, price: i64, qty: i64, heard: u64) -> Trade {
    Trade { order, price, qty, heard }
}

/// Clients that send when they like, are executed some time later, and hear of it later still.
fn drawn(random: &mut impl Draw, clients: usize, count: usize) -> History {
    let mut history = History::default();
    let (mut book, mut traded) = (Book::default(), HashMap::<Order, i64>::new());
    let mut orders: Vec<(usize, Order)> = Vec::new();
    // Of each client: when it last sent, and when it last heard something.
    let mut last = vec![(0, 0); clients];
    for executed in (1..=count as u64).map(|it| it * 100) {
        let client = random.below(clients as u64) as usize;
        let (sent, told) = last[client];
        let asked = executed.saturating_sub(random.below(900)).max(sent + 1);
        let own: Vec<Order> =
            orders.iter().rev().filter(|it| it.0 == client).map(|it| it.1).take(6).collect();
        let (price, qty) = (95 + random.below(6) as i64, 1 + random.below(9) as i64);
        let side = random.pick(&Side::BOTH);
        let ask = match random.below(10) {
            _ if own.is_empty() => new(executed, side, price, qty),
            0..=4 => new(executed, side, price, qty),
            5..=6 => Ask::Cancel(random.pick(&own)),
            7..=8 => Ask::Replace { order: random.pick(&own), price, qty },
            _ => Ask::Status(random.pick(&own)),
        };
        if let Ask::New { order, .. } = ask {
            orders.push((client, order));
        }
        let mut made = Vec::new();
        let known = |order| traded.get(&order).copied().unwrap_or(0);
        let answer = book.execute(ask, known, &mut made);
        let heard = (executed + random.below(300)).max(told);
        last[client] = (asked, heard);
        let answered = Some((heard, answer));
        history.requests.push(Request { client, ask, asked, answered, hint: random.below(3) });
        for (maker, taker, price, qty) in made {
            for order in [taker, maker] {
                *traded.entry(order).or_default() += qty;
                let owner = orders.iter().find(|it| it.1 == order).expect("its owner").0;
                let heard = (executed + random.below(300)).max(last[owner].1);
                last[owner].1 = heard;
                history.trades.push(trade(order, price, qty, heard));
            }
        }
    }
    history
}

#[test]
fn what_a_book_did_is_explained_whatever_the_exchange_says_about_its_order() {
    for_each_seed(0..12, |_, mut random| {
        let clients = 2 + random.below(3) as usize;
        let history = drawn(&mut random, clients, 200);
        let order = history.explain().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(order.len(), history.requests.len());
    });
}

#[test]
fn an_exchange_that_is_one_word_off_is_found_out() {
    for_each_seed(0..24, |_, mut random| {
        let right = drawn(&mut random, 3, 60);
        let mut wrong = right.clone();
        let at = random.below(right.trades.len() as u64) as usize;
        match random.below(4) {
            // A trade twice, one that is not told, one of another quantity or price.
            0 => wrong.trades.insert(at, right.trades[at]),
            1 => _ = wrong.trades.remove(at),
            2 => wrong.trades[at].qty += 1,
            _ => wrong.trades[at].price += 1,
        }
        wrong.explain().expect_err("it is wrong");
    });
}

/// One client has an order acknowledged; what the second one buys does not meet it.
#[test]
fn an_acknowledged_order_that_is_gone_is_found_out() {
    let sell = request(0, new(1, Side::Sell, 100, 5), 10, 20, Answer::Taken);
    let buy = request(1, new(2, Side::Buy, 100, 5), 30, 40, Answer::Taken);
    let met = History {
        requests: vec![sell, buy],
        trades: vec![trade(1, 100, 5, 50), trade(2, 100, 5, 40)],
    };
    assert_eq!(met.explain(), Ok(vec![0, 1]));
    let lost = History { trades: Vec::new(), ..met.clone() };
    let error = lost.explain().expect_err("an order is lost");
    assert_eq!(error.explained, [0]);
    assert!(error.to_string().contains("order 2 trades 5 at 100"), "{error}");
    // Its owner hears that it is over, though nobody ended it.
    let cancel = request(0, Ask::Cancel(1), 30, 40, Answer::Refused);
    History { requests: vec![sell, cancel], trades: Vec::new() }.explain().expect_err("lost");
    // Sent at the same time, and never answered: it may not have been there.
    let unanswered = Request { asked: 35, answered: None, ..sell };
    let history = History { requests: vec![unanswered, buy], trades: Vec::new() };
    assert_eq!(history.explain(), Ok(vec![1]));
    // Nor may a trade be heard by one side alone.
    History { trades: vec![trade(2, 100, 5, 40)], ..met }.explain().expect_err("one side");
}

/// An answer may be as old as its question, and no older.
#[test]
fn a_stale_answer_is_found_out() {
    let sell = request(0, new(1, Side::Sell, 100, 5), 10, 20, Answer::Taken);
    let buy = request(1, new(2, Side::Buy, 100, 2), 30, 40, Answer::Taken);
    let trades = vec![trade(2, 100, 2, 40), trade(1, 100, 2, 70)];
    let status = |asked, traded| {
        let answer = Answer::Standing { traded, open: 5 - traded };
        let requests = vec![sell, buy, request(0, Ask::Status(1), asked, 60, answer)];
        History { requests, trades: trades.clone() }.explain()
    };
    assert_eq!(status(35, 0), Ok(vec![0, 2, 1]));
    assert_eq!(status(35, 2), Ok(vec![0, 1, 2]));
    assert_eq!(status(45, 2), Ok(vec![0, 1, 2]));
    let error = status(45, 0).expect_err("the buyer knew before the seller asked");
    assert!(error.to_string().contains("Status(1) of client 0"), "{error}");
}

#[test]
fn who_came_first_trades_first() {
    let first = request(0, new(1, Side::Sell, 100, 1), 10, 20, Answer::Taken);
    let second = request(1, new(2, Side::Sell, 100, 1), 30, 40, Answer::Taken);
    let buy = request(2, new(3, Side::Buy, 101, 1), 50, 60, Answer::Taken);
    let taken = |maker, requests: [Request; 3]| {
        let trades = vec![trade(maker, 100, 1, 60), trade(3, 100, 1, 60)];
        History { requests: requests.to_vec(), trades }.explain()
    };
    assert_eq!(taken(1, [first, second, buy]), Ok(vec![0, 1, 2]));
    taken(2, [first, second, buy]).expect_err("the second one was not first");
    // Sent together, either may be first.
    let together = Request { asked: 15, ..second };
    assert_eq!(taken(2, [first, together, buy]), Ok(vec![1, 0, 2]));
}
