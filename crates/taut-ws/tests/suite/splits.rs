//! However a stream is cut, it says the same.

use taut_ws::{Connection, Role};

use crate::rig::{NOW, Seen, client, feed, feed_in, frame, sent, small};

/// A whole life of a connection, as the end of this role hears it, from the first byte.
fn life(role: Role) -> (Vec<u8>, impl Fn() -> Connection) {
    let make = move || match role {
        Role::Client => client(&small()),
        Role::Server => Connection::server(&small(), NOW).unwrap(),
    };
    let mut near = client(&small());
    let asked = sent(&mut near);
    let mut far = Connection::server(&small(), NOW).unwrap();
    feed(&mut far, &asked);
    let answered = sent(&mut far);
    let start = if role == Role::Client { answered } else { asked };
    let frames = [
        frame(role, 0x81, "κόσμε".as_bytes()),
        frame(role, 0x01, b"frag\xc3"),
        frame(role, 0x89, b"?"),
        frame(role, 0x00, b"\xa9men"),
        frame(role, 0x80, b"ts"),
        frame(role, 0x82, &[9; 126]),
        frame(role, 0x8a, b""),
        frame(role, 0x82, b""),
        frame(role, 0x88, b"\x03\xe8bye"),
        frame(role, 0x81, b"after the end"),
    ];
    ([start, frames.concat()].concat(), make)
}

#[test]
fn every_two_pieces_and_every_piece_length_give_the_same_events_and_answers() {
    for role in [Role::Client, Role::Server] {
        let (stream, make) = life(role);
        let mut whole = make();
        let expected = feed(&mut whole, &stream);
        assert_eq!(expected.len(), 8);
        assert_eq!(expected[3], Seen::Text("fragéments".into()));
        let answers = sent(&mut whole);
        for cut in 0..=stream.len() {
            let mut end = make();
            let mut made = feed(&mut end, &stream[..cut]);
            made.extend(feed(&mut end, &stream[cut..]));
            assert_eq!(made, expected, "{role:?} cut at {cut}");
            assert_eq!(sent(&mut end), answers);
        }
        for piece in 1..40 {
            let mut end = make();
            assert_eq!(feed_in(&mut end, &stream, piece), expected, "{role:?} pieces of {piece}");
            assert_eq!(sent(&mut end), answers);
        }
    }
}
