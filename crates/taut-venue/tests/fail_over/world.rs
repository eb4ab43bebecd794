//! Everybody, what goes wrong, and the operator who mends it.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use taut_io::{SimConfig, SimHost, SimNetwork};
use taut_journal::Reader;
use taut_testkit::{Draw, Random};
use taut_types::Nanos;
use taut_venue::{
    Now, Replication, Serving, Shipment, Venue, VenueError, VenueJournal, Waiting, Whereabouts,
};

use crate::clients::{self, Clients};
use crate::node::{Following, Node, Process, Running, SETTINGS, Turned};
use crate::wire::Wire;

/// Steps in which things go wrong.
const TROUBLED: u32 = 1_200;
/// Steps after which all is well again, whatever has gone wrong.
const CALM_MAX: u32 = 60_000;
/// How long a venue waits for its copy.
const PATIENCE: Nanos = Nanos::from_secs(10);
/// From one attempt of a copy to connect to the next; how often a venue looks for another one.
const AGAIN: Nanos = Nanos::from_millis(200);
const TELL: Nanos = Nanos::from_secs(1);

/// What schedules have seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub requests: usize,
    pub trades: usize,
    pub kills: u64,
    pub pauses: u64,
    pub partitions: u64,
    pub promotions: u64,
    pub ended_alone: u64,
    pub overtaken: u64,
}

impl Seen {
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.trades += other.trades;
        self.kills += other.kills;
        self.pauses += other.pauses;
        self.partitions += other.partitions;
        self.promotions += other.promotions;
        self.ended_alone += other.ended_alone;
        self.overtaken += other.overtaken;
    }
}

struct World {
    network: SimNetwork,
    random: Random,
    nodes: [Node; 2],
    clients: Option<Clients>,
    /// The connection over which a standby copies, if one stands.
    wire: Option<Wire>,
    /// Nothing passes between the two machines.
    is_cut: bool,
    is_calm: bool,
    /// The node where a venue began last, and how many began.
    leader: usize,
    incarnations: u64,
    /// The latest venue that told a client anything.
    told: u64,
    steps: u32,
    /// A seed that is run alone says what happens.
    is_told: bool,
    seen: Seen,
}

thread_local! {
    /// The world of the schedule that runs, for a venue that waits in its turn.
    static WORLD: RefCell<Option<Rc<RefCell<World>>>> = const { RefCell::new(None) };
}

/// Runs a schedule to its end, and checks what came of it.
pub fn run(mut random: Random) -> Seen {
    let folder = tempfile::tempdir_in(scratch()).expect("a folder");
    let behaviour = SimConfig {
        seed: random.below(u64::MAX),
        is_partial: random.below(2) == 0,
        window_bytes: 8 << 10,
        ..SimConfig::default()
    };
    let venue = Venue::<SimHost>::SOURCES_MAX;
    let [_, _, kernel] = SimHost::several([venue, venue, clients::SOURCES], behaviour);
    let network = kernel.network();
    network.pass(Nanos::from_secs(1));
    let node = |name| Node::new(folder.path().join(name));
    let world = Rc::new(RefCell::new(World {
        network,
        random,
        nodes: [node("a"), node("b")],
        clients: Some(Clients::new(kernel)),
        wire: None,
        is_cut: false,
        is_calm: false,
        leader: 0,
        incarnations: 0,
        told: 0,
        steps: 0,
        is_told: std::env::var_os("TAUT_SEED").is_some(),
        seen: Seen::default(),
    }));
    WORLD.set(Some(Rc::clone(&world)));
    world.borrow_mut().start_venue(0);
    world.borrow_mut().start_standby(1);
    while world.borrow().steps < TROUBLED {
        step(&world);
    }
    world.borrow_mut().mend();
    while !world.borrow_mut().has_ended() {
        step(&world);
    }
    WORLD.set(None);
    let world = world.borrow();
    world.check();
    let history = world.clients.as_ref().map(Clients::history);
    let (requests, trades) = history.map_or((0, 0), |it| (it.requests.len(), it.trades.len()));
    Seen { requests, trades, ..world.seen }
}

/// Files that nobody keeps belong into memory, where there is some for files.
fn scratch() -> std::path::PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

/// A moment passes, and everybody has a turn, in any order.
fn step(world: &Rc<RefCell<World>>) {
    let first = {
        let mut world = world.borrow_mut();
        world.pass();
        world.random.below(4) as usize
    };
    for turn in 0..4 {
        match (first + turn) % 4 {
            0 => node_turn(world, 0),
            1 => node_turn(world, 1),
            2 => world.borrow_mut().carry(),
            _ => world.borrow_mut().clients_turn(),
        }
    }
}

/// The main thread of a node's process has a turn.
fn node_turn(world: &Rc<RefCell<World>>, at: usize) {
    let (process, now) = {
        let mut world = world.borrow_mut();
        let now = world.clocks(at);
        let is_paused = world.is_paused(at);
        if is_paused || matches!(world.nodes[at].process, Process::Busy | Process::Down) {
            return;
        }
        let node = &mut world.nodes[at];
        (std::mem::replace(&mut node.process, Process::Busy), now)
    };
    match process {
        Process::Venue(mut running) => {
            // A venue that waits for its copy has the world go on meanwhile.
            let turned = running.turn(now);
            world.borrow_mut().venue_turned(at, running, turned);
        }
        Process::Begins => begin(world, at, now),
        Process::Standby(following) => world.borrow_mut().standby_turn(at, following, now),
        Process::Down | Process::Busy => {}
    }
}

/// A venue begins with the journal that its disk has, and may have to wait for a copy at once.
fn begin(world: &Rc<RefCell<World>>, at: usize, now: Now) {
    let (kernel, folder, replication, incarnation) = {
        let mut world = world.borrow_mut();
        let replication = replication(at);
        world.nodes[at].replication = Some(replication.clone());
        let folder = world.nodes[at].folder.clone();
        (world.network.restart(at), folder, replication, world.incarnations)
    };
    let journal = VenueJournal::open(&folder, SETTINGS).expect("a journal");
    // Copies may connect before the journal of this start has begun.
    while world.borrow_mut().random.below(3) > 0 {
        step(world);
    }
    let begun = Running::start(at, kernel, journal, &replication, now, incarnation);
    let mut world = world.borrow_mut();
    match begun {
        Ok(running) => world.venue_turned(at, Box::new(running), Ok(false)),
        Err(VenueError::NotReplicated) => {
            world.seen.ended_alone += 1;
            world.tell(at, "the venue ends while it begins: no copy");
            world.goes_down(at);
        }
        Err(error) => panic!("the venue does not begin: {error}"),
    }
}

/// The venue of this node waits for a copy: the world goes on until that has come, the venue has
/// waited for too long, or its process is killed.
fn wait(at: usize, waiting: Waiting) -> bool {
    let Some(world) = WORLD.with_borrow(Clone::clone) else { return false };
    let until = world.borrow().clocks(at).mono + PATIENCE;
    loop {
        {
            let world = world.borrow();
            let node = &world.nodes[at];
            let Some(replication) = &node.replication else { return false };
            let is_late = !world.is_paused(at) && world.clocks(at).mono >= until;
            if node.is_killed || is_late {
                return false;
            }
            let is_over = replication.copied() >= waiting.entry || replication.is_overtaken();
            if is_over && !world.is_paused(at) {
                return true;
            }
        }
        step(&world);
    }
}

impl World {
    fn now(&self) -> Nanos {
        self.network.now()
    }

    fn tell(&self, at: usize, what: &str) {
        if self.is_told {
            println!("{:>9} us, step {:>5}, node {at}: {what}", self.now().0 / 1_000, self.steps);
        }
    }

    fn clocks(&self, at: usize) -> Now {
        self.nodes[at].clocks(self.now())
    }

    fn is_paused(&self, at: usize) -> bool {
        self.now() < self.nodes[at].paused_until
    }

    fn pass(&mut self) {
        self.steps += 1;
        let spans = [20_000, 20_000, 100_000, 500_000, 2_000_000, 20_000_000];
        self.network.pass(Nanos(self.random.pick(&spans)));
        if !self.is_calm && self.steps < TROUBLED {
            self.upset();
        }
        self.operate();
    }

    /// Something goes wrong, now and then.
    fn upset(&mut self) {
        let at = self.random.below(2) as usize;
        match self.random.below(1_000) {
            0..3 => self.kill(at),
            3..7 => {
                let span = Nanos::from_millis(self.random.below(3_000) as i64);
                self.nodes[at].paused_until = self.now() + span;
                self.tell(at, &format!("paused for {} ms", span.0 / 1_000_000));
                self.seen.pauses += 1;
            }
            7..11 => {
                self.is_cut = !self.is_cut;
                self.tell(
                    at,
                    if self.is_cut { "the machines are cut off" } else { "joined again" },
                );
                self.seen.partitions += u64::from(self.is_cut);
            }
            11..17 => self.break_wire(),
            17..23 => self.network.cut(self.random.below(64)),
            23..25 => {
                let jump = Nanos::from_millis(self.random.below(2_000) as i64);
                self.nodes[at].mono_ahead = self.nodes[at].mono_ahead + jump;
            }
            25..27 => {
                // By more than two minutes it would let nobody in.
                let minutes = self.random.below(3) as i64 - 1;
                self.nodes[at].utc_ahead = Nanos::from_secs(60 * minutes);
            }
            _ => {}
        }
    }

    /// Nothing goes wrong from now on.
    fn mend(&mut self) {
        (self.is_calm, self.is_cut) = (true, false);
        self.nodes.iter_mut().for_each(|node| node.paused_until = Nanos::ZERO);
    }

    /// What an operator does who starts what is down, and promotes a standby whose venue is gone.
    fn operate(&mut self) {
        let now = self.now();
        for at in [0, 1] {
            let other = 1 - at;
            let is_down = matches!(self.nodes[at].process, Process::Down);
            if !is_down || now < self.nodes[at].back_at {
                continue;
            }
            if std::mem::take(&mut self.nodes[at].is_ahead) {
                // The other one follows this one.
                self.kill(other);
                self.start_venue(at);
                continue;
            }
            match &self.nodes[other].process {
                Process::Venue(_) | Process::Busy | Process::Begins => self.start_standby(at),
                Process::Standby(_) | Process::Down if self.leader == at => self.start_venue(at),
                Process::Standby(_) => self.start_standby(at),
                Process::Down => {}
            }
        }
        if let [Process::Standby(_), Process::Standby(_)] =
            [&self.nodes[0].process, &self.nodes[1].process]
            && !self.nodes.iter_mut().any(|it| it.copying().is_none())
        {
            // Each waits for the other one: the last venue goes on.
            self.kill(self.leader);
        }
        let standby = 1 - self.leader;
        let venue_is_away = !self.nodes[self.leader].is_venue() || self.is_paused(self.leader);
        if venue_is_away
            && self.random.below(100) == 0
            && let Some(copying) = self.nodes[standby].copying()
            && copying.is_waited_for()
        {
            copying.promote();
            self.tell(standby, "promoted by an operator");
        }
    }

    fn start_venue(&mut self, at: usize) {
        self.begins(at);
        self.tell(at, &format!("starts as venue {}", self.incarnations));
        self.nodes[at].process = Process::Begins;
    }

    fn start_standby(&mut self, at: usize) {
        self.tell(at, "starts as a standby");
        let now = self.clocks(at);
        let node = &mut self.nodes[at];
        node.has_begun = false;
        node.process = Process::Standby(Box::new(Following::start(&node.folder, now)));
    }

    fn begins(&mut self, at: usize) {
        self.leader = at;
        self.incarnations += 1;
    }

    /// `kill -9`.
    fn kill(&mut self, at: usize) {
        let (again, node) = (self.random.below(2_000), &mut self.nodes[at]);
        match node.process {
            Process::Down => return,
            Process::Busy => node.is_killed = true,
            _ => self.goes_down(at),
        }
        self.tell(at, "killed");
        self.seen.kills += 1;
        let back_at = self.now() + Nanos::from_millis(again as i64);
        self.nodes[at].back_at = back_at;
        self.break_wire();
    }

    fn goes_down(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.process = Process::Down;
        (node.serving, node.replication, node.is_killed) = (None, None, false);
        // Its sockets are closed.
        drop(self.network.restart(at));
        self.break_wire();
    }

    fn break_wire(&mut self) {
        self.wire = None;
        for node in &mut self.nodes {
            node.serving = None;
            if let Some(copying) = node.copying() {
                copying.disconnect();
            }
        }
    }

    /// A venue has had its turn.
    fn venue_turned(&mut self, at: usize, running: Box<Running>, turned: Result<bool, VenueError>) {
        let incarnation = running.incarnation;
        let has_told = matches!(turned, Ok(true));
        if has_told && !self.nodes[at].is_killed {
            if self.told != incarnation {
                self.tell(at, &format!("venue {incarnation} tells a client something"));
            }
            assert!(
                incarnation >= self.told,
                "venue {incarnation} told a client something behind venue {}",
                self.told
            );
            self.told = incarnation;
        }
        let is_overtaken =
            self.nodes[at].replication.as_ref().is_some_and(Replication::is_overtaken);
        let is_alone = turned == Err(VenueError::NotReplicated);
        if self.nodes[at].is_killed || is_overtaken || is_alone {
            let is_killed = self.nodes[at].is_killed;
            self.seen.overtaken += u64::from(is_overtaken);
            self.seen.ended_alone += u64::from(is_alone && !is_killed && !is_overtaken);
            let why = (is_killed, is_overtaken, is_alone);
            self.tell(at, &format!("the venue is down: killed, overtaken, alone {why:?}"));
            drop(running);
            return self.goes_down(at);
        }
        turned.expect("the venue goes on");
        self.nodes[at].process = Process::Venue(running);
    }

    /// A standby has its turn: it follows, or becomes the venue.
    fn standby_turn(&mut self, at: usize, mut following: Box<Following>, now: Now) {
        let folder = self.nodes[at].folder.clone();
        let (network, next) = (self.network.clone(), self.incarnations + 1);
        let kernel = || network.restart(at);
        if !self.nodes[at].has_begun {
            // Nothing was copied yet: what is there is of an earlier process.
            self.nodes[at].process = Process::Standby(following);
            return;
        }
        let turned = following.turn((at, next), &folder, kernel, || replication(at), now);
        self.nodes[at].process = match turned {
            Turned::Follows => Process::Standby(following),
            Turned::TookOver(running, replication) => {
                self.begins(at);
                self.tell(at, &format!("takes over as venue {}", self.incarnations));
                self.seen.promotions += 1;
                self.break_wire();
                self.nodes[at].replication = Some(replication);
                Process::Venue(running)
            }
        };
    }

    /// The threads that send and copy the journal have a turn, and the network between them.
    fn carry(&mut self) {
        for at in [0, 1] {
            if self.is_paused(at) {
                continue;
            }
            self.tell_other(at);
            self.copy_turn(at);
            self.serve_turn(at);
        }
    }

    /// A venue says to another one in which start it is.
    fn tell_other(&mut self, at: usize) {
        let (now, other) = (self.now(), 1 - at);
        if !self.nodes[at].is_venue() || now < self.nodes[at].tells_at || self.is_cut {
            return;
        }
        self.nodes[at].tells_at = now + TELL;
        let nothing = Whereabouts { epoch: 0, next: 1 };
        let own = Shipment::open(&self.nodes[at].folder, nothing).expect("a journal");
        if let (Some(own), Some(terms), false) =
            (own, self.nodes[other].terms(), self.is_paused(other))
        {
            let _ = Serving::new(terms, now).handle_bytes(&own.from().to_bytes());
        }
    }

    fn copy_turn(&mut self, at: usize) {
        let (now, clocks, other) = (self.now(), self.clocks(at), 1 - at);
        let terms = self.nodes[other].terms().filter(|_| !self.is_cut);
        let is_cut = self.is_cut;
        let Self { nodes, wire, random, .. } = self;
        let dials_at = nodes[at].dials_at;
        let Some(copying) = nodes[at].copying() else { return };
        if wire.is_none()
            && now >= dials_at
            && let Some(terms) = terms
        {
            copying.connect(clocks.mono);
            *wire = Some(Wire::default());
            let clocks = nodes[other].clocks(now);
            nodes[other].serving = Some(Serving::new(terms, clocks.mono));
            nodes[at].dials_at = now + AGAIN;
        }
        let Some(copying) = nodes[at].copying() else { return };
        let (mut ended, mut news) = (copying.handle_timeout(clocks.mono), None);
        if let Some(wire) = wire.as_mut().filter(|_| !is_cut) {
            while ended.is_ok()
                && let Some(piece) = wire.to_copy.receive(now)
            {
                let was_waited_for = copying.is_waited_for();
                ended = copying.handle_bytes(clocks.mono, &piece).map(|begun| {
                    news = begun.map(|it| format!("copies {it:?}")).or(news.take());
                    if copying.is_waited_for() != was_waited_for {
                        news = Some(format!("is waited for: {}", !was_waited_for));
                    }
                });
            }
            let sent = wire.to_venue.send(copying.poll_transmit(), now, random);
            copying.sent(sent);
        }
        if let Some(news) = news {
            nodes[at].has_begun |= news.starts_with("copies");
            self.tell(at, &news);
        }
        if let Err(end) = ended {
            self.tell(at, &format!("copies no more: {end}"));
            self.break_wire();
            if end.is_fatal() {
                self.nodes[at].is_ahead = true;
                self.goes_down(at);
            }
        }
    }

    fn serve_turn(&mut self, at: usize) {
        let (now, clocks, is_cut) = (self.now(), self.clocks(at), self.is_cut);
        let Self { nodes, wire, random, .. } = self;
        let (Some(serving), Some(wire)) = (&mut nodes[at].serving, wire) else { return };
        let mut ended = Ok(());
        while !is_cut
            && ended.is_ok()
            && let Some(piece) = wire.to_venue.receive(now)
        {
            ended = serving.handle_bytes(&piece);
        }
        let sent = ended.and_then(|()| {
            serving.poll_transmit(clocks.mono).map(|out| wire.to_copy.send(out, now, random))
        });
        match sent {
            Ok(sent) => serving.sent(sent),
            Err(_) => self.break_wire(),
        }
    }

    fn clients_turn(&mut self) {
        let mono = self.now();
        let now = Now { mono, utc: Nanos::from_secs(1_700_000_000) + mono };
        let asks = !self.is_calm;
        if let Some(clients) = &mut self.clients {
            clients.turn(now, &mut self.random, asks);
        }
    }

    /// Whether every client has all its answers, and the standby has what its venue has.
    fn has_ended(&mut self) -> bool {
        let mono = self.now();
        let now = Now { mono, utc: Nanos::from_secs(1_700_000_000) + mono };
        let have_answers = self.clients.as_mut().is_none_or(|clients| clients.have_ended(now));
        let is_copied =
            [0, 1].map(|at| self.nodes[at].copying().is_some_and(|it| it.is_waited_for()));
        if self.steps > TROUBLED + CALM_MAX {
            let clients = self.clients.as_ref().map(Clients::wait_for);
            let nodes = [0, 1].map(|at| self.nodes[at].process.described());
            panic!("after {} steps: {nodes:?}, {is_copied:?}; {clients:?}", self.steps);
        }
        have_answers && is_copied.contains(&true)
    }

    fn check(&self) {
        let clients = self.clients.as_ref().expect("clients");
        if let Err(error) = clients.history().explain() {
            panic!("{error}\n{:#?}", clients.history());
        }
        let [a, b] = [0, 1].map(|at| newest(&self.nodes[at].folder));
        let (short, long) = if a.1.len() < b.1.len() { (&a, &b) } else { (&b, &a) };
        assert_eq!(short.0, long.0, "the copy is of another start");
        assert!(long.1.starts_with(&short.1), "the copy is another journal");
    }
}

/// What the venue of this node waits by.
fn replication(at: usize) -> Replication {
    let replication = Replication::new().expect("a descriptor");
    replication.while_waiting(move |waiting| wait(at, waiting));
    replication
}

/// The newest start in a folder, and the numbers, kinds and contents of its entries.
fn newest(folder: &Path) -> (String, Vec<(u64, u16, Vec<u8>)>) {
    let names = std::fs::read_dir(folder).expect("a folder").map(|it| it.expect("a name"));
    let starts = names.filter_map(|it| it.file_name().into_string().ok());
    let newest = starts.filter(|it| it.starts_with("epoch-")).max().expect("a start");
    let mut reader = Reader::open(&folder.join(&newest)).expect("a journal");
    let mut entries = Vec::new();
    while let Some(frame) = reader.next_frame().expect("right entries") {
        entries.push((frame.sequence, frame.kind, frame.bytes.to_vec()));
    }
    (newest, entries)
}
