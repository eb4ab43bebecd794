//! A venue simulator that runs by itself.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use serde::{Deserialize, Serialize};
use taut_fix::{CompId, Now};
use taut_io::{EpollKernel, Kernel};
use taut_log::Entry;
use taut_log::messages::{MemberCopiesTold, VenueCopied, VenueJournalOpened, VenueListens};
use taut_sys::{
    Address, DatagramOptions, Socket, StreamOptions, SysError, catch_stop_signals, monotonic,
    process_id, stop_requests, utc,
};
use taut_types::{FeeRates, Instrument, Nanos};
use taut_venue::{
    FeedOutput, FixVersion, Flow, Member, Observer, Phase, PriceBands, ScheduledPhase, Venue,
    VenueConfig, VenueError, VenueJournal, VenueSockets,
};

use crate::error::RunnerError;
use crate::feed::sender_to;
use crate::mistakes::{self, FileSettings, Mistake};
use crate::service::manager::Manager;
use crate::service::member_copies::MemberCopyKeys;
use crate::service::recordings::{self, Playing, RecordingSeen, RecordingSettings, Recordings};
use crate::service::telling::{entry, queue, tell_not_served};
use crate::service::venue_control::{
    SharedControl, VenueControl, VenueReply, VenueRequest, locked,
};
use crate::service::venue_journal::{KeeperThread, Ship, VenueJournalKeys};
use crate::service::venue_members::{MemberKeys, members};
use crate::service::venue_phases::{BandKeys, PHASE_NAMES, ScheduleKeys};
use crate::service::venue_phases::{bands, phase_named, schedule};
use crate::service::venue_state::{VenueBook, VenueMember, VenueState};
use crate::service::venue_tls::VenueTlsKeys;
use crate::settings::{
    InstrumentSettings, Settings, Simulator, build_fees, build_instruments, comp_id, fix_version,
};
use crate::simulator;

/// A venue's file with every key, for people to start from.
pub const VENUE_SAMPLE: &str = include_str!("venue.toml");

/// How long it sleeps at the most: what it is late with a signal.
const WAIT: Nanos = Nanos::from_millis(50);

/// Symbols or members that are told to who names none of them.
const NAMES_TOLD: usize = 12;

/// A venue simulator's settings. All that a file can say ([`VENUE_SAMPLE`]):
///
/// ```toml
#[doc = include_str!("venue.toml")]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct VenueFile {
    /// What it is called by whoever halts its instruments while it runs ([`set_venue_halted`]): a
    /// name, or the path of its socket. Without one nobody can.
    ///
    /// [`set_venue_halted`]: crate::service::set_venue_halted
    #[serde(default)]
    pub name: Option<String>,
    /// Its CompID.
    pub comp_id: String,
    /// Where it takes orders; port 0 picks a free one.
    pub orders: SocketAddrV4,
    /// Where its increments go: line A.
    pub incremental: SocketAddrV4,
    /// Line B.
    pub incremental_b: Option<SocketAddrV4>,
    /// Where its snapshots go.
    pub snapshot: SocketAddrV4,
    /// Where packets are asked for again.
    pub retransmission: Option<SocketAddrV4>,
    /// Whether a client that leaves takes its orders with it.
    #[serde(default = "yes")]
    pub cancel_on_disconnect: bool,
    /// Whether the sequence numbers start again with every Logon; otherwise a client is sent again
    /// what it missed.
    #[serde(default = "yes")]
    pub reset_on_logon: bool,
    /// Where it takes orders over TLS, too.
    #[serde(default)]
    pub tls: Option<VenueTlsKeys>,
    /// The versions of FIX in which clients may trade.
    #[serde(default = "all_versions")]
    pub fix_versions: Vec<String>,
    /// Where copies of the members' executions can be read.
    #[serde(default)]
    pub drop_copy: Option<MemberCopyKeys>,
    /// What it remembers from one start to the next; without it the venue begins anew.
    #[serde(default)]
    pub journal: Option<VenueJournalKeys>,
    /// Who may trade; with none everybody may, without limits.
    #[serde(default)]
    pub members: Vec<MemberKeys>,
    /// When instruments trade; without it always.
    #[serde(default)]
    pub schedule: Vec<ScheduleKeys>,
    /// How far prices may go; without it as far as they like.
    #[serde(default)]
    pub bands: Vec<BandKeys>,
    /// What is traded; the order gives each its number.
    pub instruments: Vec<InstrumentSettings>,
    /// The crowd.
    #[serde(default)]
    pub flow: FlowSettings,
    /// Instruments that have a recording instead of the crowd.
    #[serde(default)]
    pub recordings: Vec<RecordingSettings>,
}

/// What a venue demands of who trades there.
struct Rules {
    members: Vec<Member>,
    schedule: Vec<ScheduledPhase>,
    bands: Vec<PriceBands>,
}

/// The crowd of a venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlowSettings {
    /// Its seed.
    pub seed: u64,
    /// Its commands a second, over all instruments; 0 is no crowd.
    pub commands_per_second: u32,
    /// Price levels a side of each book.
    pub levels: u32,
}

impl Default for FlowSettings {
    fn default() -> Self {
        Self { seed: 1, commands_per_second: 2_000, levels: 100 }
    }
}

const fn yes() -> bool {
    true
}

fn all_versions() -> Vec<String> {
    FixVersion::ALL.map(|version| version.as_str().to_owned()).to_vec()
}

impl FileSettings for VenueFile {
    fn start_paths_at(&mut self, folder: &Path) {
        if let Some(drop_copy) = &mut self.drop_copy {
            drop_copy.store = folder.join(&drop_copy.store);
        }
        if let Some(tls) = &mut self.tls {
            tls.start_paths_at(folder);
        }
        if let Some(journal) = &mut self.journal {
            journal.start_path_at(folder);
        }
        self.recordings.iter_mut().for_each(|recording| recording.start_path_at(folder));
    }

    fn mistakes(&self) -> Vec<Mistake> {
        let journal = self.journal.iter().flat_map(VenueJournalKeys::mistakes);
        let found = self.check().err().map(Mistake::from);
        // Where it is known what is traded.
        let instruments = build_instruments(&self.instruments).unwrap_or_default();
        let rules = self.rules(&instruments).1;
        found.into_iter().chain(journal).chain(rules).collect()
    }
}

impl VenueFile {
    /// The settings of a file.
    ///
    /// # Errors
    /// What is wrong in it: the file, the line, the key, the key that was meant.
    pub fn read(path: &Path) -> Result<Self, RunnerError> {
        mistakes::from_file(path)
    }

    /// Looks at every value.
    ///
    /// # Errors
    /// The first setting that cannot be, its value and what would be right.
    pub fn check(&self) -> Result<(), RunnerError> {
        self.comp_id()?;
        self.versions()?;
        self.tls.as_ref().map(VenueTlsKeys::identity).transpose()?;
        if self.instruments.is_empty() {
            let text = "[[instruments]]: none is named; a venue trades at least one";
            return Err(RunnerError::Settings(text.to_owned()));
        }
        build_instruments(&self.instruments)?;
        self.drop_copy.as_ref().map_or(Ok(()), MemberCopyKeys::check)?;
        recordings::check(&self.recordings, &self.names())?;
        if self.journal.is_some() && self.reset_on_logon {
            let (key, right) = ("reset_on_logon", "false: with [journal] sessions go on");
            return Err(RunnerError::setting(key, true, right));
        }
        self.settings().check()
    }

    /// Looks at the first lines of its recordings.
    ///
    /// # Errors
    /// What is wrong there: the file, the line, the value, and what the file must be.
    pub fn look_at_recordings(&self) -> Result<Vec<RecordingSeen>, RunnerError> {
        let instruments = build_instruments(&self.instruments)?;
        recordings::look(&self.recordings, &self.listed(&instruments))
    }

    fn comp_id(&self) -> Result<CompId, RunnerError> {
        comp_id("comp_id", &self.comp_id)
    }

    fn versions(&self) -> Result<Vec<FixVersion>, RunnerError> {
        let key = "fix_versions";
        if self.fix_versions.is_empty() {
            return Err(RunnerError::setting(key, "[]", "at least one version of FIX"));
        }
        self.fix_versions.iter().map(|name| fix_version(key, name)).collect()
    }

    /// The names of its instruments, in their places.
    fn names(&self) -> Vec<&str> {
        self.instruments.iter().map(InstrumentSettings::venue_name).collect()
    }

    /// Members, schedule and bands of these instruments, and what is wrong with them.
    fn rules(&self, instruments: &[Instrument]) -> (Rules, Vec<Mistake>) {
        let listed = self.listed(instruments);
        let (members, mut mistakes) = members(&self.members, &listed);
        let (schedule, wrong) = schedule(&self.schedule, &listed);
        mistakes.extend(wrong);
        let (bands, wrong) = bands(&self.bands, &listed);
        mistakes.extend(wrong);
        (Rules { members, schedule, bands }, mistakes)
    }

    /// Its instruments with their names.
    fn listed(&self, instruments: &[Instrument]) -> Vec<(&str, Instrument)> {
        self.names().into_iter().zip(instruments.iter().copied()).collect()
    }

    /// The same in the words of a run.
    fn settings(&self) -> Settings {
        let simulator = Simulator {
            seed: self.flow.seed,
            commands_per_second: self.flow.commands_per_second.max(1),
            levels: self.flow.levels,
            ..Simulator::default()
        };
        Settings {
            instruments: self.instruments.clone(),
            simulator: Some(simulator),
            ..Settings::default()
        }
    }
}

/// Runs a venue until a stop signal comes. `heard` is told once it takes orders, and how it fares.
///
/// # Errors
/// [`RunnerError::Settings`] before anything is opened; [`RunnerError::Run`] when it cannot be
/// opened, or fails.
pub fn serve_venue(file: &VenueFile, heard: impl Fn(&Entry)) -> Result<(), RunnerError> {
    file.check()?;
    catch_stop_signals().map_err(|error| RunnerError::run("signals", error))?;
    let control = file.name.as_deref().map(VenueControl::bind).transpose()?;
    let control = Arc::new(Mutex::new(control));
    let opened = match file.open(&control, &heard) {
        // The first inputs of its journal may wait for a standby, too.
        Err(_) if stop_requests() > 0 => return Ok(()),
        opened => opened?,
    };
    serve(file, opened, control, &heard)
}

/// Runs a venue that is open until a stop signal comes.
pub(super) fn serve(
    file: &VenueFile,
    Opened { venue, listens_at, keeper, ship }: Opened,
    control: SharedControl,
    heard: &impl Fn(&Entry),
) -> Result<(), RunnerError> {
    if let Some(ship) = &ship {
        ship.look_while_waiting(&control);
    }
    let (tell, told) = queue();
    let keys = file.drop_copy.as_ref();
    let copies = keys.map(|keys| keys.open(file.comp_id()?, tell)).transpose()?;
    let (copies, server) = copies.unzip();
    let copying = server.map(|server| thread::spawn(move || server.run()));
    let venue = venue.with_observer(copies.unwrap_or_default());
    let mut venue = venue.map_err(|error| RunnerError::Run(format!("the venue: {error}")))?;
    let (name, count) = (&file.comp_id, file.instruments.len());
    let words = format!("{name}: {count} instruments, orders at {listens_at}");
    heard(&entry(&VenueListens {}, words));
    let mut manager = Manager::from_environment();
    manager.ready();
    let mut turns = 0;
    // A crowd of no commands rests.
    venue.start_flow(monotonic());
    let mut playing = Playing::new(&file.recordings, &file.names());
    let failed = |error: &dyn std::fmt::Display| RunnerError::Run(format!("the venue: {error}"));
    let instruments = build_instruments(&file.instruments)?;
    let tell_copies =
        || told.try_iter().for_each(|words| heard(&entry(&MemberCopiesTold {}, words)));
    let tell_told = &tell_copies;
    let served = beside_copies(copying, move |is_copying| {
        while stop_requests() == 0 && is_copying() {
            let now = Now { mono: monotonic(), utc: utc() };
            let worked = venue.poll(now);
            turns += 1;
            manager.look(now.mono, turns);
            venue.observer_mut().hand_over();
            playing.tell_ends(|place| venue.replay_ends(place), heard);
            tell_told();
            keeper.iter().for_each(|keeper| keeper.tell(heard));
            if let Some(ship) = &ship {
                ship.tell(heard)?;
            }
            if let Some(control) = locked(&control).as_mut() {
                let has_crowd = file.flow.commands_per_second > 0 || !file.recordings.is_empty();
                control.work(now.mono, |request| {
                    answer(&instruments, has_crowd, &mut venue, now, &request)
                });
            }
            if worked == Err(VenueError::NotReplicated) && stop_requests() > 0 {
                let words = "ends while answers wait for the standby: nobody hears of their \
                             inputs, which the next start executes once more";
                heard(&entry(&VenueCopied {}, words));
                return Ok(());
            }
            if !worked.map_err(|error| failed(&error))? {
                venue.wait(monotonic(), WAIT).map_err(|error| failed(&error))?;
            }
        }
        manager.stopping();
        venue.stop(Now { mono: monotonic(), utc: utc() }).map_err(|error| failed(&error))?;
        tell_not_served(heard, "orders", venue.counters().order_connections);
        Ok(())
    });
    tell_copies();
    served
}

/// What an operator asks a venue for.
fn answer<O: Observer<EpollKernel>>(
    instruments: &[Instrument],
    has_crowd: bool,
    venue: &mut Venue<EpollKernel, O>,
    now: Now,
    request: &VenueRequest,
) -> VenueReply {
    let (symbol, phase) = match request {
        VenueRequest::Halt { symbol } => (symbol, Phase::Halted),
        VenueRequest::Resume { symbol } => (symbol, Phase::Continuous),
        VenueRequest::Phase { symbol, phase } => match phase_named(phase) {
            Some(phase) => (symbol, phase),
            None => {
                let text = format!("no phase '{phase}'; it is one of {PHASE_NAMES}");
                return VenueReply::Failed { text };
            }
        },
        VenueRequest::Kill { member } => return set_killed(venue, now, member, true),
        VenueRequest::Allow { member } => return set_killed(venue, now, member, false),
        VenueRequest::Bust { exec_id } => return bust(venue, now, *exec_id),
        VenueRequest::State => {
            let named = |it: &Instrument| (it.symbol().as_str().to_owned(), None);
            let members = venue.members().iter().map(VenueMember::from).collect();
            let state = state(venue, instruments, named);
            return VenueReply::State(VenueState { members, ..state });
        }
        VenueRequest::RunCrowd(trades) => return run_crowd(venue, now, has_crowd, *trades),
        VenueRequest::Promote => {
            return VenueReply::Failed { text: "it is the venue already".to_owned() };
        }
        VenueRequest::Faults | VenueRequest::SetFaults(_) => {
            let text = "faults are those of a venue that speaks as another";
            return VenueReply::Failed { text: text.to_owned() };
        }
    };
    let named = instruments.iter().find(|it| it.symbol().as_str() == symbol.as_str());
    let Some(instrument) = named else {
        let all: Vec<_> = instruments.iter().take(NAMES_TOLD).map(|it| it.symbol()).collect();
        let all = all.iter().map(|symbol| symbol.as_str()).collect::<Vec<_>>().join(", ");
        return VenueReply::Failed { text: format!("no instrument '{symbol}'; it trades {all}") };
    };
    match venue.set_phase(now, instrument.id(), phase) {
        Ok(is_new) => VenueReply::Done { is_new },
        Err(error) => VenueReply::Failed { text: error.to_string() },
    }
}

/// What the books come to, each under the name and with the number of its last change that
/// `named` gives.
pub(super) fn state<K: Kernel, O: Observer<K>>(
    venue: &Venue<K, O>,
    instruments: &[Instrument],
    named: impl Fn(&Instrument) -> (String, Option<u64>),
) -> VenueState {
    let books = instruments.iter().filter_map(|instrument| {
        let state = venue.book_state(instrument.id())?;
        let (name, change) = named(instrument);
        Some(VenueBook::new(&name, instrument, change, &state))
    });
    VenueState { books: books.collect(), ..VenueState::default() }
}

/// Takes a trade back.
fn bust<O: Observer<EpollKernel>>(
    venue: &mut Venue<EpollKernel, O>,
    now: Now,
    exec_id: u64,
) -> VenueReply {
    match venue.bust(now, exec_id) {
        Ok(is_new) => VenueReply::Done { is_new },
        Err(VenueError::Config { remedy, .. }) => VenueReply::Failed {
            text: format!("no trade with ExecID {exec_id}; it takes {remedy}"),
        },
        Err(error) => VenueReply::Failed { text: error.to_string() },
    }
}

/// Stops a member, or has it trade again.
fn set_killed<O: Observer<EpollKernel>>(
    venue: &mut Venue<EpollKernel, O>,
    now: Now,
    member: &str,
    is_killed: bool,
) -> VenueReply {
    let killed = CompId::new(member.as_bytes()).map(|it| venue.set_killed(now, it, is_killed));
    match killed {
        Some(Ok(is_new)) => VenueReply::Done { is_new },
        Some(Err(VenueError::Config { .. })) | None => {
            let members = venue.members();
            let names: Vec<_> =
                members.iter().take(NAMES_TOLD).map(|it| it.comp_id.as_str()).collect();
            let known = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
            VenueReply::Failed { text: format!("no member '{member}'; it knows {known}") }
        }
        Some(Err(error)) => VenueReply::Failed { text: error.to_string() },
    }
}

/// Has the crowd trade or rest, where there is one.
pub(super) fn run_crowd<K: Kernel, O: Observer<K>>(
    venue: &mut Venue<K, O>,
    now: Now,
    has_crowd: bool,
    trades: bool,
) -> VenueReply {
    match (has_crowd, trades) {
        (false, _) => {
            let text = "it has no crowd: `commands_per_second` is 0 under [flow] in its file";
            return VenueReply::Failed { text: text.to_owned() };
        }
        (true, true) => venue.start_flow(now.mono),
        (true, false) => venue.stop_flow(),
    }
    VenueReply::Done { is_new: true }
}

/// Has the venue serve until it is over or fails, or until nobody copies its members' executions
/// any more. Either way the copies' readers are logged out: `serve` owns the other end of the
/// thread's queue. What went wrong first is told.
fn beside_copies(
    copying: Option<thread::JoinHandle<io::Result<()>>>,
    serve: impl FnOnce(&dyn Fn() -> bool) -> Result<(), RunnerError>,
) -> Result<(), RunnerError> {
    let is_copying = || !copying.as_ref().is_some_and(thread::JoinHandle::is_finished);
    let served = serve(&is_copying);
    let copied = match copying.map(thread::JoinHandle::join) {
        None => Ok(()),
        Some(Ok(copied)) => copied.map_err(|error| RunnerError::run("drop_copy", error)),
        Some(Err(_)) => Err(RunnerError::Run("the drop copy's thread panicked".to_owned())),
    };
    served.and(copied)
}

/// A venue, where it takes orders, and who keeps its journal.
pub(super) struct Opened {
    pub venue: Venue<EpollKernel>,
    pub listens_at: SocketAddrV4,
    pub keeper: Option<KeeperThread>,
    pub ship: Option<Ship>,
}

/// What a venue is made of, beside its sockets.
pub(super) struct Parts {
    pub config: VenueConfig,
    pub flow: Flow,
    pub fees: Vec<FeeRates>,
}

impl Parts {
    /// Of the file's venue, whose feed has this stream.
    pub fn of(file: &VenueFile, stream_id: u32) -> Result<Self, RunnerError> {
        let mut settings = file.settings();
        let Some(mut simulator) = settings.simulator.clone() else {
            return Err(RunnerError::Settings("[flow]: missing".to_owned()));
        };
        simulator.commands_per_second = file.flow.commands_per_second;
        let mut config = simulator::config(&settings, &simulator, stream_id)?;
        config.cancel_on_disconnect = file.cancel_on_disconnect;
        config.reset_on_logon = file.reset_on_logon;
        config.comp_id = file.comp_id()?;
        config.fix_versions = file.versions()?;
        let (rules, mistakes) = file.rules(&config.instruments);
        if !mistakes.is_empty() {
            return Err(mistakes::error(&mistakes));
        }
        let Rules { members, schedule, bands } = rules;
        (config.members, config.schedule, config.bands) = (members, schedule, bands);
        let listed = file.listed(&config.instruments);
        let recordings = Recordings::read(&file.recordings, &listed)?;
        recordings.make_room(&mut config);
        for instrument in &mut settings.instruments {
            // A recording is the market itself.
            if recordings::has(&file.recordings, instrument.venue_name()) {
                instrument.weight = 0;
            }
        }
        let first = config.instruments.first().copied();
        let first =
            first.ok_or_else(|| RunnerError::Settings("[[instruments]]: none".to_owned()))?;
        let flow = recordings.beside(simulator::flow(&settings, &simulator, first)?);
        Ok(Self { config, flow, fees: build_fees(&file.instruments)? })
    }
}

/// What a socket at the address of this key has to say, with the remedy.
fn failed_at(key: &str, address: SocketAddrV4, error: SysError) -> RunnerError {
    let remedy = if error.is_address_in_use() { "; another program has this address" } else { "" };
    RunnerError::run(format!("{key} = {address}"), format!("{error}{remedy}"))
}

const fn inet(address: SocketAddrV4) -> Address {
    Address::Inet(SocketAddr::V4(address))
}

impl VenueFile {
    /// Where clients connect, and where that is.
    pub(super) fn listen(&self) -> Result<(Socket, SocketAddrV4), RunnerError> {
        let orders = Socket::listen(&inet(self.orders), &StreamOptions::default())
            .map_err(|error| failed_at("orders", self.orders, error))?;
        let listens_at = match orders.local_address() {
            Ok(Address::Inet(SocketAddr::V4(address))) => address,
            _ => self.orders,
        };
        Ok((orders, listens_at))
    }

    /// Has the venue take orders over TLS, where the file says so.
    pub(super) fn listen_tls(&self, venue: &mut Venue<EpollKernel>) -> Result<(), RunnerError> {
        self.tls.as_ref().map_or(Ok(()), |tls| tls.open(venue))
    }

    /// Where packets are asked for again.
    pub(super) fn requests(&self) -> Result<Option<Socket>, RunnerError> {
        let bind = |address| {
            Socket::datagram(&inet(address), &DatagramOptions::default())
                .map_err(|error| failed_at("retransmission", address, error))
        };
        self.retransmission.map(bind).transpose()
    }

    /// Where its market data goes.
    pub(super) fn feed(&self) -> Result<FeedOutput, RunnerError> {
        let sender = |key, to| sender_to(to).map_err(|error| failed_at(key, to, error));
        let line_b = self.incremental_b.map(|to| sender("incremental_b", to));
        Ok(FeedOutput {
            incremental: sender("incremental", self.incremental)?.into(),
            incremental_b: line_b.transpose()?.map(Into::into),
            snapshot: sender("snapshot", self.snapshot)?.into(),
            retransmission: None,
        })
    }

    /// The venue, with what its journal holds.
    fn open(
        &self,
        control: &SharedControl,
        heard: &impl Fn(&Entry),
    ) -> Result<Opened, RunnerError> {
        let journal = self.journal.as_ref().map(|keys| Ok((keys, keys.open()?))).transpose()?;
        let ship = self.journal.as_ref().map_or(Ok(None), VenueJournalKeys::ship)?;
        if let Some(ship) = &ship {
            ship.look_while_waiting(control);
        }
        self.open_with(journal, ship, heard)
    }

    pub(super) fn open_with(
        &self,
        journal: Option<(&VenueJournalKeys, VenueJournal)>,
        ship: Option<Ship>,
        heard: &impl Fn(&Entry),
    ) -> Result<Opened, RunnerError> {
        // Tells this run's packets from another's; not a secret, so that a clock will do.
        let stream_id = (utc().0 / 1_000) as u32 ^ process_id().rotate_left(16);
        let before = journal.as_ref().and_then(|(_, journal)| journal.stream_id());
        let Parts { config, flow, fees } = Parts::of(self, before.unwrap_or(stream_id))?;
        let (orders, listens_at) = self.listen()?;
        let retransmission = self.requests()?.map(Into::into);
        let feed = FeedOutput { retransmission, ..self.feed()? };
        let sockets = VenueSockets { orders: orders.into(), feed, stream: None };
        let mut venue = Venue::new(&config, sockets, flow)
            .map_err(|error| RunnerError::Run(format!("the venue: {error}")))?;
        venue.set_fees(&fees);
        self.listen_tls(&mut venue)?;
        let Some((keys, journal)) = journal else {
            return Ok(Opened { venue, listens_at, keeper: None, ship: None });
        };
        let journal = match &ship {
            Some(ship) => journal.replicate_to(&ship.replication),
            None => journal,
        };
        let now = Now { mono: monotonic(), utc: utc() };
        let taken = venue.with_journal(journal, now).map_err(|error| keys.failed(error))?;
        let (venue, keeper, recovered) = taken;
        heard(&entry(&VenueJournalOpened {}, keys.told(&recovered)));
        Ok(Opened { venue, listens_at, keeper: Some(KeeperThread::start(keeper)), ship })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use taut_testkit::Deadline;

    use super::*;

    #[test]
    fn the_sample_has_a_name_by_which_its_instruments_can_be_halted() {
        let file: VenueFile = toml::from_str(VENUE_SAMPLE).expect("settings");
        assert_eq!(file.name.as_deref(), Some("venue"));
    }

    #[test]
    fn a_venue_that_fails_waits_for_its_copies() {
        let ((venue, queue), (done, is_done)) = (mpsc::channel::<()>(), mpsc::channel());
        let copying = thread::spawn(move || {
            assert!(queue.recv().is_err());
            done.send(()).map_err(io::Error::other)
        });
        let failed = beside_copies(Some(copying), move |is_copying| {
            assert!(is_copying());
            drop(venue);
            Err(RunnerError::Run("the venue: failed".to_owned()))
        });
        assert_eq!(failed.expect_err("its failure").to_string(), "the venue: failed");
        assert_eq!(is_done.try_recv(), Ok(()), "the thread was joined");
    }

    #[test]
    fn a_venue_whose_copies_fail_ends_and_says_why() {
        let copying = thread::spawn(|| Err(io::Error::other("no descriptor left")));
        let deadline = Deadline::default();
        let failed = beside_copies(Some(copying), |is_copying| {
            while is_copying() {
                deadline.check("the end of the copies' thread", String::new);
                thread::yield_now();
            }
            Ok(())
        });
        let words = failed.expect_err("its failure").to_string();
        assert!(words.contains("drop_copy") && words.contains("no descriptor left"), "{words}");
        let panicked = beside_copies(Some(thread::spawn(|| panic!("meant"))), |_| Ok(()));
        assert!(panicked.expect_err("its panic").to_string().contains("panicked"));
        beside_copies(None, |is_copying| {
            assert!(is_copying());
            Ok(())
        })
        .expect("nothing to wait for");
    }
}
