//! QuickFIX as the venue: every order is answered and both sides hold the same, through a cut in
//! which messages of both sides are lost.

use taut_gateway::UpdateKind;
use taut_testkit::{DEADLINE, until};
use taut_types::Side;

use crate::peer;
use crate::trader::Trader;
use crate::world::World;

/// What QuickFIX does with an order follows from its quantity: see `bench/peers/fix/go/venue.go`.
#[test]
fn a_gateway_trades_at_a_quickfix_venue_through_a_cut_of_its_session() {
    let Some(quickfix) = peer::find() else { return };
    let world = World::start(&quickfix);
    let gateway = world.start_gateway("");
    let mut trader = Trader::attach(&world.control(), "scripted");
    let (buy, sell) = (Side::Buy, Side::Sell);

    let status = world.ask("status");
    assert_eq!(status["order_address"], world.wire.address.to_string(), "{status}");
    assert_eq!(status["order_priority"], 0, "{status}");

    let (filled, _) = trader.create(buy, 1);
    assert_eq!(trader.until_done("a fill", filled), 1);
    let (in_parts, _) = trader.create(sell, 2);
    assert_eq!(trader.until_done("two fills", in_parts), 2);
    let (rejected, _) = trader.create(buy, 3);
    assert_eq!(trader.until_done("a rejection", rejected), 0);
    trader.until("a rejection", rejected, |it| matches!(it.kind, UpdateKind::Rejected(_)));

    let (changed, price) = trader.create(buy, 4);
    trader.until_kind("an acknowledgement", changed, UpdateKind::Accepted);
    trader.modify(changed, price, 40);
    trader.until("a replacement", changed, |it| {
        it.kind == UpdateKind::Replaced && it.lots_open.0 == 40 && it.version == 2
    });
    trader.cancel(changed);
    assert_eq!(trader.until_done("a cancel", changed), 0);

    let (stubborn, price) = trader.create(buy, 5);
    trader.until_kind("an acknowledgement", stubborn, UpdateKind::Accepted);
    trader.modify(stubborn, price, 50);
    trader
        .until("a refused change", stubborn, |it| matches!(it.kind, UpdateKind::ModifyRejected(_)));
    trader.cancel(stubborn);
    assert_eq!(trader.until_done("a fill before its cancel", stubborn), 5);
    trader
        .until("a refused cancel", stubborn, |it| matches!(it.kind, UpdateKind::CancelRejected(_)));

    let (partly, _) = trader.create(sell, 6);
    trader.until("a fill of a part", partly, |it| it.lots_filled.0 == 2 && it.lots_open.0 == 4);
    trader.cancel(partly);
    assert_eq!(trader.until_done("a cancel of the rest", partly), 2);

    // The venue loses two of its messages: they are asked for, and their gap is filled.
    let (behind_gap, _) = trader.create(buy, 9);
    assert_eq!(trader.until_done("a fill behind a gap", behind_gap), 9);
    assert!(world.venue.count("resend request") >= 1, "{}", world.venue.said());

    // Nothing is said of this one: it is asked for, and stands.
    let (silent, _) = trader.create(buy, 8);
    trader.until_kind("a request without an answer", silent, UpdateKind::Unknown);
    trader.until("an answer to a question", silent, |it| it.lots_open.0 == 8);

    // One that trades while the session is down, and one that is lost on its way.
    let (away, _) = trader.create(buy, 7);
    trader.until_kind("an acknowledgement", away, UpdateKind::Accepted);
    world.wire.deafen();
    let (lost, _) = trader.create(buy, 1);
    until("an order on its way", DEADLINE, || world.count("orders") == 10);
    let asked = world.venue.count("asked all");
    world.wire.cut();
    until("the venue's trade without a session", DEADLINE, || world.venue.positions()["ONE"] == 14);
    until("a session that is down", DEADLINE, || world.ask("status")["order_entry"] == false);
    trader.until_kind("an order of unknown outcome", lost, UpdateKind::Unknown);
    assert_eq!(world.venue.count("gap fill"), 0);
    world.wire.mend();
    world.until_it_trades();
    trader.until("a trade that was missed", away, |it| it.lots_filled.0 == 3);
    assert_eq!(trader.until_done("that the order did not arrive", lost), 0);
    // The venue missed the order and asked for it: it is not sent again.
    until("a gap fill", DEADLINE, || world.venue.count("gap fill") >= 1);
    // It covers the question where all orders stand, too: that one is asked again.
    until("the question again", DEADLINE, || world.venue.count("asked all") > asked);
    assert_eq!(world.venue.count("asked all"), asked + 1, "{}", world.venue.said());
    assert_eq!(world.venue.count("order "), 9, "{}", world.venue.said());

    let (after, _) = trader.create(sell, 2);
    assert_eq!(trader.until_done("a fill after the cut", after), 2);
    trader.cancel(away);
    assert_eq!(trader.until_done("a cancel", away), 3);
    trader.cancel(silent);
    assert_eq!(trader.until_done("a cancel", silent), 0);

    let held = world.positions();
    assert_eq!(held, world.venue.positions(), "{}", world.venue.said());
    // 1 - 2 + 5 - 2 + 9 + 3 - 2
    assert_eq!(held["ONE"], 12);
    let status = world.ask("status");
    assert_eq!((&status["open_orders"], world.count("unanswered")), (&0.into(), 0), "{status}");
    // While the wire is cut an attempt may come as far as a connection, which ends, too.
    assert!(world.count("disconnects") >= 1, "{status}");
    world.stop(gateway);
    until("the end of the session", DEADLINE, || world.venue.count("logout") == 2);
}
