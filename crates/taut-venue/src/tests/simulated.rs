//! The venue on the simulated kernel: its client and its subscriber are sources of the same loop.

use std::net::SocketAddr;

use taut_fix::{
    BeginString, CompId, Delivery, Event, ExecType, FieldIndex, Link, LinkConfig, MemoryStore, Now,
    OrderFlow, Role, Session, SessionConfig,
};
use taut_io::{Completion, Endpoint, Handle, Io, Kernel, SimConfig, SimKernel};
use taut_market_data::native::PacketReader;
use taut_sys::{Address, DatagramOptions, StreamOptions};
use taut_types::{Nanos, Side};

use crate::tests::client::limit;
use crate::tests::rig::{config, synthetic};
use crate::{FeedOutput, Observer, Venue, VenueError, VenueSockets};

const SEEDS: u64 = 200;
/// Turns in which everything has happened long since.
const TURNS_MAX: u32 = 20_000;
const PACKETS: u64 = 50;

fn at(port: u16) -> Address {
    Address::Inet(SocketAddr::from(([127, 0, 0, 1], port)))
}

/// A client that buys at any price as soon as it is in, and a subscriber of the feed.
struct Peers {
    now: Now,
    stream: Option<Handle>,
    link: Link<MemoryStore>,
    index: FieldIndex,
    has_ordered: bool,
    told: Vec<ExecType>,
    packets: u64,
}

impl Peers {
    fn new(now: Now) -> Self {
        let name = |text: &[u8]| CompId::new(text).expect("a name");
        let config = SessionConfig {
            reset_on_logon: true,
            ..SessionConfig::new(
                Role::Initiator,
                BeginString::Fix44,
                name(b"CLIENT"),
                name(b"VENUE"),
            )
        };
        let session = Session::new(config, MemoryStore::new(64, 1 << 14));
        Self {
            now,
            stream: None,
            link: Link::new(session, &LinkConfig::default()),
            index: FieldIndex::with_capacity(64),
            has_ordered: false,
            told: Vec::new(),
            packets: 0,
        }
    }

    fn transmit(&mut self, io: &mut Io<impl Kernel>) {
        let Some(stream) = self.stream else { return };
        self.link.poll_transmit(self.now);
        if !self.link.unsent().is_empty() {
            io.write(stream, self.link.unsent(), None).expect("room for a message");
            self.link.clear_unsent();
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        assert!(self.link.receive(bytes));
        while let Some(delivery) = self.link.handle_bytes(self.now, &mut &[][..], &mut self.index) {
            let Delivery { event, message, .. } = delivery;
            match event {
                Event::LoggedOn => {}
                Event::Application { .. } => match message.order_flow() {
                    Ok(OrderFlow::ExecutionReport(report)) => self.told.push(report.exec_type),
                    other => panic!("{other:?}"),
                },
                _ => {}
            }
        }
        if self.link.session().is_active() && !self.has_ordered {
            self.has_ordered = true;
            let order = limit(1, Side::Buy, 1, "100000");
            self.link.outbox(self.now).send_message(&order).expect("it is logged on");
        }
    }
}

impl<K: Kernel> Observer<K> for Peers {
    fn on_start(&mut self, io: &mut Io<K>) -> Result<(), VenueError> {
        for port in [2, 3] {
            let socket = io.datagram(&at(port), &DatagramOptions::default())?;
            io.receive(socket)?;
        }
        self.stream = Some(io.connect(&at(1), &StreamOptions::default(), None)?);
        Ok(())
    }

    fn on_completion(&mut self, io: &mut Io<K>, completion: &Completion<'_>) {
        match *completion {
            Completion::Connected { stream } => {
                self.link.connect(self.now);
                io.receive(stream).expect("a stream");
            }
            Completion::Received { bytes, .. } => self.receive(bytes),
            Completion::Datagram { bytes, .. } => {
                let packet = PacketReader::new(bytes).expect("a packet");
                self.packets += u64::from(packet.messages().all(|message| message.is_ok()));
            }
            Completion::Failed { error, .. } => panic!("{error:?}"),
            _ => {}
        }
        self.transmit(io);
    }
}

fn sends_to(port: u16) -> Endpoint<DatagramOptions> {
    let peer = at(port).inet();
    Endpoint::At(at(0), DatagramOptions { peer, ..DatagramOptions::default() })
}

/// An order is accepted and filled, and the feed is heard; how many turns that took.
fn trade(seed: u64) -> u32 {
    let simulated = SimConfig { seed, window_bytes: 700, ..SimConfig::default() };
    let kernel = SimKernel::new(Venue::<SimKernel>::SOURCES_MAX, simulated);
    let sockets = VenueSockets {
        orders: Endpoint::At(at(1), StreamOptions::default()),
        feed: FeedOutput {
            incremental: sends_to(2),
            incremental_b: None,
            retransmission: None,
            snapshot: sends_to(3),
        },
        stream: None,
    };
    let mut now = Now { mono: Nanos::from_secs(1), utc: Nanos::from_secs(1_000_000_000) };
    let venue = Venue::on_kernel(kernel, &config(), sockets, synthetic(seed)).expect("a venue");
    let mut venue = venue.with_observer(Peers::new(now)).expect("its peers");
    venue.start_flow(now.mono);
    for turn in 0..TURNS_MAX {
        let step = Nanos::from_micros(1);
        now = Now { mono: now.mono + step, utc: now.utc + step };
        venue.observer_mut().now = now;
        venue.poll(now).expect("the venue goes on");
        let peers = venue.observer();
        if peers.told.contains(&ExecType::Trade) && peers.packets >= PACKETS {
            assert_eq!(peers.told[0], ExecType::New, "seed {seed}");
            return turn;
        }
    }
    let Peers { told, packets, .. } = venue.observer();
    panic!("seed {seed}: {told:?} and {packets} packets after {TURNS_MAX} turns");
}

#[test]
fn an_order_trades_and_the_feed_is_heard_on_a_simulated_kernel() {
    let turns: u64 = (0..SEEDS).map(|seed| u64::from(trade(seed))).sum();
    println!("{SEEDS} seeds, {turns} turns");
    assert_eq!(trade(7), trade(7), "a seed is a run");
}
