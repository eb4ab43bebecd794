//! libzmq at the other end: by its C interface and by pyzmq, both ways, each pattern and mechanism.
//!
//! Skips with a notice where there is no libzmq to compile against, or no pyzmq: `TAUT_PYTHON`
//! names the interpreter that has it (`python3` by default).

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use taut_channel::{Event, OfferError, Opening, Publication, Subscription, ZmtpSocket};
use taut_sys::monotonic;
use taut_types::Nanos;
use taut_zmtp::{SocketConfig, SocketType};

const SIZES: [usize; 9] = [0, 1, 70, 253, 255, 256, 300, 65_536, 200_000];
const COUNT: u32 = 60;

/// The two pairs of keys of ZeroMQ's manual: public, secret.
const SERVER: [&str; 2] =
    ["rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"];
const CLIENT: [&str; 2] =
    ["Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"];

/// Topic and body; one part or two.
fn message(number: u32) -> (Vec<u8>, Vec<u8>, bool) {
    let topic: &[u8] = if number % 2 == 1 { b"odd" } else { b"even" };
    let size = SIZES[number as usize % SIZES.len()];
    let body = (0..size).map(|at| (at as u32 ^ number) as u8).collect();
    (topic.to_vec(), body, number.is_multiple_of(3))
}

/// As the peer prints what it received.
fn line(number: u32) -> String {
    let (topic, body, two) = message(number);
    let bytes = topic.iter().chain(&body);
    let hash = bytes.fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3)
    });
    format!("{} {} {hash}", 1 + u32::from(two), topic.len() + body.len())
}

/// What is at the other end.
struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    at: String,
}

impl Peer {
    fn start(program: &[String], arguments: &[&str]) -> Self {
        let mut child = Command::new(&program[0])
            .args(&program[1..])
            .args(arguments)
            .arg(format!("count={COUNT}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the peer");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let input = child.stdin.take();
        let mut peer = Self { child, input, output, at: String::new() };
        let mut at = None;
        until("the peer's address", |_| {
            at = at.take().or_else(|| peer.output.try_recv().ok());
            at.is_some()
        });
        peer.at = at.unwrap_or_default().replace("at ", "");
        peer
    }

    fn go(&mut self) {
        self.input.as_mut().expect("its input").write_all(b"go\n").expect("go");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(what: &str, mut step: impl FnMut(Nanos) -> bool) {
    let deadline = monotonic() + Nanos::from_secs(20);
    while !step(monotonic()) {
        assert!(monotonic() < deadline, "{what}: not within 20 s");
    }
}

fn opening() -> Opening {
    Opening { now: monotonic(), ..Opening::default() }
}

fn publication(text: &str) -> Publication {
    Publication::open(&text.parse().expect(text), &opening()).expect(text)
}

fn subscription(text: &str) -> Subscription {
    Subscription::open(&text.parse().expect(text), &opening()).expect(text)
}

/// Offers all messages and lets the peer print those that it wants.
fn publish(publication: &mut Publication, peer: &Peer, wants: impl Fn(u32) -> bool) {
    until("the peer's subscription", |now| {
        publication.work(now);
        publication.is_connected()
    });
    let mut printed = Vec::new();
    let wanted: Vec<String> = (0..).filter(|number| wants(*number)).map(line).take(60).collect();
    for number in (0..).take_while(|number| *number < 2 * COUNT) {
        let (topic, body, two) = message(number);
        until("offer", |now| {
            publication.work(now);
            let offered = match two {
                true => publication.offer_topic(now, &topic, &body),
                false => publication.offer_vectored(now, &[&topic, &body]),
            };
            assert!(!matches!(offered, Err(OfferError::TooLong { .. })));
            offered.is_ok()
        });
        if wants(0) && wants(1) && number + 1 == COUNT {
            break;
        }
    }
    until("what the peer got", |now| {
        publication.work(now);
        printed.extend(peer.output.try_iter());
        printed.len() >= wanted.len()
    });
    assert_eq!(printed, wanted);
}

/// Receives what the peer sends, as far as it is wanted.
fn receive(subscription: &mut Subscription, wants: impl Fn(u32) -> bool) {
    let wanted: Vec<u32> = (0..COUNT).filter(|number| wants(*number)).collect();
    let mut got = 0;
    until("what the peer sent", |now| {
        subscription.poll(now, 10, |received| {
            let (topic, body, two) = message(wanted[got]);
            let (expected, payload) = match two {
                true => (topic, body),
                false => (vec![], [topic, body].concat()),
            };
            assert_eq!(received.topic, expected, "message {}", wanted[got]);
            assert!(received.payload == payload, "message {}", wanted[got]);
            got += 1;
        });
        got == wanted.len()
    });
}

fn all(_: u32) -> bool {
    true
}

/// A libzmq to talk to: by C if it can be compiled, by Python if it is there.
fn peers() -> Vec<(&'static str, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/libzmq");
    let text = |path: PathBuf| path.display().to_string();
    let mut peers = Vec::new();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("libzmq-peer-{}", taut_sys::process_id()));
    let compiled = Command::new("cc")
        .args(["-O2", "-o", &text(program.clone()), &text(folder.join("peer.c")), "-lzmq"])
        .stderr(Stdio::null())
        .status();
    match compiled {
        Ok(status) if status.success() => peers.push(("libzmq", vec![text(program)])),
        _ => println!("skipped: no libzmq to compile against (libzmq3-dev)"),
    }
    let python = std::env::var("TAUT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python)
        .args(["-c", "import zmq; assert zmq.has('curve')"])
        .stderr(Stdio::null())
        .status();
    match found {
        Ok(status) if status.success() => {
            peers.push(("pyzmq", vec![python, text(folder.join("peer.py"))]));
        }
        _ => println!("skipped: {python} has no pyzmq (TAUT_PYTHON names another interpreter)"),
    }
    peers
}

fn file(name: &str, text: &str) -> String {
    let file = std::env::temp_dir().join(format!("taut-zmq-{}-{name}", taut_sys::process_id()));
    std::fs::write(&file, text).expect("write");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("chmod");
    file.display().to_string()
}

/// Every combination with one peer.
fn talk_to(program: &[String]) {
    let bound = |publication: &Publication| {
        format!("tcp://{}", publication.local_address().expect("an address"))
    };
    let start = |arguments: &[&str]| Peer::start(program, arguments);

    // PUB to SUB and to XSUB, with and without a prefix, whoever binds.
    for kind in ["sub", "xsub"] {
        let mut ours = publication("tcp://127.0.0.1:0?on-full=block");
        let peer = start(&[kind, "connect", &bound(&ours), "subscribe=even"]);
        publish(&mut ours, &peer, |number| number % 2 == 0);
        let peer = start(&[kind, "bind", "tcp://127.0.0.1:*"]);
        let mut ours = publication(&format!("{}?connect&on-full=block", peer.at));
        publish(&mut ours, &peer, all);
    }
    // SUB to XPUB and to PUB.
    let peer = start(&["xpub", "bind", "tcp://127.0.0.1:*"]);
    receive(&mut subscription(&format!("{}?subscribe=odd", peer.at)), |number| number % 2 == 1);
    let mut ours = subscription("tcp://127.0.0.1:0?bind");
    let at = format!("tcp://{}", ours.local_address().expect("an address"));
    let mut peer = start(&["pub", "connect", &at]);
    until("the connection", |now| {
        ours.poll(now, 1, |_| {});
        ours.image_count() > 0
    });
    // The peer answers our barrier before its own thread knows the subscription: give it a moment.
    let later = monotonic() + Nanos::from_millis(300);
    until("a moment", |now| {
        ours.poll(now, 1, |_| {});
        now > later
    });
    peer.go();
    receive(&mut ours, all);
    // PUSH and PULL.
    let mut ours = publication("tcp://127.0.0.1:0?pattern=pushpull&on-full=block");
    let peer = start(&["pull", "connect", &bound(&ours)]);
    publish(&mut ours, &peer, all);
    let peer = start(&["push", "bind", "tcp://127.0.0.1:*"]);
    receive(&mut subscription(&format!("{}?pattern=pushpull", peer.at)), all);
    // A Unix socket.
    let name = std::env::temp_dir().join(format!("taut-zmq-{}", taut_sys::process_id()));
    let name = format!("ipc://{}", name.display());
    let mut ours = publication(&format!("{name}?on-full=block"));
    let peer = start(&["sub", "connect", &name]);
    publish(&mut ours, &peer, all);

    reconnects(program);
    heartbeats(program);
    plain(program);
    curve(program);
}

/// Each side goes away and comes back.
fn reconnects(program: &[String]) {
    let mut ours = publication("tcp://127.0.0.1:0?on-full=block");
    let at = format!("tcp://{}", ours.local_address().expect("an address"));
    for _ in 0..2 {
        let peer = Peer::start(program, &["sub", "connect", &at]);
        publish(&mut ours, &peer, all);
        drop(peer);
        until("the end", |now| {
            ours.work(now);
            !ours.is_connected()
        });
    }
    let peer = Peer::start(program, &["sub", "connect", &at, "subscribe=even"]);
    until("the peer", |now| {
        ours.work(now);
        ours.is_connected()
    });
    drop(ours);
    let mut again = publication(&format!("{at}?on-full=block"));
    publish(&mut again, &peer, |number| number % 2 == 0);

    let peer = Peer::start(program, &["xpub", "bind", "tcp://127.0.0.1:*"]);
    let mut ours = subscription(&peer.at);
    receive(&mut ours, all);
    let at = peer.at.clone();
    drop(peer);
    until("the end", |now| {
        ours.poll(now, 1, |_| {});
        ours.image_count() == 0
    });
    let _peer = Peer::start(program, &["xpub", "bind", &at]);
    receive(&mut ours, all);
}

/// Heartbeats of both sides keep an idle connection, and a stopped peer is noticed.
fn heartbeats(program: &[String]) {
    let mut ours = publication("tcp://127.0.0.1:0?on-full=block&heartbeat=100ms");
    let at = format!("tcp://{}", ours.local_address().expect("an address"));
    let peer = Peer::start(program, &["sub", "connect", &at, "heartbeat=100"]);
    let idle_until = monotonic() + Nanos::from_millis(700);
    let mut events = Vec::new();
    until("an idle time", |now| {
        ours.work(now);
        events.extend(std::iter::from_fn(|| ours.poll_event()));
        now > idle_until
    });
    assert!(matches!(events[..], [Event::Connected { .. }]), "{events:?}");
    publish(&mut ours, &peer, all);
    let signal = |name: &str| {
        let id = peer.child.id().to_string();
        let killed = Command::new("kill").args([name, &id]).status().expect("kill");
        assert!(killed.success());
    };
    signal("-STOP");
    until("its silence", |now| {
        ours.work(now);
        !ours.is_connected()
    });
    signal("-CONT");
}

fn plain(program: &[String]) {
    let accounts = file("accounts", "user = trader\npassword = secret");
    let mut ours = publication(&format!("tcp://127.0.0.1:0?on-full=block&plain={accounts}"));
    let at = format!("tcp://{}", ours.local_address().expect("an address"));
    let refused = Peer::start(program, &["sub", "connect", &at, "plain=trader:wrong"]);
    until("the refusal", |now| {
        ours.work(now);
        matches!(ours.poll_event(), Some(Event::Refused { .. }))
    });
    drop(refused);
    let peer = Peer::start(program, &["sub", "connect", &at, "plain=trader:secret"]);
    publish(&mut ours, &peer, all);
    let peer = Peer::start(program, &["xpub", "bind", "tcp://127.0.0.1:*", "plain-server=1"]);
    receive(&mut subscription(&format!("{}?plain={accounts}", peer.at)), all);
    let _ = std::fs::remove_file(accounts);
}

fn curve(program: &[String]) {
    let [server, server_secret] = SERVER;
    let [client, client_secret] = CLIENT;
    let of_server = file("server", &format!("secret-key={server_secret}\nclient-key={client}"));
    let of_client = file("client", &format!("secret-key={client_secret}\nserver-key={server}"));
    let keys =
        |secret: &str, public: &str| [format!("secret={secret}"), format!("public={public}")];
    let server_key = format!("server-key={server}");

    let mut ours = publication(&format!("tcp://127.0.0.1:0?on-full=block&curve={of_server}"));
    let at = format!("tcp://{}", ours.local_address().expect("an address"));
    let [secret, public] = keys(client_secret, client);
    let arguments = ["sub", "connect", &at, "subscribe=even", &secret, &public, &server_key];
    let peer = Peer::start(program, &arguments);
    publish(&mut ours, &peer, |number| number % 2 == 0);
    let [own_secret, own_public] = keys(server_secret, server);
    let arguments = ["sub", "connect", &at, &own_secret, &own_public, &server_key];
    let stranger = Peer::start(program, &arguments);
    until("the refusal", |now| {
        ours.work(now);
        matches!(ours.poll_event(), Some(Event::Refused { .. }))
    });
    drop(stranger);
    let arguments = ["xpub", "bind", "tcp://127.0.0.1:*", &own_secret, &own_public];
    let peer = Peer::start(program, &arguments);
    let text = format!("{}?subscribe=odd&curve={of_client}", peer.at);
    receive(&mut subscription(&text), |number| number % 2 == 1);
    for file in [of_server, of_client] {
        let _ = std::fs::remove_file(file);
    }
}

/// The parts of a message.
fn parts_of(number: u32) -> Vec<Vec<u8>> {
    let (topic, body, two) = message(number);
    if two { vec![topic, body] } else { vec![[topic, body].concat()] }
}

fn socket(socket_type: SocketType) -> ZmtpSocket {
    ZmtpSocket::new(SocketConfig::new(socket_type), &opening()).expect("a socket")
}

/// Sends each message and hears it again.
fn ask(ours: &mut ZmtpSocket, router: Option<&[u8]>) {
    for number in 0..COUNT {
        let message = parts_of(number);
        let parts: Vec<&[u8]> =
            router.into_iter().chain(message.iter().map(Vec::as_slice)).collect();
        until("room", |now| {
            ours.work(now);
            ours.peer_count() > 0 && ours.send(now, &parts).is_ok()
        });
        until("the echo", |now| {
            let Some(echo) = ours.receive(now).expect("its turn") else { return false };
            assert!(echo.parts().eq(message.iter().map(Vec::as_slice)), "message {number}");
            assert_eq!(echo.routing_id(), router);
            true
        });
    }
}

/// Sends whatever comes back to who sent it, until the peer has heard all of it.
fn echo(ours: &mut ZmtpSocket, peer: &Peer) {
    let mut printed = Vec::new();
    until("what the peer got", |now| {
        let came = ours.receive(now).expect("its turn").map(|message| {
            let parts = message.routing_id().into_iter().chain(message.parts());
            parts.map(<[u8]>::to_vec).collect::<Vec<_>>()
        });
        if let Some(came) = came {
            let parts: Vec<&[u8]> = came.iter().map(Vec::as_slice).collect();
            ours.send(now, &parts).expect("room");
        }
        printed.extend(peer.output.try_iter());
        printed.len() >= COUNT as usize
    });
    assert!(printed.iter().eq((0..COUNT).map(line).collect::<Vec<_>>().iter()));
}

/// Questions and answers, both ways, over TCP, Unix sockets and CURVE.
fn exchange(program: &[String]) {
    let start = |arguments: &[&str]| Peer::start(program, arguments);
    let unix = std::env::temp_dir().join(format!("taut-zmqx-{}", taut_sys::process_id()));
    let unix = format!("ipc://{}", unix.display());
    for (ours, theirs) in [
        (SocketType::Req, "rep"),
        (SocketType::Req, "router"),
        (SocketType::Dealer, "router"),
        (SocketType::Pair, "pair"),
    ] {
        for place in ["tcp://127.0.0.1:*", &unix] {
            let peer = start(&[theirs, "bind", place]);
            let mut ours = socket(ours);
            ours.connect(monotonic(), &peer.at).expect("a place");
            ask(&mut ours, None);
        }
    }
    let mut ours = socket(SocketType::Router);
    let at = ours.bind(monotonic(), "tcp://127.0.0.1:0").expect("a port").expect("an address");
    let _peer = start(&["pair", "connect", &format!("tcp://{at}")]);
    let _peer = start(&["router", "connect", &format!("tcp://{at}"), "name=theirs"]);
    // A ROUTER's echo goes back to who sent it: to us, by the name that it gave us.
    ask(&mut ours, Some(b"theirs"));
    for (ours, theirs) in [
        (SocketType::Rep, "req"),
        (SocketType::Router, "req"),
        (SocketType::Router, "dealer"),
        (SocketType::Dealer, "dealer"),
    ] {
        let mut ours = socket(ours);
        let at = ours.bind(monotonic(), "tcp://127.0.0.1:0").expect("a port").expect("it");
        let peer = start(&[theirs, "connect", &format!("tcp://{at}")]);
        echo(&mut ours, &peer);
    }
    let [server, server_secret] = SERVER;
    let [client, client_secret] = CLIENT;
    let of_server = file("xserver", &format!("secret-key={server_secret}\nclient-key={client}"));
    let of_client = file("xclient", &format!("secret-key={client_secret}\nserver-key={server}"));
    let mut ours = socket(SocketType::Rep);
    let at = ours.bind(monotonic(), &format!("tcp://127.0.0.1:0?curve={of_server}"));
    let at = format!("tcp://{}", at.expect("a port").expect("an address"));
    let (secret, public) = (format!("secret={client_secret}"), format!("public={client}"));
    let peer = start(&["req", "connect", &at, &secret, &public, &format!("server-key={server}")]);
    echo(&mut ours, &peer);
    let (secret, public) = (format!("secret={server_secret}"), format!("public={server}"));
    let peer = start(&["router", "bind", "tcp://127.0.0.1:*", &secret, &public]);
    let mut ours = socket(SocketType::Dealer);
    ours.connect(monotonic(), &format!("{}?curve={of_client}", peer.at)).expect("a place");
    ask(&mut ours, None);
    for file in [of_server, of_client] {
        let _ = std::fs::remove_file(file);
    }
}

#[test]
fn talks_to_libzmq_both_ways_with_every_pattern_and_mechanism() {
    for (name, program) in peers() {
        println!("{name}: {}", program.join(" "));
        talk_to(&program);
        if name == "pyzmq" {
            exchange(&program);
        }
        if name == "libzmq" {
            let _ = std::fs::remove_file(&program[0]);
        }
    }
}
