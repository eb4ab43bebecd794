//! A recorded flow: its pace, and trades that no order of the book took part in.

use taut_market_data::EventKind;
use taut_market_data::native::{Message, PacketReader};
use taut_types::{Nanos, OrderId, Side};

use crate::flow::LobsterFlow;
use crate::tests::rig::{Rig, config, drain};
use crate::{Flow, Speed};

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
