//! The venue's own drop copies: reports of our orders over a session of their own, on a thread of
//! its own. What the order session did not say is taken from there.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use taut_fix::{BeginString, CompId, Event, Role, SessionConfig};
use taut_fix_engine::{
    Application, Credentials, Initiator, Outbox, Received, SessionSettings, Tell, TlsSettings,
};
use taut_io::{Completion, EpollKernel, EventLoop, Handler, Io, LoopConfig, Poster, WaitStrategy};
use taut_types::Nanos;

use super::taped;
use crate::order_entry::binance::CopyReading;
use crate::order_entry::fix44::reading::Reading;
use crate::order_entry::handler::{OfAll, VenueEvent, VenueReport};

/// Copies that may wait for the trading thread; the venue waits when there are more.
const WAITING: usize = 4_096;
/// Sockets of the reader.
const SOURCES: usize = 4;
/// Binance's Logon of who reads copies: DropCopyFlag (9406), and MessageHandling (25035), which it
/// must have.
const DROP_COPY: [(i32, &str); 2] = [(9_406, "Y"), (25_035, "2")];

/// Where the venue's copies are read.
#[derive(Clone, Debug)]
pub struct CopyReaderSettings {
    /// `HOST:PORT`, tried in turn.
    pub addresses: Vec<String>,
    /// SenderCompID (49).
    pub sender_comp_id: CompId,
    /// TargetCompID (56).
    pub target_comp_id: CompId,
    /// HeartBtInt (108).
    pub heartbeat_interval: Nanos,
    /// Whose they are.
    pub venue: CopiedVenue,
    /// How long the order session has to say the same before a copy counts.
    pub grace: Nanos,
    /// What somebody should know, in words.
    pub tell: Tell,
}

/// Whose copies are read.
#[derive(Clone, Debug)]
pub enum CopiedVenue {
    /// taut's own, or another one whose copies are ExecutionReports of FIX 4.4 with the member's
    /// ClOrdID.
    Fix44 {
        /// The folder of the session's numbers: what was read once is not asked for again.
        store: PathBuf,
    },
    /// Binance. Its numbers begin at 1 with each connection: what was missed without one is not
    /// told.
    Binance {
        /// The API key and its private key: the Logon is signed.
        credentials: Credentials,
        /// Whom it trusts; without it the connection is plain.
        tls: Option<TlsSettings>,
    },
}

/// What a copy says, and when it was received.
type Copied = (Nanos, VenueEvent);

/// The trading thread's end. Dropped, it has the reader log out and end. What it hears is on the
/// thread's [tape](taut_sys::tape).
#[derive(Debug)]
pub struct VenueCopies(Option<Handed>);

/// From a reader that is there.
#[derive(Debug)]
struct Handed {
    copies: Receiver<Copied>,
    /// Those whose time has not come.
    waiting: VecDeque<Copied>,
    grace: Nanos,
    wake: Option<Poster>,
}

impl VenueCopies {
    /// Those of a gateway that is done again: they stand on the tape.
    #[must_use]
    pub const fn given() -> Self {
        Self(None)
    }

    /// A copy whose grace is over.
    pub(crate) fn next(&mut self, now: Nanos) -> Option<VenueEvent> {
        taped::hear(|| self.0.as_mut()?.next(now))
    }

    /// Those that a test says.
    #[cfg(test)]
    pub(crate) fn of(grace: Nanos) -> (SyncSender<Copied>, Self) {
        let (to, copies) = sync_channel(WAITING);
        (to, Self(Some(Handed { copies, waiting: VecDeque::new(), grace, wake: None })))
    }
}

impl Handed {
    fn next(&mut self, now: Nanos) -> Option<VenueEvent> {
        while self.waiting.len() < WAITING
            && let Ok(copied) = self.copies.try_recv()
        {
            self.waiting.push_back(copied);
        }
        let is_due = |(received, _): &mut Copied| now.since(*received) >= self.grace;
        self.waiting.pop_front_if(is_due).map(|(_, event)| event)
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        if let Some(wake) = &self.wake {
            // A reader that is gone needs no word.
            let _ = wake.post(&[0; 7]);
        }
    }
}

/// Reads the venue's copies.
pub struct CopyReader {
    events: EventLoop<EpollKernel>,
    initiator: Initiator<Copies>,
}

impl CopyReader {
    /// Opens the store and starts to connect. The first half is the gateway's
    /// ([`Gateway::read_drop_copies`](crate::Gateway::read_drop_copies)), the second one a
    /// thread's.
    ///
    /// # Errors
    /// The store cannot be opened, or there is no address.
    pub fn open(settings: CopyReaderSettings) -> io::Result<(VenueCopies, Self)> {
        let CopyReaderSettings { sender_comp_id, target_comp_id, venue, grace, tell, .. } =
            settings;
        let sizes = LoopConfig { sources_max: SOURCES, ..LoopConfig::default() };
        let kernel = EpollKernel::new(SOURCES).map_err(io::Error::other)?;
        let mut events = EventLoop::new(kernel, sizes).map_err(io::Error::other)?;
        let (role, begin) = (Role::Initiator, BeginString::Fix44);
        let config = SessionConfig {
            heartbeat_interval: settings.heartbeat_interval,
            ..SessionConfig::new(role, begin, sender_comp_id, target_comp_id)
        };
        let mut session =
            SessionSettings { addresses: settings.addresses, ..SessionSettings::new(config) };
        let language = match venue {
            CopiedVenue::Fix44 { store } => {
                session.store = Some(store);
                Language::Fix44(Box::default())
            }
            CopiedVenue::Binance { credentials, tls } => {
                session.config.reset_on_logon = true;
                session.logon_fields = DROP_COPY.map(|(tag, it)| (tag, it.to_owned())).to_vec();
                (session.credentials, session.tls) = (Some(credentials), tls);
                Language::Binance(CopyReading::new())
            }
        };
        let (to, copies) = sync_channel(WAITING);
        let application = Copies { to, language, tell };
        let initiator = Initiator::start(events.io(), session, application)?;
        let wake = Some(events.io().poster());
        let waiting = VecDeque::with_capacity(WAITING);
        let handed = Handed { copies, waiting, grace, wake };
        Ok((VenueCopies(Some(handed)), Self { events, initiator }))
    }

    /// Reads until the other end is dropped.
    ///
    /// # Errors
    /// When the loop fails.
    pub fn run(mut self) -> io::Result<()> {
        let Self { events, initiator } = &mut self;
        let mut reading = ReadOn(initiator);
        events.run(&mut reading, WaitStrategy::Block).map_err(io::Error::other)
    }
}

impl std::fmt::Debug for CopyReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyReader").finish_non_exhaustive()
    }
}

/// The session, until the trading thread's end is dropped.
struct ReadOn<'a>(&'a mut Initiator<Copies>);

impl Handler<EpollKernel> for ReadOn<'_> {
    fn complete(&mut self, io: &mut Io<EpollKernel>, completion: Completion<'_>) {
        if matches!(completion, Completion::Posted { .. }) {
            if matches!(self.0.endpoint().application().language, Language::Binance(_)) {
                // Without a word the name is barred for two heartbeats.
                self.0.with_application(io, |_, outbox| outbox.log_out(""));
            }
            self.0.stop(io);
            io.stop();
        } else {
            self.0.handle(io, &completion);
        }
        if let Some(failure) = self.0.take_failure() {
            let words =
                format!("drop copies of the venue are not read: {failure}; it is tried again");
            self.0.endpoint().application().tell.say(&words);
        }
    }
}

/// What the venue's copies are for.
struct Copies {
    to: SyncSender<Copied>,
    language: Language,
    tell: Tell,
}

/// What the venue speaks.
enum Language {
    Fix44(Box<Reading>),
    Binance(CopyReading),
}

impl Application for Copies {
    fn handle(&mut self, event: Event, message: Received<'_>, outbox: &mut Outbox<'_>) {
        let received = outbox.now().mono;
        let Event::Application { sequence, .. } = event else {
            if event == Event::LoggedOn {
                self.tell.say("drop copies of the venue are read");
            }
            return;
        };
        let Self { to, language, tell } = self;
        // Whoever does not take it any more ends this thread, too.
        let take = |said| {
            let _ = to.send((received, said));
        };
        match language {
            Language::Fix44(reading) => {
                let said = reading.application(&message, sequence, true, outbox);
                said.filter(is_execution).into_iter().for_each(take);
            }
            Language::Binance(_) if message.msg_type() == b"B" => {
                tell.say("drop copies of the venue: it is about to end the session");
                outbox.log_out("");
            }
            Language::Binance(reading) => {
                reading.hear(&message);
                std::iter::from_fn(|| reading.next()).for_each(take);
            }
        }
    }

    fn disconnected(&mut self) {
        let words = "drop copies of the venue are not read: the session ended; it is tried again";
        self.tell.say(words);
    }

    fn warn(&mut self, words: &str) {
        self.tell.say(&format!("drop copies of the venue: {words}"));
    }
}

/// Whether something happened to an order, or a report of it cannot be read: an answer to a
/// question is no copy of anything.
const fn is_execution(said: &VenueEvent) -> bool {
    match said {
        VenueEvent::Report(VenueReport { is_answer, of_all, .. }) => {
            !*is_answer && matches!(of_all, OfAll::No)
        }
        VenueEvent::Unreadable(_) => true,
        _ => false,
    }
}
