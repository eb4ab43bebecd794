//! Sockets that exchange messages (RFC 28, 30, 31), by the names of what libzmq's own tests look
//! at.

use taut_testkit::{Draw, for_each_seed};
use taut_types::Nanos;
use taut_zmtp::{
    CloseReason, Limit, LinkId, Misuse, Security, Socket, SocketConfig, SocketEvent, SocketType,
    ZmtpError,
};

use crate::wire::{NOW, seed};

type Parts = Vec<Vec<u8>>;

const TURN: ZmtpError = ZmtpError::Misuse(Misuse::Turn);
const FULL: ZmtpError = ZmtpError::Limit(Limit::HighWaterMark);

/// Sockets, and wires between them.
#[derive(Default)]
struct Net {
    sockets: Vec<Socket>,
    wires: Vec<Wire>,
    closed: Vec<CloseReason>,
}

/// Both ends of a wire: the socket, its link, and what came and was not handled.
struct Wire {
    ends: [(usize, LinkId, Vec<u8>); 2],
    is_open: bool,
}

impl Net {
    fn socket(&mut self, config: SocketConfig) -> usize {
        self.sockets.push(Socket::new(config, 41).expect("a socket"));
        self.sockets.len() - 1
    }

    fn of(&mut self, socket_type: SocketType) -> usize {
        self.socket(SocketConfig::new(socket_type))
    }

    fn connect(&mut self, one: usize, other: usize) -> usize {
        let mut end = |at: usize| {
            let number = self.wires.len() as u8 * 2 + u8::from(at == other);
            let link = self.sockets[at].add(NOW, seed(number), None).expect("a link");
            (at, link, Vec::new())
        };
        let ends = [end(one), end(other)];
        self.wires.push(Wire { ends, is_open: true });
        let wire = self.wires.len() - 1;
        self.run();
        wire
    }

    fn cut(&mut self, wire: usize) {
        self.wires[wire].is_open = false;
        for (at, link, _) in &self.wires[wire].ends {
            self.sockets[*at].remove(*link);
        }
    }

    /// Passes bytes until none is left, at most `step` at a time.
    fn run_in(&mut self, step: usize) {
        loop {
            let mut passed = 0;
            for wire in 0..self.wires.len() {
                for end in 0..2 {
                    passed += self.pass(wire, end, step);
                }
            }
            for at in 0..self.sockets.len() {
                while let Some((link, reason)) = self.sockets[at].handle_timeout(NOW) {
                    self.closed.push(reason);
                    let over = self.wires.iter().position(|wire| {
                        wire.is_open && wire.ends.iter().any(|end| (end.0, end.1) == (at, link))
                    });
                    self.cut(over.expect("its wire"));
                    passed += 1;
                }
            }
            if passed == 0 {
                return;
            }
        }
    }

    fn run(&mut self) {
        self.run_in(usize::MAX);
    }

    /// From one end to the other.
    fn pass(&mut self, wire: usize, end: usize, step: usize) -> usize {
        if !self.wires[wire].is_open {
            return 0;
        }
        let (from, link, _) = self.wires[wire].ends[end];
        let bytes = self.sockets[from].poll_transmit(link);
        let bytes = bytes[..bytes.len().min(step)].to_vec();
        self.sockets[from].transmitted(link, bytes.len());
        let (to, link, came) = &mut self.wires[wire].ends[1 - end];
        let (to, link) = (*to, *link);
        came.extend(&bytes);
        let (mut at, mut handled_bytes) = (0, 0);
        let mut came = std::mem::take(came);
        while self.sockets[to].wants_bytes(link) {
            let handled = self.sockets[to].handle_bytes(link, NOW, &came[at..]);
            at += handled.consumed;
            handled_bytes += handled.consumed;
            if let Some(SocketEvent::Closed(reason)) = handled.event {
                self.closed.push(reason);
                self.cut(wire);
                return 1;
            }
            if handled.consumed == 0 {
                break;
            }
        }
        came.drain(..at);
        self.wires[wire].ends[1 - end].2 = came;
        bytes.len() + handled_bytes
    }

    fn send(&mut self, at: usize, parts: &[&str]) -> Result<(), ZmtpError> {
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        let sent = self.sockets[at].send(&parts).map(drop);
        self.run();
        sent
    }

    fn receive(&mut self, at: usize) -> Result<Option<Parts>, ZmtpError> {
        let message = self.sockets[at].receive()?;
        let message = message.map(|message| {
            let own = message.routing_id().into_iter().chain(message.parts());
            own.map(<[u8]>::to_vec).collect()
        });
        self.run();
        Ok(message)
    }

    fn texts(&mut self, at: usize) -> Option<Vec<String>> {
        let message = self.receive(at).expect("its turn")?;
        Some(message.iter().map(|part| String::from_utf8_lossy(part).into_owned()).collect())
    }
}

fn named(socket_type: SocketType, name: &str) -> SocketConfig {
    let mut config = SocketConfig::new(socket_type);
    config.connection.routing_id = name.into();
    config
}

#[test]
fn req_and_rep_take_turns_and_everything_else_is_an_error_of_state() {
    let mut net = Net::default();
    let (req, rep) = (net.of(SocketType::Req), net.of(SocketType::Rep));
    assert_eq!(net.send(req, &["no peer"]), Err(FULL));
    net.connect(req, rep);
    for round in 0..3 {
        assert_eq!(net.receive(req), Err(TURN), "it has not asked");
        assert_eq!(net.send(rep, &["unasked"]), Err(TURN));
        assert_eq!(net.receive(rep), Ok(None));
        let question = format!("question {round}");
        assert_eq!(net.send(req, &[&question, "", "of three parts"]), Ok(()));
        assert_eq!(net.send(req, &["again"]), Err(TURN), "it was not answered");
        assert_eq!(net.receive(req), Ok(None));
        let asked = net.texts(rep).expect("the question");
        assert_eq!(asked, [question.as_str(), "", "of three parts"]);
        assert_eq!(net.receive(rep), Err(TURN), "it has not answered");
        assert_eq!(net.send(rep, &["answer"]), Ok(()));
        assert_eq!(net.texts(req), Some(vec!["answer".to_owned()]));
    }
    let empty = ZmtpError::Misuse(Misuse::EmptyMessage);
    assert_eq!(net.send(req, &[]), Err(empty));
}

#[test]
fn req_asks_its_peers_in_turn_and_hears_nobody_but_who_was_asked() {
    let mut net = Net::default();
    let req = net.of(SocketType::Req);
    let reps: Vec<usize> = (0..3).map(|_| net.of(SocketType::Rep)).collect();
    for rep in &reps {
        net.connect(req, *rep);
    }
    for round in 0..6 {
        net.send(req, &["?"]).expect("sent");
        for (at, rep) in reps.iter().enumerate() {
            let asked = net.texts(*rep).is_some();
            assert_eq!(asked, at == round % 3, "round {round}");
        }
        net.send(reps[round % 3], &["!"]).expect("answered");
        assert!(net.texts(req).is_some());
    }
    // A ROUTER may send what nobody asked for: it is not the answer.
    let mut net = Net::default();
    let (req, router) = (net.socket(named(SocketType::Req, "asker")), net.of(SocketType::Router));
    net.connect(req, router);
    net.send(router, &["asker", "", "before it asked"]).expect("sent");
    net.send(req, &["?"]).expect("asked");
    assert_eq!(net.texts(router).expect("a question"), ["asker", "", "?"]);
    net.send(router, &["asker", "no envelope"]).expect("sent");
    net.send(router, &["asker", "", "the answer"]).expect("sent");
    assert_eq!(net.texts(req), Some(vec!["the answer".to_owned()]));
    let counters = net.sockets[req].counters();
    assert_eq!((counters.unwanted, counters.malformed), (1, 1));
}

#[test]
fn req_relaxed_asks_anew_and_correlated_takes_the_answer_to_the_last_question_alone() {
    for correlates in [false, true] {
        let mut net = Net::default();
        let config = SocketConfig {
            is_req_relaxed: true,
            correlates_req: correlates,
            ..SocketConfig::new(SocketType::Req)
        };
        let (req, router) = (net.socket(config), net.of(SocketType::Router));
        net.connect(req, router);
        net.send(req, &["first"]).expect("asked");
        net.send(req, &["second"]).expect("asked anew");
        let first = net.receive(router).expect("its turn").expect("a question");
        let second = net.receive(router).expect("its turn").expect("another");
        assert_eq!(first.len(), if correlates { 4 } else { 3 }, "{first:?}");
        // Both are answered, the old question first.
        for (question, answer) in [(&first, "old"), (&second, "new")] {
            let mut parts: Vec<&[u8]> = question.iter().map(Vec::as_slice).collect();
            *parts.last_mut().expect("a part") = answer.as_bytes();
            net.sockets[router].send(&parts).expect("answered");
            net.run();
        }
        let expected = if correlates { "new" } else { "old" };
        assert_eq!(net.texts(req), Some(vec![expected.to_owned()]), "correlates: {correlates}");
    }
}

#[test]
fn req_whose_answerer_leaves_says_so_and_may_be_given_up() {
    let mut net = Net::default();
    let (req, rep) = (net.of(SocketType::Req), net.of(SocketType::Rep));
    let wire = net.connect(req, rep);
    net.send(req, &["?"]).expect("asked");
    assert!(!net.sockets[req].is_answer_lost());
    net.cut(wire);
    assert!(net.sockets[req].is_answer_lost());
    assert_eq!(net.receive(req), Ok(None));
    assert_eq!(net.send(req, &["?"]), Err(TURN));
    net.sockets[req].give_up();
    net.connect(req, rep);
    // The question of before was whole: the REP has it still, and its answer goes nowhere.
    assert_eq!(net.texts(rep), Some(vec!["?".to_owned()]));
    net.send(rep, &["to nobody"]).expect("dropped");
    assert_eq!(net.sockets[rep].counters().unroutable, 1);
    net.send(req, &["anew"]).expect("asked");
    assert_eq!(net.texts(rep), Some(vec!["anew".to_owned()]));
    // An answer that is here counts, though its sender has left.
    net.send(rep, &["last words"]).expect("answered");
    net.cut(1);
    assert!(!net.sockets[req].is_answer_lost());
    assert_eq!(net.texts(req), Some(vec!["last words".to_owned()]));
    assert_eq!(net.sockets[req].established_count(), 0);
}

#[test]
fn rep_keeps_the_envelope_and_skips_what_has_none() {
    let mut net = Net::default();
    let (dealer, rep) = (net.of(SocketType::Dealer), net.of(SocketType::Rep));
    net.connect(dealer, rep);
    net.send(dealer, &["no delimiter"]).expect("sent");
    net.send(dealer, &["nothing behind it", ""]).expect("sent");
    net.send(dealer, &["a", "b", "", "body", "", "more"]).expect("sent");
    assert_eq!(net.texts(rep).expect("the third"), ["body", "", "more"]);
    assert_eq!(net.sockets[rep].counters().malformed, 2);
    net.send(rep, &["answer"]).expect("sent");
    assert_eq!(net.texts(dealer).expect("its envelope"), ["a", "b", "", "answer"]);
}

#[test]
fn dealer_and_push_send_in_turn_pull_and_rep_receive_in_turn() {
    for (sender, receiver) in
        [(SocketType::Push, SocketType::Pull), (SocketType::Dealer, SocketType::Dealer)]
    {
        let mut net = Net::default();
        let from = net.of(sender);
        let to: Vec<usize> = (0..3).map(|_| net.of(receiver)).collect();
        for to in &to {
            net.connect(from, *to);
        }
        for number in 0..9 {
            net.send(from, &[&format!("{number}")]).expect("sent");
        }
        for (at, to) in to.iter().enumerate() {
            let got: Vec<String> = (0..3).filter_map(|_| net.texts(*to)).flatten().collect();
            let expected: Vec<String> = (0..3).map(|n| format!("{}", at + 3 * n)).collect();
            assert_eq!(got, expected, "{sender:?}");
        }
    }
    let mut net = Net::default();
    let pull = net.of(SocketType::Pull);
    let pushers: Vec<usize> = (0..3).map(|_| net.of(SocketType::Push)).collect();
    for (at, push) in pushers.iter().enumerate() {
        net.connect(*push, pull);
        // One sends much before the others send anything.
        for number in 0..(9 - 3 * at) {
            net.send(*push, &[&format!("{at}{number}")]).expect("sent");
        }
    }
    let got: Vec<String> = (0..9).filter_map(|_| net.texts(pull)).flatten().collect();
    assert_eq!(got, ["00", "10", "20", "01", "11", "21", "02", "12", "22"]);
    let other_way = ZmtpError::Misuse(Misuse::SocketType);
    assert_eq!(net.send(pull, &["x"]), Err(other_way));
    assert_eq!(net.receive(pushers[0]), Err(other_way));
}

#[test]
fn router_names_who_sent_and_sends_to_whom_it_names() {
    let mut net = Net::default();
    let router = net.of(SocketType::Router);
    let one = net.socket(named(SocketType::Dealer, "one"));
    let nameless = net.of(SocketType::Dealer);
    net.connect(one, router);
    net.connect(nameless, router);
    net.send(one, &["from one"]).expect("sent");
    net.send(nameless, &["from", "another"]).expect("sent");
    assert_eq!(net.texts(router).expect("a message"), ["one", "from one"]);
    let message = net.receive(router).expect("its turn").expect("a message");
    assert_eq!((message[0].len(), message[0][0]), (5, 0), "a name of ours");
    assert_eq!(message[1..], [b"from".to_vec(), b"another".to_vec()]);
    let answer: Vec<&[u8]> = vec![&message[0], b"", b"back"];
    net.sockets[router].send(&answer).expect("sent");
    net.run();
    assert_eq!(net.texts(nameless).expect("a message"), ["", "back"]);
    assert_eq!(net.texts(one), None);
    // One that nobody has, and one without a message.
    net.send(router, &["nobody", "x"]).expect("dropped");
    assert_eq!(net.sockets[router].counters().unroutable, 1);
    assert_eq!(net.send(router, &["one"]), Err(ZmtpError::Misuse(Misuse::EmptyMessage)));
}

#[test]
fn router_mandatory_says_that_it_cannot_deliver_and_that_there_is_no_room() {
    let mut net = Net::default();
    let config = SocketConfig {
        is_router_mandatory: true,
        send_hwm: 2,
        ..SocketConfig::new(SocketType::Router)
    };
    let router = net.socket(config);
    let unroutable = Err(ZmtpError::Misuse(Misuse::Unroutable));
    assert_eq!(net.send(router, &["one", "x"]), unroutable);
    let one = net.socket(named(SocketType::Dealer, "one"));
    let wire = net.connect(one, router);
    assert_eq!(net.send(router, &["one", "x"]), Ok(()));
    // Nothing is passed on: two wait, and a third has no room.
    let parts: [&[u8]; 2] = [b"one", b"y"];
    assert!(net.sockets[router].send(&parts).is_ok());
    assert!(net.sockets[router].send(&parts).is_ok());
    assert_eq!(net.sockets[router].send(&parts), Err(FULL));
    assert_eq!(net.sockets[router].waiting_count(), 2);
    net.run();
    assert_eq!(net.sockets[router].waiting_count(), 0);
    net.sockets[router].send(&parts).expect("room");
    net.cut(wire);
    assert_eq!(net.sockets[router].counters().lost, 1);
    assert_eq!(net.send(router, &["one", "x"]), unroutable);
}

#[test]
fn router_refuses_a_second_peer_of_a_name_or_hands_the_name_over() {
    for has_handover in [false, true] {
        let mut net = Net::default();
        let config = SocketConfig {
            has_router_handover: has_handover,
            ..SocketConfig::new(SocketType::Router)
        };
        let router = net.socket(config);
        let old = net.socket(named(SocketType::Dealer, "same"));
        let new = net.socket(named(SocketType::Dealer, "same"));
        net.connect(old, router);
        net.connect(new, router);
        let reason =
            if has_handover { CloseReason::HandedOver } else { CloseReason::SameRoutingId };
        assert_eq!(net.closed, [reason]);
        net.send(router, &["same", "x"]).expect("sent");
        let (has, has_not) = if has_handover { (new, old) } else { (old, new) };
        assert_eq!(net.texts(has), Some(vec!["x".to_owned()]));
        assert_eq!(net.texts(has_not), None);
        assert_eq!(net.sockets[router].counters().refused, u64::from(!has_handover));
    }
    // One that has left leaves its name, and one that is handed over keeps none.
    let mut net = Net::default();
    let router = net.of(SocketType::Router);
    let old = net.socket(named(SocketType::Dealer, "same"));
    let wire = net.connect(old, router);
    net.send(old, &["unread"]).expect("sent");
    net.cut(wire);
    let new = net.socket(named(SocketType::Dealer, "same"));
    net.connect(new, router);
    assert_eq!(net.texts(router).expect("of the old one"), ["same", "unread"]);
    net.send(router, &["same", "x"]).expect("sent");
    assert_eq!(net.texts(new), Some(vec!["x".to_owned()]));
    assert!(net.closed.is_empty());
    // A name of those that are given cannot be taken.
    let mut forged = SocketConfig::new(SocketType::Dealer);
    forged.connection.routing_id = vec![0, 0, 0, 0, 42];
    assert!(Socket::new(forged, 1).is_err());
}

#[test]
fn pair_has_one_peer_and_another_is_closed_until_it_leaves() {
    let mut net = Net::default();
    let (pair, first, second) =
        (net.of(SocketType::Pair), net.of(SocketType::Pair), net.of(SocketType::Pair));
    let wire = net.connect(pair, first);
    net.send(pair, &["there"]).expect("sent");
    net.send(first, &["and", "back"]).expect("sent");
    assert_eq!(net.texts(first), Some(vec!["there".to_owned()]));
    assert_eq!(net.texts(pair).expect("a message"), ["and", "back"]);
    net.connect(second, pair);
    assert_eq!(net.closed, [CloseReason::SecondPeer]);
    assert_eq!(net.send(second, &["nobody"]), Err(FULL));
    net.cut(wire);
    net.connect(second, pair);
    net.send(second, &["now"]).expect("sent");
    assert_eq!(net.texts(pair), Some(vec!["now".to_owned()]));
}

#[test]
fn at_the_mark_a_sender_waits_skips_who_is_full_or_drops_by_its_type() {
    let marked = |socket_type| SocketConfig { send_hwm: 3, ..SocketConfig::new(socket_type) };
    for (sender, receiver) in [
        (SocketType::Push, SocketType::Pull),
        (SocketType::Dealer, SocketType::Dealer),
        (SocketType::Pair, SocketType::Pair),
    ] {
        let mut net = Net::default();
        let (from, to) = (net.socket(marked(sender)), net.of(receiver));
        net.connect(from, to);
        let sent = (0..10u8).filter(|n| net.sockets[from].send(&[&[*n]]).is_ok()).count();
        assert_eq!(sent, 3, "{sender:?}");
        net.run();
        assert!(net.sockets[from].send(&[b"room again"]).is_ok());
    }
    // Who is full is left out of the turn.
    let mut net = Net::default();
    let from = net.socket(marked(SocketType::Push));
    let (slow, quick) = (net.of(SocketType::Pull), net.of(SocketType::Pull));
    net.connect(from, slow);
    let wire = net.connect(from, quick);
    for number in 0..20u8 {
        net.sockets[from].send(&[&[number]]).expect("one has room");
        net.pass(wire, 0, usize::MAX);
    }
    let got = std::iter::from_fn(|| net.sockets[quick].receive().expect("its turn").map(|_| ()));
    assert_eq!(got.count(), 17);
    // A ROUTER drops, and counts.
    let mut net = Net::default();
    let router = net.socket(marked(SocketType::Router));
    let dealer = net.socket(named(SocketType::Dealer, "it"));
    net.connect(router, dealer);
    for _ in 0..5 {
        net.sockets[router].send(&[b"it", b"x"]).expect("sent or dropped");
    }
    let counters = net.sockets[router].counters();
    assert_eq!((counters.sent, counters.dropped), (3, 2));
}

#[test]
fn a_receiver_at_its_mark_does_not_read_and_loses_nothing() {
    let mut net = Net::default();
    let config = SocketConfig { receive_hwm: 4, ..SocketConfig::new(SocketType::Pull) };
    let (push, pull) = (net.of(SocketType::Push), net.socket(config));
    net.connect(push, pull);
    for number in 0..50u8 {
        net.sockets[push].send(&[&[number]]).expect("sent");
    }
    net.run();
    for number in 0..50u8 {
        assert_eq!(net.receive(pull), Ok(Some(vec![vec![number]])));
    }
    assert_eq!(net.receive(pull), Ok(None));
}

#[test]
fn who_has_most_of_the_memory_is_shed_also_when_it_has_left() {
    let mut net = Net::default();
    let pull = net.of(SocketType::Pull);
    let (small, large) = (net.of(SocketType::Push), net.of(SocketType::Push));
    net.connect(small, pull);
    let wire = net.connect(large, pull);
    net.send(small, &["small"]).expect("sent");
    for _ in 0..3 {
        net.sockets[large].send(&[&[7; 1_000]]).expect("sent");
    }
    net.run();
    net.cut(wire);
    assert_eq!(net.sockets[pull].queued_bytes(), 3_005);
    assert!(net.sockets[pull].shed().is_some());
    assert_eq!(net.sockets[pull].queued_bytes(), 5);
    assert_eq!(net.texts(pull), Some(vec!["small".to_owned()]));
    assert_eq!((net.receive(pull), net.sockets[pull].shed()), (Ok(None), None));
    assert_eq!(net.sockets[pull].counters().shed, 1);
}

#[test]
fn any_split_of_the_wire_and_any_security_gives_the_same_messages() {
    let server = taut_zmtp::SecretKey::new([9; 32]);
    let client = taut_zmtp::SecretKey::new([8; 32]);
    for_each_seed(1..24, |number, mut random| {
        let mut net = Net::default();
        let (mut near, mut far) =
            (named(SocketType::Dealer, "near"), SocketConfig::new(SocketType::Router));
        if number % 2 == 0 {
            near.connection.security =
                Security::CurveClient { secret: client.clone(), server: server.public() };
            far.connection.security =
                Security::CurveServer { secret: server.clone(), clients: None };
        }
        let (near, far) = (net.socket(near), net.socket(far));
        net.connect(near, far);
        let step = random.usize(1..400);
        for _ in 0..20 {
            let mut message: Parts =
                (0..=random.below(4)).map(|_| vec![7; random.below(700) as usize]).collect();
            let parts: Vec<&[u8]> = message.iter().map(Vec::as_slice).collect();
            net.sockets[near].send(&parts).expect("sent");
            net.run_in(step);
            message.insert(0, b"near".to_vec());
            let got = net.receive(far).expect("its turn");
            assert_eq!(got.as_ref(), Some(&message));
            let parts: Vec<&[u8]> = message.iter().map(Vec::as_slice).collect();
            net.sockets[far].send(&parts).expect("sent");
            net.run_in(step);
            message.remove(0);
            assert_eq!(net.receive(near), Ok(Some(message)));
        }
    });
}

#[test]
fn sockets_that_do_not_go_together_are_refused_and_limits_hold() {
    for (one, other) in [
        (SocketType::Req, SocketType::Dealer),
        (SocketType::Rep, SocketType::Router),
        (SocketType::Pair, SocketType::Router),
        (SocketType::Push, SocketType::Push),
    ] {
        let mut net = Net::default();
        let (one, other) = (net.of(one), net.of(other));
        net.connect(one, other);
        assert!(!net.closed.is_empty());
        assert_eq!(net.sockets[one].established_count(), 0);
    }
    assert!(Socket::new(SocketConfig::new(SocketType::Pub), 1).is_err());
    let none = SocketConfig { send_hwm: 0, ..SocketConfig::new(SocketType::Req) };
    assert!(Socket::new(none, 1).is_err());
    let one = SocketConfig { peers_max: 1, ..SocketConfig::new(SocketType::Rep) };
    let mut socket = Socket::new(one, 1).expect("a socket");
    let link = socket.add(NOW, seed(1), None).expect("the first");
    assert_eq!(socket.add(NOW, seed(2), None), Err(ZmtpError::Limit(Limit::PeerCount)));
    let late = socket.handle_timeout(NOW + Nanos::from_secs(6));
    assert_eq!(late, Some((link, CloseReason::HandshakeTimeout)));
}

#[test]
fn messages_allocate_nothing_once_the_queues_have_their_memory() {
    let mut net = Net::default();
    let (req, rep) = (net.of(SocketType::Req), net.of(SocketType::Rep));
    net.connect(req, rep);
    let links = [net.wires[0].ends[0].1, net.wires[0].ends[1].1];
    let [near, far] = net.sockets.as_mut_slice() else { panic!("two") };
    let hand = |from: &mut Socket, by: LinkId, to: &mut Socket, at: LinkId| {
        let mut handled = 0;
        while handled < from.poll_transmit(by).len() {
            handled += to.handle_bytes(at, NOW, &from.poll_transmit(by)[handled..]).consumed;
        }
        from.transmitted(by, handled);
    };
    let mut round = || {
        near.send(&[b"a question", b"in parts"]).expect("its turn");
        hand(near, links[0], far, links[1]);
        assert!(far.receive().expect("its turn").is_some());
        far.send(&[b"an answer"]).expect("its turn");
        hand(far, links[1], near, links[0]);
        assert!(near.receive().expect("its turn").is_some());
    };
    round();
    let counted = allocation_counter::measure(|| (0..500).for_each(|_| round()));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}
