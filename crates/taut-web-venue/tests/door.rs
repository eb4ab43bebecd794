//! The door over real sockets: HTTP kept alive, pipelined and in pieces, WebSocket on the same
//! port, and what is neither.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use base64ct::{Base64, Encoding};
use sha2::{Digest, Sha256};
use taut_fix::{CompId, Now};
use taut_sys::{Address, DatagramOptions, Socket, StreamOptions, monotonic, utc};
use taut_testkit::{DEADLINE, until};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Symbol};
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
    open_with(DoorConfig { connections_max: 8, ..DoorConfig::default() })
}

/// The same with a door of these limits; behind the port of HTTP it has one of FIX.
fn open_with(door: DoorConfig) -> (OpenVenue, SocketAddr, Socket) {
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
    let door = DoorConfig { plain: vec![local], fix: vec![local], ..door };
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

    /// As soon as it is there the venue works, so that it is let in before the next one comes.
    fn enter(venue: &mut OpenVenue, at: SocketAddr) -> Self {
        let client = Self::connect(at);
        turn(venue);
        client
    }

    /// Asks once, and has the answer.
    fn ask(&mut self, venue: &mut OpenVenue) {
        self.received.clear();
        self.send(get("/api/v2/public/test").as_bytes());
        self.until(venue, "an answer", |text, has_ended| {
            assert!(!has_ended, "it was cut off");
            text.contains("usDiff")
        });
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
            turn(venue);
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

fn turn(venue: &mut OpenVenue) {
    venue.poll(Now { mono: monotonic(), utc: utc() }).expect("a venue that works");
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
        turn(&mut venue);
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

#[test]
fn an_idle_client_gives_way_to_a_newcomer_and_ends_in_its_time() {
    let (mut venue, at, _unread) = open();
    // Four of eight are for one address.
    let mut idle: Vec<Client> = (0..4)
        .map(|_| {
            let mut client = Client::enter(&mut venue, at);
            client.ask(&mut venue);
            client
        })
        .collect();
    idle[0].ask(&mut venue);
    Client::enter(&mut venue, at).ask(&mut venue);
    idle[1].until(&mut venue, "the end of who was idle for longest", |_, has_ended| has_ended);
    for at in [0, 2, 3] {
        idle[at].ask(&mut venue);
    }

    let idle_timeout = Nanos::from_millis(200);
    let limits = DoorConfig { connections_max: 8, idle_timeout, ..DoorConfig::default() };
    let (mut venue, at, _unread) = open_with(limits);
    let mut client = Client::enter(&mut venue, at);
    let start = monotonic();
    client.ask(&mut venue);
    client.until(&mut venue, "the end of who is idle", |_, has_ended| has_ended);
    assert!(monotonic() - start >= idle_timeout, "it had its time");
}

/// A FIX 4.4 message of a client.
fn fix(kind: &str, number: u64, more: &str) -> Vec<u8> {
    let body = format!(
        "35={kind}\x0149=CLIENT\x0156=DERIBITSERVER\x0134={number}\x01\
         52=20260926-10:00:00.000\x01{more}"
    );
    let text = format!("8=FIX.4.4\x019={}\x01{body}", body.len());
    let sum = text.bytes().fold(0u8, u8::wrapping_add);
    format!("{text}10={sum:03}\x01").into_bytes()
}

/// A Logon that is right, or has another's password.
fn logon(secret: &[u8]) -> Vec<u8> {
    let raw = format!("{}.{}", utc().0 / 1_000_000, "A".repeat(44));
    let hash = Sha256::new().chain_update(raw.as_bytes()).chain_update(secret).finalize();
    let password = Base64::encode_string(&hash);
    let names = format!("553=one\x01554={password}\x01");
    fix("A", 1, &format!("98=0\x01108=30\x0195={}\x0196={raw}\x01{names}", raw.len()))
}

#[test]
fn who_speaks_no_fix_or_is_refused_gives_way_and_a_session_that_is_logged_on_stays() {
    let (mut venue, _, _unread) = open();
    let at = venue.observer().addresses()[1];
    let mut member = Client::enter(&mut venue, at);
    member.send(&logon(b"ABCD"));
    member.until(&mut venue, "its Logon", |text, has_ended| {
        assert!(!has_ended, "it was refused");
        text.contains("\x0135=A\x01")
    });
    let cut = &logon(b"ABCD")[..60];
    let begun: [&[u8]; 4] = [b"8", b"8=FIX.4.4\x019=60000\x01", cut, &logon(b"wrong")];
    let mut strangers = Vec::new();
    for bytes in begun.iter().cycle().take(40) {
        let mut stranger = Client::enter(&mut venue, at);
        stranger.send(bytes);
        turn(&mut venue);
        strangers.push(stranger);
    }
    let (_, counters) = venue.observer().admissions().nth(1).expect("the port of FIX");
    assert!(counters.proved == 1 && counters.evicted >= 20, "{counters:?}");
    member.received.clear();
    member.send(&fix("1", 2, "112=here\x01"));
    member.until(&mut venue, "its heartbeat", |text, has_ended| {
        assert!(!has_ended, "it was cut off");
        text.contains("112=here")
    });
}

#[test]
fn those_who_say_nothing_take_no_place_from_who_asks() {
    let (mut venue, at, _unread) = open();
    let mut good = Client::enter(&mut venue, at);
    let text = get("/api/v2/public/test");
    let (first, last) = text.split_at(text.len() / 2);
    good.send(first.as_bytes());
    let silent: Vec<_> = (0..40).map(|_| Client::enter(&mut venue, at)).collect();
    // Its request was not whole meanwhile.
    good.send(last.as_bytes());
    good.until(&mut venue, "an answer", |text, has_ended| {
        assert!(!has_ended, "it was cut off");
        text.contains("usDiff")
    });
    assert_eq!(silent.len(), 40);
}

#[test]
fn who_does_not_read_its_answers_is_not_read_from_and_gets_all_of_them_when_it_reads() {
    let (mut venue, at, _unread) = open();
    let mut client = Client::enter(&mut venue, at);
    let request = get("/api/v2/public/get_instruments?currency=BTC");
    let asked = 20_000;
    let text = request.repeat(asked);
    let mut unsent = text.as_bytes();
    let mut turns = 0;
    // Until nothing is taken from it for a while; the answers are 25 MB, more than the kernel has.
    while turns < 200 {
        match client.stream.write(unsent) {
            Ok(count @ 1..) => (unsent, turns) = (&unsent[count..], 0),
            _ => turns += 1,
        }
        turn(&mut venue);
    }
    assert!(venue.observer().memory_bytes() < 2 << 20, "{}", venue.observer().memory_bytes());
    let mut count = 0;
    until("all answers", DEADLINE, || {
        if let Ok(count) = client.stream.write(unsent) {
            unsent = &unsent[count..];
        }
        turn(&mut venue);
        let mut room = vec![0; 1 << 20];
        if let Ok(read) = client.stream.read(&mut room) {
            assert!(read > 0, "cut off after {count} answers");
            client.received.extend_from_slice(&room[..read]);
            count += client.text().matches("HTTP/1.1 200").count();
            let kept = client.received.len().saturating_sub(11);
            client.received.drain(..kept);
        }
        count >= asked
    });
}

#[test]
fn over_the_memory_of_all_who_has_most_of_it_is_cut_off() {
    let memory_bytes_max = 1 << 20;
    let limits = DoorConfig { connections_max: 8, memory_bytes_max, ..DoorConfig::default() };
    let (mut venue, at, _unread) = open_with(limits);
    let mut good = Client::enter(&mut venue, at);
    good.ask(&mut venue);
    let mut deaf: Vec<_> = (0..3).map(|_| Client::enter(&mut venue, at)).collect();
    let text = get("/api/v2/public/get_instruments?currency=BTC").repeat(100);
    until("somebody is cut off", DEADLINE, || {
        for client in &mut deaf {
            let _ = client.stream.write(text.as_bytes());
        }
        turn(&mut venue);
        assert!(venue.observer().memory_bytes() <= memory_bytes_max);
        venue.observer().cut_off() > 0
    });
    good.ask(&mut venue);
}
