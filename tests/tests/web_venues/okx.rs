//! A gateway that follows OKX's books and trades there, against a scripted venue on loopback: a
//! book, an order with its trade told twice, an amendment, a cancel, a gap, an HTTP server that
//! ends its connections, an order whose answer is lost.

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::rc::Rc;

use taut_gateway::{
    FeedInput, FeedSession, FusedClient, Gateway, GatewayConfig, OkxOrderSettings, OkxSecret,
    OkxStream, OkxStreamSettings, OkxWs, Regions, SecondConnection, SessionSettings, StreamAddress,
    Transport,
};
use taut_io::EpollKernel;
use taut_ipc::Segment;
use taut_market_data::okx::OkxFeed;
use taut_market_data::{ChainConfig, NamedInstrument};
use taut_order_entry::okx::login_signature;
use taut_order_entry::sign::HmacKey;
use taut_sys::{Anchoring, Clock};
use taut_testkit::Deadline;
use taut_tests::setup::{VenueAddresses, gateway_config};
use taut_types::{Instrument, InstrumentId, Lots, Nanos, OrderTerms, Price, Qty, Side, Symbol};
use taut_ws::{Connection, Event, WsConfig};

use crate::hands::{Hands, Obedient, Running};

type AtOkx<'m> = Running<'m, EpollKernel, OkxFeed, OkxWs>;

const NAME: &str = "BTC-USDT";
const URL: &str = "ws://localhost/ws/v5/any";
const QUICKLY: (Nanos, Nanos) = (Nanos::from_millis(1), Nanos::from_millis(10));
/// Answers after which the HTTP server ends a connection.
const ANSWERS: u32 = 2;

/// A lot is a tenth of a coin.
fn instrument() -> Instrument {
    let (symbol, tick) = (Symbol::new(NAME.as_bytes()).expect("short"), Price(500_000_000));
    let lot = Qty { mantissa: 1, decimals: 1 };
    Instrument::new(InstrumentId(0), symbol, tick, lot).expect("an instrument")
}

fn buy() -> OrderTerms {
    OrderTerms::limit(InstrumentId(0), Side::Buy, Price(43_000_000_000_000), Lots(3))
}

fn gateway<'m>(
    web: SocketAddrV4,
    http: SocketAddrV4,
    hands: &Rc<RefCell<Hands>>,
    regions: &Regions<'m>,
) -> AtOkx<'m> {
    let config = GatewayConfig {
        instruments: vec![instrument()],
        hot: false,
        heartbeat_interval: Nanos::from_secs(20),
        session: SessionSettings {
            transport: Transport::WebSocket { url: URL.to_owned(), tls: None },
            beside: Some(SecondConnection::new(http, Transport::Http { tls: None })),
            waits_for_venue: true,
            reconnect: QUICKLY,
            ..SessionSettings::default()
        },
        ..gateway_config(VenueAddresses { orders: web })
    };
    let orders = OkxOrderSettings {
        api_key: "me".to_owned(),
        secret: OkxSecret("ABCD".to_owned()),
        passphrase: OkxSecret("words".to_owned()),
        ..OkxOrderSettings::default()
    };
    let orders = OkxWs::new(&config, orders).expect("a key");
    let clock = Clock::new(Anchoring::start().mapping());
    let input = FeedInput::Session(FeedSession {
        stream: StreamAddress::new(SocketAddr::V4(web), URL.to_owned()),
        tls: None,
        session: Box::new(OkxStream::new(&OkxStreamSettings::new(vec![NAME.to_owned()]))),
        reconnect: QUICKLY,
    });
    let named = [NamedInstrument { name: NAME.as_bytes(), instrument: instrument() }];
    let chain =
        ChainConfig { snapshot_interval: Nanos::from_millis(10), ..ChainConfig::new(&named) };
    let feed = OkxFeed::new(&chain, clock.now()).expect("a feed");
    let kernel = EpollKernel::new(16).expect("a kernel");
    let client = FusedClient::new(Obedient(Rc::clone(hands)));
    Gateway::with_handlers(kernel, &config, clock, input, (feed, orders), client, regions)
        .expect("a gateway")
}

/// The venue: whoever connects may follow the book and trade.
struct Venue {
    web: TcpListener,
    http: TcpListener,
    peers: Vec<Peer>,
    askers: Vec<Asker>,
    sequence: u64,
    /// Names of the orders that came.
    orders: Vec<String>,
    /// What was asked for.
    asked: Vec<String>,
}

/// Who speaks over a WebSocket.
struct Peer {
    stream: TcpStream,
    ws: Connection,
    follows: bool,
    is_gone: bool,
}

/// Who asks over HTTP.
struct Asker {
    stream: TcpStream,
    text: String,
    answers: u32,
}

fn listen() -> (TcpListener, SocketAddrV4) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let SocketAddr::V4(at) = listener.local_addr().expect("an address") else { panic!() };
    (listener, at)
}

impl Venue {
    fn poll(&mut self) {
        while let Ok((stream, _)) = self.web.accept() {
            stream.set_nonblocking(true).expect("a socket");
            let ws = Connection::server(&WsConfig::default(), Nanos(1)).expect("a connection");
            self.peers.push(Peer { stream, ws, follows: false, is_gone: false });
        }
        while let Ok((stream, _)) = self.http.accept() {
            stream.set_nonblocking(true).expect("a socket");
            self.askers.push(Asker { stream, text: String::new(), answers: 0 });
        }
        let mut peers = std::mem::take(&mut self.peers);
        for peer in &mut peers {
            for request in peer.receive() {
                self.answer(peer, &request);
            }
            peer.flush();
        }
        peers.retain(|peer| !peer.is_gone);
        self.peers = peers;
        let mut askers = std::mem::take(&mut self.askers);
        askers.retain_mut(|asker| self.answer_http(asker));
        self.askers = askers;
    }

    fn answer(&mut self, peer: &mut Peer, request: &str) {
        let (id, op) = (between(request, "\"id\":\"", "\""), between(request, "op\":\"", "\""));
        self.asked.push(op.to_owned());
        let taken = |name: &str| {
            format!(
                r#"{{"id":"{id}","op":"{op}","data":[{{"clOrdId":"{name}","ordId":"77","tag":"",
                    "ts":"1","sCode":"0","sMsg":""}}],"code":"0","msg":"","inTime":"1"}}"#
            )
        };
        match op {
            "login" => {
                let time: u64 = between(request, "timestamp\":\"", "\"").parse().expect("a time");
                let signature = login_signature(&HmacKey::new(b"ABCD"), time);
                let signature = str::from_utf8(&signature).expect("base64");
                assert_eq!(between(request, "sign\":\"", "\""), signature);
                peer.say(r#"{"event":"login","code":"0","msg":"","connId":"a4d3ae55"}"#);
            }
            "unsubscribe" | "subscribe" => self.subscribe(peer, request, op),
            "order" if self.orders.is_empty() => {
                assert!(request.contains(r#""sz":"0.3","px":"43000""#), "{request}");
                let name = between(request, "clOrdId\":\"", "\"").to_owned();
                // What is pushed comes first, and the trade is told twice.
                peer.say(&push(&order(&name, "live", "0", "")));
                let traded = order(&name, "partially_filled", "0.1", "T1");
                [&traded, &traded].into_iter().for_each(|order| peer.say(&push(order)));
                peer.say(&taken(&name));
                self.orders.push(name);
            }
            // It is taken, it trades, and nobody hears of it.
            "order" => {
                self.orders.push(between(request, "clOrdId\":\"", "\"").to_owned());
                peer.is_gone = true;
            }
            "amend-order" => {
                assert_eq!(between(request, "ordId\":\"", "\""), "77");
                let name = &self.orders[0];
                peer.say(&taken(name));
                let request_id = between(request, "reqId\":\"", "\"");
                let done = format!(r#""reqId":"{request_id}","amendResult":"0""#);
                let amended = order(name, "partially_filled", "0.1", "")
                    .replace(r#""reqId":"","amendResult":"""#, &done)
                    .replace(r#""sz":"0.3""#, r#""sz":"0.5""#);
                peer.say(&push(&amended));
            }
            "cancel-order" => {
                let name = &self.orders[0];
                peer.say(&taken(name));
                peer.say(&push(&order(name, "canceled", "0.1", "")));
            }
            _ => assert_eq!(request, "ping"),
        }
    }

    fn subscribe(&mut self, peer: &mut Peer, request: &str, op: &str) {
        for arg in request.split("{\"channel\":").skip(1) {
            let (arg, _) = arg.split_once('}').expect("an object");
            let arg = format!("{{\"channel\":{arg}}}");
            peer.say(&format!(r#"{{"event":"{op}","arg":{arg},"connId":"a4d3ae55"}}"#));
            if op == "subscribe" && arg.contains("\"books\"") {
                peer.follows = true;
                peer.say(&book("snapshot", -1, self.sequence));
            } else if arg.contains("\"instruments\"") {
                let terms = r#"{"instId":"BTC-USDT","tickSz":"0.5","lotSz":"0.1","state":"live",
                    "instType":"SPOT","minSz":"0.1","ts":"1"}"#;
                peer.say(&format!(r#"{{"arg":{arg},"data":[{terms}]}}"#));
            }
        }
    }

    /// Answers what is asked over HTTP; whether the connection goes on.
    fn answer_http(&mut self, asker: &mut Asker) -> bool {
        let mut bytes = [0; 4_096];
        match asker.stream.read(&mut bytes) {
            Ok(0) => return false,
            Ok(count) => asker.text.push_str(str::from_utf8(&bytes[..count]).expect("a request")),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
        while let Some((request, rest)) = asker.text.split_once("\r\n\r\n") {
            let path = between(request, "GET ", " HTTP/1.1").to_owned();
            let is_public = path == "/api/v5/public/time";
            assert_eq!(request.contains("OK-ACCESS-SIGN"), !is_public, "{request}");
            let data = match path.as_str() {
                "/api/v5/public/time" => r#"{"ts":"1700000000000"}"#.to_owned(),
                "/api/v5/trade/orders-pending" => String::new(),
                _ => {
                    let name = &self.orders[1];
                    assert!(path.ends_with(&format!("instId=BTC-USDT&clOrdId={name}")), "{path}");
                    order(name, "filled", "0.3", "").replace("\"77\"", "\"78\"")
                }
            };
            self.asked.push(path);
            let body = format!(r#"{{"code":"0","msg":"","data":[{data}]}}"#);
            // In two chunks.
            let (one, other) = body.split_at(7);
            let answer = format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{one}\r\n{:x}\r\n\
                 {other}\r\n0\r\n\r\n",
                one.len(),
                other.len()
            );
            asker.stream.write_all(answer.as_bytes()).expect("room");
            asker.text = rest.to_owned();
            asker.answers += 1;
            if asker.answers == ANSWERS {
                return false;
            }
        }
        true
    }

    /// A change of the book behind this one, to whoever follows.
    fn change(&mut self, previous: u64) {
        self.sequence = previous + 5;
        let previous = i64::try_from(previous).expect("small");
        let frame = book("update", previous, self.sequence);
        self.peers.iter_mut().filter(|peer| peer.follows).for_each(|peer| peer.say(&frame));
    }
}

impl Peer {
    /// The requests that came.
    fn receive(&mut self) -> Vec<String> {
        let (mut requests, mut bytes) = (Vec::new(), [0; 4_096]);
        let count = match self.stream.read(&mut bytes) {
            Ok(0) => {
                self.is_gone = true;
                return requests;
            }
            Ok(count) => count,
            Err(error) => {
                self.is_gone |= error.kind() != ErrorKind::WouldBlock;
                return requests;
            }
        };
        let mut rest = &bytes[..count];
        while !rest.is_empty() {
            let handled = self.ws.handle_bytes(Nanos(1), rest);
            match handled.event {
                Some(Event::Requested(_)) => handled.outbox.accept(None, &[]).expect("accepted"),
                Some(Event::Text(text)) => requests.push(text.to_owned()),
                _ => {}
            }
            let consumed = handled.consumed;
            rest = &rest[consumed..];
        }
        requests
    }

    fn say(&mut self, text: &str) {
        self.ws.outbox().text(text).expect("room");
    }

    fn flush(&mut self) {
        let bytes = self.ws.poll_transmit().to_vec();
        if !bytes.is_empty() && !self.is_gone {
            self.is_gone |= self.stream.write_all(&bytes).is_err();
            self.ws.transmitted(bytes.len());
        }
    }
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    text.split_once(from).and_then(|(_, rest)| rest.split_once(to)).map_or("", |(found, _)| found)
}

fn push(order: &str) -> String {
    format!(r#"{{"arg":{{"channel":"orders","instType":"ANY","uid":"7"}},"data":[{order}]}}"#)
}

fn book(action: &str, previous: i64, sequence: u64) -> String {
    let arg = format!(r#"{{"channel":"books","instId":"{NAME}"}}"#);
    let data = format!(
        r#"{{"asks":[["43000.5","100","0","1"]],"bids":[["42999.5","100","0","1"]],
            "ts":"1700000000000","checksum":0,"seqId":{sequence},"prevSeqId":{previous}}}"#
    );
    format!(r#"{{"arg":{arg},"action":"{action}","data":[{data}]}}"#)
}

/// An order of three tenths, of which so much has traded; the last of that just now, with a name.
fn order(name: &str, state: &str, filled: &str, trade: &str) -> String {
    let (fill, price) = if trade.is_empty() { ("0", "") } else { (filled, "43000") };
    format!(
        r#"{{"instType":"SPOT","instId":"{NAME}","ordId":"77","clOrdId":"{name}","side":"buy",
            "px":"43000","sz":"0.3","ordType":"limit","state":"{state}","accFillSz":"{filled}",
            "avgPx":"43000","tradeId":"{trade}","fillSz":"{fill}","fillPx":"{price}",
            "fillFee":"-0.0001","fillFeeCcy":"BTC","execType":"M","reqId":"","amendResult":"",
            "fillTime":"1700000000001","uTime":"1700000000001","code":"0","msg":""}}"#
    )
}

#[test]
fn a_gateway_follows_a_book_trades_reconnects_and_reconciles_at_okx() {
    let segment = Segment::create("okx-gateway", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let hands = Rc::new(RefCell::new(Hands::default()));
    let ((web, web_at), (http, http_at)) = (listen(), listen());
    let (peers, askers, orders, asked) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut venue = Venue { web, http, peers, askers, sequence: 1, orders, asked };
    let mut gateway = gateway(web_at, http_at, &hands, &regions);
    let until = |venue: &mut Venue,
                 gateway: &mut AtOkx<'_>,
                 what: &str,
                 is_so: &dyn Fn(&Venue, &AtOkx<'_>) -> bool| {
        let deadline = Deadline::default();
        while !is_so(venue, gateway) {
            venue.poll();
            gateway.poll().expect("the gateway goes on");
            gateway.housekeeping().expect("the gateway goes on");
            let asked = &venue.asked;
            deadline
                .check(what, || format!("{:?} {asked:?} {:?}", gateway.counters(), hands.borrow()));
        }
    };
    let states = |hands: &Hands| -> Vec<String> {
        hands.heard.iter().map(|update| format!("{:?}", update.state)).collect()
    };
    let filled = |hands: &Hands| hands.heard.last().map_or(Lots::ZERO, |update| update.lots_filled);

    // A book, and an order of which one of three lots trades.
    until(&mut venue, &mut gateway, "ready", &|_, gateway| gateway.is_ready());
    hands.borrow_mut().creates.push(buy());
    let is_accepted = |_: &Venue, _: &AtOkx<'_>| filled(&hands.borrow()) == Lots(1);
    until(&mut venue, &mut gateway, "a fill", &is_accepted);
    let first = hands.borrow().heard[0].id;
    hands.borrow_mut().modifies.push((first, OrderTerms { lots: Lots(5), ..buy() }));
    let is_amended = |_: &Venue, _: &AtOkx<'_>| {
        hands.borrow().heard.last().is_some_and(|update| update.lots_open == Lots(4))
    };
    until(&mut venue, &mut gateway, "an amendment", &is_amended);
    hands.borrow_mut().cancels.push(first);
    let is_over = |_: &Venue, _: &AtOkx<'_>| {
        hands.borrow().heard.last().is_some_and(|update| update.state.is_done())
    };
    until(&mut venue, &mut gateway, "the end of the order", &is_over);
    assert_eq!(states(&hands.borrow()).last().map(String::as_str), Some("Cancelled"));
    assert_eq!((gateway.counters().fills, filled(&hands.borrow())), (1, Lots(1)));

    // A change that is not chained to the last one: the book is asked for again.
    venue.change(1);
    let last = venue.sequence;
    venue.change(last + 100);
    until(&mut venue, &mut gateway, "a stale book", &|_, gateway| !gateway.is_ready());
    until(&mut venue, &mut gateway, "a sound book", &|_, gateway| gateway.is_ready());
    assert!(venue.asked.iter().any(|op| op == "unsubscribe"), "{:?}", venue.asked);

    // The feed's connection ends.
    venue.peers.retain(|peer| !peer.follows);
    until(&mut venue, &mut gateway, "a stale book", &|_, gateway| !gateway.is_ready());
    until(&mut venue, &mut gateway, "a sound book", &|_, gateway| gateway.is_ready());

    // The answer to an order is lost with its connection: it is asked about, never sent again.
    hands.borrow_mut().heard.clear();
    hands.borrow_mut().creates.push(buy());
    until(&mut venue, &mut gateway, "what became of it", &is_over);
    until(&mut venue, &mut gateway, "a session", &|_, gateway| gateway.is_ready());
    let seen = states(&hands.borrow());
    assert!(seen.contains(&"Unknown".to_owned()), "{seen:?}");
    assert_eq!(
        (seen.last().map(String::as_str), filled(&hands.borrow())),
        (Some("Filled"), Lots(3))
    );
    assert_eq!(venue.orders.len(), 2);
    let held: i64 = gateway.positions().map(|position| position.lots.0).sum();
    assert_eq!(held, 4);
    // Two sessions, whose HTTP server ended the connection behind each second answer.
    let asked = |path: &str| venue.asked.iter().filter(|asked| *asked == path).count();
    assert_eq!((asked("login"), asked("/api/v5/trade/orders-pending")), (2, 2));
    assert_eq!(gateway.counters().malformed, 0, "{:?}", gateway.counters());
    assert_eq!(gateway.kill_switch().latched().count(), 0);
}
