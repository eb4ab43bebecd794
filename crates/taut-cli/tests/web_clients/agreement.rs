//! Two clients that strangers wrote and a gateway of ours trade in one book while things go wrong
//! by a seed; at rest each of them has the engine's book, and its orders, balances and positions
//! are the venue's.
//!
//! `TAUT_SEEDS=0..20` plays these seeds, `TAUT_SEED=7` one. What a library cannot notice (a lost
//! frame, where it looks at no number) its user has it read again, and the verdict says so.

mod dialect;
mod hand;
mod stranger;
mod strategy;

use serde_json::Value;
use taut_testkit::{DEADLINE, for_each_seed, until};

use crate::{DAY, Venue};
use dialect::{BINANCE, DERIBIT, Dialect};
use hand::{Book, Hand};
use stranger::{Installed, Member, Stranger};
use strategy::Ours;

/// What goes wrong, of a thousand messages, or in milliseconds.
const FAULTS: &str = "disconnect=10,drop=30,duplicate=30,reorder=20,delay=15";
/// What has happened at the least when it ends: messages something was done to, orders of the
/// gateway, requests with an outcome and changes of its book of each client.
const INJECTED_MIN: u64 = 40;
const ORDERS_MIN: u64 = 15;
const OUTCOMES_MIN: u64 = 25;
const BOOKS_MIN: u64 = 25;
/// Changes of its book that each client sees afterwards: what was lost shows with them.
const BOOKS_AFTER: u64 = 3;

#[test]
fn ccxt_deribit_v2_ws_and_taut_agree_on_deribit_after_faults() {
    agree(&DERIBIT);
}

#[test]
fn ccxt_python_binance_and_taut_agree_on_binance_after_faults() {
    agree(&BINANCE);
}

fn agree(dialect: &'static Dialect) {
    let installed: Vec<_> = dialect.strangers.iter().map_while(Stranger::installed).collect();
    if installed.len() < dialect.strangers.len() {
        // It has said what is missing.
        return;
    }
    for_each_seed(0..1, |seed, _| agree_after(dialect, &installed, seed));
}

fn agree_after(dialect: &'static Dialect, installed: &[Installed], seed: u64) {
    let venue = Venue::start_with(dialect.name, dialect.accounts);
    let hand = Hand::new(&venue, dialect);
    let ours = Ours::start(dialect, &venue);
    let start = |(it, account)| Member::start(it, dialect.name, &venue, account, seed);
    let mut members: Vec<_> = installed.iter().zip(["one", "two"]).map(start).collect();
    members.iter_mut().for_each(Member::wait_until_ready);

    trade_while_things_go_wrong(&hand, &ours, &mut members, seed);
    let injected = hand.injected();
    come_to_rest(&hand, &ours, &mut members);

    let engine = hand.engine();
    for (member, account) in members.iter_mut().zip(["one", "two"]) {
        let told = member.tell(&engine);
        expect_same(&hand, (member.name, account), &told, &engine);
        let words = format!(
            "{} requests, {} without an answer, book read again {} times; {injected} faults",
            told["asked"], told["unknown"], told["rereads"]
        );
        let notes: String = member.notes().iter().map(|note| format!("; {note}")).collect();
        println!("{} {} agrees_after_seed_{seed}: ok ({words}{notes})", member.name, dialect.name);
    }
    let words = ours.expect_same(&hand, &engine);
    println!("taut {} agrees_after_seed_{seed}: ok ({words})", dialect.name);
}

/// Everybody trades until enough has gone wrong, and until each has seen what comes afterwards.
fn trade_while_things_go_wrong(hand: &Hand<'_>, ours: &Ours, members: &mut [Member], seed: u64) {
    members.iter_mut().for_each(|member| member.say("trade"));
    let begun: Vec<_> = members.iter_mut().map(|member| member.so_far().books).collect();
    hand.faults(&format!("{FAULTS},seed={seed}"));
    until("enough goes wrong while all of them trade", DAY, || {
        let traded = members.iter_mut().zip(&begun).all(|(member, begun)| {
            let so_far = member.so_far();
            so_far.outcomes >= OUTCOMES_MIN && so_far.books >= begun + BOOKS_MIN
        });
        traded && ours.count("acks") >= ORDERS_MIN && hand.injected() >= INJECTED_MIN
    });
    hand.faults("none");
    let seen: Vec<_> = members.iter_mut().map(|member| member.so_far().books).collect();
    for (member, seen) in members.iter_mut().zip(&seen) {
        let what = format!("{} sees its book change again", member.name);
        until(&what, DEADLINE, || member.so_far().books >= seen + BOOKS_AFTER);
    }
}

/// Nobody does anything any more, and everybody is told one change more.
fn come_to_rest(hand: &Hand<'_>, ours: &Ours, members: &mut [Member]) {
    members.iter_mut().for_each(|member| member.say("rest"));
    members.iter_mut().for_each(Member::wait_until_resting);
    ours.come_to_rest();
    hand.stop_the_crowd();
    hand.change_the_book();
}

/// A client sees what the venue has.
fn expect_same(hand: &Hand<'_>, (name, account): (&str, &str), told: &Value, engine: &Book) {
    let book = hand.book_of(&told["book"]);
    assert_eq!(book, *engine, "{name}: its book, and the engine's: {told}");
    assert_eq!(told["strays"], serde_json::json!([]), "{name}: it knows all of its orders");
    let venue = hand.account(account);
    for what in ["orders", "balances", "position"] {
        assert_eq!(told[what], venue[what], "{name}: {what}, and the venue's");
    }
}
