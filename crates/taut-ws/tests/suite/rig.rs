//! Both ends of a connection, and bytes made by hand.

use taut_types::Nanos;
use taut_ws::{
    ClientRequest, Closed, Connection, Event, Misuse, Role, Seed, State, WsConfig, WsError, WsUrl,
};

pub const NOW: Nanos = Nanos(1_000_000_000);

/// An event that outlives its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Requested(String),
    Opened(Option<String>),
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    /// The peer's close frame.
    Agreed(Option<u16>, String),
    Refused(u16, String, Vec<u8>),
    /// Any other end.
    Over(Closed<'static>),
}

pub fn seen(event: &Event<'_>) -> Seen {
    match *event {
        Event::Requested(request) => Seen::Requested(request.path().to_owned()),
        Event::Opened(response) => Seen::Opened(response.protocol().map(str::to_owned)),
        Event::Text(text) => Seen::Text(text.to_owned()),
        Event::Binary(bytes) => Seen::Binary(bytes.to_vec()),
        Event::Ping(bytes) => Seen::Ping(bytes.to_vec()),
        Event::Pong(bytes) => Seen::Pong(bytes.to_vec()),
        Event::Closed(Closed::Agreed(frame)) => {
            Seen::Agreed(frame.code.map(|code| code.number()), frame.reason.to_owned())
        }
        Event::Closed(Closed::Refused(refused)) => {
            Seen::Refused(refused.status, refused.reason.to_owned(), refused.body.to_vec())
        }
        Event::Closed(Closed::Violation(violation)) => Seen::Over(Closed::Violation(violation)),
        Event::Closed(Closed::Handshake(fault)) => Seen::Over(Closed::Handshake(fault)),
        Event::Closed(Closed::HandshakeTimeout) => Seen::Over(Closed::HandshakeTimeout),
        Event::Closed(Closed::CloseTimeout) => Seen::Over(Closed::CloseTimeout),
        Event::Closed(Closed::Silence) => Seen::Over(Closed::Silence),
        Event::Closed(Closed::Cut) => Seen::Over(Closed::Cut),
        Event::Closed(Closed::RefusedByUs { status }) => Seen::Over(Closed::RefusedByUs { status }),
        other => panic!("a new event: {other:?}"),
    }
}

/// Hands bytes over in pieces of this length; requests are accepted.
pub fn feed_in(connection: &mut Connection, bytes: &[u8], piece: usize) -> Vec<Seen> {
    let mut all = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        let mut rest = piece;
        while !rest.is_empty() {
            let handled = connection.handle_bytes(NOW, rest);
            assert!(handled.consumed <= rest.len());
            all.extend(handled.event.as_ref().map(seen));
            if matches!(handled.event, Some(Event::Requested(_))) {
                handled.outbox.accept(None, &[]).unwrap();
            }
            assert!(handled.consumed > 0, "stuck");
            rest = &rest[handled.consumed..];
        }
    }
    all
}

pub fn feed(connection: &mut Connection, bytes: &[u8]) -> Vec<Seen> {
    feed_in(connection, bytes, usize::MAX)
}

/// What waits to be sent, sent.
pub fn sent(connection: &mut Connection) -> Vec<u8> {
    let bytes = connection.poll_transmit().to_vec();
    connection.transmitted(bytes.len());
    bytes
}

pub fn small() -> WsConfig {
    WsConfig { message_bytes_max: 1 << 17, ..WsConfig::default() }
}

pub fn request() -> ClientRequest {
    ClientRequest::new(&WsUrl::parse("ws://venue.test/feed").unwrap())
}

pub fn client(config: &WsConfig) -> Connection {
    Connection::client(config, &request(), Seed::new([7; 16]), NOW).unwrap()
}

/// Both ends, open.
pub fn pair(config: &WsConfig) -> (Connection, Connection) {
    let mut client = client(config);
    let mut server = Connection::server(config, NOW).unwrap();
    let asked = sent(&mut client);
    assert_eq!(feed(&mut server, &asked), [Seen::Requested("/feed".into())]);
    let answered = sent(&mut server);
    assert_eq!(feed(&mut client, &answered), [Seen::Opened(None)]);
    assert_eq!((client.state(), server.state()), (State::Open, State::Open));
    (client, server)
}

/// An open end of this role.
pub fn open(role: Role) -> Connection {
    let (client, server) = pair(&small());
    if role == Role::Client { client } else { server }
}

pub const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// A frame for who has this role: a server gets masked ones. The length is in the shortest form.
pub fn frame(to: Role, first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = if to == Role::Server { 0x80 } else { 0 };
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..=125 => bytes.push(mask | short as u8),
        medium @ 126..=0xffff => {
            bytes.push(mask | 126);
            bytes.extend((medium as u16).to_be_bytes());
        }
        long => {
            bytes.push(mask | 127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    if mask == 0 {
        bytes.extend(payload);
    } else {
        bytes.extend(KEY);
        bytes.extend(payload.iter().zip(KEY.iter().cycle()).map(|(byte, key)| byte ^ key));
    }
    bytes
}

/// The close code in the frame that the peer got, and how long its reason is.
pub fn close_code(mut connection: Connection) -> Option<u16> {
    let bytes = sent(&mut connection);
    let role = connection.role();
    let (payload_at, key) = match role {
        Role::Server => (2, [0; 4]),
        Role::Client => (6, [bytes[2], bytes[3], bytes[4], bytes[5]]),
    };
    assert_eq!(bytes[0], 0x88, "a close frame");
    let payload: Vec<u8> =
        bytes[payload_at..].iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
    assert_eq!(payload.len(), usize::from(bytes[1] & 0x7f), "nothing behind it");
    payload.first_chunk().map(|code| u16::from_be_bytes(*code))
}

pub const NOT_OPEN: WsError = WsError::Misuse(Misuse::NotOpen);
