//! The cases.

use taut_io::{IoError, Kernel};
use taut_net::NetError;
use taut_types::Nanos;
use taut_ws::{CloseCode, KeepAlive, Limit, Violation, WsConfig, WsError};

use crate::rig::{End, Ended, NAME, Pki, Rig, config};

fn both_ways<K: Kernel>(rig: &mut Rig<K>, near: &mut End, far: &mut End) {
    far.seen.echoes = true;
    let texts = ["one", "", "κόσμε", "the last and longest of them"];
    for text in texts {
        near.ws.outbox().text(text).unwrap();
    }
    near.ws.flush(rig.events.io());
    rig.until("the echo", (near, far), |_, near, _| near.seen.messages.len() == 4);
    assert!(near.seen.messages.iter().zip(texts).all(|(got, sent)| got == sent.as_bytes()));
    assert!(near.seen.messages == far.seen.messages);
    assert_eq!(far.ws.pending_bytes(), 0);
}

pub fn messages_pass_both_ways_over_a_plain_stream<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.pair(&config(), None);
    both_ways(&mut rig, &mut near, &mut far);
}

pub fn messages_pass_both_ways_over_tls<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.pair(&config(), Some(&Pki::new(NAME)));
    both_ways(&mut rig, &mut near, &mut far);
}

pub fn a_message_far_larger_than_what_the_kernel_takes_arrives_whole<K: Kernel>(kernel: K) {
    let pki = Pki::new(NAME);
    let mut rig = Rig::new(kernel);
    for pki in [None, Some(&pki)] {
        let (mut near, mut far) = rig.pair(&config(), pki);
        far.seen.echoes = true;
        let bytes: Vec<u8> = (0..300_000u32).map(|n| ((n * 31) >> 3) as u8).collect();
        near.ws.outbox().binary(&bytes).unwrap();
        near.ws.flush(rig.events.io());
        rig.until("the echo", (&mut near, &mut far), |_, near, _| !near.seen.messages.is_empty());
        assert!(near.seen.messages == [bytes]);
    }
}

pub fn many_messages_of_one_turn_leave_in_one_write<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.pair(&config(), None);
    let before = rig.events.io().calls().io;
    for number in 0..100u8 {
        near.ws.outbox().binary(&[number]).unwrap();
    }
    near.ws.flush(rig.events.io());
    assert!(rig.events.io().calls().io - before <= 1, "a simulated kernel counts none");
    rig.until("all", (&mut near, &mut far), |_, _, far| far.seen.messages.len() == 100);
    assert!((0..100u8).zip(&far.seen.messages).all(|(number, got)| *got == [number]));
}

pub fn a_peer_that_does_not_read_is_back_pressure_and_nothing_is_lost<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let small = WsConfig { send_bytes_max: 20_000, ..config() };
    let (mut near, mut far) = rig.pair(&small, None);
    let (mut sent, mut refused) = (0u32, 0u32);
    let message = |number: u32| [number.to_le_bytes().as_slice(), &[7; 1000]].concat();
    let io = rig.events.io();
    while refused == 0 {
        match near.ws.outbox().binary(&message(sent)) {
            Ok(()) => sent += 1,
            Err(error) => {
                assert_eq!(error, WsError::Limit(Limit::SendBytes));
                refused += 1;
            }
        }
        near.ws.flush(io);
        assert!(sent < 100_000, "a stream without a bound");
    }
    assert!(near.ws.pending_bytes() > 0);
    let first = sent;
    rig.until("everything", (&mut near, &mut far), |io, near, far| {
        while sent < first + 200 && near.ws.outbox().binary(&message(sent)).is_ok() {
            sent += 1;
        }
        near.ws.flush(io);
        sent == first + 200 && far.seen.messages.len() == sent as usize
    });
    assert!((0..sent).zip(&far.seen.messages).all(|(number, got)| *got == message(number)));
}

pub fn a_pause_is_back_pressure_to_the_peer_and_no_silence<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let keep_alive =
        KeepAlive { interval: Nanos::from_millis(100), timeout: Nanos::from_millis(300) };
    let impatient = WsConfig { keep_alive: Some(keep_alive), ..config() };
    let (near, far) = rig.streams();
    let mut far = rig.server(far, &impatient, None);
    let mut near = rig.client(near, &config(), None);
    rig.until("open", (&mut near, &mut far), |_, near, far| near.seen.opened && far.seen.opened);
    far.ws.pause(rig.events.io());
    near.ws.outbox().text("while it does not read").unwrap();
    near.ws.flush(rig.events.io());
    let later = rig.events.io().now() + Nanos::from_millis(400);
    rig.events.io().timer_at(later, 1).unwrap();
    rig.until("later", (&mut near, &mut far), |io, _, _| io.now() >= later);
    assert!(far.seen.messages.is_empty() && far.seen.ended.is_none());
    far.ws.resume(rig.events.io());
    rig.until("the message", (&mut near, &mut far), |_, _, far| !far.seen.messages.is_empty());
}

pub fn the_client_closes_and_the_server_ends_the_stream_first<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.pair(&config(), None);
    near.ws.outbox().text("last words").unwrap();
    near.ws.close(rig.events.io(), CloseCode::NORMAL, "done").unwrap();
    assert!(near.ws.close(rig.events.io(), CloseCode::NORMAL, "twice").is_err());
    rig.until_gone(&mut near, &mut far);
    assert_eq!(far.seen.messages, [b"last words"]);
    assert_eq!(far.seen.ended, Some(Ended::Agreed(Some(1000), "done".into())));
    assert_eq!(near.seen.ended, Some(Ended::Agreed(Some(1000), String::new())));
    assert_eq!((near.seen.gone, far.seen.gone), (Some(None), Some(None)));
}

pub fn the_server_closes_and_both_streams_end<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.pair(&config(), None);
    far.ws.close(rig.events.io(), CloseCode::RESTART, "back soon").unwrap();
    rig.until_gone(&mut near, &mut far);
    assert_eq!(near.seen.ended, Some(Ended::Agreed(Some(1012), "back soon".into())));
    assert_eq!(far.seen.ended, Some(Ended::Agreed(Some(1012), String::new())));
    assert_eq!((near.seen.gone, far.seen.gone), (Some(None), Some(None)));
}

pub fn a_close_over_tls_ends_with_tls_ending<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.pair(&config(), Some(&Pki::new(NAME)));
    near.ws.close(rig.events.io(), CloseCode::NORMAL, "").unwrap();
    rig.until_gone(&mut near, &mut far);
    assert_eq!(near.seen.ended, Some(Ended::Agreed(Some(1000), String::new())));
    assert_eq!((near.seen.gone, far.seen.gone), (Some(None), Some(None)));
}

pub fn a_refused_client_sees_status_and_words<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let (near, far) = rig.streams();
    let mut far = rig.server(far, &config(), None);
    far.seen.refuses = true;
    let mut near = rig.client(near, &config(), None);
    rig.until_gone(&mut near, &mut far);
    assert_eq!(near.seen.ended, Some(Ended::Refused(403, b"not from here".to_vec())));
    assert_eq!(far.seen.ended, Some(Ended::RefusedByUs));
}

pub fn a_request_that_nobody_answers_is_refused<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let (near, far) = rig.streams();
    let mut far = rig.server(far, &config(), None);
    far.seen.is_rude = true;
    let mut near = rig.client(near, &config(), None);
    rig.until_gone(&mut near, &mut far);
    let words = b"the request was not answered".to_vec();
    assert_eq!(near.seen.ended, Some(Ended::Refused(500, words)));
}

pub fn a_stranger_who_says_nothing_is_gone_at_the_deadline<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let pki = Pki::new(NAME);
    for pki in [None, Some(&pki)] {
        let (near, far) = rig.streams();
        let soon = WsConfig { handshake_timeout: Nanos::from_millis(5), ..config() };
        let mut far = rig.server(far, &soon, pki);
        // Somebody else who connects and says nothing, either.
        let mut near = rig.server(near, &config(), None);
        rig.until("gone", (&mut near, &mut far), |_, _, far| far.seen.gone.is_some());
        // TLS says for itself that its handshake is late.
        let late = Some(Some(NetError::Io(IoError::TimedOut)));
        assert!(far.seen.ended == Some(Ended::Late) || far.seen.gone == late);
    }
}

pub fn a_peer_that_never_answers_a_close_is_gone_in_time<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let soon = WsConfig { close_timeout: Nanos::from_millis(5), ..config() };
    let (mut near, mut far) = rig.pair(&soon, None);
    far.ws.pause(rig.events.io());
    let before = rig.events.io().now();
    near.ws.close(rig.events.io(), CloseCode::NORMAL, "").unwrap();
    rig.until("gone", (&mut near, &mut far), |_, near, _| near.seen.gone.is_some());
    assert_eq!(near.seen.ended, Some(Ended::Late));
    assert!(rig.events.io().now() >= before + Nanos::from_millis(5));
}

pub fn a_cut_stream_is_told_as_a_cut<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    for abruptly in [true, false] {
        let (mut near, mut far) = rig.pair(&config(), None);
        let stream = far.ws.stream();
        if abruptly {
            rig.events.io().close(stream).unwrap();
        } else {
            rig.events.io().shut_down(stream).unwrap();
        }
        rig.until_gone(&mut near, &mut far);
        assert_eq!(near.seen.ended, Some(Ended::Cut));
        assert_eq!(far.seen.ended, Some(Ended::Cut));
    }
}

pub fn a_silent_peer_is_asked_and_given_up<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let keep_alive = KeepAlive { interval: Nanos::from_millis(20), timeout: Nanos::from_secs(1) };
    let asks = WsConfig { keep_alive: Some(keep_alive), ..config() };
    let (near, far) = rig.streams();
    let mut far = rig.server(far, &config(), None);
    let mut near = rig.client(near, &asks, None);
    rig.until("answers", (&mut near, &mut far), |_, near, _| near.seen.pongs > 2);
    far.ws.pause(rig.events.io());
    rig.until("silence", (&mut near, &mut far), |_, near, _| near.seen.ended.is_some());
    assert_eq!(near.seen.ended, Some(Ended::Silence));
}

pub fn a_violation_is_told_to_the_peer_before_the_end<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let (mut near, mut far) = rig.pair(&config(), None);
    // A server's frame must not be masked; this one is, on the server's own stream.
    rig.events.io().write(far.ws.stream(), &[0x81, 0x80, 0, 0, 0, 0], None).unwrap();
    rig.until_gone(&mut near, &mut far);
    assert_eq!(near.seen.ended, Some(Ended::Violation(Violation::Masked)));
    let Some(Ended::Agreed(Some(1002), words)) = &far.seen.ended else { panic!("no close frame") };
    assert_eq!(words, Violation::Masked.as_str());
}
