//! The cases.

use taut_io::{IoError, Kernel, Limit};
use taut_net::{CertificateFault, NetError, TlsStream};
use taut_testkit::Random;
use taut_types::Nanos;

use crate::rig::{End, PATIENCE, Pki, Rig, Seen};

const NAME: &str = "venue.test";

pub fn verifies_the_name_agrees_on_a_protocol_and_carries_bytes_both_ways<K: Kernel>(kernel: K) {
    let pki = Pki::new(NAME);
    let (client, server) = (pki.client(&[b"fix", b"http/1.1"]), pki.server(&[b"http/1.1", b"fix"]));
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.tls((&client, NAME), &server);
    assert!(near.tls.write(rig.events.io(), b"early").is_err(), "not before the handshake");
    rig.handshake(&mut near, &mut far);
    assert_eq!(near.tls.protocol(), Some(&b"http/1.1"[..]), "the server's choice");
    assert_eq!(far.tls.protocol(), near.tls.protocol());
    let text: Vec<u8> = (0..5_000u32).map(|n| (n * 31) as u8).collect();
    near.tls.write(rig.events.io(), &text).unwrap();
    far.tls.write(rig.events.io(), b"answer").unwrap();
    rig.until("both texts", (&mut near, &mut far), |_, near, far| {
        far.seen.received.len() == text.len() && near.seen.received.len() == 6
    });
    assert!(far.seen.received == text && near.seen.received == b"answer");
}

pub fn refuses_a_certificate_for_another_name_and_tells_the_peer<K: Kernel>(kernel: K) {
    let pki = Pki::new(NAME);
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.tls((&pki.client(&[]), "other.test"), &pki.server(&[]));
    rig.until("both closed", (&mut near, &mut far), |_, near, far| {
        near.seen.closed && far.seen.closed
    });
    let another = NetError::Certificate(CertificateFault::AnotherName);
    assert_eq!(near.seen.failed, Some(another));
    assert_eq!(far.seen.failed, Some(NetError::CertificateRefused));
    assert!(!near.seen.handshaken && near.seen.received.is_empty());
}

pub fn refuses_a_certificate_of_an_unknown_root<K: Kernel>(kernel: K) {
    let (pki, other) = (Pki::new(NAME), Pki::new(NAME));
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.tls((&other.client(&[]), NAME), &pki.server(&[]));
    rig.until("both closed", (&mut near, &mut far), |_, near, far| {
        near.seen.closed && far.seen.closed
    });
    // Both roots have the same name.
    let unknown = NetError::Certificate(CertificateFault::BadSignature);
    assert_eq!(near.seen.failed, Some(unknown));
}

pub fn refuses_a_peer_without_a_common_protocol<K: Kernel>(kernel: K) {
    let pki = Pki::new(NAME);
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.tls((&pki.client(&[b"fix"]), NAME), &pki.server(&[b"h2"]));
    rig.until("both closed", (&mut near, &mut far), |_, near, far| {
        near.seen.closed && far.seen.closed
    });
    assert_eq!(near.seen.failed, Some(NetError::NoCommonProtocol));
    assert_eq!(far.seen.failed, Some(NetError::NoCommonProtocol));
}

pub fn resumes_the_session_of_an_earlier_stream<K: Kernel>(kernel: K) {
    let pki = Pki::new(NAME);
    let (client, server) = (pki.client(&[]), pki.server(&[]));
    let mut rig = Rig::new(kernel);
    for resumed in [false, true, true] {
        let (mut near, mut far) = rig.tls((&client, NAME), &server);
        rig.handshake(&mut near, &mut far);
        // The tickets come behind the handshake, before the first bytes.
        far.tls.write(rig.events.io(), b"hello").unwrap();
        rig.until("bytes", (&mut near, &mut far), |_, near, _| near.seen.received == b"hello");
        assert_eq!((near.tls.is_resumed(), far.tls.is_resumed()), (resumed, resumed));
        let deadline = rig.events.io().now() + PATIENCE;
        near.tls.close(rig.events.io(), deadline);
        far.tls.close(rig.events.io(), deadline);
        rig.until("the end", (&mut near, &mut far), |_, near, far| {
            near.seen.closed && far.seen.closed
        });
    }
}

pub fn ends_with_a_closing_handshake_and_tells_a_cut_from_an_end<K: Kernel>(kernel: K) {
    let pki = Pki::new(NAME);
    let (client, server) = (pki.client(&[]), pki.server(&[]));
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.tls((&client, NAME), &server);
    rig.handshake(&mut near, &mut far);
    near.tls.write(rig.events.io(), b"last words").unwrap();
    let deadline = rig.events.io().now() + PATIENCE;
    near.tls.close(rig.events.io(), deadline);
    assert!(near.tls.write(rig.events.io(), b"more").is_err());
    rig.until("the end behind the bytes", (&mut near, &mut far), |_, _, far| far.seen.ended);
    assert_eq!(far.seen.received, b"last words");
    // The other direction is still open.
    far.tls.write(rig.events.io(), b"still here").unwrap();
    far.tls.close(rig.events.io(), deadline);
    rig.until("both closed", (&mut near, &mut far), |_, near, far| {
        near.seen.closed && far.seen.closed
    });
    assert!(near.seen.ended && !near.seen.truncated && !far.seen.truncated);
    assert!(near.seen.failed.is_none() && far.seen.failed.is_none());
    // A stream that is cut below TLS has not ended.
    let (mut near, mut far) = rig.tls((&client, NAME), &server);
    rig.handshake(&mut near, &mut far);
    rig.events.io().shut_down(near.tls.stream()).unwrap();
    rig.until("the cut", (&mut near, &mut far), |_, _, far| far.seen.truncated);
    assert!(!far.seen.ended);
}

pub fn a_peer_that_is_silent_fails_the_handshake_at_its_deadline<K: Kernel>(kernel: K) {
    let pki = Pki::new(NAME);
    let mut rig = Rig::new(kernel);
    let (near, far) = rig.streams();
    let io = rig.events.io();
    let end = |tls| End { tls, seen: Seen::default() };
    let soon = io.now() + Nanos::from_millis(3);
    let mut server = end(TlsStream::server(io, far, &pki.server(&[]), soon).unwrap());
    // Somebody who connects and says nothing, for longer than the server waits.
    let mut idle = end(TlsStream::server(io, near, &pki.server(&[]), io.now() + PATIENCE).unwrap());
    rig.until("the deadline", (&mut idle, &mut server), |_, _, server| {
        server.seen.failed.is_some()
    });
    assert_eq!(server.seen.failed, Some(NetError::Io(IoError::TimedOut)));
    assert!(rig.events.io().now() >= soon);
}

pub fn a_slow_reader_is_told_as_a_limit_and_gets_every_byte<K: Kernel>(kernel: K) {
    let pki = Pki::new(NAME);
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.tls((&pki.client(&[]), NAME), &pki.server(&[]));
    rig.handshake(&mut near, &mut far);
    let chunk = |n: u32| vec![n as u8; 1000 + n as usize * 131 % 30_000];
    let (mut sent, mut limits, mut number) = (0, 0u32, 0u32);
    let io = rig.events.io();
    // Nobody turns the loop: it fills up, and says so.
    loop {
        match near.tls.write(io, &chunk(number)) {
            Ok(()) => {
                sent += chunk(number).len();
                number += 1;
            }
            Err(NetError::Io(IoError::Limit(Limit::WriteBytes))) => break limits += 1,
            Err(error) => panic!("{error}"),
        }
        assert!(number < 100_000, "a stream without a bound");
    }
    let first = number;
    rig.until("everything", (&mut near, &mut far), |io, near, far| {
        while number < first + 60 {
            match near.tls.write(io, &chunk(number)) {
                Ok(()) => {
                    sent += chunk(number).len();
                    number += 1;
                }
                Err(NetError::Io(IoError::Limit(_))) => {
                    limits += 1;
                    break;
                }
                Err(error) => panic!("{error}"),
            }
        }
        far.seen.received.len() == sent && number == first + 60
    });
    let expected: Vec<u8> = (0..number).flat_map(chunk).collect();
    assert!(far.seen.received == expected, "in order and whole");
    assert!(limits > 0 && near.seen.failed.is_none());
}

pub fn a_close_that_the_peer_does_not_let_through_ends_at_its_deadline<K: Kernel>(kernel: K) {
    let pki = Pki::new(NAME);
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.tls((&pki.client(&[]), NAME), &pki.server(&[]));
    rig.handshake(&mut near, &mut far);
    let io = rig.events.io();
    io.cancel(far.tls.stream(), taut_io::Operation::Receive).unwrap();
    // The peer does not read: fill everything between the two, and what waits behind it.
    let mut idle = 0;
    rig.until("no room anywhere", (&mut near, &mut far), |io, near, _| {
        let mut refused = false;
        while !refused {
            refused = near.tls.write(io, &[7; 8000]).is_err();
            idle = if refused { idle + 1 } else { 0 };
        }
        // Another look: what the kernel takes late makes room.
        let soon = io.now() + Nanos::from_millis(1);
        io.timer_at(soon, 1).unwrap();
        idle > 20
    });
    let deadline = rig.events.io().now() + Nanos::from_millis(5);
    near.tls.close(rig.events.io(), deadline);
    rig.until("closed", (&mut near, &mut far), |_, near, _| near.seen.closed);
    assert!(rig.events.io().now() >= deadline && !far.seen.ended);
}

pub fn bytes_that_are_no_tls_fail_and_nothing_panics<K: Kernel>(kernel: K) {
    let pki = Pki::new(NAME);
    let mut rig = Rig::new(kernel);
    let mut random = Random::with_seed(1);
    for round in 0..5 {
        let (near, far) = rig.streams();
        let io = rig.events.io();
        let deadline = io.now() + PATIENCE;
        let tls = TlsStream::server(io, far, &pki.server(&[]), deadline).unwrap();
        let mut server = End { tls, seen: Seen::default() };
        let tls = TlsStream::server(io, near, &pki.server(&[]), deadline).unwrap();
        let mut other = End { tls, seen: Seen::default() };
        let bytes: Vec<u8> = (0..400).map(|_| random.u8(..)).collect();
        let text = if round == 0 { b"GET / HTTP/1.1\r\n\r\n".to_vec() } else { bytes };
        io.write(near, &text, None).unwrap();
        rig.until("refused", (&mut other, &mut server), |_, _, server| {
            server.seen.failed.is_some()
        });
        assert_eq!(server.seen.failed, Some(NetError::TlsViolation));
        let _ = rig.events.io().close(near);
        rig.until("closed", (&mut other, &mut server), |_, other, server| {
            other.seen.closed && server.seen.closed
        });
    }
}

pub fn what_came_before_a_broken_record_is_not_lost_with_it<K: Kernel>(kernel: K) {
    let pki = Pki::new(NAME);
    let (client, server) = (pki.client(&[]), pki.server(&[]));
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.tls((&client, NAME), &server);
    rig.handshake(&mut near, &mut far);
    let io = rig.events.io();
    far.tls.write(io, b"the reason").unwrap();
    // A record with the right head and nothing behind it that anybody has sealed.
    io.write(
        far.tls.stream(),
        &[23, 3, 3, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        None,
    )
    .unwrap();
    rig.until("both closed", (&mut near, &mut far), |_, near, far| {
        near.seen.closed && far.seen.closed
    });
    assert_eq!(near.seen.failed, Some(NetError::TlsViolation));
    assert_eq!(near.seen.received, b"the reason");
}
