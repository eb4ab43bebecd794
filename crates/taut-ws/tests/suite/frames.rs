//! Sections 5 and 8, and the limits of 10.4: each rule, for both roles.

use taut_ws::{Closed, Limit, Role, State, Violation, WsConfig, WsError};

use crate::rig::{Seen, close_code, feed, feed_in, frame, open, pair, sent, small};

const ROLES: [Role; 2] = [Role::Client, Role::Server];

/// These frames break a rule, whatever pieces they come in, and the peer is told this code.
fn breaks(frames: &[(u8, &[u8])], violation: Violation, code: u16) {
    for role in ROLES {
        let bytes: Vec<u8> =
            frames.iter().flat_map(|(first, payload)| frame(role, *first, payload)).collect();
        for piece in [1, 2, 3, usize::MAX] {
            let mut end = open(role);
            let last = feed_in(&mut end, &bytes, piece).pop();
            assert_eq!(last, Some(Seen::Over(Closed::Violation(violation))), "{role:?} {piece}");
            assert_eq!(end.state(), State::Closed);
            assert_eq!(feed(&mut end, &frame(role, 0x81, b"late")), [], "nothing comes after");
            assert_eq!(close_code(end), Some(code), "{role:?}");
        }
    }
}

#[test]
fn section_5_1_a_client_masks_and_a_server_does_not() {
    let mut server = open(Role::Server);
    let unmasked = frame(Role::Client, 0x81, b"x");
    let expected = [Seen::Over(Closed::Violation(Violation::NotMasked))];
    assert_eq!(feed(&mut server, &unmasked), expected);
    assert_eq!(close_code(server), Some(1002));
    let mut client = open(Role::Client);
    let masked = frame(Role::Server, 0x81, b"x");
    let expected = [Seen::Over(Closed::Violation(Violation::Masked))];
    assert_eq!(feed(&mut client, &masked), expected);
    assert_eq!(close_code(client), Some(1002));
}

#[test]
fn section_5_2_reserved_bits_and_opcodes_are_refused() {
    for bit in [0x40, 0x20, 0x10] {
        breaks(&[(0x81 | bit, b"x")], Violation::ReservedBits, 1002);
    }
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        breaks(&[(0x80 | opcode, b"")], Violation::ReservedOpcode, 1002);
    }
}

#[test]
fn section_5_2_a_length_has_its_shortest_form() {
    for bytes in [&b"\x82\x7e\x00\x01"[..], b"\x82\x7f\0\0\0\0\0\0\x01\x00"] {
        let mut client = open(Role::Client);
        let expected = [Seen::Over(Closed::Violation(Violation::LengthEncoding))];
        assert_eq!(feed_in(&mut client, bytes, 1), expected);
    }
}

#[test]
fn section_5_4_fragments_are_joined_and_control_frames_may_come_between() {
    for role in ROLES {
        let mut end = open(role);
        let bytes = [
            frame(role, 0x01, b"one "),
            frame(role, 0x89, b"are you there?"),
            frame(role, 0x00, b""),
            frame(role, 0x8a, b"unasked"),
            frame(role, 0x00, b"two "),
            frame(role, 0x80, b"three"),
            frame(role, 0x82, b""),
        ]
        .concat();
        let expected = [
            Seen::Ping(b"are you there?".to_vec()),
            Seen::Pong(b"unasked".to_vec()),
            Seen::Text("one two three".into()),
            Seen::Binary(Vec::new()),
        ];
        assert_eq!(feed(&mut end, &bytes), expected);
        let counters = end.counters();
        assert_eq!((counters.messages_in, counters.data_frames_in), (2, 5));
        assert_eq!((counters.pings_in, counters.pongs_in), (1, 1));
    }
}

#[test]
fn section_5_4_a_continuation_continues_something_and_messages_do_not_interleave() {
    breaks(&[(0x80, b"x")], Violation::UnexpectedContinuation, 1002);
    breaks(&[(0x00, b"x")], Violation::UnexpectedContinuation, 1002);
    breaks(&[(0x81, b"done"), (0x80, b"x")], Violation::UnexpectedContinuation, 1002);
    breaks(&[(0x01, b"a"), (0x81, b"b")], Violation::InterleavedMessage, 1002);
    breaks(&[(0x02, b"a"), (0x02, b"b")], Violation::InterleavedMessage, 1002);
}

#[test]
fn section_5_5_control_frames_are_short_and_whole() {
    for opcode in [0x88, 0x89, 0x8a] {
        breaks(&[(opcode, &[b'x'; 126])], Violation::ControlBytes, 1002);
        breaks(&[(opcode & 0x0f, b"")], Violation::ControlFragmented, 1002);
    }
    for role in ROLES {
        let mut end = open(role);
        let longest = vec![b'x'; 125];
        assert_eq!(feed(&mut end, &frame(role, 0x89, &longest)), [Seen::Ping(longest)]);
        let too_long = Err(WsError::Limit(Limit::ControlBytes));
        assert_eq!(end.outbox().ping(&[0; 126]), too_long);
    }
}

#[test]
fn section_8_1_text_is_utf_8_over_all_its_fragments() {
    let cut = "κόσμε".as_bytes();
    for role in ROLES {
        for at in 0..cut.len() {
            let mut end = open(role);
            let bytes = [frame(role, 0x01, &cut[..at]), frame(role, 0x80, &cut[at..])].concat();
            assert_eq!(feed(&mut end, &bytes), [Seen::Text("κόσμε".into())], "cut at {at}");
            let binary = frame(role, 0x82, b"\xff\xfe");
            assert_eq!(feed(&mut end, &binary), [Seen::Binary(b"\xff\xfe".to_vec())]);
        }
    }
    breaks(&[(0x81, b"\xff")], Violation::Utf8, 1007);
    breaks(&[(0x01, b"\xce"), (0x80, b"")], Violation::Utf8, 1007);
    breaks(&[(0x01, b"\xce"), (0x80, b"a")], Violation::Utf8, 1007);
    breaks(&[(0x81, b"\xed\xa0\x80")], Violation::Utf8, 1007);
}

#[test]
fn an_invalid_byte_fails_at_once_in_the_middle_of_a_frame_that_never_ends() {
    for role in ROLES {
        let whole = frame(role, 0x81, b"\xce\xba\xe1\xbd\xb9\xcf\x83\xf4\x90\x80\x80tail");
        let header = whole.len() - 15;
        let mut end = open(role);
        assert_eq!(feed(&mut end, &whole[..header + 8]), [], "f4 may go on");
        let expected = [Seen::Over(Closed::Violation(Violation::Utf8))];
        assert_eq!(feed(&mut end, &whole[header + 8..=header + 8]), expected, "f4 90 may not");
    }
}

#[test]
fn section_10_4_a_message_over_the_limit_is_refused_when_it_is_announced() {
    let config = WsConfig { message_bytes_max: 10, fragments_max: 3, ..WsConfig::default() };
    let expected = [Seen::Over(Closed::Violation(Violation::MessageBytes))];
    let fits = frame(Role::Client, 0x82, &[1; 10]);
    let (mut client, _) = pair(&config);
    assert_eq!(feed(&mut client, &fits), [Seen::Binary(vec![1; 10])]);
    assert_eq!(feed(&mut client, &frame(Role::Client, 0x82, &[1; 11])[..2]), expected);
    assert_eq!(close_code(client), Some(1009));
    let (mut client, _) = pair(&config);
    assert_eq!(feed(&mut client, b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"), expected);
    let (mut client, _) = pair(&config);
    feed(&mut client, &frame(Role::Client, 0x02, &[1; 6]));
    assert_eq!(feed(&mut client, &frame(Role::Client, 0x80, &[1; 5])), expected);
    let (mut client, _) = pair(&config);
    let mut bytes = frame(Role::Client, 0x02, b"");
    for _ in 0..2 {
        bytes.extend(frame(Role::Client, 0x00, b""));
    }
    assert_eq!(feed(&mut client, &bytes), []);
    let expected = [Seen::Over(Closed::Violation(Violation::FragmentCount))];
    assert_eq!(feed(&mut client, &frame(Role::Client, 0x80, b"")), expected);
    assert_eq!(close_code(client), Some(1009));
}

#[test]
fn a_whole_message_is_borrowed_where_it_lies_and_masked_ones_are_unmasked_there() {
    let (mut client, mut server) = pair(&small());
    let bytes = frame(Role::Client, 0x81, b"borrowed");
    let handled = client.handle_bytes(crate::rig::NOW, &bytes);
    let Some(taut_ws::Event::Text(text)) = handled.event else { panic!("no text") };
    assert_eq!(text.as_ptr(), bytes[2..].as_ptr());
    assert_eq!(client.counters().borrowed_messages, 1);
    let mut bytes = frame(Role::Server, 0x81, b"unmasked in place");
    let at = bytes[6..].as_ptr();
    let handled = server.handle_bytes_mut(crate::rig::NOW, &mut bytes);
    let Some(taut_ws::Event::Text(text)) = handled.event else { panic!("no text") };
    assert_eq!((text, text.as_ptr()), ("unmasked in place", at));
    // Who does not own the bytes gets a copy, and they stay as they are.
    let bytes = frame(Role::Server, 0x81, b"copied");
    assert_eq!(feed(&mut server, &bytes), [Seen::Text("copied".into())]);
    assert_eq!(server.counters().borrowed_messages, 1);
}

#[test]
fn in_place_and_copied_agree_on_every_cut() {
    let stream = [
        frame(Role::Server, 0x01, b"one, "),
        frame(Role::Server, 0x89, b"ping"),
        frame(Role::Server, 0x80, b"two"),
        frame(Role::Server, 0x82, &[7; 300]),
        frame(Role::Server, 0x81, b"\xff"),
    ]
    .concat();
    let expected = feed(&mut open(Role::Server), &stream);
    for cut in 0..stream.len() {
        let mut server = open(Role::Server);
        let mut made = Vec::new();
        for part in [&stream[..cut], &stream[cut..]] {
            let mut part = part.to_vec();
            let mut at = 0;
            while at < part.len() {
                let handled = server.handle_bytes_mut(crate::rig::NOW, &mut part[at..]);
                made.extend(handled.event.as_ref().map(crate::rig::seen));
                at += handled.consumed;
            }
        }
        assert_eq!(made, expected, "cut at {cut}");
    }
}

#[test]
fn a_peer_that_does_not_read_is_back_pressure_and_costs_one_pong() {
    let config = WsConfig { send_bytes_max: 1000, ..WsConfig::default() };
    let (mut client, mut server) = pair(&config);
    let mut taken = 0;
    while server.outbox().binary(&[7; 90]).is_ok() {
        taken += 1;
    }
    assert_eq!(taken, 10, "whole messages or none");
    assert_eq!(server.outbox().binary(&[7; 90]), Err(WsError::Limit(Limit::SendBytes)));
    // Pings are answered as long as there is room for a close frame; then the newest waits.
    for number in 0..20u8 {
        feed(&mut server, &frame(Role::Server, 0x89, &[number; 125]));
    }
    assert!(server.counters().pongs_skipped > 10);
    let before = server.poll_transmit().len();
    assert!(before < 1000 + 300);
    let first = sent(&mut server);
    let last = sent(&mut server);
    let made = feed(&mut client, &[first, last].concat());
    assert_eq!(made.len(), 10 + (20 - server.counters().pongs_skipped as usize));
    assert_eq!(made.last(), Some(&Seen::Pong(vec![19; 125])));
}

#[test]
fn a_message_that_can_never_fit_is_refused_whole() {
    let config = WsConfig { send_bytes_max: 1000, ..WsConfig::default() };
    let (_, mut server) = pair(&config);
    assert_eq!(server.outbox().binary(&[0; 1001]), Err(WsError::Limit(Limit::SendBytes)));
    assert!(server.poll_transmit().is_empty());
    let free = server.outbox().free_bytes();
    server.outbox().binary(&vec![0; free - 4]).unwrap();
    assert_eq!(server.outbox().free_bytes(), 0);
}
