//! The door over real sockets: HTTP kept alive, pipelined and in pieces, WebSocket on the same
//! port, and what is neither.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use taut_fix::{CompId, Now};
use taut_sys::{Address, DatagramOptions, Socket, StreamOptions, monotonic, utc};
use taut_testkit::{DEADLINE, until};
use taut_types::{Instrument, InstrumentId, Price, Qty, Symbol};
use taut_venue::{FeedOutput, Flow, Venue, VenueConfig, VenueSockets};
use taut_web_venue::deribit::{Deribit, DeribitSettings};
use taut_web_venue::{AccountSettings, Door, DoorConfig, KeySettings, Kind, MarketSettings};

type OpenVenue = Venue<taut_io::EpollKernel, Door<Deribit>>;

fn settings() -> DeribitSettings {
    let market = MarketSettings {
        name: "BTC-PERPETUAL".to_owned(),
        kind: Kind::Future,
        base: "BTC".to_owned(),
        quote: "USD".to_owned(),
        settlement: "BTC".to_owned(),
        tick: "0.5".to_owned(),
        tick_steps: Vec::new(),
        min_trade_amount: "10".to_owned(),
        contract_size: "10".to_owned(),
        maker_commission: "0".to_owned(),
        taker_commission: "0".to_owned(),
        expiration_ms: None,
        strike: None,
        option_type: None,
        start_price: "60000".to_owned(),
        weight: 0,
    };
    let account = AccountSettings {
        name: "one".to_owned(),
        keys: vec![KeySettings {
            id: "one".to_owned(),
            secret: "ABCD".to_owned(),
            read_only: false,
        }],
        balances: [("BTC".to_owned(), "1".to_owned())].into(),
        self_trading: "reject_taker".to_owned(),
        matching_rate: 5,
        matching_burst: 20,
    };
    DeribitSettings { instruments: vec![market], accounts: vec![account] }
}

/// A venue, where it listens, and the socket that its own feed goes to.
fn open() -> (OpenVenue, SocketAddr, Socket) {
    let local: SocketAddr = ([127, 0, 0, 1], 0).into();
    let unread = Socket::datagram(&Address::Inet(local), &DatagramOptions::default());
    let unread = unread.expect("a socket");
    let Address::Inet(to) = unread.local_address().expect("its address") else {
        panic!("an address of the internet")
    };
    let sender = || {
        let options = DatagramOptions { peer: Some(to), ..DatagramOptions::default() };
        Socket::datagram(&Address::Inet(local), &options).expect("a socket").into()
    };
    let feed = FeedOutput {
        incremental: sender(),
        incremental_b: None,
        snapshot: sender(),
        retransmission: None,
    };
    let orders = Socket::listen(&Address::Inet(local), &StreamOptions::default());
    let symbol = Symbol::new(b"BTC-PERPETUAL").expect("a symbol");
    let (tick, lot) = (Price::parse(b"0.5").expect("a tick"), Qty::whole(10));
    let instrument = Instrument::new(InstrumentId(0), symbol, tick, lot).expect("an instrument");
    let comp_id = CompId::new(b"VENUE").expect("a name");
    let mut config = VenueConfig::new(vec![instrument], comp_id, 1);
    (config.order_capacity, config.level_capacity) = (64, 64);
    let door = DoorConfig { plain: vec![local], connections_max: 8, ..DoorConfig::default() };
    config.observer_sources = Door::<Deribit>::sources(&door);
    let sockets = VenueSockets { orders: orders.expect("a listener").into(), feed, stream: None };
    let venue = Venue::new(&config, sockets, Flow::None).expect("a venue");
    let front = Deribit::new(&settings()).expect("settings");
    let venue = venue.with_observer(Door::new(front, door)).expect("a door");
    let at = venue.observer().addresses()[0];
    (venue, at, unread)
}

struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    has_ended: bool,
}

impl Client {
    fn connect(at: SocketAddr) -> Self {
        let stream = TcpStream::connect(at).expect("connected");
        stream.set_nonblocking(true).expect("a flag");
        stream.set_nodelay(true).expect("a flag");
        Self { stream, received: Vec::new(), has_ended: false }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("room in the kernel");
    }

    fn text(&mut self) -> String {
        String::from_utf8_lossy(&self.received).into_owned()
    }

    /// Has the venue work until what came satisfies.
    fn until(&mut self, venue: &mut OpenVenue, what: &str, holds: impl Fn(&str, bool) -> bool) {
        until(what, DEADLINE, || {
            venue.poll(Now { mono: monotonic(), utc: utc() }).expect("a venue that works");
            let mut room = [0; 4_096];
            match self.stream.read(&mut room) {
                Ok(0) => self.has_ended = true,
                Ok(count) => self.received.extend_from_slice(&room[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.has_ended = true,
            }
            holds(&String::from_utf8_lossy(&self.received), self.has_ended)
        });
    }
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: www.deribit.com\r\n\r\n")
}

#[test]
fn requests_are_answered_on_one_connection_in_pieces_and_in_their_order() {
    let (mut venue, at, _unread) = open();
    let mut client = Client::connect(at);
    let text = get("/api/v2/public/get_time");
    for byte in text.as_bytes() {
        client.send(&[*byte]);
        venue.poll(Now { mono: monotonic(), utc: utc() }).expect("a venue that works");
    }
    client.until(&mut venue, "the first answer", |text, _| text.contains("\"testnet\":true}"));
    client.received.clear();
    let body = r#"{"jsonrpc":"2.0","id":"a-1","method":"public/test","params":{}}"#;
    let post =
        format!("POST /api/v2 HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let many = [post.as_str(), &get("/api/v2/public/nothing"), &get("/elsewhere")].concat();
    client.send(many.repeat(10).as_bytes());
    client.until(&mut venue, "all answers", |text, _| text.matches("HTTP/1.1 ").count() == 30);
    client.until(&mut venue, "their bodies", |text, _| text.matches("usDiff").count() == 30);
    let text = client.text();
    let status: Vec<_> = text.lines().filter_map(|it| it.strip_prefix("HTTP/1.1 ")).collect();
    let last = |line: &str| line.rsplit("HTTP/1.1 ").next().map(str::to_owned);
    assert!(text.contains("\"id\":\"a-1\""), "{text}");
    assert_eq!(text.matches("200 OK").count(), 10, "{status:?} {:?}", last(&text));
    assert_eq!(text.matches("400 Bad Request").count(), 20);
}

#[test]
fn a_websocket_opens_on_the_same_port_and_elsewhere_not() {
    let (mut venue, at, _unread) = open();
    let upgrade = |path: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
    };
    let mut client = Client::connect(at);
    client.send(upgrade("/ws/api/v2").as_bytes());
    client.until(&mut venue, "the handshake", |text, _| text.ends_with("\r\n\r\n"));
    assert!(client.text().contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{}", client.text());
    client.received.clear();
    // A masked text frame, the mask being zero.
    let text = br#"{"jsonrpc":"2.0","id":7,"method":"public/test"}"#;
    let mut frame = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(text);
    client.send(&frame);
    client.until(&mut venue, "an answer", |text, _| text.contains("\"id\":7,\"result\""));
    let mut other = Client::connect(at);
    other.send(upgrade("/other").as_bytes());
    other.until(&mut venue, "the end", |_, has_ended| has_ended);
    assert!(other.text().starts_with("HTTP/1.1 404 "), "{}", other.text());
}

#[test]
fn what_is_no_request_ends_its_own_connection_only() {
    let (mut venue, at, _unread) = open();
    let mut good = Client::connect(at);
    for bytes in [&b"\x16\x03\x01\x02\x00"[..], b"nonsense\r\n\r\n", &[b'a'; 40_000]] {
        let mut client = Client::connect(at);
        client.send(bytes);
        client.until(&mut venue, "its end", |_, has_ended| has_ended);
        good.received.clear();
        good.send(get("/api/v2/public/test").as_bytes());
        good.until(&mut venue, "an answer", |text, _| text.contains("usDiff"));
    }
}
