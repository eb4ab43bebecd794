//! A gateway that follows Deribit's books and trades there over JSON-RPC, against a scripted venue
//! on loopback: a book, an order with its fill told twice, a cancel, a gap, connections that end,
//! an order whose answer is lost.

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::rc::Rc;

use taut_gateway::{DeribitOrderSettings, Regions};
use taut_ipc::Segment;
use taut_oms::{KillCause, KillScope, Latched};
use taut_testkit::Deadline;
use taut_types::{InstrumentId, Lots, Nanos, OrderTerms, Price, Side};
use taut_ws::{Connection, Event, WsConfig};

use crate::gateway::{AtDeribit, NAME, gateway};
use crate::hands::Hands;

fn buy() -> OrderTerms {
    OrderTerms::limit(InstrumentId(0), Side::Buy, Price(43_000_000_000_000), Lots(3))
}

/// The venue: whoever connects may follow the book and trade.
struct Venue {
    listener: TcpListener,
    peers: Vec<Peer>,
    change_id: u64,
    /// Labels of the orders that came.
    orders: Vec<String>,
    /// Methods that were asked for.
    asked: Vec<String>,
    /// The price step.
    tick: &'static str,
}

struct Peer {
    stream: TcpStream,
    ws: Connection,
    follows: bool,
    is_gone: bool,
}

impl Venue {
    fn listen() -> (Self, SocketAddrV4) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let SocketAddr::V4(at) = listener.local_addr().expect("an address") else { panic!() };
        let (peers, orders, asked) = (Vec::new(), Vec::new(), Vec::new());
        (Self { listener, peers, change_id: 1, orders, asked, tick: "0.5" }, at)
    }

    fn poll(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true).expect("a socket");
            let ws = Connection::server(&WsConfig::default(), Nanos(1)).expect("a connection");
            self.peers.push(Peer { stream, ws, follows: false, is_gone: false });
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
    }

    fn answer(&mut self, peer: &mut Peer, request: &str) {
        let (id, method) =
            (between(request, "\"id\":", ","), between(request, "method\":\"", "\""));
        self.asked.push(method.to_owned());
        let answer = |result: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{result},
                    "usIn":1,"usOut":2,"usDiff":1,"testnet":true}}"#
            )
        };
        let label = between(request, "label\":\"", "\"").to_owned();
        match method {
            "public/auth" => {
                assert_eq!(between(request, "client_id\":\"", "\""), "me");
                peer.say(&answer(
                    r#"{"access_token":"a","refresh_token":"r",
                    "expires_in":900,"scope":"","token_type":"bearer"}"#,
                ));
            }
            "public/subscribe" => {
                peer.say(&answer("[]"));
                peer.follows = true;
                let id = self.change_id;
                peer.say(&book(&format!(r#""type":"snapshot","change_id":{id}"#), "new"));
            }
            "private/subscribe" => peer.say(&answer(r#"["user.changes.any.any.raw"]"#)),
            "private/buy" if self.orders.is_empty() => {
                assert!(
                    request.contains(r#""amount":30,"type":"limit","price":43000,"#),
                    "{request}"
                );
                // The notification comes first, and the trade is told twice.
                let (trade, order) = (trade(&label), order(&label, "open", 10));
                let data = format!(
                    r#"{{"instrument_name":"{NAME}","trades":[{trade}],
                    "orders":[{order}],"positions":[]}}"#
                );
                peer.say(&notification("user.changes.any.any.raw", &data));
                peer.say(&answer(&format!(r#"{{"order":{order},"trades":[{trade}]}}"#)));
                self.orders.push(label);
            }
            // It is taken, it trades, and nobody hears of it.
            "private/buy" => {
                self.orders.push(label);
                peer.is_gone = true;
            }
            "public/get_instrument" => {
                let tick = self.tick;
                peer.say(&answer(&format!(
                    r#"{{"instrument_name":"{NAME}","tick_size":{tick},"min_trade_amount":10,
                    "contract_size":10,"is_active":true}}"#
                )));
            }
            "private/cancel" => {
                assert_eq!(between(request, "order_id\":\"", "\""), "77");
                let order = order(&self.orders[0], "cancelled", 10);
                peer.say(&answer(&order));
            }
            "private/get_open_orders" | "private/get_positions" => peer.say(&answer("[]")),
            "private/get_order_state_by_label" => {
                assert_eq!(label, self.orders[1]);
                let order = order(&label, "filled", 30).replace("\"77\"", "\"78\"");
                peer.say(&answer(&format!("[{order}]")));
            }
            _ => peer.say(&answer("\"ok\"")),
        }
    }

    /// A change of the book behind this one, to whoever follows.
    fn change(&mut self, previous: u64) {
        self.change_id = previous + 5;
        let id = self.change_id;
        let text = format!(r#""type":"change","change_id":{id},"prev_change_id":{previous}"#);
        let frame = book(&text, "change");
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

fn notification(channel: &str, data: &str) -> String {
    let params = format!(r#"{{"channel":"{channel}","data":{data}}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"subscription","params":{params}}}"#)
}

fn book(text: &str, action: &str) -> String {
    let levels = |price: &str| format!(r#"[["{action}",{price},100.0]]"#);
    let (bids, asks) = (levels("42999.5"), levels("43000.5"));
    let data = format!(
        r#"{{{text},"timestamp":1554883365123,"instrument_name":"{NAME}",
            "bids":{bids},"asks":{asks}}}"#
    );
    notification(&format!("book.{NAME}.100ms"), &data)
}

fn order(label: &str, state: &str, filled: u32) -> String {
    format!(
        r#"{{"order_id":"77","label":"{label}","instrument_name":"{NAME}","direction":"buy",
            "order_state":"{state}","order_type":"limit","price":43000,"amount":30,
            "filled_amount":{filled},"average_price":43000,"replaced":false,
            "last_update_timestamp":1554883365123}}"#
    )
}

fn trade(label: &str) -> String {
    format!(
        r#"{{"trade_id":"T1","trade_seq":5,"order_id":"77","label":"{label}",
            "instrument_name":"{NAME}","direction":"buy","state":"open","price":43000,"amount":10,
            "fee":1e-7,"timestamp":1554883365124}}"#
    )
}

#[test]
fn a_gateway_follows_a_book_trades_reconnects_and_reconciles_at_deribit() {
    let segment = Segment::create("deribit-gateway", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let hands = Rc::new(RefCell::new(Hands::default()));
    let (mut venue, at) = Venue::listen();
    let settings = DeribitOrderSettings::default();
    let mut gateway = gateway(at, ("me", "ABCD"), settings, &hands, &regions);
    let until = |venue: &mut Venue,
                 gateway: &mut AtDeribit<'_>,
                 what: &str,
                 is_so: &dyn Fn(&Venue, &AtDeribit<'_>) -> bool| {
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

    // A book, and an order of which one of three contracts trades.
    until(&mut venue, &mut gateway, "ready", &|_, gateway| gateway.is_ready());
    hands.borrow_mut().creates.push(buy());
    let is_accepted = |_: &Venue, _: &AtDeribit<'_>| filled(&hands.borrow()) == Lots(1);
    until(&mut venue, &mut gateway, "a fill", &is_accepted);
    // The answer with the same trade is heard before the cancel's.
    let first = hands.borrow().heard[0].id;
    hands.borrow_mut().cancels.push(first);
    let is_over = |_: &Venue, _: &AtDeribit<'_>| {
        hands.borrow().heard.last().is_some_and(|update| update.state.is_done())
    };
    until(&mut venue, &mut gateway, "the end of the order", &is_over);
    assert_eq!(states(&hands.borrow()).last().map(String::as_str), Some("Cancelled"));
    assert_eq!((gateway.counters().fills, filled(&hands.borrow())), (1, Lots(1)));

    // A change that is not chained to the last one: the book is asked for again.
    venue.change(1);
    let last = venue.change_id;
    venue.change(last + 100);
    until(&mut venue, &mut gateway, "a stale book", &|_, gateway| !gateway.is_ready());
    until(&mut venue, &mut gateway, "a sound book", &|_, gateway| gateway.is_ready());
    assert!(venue.asked.iter().any(|method| method == "public/unsubscribe"), "{:?}", venue.asked);

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

    // The venue changes the price step: the instrument is traded no more.
    assert_eq!(gateway.kill_switch().latched().count(), 0);
    venue.tick = "1";
    venue.peers.retain(|peer| !peer.follows);
    until(&mut venue, &mut gateway, "another price step", &|_, gateway| {
        gateway.kill_switch().latched().next().is_some()
    });
    let (scope, cause) = (KillScope::Instrument(InstrumentId(0)), KillCause::ReferenceData);
    assert!(gateway.kill_switch().latched().eq([Latched { scope, cause }]));
    hands.borrow_mut().heard.clear();
    hands.borrow_mut().creates.push(buy());
    until(&mut venue, &mut gateway, "a refusal", &is_over);
    assert_eq!((states(&hands.borrow()), venue.orders.len()), (vec!["Rejected".to_owned()], 2));
    assert_eq!(gateway.counters().malformed, 0, "{:?}", gateway.counters());
}
