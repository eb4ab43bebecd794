//! REQ, REP, DEALER, ROUTER, PAIR, PUSH and PULL over TCP, Unix sockets and within the process.

use std::os::unix::fs::PermissionsExt;

use taut_channel::{Opening, ZmtpSocket};
use taut_sys::monotonic;
use taut_types::Nanos;
use taut_zmtp::{Limit, Misuse, SocketConfig, SocketType, ZmtpError};

const FULL: ZmtpError = ZmtpError::Limit(Limit::HighWaterMark);

fn of(socket_type: SocketType) -> ZmtpSocket {
    with(SocketConfig::new(socket_type))
}

fn with(config: SocketConfig) -> ZmtpSocket {
    let opening = Opening { now: monotonic(), ..Opening::default() };
    ZmtpSocket::new(config, &opening).expect("a socket")
}

fn named(socket_type: SocketType, name: &str) -> ZmtpSocket {
    let mut config = SocketConfig::new(socket_type);
    config.connection.routing_id = name.into();
    with(config)
}

/// Where a bound socket is, for the other one.
fn bound(socket: &mut ZmtpSocket, place: &str) -> String {
    let at = socket.bind(monotonic(), place).expect(place);
    let (_, query) = place.split_once('?').unwrap_or((place, ""));
    match place.starts_with("tcp://") {
        true => format!("tcp://{}", at.expect("an address")),
        false => place.replace(&format!("?{query}"), ""),
    }
}

/// Runs until something holds; ten seconds are for a machine that is busy elsewhere.
fn until(what: &str, mut step: impl FnMut(Nanos) -> bool) {
    let deadline = monotonic() + Nanos::from_secs(10);
    while !step(monotonic()) {
        assert!(monotonic() < deadline, "{what}: not within 10 s");
    }
}

fn connect(one: &mut ZmtpSocket, other: &mut ZmtpSocket) {
    until("a connection", |now| {
        one.work(now);
        other.work(now);
        one.peer_count() > 0 && other.peer_count() > 0
    });
}

/// The next message, a ROUTER's with its first part, while the other one works, too.
fn got(socket: &mut ZmtpSocket, other: &mut ZmtpSocket) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    until("a message", |now| {
        other.work(now);
        let Some(message) = socket.receive(now).expect("its turn") else { return false };
        parts.extend(message.routing_id().into_iter().chain(message.parts()).map(<[u8]>::to_vec));
        true
    });
    parts
}

fn places(name: &str) -> [String; 3] {
    let path = std::env::temp_dir().join(format!("taut-s-{}-{name}", taut_sys::process_id()));
    [
        "tcp://127.0.0.1:0".to_owned(),
        format!("ipc://{}", path.display()),
        format!("inproc://{name}"),
    ]
}

#[test]
fn a_question_and_its_answer_at_every_kind_of_place_whoever_binds() {
    for place in places("ask") {
        for req_binds in [false, true] {
            let (mut req, mut rep) = (of(SocketType::Req), of(SocketType::Rep));
            assert_eq!(req.send(monotonic(), &[b"nobody"]), Err(FULL));
            if req_binds {
                let at = bound(&mut req, &place);
                rep.connect(monotonic(), &at).expect("a place");
            } else {
                let at = bound(&mut rep, &place);
                req.connect(monotonic(), &at).expect("a place");
            }
            connect(&mut req, &mut rep);
            for round in 0..20u8 {
                let large = vec![round; usize::from(round) * 10_000];
                req.send(monotonic(), &[&[round], b"", &large]).expect("its turn");
                let turn = Err(ZmtpError::Misuse(Misuse::Turn));
                assert_eq!(req.send(monotonic(), &[b"again"]), turn);
                let asked = got(&mut rep, &mut req);
                assert!(asked == [vec![round], Vec::new(), large], "{place}");
                rep.send(monotonic(), &[b"answer", &[round]]).expect("its turn");
                assert_eq!(got(&mut req, &mut rep), [b"answer".to_vec(), vec![round]]);
            }
        }
    }
}

#[test]
fn a_router_talks_to_each_of_its_dealers_and_pairs_and_pushers_to_theirs() {
    for place in places("route") {
        let mut router = of(SocketType::Router);
        let at = bound(&mut router, &place);
        let mut dealers: Vec<ZmtpSocket> =
            (0..4).map(|n| named(SocketType::Dealer, &format!("dealer {n}"))).collect();
        for (n, dealer) in dealers.iter_mut().enumerate() {
            dealer.connect(monotonic(), &at).expect("a place");
            connect(dealer, &mut router);
            dealer.send(monotonic(), &[b"from", &[n as u8]]).expect("room");
            let message = got(&mut router, dealer);
            let name = format!("dealer {n}").into_bytes();
            assert_eq!(message, [name, b"from".to_vec(), vec![n as u8]]);
        }
        for (n, dealer) in dealers.iter_mut().enumerate() {
            let name = format!("dealer {n}");
            router.send(monotonic(), &[name.as_bytes(), b"to", &[n as u8]]).expect("sent");
            assert_eq!(got(dealer, &mut router), [b"to".to_vec(), vec![n as u8]]);
        }
    }
    for (from, to) in [(SocketType::Pair, SocketType::Pair), (SocketType::Push, SocketType::Pull)] {
        for place in places("pair") {
            let (mut from, mut to) = (of(from), of(to));
            let at = bound(&mut to, &place);
            from.connect(monotonic(), &at).expect("a place");
            connect(&mut from, &mut to);
            for number in 0..100u8 {
                from.send(monotonic(), &[&[number]]).expect("room");
                assert_eq!(got(&mut to, &mut from), [vec![number]]);
            }
        }
    }
}

#[test]
fn one_socket_at_several_places_connects_again_and_sends_what_waits_before_it_closes() {
    let mut pull = of(SocketType::Pull);
    let ats: Vec<String> = places("several").iter().map(|place| bound(&mut pull, place)).collect();
    for at in &ats {
        let mut push = of(SocketType::Push);
        push.connect(monotonic(), at).expect("a place");
        connect(&mut push, &mut pull);
        let body = vec![7; 1 << 20];
        push.send(monotonic(), &[body.as_slice(); 5]).expect("room");
        let is_network = at.starts_with("tcp");
        assert!(is_network || push.waiting_count() > 0, "more than the kernel takes at once");
        push.close(monotonic(), Nanos::from_secs(9));
        assert!(got(&mut pull, &mut push) == vec![body; 5]);
        until("its end", |now| {
            push.work(now);
            pull.work(now);
            push.is_closed()
        });
        assert_eq!(push.counters().lost, 0);
    }
    // The place is gone, and there again.
    let at = ats[0].clone();
    let mut push = of(SocketType::Push);
    push.connect(monotonic(), &at).expect("a place");
    connect(&mut push, &mut pull);
    drop(pull);
    until("the end", |now| {
        push.work(now);
        push.peer_count() == 0
    });
    let mut pull = of(SocketType::Pull);
    pull.bind(monotonic(), &at).expect("the same place");
    connect(&mut push, &mut pull);
    push.send(monotonic(), &[b"again"]).expect("room");
    assert_eq!(got(&mut pull, &mut push), [b"again".to_vec()]);
}

#[test]
fn curve_and_plain_are_a_matter_of_the_place() {
    let file = |name: &str, text: &str| {
        let name = format!("taut-sockets-{}-{name}", taut_sys::process_id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).expect("write");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("chmod");
        file
    };
    // The pairs of keys of ZeroMQ's manual.
    let server = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
    let files = [
        file("server", "secret-key = JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"),
        file(
            "client",
            &format!(
                "secret-key = D:)Q[IlAW!ahhC2ac:9*A}}h:p?([4%wOTJ%JR%cs\nserver-key = {server}"
            ),
        ),
        file("accounts", "user = trader\npassword = secret"),
    ];
    let [of_server, of_client, accounts] = files.each_ref().map(|file| file.display().to_string());
    let mut rep = of(SocketType::Rep);
    let curve = bound(&mut rep, &format!("tcp://127.0.0.1:0?curve={of_server}"));
    let plain = bound(&mut rep, &format!("tcp://127.0.0.1:0?plain={accounts}"));
    for place in [format!("{curve}?curve={of_client}"), format!("{plain}?plain={accounts}")] {
        let mut req = of(SocketType::Req);
        req.connect(monotonic(), &place).expect("a place");
        until("the handshake", |now| {
            rep.work(now);
            req.work(now);
            req.peer_count() > 0
        });
        req.send(monotonic(), &[b"sealed"]).expect("its turn");
        assert_eq!(got(&mut rep, &mut req), [b"sealed".to_vec()]);
        rep.send(monotonic(), &[b"too"]).expect("its turn");
        assert_eq!(got(&mut req, &mut rep), [b"too".to_vec()]);
    }
    // Who brings nothing does not get in.
    let mut stranger = of(SocketType::Req);
    stranger.connect(monotonic(), &curve).expect("a place");
    let before = rep.counters().violations;
    until("the refusal", |now| {
        rep.work(now);
        stranger.work(now);
        rep.counters().violations > before
    });
    assert_eq!(stranger.peer_count(), 0);
    for file in files {
        let _ = std::fs::remove_file(file);
    }
}

#[test]
fn what_is_no_place_or_no_such_socket_is_named_with_its_remedy() {
    let mut req = of(SocketType::Req);
    let cases = [
        ("tcp://127.0.0.1", "HOST:PORT"),
        ("udp://127.0.0.1:1", "tcp"),
        ("aeron:udp?endpoint=127.0.0.1:1|stream-id=1", "inproc://NAME"),
        ("tcp://127.0.0.1:1?hwm=4", "the socket's type"),
        ("tcp://127.0.0.1:1?pattern=pushpull", "the socket's type"),
        ("ipc://@taut.inproc.1.x", "inproc://NAME"),
    ];
    for (place, word) in cases {
        let error = req.connect(monotonic(), place).expect_err(place).to_string();
        assert!(error.contains(word), "{place}: {error}");
    }
    let opening = Opening { now: monotonic(), ..Opening::default() };
    assert!(ZmtpSocket::new(SocketConfig::new(SocketType::Sub), &opening).is_err());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = format!("tcp://{}", taken.local_addr().expect("its address"));
    assert!(req.bind(monotonic(), &place).is_err(), "it is taken");
}
