//! A machine: its disk, its clocks, and the process that runs there.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use taut_fix::CompId;
use taut_io::{Endpoint, SimHost};
use taut_sys::{Address, DatagramOptions, StreamOptions};
use taut_types::{Instrument, InstrumentId, Nanos, Price, Qty, Symbol};
use taut_venue::{
    Acknowledge, Copying, FeedOutput, Flow, FolderLock, Followed, JournalCopy, JournalFollower,
    JournalKeeper, JournalSettings, Now, Replication, Serving, ServingTerms, Standby, Venue,
    VenueConfig, VenueError, VenueJournal, VenueSockets,
};

use crate::clients::{SYMBOL, orders_at};

pub const SETTINGS: JournalSettings =
    JournalSettings { segment_bytes: 64 << 10, acknowledge: Acknowledge::Replicated };
const STREAM: u32 = 7;
/// After this silence of the venue its standby takes its place.
const PROMOTE_AFTER: Nanos = Nanos::from_millis(500);
/// How often a standby looks whether its venue was started again.
const FOLDER: Nanos = Nanos::from_millis(200);

pub struct Node {
    pub folder: PathBuf,
    pub process: Process,
    /// What is served to a copy, where one is connected.
    pub serving: Option<Serving>,
    /// Of the venue that runs here.
    pub replication: Option<Replication>,
    /// Its monotonic clock is so far ahead of the others', its UTC so far from the true one.
    pub mono_ahead: Nanos,
    pub utc_ahead: Nanos,
    /// The process is stopped until then.
    pub paused_until: Nanos,
    /// The process is to end where it waits.
    pub is_killed: bool,
    /// The venue there refuses to be copied to here: this journal has gone further.
    pub is_ahead: bool,
    /// The standby there has begun to copy.
    pub has_begun: bool,
    pub dials_at: Nanos,
    pub tells_at: Nanos,
    /// When an operator looks after a process that is down.
    pub back_at: Nanos,
}

pub enum Process {
    Down,
    Venue(Box<Running>),
    Standby(Box<Following>),
    /// A venue is to begin with what the disk has.
    Begins,
    /// The venue is in its turn.
    Busy,
}

impl Process {
    /// For whoever looks for what is wrong.
    pub fn described(&self) -> String {
        match self {
            Self::Down => "down".to_owned(),
            Self::Begins => "begins".to_owned(),
            Self::Busy => "waits".to_owned(),
            Self::Standby(_) => "a standby".to_owned(),
            Self::Venue(running) => {
                let venue = &running.venue;
                format!("a venue: {} connected, {:?}", venue.connection_count(), venue.counters())
            }
        }
    }
}

pub struct Running {
    pub venue: Venue<SimHost>,
    keeper: JournalKeeper,
    /// Which one in the order in which venues began.
    pub incarnation: u64,
}

#[derive(Default)]
pub struct Following {
    pub copying: Option<Copying>,
    standby: Option<Box<Standby<SimHost>>>,
    lock: Option<FolderLock>,
    looks_at: Nanos,
}

fn config() -> VenueConfig {
    let tick = Price::parse(b"0.01").expect("a price");
    let symbol = Symbol::new(SYMBOL).expect("a symbol");
    let lot = Qty { mantissa: 1, decimals: 0 };
    let instrument = Instrument::new(InstrumentId(1), symbol, tick, lot).expect("valid");
    VenueConfig {
        order_capacity: 256,
        level_capacity: 64,
        cl_ord_id_capacity: 256,
        cancel_on_disconnect: false,
        reset_on_logon: false,
        ..VenueConfig::new(vec![instrument], CompId::new(b"VENUE").expect("a name"), STREAM)
    }
}

/// Nobody listens to the feed.
fn feed() -> FeedOutput {
    let to = |port| {
        let at = |port| Address::Inet(SocketAddr::from(([127, 0, 0, 1], port)));
        let peer = at(port).inet();
        Endpoint::At(at(0), DatagramOptions { peer, ..DatagramOptions::default() })
    };
    FeedOutput { incremental: to(11), incremental_b: None, retransmission: None, snapshot: to(12) }
}

impl Node {
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            process: Process::Down,
            serving: None,
            replication: None,
            mono_ahead: Nanos::ZERO,
            utc_ahead: Nanos::ZERO,
            paused_until: Nanos::ZERO,
            is_killed: false,
            is_ahead: false,
            has_begun: false,
            dials_at: Nanos::ZERO,
            tells_at: Nanos::ZERO,
            back_at: Nanos::ZERO,
        }
    }

    /// What its clocks say.
    pub fn clocks(&self, true_time: Nanos) -> Now {
        let mono = true_time + self.mono_ahead;
        Now { mono, utc: Nanos::from_secs(1_700_000_000) + true_time + self.utc_ahead }
    }

    pub const fn is_venue(&self) -> bool {
        matches!(self.process, Process::Venue(_) | Process::Busy)
    }

    /// What whoever connects is served by; nothing where no venue runs.
    pub fn terms(&self) -> Option<ServingTerms> {
        let replication = self.replication.clone().filter(|_| self.is_venue())?;
        let folder = self.folder.clone();
        Some(ServingTerms { folder, replication, is_replicated: true, is_own_standby: true })
    }

    /// The copy, where a standby runs here that is not promoted yet.
    pub fn copying(&mut self) -> Option<&mut Copying> {
        match &mut self.process {
            Process::Standby(following) => {
                following.copying.as_mut().filter(|it| !it.is_promoted())
            }
            _ => None,
        }
    }
}

impl Running {
    /// A venue with the journal of this folder.
    pub fn start(
        node: usize,
        kernel: SimHost,
        journal: VenueJournal,
        replication: &Replication,
        now: Now,
        incarnation: u64,
    ) -> Result<Self, VenueError> {
        let orders = Endpoint::At(orders_at(node), StreamOptions::default());
        let sockets = VenueSockets { orders, feed: feed(), stream: None };
        let venue = Venue::on_kernel(kernel, &config(), sockets, Flow::None).expect("a venue");
        let (venue, keeper, _) = venue.with_journal(journal.replicate_to(replication), now)?;
        Ok(Self { venue, keeper, incarnation })
    }

    /// A turn of the venue, and of its keeper; whether it told a client anything, or why it ends.
    pub fn turn(&mut self, now: Now) -> Result<bool, VenueError> {
        self.keeper.turn().expect("a disk");
        let before = self.venue.counters().reports;
        self.venue.poll(now)?;
        Ok(self.venue.counters().reports > before)
    }
}

/// What a turn of a standby came to.
pub enum Turned {
    Follows,
    /// It has become the venue.
    TookOver(Box<Running>, Replication),
}

impl Following {
    pub fn start(folder: &Path, now: Now) -> Self {
        let copy = JournalCopy::open(folder, SETTINGS).expect("the folder's lock");
        let copying = Copying::new(copy, Some(PROMOTE_AFTER), now.mono);
        Self { copying: Some(copying), ..Self::default() }
    }

    /// Executes what was copied, and takes the venue's place once it is promoted.
    pub fn turn(
        &mut self,
        (node, incarnation): (usize, u64),
        folder: &Path,
        kernel: impl Fn() -> SimHost,
        replication: impl FnOnce() -> Replication,
        now: Now,
    ) -> Turned {
        if let Some(copying) = self.copying.take_if(|copying| copying.is_promoted()) {
            self.lock = Some(copying.end());
        }
        if self.standby.is_none() {
            let follower = JournalFollower::open(folder, SETTINGS).expect("a folder");
            self.standby = follower.map(|follower| {
                let standby = Standby::on_kernel(kernel(), &config(), feed(), Flow::None, follower);
                Box::new(standby.expect("a standby"))
            });
        }
        let mut is_left = false;
        if let Some(standby) = &mut self.standby {
            let followed = standby.follow(now, 100).expect("right inputs");
            if followed == Followed::Level && (now.mono >= self.looks_at || self.lock.is_some()) {
                self.looks_at = now.mono + FOLDER;
                is_left = standby.is_left_behind().expect("a folder");
            }
        }
        if is_left {
            self.standby = None;
        }
        // One that is left behind follows the newer start first.
        let Some(mut standby) = self.standby.take_if(|_| self.lock.is_some()) else {
            return Turned::Follows;
        };
        let Some(lock) = self.lock.take() else { return Turned::Follows };
        let replication = replication();
        replication.go_on_alone();
        standby.replicate_to(&replication);
        standby.promoted();
        let orders = Endpoint::At(orders_at(node), StreamOptions::default());
        let (venue, keeper, _) = standby.take_over(lock, orders, None, now).expect("the venue");
        Turned::TookOver(Box::new(Running { venue, keeper, incarnation }), replication)
    }
}
