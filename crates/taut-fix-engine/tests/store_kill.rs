//! `kill -9` of one side at any point: no number and no message is lost.
//!
//! A child process runs one side of a session over a [`FileStore`] and its standard input and
//! output; this process runs the other side, kills the child after a random number of messages, and
//! starts it again. Orders carry a running number: each must arrive, in order, whatever happened.
//! `TAUT_KILLS` sets how often (24 in an ordinary run); a failure prints the seed.
#![forbid(unsafe_code)]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use taut_fix::{
    BeginString, CompId, Event, Extras, FieldIndex, MemoryStore, Now, Role, Session, SessionConfig,
    Store,
};
use taut_fix_engine::store::{FileStore, Retention, Sync};
use taut_testkit::{DEADLINE, Draw, Process, Random, seeds};

const ROLE: &str = "TAUT_KILL_ROLE";
const PATH: &str = "TAUT_KILL_PATH";
/// Orders that the child sends before it looks for what came.
const BURST: usize = 16;
/// What the child keeps: small, so that kills also hit the file as it is written anew, but more
/// than [`AHEAD_MAX`].
const RETENTION: Retention = Retention { messages: 4096, bytes: 1 << 20 };
/// Orders that the child sends beyond what the parent says it has seen.
const AHEAD_MAX: u64 = 2048;
/// Orders after which the parent says what it has seen, whatever the dice say.
const ACKNOWLEDGE: u64 = AHEAD_MAX / 2;

fn now() -> Now {
    Now { mono: taut_sys::monotonic(), utc: taut_sys::utc() }
}

fn session<S: Store>(role: Role, is_child: bool, store: S) -> Session<S> {
    let name = |text: &str| CompId::new(text.as_bytes()).expect("a name");
    let (us, them) = if is_child { ("CHILD", "PARENT") } else { ("PARENT", "CHILD") };
    let config = SessionConfig::new(role, BeginString::Fix44, name(us), name(them));
    Session::new(config, store)
}

/// The running number of an order.
fn ordinal(message: &[u8]) -> u64 {
    number(message, "11=")
}

fn number(message: &[u8], tag: &str) -> u64 {
    let text = String::from_utf8_lossy(message);
    let field = text.split('\x01').find_map(|field| field.strip_prefix(tag));
    field.expect("a field").parse().expect("a number")
}

/// One side: its session, what came and is not handled, and the number of its next order.
struct Side<S> {
    session: Session<S>,
    index: FieldIndex,
    input: Vec<u8>,
    next_order: u64,
    /// The peer's last order.
    last_seen: u64,
    /// Our last order that the peer says it has seen.
    acknowledged: u64,
    /// What of the peer's orders we said we have seen.
    told: u64,
}

impl<S: Store> Side<S> {
    fn new(session: Session<S>, next_order: u64) -> Self {
        let index = FieldIndex::with_capacity(64);
        let (last_seen, acknowledged, told) = (0, 0, 0);
        Self { session, index, input: Vec::new(), next_order, last_seen, acknowledged, told }
    }

    /// Handles what came; what must be sent goes to `out`. Returns how many orders came.
    fn handle(&mut self, bytes: &[u8], out: &mut impl Write) -> std::io::Result<usize> {
        self.input.extend_from_slice(bytes);
        let mut orders = 0;
        let mut at = 0;
        loop {
            let made = self.session.handle_bytes(now(), &self.input[at..], &mut self.index);
            let message = self.input[at..at + made.consumed].to_vec();
            at += made.consumed;
            orders += self.act(made.event, &message);
            self.transmit(out)?;
            let mut held = [0; 4096];
            while let Some(len) = self.session.take_held(&mut held) {
                let made = self.session.handle_bytes(now(), &held[..len], &mut self.index);
                orders += self.act(made.event, &held[..len]);
                self.transmit(out)?;
            }
            if made.consumed == 0 {
                self.input.drain(..at);
                return Ok(orders);
            }
        }
    }

    fn act(&mut self, event: Option<Event>, message: &[u8]) -> usize {
        match event {
            None | Some(Event::LoggedOn) => 0,
            Some(Event::Application { .. }) => {
                let number = ordinal(message);
                // What a crash interrupted may come again; nothing may be left out.
                let expected = self.last_seen + 1;
                assert!(
                    self.last_seen == 0 || number <= expected,
                    "{number} after {}",
                    expected - 1
                );
                self.last_seen = number.max(self.last_seen);
                self.acknowledged = self.acknowledged.max(self::number(message, "58="));
                1
            }
            Some(other) => panic!("the session ended: {other:?}"),
        }
    }

    /// Whether the child has nothing to do until something comes.
    fn must_wait(&self) -> bool {
        !self.session.is_active() || self.next_order > self.acknowledged + AHEAD_MAX
    }

    fn transmit(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        let mut buffer = [0; 4096];
        while let Some(range) = self.session.poll_transmit(now(), &mut buffer) {
            out.write_all(&buffer[range])?;
        }
        out.flush()
    }

    fn send_order(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        let mut buffer = [0; 4096];
        let (id, seen) = (self.next_order, self.last_seen);
        let made = self.session.send(now(), b"D", Extras::default(), &mut buffer, |writer| {
            writer.number::<11>(id);
            writer.text::<55>(b"BTC-USD");
            writer.number::<58>(seen);
        });
        let Ok(range) = made else { return Ok(()) };
        self.next_order += 1;
        self.told = seen;
        out.write_all(&buffer[range])?;
        out.flush()
    }
}

/// Bytes as they come, until the other end is closed.
fn receive(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(bytes @ 1..) = from.read(&mut buffer) {
            if sender.send(buffer[..bytes].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The child's life: it sends orders until it is killed.
fn live(role: Role, path: &Path) {
    let mut store = FileStore::open(path, Sync::Never).expect("the store");
    store.set_retention(RETENTION);
    // The last order that was kept tells where to go on.
    let last = (1..store.next_outgoing()).rev().find_map(|at| store.read(at).map(ordinal));
    let mut side = Side::new(session(role, true, store), last.unwrap_or(0) + 1);
    side.session.connect(now());
    let input = receive(std::io::stdin());
    let mut out = std::io::stderr();
    let mut result = side.transmit(&mut out);
    while result.is_ok() {
        side.session.store_mut().compact_if_due().expect("room");
        result = match input.try_recv() {
            Ok(bytes) => side.handle(&bytes, &mut out).map(drop),
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) if side.must_wait() => match input.recv() {
                Ok(bytes) => side.handle(&bytes, &mut out).map(drop),
                Err(_) => return,
            },
            Err(TryRecvError::Empty) => (0..BURST).try_for_each(|_| side.send_order(&mut out)),
        };
    }
}

fn start(role: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["the_child_lives", "--exact", "--ignored", "--nocapture"])
        .env(ROLE, role)
        .env(PATH, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the child")
}

/// Kills and restarts a child in this role.
fn kill_often(child_role: &str) {
    let kills = std::env::var("TAUT_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session");
    let role = if child_role == "initiator" { Role::Acceptor } else { Role::Initiator };
    let at = taut_sys::utc().0.unsigned_abs();
    // TAUT_SEED, or another one every time.
    let seed = seeds(at..at + 1).start;
    println!("TAUT_SEED={seed} repeats the moments");
    let mut random = Random::with_seed(seed);
    let store = MemoryStore::new(64 * 1024, 16 << 20);
    let mut side = Side::new(session(role, false, store), 1);
    let mut total = 0;
    for _ in 0..kills {
        let mut child = start(child_role, &path);
        let mut to_child = child.stdin.take().expect("its input");
        let from_child = receive(child.stderr.take().expect("its output"));
        // Killed with the test, whatever happens.
        let mut child = Process::watch(child, child_role.to_owned());
        side.input.clear();
        side.session.connect(now());
        let _ = side.transmit(&mut to_child);
        // The new child does not know what its predecessor was told.
        let mut is_told = false;
        let until = total + 1 + random.below(400) as usize;
        while total < until {
            let bytes = from_child.recv_timeout(DEADLINE).expect("the child lives and answers");
            total += side.handle(&bytes, &mut to_child).expect("the child listens");
            let must_tell = !is_told || side.last_seen - side.told >= ACKNOWLEDGE;
            if side.session.is_active() && (must_tell || random.below(4) == 0) {
                side.send_order(&mut to_child).expect("the child listens");
                is_told = true;
            }
        }
        child.kill();
        side.session.transport_closed(now());
    }
    println!("{kills} kills of the {child_role}, {total} orders, the last is {}", side.last_seen);
}

#[test]
#[ignore = "the child of the other tests"]
fn the_child_lives() {
    let (Ok(role), Ok(path)) = (std::env::var(ROLE), std::env::var(PATH)) else { return };
    let role = if role == "initiator" { Role::Initiator } else { Role::Acceptor };
    live(role, Path::new(&path));
}

#[test]
fn an_initiator_that_is_killed_loses_nothing() {
    kill_often("initiator");
}

#[test]
fn an_acceptor_that_is_killed_loses_nothing() {
    kill_often("acceptor");
}
