//! A recorded flow: its pace, and trades that no order of the book took part in.

use taut_engine::Event;
use taut_io::Kernel;
use taut_market_data::EventKind;
use taut_market_data::native::{Message, PacketReader};
use taut_recording::capture::Capture;
use taut_types::{HalfTicks, Lots, Nanos, OrderId, Price, Side};

use crate::flow::{LobsterFlow, ReplayFlow};
use crate::tests::client::{Answer, limit};
use crate::tests::rig::{Rig, config, drain, instrument};
use crate::{Flow, Now, Observer, Speed};

const ROWS: &str = "\
34200.000000000,1,11,100,5853300,1
34200.010000000,1,12,50,5853600,-1
34200.020000000,5,0,10,5853450,1
34200.030000000,4,12,20,5853600,-1
34200.040000000,3,11,100,5853300,1
";

fn rig(speed: Speed) -> Rig {
    let flow = LobsterFlow::parse("rows.csv", ROWS.as_bytes()).expect("a flow");
    Rig::new(&config(), Flow::recorded(flow, speed))
}

#[test]
fn keeps_the_recorded_pace_times_the_factor() {
    for (factor, spacing) in [(1.0, 10), (0.5, 20), (10.0, 1)] {
        let mut rig = rig(Speed::Factor(factor));
        rig.venue.start_flow(rig.now.mono);
        rig.poll();
        let mut steps = vec![rig.venue.counters()];
        for _ in 0..4 {
            rig.advance(Nanos::from_millis(spacing) - Nanos(1));
            rig.poll();
            assert_eq!(rig.venue.counters().published, steps.last().expect("one").published);
            rig.advance(Nanos(1));
            rig.poll();
            steps.push(rig.venue.counters());
        }
        let published: Vec<u64> = steps.iter().map(|step| step.published).collect();
        assert_eq!(published, [1, 2, 3, 4, 5]);
        assert!(rig.venue.flow_finished());
    }
}

#[test]
fn a_pause_takes_no_step_and_loses_none() {
    let mut rig = rig(Speed::Factor(1.0));
    rig.venue.start_flow(rig.now.mono);
    rig.poll();
    rig.venue.stop_flow();
    rig.advance(Nanos::from_secs(5));
    rig.poll();
    assert_eq!(rig.venue.counters().published, 1);
    rig.venue.start_flow(rig.now.mono);
    rig.poll();
    rig.poll();
    assert_eq!(rig.venue.counters().published, 2);
}

#[test]
fn a_hidden_execution_is_a_trade_of_no_order_in_a_packet_of_its_own() {
    let mut rig = rig(Speed::Max);
    rig.venue.start_flow(rig.now.mono);
    rig.poll();
    assert!(rig.venue.flow_finished());
    let mut packets = Vec::new();
    drain(&rig.incremental, |datagram| {
        let reader = PacketReader::new(datagram).expect("a packet");
        if reader.header().message_count > 0 {
            let trade = reader.messages().find_map(|message| match message.expect("one") {
                Message::Event(_, EventKind::Trade(trade)) => Some(trade),
                _ => None,
            });
            packets.push((reader.header().message_count, trade));
        }
    });
    assert_eq!(packets.len(), 5);
    let (count, hidden) = packets[2];
    let hidden = hidden.expect("a trade");
    assert_eq!((count, hidden.resting_order, hidden.trade_id), (1, OrderId(0), 1));
    assert_eq!(hidden.price.to_string(), "585.345");
    let visible = packets[3].1.expect("a trade");
    assert_eq!((visible.resting_order, visible.trade_id), (OrderId(12), 2));
    assert_eq!(visible.aggressor, Some(Side::Buy));
    let counters = rig.venue.counters();
    assert_eq!((counters.prints, counters.trades, counters.flow_rejects), (1, 1, 0));
    assert_eq!(rig.venue.book().order_count(), 1);
}

/// The levels of the same rows.
fn replay() -> ReplayFlow {
    let capture = Capture::of("rows.csv", ROWS);
    ReplayFlow::of(&capture, "AAPL", instrument()).expect("a flow")
}

/// Trades of no order of the book.
#[derive(Default)]
struct Prints(Vec<(usize, HalfTicks, Lots, Side)>);

impl<K: Kernel> Observer<K> for Prints {
    fn on_events(&mut self, _now: Now, place: usize, events: &[Event]) {
        for event in events {
            if let Event::Trade { maker: OrderId(0), price, lots, aggressor, .. } = *event {
                assert_eq!(events.len(), 1, "it comes alone");
                self.0.push((place, price, lots, aggressor));
            }
        }
    }
}

#[test]
fn a_replay_tells_its_trades_and_leaves_its_last_book() {
    let rig = Rig::new(&config(), Flow::replay(replay(), Speed::Factor(2.0)));
    // Where the feed goes has to be there.
    let Rig { venue, mut now, incremental: _a, line_b: _b, snapshot: _s, .. } = rig;
    let mut venue = venue.with_observer(Prints::default()).expect("a venue");
    venue.start_flow(now.mono);
    for millis in 0..=20 {
        assert_eq!(venue.replay_ends(0), 0, "after {millis} ms");
        venue.poll(now).expect("the venue goes on");
        let span = Nanos::from_millis(1);
        now = Now { mono: now.mono + span, utc: now.utc + span };
    }
    assert_eq!((venue.replay_ends(0), venue.replay_ends(1)), (1, 0));
    assert!(venue.flow_finished());
    // The order that traded first was hidden, and a buyer's.
    let trade = |price, lots, aggressor| (0, HalfTicks(price), Lots(lots), aggressor);
    let trades = [trade(117_069, 10, Side::Sell), trade(117_072, 20, Side::Buy)];
    assert_eq!(venue.observer().0, trades);
    let book = venue.book();
    assert_eq!(book.best_price(Side::Buy), None);
    let asks: Vec<_> = book.levels(Side::Sell).map(|level| (level.price, level.lots)).collect();
    assert_eq!(asks, [(HalfTicks(117_072), Lots(30))]);
    assert_eq!((venue.counters().prints, venue.counters().flow_rejects), (2, 0));
}

#[test]
fn a_client_takes_a_replayed_level_at_its_price_and_it_is_put_back() {
    let mut rig = Rig::new(&config(), Flow::replay(replay(), Speed::Max));
    let mut client = rig.log_on("ALPHA");
    rig.venue.start_flow(rig.now.mono);
    rig.until_venue(|venue| venue.replay_ends(0) == 1);
    client.order(rig.now, &limit(1, Side::Buy, 12, "586.00"));
    rig.until(&mut client, |client| {
        let is_filled = |answer: &Answer| matches!(answer, Answer::Report(it) if it.cum == 12);
        client.reports.iter().any(is_filled)
    });
    let last = client.reports.iter().find_map(|answer| match answer {
        Answer::Report(report) => report.last.filter(|last| last.0 > 0),
        _ => None,
    });
    assert_eq!(last, Some((12, Price::parse(b"585.36").expect("a price"))));
    rig.until_venue(|venue| {
        let level = venue.book().levels(Side::Sell).next();
        level.is_some_and(|level| (level.price, level.lots) == (HalfTicks(117_072), Lots(30)))
    });
}
