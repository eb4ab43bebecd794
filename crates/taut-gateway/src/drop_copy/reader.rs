//! The venue's own drop copies: reports of our orders over a session of their own, on a thread of
//! its own. What the order session did not say is taken from there.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use taut_fix::{BeginString, CompId, Event, Role, SessionConfig};
use taut_fix_engine::{Application, Initiator, Outbox, Received, SessionSettings};
use taut_io::{Completion, EpollKernel, EventLoop, Handler, Io, LoopConfig, Poster, WaitStrategy};
use taut_types::Nanos;

use crate::order_entry::fix44::reading::Reading;
use crate::order_entry::handler::{OfAll, VenueEvent, VenueReport};

/// Copies that may wait for the trading thread; the venue waits when there are more.
const WAITING: usize = 4_096;
/// Sockets of the reader.
const SOURCES: usize = 4;

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
    /// The folder of the session's numbers: what was read once is not asked for again.
    pub store: PathBuf,
    /// How long the order session has to say the same before a copy counts.
    pub grace: Nanos,
    /// What somebody should know, in words.
    pub tell: fn(&str),
}

/// What a copy says, and when it was received.
type Copied = (Nanos, VenueEvent);

/// The trading thread's end. Dropped, it has the reader log out and end.
#[derive(Debug)]
pub struct VenueCopies {
    copies: Receiver<Copied>,
    /// Those whose time has not come.
    waiting: VecDeque<Copied>,
    grace: Nanos,
    wake: Option<Poster>,
}

impl VenueCopies {
    /// A copy whose grace is over.
    pub(crate) fn next(&mut self, now: Nanos) -> Option<VenueEvent> {
        while self.waiting.len() < WAITING
            && let Ok(copied) = self.copies.try_recv()
        {
            self.waiting.push_back(copied);
        }
        let is_due = |(received, _): &mut Copied| now.since(*received) >= self.grace;
        self.waiting.pop_front_if(is_due).map(|(_, event)| event)
    }

    /// Those that a test says.
    #[cfg(test)]
    pub(crate) fn of(grace: Nanos) -> (SyncSender<Copied>, Self) {
        let (to, copies) = sync_channel(WAITING);
        (to, Self { copies, waiting: VecDeque::new(), grace, wake: None })
    }
}

impl Drop for VenueCopies {
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
        let CopyReaderSettings { sender_comp_id, target_comp_id, grace, tell, .. } = settings;
        let sizes = LoopConfig { sources_max: SOURCES, ..LoopConfig::default() };
        let kernel = EpollKernel::new(SOURCES).map_err(io::Error::other)?;
        let mut events = EventLoop::new(kernel, sizes).map_err(io::Error::other)?;
        let (role, begin) = (Role::Initiator, BeginString::Fix44);
        let config = SessionConfig {
            heartbeat_interval: settings.heartbeat_interval,
            ..SessionConfig::new(role, begin, sender_comp_id, target_comp_id)
        };
        let session = SessionSettings {
            store: Some(settings.store),
            addresses: settings.addresses,
            ..SessionSettings::new(config)
        };
        let (to, copies) = sync_channel(WAITING);
        let application = Copies { to, reading: Reading::default(), tell };
        let initiator = Initiator::start(events.io(), session, application)?;
        let wake = Some(events.io().poster());
        let waiting = VecDeque::with_capacity(WAITING);
        Ok((VenueCopies { copies, waiting, grace, wake }, Self { events, initiator }))
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
            self.0.stop(io);
            io.stop();
        } else {
            self.0.handle(io, &completion);
        }
        if let Some(failure) = self.0.take_failure() {
            let tell = self.0.endpoint().application().tell;
            tell(&format!("drop copies of the venue are not read: {failure}; it is tried again"));
        }
    }
}

/// What the venue's copies are for.
struct Copies {
    to: SyncSender<Copied>,
    reading: Reading,
    tell: fn(&str),
}

impl Application for Copies {
    fn handle(&mut self, event: Event, message: Received<'_>, outbox: &mut Outbox<'_>) {
        let received = outbox.now().mono;
        let said = match event {
            Event::LoggedOn => {
                (self.tell)("drop copies of the venue are read");
                return;
            }
            Event::Application { sequence, .. } => {
                self.reading.application(&message, sequence, true, outbox)
            }
            _ => return,
        };
        if let Some(said) = said.filter(is_execution) {
            // Whoever does not take it any more ends this thread, too.
            let _ = self.to.send((received, said));
        }
    }

    fn disconnected(&mut self) {
        (self.tell)("drop copies of the venue are not read: the session ended; it is tried again");
    }

    fn warn(&mut self, words: &str) {
        (self.tell)(&format!("drop copies of the venue: {words}"));
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
