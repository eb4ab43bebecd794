//! The process of a gateway: the thread that trades, and the one that listens.

pub mod any;
mod asked;
pub mod replaying;
mod strategies;
mod trading;

use std::cell::Cell;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, ScopedJoinHandle};

use taut_doctor::outliers::WatchedThread;
use taut_gateway::{
    Client, Gateway, OrderHandler, OrderWriter, Regions, SlotId, Strategy, StrategyRegions,
};
use taut_io::{EpollKernel, TapedKernel};
use taut_ipc::Segment;
use taut_journal::{Housekeeper, Journal, RECOVERED, State, TURN};
use taut_log::messages as say;
use taut_log::{Entry, LogMemory, LogWriter};
use taut_market_data::FeedHandler;
use taut_ring::cell::CellWriter;
use taut_sync::atomic::AtomicU64;
use taut_sys::{
    Anchoring, Doorbell, MAPPING_WORDS, catch_kill_signals, catch_reload_signals,
    catch_stop_signals, process_id, tape, thread_id, utc,
};
use taut_types::Nanos;

use crate::build::Build;
use crate::child::SharedClock;
use crate::error::RunnerError;
use crate::looker::Looker;
use crate::market_rows::SharedRows;
use crate::outliers::OutlierWatch;
use crate::recording::{Head, Recorder, What};
use crate::service::connections::{self, Connect, Connections, MarketData};
use crate::service::file::GatewayFile;
use crate::service::journal::{JournalKeys, keep};
use crate::service::listener::{Listener, Signs};
use crate::service::manager::Manager;
use crate::service::place::Place;
use crate::service::record::RecordKeys;
use crate::service::recorded::RecordedGateway;
use crate::service::telling::{Heard, entry, queue};
use asked::now;
use strategies::{Attachable, Fused, Memory, Split, Strategies};
use trading::{Built, Trading};

/// Sockets of the gateway: its feed's, its orders'.
const SOURCES: usize = 16;
/// Room for what is said within the time that the listening thread may take to look: 64 KiB.
const LOG_SLOTS: usize = 1_024;

/// Runs a gateway to which strategies attach, until a stop signal comes or its operator ends it.
/// `heard` is told once it can be found, what a reload of its settings comes to, and what is wrong
/// with its journal; SIGHUP asks for a reload, SIGUSR1 kills everything that trades.
///
/// # Errors
/// [`RunnerError::Settings`] before anything is opened; [`RunnerError::Run`] when it cannot be
/// opened, or ends.
pub fn serve(file: &GatewayFile, heard: impl Fn(&Entry) + Sync) -> Result<(), RunnerError> {
    serve_split(file, &heard)
}

/// Nothing of it depends on who calls: it is compiled with this crate, once.
fn serve_split(file: &GatewayFile, heard: Heard<'_>) -> Result<(), RunnerError> {
    file.check()?;
    start(file, None, Split, heard, Manager::from_environment())
}

/// The same with one strategy, which `make` makes, in the thread that trades: no core is crossed on
/// the way of a tick, and nobody else can attach. `name` is the strategy's in `[[strategies]]`.
///
/// # Errors
/// As [`serve`]; when the file does not name the strategy.
pub fn serve_fused<S: Strategy + Send>(
    file: &GatewayFile,
    name: &str,
    make: impl FnOnce(Nanos) -> S,
    heard: impl Fn(&Entry) + Sync,
) -> Result<(), RunnerError> {
    file.check()?;
    let strategy = file.strategy(name);
    let strategy = strategy.ok_or_else(|| RunnerError::Settings(file.unknown_strategy(name)))?;
    if let Some(mistake) = strategy.mistake_when_fused() {
        return Err(mistake);
    }
    let owner = strategy.owner();
    start(file, Some(name), Fused { owner, make }, &heard, Manager::from_environment())
}

fn start(
    file: &GatewayFile,
    fused: Option<&str>,
    strategies: impl Strategies,
    heard: Heard<'_>,
    manager: Manager,
) -> Result<(), RunnerError> {
    let file = &*file.subscribed(None, |words| heard(&entry(&say::Instruments {}, words)))?;
    let into = file.recording(utc());
    // Before the session's numbers, which are in its folder.
    let journal = file.order_journal().map(|keys| open(file, &keys, into.as_ref())).transpose()?;
    let anchoring = Anchoring::start();
    let (mut journal, housekeeper) = journal.map(in_parts).unzip();
    let recorded = into.as_ref().map(|it| record(file, it, fused, journal.as_mut(), &anchoring));
    let (recorder, of_recording) = recorded.transpose()?.unzip();
    let journal = journal.or(of_recording.flatten());
    if let Some((folder, _)) = &into {
        heard(&entry(&say::Recording {}, format!("recording in {}", folder.display())));
    }
    if let Some(recorder) = &recorder {
        recorder.begin(TURN);
    }
    let (recorder, housekeeper) = (Cell::new(recorder), Cell::new(housekeeper));
    let kept = Kept { recorder: &recorder, housekeeper: &housekeeper };
    let serve = Serve { file, fused, strategies, journal, anchoring, kept, heard, manager };
    let served = connections::connect(file, serve);
    // A gateway that could not be built has left the tape on, and its recording begun.
    tape::end_writing(|_, _| ());
    if let Some(unused) = recorder.take() {
        let _ = unused.finish(None);
    }
    if let Some(unused) = housekeeper.take().filter(|_| file.records_orders()) {
        let _ = unused.finish();
    }
    served
}

/// Opens the order journal; where the orders stand in the recording, with that.
fn open(
    file: &GatewayFile,
    keys: &JournalKeys,
    recording: Option<&(PathBuf, RecordKeys)>,
) -> Result<Journal, RunnerError> {
    let with = |(folder, keys): &'_ (PathBuf, RecordKeys)| {
        let name = folder.file_name()?.to_str()?.to_owned();
        Some((name, keys.with_orders(file.journal.is_some())))
    };
    let recording = recording.filter(|_| file.records_orders()).and_then(with);
    let recording = recording.as_ref().map(|(name, settings)| (name.as_str(), *settings));
    keys.open(&file.instruments()?, recording)
}

/// Begins a recording: in the journal where the orders stand in it, else in a folder of its own. A
/// gateway without a journal has its orders there, too, and none that it begins with.
fn record(
    file: &GatewayFile,
    (folder, keys): &(PathBuf, RecordKeys),
    fused: Option<&str>,
    journal: Option<&mut (OrderWriter, State)>,
    anchoring: &Anchoring,
) -> Result<(Recorder, Option<(OrderWriter, State)>), RunnerError> {
    let run = RecordedGateway { file: file.into(), fused: fused.map(str::to_owned) };
    let what = serde_json::to_value(&run).map_err(|error| RunnerError::run("record", error))?;
    let head = Head {
        build: Build::this(),
        clock: anchoring.mapping().to_words(),
        what: What::Gateway(Box::new(what)),
    };
    match journal {
        Some((OrderWriter::Journal(writer), _)) if file.records_orders() => {
            Ok((Recorder::create_in(writer, &head, keys.when_full)?, None))
        }
        Some((_, recovered)) => {
            let mut recorder = Recorder::create(folder, &head, keys.settings())?;
            recorder.note(RECOVERED, &recovered.to_bytes(), None)?;
            Ok((recorder, None))
        }
        None => {
            let settings = (keys.with_orders(false), keys.when_full);
            let (recorder, writer) = Recorder::create_with_orders(folder, &head, settings)?;
            Ok((recorder, Some((writer.into(), State::default()))))
        }
    }
}

/// What stays behind where a gateway is not built.
#[derive(Clone, Copy)]
struct Kept<'a> {
    /// Taken once the gateway is built.
    recorder: &'a Cell<Option<Recorder>>,
    /// Of its journal; taken by the thread that keeps it.
    housekeeper: &'a Cell<Option<Housekeeper>>,
}

/// Runs the gateway that it is given the parts of.
struct Serve<'a, W> {
    file: &'a GatewayFile,
    /// The name of the strategy in the thread that trades.
    fused: Option<&'a str>,
    strategies: W,
    journal: Option<(OrderWriter, State)>,
    anchoring: Anchoring,
    kept: Kept<'a>,
    heard: Heard<'a>,
    manager: Manager,
}

impl<W: Strategies> Connect for Serve<'_, W> {
    type Output = ();

    fn connect<F: FeedHandler + Send, H: OrderHandler + Send>(
        self,
        connections: Connections<F, H>,
    ) -> Result<(), RunnerError> {
        run(self, connections)
    }
}

/// The number of a strategy's first order, above every one that a gateway started before may have
/// used: 65,536 orders a second of each strategy since then. Those that are in a journal go on
/// behind it.
fn first_number() -> u64 {
    (utc().0.unsigned_abs() / 1_000_000_000) << 16
}

/// Says where it is to be found, and by whom.
fn tell_where(file: &GatewayFile, fused: Option<&str>, heard: Heard<'_>) {
    if file.is_paper {
        let words = "on paper: orders go to a venue within this process, and none leaves";
        heard(&entry(&say::OnPaper {}, words));
    }
    let who = match fused {
        None => "strategies and operators meet".to_owned(),
        Some(name) => format!("'{name}' trades in its thread, operators meet"),
    };
    let words = format!("{}: {who} it at {}", file.name, file.control_path().display());
    heard(&entry(&say::Started {}, words));
}

/// What a gateway shares with its strategies, and how it is woken.
struct Shared {
    segment: Segment,
    /// A segment for each strategy that may attach.
    own: Vec<Segment>,
    bell: Doorbell,
    /// What its thread that trades says, until the other one tells it.
    log: LogMemory,
    /// Its rounds of housekeeping.
    beats: AtomicU64,
    /// Its number, by which others find it in `/proc`, once it runs.
    thread: OnceLock<u32>,
}

impl Shared {
    /// With room for so many strategies.
    fn create(places: usize) -> Result<Self, RunnerError> {
        let failed = |error: &dyn std::fmt::Display| RunnerError::run("shared memory", error);
        let segment =
            Segment::create("taut-gateway", &Regions::LAYOUT).map_err(|error| failed(&error))?;
        let own = (0..places).map(|_| Segment::create("taut-strategy", &StrategyRegions::LAYOUT));
        let own = own.collect::<Result<_, _>>().map_err(|error| failed(&error))?;
        let (log, bell) = (LogMemory::new(LOG_SLOTS), doorbell()?);
        let (beats, thread) = (AtomicU64::new(0), OnceLock::new());
        Ok(Self { segment, own, bell, log, beats, thread })
    }

    fn places(&self) -> Result<Vec<Place<'_>>, RunnerError> {
        self.own.iter().map(|own| Ok(Place::vacant(own, doorbell()?))).collect()
    }
}

fn doorbell() -> Result<Doorbell, RunnerError> {
    Doorbell::new().map_err(|error| RunnerError::run("doorbell", error))
}

/// Builds the gateway. All that is behind it is the same for every venue and every client.
fn run<W: Strategies, F: FeedHandler + Send, H: OrderHandler + Send>(
    serve: Serve<'_, W>,
    connections: Connections<F, H>,
) -> Result<(), RunnerError> {
    let Serve { file, fused, strategies, journal, anchoring, kept, heard, manager } = serve;
    let failed = |error: &dyn std::fmt::Display| RunnerError::run("shared memory", error);
    let shared = Shared::create(W::PLACES)?;
    let regions = Regions::of(&shared.segment).map_err(|error| failed(&error))?;
    let places = shared.places()?;
    catch_stop_signals()
        .and_then(|()| catch_reload_signals())
        .and_then(|()| catch_kill_signals())
        .map_err(|error| RunnerError::run("signals", error))?;
    let mut clock = CellWriter::new(regions.clock).map_err(|error| failed(&error))?;
    clock.set(&anchoring.mapping().to_words());

    let memory = Memory { regions: &regions, own: &shared.own, places: &places };
    let client = strategies.open(&memory, first_number(), now())?;
    let kernel =
        EpollKernel::new(SOURCES).map_err(|error| RunnerError::run("the kernel", error))?;
    // The kernel of a run's gateway: one type is compiled once.
    let kernel = TapedKernel::live(kernel);
    let (writer, log) = shared.log.ends().map_err(|error| RunnerError::run("the log", error))?;
    let how = How { is_taped: file.is_recorded(), log: writer, market: None };
    let built = build(&regions, kernel, client, connections, how)?;
    let (tell, told) = queue();
    let signs = Signs { log, tell, told, beats: &shared.beats, manager };
    let running = Running { file, fused, shared: &shared, places, anchoring, clock, signs };
    running.run(built, journal, kept, heard)
}

/// What is other where a gateway is done again.
struct How<'m> {
    /// It is recorded, or what was recorded is read.
    is_taped: bool,
    /// Where nobody listens it is a silent one: what is said asks the clock for the time, and a
    /// gateway that is done again asks as often as the first one did.
    log: LogWriter<'m>,
    market: Option<SharedRows>,
}

/// The gateway of these parts, live or replayed.
fn build<'m, F: FeedHandler + Send + 'm, H: OrderHandler + Send + 'm>(
    regions: &Regions<'m>,
    kernel: TapedKernel<EpollKernel>,
    (client, slots): (impl Client + Attachable + Send + 'm, Vec<SlotId>),
    connections: Connections<F, H>,
    how: How<'m>,
) -> Result<Built<'m>, RunnerError> {
    let How { is_taped, log, market } = how;
    let (shared_clock, clock) = SharedClock::new(regions)?;
    let clock = if is_taped { clock.taped() } else { clock };
    let Connections { config, market_data, orders: handler, tap } = connections;
    let MarketData { input, handler: feed, backup: feed_backup } = market_data;
    let orders = config.order_address;
    let handlers = (feed, handler);
    let mut gateway =
        Gateway::with_handlers(kernel, &config, clock, input, handlers, client, regions)
            .and_then(|gateway| gateway.with_observer(Looker { tap, market, ..Looker::default() }))
            .map_err(|error| trading::failed(error, orders))?;
    gateway.set_log(log);
    Ok(Built { gateway: Box::new(gateway), slots, shared_clock, orders, feed_backup })
}

/// A gateway's process, whichever venue it is at.
struct Running<'a, 'm> {
    file: &'a GatewayFile,
    /// The name of the strategy in the thread that trades.
    fused: Option<&'a str>,
    shared: &'m Shared,
    places: Vec<Place<'m>>,
    anchoring: Anchoring,
    /// Where strategies read the clock.
    clock: CellWriter<'m, MAPPING_WORDS>,
    /// Of the thread that trades.
    signs: Signs<'m>,
}

impl<'m> Running<'_, 'm> {
    fn run(
        self,
        built: Built<'m>,
        journal: Option<(OrderWriter, State)>,
        kept: Kept<'_>,
        heard: Heard<'_>,
    ) -> Result<(), RunnerError> {
        let Self { file, fused, shared, places, mut anchoring, mut clock, mut signs } = self;
        let Shared { segment, bell, beats, thread, .. } = shared;
        let path = file.control_path();
        let ((asks, asked), (answers, answered)) = (mpsc::channel(), mpsc::channel());
        let mut trading = Trading::open(file, built, journal, bell, (asked, answers))?;
        trading.count_beats(beats);
        if let Some(recorder) = kept.recorder.take() {
            trading.record(recorder);
        }
        let (names, named) = mpsc::channel();
        let drop_copy = file.drop_copy.as_ref();
        let drop_copy = drop_copy
            .map(|keys| keys.open(file.instruments()?, named, signs.tell.clone()))
            .transpose()?;
        let server = drop_copy.map(|(copies, server)| {
            trading.gateway().set_drop_copies(copies);
            server
        });
        let read = file.drop_copy_reader.as_ref();
        let read = read
            .map(|keys| keys.open(connections::copies(file, keys)?, signs.tell.clone()))
            .transpose()?;
        let reader = read.map(|(copies, reader)| {
            trading.gateway().read_drop_copies(copies);
            reader
        });
        let (watched, own) = (vec!["gateway".to_owned()], vec![process_id()]);
        let outliers = OutlierWatch::new(&file.outliers, watched, own, fused.is_some());
        let regions =
            Regions::of(segment).map_err(|error| RunnerError::run("shared memory", error))?;
        let mut listener =
            Listener::bind(file, &path, segment, places, bell, (asks, answered), names)?;
        listener.set_fused(fused);
        listener.set_outliers(outliers.as_ref());
        listener.set_thread(thread);
        tell_where(file, fused, heard);
        signs.manager.ready();
        thread::scope(|scope| {
            let (trades, over) = mpsc::channel();
            if let Some(housekeeper) = kept.housekeeper.take() {
                let is_recording = file.records_orders();
                scope.spawn(move || keep(housekeeper, is_recording, &over, heard));
            }
            // It ends when the trading thread has let go of the gateway.
            let copying = server.map(|server| scope.spawn(move || server.run()));
            let reading = reader.map(|reader| scope.spawn(move || reader.run()));
            let trading = scope.spawn(move || {
                let _trades: Sender<()> = trades;
                // It runs once.
                let _ = thread.set(thread_id());
                trading.run()
            });
            let (looked_at, unwatched) = mpsc::channel::<()>();
            if let Some(watch) = &outliers {
                let regions = &regions;
                scope.spawn(move || {
                    // The thread says it before anything else.
                    let thread = *thread.wait();
                    let (name, process) = ("gateway".to_owned(), process_id());
                    let threads = [WatchedThread { name, process, thread }];
                    watch.run(regions, &threads, &unwatched);
                });
            }
            let anchor = || clock.set(&anchoring.renew().to_words());
            let listened = listener.run(anchor, || trading.is_finished(), &mut signs, heard);
            // Its failure is the cause, where both fail.
            let traded = trading.join().unwrap_or_else(|_| {
                Err(RunnerError::Run("the gateway's thread panicked".to_owned()))
            });
            drop(looked_at);
            let copied = joined(copying, "drop_copy");
            let read = joined(reading, "drop_copy_reader");
            listener.tell_log(&mut signs, heard);
            if let Ok(how) = &traded {
                heard(&entry(&say::Ended {}, how));
            }
            traded.and(listened).and(copied).and(read)
        })
    }
}

/// What writes a journal and what it recovered, beside who keeps it.
fn in_parts(journal: Journal) -> ((OrderWriter, State), Housekeeper) {
    let Journal { writer, housekeeper, recovered } = journal;
    ((writer.into(), recovered.state), housekeeper)
}

/// What a thread that is called by its table of the settings has come to.
fn joined(
    thread: Option<ScopedJoinHandle<'_, io::Result<()>>>,
    name: &str,
) -> Result<(), RunnerError> {
    match thread.map_or(Ok(Ok(())), ScopedJoinHandle::join) {
        Ok(ended) => ended.map_err(|error| RunnerError::run(name, error)),
        Err(_) => Err(RunnerError::Run(format!("the thread of {name} panicked"))),
    }
}

#[cfg(test)]
mod tests;
