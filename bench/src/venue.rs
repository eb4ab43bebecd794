//! A venue with and without a journal, from an order to its answer, beside bare bytes that are
//! written into a journal of the same kind.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use clap::Args;
use taut_fix::{
    BeginString, CompId, Event, FieldIndex, MemoryStore, NewOrderSingle, Now, Role, Session,
    SessionConfig,
};
use taut_journal::{Durability, Housekeeper, Journal, Settings, Writer};
use taut_report::terminal::print;
use taut_report::{Failure, Spread};
use taut_sync::atomic::{AtomicBool, Ordering};
use taut_sys::{
    Address, DatagramOptions, Socket, StreamOptions, available_cpus, monotonic, pin_to_cpu, utc,
};
use taut_types::{
    Instrument, InstrumentId, Nanos, OrderFlags, OrderType, Price, Qty, Side, Symbol, TimeInForce,
};
use taut_venue::{
    Acknowledge, FeedOutput, Flow, JournalKeeper, JournalSettings, Venue, VenueConfig,
    VenueJournal, VenueSockets,
};

use crate::ping_pong::{failed, in_turns, print_trips, send_all, streams};

/// One order at a time, which trades with nobody and ends at once: two reports.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A folder for the journals: new, and removed at the end.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Round trips of each.
    #[arg(long, default_value_t = 20_000)]
    trips: u32,
}

/// Bytes of an order, of its two reports, and of the order's entry in the journal.
const WIRE_BYTES: [usize; 2] = [145, 372];
const ENTRY_BYTES: usize = 145 + 30;
/// A peer that says nothing for so long is gone.
const PATIENCE: Nanos = Nanos::from_secs(10);
const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { folder, trips } = arguments;
    std::fs::create_dir(folder).map_err(|error| Failure::unreadable(folder, error))?;
    let kinds = [
        ("no journal", None),
        ("journal", Some(Acknowledge::Memory)),
        ("journal on the disk", Some(Acknowledge::Disk)),
    ];
    for (name, acknowledge) in kinds {
        let trips = if acknowledge == Some(Acknowledge::Disk) { trips / 10 } else { *trips };
        let [venue, bare] = measure(&folder.join(name), acknowledge, trips)?;
        print_trips(&format!("venue, {name}"), &venue)?;
        print_trips("bare bytes, the same journal", &bare)?;
        print(format_args!("{:28} {:.2}", "p50 beside it", venue.p50 as f64 / bare.p50 as f64))?;
    }
    std::fs::remove_dir_all(folder).map_err(|error| Failure::unreadable(folder, error))
}

/// Two threads that never sleep are on two CPUs, where there are two.
fn on_cpu(place: usize) -> Result<(), Failure> {
    let cpus = available_cpus().map_err(failed)?;
    let cpu = cpus.get(place).filter(|_| cpus.len() > 1);
    cpu.map_or(Ok(()), |cpu| pin_to_cpu(*cpu).map_err(failed))
}

fn clock() -> Now {
    Now { mono: monotonic(), utc: utc() }
}

fn measure(
    folder: &Path,
    acknowledge: Option<Acknowledge>,
    trips: u32,
) -> Result<[Spread; 2], Failure> {
    on_cpu(0)?;
    let (near, far) = streams()?;
    let (venue, keeper, at) = open(folder, acknowledge)?;
    let bare = bare_journal(&folder.join("bare"), acknowledge)?;
    let (writer, housekeeper) = bare.unzip();
    let is_over = AtomicBool::new(false);
    let (stop, stopped) = channel();
    thread::scope(|scope| {
        let over = &is_over;
        scope.spawn(move || keep(keeper, housekeeper, &stopped));
        let answering = scope.spawn(move || answer(venue, &far, writer, over));
        let measured = ask(&at, &near, trips);
        over.store(true, Ordering::Relaxed);
        drop(stop);
        let answered = answering.join().map_err(|_| failed("the other thread died"))?;
        answered.and(measured)
    })
}

/// A venue of one instrument, its journal's keeper, and where it takes orders.
fn open(
    folder: &Path,
    acknowledge: Option<Acknowledge>,
) -> Result<(Venue, Option<JournalKeeper>, Address), Failure> {
    let wrong = |what: &str| Failure::Run(what.to_owned());
    let symbol = Symbol::new(b"TAUT").ok_or_else(|| wrong("a symbol"))?;
    let lot = Qty { mantissa: 1, decimals: 0 };
    let instrument = Instrument::new(InstrumentId(1), symbol, Price(10_000_000), lot);
    let instrument = instrument.map_err(|error| wrong(&error.to_string()))?;
    let comp_id = CompId::new(b"VENUE").ok_or_else(|| wrong("a name"))?;
    let config = VenueConfig {
        reset_on_logon: acknowledge.is_none(),
        ..VenueConfig::new(vec![instrument], comp_id, 1)
    };
    let any = Address::Inet(ANY.into());
    let orders = Socket::listen(&any, &StreamOptions::default()).map_err(failed)?;
    let at = orders.local_address().map_err(failed)?;
    let feed_channel = || {
        let peer = orders.local_address().map_err(failed)?.inet();
        let options = DatagramOptions { peer, ..DatagramOptions::default() };
        Socket::datagram(&any, &options).map_err(failed)
    };
    let feed = FeedOutput {
        incremental: feed_channel()?.into(),
        incremental_b: None,
        retransmission: None,
        snapshot: feed_channel()?.into(),
    };
    let sockets = VenueSockets { orders: orders.into(), feed, stream: None };
    let venue = Venue::new(&config, sockets, Flow::None).map_err(failed)?;
    let Some(acknowledge) = acknowledge else { return Ok((venue, None, at)) };
    let settings = JournalSettings { acknowledge, ..JournalSettings::default() };
    let journal = VenueJournal::open(folder, settings).map_err(failed)?;
    let (venue, keeper, _) = venue.with_journal(journal, clock()).map_err(failed)?;
    Ok((venue, Some(keeper), at))
}

/// The journal of the bare bytes.
fn bare_journal(
    folder: &Path,
    acknowledge: Option<Acknowledge>,
) -> Result<Option<(Writer, Housekeeper)>, Failure> {
    let durability = match acknowledge {
        None => return Ok(None),
        Some(Acknowledge::Memory | Acknowledge::Replicated) => Durability::Async,
        Some(Acknowledge::Disk) => Durability::Sync,
    };
    let settings = Settings { durability, ..Settings::of_recording() };
    let Journal { writer, housekeeper, .. } =
        Journal::begin(folder, settings, None).map_err(failed)?;
    Ok(Some((writer, housekeeper)))
}

/// Keeps both journals, as a thread beside a venue does.
fn keep(
    mut keeper: Option<JournalKeeper>,
    mut housekeeper: Option<Housekeeper>,
    over: &Receiver<()>,
) {
    // As the keeper of a venue's process.
    let turn = Duration::from_millis(2);
    while over.recv_timeout(turn) == Err(RecvTimeoutError::Timeout) {
        let _ = keeper.as_mut().map(JournalKeeper::turn);
        let _ = housekeeper.as_mut().map(Housekeeper::turn);
    }
}

/// The other thread: the venue, and bytes for bytes.
fn answer(
    mut venue: Venue,
    bare: &Socket,
    mut writer: Option<Writer>,
    over: &AtomicBool,
) -> Result<(), Failure> {
    on_cpu(1)?;
    let [there, back] = WIRE_BYTES;
    let (mut buffer, mut got) = ([0; 1_024], 0);
    while !over.load(Ordering::Relaxed) {
        venue.poll(clock()).map_err(failed)?;
        if let Some(bytes) = bare.receive(&mut buffer).map_err(failed)? {
            got += bytes;
            if got >= there {
                got -= there;
                if let Some(writer) = &mut writer {
                    let entry = buffer.get(..ENTRY_BYTES).unwrap_or_default();
                    writer.record(taut_journal::TURN, monotonic(), entry).map_err(failed)?;
                    writer.commit().map_err(failed)?;
                }
                send_all(bare, buffer.get(..back).unwrap_or_default())?;
            }
        }
    }
    Ok(())
}

/// A client, and how long each of its orders takes.
fn ask(at: &Address, bare: &Socket, trips: u32) -> Result<[Spread; 2], Failure> {
    let (stream, _) = Socket::connect(at, &StreamOptions::default()).map_err(failed)?;
    let name = |text: &[u8]| CompId::new(text).ok_or_else(|| failed("a name"));
    let config =
        SessionConfig::new(Role::Initiator, BeginString::Fix44, name(b"BENCH")?, name(b"VENUE")?);
    let mut session = Session::new(config, MemoryStore::new(64, 16 << 10));
    session.connect(clock());
    let (mut index, mut room) = (FieldIndex::with_capacity(64), vec![0; 64 << 10]);
    let mut output = [0; 1_024];
    let (mut filled, mut reports) = (0, 0_u64);
    let mut poll = |session: &mut Session<MemoryStore>| -> Result<u64, Failure> {
        let free = room.get_mut(filled..).unwrap_or_default();
        filled += stream.receive(free).map_err(failed)?.unwrap_or(0);
        let mut begin = 0;
        loop {
            let bytes = room.get(begin..filled).unwrap_or_default();
            let made = session.handle_bytes(clock(), bytes, &mut index);
            begin += made.consumed;
            reports += u64::from(matches!(made.event, Some(Event::Application { .. })));
            while let Some(range) = session.poll_transmit(clock(), &mut output) {
                send_all(&stream, output.get(range).unwrap_or_default())?;
            }
            if made.consumed == 0 {
                break;
            }
        }
        room.copy_within(begin..filled, 0);
        filled -= begin;
        Ok(reports)
    };
    let started = monotonic();
    while !session.is_active() {
        poll(&mut session)?;
        if monotonic().since(started) > PATIENCE {
            return Err(failed("no answer to the Logon"));
        }
    }
    let (mut number, mut wanted, mut bytes) = (0, 0, [0; 1_024]);
    in_turns(bare, WIRE_BYTES, trips, || {
        number += 1;
        wanted += 2;
        let order = order(number);
        let start = monotonic();
        let range = session.send_message(clock(), &order, &mut bytes).map_err(failed)?;
        send_all(&stream, bytes.get(range).unwrap_or_default())?;
        while poll(&mut session)? < wanted {
            if monotonic().since(start) > PATIENCE {
                return Err(failed("no answer to an order"));
            }
        }
        Ok(monotonic().since(start).0.unsigned_abs())
    })
}

fn order(number: u64) -> NewOrderSingle {
    NewOrderSingle {
        account: None,
        flags: OrderFlags::NONE,
        stop_price: None,
        max_floor: None,
        cl_ord_id: number.into(),
        symbol: taut_fix::ShortText::new(b"TAUT").unwrap_or(0.into()),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::ImmediateOrCancel,
        price: Some(Price(100_000_000_000)),
        qty: Qty::whole(1),
        transact_time: utc(),
    }
}
