//! The retransmission server: what it remembers, and what nobody can make it do.

use super::*;
use std::vec;
use std::vec::Vec;

fn config(burst_bytes: u64, bytes_per_second: u64) -> RetransmitConfig {
    let (packet_count, packet_bytes, requester_count) = (4, 100, 2);
    RetransmitConfig { packet_count, packet_bytes, requester_count, burst_bytes, bytes_per_second }
}

fn server(burst_bytes: u64, bytes_per_second: u64) -> RetransmitServer {
    let mut server = RetransmitServer::new(config(burst_bytes, bytes_per_second), STREAM);
    for sequence in 1..=6 {
        server.store(SequenceNumber(sequence), &[u8::try_from(sequence).unwrap(); 50]);
    }
    server
}

fn request(first: u64, count: u16, bytes: usize) -> Vec<u8> {
    let mut datagram = vec![0; bytes];
    let first = SequenceNumber(first);
    assert!(RetransmitRequest { stream_id: STREAM, first, count }.write(&mut datagram));
    datagram
}

/// Which packets came, by their first bytes.
fn ask(server: &mut RetransmitServer, now: Nanos, who: u64, datagram: &[u8]) -> Vec<u8> {
    let mut sent = Vec::new();
    server.handle_request(now, who, datagram, &mut |packet| sent.push(packet[0]));
    sent
}

#[test]
fn sends_what_it_remembers_and_counts_what_it_does_not() {
    let mut server = server(10_000, 0);
    assert_eq!(ask(&mut server, Nanos(0), 1, &request(1, 8, 400)), [3, 4, 5, 6]);
    let counters = server.counters();
    assert_eq!((counters.sent, counters.unknown, counters.sent_bytes), (4, 4, 200));
}

#[test]
fn an_answer_has_no_more_bytes_than_its_request() {
    let mut server = server(1 << 40, 0);
    for bytes in RetransmitRequest::BYTES..300 {
        let sent = ask(&mut server, Nanos(0), 1, &request(3, 4, bytes));
        assert!(sent.len() * 50 <= bytes, "{bytes} bytes brought {}", sent.len() * 50);
    }
    assert!(server.counters().over_length > 0);
}

#[test]
fn an_answer_is_no_longer_than_its_request_with_the_headers_of_its_packets() {
    for packet_bytes in [1, 10, 50, 90] {
        let config =
            RetransmitConfig { packet_count: 256, packet_bytes: 100, ..config(1 << 40, 0) };
        let mut server = RetransmitServer::new(config, STREAM);
        (1..=200).for_each(|sequence| {
            server.store(SequenceNumber(sequence), &[7; 100][..packet_bytes]);
        });
        for bytes in (RetransmitRequest::BYTES..2000).step_by(7) {
            let packets = ask(&mut server, Nanos(0), 1, &request(1, 200, bytes)).len();
            for headers in [28, 48] {
                let went = packets * (packet_bytes + headers);
                assert!(went <= bytes + headers, "{packets} packets for {bytes} bytes");
            }
        }
    }
}

#[test]
fn a_request_looks_for_no_more_packets_than_its_length_pays_for() {
    let config = RetransmitConfig { packet_count: 8192, ..config(1 << 40, 0) };
    let mut server = RetransmitServer::new(config, STREAM);
    server.store(SequenceNumber(8192), &[7; 50]);
    for bytes in [24, 100, 1400] {
        let before = server.counters().unknown;
        assert_eq!(ask(&mut server, Nanos(0), 1, &request(2, u16::MAX, bytes)), []);
        // What lies behind the last packet is not looked for.
        let looked = server.counters().unknown - before - (65_535 - 8191);
        assert!(looked <= 1 + bytes as u64 / 32, "{looked} looks for {bytes} bytes");
    }
    assert_eq!(server.counters().over_length, 3);
}

#[test]
fn a_requester_has_his_budget_and_it_fills_up_with_time() {
    let mut server = server(100, 50);
    let wanted = request(3, 4, 400);
    assert_eq!(ask(&mut server, Nanos(0), 1, &wanted), [3, 4]);
    assert_eq!(ask(&mut server, Nanos(0), 1, &wanted), []);
    assert_eq!(ask(&mut server, Nanos(0), 2, &wanted), [3, 4], "another has his own");
    assert_eq!(ask(&mut server, Nanos::from_secs(1), 1, &wanted), [3]);
    assert_eq!(ask(&mut server, Nanos::from_secs(60), 1, &wanted), [3, 4], "and never more");
}

#[test]
fn many_small_waits_add_up_to_a_long_one() {
    let mut server = server(50, 50);
    let wanted = request(3, 1, 400);
    let mut sent = 0;
    for step in 0..1_000 {
        let now = Nanos::from_millis(step * 10);
        sent += ask(&mut server, now, 1, &wanted).len();
    }
    assert!((10..=11).contains(&sent), "{sent}");
}

#[test]
fn requesters_are_bounded_and_the_oldest_is_forgotten() {
    let mut server = server(100, 0);
    for who in 0..5 {
        ask(&mut server, Nanos(i64::try_from(who).unwrap()), who, &request(3, 1, 100));
    }
    assert_eq!(server.counters().forgotten, 3);
}

#[test]
fn what_is_no_request_of_this_stream_brings_nothing() {
    let mut server = server(10_000, 0);
    let good = request(3, 1, 100);
    for at in 0..RetransmitRequest::BYTES {
        for bit in 0..8 {
            let mut datagram = good.clone();
            datagram[at] ^= 1 << bit;
            let sent = ask(&mut server, Nanos(0), 1, &datagram);
            assert!(sent.len() <= 4);
            assert!(sent.is_empty() || at >= 6, "byte {at}");
        }
    }
    for len in 0..RetransmitRequest::BYTES {
        assert_eq!(ask(&mut server, Nanos(0), 1, &good[..len]), []);
    }
    assert_eq!(ask(&mut server, Nanos(0), 1, &request(u64::MAX, u16::MAX, 100)), []);
}
