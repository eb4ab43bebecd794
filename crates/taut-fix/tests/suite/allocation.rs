//! Nothing allocates once a session is built.

use allocation_counter::measure;
use taut_fix::{NewOrderSingle, Now};

use crate::support::{acceptor, at, cancel, initiator, message, order, report};

#[test]
fn a_thousand_round_trips_do_not_allocate() {
    let (mut buyer, mut venue) = (initiator(30), acceptor());
    let mut out = [0; 1024];
    let info = measure(|| {
        let now = at(0.0);
        buyer.connect(now);
        venue.connect(now);
        let range = buyer.poll_transmit(now, &mut out).expect("a Logon");
        venue.handle_bytes(now, &out[range]);
        let range = venue.poll_transmit(now, &mut out).expect("a reply");
        buyer.handle_bytes(now, &out[range]);
        for id in 0..1000u32 {
            let now: Now = at(f64::from(id) * 0.01);
            let order: NewOrderSingle = order(u64::from(id), now);
            let range = buyer.send(now, &order, &mut out).expect("an order");
            assert!(venue.handle_bytes(now, &out[range]).event.is_some());
            let report = report(&order, now);
            let range = venue.send(now, &report, &mut out).expect("a report");
            assert!(buyer.handle_bytes(now, &out[range]).event.is_some());
            let cancel = cancel(u64::from(id), u64::from(id), now);
            let range = buyer.send(now, &cancel, &mut out).expect("a cancel");
            assert!(venue.handle_bytes(now, &out[range]).event.is_some());
        }
    });
    assert_eq!(info.count_total, 0);
}

#[test]
fn heartbeats_gaps_rejects_and_logouts_do_not_allocate() {
    let mut venue = acceptor();
    let header = "49=BUYER|52=20260302-09:30:00|56=VENUE";
    let stream: Vec<Vec<u8>> = [
        format!("35=A|34=1|{header}|98=0|108=30|"),
        format!("35=D|34=2|{header}|11=x|"),
        format!("35=*|34=3|{header}|"),
        format!("35=1|34=4|{header}|112=x|"),
        format!("35=2|34=5|{header}|7=1|16=0|"),
        format!("35=0|34=9|{header}|"),
        format!("35=4|34=6|{header}|36=10|123=Y|"),
        format!("35=5|34=10|{header}|58=bye|"),
    ]
    .iter()
    .map(|body| message(body))
    .collect();
    let mut out = [0; 512];
    let info = measure(|| {
        venue.connect(at(0.0));
        for bytes in &stream {
            venue.handle_bytes(at(0.0), bytes);
            venue.handle_timeout(at(31.0));
            while venue.poll_transmit(at(0.0), &mut out).is_some() {}
        }
    });
    assert_eq!(info.count_total, 0);
    assert!(venue.is_closed());
}
