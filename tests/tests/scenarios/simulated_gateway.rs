//! The gateway on the simulated kernel: virtual time, packets that are lost, doubled and overtaken,
//! and the same run from the same seed.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use taut_book::LevelBook;
use taut_gateway::{
    FeedInput, FeedSocket, FeedSockets, FusedClient, Gateway, GatewayConfig, GatewayCounters,
    GatewayError, Observer, Regions, TouchConfig, TouchStrategy,
};
use taut_io::{Admission, Handle, Io, Kernel, SimConfig, SimKernel};
use taut_ipc::Segment;
use taut_market_data::native::{
    Levels, Message, PACKET_BYTES_MAX, PacketFlags, PacketHeader, PacketWriter, SnapshotBegin,
    SnapshotLevels, SnapshotPart,
};
use taut_market_data::{EventKind, LevelPlace, LevelUpdate};
use taut_sys::{Address, Clock, DatagramOptions, StreamOptions};
use taut_tests::lockstep::{START, clock, standing_at};
use taut_tests::setup::{STREAM_ID, VenueAddresses, gateway_config, instrument, native_feed};
use taut_types::{InstrumentId, Lots, Nanos, Price, SequenceNumber, Side};

const PACKETS: u64 = if cfg!(debug_assertions) { 500 } else { 5_000 };

const fn at(port: u16) -> Address {
    Address::Inet(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)))
}

const ORDERS: u16 = 1;
const LINE_A: u16 = 2;
const LINE_B: u16 = 3;
const SNAPSHOTS: u16 = 4;
/// The same at other addresses.
const BACKUP: [u16; 3] = [5, 6, 7];
/// How long the addresses in use may bring nothing.
const AFTER: Nanos = Nanos::from_millis(50);

/// Which addresses it sends to.
#[derive(Clone, Copy)]
enum Sends {
    ToPrimary,
    /// From this packet on to the backup alone.
    ToBackupFrom(u64),
    /// Lines to both, snapshots to the backup alone.
    SnapshotsToBackup,
}

/// A venue in the gateway's own loop: it takes the connection and says nothing on it, sends a level
/// a turn on both lines, and now and then the whole book.
struct Publisher {
    sends: Sends,
    /// Lines and snapshots: at the primary addresses, at the backup's.
    ends: Option<[[Handle; 3]; 2]>,
    book: LevelBook,
    sequence: u64,
    snapshot_id: u32,
}

impl Publisher {
    fn level(&self) -> LevelUpdate {
        let side = if self.sequence.is_multiple_of(2) { Side::Buy } else { Side::Sell };
        let depth = (self.sequence * 7 % 13).cast_signed();
        let price = Price(585_330_000_000 - side.sign() * (depth + 1) * 10_000_000);
        let lots = Lots((self.sequence % 90).cast_signed() + 1);
        LevelUpdate { side, price, lots, order_count: 1, place: LevelPlace::ByPrice }
    }

    fn packet(&self, message: Message<'_>, flags: PacketFlags) -> Vec<u8> {
        let mut writer = PacketWriter::new([0; PACKET_BYTES_MAX]);
        let sequence = SequenceNumber(self.sequence);
        let head = PacketHeader { sequence, stream_id: STREAM_ID, flags, ..PacketHeader::EMPTY };
        writer.begin(head).expect("a packet");
        writer.push(&message).expect("room");
        writer.finish().to_vec()
    }

    fn snapshot(&mut self) -> [Vec<u8>; 2] {
        self.snapshot_id += 1;
        let (snapshot_id, instrument) = (self.snapshot_id, instrument().id());
        let levels: Vec<_> = Side::BOTH
            .into_iter()
            .flat_map(|side| self.book.iter(side).map(move |level| (side, level)))
            .map(|(side, level)| LevelUpdate {
                side,
                price: level.price,
                lots: level.lots,
                order_count: level.order_count,
                place: LevelPlace::ByPrice,
            })
            .collect();
        let begin = Message::SnapshotBegin(SnapshotBegin {
            last_sequence: SequenceNumber(self.sequence),
            snapshot_id,
            instrument,
            level_count: u32::try_from(levels.len()).expect("few levels"),
            order_count: 0,
            packet_count: 2,
        });
        let part = SnapshotPart { snapshot_id, packet_index: 1, instrument };
        let levels = Message::SnapshotLevels(SnapshotLevels { part, levels: Levels::new(&levels) });
        [begin, levels].map(|message| self.packet(message, PacketFlags::SNAPSHOT))
    }
}

impl Observer for Publisher {
    fn on_start(&mut self, io: &mut Io<impl Kernel>, _clock: &Clock) -> Result<(), GatewayError> {
        io.listen(&at(ORDERS), &StreamOptions::default(), &Admission::OPEN)?;
        let mut end = |port| {
            let peer = at(port).inet();
            io.datagram(&at(0), &DatagramOptions { peer, ..DatagramOptions::default() })
        };
        let primary = [end(LINE_A)?, end(LINE_B)?, end(SNAPSHOTS)?];
        let [a, b, snapshots] = BACKUP;
        self.ends = Some([primary, [end(a)?, end(b)?, end(snapshots)?]]);
        Ok(())
    }

    fn on_idle(&mut self, io: &mut Io<impl Kernel>, _clock: &Clock) -> Result<(), GatewayError> {
        let Some([primary, backup]) = self.ends else { return Ok(()) };
        let (lines, snapshots): (&[[Handle; 3]], _) = match self.sends {
            Sends::ToBackupFrom(first) if self.sequence + 1 >= first => (&[backup], backup[2]),
            Sends::ToPrimary | Sends::ToBackupFrom(_) => (&[primary], primary[2]),
            Sends::SnapshotsToBackup => (&[primary, backup], backup[2]),
        };
        if self.sequence < PACKETS {
            self.sequence += 1;
            let level = self.level();
            let LevelUpdate { side, price, lots, order_count, .. } = level;
            self.book.apply(side, price, lots, order_count).expect("room");
            let event = Message::Event(instrument().id(), EventKind::Level(level));
            let packet = self.packet(event, PacketFlags::LAST);
            // What finds no room is lost, too.
            for [a, b, _] in lines {
                let _ = io.send_to(*a, &packet, None);
                let _ = io.send_to(*b, &packet, None);
            }
        }
        if self.sequence.is_multiple_of(5) || self.sequence == PACKETS {
            for packet in self.snapshot() {
                let _ = io.send_to(snapshots, &packet, None);
            }
        }
        Ok(())
    }
}

/// A run with this seed: the book's hash, what was counted, and how often the book was not sound.
fn run(seed: u64) -> (u64, [u64; 6], u64) {
    let (hash, counters, stale) = run_sending(seed, Sends::ToPrimary);
    let counted = [
        counters.ticks,
        counters.recovered,
        counters.gaps,
        counters.snapshots,
        counters.line_a_first,
        counters.line_b_first,
    ];
    (hash, counted, stale)
}

fn run_sending(seed: u64, sends: Sends) -> (u64, GatewayCounters, u64) {
    let segment = Segment::create("simulated-gateway", &Regions::LAYOUT).expect("a segment");
    let regions = Regions::of(&segment).expect("regions");
    let faults = SimConfig {
        seed,
        lost_per_mille: 60,
        duplicated_per_mille: 50,
        is_partial: false,
        ..SimConfig::default()
    };
    let socket = |port| FeedSocket::At(at(port), DatagramOptions::default());
    let sockets = FeedSockets {
        incremental: socket(LINE_A),
        incremental_b: Some(socket(LINE_B)),
        snapshot: socket(SNAPSHOTS),
        retransmission: None,
    };
    let orders = SocketAddrV4::new(Ipv4Addr::LOCALHOST, ORDERS);
    let config = GatewayConfig { hot: false, ..gateway_config(VenueAddresses { orders }) };
    let client = FusedClient::new(TouchStrategy::new(TouchConfig::default(), START));
    let (input, feed): (FeedInput, _) = native_feed(instrument(), sockets, START);
    let publisher = Publisher {
        sends,
        ends: None,
        book: LevelBook::with_capacity(64),
        sequence: 0,
        snapshot_id: 0,
    };
    let kernel = SimKernel::new(32, faults);
    let gateway = Gateway::on_kernel(kernel, &config, clock(), input, feed, client, &regions);
    let mut gateway =
        gateway.and_then(|gateway| gateway.with_observer(publisher)).expect("a gateway");
    let [a, b, snapshot] = BACKUP.map(socket);
    let backup =
        FeedSockets { incremental: a, incremental_b: Some(b), snapshot, retransmission: None };
    gateway.add_feed_backup(backup, AFTER).expect("a backup");
    let (mut now, mut stale) = (START, 0);
    for turn in 0.. {
        assert!(turn < 1_000_000, "the gateway does not catch up: {:?}", gateway.counters());
        now = now + Nanos::from_micros(10);
        gateway.clock_mut().set_mapping(standing_at(now));
        gateway.poll().expect("the gateway goes on");
        gateway.housekeeping().expect("the gateway goes on");
        stale += u64::from(gateway.counters().live == 0);
        let sent = gateway.observer().sequence;
        if sent == PACKETS && gateway.has_caught_up_with(SequenceNumber(PACKETS)) {
            break;
        }
    }
    let own = gateway.book(InstrumentId(0)).expect("a book");
    assert_eq!(own.state_hash(), gateway.observer().book.state_hash(), "seed {seed}");
    let counters = gateway.counters();
    assert_eq!(counters.ticks + counters.recovered, PACKETS, "seed {seed}");
    (own.state_hash(), counters, stale)
}

#[test]
fn another_pair_of_lines_is_taken_when_those_in_use_fall_silent() {
    let (_, counters, stale) = run_sending(1, Sends::ToBackupFrom(PACKETS / 2));
    assert_eq!(counters.feed_backups, 1);
    assert!(stale > 0 && counters.snapshots >= 2, "{counters:?}");
}

#[test]
fn another_pair_is_taken_when_no_snapshot_makes_the_book_sound() {
    let (_, counters, _) = run_sending(1, Sends::SnapshotsToBackup);
    assert_eq!(counters.feed_backups, 1);
}

#[test]
fn lines_that_speak_are_kept() {
    assert_eq!(run_sending(1, Sends::ToPrimary).1.feed_backups, 0);
}

#[test]
fn a_gateway_on_the_simulated_kernel_heals_and_repeats_itself() {
    let runs: Vec<_> = (1..=8).map(|seed| (seed, run(seed))).collect();
    for (seed, first) in &runs {
        println!("seed {seed}: {first:?}");
        let (_, [ticks, recovered, _, _, a, b], stale) = *first;
        assert!(ticks > 0 && recovered > 0 && a > 0 && b > 0 && stale > 0);
    }
    let gaps: u64 = runs.iter().map(|(_, (_, [_, _, gaps, ..], _))| gaps).sum();
    assert!(gaps > 0, "no book was ever sound before the end");
    assert_eq!(runs[0].1, run(1));
    assert_ne!(runs[0].1.1, runs[1].1.1, "another seed is another run");
}
