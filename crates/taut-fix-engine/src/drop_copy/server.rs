//! Who reads drop copies: FIX sessions on a loop of their own.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::sync::{Arc, OnceLock};

use taut_fix::{CompId, Event, Now, Received, Role, SessionConfig};
use taut_io::{Completion, EpollKernel, EventLoop, Handler, Io, LoopConfig, WaitStrategy};
use taut_types::Nanos;

use super::notes::DropCopyNotes;
use super::source::DropCopySource;
use super::tell::Tell;
use crate::acceptor::Acceptor;
use crate::application::{Application, Outbox};
use crate::settings::{SessionSettings, Settings};

/// Executions that may wait for the server's thread.
const WAITING: usize = 16_384;
/// Executions that are stored together: one synchronisation of the disk for all of them.
const BATCH: usize = 64;
/// Sockets at the most: its readers, and strangers that have not logged on.
const SOURCES: usize = 2_048;
/// How long the readers may take to answer our Logouts.
const LOGOUT: Nanos = Nanos::from_secs(2);

/// Who may read, and where.
#[derive(Clone, Debug)]
pub struct DropCopySettings {
    /// Where readers connect.
    pub listen: SocketAddr,
    /// SenderCompID (49) towards them.
    pub sender_comp_id: CompId,
    /// The CompID of each reader.
    pub readers: Vec<CompId>,
    /// The folder of what is sent: a reader that comes back gets what it missed.
    pub store: PathBuf,
    /// Is told what a person should know.
    pub tell: Tell,
}

/// Sends copies to their readers, on a thread of its own.
#[derive(Debug)]
pub struct DropCopyServer<S: DropCopySource> {
    events: EventLoop<EpollKernel>,
    readers: Readers<S>,
}

impl<S: DropCopySource> DropCopyServer<S> {
    /// Listens, and opens the stores. The other end is the thread's on which it happens.
    ///
    /// # Errors
    /// The address cannot be listened on, or a store cannot be opened.
    pub fn open(
        settings: &DropCopySettings,
        source: S,
    ) -> io::Result<(DropCopyNotes<S::Execution>, Self)> {
        let sizes = LoopConfig { sources_max: SOURCES, ..LoopConfig::default() };
        let kernel = EpollKernel::new(SOURCES).map_err(io::Error::other)?;
        let mut events = EventLoop::new(kernel, sizes).map_err(io::Error::other)?;
        let session = |reader: &CompId| {
            let us = settings.sender_comp_id;
            let (begin, default_application_version) = source.version();
            let config = SessionConfig {
                default_application_version,
                ..SessionConfig::new(Role::Acceptor, begin, us, *reader)
            };
            let store = Some(settings.store.clone());
            SessionSettings { store, ..SessionSettings::new(config) }
        };
        let sessions = Settings::new(settings.readers.iter().map(session).collect());
        let tell = settings.tell.clone();
        let make: Make = Box::new(move |_| Reader { tell: tell.clone() });
        let acceptor = Acceptor::open(events.io(), settings.listen, sessions, make)?;
        let (to, copies) = mpsc::sync_channel(WAITING);
        let (wake, lost) = (events.io().poster(), Arc::new(OnceLock::new()));
        let readers = Readers {
            acceptor,
            names: settings.readers.clone(),
            copies,
            batch: Vec::with_capacity(BATCH),
            source,
            tell: settings.tell.clone(),
            // Above every number that a server started before has used.
            next_exec_id: taut_sys::utc().0.unsigned_abs() / 1_000,
            lost: Arc::clone(&lost),
            ends_by: None,
        };
        Ok((DropCopyNotes::new(to, wake, lost), Self { events, readers }))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_address(&mut self) -> io::Result<SocketAddr> {
        self.readers.acceptor.local_address(self.events.io())
    }

    /// Serves its readers until the other end is dropped, and all of it is sent or stored; what was
    /// lost is told.
    ///
    /// # Errors
    /// When the loop fails.
    pub fn run(mut self) -> io::Result<()> {
        let ended = self.events.run(&mut self.readers, WaitStrategy::Block);
        if let Some(lost @ 1..) = self.readers.lost.get() {
            let words = format!("drop copies lost: {lost}; the server was too far behind");
            self.readers.tell.say(&words);
        }
        ended.map_err(io::Error::other)
    }
}

type Make = Box<dyn FnMut(&SessionSettings) -> Reader + Send>;

/// The sessions, and what they are sent.
struct Readers<S: DropCopySource> {
    acceptor: Acceptor<Reader, Make>,
    /// The CompID of each session, in its place.
    names: Vec<CompId>,
    copies: Receiver<S::Execution>,
    batch: Vec<S::Execution>,
    source: S,
    tell: Tell,
    next_exec_id: u64,
    /// What the other end lost, once it is gone.
    lost: Arc<OnceLock<u64>>,
    /// No more will come: logged out by then, or not at all.
    ends_by: Option<Nanos>,
}

impl<S: DropCopySource> Readers<S> {
    /// Sends or stores all that waits; whether more may come.
    fn pass_on(&mut self, io: &mut Io<EpollKernel>) -> bool {
        loop {
            self.batch.clear();
            let end = loop {
                match self.copies.try_recv() {
                    Ok(execution) => self.batch.push(execution),
                    Err(end) => break Some(end),
                }
                if self.batch.len() == BATCH {
                    break None;
                }
            };
            self.send_batch(io);
            match end {
                None => {}
                Some(TryRecvError::Empty) => return true,
                Some(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn send_batch(&mut self, io: &mut Io<EpollKernel>) {
        if self.batch.is_empty() {
            return;
        }
        self.source.refresh();
        let Self { acceptor, names, batch, source, tell, next_exec_id, .. } = self;
        let first = *next_exec_id;
        let send = |reader: CompId, outbox: &mut Outbox<'_>| {
            let numbered = (first..).zip(&*batch);
            for (exec_id, execution) in numbered.filter(|(_, it)| source.is_for(reader, it)) {
                if let Err(error) = source.send(outbox, exec_id, execution) {
                    tell.say(&format!("a drop copy is neither sent nor kept: {error}"));
                }
            }
        };
        for (at, reader) in names.iter().enumerate() {
            let is_connected = acceptor.endpoints().get(at).is_some_and(|it| it.is_connected());
            if is_connected {
                acceptor.with_application(io, at, |_, outbox| send(*reader, outbox));
            } else if let Some(endpoint) = acceptor.endpoints().get_mut(at) {
                let now = Now { mono: io.now(), utc: taut_sys::utc() };
                endpoint.with_application(now, |_, outbox| send(*reader, outbox));
            }
        }
        *next_exec_id += batch.len() as u64;
    }

    fn end(&mut self, io: &mut Io<EpollKernel>) {
        if self.ends_by.is_some() {
            return;
        }
        let deadline = io.now() + LOGOUT;
        self.ends_by = Some(deadline);
        if let Ok(counters) = self.acceptor.admission_counters(io)
            && counters.turned_away() > 0
        {
            self.tell.say(&format!("drop copy: not served: {counters}"));
        }
        self.acceptor.log_out_all(io);
        // Without a timer nothing may complete any more, which ends the loop too.
        let _ = io.timer_at(deadline, 0);
    }
}

impl<S: DropCopySource> Handler<EpollKernel> for Readers<S> {
    fn complete(&mut self, io: &mut Io<EpollKernel>, completion: Completion<'_>) {
        match completion {
            Completion::Posted { .. } => {
                if !self.pass_on(io) {
                    self.end(io);
                }
            }
            other => {
                self.acceptor.handle(io, &other);
            }
        }
        // At the end the listener is closed, which is no fault.
        if let Some(fault) = self.acceptor.take_fault().filter(|_| self.ends_by.is_none()) {
            self.tell.say(&format!("drop copy: cannot accept a reader: {fault}"));
        }
        if let Some(refusal) = self.acceptor.take_refusal() {
            self.tell.say(&format!("drop copy: a reader is refused: {refusal}"));
        }
        if self.ends_by.is_some_and(|end| self.acceptor.is_idle() || io.now() >= end) {
            io.stop();
        }
    }
}

impl<S: DropCopySource> std::fmt::Debug for Readers<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readers").field("ends_by", &self.ends_by).finish_non_exhaustive()
    }
}

/// A reader says nothing: whatever it asks for is refused.
#[derive(Debug)]
struct Reader {
    tell: Tell,
}

impl Application for Reader {
    fn handle(&mut self, event: Event, message: Received<'_>, outbox: &mut Outbox<'_>) {
        if let Event::Application { sequence, .. } = event {
            outbox.refuse_type(sequence, message.msg_type());
        }
    }

    fn warn(&mut self, words: &str) {
        self.tell.say(&format!("drop copy: {words}"));
    }
}
