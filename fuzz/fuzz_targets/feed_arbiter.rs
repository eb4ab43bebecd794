//! Any order of packets, snapshots, heartbeats, restarts and time: the account stays exact, and a
//! feed that is called sound misses nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use taut_market_data::Soundness;
use taut_market_data::feed::{
    Arbiter, ArbiterConfig, FeedConfig, Line, Recovery, RetransmitConfig, RetransmitRequest,
    RetransmitServer, SnapshotHead,
};
use taut_types::{Nanos, SequenceNumber};

fn config(kind: u8) -> ArbiterConfig {
    let interval = Nanos(7);
    ArbiterConfig {
        feed: FeedConfig {
            packet_count: 8,
            snapshot_packet_count: 4,
            packet_bytes: 16,
            ..FeedConfig::default()
        },
        silence: Nanos(100),
        gap_timeout: Nanos(5),
        recovery: match kind % 3 {
            0 => Recovery::Snapshot,
            1 => Recovery::Retransmission { interval, attempts_max: 3, packets_max: 4 },
            _ => Recovery::NaturalRefresh,
        },
        restart_packets: 3,
        ..ArbiterConfig::default()
    }
}

fn small() -> RetransmitConfig {
    RetransmitConfig { packet_count: 4, packet_bytes: 16, ..RetransmitConfig::default() }
}

fuzz_target!(|input: &[u8]| {
    let Some((&kind, steps)) = input.split_first() else { return };
    let mut arbiter = Arbiter::new(config(kind), Nanos(0));
    let mut server = RetransmitServer::new(small(), 1);
    let mut now = Nanos(0);
    for step in steps.as_chunks::<4>().0 {
        let [what, a, b, c] = *step;
        now = now + Nanos(i64::from(c % 16));
        let stream = u32::from(what >> 6);
        let line = if what & 32 == 0 { Line::A } else { Line::B };
        let sequence = SequenceNumber(u64::from(a) + u64::from(b) * u64::from(kind & 64));
        match what % 8 {
            0..=2 => {
                arbiter.handle_packet(now, line, stream, sequence, &[a, b]);
            }
            3 => arbiter.handle_heartbeat(now, line, stream, sequence),
            4 => {
                let head =
                    SnapshotHead { id: b.into(), last_sequence: sequence, units: u64::from(c % 3) };
                arbiter.handle_snapshot_begin(now, stream, head, &[a]);
            }
            5 => {
                let (index, units) = (u32::from(c % 5), u64::from(c % 3));
                arbiter.handle_snapshot_part(now, stream, b.into(), index, units, &[a]);
            }
            6 => arbiter.handle_timeout(now),
            _ if c == 7 => arbiter.handle_reset(now, stream),
            _ if c == 8 => arbiter.invalidate(now),
            _ => server.handle_request(now, a.into(), step, &mut |_| panic!("nothing was sent")),
        }
        while arbiter.poll_replay().is_some() {}
        if let Some(request) = arbiter.poll_request() {
            let mut datagram = [0; 64];
            assert!(request.write(&mut datagram));
            assert_eq!(RetransmitRequest::read(&datagram), Some(request));
        }
        let counters = arbiter.sequencer().counters();
        if arbiter.soundness() == Soundness::Sound && kind % 3 < 2 {
            assert_eq!(counters.lost(counters.highest_seen), 0);
        }
        assert!(counters.applied + counters.recovered <= counters.highest_seen);
    }
});
