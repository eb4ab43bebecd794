//! Against Aeron's own media drivers: both directions, unicast and a group, seeded loss on either
//! side, terms of 64 KiB that rotate, restarts. Skips with a notice where a driver is absent.
//!
//! - Java: needs Java and the jar: `mvn dependency:get -Dartifact=io.aeron:aeron-all:1.51.0`.
//! - C: `TAUT_AERON_PEER=.../aeron-peer` names the program of bench/peers/aeron/rust.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use taut_channel::{ChannelUri, Closing, Loss, OfferError, Opening, Publication, Subscription};
use taut_sys::monotonic;
use taut_testkit::{own_address, own_group};
use taut_types::Nanos;

const JAR: &str = ".m2/repository/io/aeron/aeron-all/1.51.0/aeron-all-1.51.0.jar";
const PEER: &str = "../../bench/peers/aeron/java/Peer.java";
const STREAM: i32 = 1001;
const PATIENCE: Nanos = Nanos::from_secs(60);
const COUNT: u64 = 4_000;

/// One of Aeron's drivers: the Java one with its jar, the C one with its program.
#[derive(Clone, Debug)]
enum Driver {
    Java(PathBuf),
    C(PathBuf),
}

/// The drivers that are here.
fn drivers() -> Vec<Driver> {
    let given = std::env::var_os("TAUT_AERON_JAR").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(JAR));
    let jar = given.or(home).filter(|jar| jar.exists());
    let java = Command::new("java").arg("-version").stderr(Stdio::null()).status();
    let java = jar.filter(|_| java.is_ok()).map(Driver::Java);
    if java.is_none() {
        println!("skipped for Java: no Java, or no aeron-all-1.51.0.jar (see this file's head)");
    }
    let c = std::env::var_os("TAUT_AERON_PEER").map(PathBuf::from).filter(|path| path.exists());
    if c.is_none() {
        println!("skipped for C: TAUT_AERON_PEER names no aeron-peer (see this file's head)");
    }
    java.into_iter().chain(c.map(Driver::C)).collect()
}

impl Driver {
    /// A peer over this driver, which loses so many of a hundred datagrams, by its own generator.
    fn command(&self, role: &str, directory: &Path, loss: u32) -> Command {
        match self {
            Self::Java(jar) => java(jar, directory, role, loss),
            Self::C(program) => {
                let mut command = Command::new(program);
                if loss > 0 {
                    let rate = format!("rate=0.{loss:02}|seed=3|recv-msg-mask=ff");
                    command.env("AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS", "loss");
                    command.env("AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS", rate);
                }
                command
            }
        }
    }
}

/// The Java peer's command line.
fn java(jar: &Path, directory: &Path, role: &str, loss: u32) -> Command {
    let mut command = Command::new("java");
    command
        .args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
        .args(["--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED"])
        .args(["--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED"])
        .arg(format!("-Daeron.dir={}", directory.display()));
    if loss > 0 {
        let (end, way) = if role == "send" { ("Send", "send") } else { ("Receive", "receive") };
        let supplier = format!("io.aeron.driver.ext.Debug{end}ChannelEndpointSupplier");
        command.arg(format!("-Daeron.{end}ChannelEndpoint.supplier={supplier}"));
        for kind in ["data", "control"] {
            command.arg(format!("-Daeron.debug.{way}.{kind}.loss.rate=0.{loss:02}"));
            command.arg(format!("-Daeron.debug.{way}.{kind}.loss.seed=3"));
        }
    }
    let mut classes = peer_classes(jar).into_os_string();
    classes.push(":");
    classes.push(jar);
    command.arg("-cp").arg(classes).arg("Peer");
    command
}

/// Where the Java peer is compiled to: once, not by each of the machines that run it.
fn peer_classes(jar: &Path) -> PathBuf {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    let compile = || {
        let classes = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("aeron-peer");
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(PEER);
        let mut command = Command::new("javac");
        command.args(["-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-nowarn", "-cp"]);
        let status = command.arg(jar).arg("-d").arg(&classes).arg(source).status();
        assert!(status.is_ok_and(|status| status.success()), "javac compiles {PEER}");
        classes
    };
    COMPILED.get_or_init(compile).clone()
}

/// A driver with its client in a process; it ends when its input does.
struct Peer {
    child: Child,
    lines: Receiver<String>,
    /// It ends with the peer, and removes what a driver that was killed has left.
    reading: Option<JoinHandle<()>>,
    _directory: tempdir::Directory,
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
    fn start(driver: &Driver, role: &str, channel_uri: &str, count: u64, loss: u32) -> Self {
        let number = monotonic().0;
        let name = format!("taut-interop-{}-{number}", taut_sys::process_id());
        let directory = std::env::temp_dir().join(name);
        let mut child = driver
            .command(role, &directory, loss)
            .args([role, channel_uri, &STREAM.to_string(), &count.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the peer runs");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (send, lines) = channel();
        let reading = std::thread::spawn(move || {
            let mut directories = Vec::new();
            for line in output.lines().map_while(Result::ok) {
                match line.strip_prefix("directory ") {
                    Some(path) => directories.push(tempdir::Directory(path.into())),
                    None => drop(send.send(line)),
                }
            }
        });
        let reading = Some(reading);
        Self { child, lines, reading, _directory: tempdir::Directory(directory) }
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
        let _ = self.reading.take().map(JoinHandle::join);
    }
}

fn opening(loss: f64) -> Opening {
    let loss = Loss::new(loss, 7).filter(|_| loss > 0.0);
    Opening { now: monotonic(), loss, ..Opening::default() }
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

/// Ends the stream: the peer, which has everything and stays, learns it. That it has everything is
/// known before, though it repeats what it said last until it is a quarter of its window further.
fn close(publication: &mut Publication) {
    let begun = monotonic();
    while publication.unacknowledged_bytes() > 0 {
        publication.work(monotonic());
        assert!(monotonic() - begun < PATIENCE, "{} left", publication.unacknowledged_bytes());
    }
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

/// Loss in hundredths, ours and theirs.
const LOSSES: [(u32, u32); 5] = [(0, 0), (5, 0), (0, 5), (1, 0), (0, 1)];

/// How much is lost: in a group, where a loss is repaired no differently, fewer cases.
fn losses(is_group: bool) -> &'static [(u32, u32)] {
    if is_group { &LOSSES[..3] } else { &LOSSES }
}

/// An address nobody listens at, of a group or not.
fn endpoint(is_group: bool) -> String {
    let at = own_address();
    match is_group {
        true => format!("aeron:udp?endpoint={}:{}|interface=127.0.0.1", own_group(), at.port()),
        false => format!("aeron:udp?endpoint={at}"),
    }
}

fn a_subscriber_gets_everything(is_group: bool) {
    for driver in drivers() {
        for &(ours, theirs) in losses(is_group) {
            let endpoint = endpoint(is_group);
            let peer = Peer::start(&driver, "receive", &endpoint, COUNT, theirs);
            let send = uri(&format!("{endpoint}|term-length=64k|stream-id={STREAM}"));
            let opening = opening(f64::from(ours) / 100.0);
            let mut publication = Publication::open(&send, &opening).expect("send");
            publish(&mut publication, &peer, 0, COUNT);
            close(&mut publication);
            println!("{driver:?} receives, {ours}% and {theirs}%: {:?}", publication.counters());
        }
    }
}

fn a_publisher_is_heard(is_group: bool) {
    for driver in drivers() {
        for &(ours, theirs) in losses(is_group) {
            let endpoint = endpoint(is_group);
            let listen = uri(&format!("{endpoint}|stream-id={STREAM}"));
            let opening = opening(f64::from(ours) / 100.0);
            let mut subscription = Subscription::open(&listen, &opening).expect("listen");
            let send = format!("{endpoint}|term-length=64k");
            let _peer = Peer::start(&driver, "send", &send, COUNT, theirs);
            receive(&mut subscription, COUNT);
            println!("{driver:?} sends, {ours}% and {theirs}%: {:?}", subscription.counters());
        }
    }
}

#[test]
fn a_subscriber_of_aerons_gets_every_byte_in_order_with_loss_on_either_side() {
    a_subscriber_gets_everything(false);
}

#[test]
fn a_publisher_of_aerons_is_heard_in_order_with_loss_on_either_side() {
    a_publisher_is_heard(false);
}

#[test]
fn a_subscriber_of_aerons_in_a_group_gets_every_byte_in_order_with_loss_on_either_side() {
    a_subscriber_gets_everything(true);
}

#[test]
fn a_publisher_of_aerons_to_a_group_is_heard_in_order_with_loss_on_either_side() {
    a_publisher_is_heard(true);
}

#[test]
fn a_publisher_of_aerons_that_is_started_again_is_heard_again() {
    for driver in drivers() {
        let endpoint = endpoint(false);
        let listen = uri(&format!("{endpoint}|stream-id={STREAM}"));
        let mut subscription = Subscription::open(&listen, &opening(0.01)).expect("listen");
        for _ in 0..2 {
            let _peer = Peer::start(&driver, "send", &endpoint, COUNT, 0);
            receive(&mut subscription, COUNT);
        }
    }
}

#[test]
fn a_subscriber_of_aerons_that_is_killed_and_started_again_goes_on_where_it_joins() {
    for driver in drivers() {
        let endpoint = endpoint(false);
        let send = uri(&format!("{endpoint}|term-length=64k|stream-id={STREAM}"));
        let mut publication = Publication::open(&send, &opening(0.0)).expect("send");
        let peer = Peer::start(&driver, "receive", &endpoint, 1000, 0);
        publish(&mut publication, &peer, 0, 1000);
        drop(peer);
        let peer = Peer::start(&driver, "receive", &endpoint, COUNT, 0);
        let begun = monotonic();
        while peer.said().is_none_or(|line| line != "joined") {
            publication.work(monotonic());
            assert!(monotonic() - begun < PATIENCE, "joined again");
        }
        publish(&mut publication, &peer, 1000, COUNT);
    }
}

#[test]
fn a_publisher_of_ours_that_is_started_again_is_heard_again() {
    for driver in drivers() {
        let endpoint = endpoint(false);
        let send = uri(&format!("{endpoint}|term-length=64k|stream-id={STREAM}"));
        let peer = Peer::start(&driver, "receive", &endpoint, COUNT, 0);
        let mut first = Publication::open(&send, &opening(0.0)).expect("send");
        let begun = monotonic();
        let mut sent = 0;
        while sent < COUNT / 2 {
            match first.offer(monotonic(), &message(sent)) {
                Ok(_) => sent += 1,
                Err(_) => assert!(monotonic() - begun < PATIENCE, "{sent} sent"),
            }
            first.work(monotonic());
        }
        close(&mut first);
        drop(first);
        // The peer takes the sequence up where the first one left it, from another session.
        let mut second = Publication::open(&send, &opening(0.01)).expect("send");
        publish(&mut second, &peer, COUNT / 2, COUNT);
        close(&mut second);
    }
}
