//! QuickFIX as the reader of drop copies: each execution once, whatever is cut and restarted, and
//! the sums are the gateway's and the venue's.

use std::collections::{BTreeMap, BTreeSet};

use taut_gateway::UpdateKind;
use taut_testkit::{DEADLINE, own_address, until};
use taut_types::Side;

use crate::peer::{self, Reader};
use crate::trader::Trader;
use crate::wire::Wire;
use crate::world::World;

/// What was read, checked: no execution twice, and each total what its trades come to.
fn positions(reader: &Reader) -> BTreeMap<String, i64> {
    let (mut positions, mut ids) = (BTreeMap::new(), BTreeSet::new());
    let mut orders = BTreeMap::<String, i64>::new();
    for report in reader.reports() {
        assert!(ids.insert(report.exec_id.clone()), "{report:?} twice: {}", reader.said());
        let traded = match report.exec_type.as_str() {
            "F" => report.last_quantity,
            "H" => -report.last_quantity,
            _ => continue,
        };
        let total = orders.entry(report.created_as.clone()).or_default();
        *total += traded;
        assert_eq!(*total, report.total, "{report:?}");
        *positions.entry(report.symbol.clone()).or_default() +=
            if report.side == "1" { traded } else { -traded };
        assert_eq!(report.text, "user=0 strategy=7 name=scripted");
    }
    positions
}

#[test]
fn quickfix_reads_each_execution_once_through_cuts_and_a_restart_of_the_gateway() {
    let Some(quickfix) = peer::find() else { return };
    let world = World::start(&quickfix);
    let listen = own_address();
    let drop_copy = format!(
        "[drop_copy]\nlisten = \"{listen}\"\nsessions = [\"RISK\"]\nstore = {:?}\n",
        world.path("copies")
    );
    let gateway = world.start_gateway(&drop_copy);
    let mut trader = Trader::attach(&world.control(), "scripted");
    let (buy, sell) = (Side::Buy, Side::Sell);

    // Before anybody reads.
    let (first, price) = trader.create(buy, 1);
    trader.until_done("a fill", first);
    let wire = Wire::to(listen);
    let reader = Reader::start(&quickfix, wire.address);
    until("what was before the reader", DEADLINE, || positions(&reader) == world.positions());

    let (in_parts, _) = trader.create(sell, 2);
    trader.until_done("two fills", in_parts);
    let (rejected, _) = trader.create(buy, 3);
    trader.until_done("a rejection", rejected);
    let (changed, _) = trader.create(buy, 4);
    trader.until_kind("an acknowledgement", changed, UpdateKind::Accepted);
    trader.modify(changed, price, 40);
    trader.until_kind("a replacement", changed, UpdateKind::Replaced);
    trader.cancel(changed);
    trader.until_done("a cancel", changed);
    let (partly, _) = trader.create(sell, 6);
    trader.until("a fill of a part", partly, |it| it.lots_filled.0 == 2);
    until("trades as they come", DEADLINE, || positions(&reader) == world.positions());
    for (exec_type, count) in [("0", 4), ("F", 4), ("8", 1), ("5", 1), ("4", 1)] {
        let of_type = |it: &&peer::Report| it.exec_type == exec_type;
        let seen = reader.reports().iter().filter(of_type).count();
        assert_eq!(seen, count, "150={exec_type}: {}", reader.said());
    }

    // While the reader is away, and while the venue is.
    wire.cut();
    until("a reader that is away", DEADLINE, || reader.count("logout") == 1);
    let (away, _) = trader.create(buy, 7);
    trader.until_kind("an acknowledgement", away, UpdateKind::Accepted);
    world.wire.cut();
    until("a venue that is away", DEADLINE, || world.ask("status")["order_entry"] == false);
    until("a trade without a session", DEADLINE, || world.venue.positions()["ONE"] == 0);
    world.wire.mend();
    world.until_it_trades();
    trader.until("a trade that was missed", away, |it| it.lots_filled.0 == 3);
    assert_ne!(positions(&reader), world.positions());
    wire.mend();
    until("what the reader missed", DEADLINE, || positions(&reader) == world.positions());
    assert!(reader.count("again") >= 2, "{}", reader.said());
    assert_eq!(world.positions(), world.venue.positions());

    // A gateway that ends says all it knows; the next one goes on behind it.
    wire.cut();
    until("a reader that is away again", DEADLINE, || reader.count("logout") == 2);
    let (last, _) = trader.create(buy, 9);
    trader.until_done("a fill", last);
    assert_eq!(world.count("drop_copies_lost"), 0);
    world.stop(gateway);
    let gateway = world.start_gateway(&drop_copy);
    wire.mend();
    until("what the last gateway said", DEADLINE, || positions(&reader) == world.venue.positions());
    let trader_again = Trader::attach(&world.control(), "scripted");
    trader_again.create(sell, 2);
    until("what this gateway says", DEADLINE, || {
        world.venue.positions()["ONE"] == 7 && positions(&reader) == world.venue.positions()
    });
    world.stop(gateway);
    until("the reader to be logged out", DEADLINE, || reader.count("logout") == 3);
}
