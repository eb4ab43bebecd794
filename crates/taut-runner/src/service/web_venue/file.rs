//! What a venue with a web interface has, whichever it speaks as: its file, the crowd, the exchange
//! behind the door, the loop.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use taut_fix::{CompId, Now};
use taut_io::EpollKernel;
use taut_log::Entry;
use taut_log::messages::VenueListens;
use taut_net::TlsServerConfig;
use taut_sys::{
    Address, DatagramOptions, Socket, StreamOptions, catch_stop_signals, monotonic, process_id,
    stop_requests, stop_signal, utc,
};
use taut_types::{HalfTicks, Instrument, InstrumentId, Nanos, OrderId, Price, Qty, Symbol};
use taut_venue::flow::{Crowd, SyntheticConfig};
use taut_venue::{FeedOutput, Flow, Observer, Venue, VenueConfig, VenueSockets};
use taut_web_venue::{Door, DoorConfig, Faults, Faulty, Front};

use crate::error::RunnerError;
use crate::mistakes::{self, FileSettings, Mistake};
use crate::service::manager::Manager;
use crate::service::recordings::{self, Playing, RecordingSeen, RecordingSettings, Recordings};
use crate::service::telling::{entry, tell_not_served};
use crate::service::tls_identity::server_identity;
use crate::service::venue::{FlowSettings, run_crowd, state};
use crate::service::venue_control::{FaultsReport, VenueControl, VenueReply, VenueRequest};
use crate::service::venue_state::VenueState;
use crate::service::web_venue::captive::Captive;

/// How long it sleeps at the most: what it is late with a signal.
const WAIT: Nanos = Nanos::from_millis(20);
/// Room of each book, where the crowd's needs no more.
const ORDERS_MAX: usize = 1 << 13;
const LEVELS_MAX: usize = 1 << 10;

/// A venue with a web interface: its instruments are of `M`, its accounts of `A`. All that a file
/// can say stands in the samples of each venue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WebVenueFile<M, A> {
    /// Where plain HTTP and WebSocket are served; port 0 picks a free one.
    pub listen: Vec<SocketAddr>,
    /// The same over TLS.
    #[serde(default)]
    pub tls: Option<TlsKeys>,
    /// Where FIX is served as the venue itself speaks it.
    #[serde(default)]
    pub venue_fix: Vec<SocketAddr>,
    /// FIX 4.4 to the same books, as `taut venue` speaks it; without one, at a free port of
    /// loopback.
    #[serde(default)]
    pub fix: Option<SocketAddr>,
    /// What it is called by whoever changes its faults while it runs ([`venue_faults`]): a name, or
    /// the path of a socket. Without one nobody can.
    ///
    /// [`venue_faults`]: crate::service::venue_faults
    #[serde(default)]
    pub name: Option<String>,
    /// Connections at the most, of which one address has half.
    #[serde(default = "connections_max")]
    pub connections_max: usize,
    /// What is traded.
    pub instruments: Vec<M>,
    /// Who trades.
    pub accounts: Vec<A>,
    /// The crowd.
    #[serde(default)]
    pub flow: FlowSettings,
    /// Instruments that have a recording instead of the crowd.
    #[serde(default)]
    pub recordings: Vec<RecordingSettings>,
    /// What goes wrong on purpose.
    #[serde(default)]
    pub faults: Faults,
}

/// Where TLS is spoken, and as whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsKeys {
    /// Where it listens.
    pub listen: Vec<SocketAddr>,
    /// Where FIX is served as the venue itself speaks it.
    #[serde(default)]
    pub fix: Vec<SocketAddr>,
    /// The certificate and those that signed it, PEM.
    pub chain: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

impl TlsKeys {
    fn identity(&self) -> Result<TlsServerConfig, RunnerError> {
        server_identity(&self.chain, &self.key, None)
    }
}

const fn connections_max() -> usize {
    512
}

/// An instrument of a file as the exchange behind it needs it.
#[derive(Debug)]
pub struct Listing<'a> {
    pub name: &'a str,
    /// The price step; as the others, with the key that it stands by.
    pub tick: (&'static str, &'a str),
    /// The step of quantities.
    pub lot: (&'static str, &'a str),
    /// Where the crowd's market begins.
    pub start: (&'static str, &'a str),
    /// Its part of the crowd's commands.
    pub weight: u32,
}

/// An exchange behind a door, and who else looks in.
pub type WebVenue<F, O> = Venue<EpollKernel, (Door<Faulty<F>>, O)>;

/// A venue's own part of a file.
pub trait Dialect {
    /// Its interface.
    type Front: Front;

    /// What it is called.
    const NAME: &'static str;
    /// Where the venue itself and its test venue are, by name, and the ports of TLS there.
    const HOSTS: &'static [&'static str];
    const PORTS: &'static [u16];
    /// The ports of FIX over TLS there, where that is played.
    const FIX_PORTS: &'static [u16] = &[];
    /// The same without TLS.
    const FIX_PLAIN_PORTS: &'static [u16] = &[];
    /// Whether it has a word for an instrument that is halted.
    const HALTS: bool = false;

    /// The interface of these settings, or the setting that cannot be.
    fn front(&self) -> Result<Self::Front, String>;

    /// What is traded, in its order.
    fn listings(&self) -> Vec<Listing<'_>>;
}

impl<M, A> FileSettings for WebVenueFile<M, A>
where
    Self: Dialect + DeserializeOwned,
{
    fn start_paths_at(&mut self, folder: &Path) {
        if let Some(tls) = &mut self.tls {
            tls.chain = folder.join(&tls.chain);
            tls.key = folder.join(&tls.key);
        }
        self.recordings.iter_mut().for_each(|recording| recording.start_path_at(folder));
    }

    fn mistakes(&self) -> Vec<Mistake> {
        self.check().err().map(Mistake::from).into_iter().collect()
    }
}

impl<M, A> WebVenueFile<M, A>
where
    Self: Dialect,
{
    /// The settings of a file.
    ///
    /// # Errors
    /// What is wrong in it: the file, the line, the key, the key that was meant.
    pub fn read(path: &Path) -> Result<Self, RunnerError>
    where
        Self: DeserializeOwned,
    {
        mistakes::from_file(path)
    }

    /// Looks at every value.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn check(&self) -> Result<(), RunnerError> {
        let told = |text: &str| Err(RunnerError::Settings(text.to_owned()));
        if self.instruments.is_empty() || self.accounts.is_empty() {
            return told("[[instruments]] and [[accounts]]: one of each at least");
        }
        if self.listen.is_empty() && self.tls.is_none() {
            return told("listen: none is named; a venue listens somewhere");
        }
        self.front().map_err(RunnerError::Settings)?;
        let listings = self.listings();
        recordings::check(&self.recordings, &names(&listings))?;
        traded(&listings).map(drop)
    }

    /// Looks at the first lines of its recordings.
    ///
    /// # Errors
    /// What is wrong there: the file, the line, the value, and what the file must be.
    pub fn look_at_recordings(&self) -> Result<Vec<RecordingSeen>, RunnerError> {
        let listings = self.listings();
        let traded = traded(&listings)?;
        let both = listings.iter().zip(&traded);
        let listed: Vec<_> = both.map(|(it, (instrument, _))| (it.name, *instrument)).collect();
        recordings::look(&self.recordings, &listed)
    }

    /// The faults of a command line instead of the file's.
    ///
    /// # Errors
    /// The word that is none.
    pub fn set_faults(&mut self, words: &str) -> Result<(), RunnerError> {
        let faults = Faults::parse(words);
        self.faults = faults.map_err(|why| RunnerError::Settings(format!("--fault {why}")))?;
        Ok(())
    }

    /// Runs it until a stop signal comes.
    pub(super) fn serve(&self, heard: impl Fn(&Entry)) -> Result<(), RunnerError> {
        self.serve_until(heard, || Ok(()), |()| Ok((stop_requests() > 0).then_some(())))
    }

    /// Runs it for a program that finds it in the place of the venue, until that ends; the code
    /// that the program ended with.
    pub(super) fn serve_captive(
        &self,
        captive: &Captive,
        heard: impl Fn(&Entry),
    ) -> Result<u8, RunnerError>
    where
        Self: Clone,
    {
        self.check()?;
        let held = captive.enter(Self::HOSTS)?;
        let at = |port: &u16| SocketAddr::from(([127, 0, 0, 1], *port));
        let (listen, fix) = (Self::PORTS.iter().map(at), Self::FIX_PORTS.iter().map(at));
        let plain_fix = Self::FIX_PLAIN_PORTS.iter().map(at);
        let venue_fix = self.venue_fix.iter().copied().chain(plain_fix).collect();
        let (chain, key) = (held.chain.clone(), held.key.clone());
        let tls = Some(TlsKeys { listen: listen.collect(), fix: fix.collect(), chain, key });
        let file = Self { tls, venue_fix, ..self.clone() };
        file.serve_until(heard, || held.start(), |program| program.ended(stop_signal()))
    }

    /// Runs it until `ended` says with what, which is asked time and again about what `start` gave.
    fn serve_until<S, E>(
        &self,
        heard: impl Fn(&Entry),
        start: impl FnOnce() -> Result<S, RunnerError>,
        mut ended: impl FnMut(&mut S) -> Result<Option<E>, RunnerError>,
    ) -> Result<E, RunnerError> {
        self.check()?;
        catch_stop_signals().map_err(|error| RunnerError::run("signals", error))?;
        let failed =
            |error: &dyn std::fmt::Display| RunnerError::Run(format!("the venue: {error}"));
        let mut control = self.name.as_deref().map(VenueControl::bind).transpose()?;
        let (mut venue, _unread) = self.open((), 0)?;
        let addresses: Vec<String> =
            venue.observer().0.addresses().iter().map(ToString::to_string).collect();
        let web = self.listen.len() + self.tls.as_ref().map_or(0, |tls| tls.listen.len());
        let (web, fix) = addresses.split_at(web.min(addresses.len()));
        let fix =
            if fix.is_empty() { String::new() } else { format!("; FIX at {}", fix.join(", ")) };
        let words = format!(
            "{}: {} instruments, {} accounts, at {}{fix}",
            Self::NAME,
            self.instruments.len(),
            self.accounts.len(),
            web.join(", ")
        );
        heard(&entry(&VenueListens {}, words));
        let mut manager = Manager::from_environment();
        manager.ready();
        let mut turns = 0;
        // A crowd of no commands rests.
        venue.start_flow(monotonic());
        let mut playing = Playing::new(&self.recordings, &names(&self.listings()));
        let mut started = start()?;
        let has_crowd = self.flow.commands_per_second > 0 || !self.recordings.is_empty();
        let mut looks = Nanos::ZERO;
        loop {
            let now = Now { mono: monotonic(), utc: utc() };
            if now.mono >= looks {
                looks = now.mono + WAIT;
                turns += 1;
                manager.look(now.mono, turns);
                playing.tell_ends(|place| venue.replay_ends(place), &heard);
                if let Some(end) = ended(&mut started)? {
                    manager.stopping();
                    for (at, counters) in venue.observer().0.admissions() {
                        tell_not_served(&heard, at, counters);
                    }
                    tell_not_served(&heard, "fix", venue.counters().order_connections);
                    return Ok(end);
                }
            }
            let worked = venue.poll(now);
            if let Some(control) = &mut control {
                control.work(now.mono, |request| {
                    match request {
                        VenueRequest::Faults => {}
                        VenueRequest::SetFaults(faults) => {
                            venue.observer_mut().0.front_mut().set_faults(faults)
                        }
                        VenueRequest::State => return VenueReply::State(self.state(&venue)),
                        VenueRequest::RunCrowd(trades) => {
                            return run_crowd(&mut venue, now, has_crowd, trades);
                        }
                        VenueRequest::Halt { symbol } => {
                            return self.set_halted(&mut venue, now, &symbol, true);
                        }
                        VenueRequest::Resume { symbol } => {
                            return self.set_halted(&mut venue, now, &symbol, false);
                        }
                        VenueRequest::Promote => {
                            let text = "a venue that speaks as another has no standby";
                            return VenueReply::Failed { text: text.to_owned() };
                        }
                        VenueRequest::Kill { .. }
                        | VenueRequest::Allow { .. }
                        | VenueRequest::Phase { .. }
                        | VenueRequest::Bust { .. } => {
                            let text = "members, phases and busts are those of taut's own venue";
                            return VenueReply::Failed { text: text.to_owned() };
                        }
                    }
                    let front = venue.observer().0.front();
                    let (faults, injected) = (front.faults(), front.injected);
                    VenueReply::Faults(FaultsReport { faults, injected })
                });
            }
            if !worked.map_err(|error| failed(&error))? {
                venue.wait(monotonic(), WAIT).map_err(|error| failed(&error))?;
            }
        }
    }

    /// What its books come to.
    fn state(&self, venue: &WebVenue<<Self as Dialect>::Front, ()>) -> VenueState {
        let listings = self.listings();
        // The settings were checked before the venue was opened.
        let traded: Vec<_> = traded(&listings).unwrap_or_default();
        let instruments: Vec<_> = traded.into_iter().map(|(instrument, _)| instrument).collect();
        state(venue, &instruments, |instrument| {
            let place = instrument.id().0 as usize;
            let name = listings.get(place).map_or("", |listing| listing.name);
            (name.to_owned(), venue.observer().0.front().change_number(place))
        })
    }

    /// Halts an instrument, or has it trade again, as an operator asks.
    fn set_halted(
        &self,
        venue: &mut WebVenue<<Self as Dialect>::Front, ()>,
        now: Now,
        name: &str,
        is_halted: bool,
    ) -> VenueReply {
        let failed = |text: String| VenueReply::Failed { text };
        if !Self::HALTS {
            return failed(format!("a venue that speaks as {} halts no instrument", Self::NAME));
        }
        let listings = self.listings();
        let Some((number, _)) = (0..).zip(&listings).find(|(_, it)| it.name == name) else {
            let all: Vec<_> = listings.iter().map(|it| it.name).collect();
            return failed(format!("no instrument '{name}'; it trades {}", all.join(", ")));
        };
        match venue.set_halted(now, InstrumentId(number), is_halted) {
            Ok(is_new) => VenueReply::Done { is_new },
            Err(error) => failed(error.to_string()),
        }
    }

    /// The venue behind its door, with another observer and room for the sources of that one. Its
    /// own feed goes to the socket that comes with it, which nobody reads.
    pub(crate) fn open<O: Observer<EpollKernel>>(
        &self,
        beside: O,
        sources: usize,
    ) -> Result<(WebVenue<<Self as Dialect>::Front, O>, Socket), RunnerError> {
        let front = Faulty::new(self.front().map_err(RunnerError::Settings)?, self.faults);
        let door = DoorConfig {
            plain: self.listen.clone(),
            tls: self.tls.as_ref().map(|tls| tls.listen.clone()).unwrap_or_default(),
            fix: self.venue_fix.clone(),
            fix_tls: self.tls.as_ref().map(|tls| tls.fix.clone()).unwrap_or_default(),
            identity: self.tls.as_ref().map(TlsKeys::identity).transpose()?,
            connections_max: self.connections_max,
            ..DoorConfig::default()
        };
        let sources = sources + Door::<Faulty<<Self as Dialect>::Front>>::sources(&door);
        let (venue, unread) = self.exchange(sources)?;
        let venue = venue.with_observer((Door::new(front, door), beside));
        let venue = venue.map_err(|error| RunnerError::Run(format!("the venue: {error}")))?;
        Ok((venue, unread))
    }

    /// The exchange behind it.
    fn exchange(&self, sources: usize) -> Result<(Venue, Socket), RunnerError> {
        let listings = self.listings();
        let traded = traded(&listings)?;
        let listed: Vec<_> = listings
            .iter()
            .zip(&traded)
            .map(|(it, (instrument, _))| (it.name, *instrument))
            .collect();
        let recordings = Recordings::read(&self.recordings, &listed)?;
        let comp_id = CompId::new(b"VENUE").ok_or_else(|| RunnerError::Run("CompID".to_owned()))?;
        let stream_id = (utc().0 / 1_000) as u32 ^ process_id().rotate_left(16);
        let instruments = traded.iter().map(|(it, _)| *it).collect();
        let mut config = VenueConfig::new(instruments, comp_id, stream_id);
        let levels = self.flow.levels as usize;
        config.order_capacity = ORDERS_MAX.max((16 * levels).next_power_of_two());
        config.level_capacity = LEVELS_MAX.max((4 * levels).next_power_of_two());
        recordings.make_room(&mut config);
        config.observer_sources = sources;
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        let options = DatagramOptions::default();
        let opened = |error| RunnerError::run("feed", error);
        let unread = Socket::datagram(&Address::Inet(any), &options).map_err(opened)?;
        let to = unread.local_address().map_err(opened)?;
        let Address::Inet(SocketAddr::V4(to)) = to else {
            return Err(RunnerError::Run("the feed's address".to_owned()));
        };
        let sender = || crate::feed::sender_to(to).map_err(opened);
        let feed = FeedOutput {
            incremental: sender()?.into(),
            incremental_b: None,
            snapshot: sender()?.into(),
            retransmission: None,
        };
        let fix = self.fix.unwrap_or(any);
        let orders = Socket::listen(&Address::Inet(fix), &StreamOptions::default())
            .map_err(|error| RunnerError::run(format!("fix = {fix}"), error))?;
        let flow = recordings.beside(self.crowd(&listings, &traded));
        let sockets = VenueSockets { orders: orders.into(), feed, stream: None };
        let venue = Venue::new(&config, sockets, flow)
            .map_err(|error| RunnerError::Run(format!("the venue: {error}")))?;
        Ok((venue, unread))
    }

    /// The crowd in these markets.
    fn crowd(&self, listings: &[Listing<'_>], traded: &[(Instrument, HalfTicks)]) -> Flow {
        let market = |(nth, ((_, start), it)): (u64, (&(Instrument, HalfTicks), &Listing<'_>))| {
            let config = SyntheticConfig {
                seed: self.flow.seed.wrapping_add(nth),
                level_count: self.flow.levels.max(1) as usize,
                lots_max: 20,
                start_price: *start,
                first_order_id: OrderId(1 + (nth << 40)),
                ..SyntheticConfig::default()
            };
            // A recording is the market itself.
            let is_recorded = recordings::has(&self.recordings, it.name);
            (config, if is_recorded { 0 } else { it.weight })
        };
        let markets: Vec<_> = (0..).zip(traded.iter().zip(listings)).map(market).collect();
        if markets.iter().all(|(_, weight)| *weight == 0) {
            return Flow::None;
        }
        let crowd = Crowd::of_each(self.flow.seed, 0, &markets);
        Flow::crowd(crowd, self.flow.commands_per_second)
    }
}

/// The names of the instruments, in their places.
fn names<'a>(listings: &[Listing<'a>]) -> Vec<&'a str> {
    listings.iter().map(|it| it.name).collect()
}

/// The instruments in the engine's words. A name that is too long for them is known there by its
/// number.
fn traded(listings: &[Listing<'_>]) -> Result<Vec<(Instrument, HalfTicks)>, RunnerError> {
    let build = |(number, it): (u32, &Listing<'_>)| {
        let wrong = |key: &str, value: &str, must_be: &str| {
            RunnerError::setting(&format!("instruments[{number}].{key}"), value, must_be)
        };
        let decimal = "a decimal of at most nine places";
        let price = |(key, text): (&str, &str)| {
            Price::parse(text.as_bytes()).map_err(|_| wrong(key, text, decimal))
        };
        let (tick, start) = (price(it.tick)?, price(it.start)?);
        let (lot_key, lot) = it.lot;
        let lot = Qty::parse(lot.as_bytes()).map_err(|_| wrong(lot_key, lot, decimal))?;
        let symbol = Symbol::new(it.name.as_bytes())
            .or_else(|| Symbol::new(format!("I{number}").as_bytes()))
            .ok_or_else(|| wrong("name", it.name, "letters without a space"))?;
        let instrument = Instrument::new(InstrumentId(number), symbol, tick, lot)
            .map_err(|_| wrong(it.tick.0, it.tick.1, "above 0, and even at 1e-9"))?;
        let start = instrument
            .half_ticks(start)
            .map_err(|_| wrong(it.start.0, it.start.1, "a whole number of ticks"))?;
        Ok((instrument, start))
    };
    (0..).zip(listings).map(build).collect()
}
