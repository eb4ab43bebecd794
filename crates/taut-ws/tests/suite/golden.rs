//! The examples of section 5.7 and 1.3, byte for byte.

use taut_ws::{MessageKind, Role};

use crate::rig::{Seen, close_code, feed, frame, open, pair, sent, small};

const HELLO: &[u8] = b"\x81\x05\x48\x65\x6c\x6c\x6f";
const HELLO_MASKED: &[u8] = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";

#[test]
fn a_single_frame_text_message_is_read_and_written() {
    let (mut client, mut server) = pair(&small());
    assert_eq!(feed(&mut client, HELLO), [Seen::Text("Hello".into())]);
    assert_eq!(feed(&mut server, HELLO_MASKED), [Seen::Text("Hello".into())]);
    server.outbox().text("Hello").unwrap();
    assert_eq!(sent(&mut server), HELLO);
    client.outbox().text("Hello").unwrap();
    let bytes = sent(&mut client);
    assert_eq!((bytes.len(), &bytes[..2]), (11, &HELLO_MASKED[..2]));
    assert_eq!(feed(&mut server, &bytes), [Seen::Text("Hello".into())]);
}

#[test]
fn a_fragmented_text_message_is_read_and_written() {
    let (mut client, mut server) = pair(&small());
    let parts = [&b"\x01\x03\x48\x65\x6c"[..], &b"\x80\x02\x6c\x6f"[..]];
    assert_eq!(feed(&mut client, parts[0]), []);
    assert_eq!(feed(&mut client, parts[1]), [Seen::Text("Hello".into())]);
    server.outbox().part(MessageKind::Text, b"Hel", false).unwrap();
    assert!(server.outbox().part(MessageKind::Binary, b"lo", true).is_err(), "another kind");
    assert!(server.outbox().text("another").is_err(), "another message");
    server.outbox().part(MessageKind::Text, b"lo", true).unwrap();
    assert_eq!(sent(&mut server), parts.concat());
}

#[test]
fn a_ping_is_answered_with_its_bytes() {
    let (mut client, mut server) = pair(&small());
    let pong = b"\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
    assert_eq!(feed(&mut server, pong), [Seen::Pong(b"Hello".to_vec())]);
    assert_eq!(feed(&mut client, b"\x89\x05\x48\x65\x6c\x6c\x6f"), [Seen::Ping(b"Hello".to_vec())]);
    let answer = sent(&mut client);
    assert_eq!(feed(&mut server, &answer), [Seen::Pong(b"Hello".to_vec())]);
    server.outbox().ping(b"Hello").unwrap();
    assert_eq!(sent(&mut server), b"\x89\x05\x48\x65\x6c\x6c\x6f");
}

#[test]
fn binary_messages_of_256_bytes_and_of_64_kibibytes_have_the_headers_of_section_5_7() {
    let (mut client, mut server) = pair(&small());
    for (length, header) in
        [(256, &b"\x82\x7e\x01\x00"[..]), (65_536, b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00")]
    {
        let payload = vec![0xa5; length];
        let bytes = [header, &payload[..]].concat();
        assert_eq!(feed(&mut client, &bytes), [Seen::Binary(payload.clone())]);
        if length == 256 {
            server.outbox().binary(&payload).unwrap();
            assert_eq!(sent(&mut server), bytes);
        }
    }
}

#[test]
fn the_rigs_own_frames_are_the_ones_of_the_standard() {
    assert_eq!(frame(Role::Client, 0x81, b"Hello"), HELLO);
    assert_eq!(frame(Role::Server, 0x81, b"Hello"), HELLO_MASKED);
    let mut server = open(Role::Server);
    feed(&mut server, &frame(Role::Server, 0x88, b"\x03\xe8"));
    assert_eq!(close_code(server), Some(1000));
}
