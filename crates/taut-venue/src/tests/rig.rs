//! A venue with its sockets, and a clock that the test turns.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::Path;

use taut_fix::{CompId, InlineText};
use taut_sys::{Address, DatagramOptions, Socket, StreamOptions};
use taut_testkit::Deadline;
use taut_types::{HalfTicks, Instrument, InstrumentId, Nanos, OrderId, Price, Qty, Symbol};

use crate::flow::{SyntheticConfig, SyntheticFlow};
use crate::tests::client::Client;
use crate::{
    Acknowledge, FeedOutput, Flow, FolderLock, JournalFollower, JournalKeeper, JournalSettings,
    Now, Recovered, Replication, Standby, Venue, VenueConfig, VenueJournal, VenueSockets,
};

/// Any day will do: venue and clients share it.
pub const UTC: Nanos = Nanos(1_340_285_400_000_000_000);

pub const STREAM: u32 = 0x7a07;
pub const LEVELS: usize = 100;

pub struct Rig {
    pub venue: Venue,
    pub now: Now,
    pub incremental: Socket,
    pub line_b: Socket,
    pub snapshot: Socket,
    pub orders_at: Address,
    pub requests_at: Address,
    /// Of its journal, if it has one.
    pub keeper: Option<JournalKeeper>,
}

pub fn text<const N: usize>(name: &str) -> InlineText<N> {
    InlineText::new(name.as_bytes()).expect("a short text")
}

pub fn instrument() -> Instrument {
    let symbol = Symbol::new(b"AAPL").expect("a symbol");
    let tick = Price::parse(b"0.01").expect("a price");
    Instrument::new(InstrumentId(1), symbol, tick, Qty { mantissa: 1, decimals: 0 }).expect("valid")
}

pub fn config() -> VenueConfig {
    VenueConfig {
        order_capacity: 1 << 13,
        level_capacity: 1 << 10,
        cl_ord_id_capacity: 1 << 8,
        ..VenueConfig::new(vec![instrument()], CompId::new(b"VENUE").expect("a name"), STREAM)
    }
}

pub fn synthetic(seed: u64) -> Flow {
    let flow = SyntheticFlow::new(SyntheticConfig {
        seed,
        level_count: LEVELS,
        start_price: HalfTicks(2 * 58_533),
        first_order_id: OrderId(1),
        ..SyntheticConfig::default()
    });
    Flow::synthetic(flow, 20_000)
}

const ANY_PORT: Address = Address::Inet(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)));

/// A channel to this receiver, or to a new one.
fn channel(receiver: Option<Socket>) -> (Socket, Socket) {
    let receive_buffer_bytes = Some(1 << 21);
    let options = DatagramOptions { receive_buffer_bytes, ..DatagramOptions::default() };
    let receiver = receiver.unwrap_or_else(|| Socket::datagram(&ANY_PORT, &options).expect("bind"));
    let peer = receiver.local_address().expect("address").inet();
    let options = DatagramOptions { peer, ..DatagramOptions::default() };
    (Socket::datagram(&ANY_PORT, &options).expect("bind"), receiver)
}

const fn small_segments(acknowledge: Acknowledge) -> JournalSettings {
    JournalSettings { segment_bytes: 1 << 18, acknowledge }
}

impl Rig {
    pub fn new(config: &VenueConfig, flow: Flow) -> Self {
        Self::open(config, flow, None, [None, None, None])
    }

    /// With a listener for the recorded venue's own feed, and where it is.
    pub fn with_stream(config: &VenueConfig, flow: Flow) -> (Self, Address) {
        let stream = Socket::listen(&ANY_PORT, &StreamOptions::default()).expect("listen");
        let at = stream.local_address().expect("address");
        (Self::open(config, flow, Some(stream), [None, None, None]), at)
    }

    fn open(
        config: &VenueConfig,
        flow: Flow,
        stream: Option<Socket>,
        [incremental, line_b, snapshot]: [Option<Socket>; 3],
    ) -> Self {
        let orders = Socket::listen(&ANY_PORT, &StreamOptions::default()).expect("listen");
        let orders_at = orders.local_address().expect("address");
        let (incremental_out, incremental) = channel(incremental);
        let ((snapshot_out, snapshot), (b_out, line_b)) = (channel(snapshot), channel(line_b));
        let requests = Socket::datagram(&ANY_PORT, &DatagramOptions::default()).expect("bind");
        let requests_at = requests.local_address().expect("address");
        let feed = FeedOutput {
            incremental: incremental_out.into(),
            incremental_b: Some(b_out.into()),
            retransmission: Some(requests.into()),
            snapshot: snapshot_out.into(),
        };
        let sockets = VenueSockets { orders: orders.into(), feed, stream: stream.map(Into::into) };
        let venue = Venue::new(config, sockets, flow).expect("a venue");
        let now = Now { mono: Nanos::from_secs(1_000), utc: UTC };
        Self { venue, now, incremental, line_b, snapshot, orders_at, requests_at, keeper: None }
    }

    /// With the journal in this folder, at this time; what was recovered.
    pub fn journaled(
        config: &VenueConfig,
        flow: Flow,
        folder: &Path,
        now: Now,
    ) -> (Self, Recovered) {
        Self::journaled_to(config, flow, folder, (now, [None, None, None]), Acknowledge::Memory)
    }

    /// The same, whose answers wait for the disk.
    pub fn synced(config: &VenueConfig, flow: Flow, folder: &Path, now: Now) -> (Self, Recovered) {
        Self::journaled_to(config, flow, folder, (now, [None, None, None]), Acknowledge::Disk)
    }

    /// The same, whose answers wait until a copy has their inputs.
    pub fn replicated(
        config: &VenueConfig,
        folder: &Path,
        replication: &Replication,
        now: Now,
    ) -> (Self, Recovered) {
        let open = |settings| {
            let journal = VenueJournal::open(folder, settings).expect("a journal");
            journal.replicate_to(replication)
        };
        let settings = small_segments(Acknowledge::Replicated);
        Self::journaled_by(config, Flow::None, (now, [None, None, None]), open(settings))
    }

    /// A venue in the place of one that is killed: whoever follows its feed has the same sockets.
    pub fn journaled_again(
        config: &VenueConfig,
        flow: Flow,
        folder: &Path,
        before: Self,
    ) -> (Self, Recovered) {
        let Self { venue, now, incremental, line_b, snapshot, keeper, .. } = before;
        drop((venue, keeper));
        let receivers = [Some(incremental), Some(line_b), Some(snapshot)];
        Self::journaled_to(config, flow, folder, (now, receivers), Acknowledge::Memory)
    }

    /// The power of its machine fails: what is left is the time, and who follows the feed.
    pub fn cut_off(self) -> (Now, [Option<Socket>; 3]) {
        let Self { now, incremental, line_b, snapshot, .. } = self;
        (now, [Some(incremental), Some(line_b), Some(snapshot)])
    }

    pub fn journaled_to(
        config: &VenueConfig,
        flow: Flow,
        folder: &Path,
        (now, receivers): (Now, [Option<Socket>; 3]),
        acknowledge: Acknowledge,
    ) -> (Self, Recovered) {
        let journal = VenueJournal::open(folder, small_segments(acknowledge)).expect("a journal");
        Self::journaled_by(config, flow, (now, receivers), journal)
    }

    fn journaled_by(
        config: &VenueConfig,
        flow: Flow,
        (now, receivers): (Now, [Option<Socket>; 3]),
        journal: VenueJournal,
    ) -> (Self, Recovered) {
        let stream_id = journal.stream_id().unwrap_or(config.stream_id);
        let config = VenueConfig { stream_id, reset_on_logon: false, ..config.clone() };
        let Self { venue, incremental, line_b, snapshot, orders_at, requests_at, .. } =
            Self::open(&config, flow, None, receivers);
        let (venue, keeper, recovered) = venue.with_journal(journal, now).expect("a venue");
        let keeper = Some(keeper);
        let rig =
            Self { venue, now, incremental, line_b, snapshot, orders_at, requests_at, keeper };
        (rig, recovered)
    }

    /// A standby of this venue, whose feed has the same receivers.
    pub fn standby(&self, config: &VenueConfig, flow: Flow, folder: &Path) -> Standby {
        let follower = JournalFollower::open(folder, small_segments(Acknowledge::Memory));
        let follower = follower.expect("a folder").expect("a journal");
        let stream_id = follower.stream_id().expect("an image");
        let config = VenueConfig { stream_id, reset_on_logon: false, ..config.clone() };
        let to = |receiver: &Socket| {
            let peer = receiver.local_address().expect("address").inet();
            let options = DatagramOptions { peer, ..DatagramOptions::default() };
            Socket::datagram(&ANY_PORT, &options).expect("bind").into()
        };
        let feed = FeedOutput {
            incremental: to(&self.incremental),
            incremental_b: Some(to(&self.line_b)),
            retransmission: None,
            snapshot: to(&self.snapshot),
        };
        Standby::new(&config, feed, flow, follower).expect("a standby")
    }

    /// The venue is killed, and its standby takes its place.
    pub fn killed(self, standby: Standby, folder: &Path) -> (Self, Recovered) {
        let Self { venue, now, keeper, orders_at, requests_at, .. } = self;
        drop((venue, keeper));
        let lock = FolderLock::take(folder).expect("nobody has it any more");
        let orders = Socket::listen(&orders_at, &StreamOptions::default()).expect("its port");
        let requests = Socket::datagram(&requests_at, &DatagramOptions::default());
        let requests = Some(requests.expect("its port").into());
        let taken = standby.take_over(lock, orders.into(), requests, now);
        let (venue, keeper, recovered) = taken.expect("the venue");
        (Self { venue, keeper: Some(keeper), ..self }, recovered)
    }

    /// A venue without a flow: its book is empty.
    pub fn empty() -> Self {
        Self::new(&config(), Flow::None)
    }

    pub fn advance(&mut self, span: Nanos) {
        self.now = Now { mono: self.now.mono + span, utc: self.now.utc + span };
    }

    pub fn poll(&mut self) -> bool {
        if let Some(keeper) = &mut self.keeper {
            keeper.turn().expect("a segment");
        }
        self.venue.poll(self.now).expect("the venue goes on")
    }

    /// Turns the clock by a millisecond: beyond the interval between two looks for connections.
    pub fn tick(&mut self) {
        self.advance(Nanos::from_millis(1));
        self.poll();
    }

    /// Lets venue and client work until the client has seen what it waits for.
    pub fn until(&mut self, client: &mut Client, done: impl Fn(&Client) -> bool) {
        let deadline = Deadline::default();
        loop {
            self.poll();
            client.pump(self.now);
            if done(client) {
                return;
            }
            deadline.check("a client's wish", || format!("it has {:?}", client.reports));
        }
    }

    /// Lets the venue work until it is as the test wants it.
    pub fn until_venue(&mut self, done: impl Fn(&mut Venue) -> bool) {
        let deadline = Deadline::default();
        while !done(&mut self.venue) {
            self.poll();
            deadline.check("a state of the venue", || format!("{:?}", self.venue.counters()));
        }
    }

    /// A client that is logged on.
    pub fn log_on(&mut self, name: &str) -> Client {
        let mut client = Client::connect(self.orders_at, name, self.now);
        self.advance(Nanos::from_millis(2));
        self.until(&mut client, Client::is_logged_on);
        client
    }
}

/// Every datagram that has arrived.
pub fn drain(socket: &Socket, mut take: impl FnMut(&[u8])) {
    let mut datagram = [0; 2_048];
    while let Some(bytes) = socket.receive(&mut datagram).expect("receive") {
        take(&datagram[..bytes]);
    }
}
