//! `kill -9` of `taut fix echo` and of `taut fix send` at any point of their lives: no sequence
//! number is lost or given twice, and what is due comes again.
//!
//! The child's file store is read after each kill: what is in it has a number that the peer may
//! have seen, so it must arrive, under that number. `TAUT_KILLS` sets how often (16 in an ordinary
//! run); a failure prints the seed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use taut_fix::{
    BeginString, CompId, Event, Extras, FieldIndex, MemoryStore, Now, Role, Session, SessionConfig,
    Store,
};
use taut_fix_engine::store::{FileStore, Sync};
use taut_testkit::{DEADLINE, Draw, Process, Random, seeds, tcp_listener, until};
use taut_types::Nanos;

/// Orders that one round brings.
const ORDERS: u64 = 300;
/// A round without a kill is over by then.
const PATIENCE: Nanos = Nanos::from_secs(60);

fn now() -> Now {
    Now { mono: taut_sys::monotonic(), utc: taut_sys::utc() }
}

/// The side that lives on: its session, its connection, and what it has seen.
struct Parent {
    session: Session<MemoryStore>,
    index: FieldIndex,
    stream: Option<TcpStream>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// What arrived, by its number.
    arrived: BTreeMap<u64, String>,
    /// The number of the next order that is sent, and of the one behind the round's last.
    next_order: u64,
    orders_end: u64,
}

impl Parent {
    fn new(role: Role, us: &str, them: &str) -> Self {
        let name = |text: &str| CompId::new(text.as_bytes()).expect("a name");
        let config = SessionConfig::new(role, BeginString::Fix44, name(us), name(them));
        Self {
            session: Session::new(config, MemoryStore::new(64 * 1024, 16 << 20)),
            index: FieldIndex::with_capacity(64),
            stream: None,
            input: Vec::new(),
            output: Vec::new(),
            arrived: BTreeMap::new(),
            next_order: 0,
            orders_end: 0,
        }
    }

    fn attach(&mut self, stream: TcpStream) {
        stream.set_nonblocking(true).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        self.stream = Some(stream);
        self.session.connect(now());
        self.settle();
    }

    fn detach(&mut self) {
        if self.stream.take().is_some() {
            self.session.transport_closed(now());
            self.input.clear();
            self.output.clear();
        }
    }

    /// Takes what came, sends what is due; without a connection it does nothing.
    fn turn(&mut self) {
        let Some(stream) = &mut self.stream else { return std::thread::yield_now() };
        let mut buffer = [0; 16 * 1024];
        match stream.read(&mut buffer) {
            Ok(0) => return self.detach(),
            Ok(bytes) => self.input.extend_from_slice(&buffer[..bytes]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(_) => return self.detach(),
        }
        self.handle();
        while self.next_order < self.orders_end && self.session.is_active() {
            let (id, mut out) = (self.next_order, [0; 512]);
            let made = self.session.send(now(), b"D", Extras::default(), &mut out, |writer| {
                writer.number::<11>(id);
            });
            self.output.extend_from_slice(&out[made.expect("an order")]);
            self.next_order += 1;
        }
        self.flush();
    }

    fn flush(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        match stream.write(&self.output) {
            Ok(bytes) => drop(self.output.drain(..bytes)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.detach(),
        }
    }

    fn handle(&mut self) {
        loop {
            let bytes = std::mem::take(&mut self.input);
            let made = self.session.handle_bytes(now(), &bytes, &mut self.index);
            self.act(made.event, &bytes);
            self.input = bytes;
            self.input.drain(..made.consumed);
            self.settle();
            let mut held = [0; 512];
            while let Some(len) = self.session.take_held(&mut held) {
                let made = self.session.handle_bytes(now(), &held[..len], &mut self.index);
                self.act(made.event, &held);
                self.settle();
            }
            if made.consumed == 0 {
                return;
            }
        }
    }

    fn settle(&mut self) {
        let mut out = [0; 512];
        while let Some(range) = self.session.poll_transmit(now(), &mut out) {
            self.output.extend_from_slice(&out[range]);
        }
    }

    fn act(&mut self, event: Option<Event>, message: &[u8]) {
        match event {
            None | Some(Event::LoggedOn) => {}
            Some(Event::Application { sequence, .. }) => {
                let id = self.index.find(11).expect("an id").value(message);
                let id = String::from_utf8_lossy(id).into_owned();
                let before = self.arrived.insert(sequence, id);
                assert_eq!(before, None, "number {sequence} was given twice");
            }
            Some(other) => panic!("the session ended: {other:?}"),
        }
    }

    fn ids(&self) -> BTreeSet<&str> {
        self.arrived.values().map(String::as_str).collect()
    }

    /// What arrived under a number is what the child's file has under it.
    fn check(&self, kept: &BTreeMap<u64, String>) {
        for (sequence, id) in &self.arrived {
            assert_eq!(kept.get(sequence), Some(id), "number {sequence} is not in the store");
        }
    }
}

/// The child's messages that have a number, as its file has them.
fn kept(path: &Path) -> BTreeMap<u64, String> {
    // A child that another test starts at this moment has this program's descriptors, and with them
    // the lock of a store that was closed here, until it is its own program.
    let mut opened = None;
    until("nobody has the store open", DEADLINE, || {
        opened = match FileStore::open(path, Sync::Never) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            other => Some(other),
        };
        opened.is_some()
    });
    let mut store = opened.expect("an answer").expect("the store");
    let numbers = 1..store.next_outgoing();
    let id = |message: &[u8]| {
        let text = String::from_utf8_lossy(message).into_owned();
        text.split('\x01').find_map(|field| Some(field.strip_prefix("11=")?.to_owned()))
    };
    numbers.filter_map(|at| Some((at, id(store.read(at)?)?))).collect()
}

fn kills() -> u64 {
    std::env::var("TAUT_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(16)
}

fn random() -> Random {
    let at = taut_sys::utc().0.unsigned_abs();
    // TAUT_SEED, or another one every time.
    let seed = seeds(at..at + 1).start;
    println!("TAUT_SEED={seed} repeats the moments");
    Random::with_seed(seed)
}

/// The child's session, with its store in a file.
fn settings(folder: &Path, us: &str, them: &str) -> PathBuf {
    let path = folder.join("child.toml");
    let text = format!(
        "[[sessions]]\nbegin_string = \"FIX.4.4\"\nsender_comp_id = \"{us}\"\n\
         target_comp_id = \"{them}\"\nreconnect_seconds = 0.001\n\
         reconnect_seconds_max = 0.005\nstore = \"store\"\nsync = \"never\"\n"
    );
    fs::write(&path, text).expect("room");
    path
}

fn start(arguments: &[&str], config: &Path, last: &[&Path]) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    Process::start(command.arg("fix").args(arguments).arg("--config").arg(config).args(last))
}

/// A time from the start of a round to its kill: anywhere within a whole round, and a little more.
fn moment(random: &mut Random, whole: Nanos) -> Nanos {
    Nanos(random.below(whole.0.unsigned_abs() * 6 / 5).cast_signed())
}

#[test]
fn an_acceptor_that_is_killed_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = settings(folder.path(), "HOST", "GUEST");
    let store = folder.path().join("store/FIX.4.4-HOST-GUEST.store");
    let (kills, mut random) = (kills(), random());
    // The first one chooses the port, the others take it over.
    let mut child = start(&["echo", "--listen", "127.0.0.1:0"], &config, &[]);
    let address = |line: &str| line.strip_prefix("listening on ").map(str::to_owned);
    let address = child.stdout_line("its address", address);
    let mut parent = Parent::new(Role::Initiator, "GUEST", "HOST");
    let mut whole = Nanos::ZERO;
    for kill in 0..=kills + 1 {
        // The first and the last round are without a kill: what one takes, and what is left.
        let is_whole = kill == 0 || kill > kills;
        if kill > 0 {
            child = start(&["echo", "--listen", &address], &config, &[]);
        }
        // So many are unanswered at the most, however short the rounds before were.
        parent.orders_end = parent.orders_end.max(parent.ids().len() as u64 + ORDERS);
        let begun = now().mono;
        let end = begun + if is_whole { PATIENCE } else { moment(&mut random, whole) };
        let is_over = |parent: &Parent| {
            is_whole && parent.ids().len() as u64 == parent.orders_end || now().mono >= end
        };
        while !is_over(&parent) {
            match TcpStream::connect(&address) {
                Ok(stream) if parent.stream.is_none() => parent.attach(stream),
                _ => std::thread::yield_now(),
            }
            while parent.stream.is_some() && !is_over(&parent) {
                parent.turn();
            }
        }
        whole = if kill == 0 { now().mono - begun } else { whole };
        child.kill();
        parent.detach();
        parent.check(&kept(&store));
    }
    assert_eq!(parent.ids().len() as u64, parent.orders_end, "orders that are not answered");
    assert_eq!(kept(&store), parent.arrived, "what has a number has not all arrived");
    println!("{kills} kills, {} orders, {} echoes", parent.orders_end, parent.arrived.len());
}

#[test]
fn an_initiator_that_is_killed_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = settings(folder.path(), "GUEST", "HOST");
    let store = folder.path().join("store/FIX.4.4-GUEST-HOST.store");
    let orders = folder.path().join("orders");
    let (kills, mut random) = (kills(), random());
    let (listener, address) = tcp_listener();
    listener.set_nonblocking(true).expect("a socket");
    let address = address.to_string();
    let mut parent = Parent::new(Role::Acceptor, "HOST", "GUEST");
    let mut whole = Nanos::ZERO;
    for kill in 0..=kills + 1 {
        let is_whole = kill == 0 || kill > kills;
        let order = |at| format!("8=FIX.4.4|35=D|11={}|10=0|\n", kill * ORDERS + at);
        fs::write(&orders, (0..ORDERS).map(order).collect::<String>()).expect("room");
        let last = (kill * ORDERS + ORDERS - 1).to_string();
        let arguments = ["send", "--wait", "60", "--connect", &address];
        let mut child = start(&arguments, &config, &[&orders]);
        let begun = now().mono;
        let end = begun + if is_whole { PATIENCE } else { moment(&mut random, whole) };
        let has_last = |parent: &Parent| parent.arrived.values().next_back() == Some(&last);
        while !(is_whole && has_last(&parent)) && now().mono < end {
            if parent.stream.is_none()
                && let Ok((stream, _)) = listener.accept()
            {
                parent.attach(stream);
            }
            parent.turn();
        }
        whole = if kill == 0 { now().mono - begun } else { whole };
        child.kill();
        // What was on its way still arrives.
        until("the connection of a killed child ends", DEADLINE, || {
            parent.turn();
            parent.stream.is_none()
        });
        parent.check(&if store.exists() { kept(&store) } else { BTreeMap::new() });
    }
    assert_eq!(kept(&store), parent.arrived, "what has a number has not all arrived");
    // Each round's orders came from its first one on, without a hole.
    let mut expected = 0;
    for id in parent.arrived.values().map(|id| id.parse::<u64>().expect("a number")) {
        assert!(id == expected || (id.is_multiple_of(ORDERS) && id > expected), "{id}");
        expected = id + 1;
    }
    println!("{kills} kills, {} orders", parent.arrived.len());
}
