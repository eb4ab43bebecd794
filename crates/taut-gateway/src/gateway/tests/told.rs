//! What a gateway's log says.

use taut_log::{Entry, LogMemory, LogReader};

use super::*;

/// Everything that was said since the last time.
fn said(reader: &mut LogReader<'_>) -> Vec<Entry> {
    std::iter::from_fn(|| reader.poll(|at| at, |_| None)).collect()
}

fn codes(entries: &[Entry]) -> Vec<&'static str> {
    entries.iter().map(|entry| entry.code.id).collect()
}

#[test]
fn what_happens_is_said_once_with_its_code() {
    // It outlives every world.
    let memory: &'static LogMemory = Box::leak(Box::new(LogMemory::new(256)));
    let (log, mut reader) = memory.ends().unwrap();
    with_world(|world| {
        world.gateway.set_log(log);
        world.pass(Nanos::from_millis(5));
        let first = said(&mut reader);
        // The script tells no positions.
        assert_eq!(codes(&first), ["GW-0110", "GW-0202", "GW-0101"]);
        assert!(first[2].logfmt().ends_with("address=127.0.0.1:9881"), "{}", first[2].logfmt());
        world.pass(Nanos::from_millis(50));
        assert_eq!(said(&mut reader), [], "nothing happened");

        world.act("cut", "");
        let cut = said(&mut reader);
        assert_eq!(codes(&cut), ["GW-0105", "GW-0102"]);
        assert!(cut[1].logfmt().ends_with("open_orders=1"), "{}", cut[1].logfmt());

        assert!(world.gateway.kill(KillScope::All, KillCause::Command).unwrap());
        assert!(!world.gateway.kill(KillScope::All, KillCause::Command).unwrap());
        let killed = said(&mut reader);
        assert_eq!(codes(&killed), ["GW-0401"]);
        assert!(killed[0].detail.starts_with("all: "), "{}", killed[0].detail);
        world.pass(Nanos::from_secs(3));
        let back = said(&mut reader);
        assert!(codes(&back).contains(&"GW-0101"), "{back:?}");
        assert!(world.gateway.revive(KillScope::All));
        assert_eq!(codes(&said(&mut reader)), ["GW-0402"]);

        // What somebody else than an operator stops is said, too.
        world.gateway.core.market.feed_mut().contradicted = Some(InstrumentId(0));
        world.pass(Nanos::from_millis(5));
        let stopped = said(&mut reader);
        let killed = stopped.iter().find(|entry| entry.code.id == "GW-0401").expect("it");
        assert!(killed.detail.starts_with("AAPL: "), "{}", killed.detail);
        world.gateway.revive(KillScope::Instrument(InstrumentId(0)));
        let _ = said(&mut reader);

        // An end is no kill.
        world.gateway.begin_end().unwrap();
        world.gateway.complete_end();
        let ended = said(&mut reader);
        assert!(codes(&ended).iter().all(|code| !code.starts_with("GW-04")), "{ended:?}");
    });
}
