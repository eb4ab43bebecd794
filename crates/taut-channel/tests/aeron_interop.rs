//! Against Aeron's own media driver in Java: both directions, unicast and a group, with loss on
//! either side, terms that rotate, restarts. Skips with a notice where Java or the jar is absent:
//! `mvn dependency:get -Dartifact=io.aeron:aeron-all:1.51.0` fetches it. With
//! `TAUT_AERON_PEER=.../aeron-peer` (bench/peers/aeron/rust) it runs against the C media driver.

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use taut_channel::{ChannelUri, Closing, Loss, OfferError, Opening, Publication, Subscription};
use taut_sys::monotonic;
use taut_types::Nanos;

const JAR: &str = ".m2/repository/io/aeron/aeron-all/1.51.0/aeron-all-1.51.0.jar";
const PEER: &str = "../../bench/peers/aeron/java/Peer.java";
const STREAM: i32 = 1001;
const PATIENCE: Nanos = Nanos::from_secs(60);
const COUNT: u64 = 10_000;

/// The jar, when there is a Java to run it.
fn jar() -> Option<PathBuf> {
    if std::env::var_os("TAUT_AERON_PEER").is_some() {
        return Some(PathBuf::new());
    }
    let given = std::env::var_os("TAUT_AERON_JAR").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(JAR));
    let jar = given.or(home).filter(|jar| jar.exists());
    let java = Command::new("java").arg("-version").stderr(Stdio::null()).status();
    if jar.is_none() || java.is_err() {
        println!("skipped: no Java, or no aeron-all-1.51.0.jar (see the head of this file)");
        return None;
    }
    jar
}

/// The Java peer; it ends when its input does.
struct Peer {
    child: Child,
    lines: Receiver<String>,
    directory: tempdir::Directory,
}

/// A directory of this test that goes when it goes.
mod tempdir {
    use std::path::PathBuf;

    pub struct Directory(pub PathBuf);

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

impl Peer {
    fn start(jar: &Path, role: &str, channel_uri: &str, count: u64, more: &[&str]) -> Self {
        let number = monotonic().0;
        let name = format!("taut-interop-{}-{number}", taut_sys::process_id());
        let directory = std::env::temp_dir().join(name);
        let mut command = match std::env::var_os("TAUT_AERON_PEER") {
            Some(peer) => Command::new(peer),
            None => java(jar, &directory, more),
        };
        let mut child = command
            .args([role, channel_uri, &STREAM.to_string(), &count.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the peer runs");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        Self { child, lines, directory: tempdir::Directory(directory) }
    }

    /// A line that it has printed.
    fn said(&self) -> Option<String> {
        let line = self.lines.try_recv().ok();
        if let Some(line) = &line {
            assert!(!line.starts_with("wrong"), "{line}");
        }
        line
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = &self.directory;
    }
}

fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.local_addr().expect("an address").port()
}

fn opening(loss: f64) -> Opening {
    Opening { now: monotonic(), loss: Loss::new(loss, 7).filter(|_| loss > 0.0) }
}

fn message(sequence: u64) -> Vec<u8> {
    let bytes = 8 + (sequence % 97) as usize + if sequence.is_multiple_of(50) { 4000 } else { 0 };
    let mut message = sequence.to_le_bytes().to_vec();
    message.extend((8..bytes).map(|at| (sequence as usize + at) as u8));
    message
}

fn uri(text: &str) -> ChannelUri {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Sends messages until the peer says that it has them all.
fn publish(publication: &mut Publication, peer: &Peer, from: u64, count: u64) {
    let (begun, mut next) = (monotonic(), from);
    loop {
        for _ in 0..16 {
            if next >= count {
                break;
            }
            match publication.offer(monotonic(), &message(next)) {
                Ok(_) => next += 1,
                Err(OfferError::BackPressured | OfferError::NotConnected) => break,
                Err(error) => panic!("{error}"),
            }
        }
        publication.work(monotonic());
        if peer.said().is_some_and(|line| line == format!("received {count}")) {
            return;
        }
        assert!(monotonic() - begun < PATIENCE, "{next} sent: {:?}", publication.counters());
    }
}

/// Ends the stream: the peer, which stays, learns it.
fn close(publication: &mut Publication) {
    let begun = monotonic();
    publication.close(monotonic());
    while publication.closing() != Closing::Closed {
        publication.work(monotonic());
        assert!(monotonic() - begun < PATIENCE, "{:?}", publication.closing());
    }
}

/// Receives every message of one publisher in order.
fn receive(subscription: &mut Subscription, count: u64) {
    let (begun, mut next) = (monotonic(), 0);
    while next < count {
        subscription.poll(monotonic(), 64, |got| {
            let sequence = u64::from_le_bytes(*got.payload.first_chunk().expect("a sequence"));
            assert_eq!(sequence, next, "in order");
            assert_eq!(got.payload, message(sequence));
            next += 1;
        });
        assert!(monotonic() - begun < PATIENCE, "{next} received: {:?}", subscription.counters());
    }
}

/// The Java peer's command line.
fn java(jar: &Path, directory: &Path, more: &[&str]) -> Command {
    let mut command = Command::new("java");
    command
        .args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
        .args(["--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED"])
        .args(["--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED"])
        .arg(format!("-Daeron.dir={}", directory.display()))
        .args(more)
        .arg("-cp")
        .arg(jar)
        .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(PEER));
    command
}

/// What the Java driver loses, by its own generator.
const JAVA_LOSES_DATA: &[&str] = &[
    concat!(
        "-Daeron.ReceiveChannelEndpoint.supplier=",
        "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier"
    ),
    "-Daeron.debug.receive.data.loss.rate=0.01",
    "-Daeron.debug.receive.data.loss.seed=3",
];

#[test]
fn a_java_subscriber_gets_every_byte_in_order_at_no_1_and_5_percent_loss() {
    let Some(jar) = jar() else { return };
    for (loss, more) in [(0.0, &[][..]), (0.01, &[]), (0.05, &[]), (0.0, JAVA_LOSES_DATA)] {
        let endpoint = format!("aeron:udp?endpoint=127.0.0.1:{}", free_port());
        let peer = Peer::start(&jar, "receive", &endpoint, COUNT, more);
        let send = uri(&format!("{endpoint}|term-length=64k|stream-id={STREAM}"));
        let mut publication = Publication::open(&send, &opening(loss)).expect("send");
        publish(&mut publication, &peer, 0, COUNT);
        close(&mut publication);
    }
}

#[test]
fn a_java_publisher_is_heard_in_order_at_no_1_and_5_percent_loss_and_after_a_restart() {
    let Some(jar) = jar() else { return };
    for loss in [0.0, 0.01, 0.05] {
        let endpoint = format!("aeron:udp?endpoint=127.0.0.1:{}", free_port());
        let listen = uri(&format!("{endpoint}|stream-id={STREAM}"));
        let mut subscription = Subscription::open(&listen, &opening(loss)).expect("listen");
        for _ in 0..if loss == 0.0 { 2 } else { 1 } {
            let _peer = Peer::start(&jar, "send", &endpoint, COUNT, &[]);
            receive(&mut subscription, COUNT);
        }
    }
}

#[test]
fn a_java_subscriber_that_is_killed_and_started_again_goes_on_where_it_joins() {
    let Some(jar) = jar() else { return };
    let endpoint = format!("aeron:udp?endpoint=127.0.0.1:{}", free_port());
    let send = uri(&format!("{endpoint}|term-length=64k|stream-id={STREAM}"));
    let mut publication = Publication::open(&send, &opening(0.0)).expect("send");
    let peer = Peer::start(&jar, "receive", &endpoint, 1000, &[]);
    publish(&mut publication, &peer, 0, 1000);
    drop(peer);
    let peer = Peer::start(&jar, "receive", &endpoint, COUNT, &[]);
    let begun = monotonic();
    while peer.said().is_none_or(|line| line != "joined") {
        publication.work(monotonic());
        assert!(monotonic() - begun < PATIENCE, "joined again");
    }
    publish(&mut publication, &peer, 1000, COUNT);
}

#[test]
fn a_group_on_loopback_carries_both_ways() {
    let Some(jar) = jar() else { return };
    for (last, loss) in [(71, 0.0), (73, 0.01)] {
        let port = free_port();
        let group = format!("aeron:udp?endpoint=224.0.1.{last}:{port}|interface=127.0.0.1");
        let ours = uri(&format!("{group}|term-length=64k|stream-id={STREAM}"));
        {
            let peer = Peer::start(&jar, "receive", &group, COUNT, &[]);
            let mut publication = Publication::open(&ours, &opening(loss)).expect("send");
            publish(&mut publication, &peer, 0, COUNT);
            close(&mut publication);
        }
        let mut subscription = Subscription::open(&ours, &opening(loss)).expect("listen");
        let _peer = Peer::start(&jar, "send", &group, COUNT, &[]);
        receive(&mut subscription, COUNT);
    }
}
