//! Who reads drop copies: FIX 4.4 sessions on a loop of their own.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, TryRecvError};

use taut_fix::{BeginString, CompId, Event, Now, Role, SessionConfig};
use taut_fix_engine::{Acceptor, Application, Outbox, Received, SessionSettings, Settings};
use taut_io::{Completion, EpollKernel, EventLoop, Handler, Io, LoopConfig, WaitStrategy};
use taut_types::{Instrument, Nanos};

use crate::drop_copy::execution::Execution;
use crate::drop_copy::notes::{DropCopies, END, WAITING};
use crate::owner::Owner;

/// Copies that are stored together: one synchronisation of the disk for all of them.
const BATCH: usize = 64;
/// Connections at the most.
const SOURCES: usize = 256;
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
    /// The instruments, each at its number.
    pub instruments: Vec<Instrument>,
    /// What a strategy is called, for Text (58).
    pub names: Vec<(Owner, String)>,
    /// Is told what a person should know.
    pub tell: fn(&str),
}

/// Sends copies to their readers, on a thread of its own.
#[derive(Debug)]
pub struct DropCopyServer {
    events: EventLoop<EpollKernel>,
    readers: Readers,
}

impl DropCopyServer {
    /// Listens, and opens the stores. The other end is the gateway's
    /// ([`Gateway::set_drop_copies`](crate::Gateway::set_drop_copies)).
    ///
    /// # Errors
    /// The address cannot be listened on, or a store cannot be opened.
    pub fn open(settings: DropCopySettings) -> io::Result<(DropCopies, Self)> {
        let sizes = LoopConfig { sources_max: SOURCES, ..LoopConfig::default() };
        let kernel = EpollKernel::new(SOURCES).map_err(io::Error::other)?;
        let mut events = EventLoop::new(kernel, sizes).map_err(io::Error::other)?;
        let session = |reader: &CompId| {
            let us = settings.sender_comp_id;
            let config = SessionConfig::new(Role::Acceptor, BeginString::Fix44, us, *reader);
            let store = Some(settings.store.clone());
            SessionSettings { store, ..SessionSettings::new(config) }
        };
        let sessions = Settings::new(settings.readers.iter().map(session).collect());
        let tell = settings.tell;
        let make: Make = Box::new(move |_| Reader { tell });
        let acceptor = Acceptor::open(events.io(), settings.listen, sessions, make)?;
        let (to, copies) = mpsc::sync_channel(WAITING);
        let wake = events.io().poster();
        let readers = Readers {
            acceptor,
            copies,
            batch: Vec::with_capacity(BATCH),
            instruments: settings.instruments,
            texts: settings
                .names
                .iter()
                .map(|(owner, name)| (*owner, text_of(*owner, name)))
                .collect(),
            tell,
            // Above every number that a server started before has used.
            next_exec_id: taut_sys::utc().0.unsigned_abs() / 1_000,
            ends_by: None,
        };
        Ok((DropCopies::new(to, wake), Self { events, readers }))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_address(&mut self) -> io::Result<SocketAddr> {
        self.readers.acceptor.local_address(self.events.io())
    }

    /// Serves its readers until the gateway's end is dropped, and all of it is sent or stored.
    ///
    /// # Errors
    /// When the loop fails.
    pub fn run(mut self) -> io::Result<()> {
        self.events.run(&mut self.readers, WaitStrategy::Block).map_err(io::Error::other)
    }
}

type Make = Box<dyn FnMut(&SessionSettings) -> Reader + Send>;

/// The sessions, and what they are sent.
struct Readers {
    acceptor: Acceptor<Reader, Make>,
    copies: Receiver<Execution>,
    batch: Vec<Execution>,
    instruments: Vec<Instrument>,
    /// Text (58) of each strategy's orders.
    texts: Vec<(Owner, String)>,
    tell: fn(&str),
    next_exec_id: u64,
    /// No more copies will come: logged out by then, or not at all.
    ends_by: Option<Nanos>,
}

impl Readers {
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
        let Self { acceptor, batch, instruments, texts, tell, next_exec_id, .. } = self;
        let first = *next_exec_id;
        let send = |outbox: &mut Outbox<'_>| {
            for (exec_id, execution) in (first..).zip(&*batch) {
                let instrument = instruments.get(execution.terms().instrument.0 as usize);
                let owner = Owner::of(execution.request().order);
                let known = texts.iter().find(|(named, _)| *named == owner);
                let unknown;
                let text = match known {
                    Some((_, text)) => text,
                    None => {
                        unknown = text_of(owner, "");
                        &unknown
                    }
                };
                let utc = outbox.now().utc;
                let copy =
                    instrument.and_then(|it| execution.report(exec_id, it, text.as_bytes(), utc));
                let sent = copy.map(|copy| outbox.send_or_keep(&copy));
                if let Some(Err(error)) = sent {
                    tell(&format!("a drop copy is neither sent nor kept: {error}"));
                }
            }
        };
        for at in 0..acceptor.endpoints().len() {
            let is_connected = acceptor.endpoints().get(at).is_some_and(|it| it.is_connected());
            if is_connected {
                acceptor.with_application(io, at, |_, outbox| send(outbox));
            } else if let Some(endpoint) = acceptor.endpoints().get_mut(at) {
                let now = Now { mono: io.now(), utc: taut_sys::utc() };
                endpoint.with_application(now, |_, outbox| send(outbox));
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
        self.acceptor.log_out_all(io);
        // Without a timer nothing may complete any more, which ends the loop too.
        let _ = io.timer_at(deadline, 0);
    }
}

impl Handler<EpollKernel> for Readers {
    fn complete(&mut self, io: &mut Io<EpollKernel>, completion: Completion<'_>) {
        match completion {
            Completion::Posted { payload } => {
                if !self.pass_on(io) || payload == END {
                    self.end(io);
                }
            }
            other => {
                self.acceptor.handle(io, &other);
            }
        }
        // At the end the listener is closed, which is no fault.
        if let Some(fault) = self.acceptor.take_fault().filter(|_| self.ends_by.is_none()) {
            (self.tell)(&format!("drop copy: cannot accept a reader: {fault}"));
        }
        if self.ends_by.is_some_and(|end| self.acceptor.is_idle() || io.now() >= end) {
            io.stop();
        }
    }
}

impl std::fmt::Debug for Readers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readers").field("ends_by", &self.ends_by).finish_non_exhaustive()
    }
}

/// A reader says nothing: whatever it asks for is refused.
#[derive(Debug)]
struct Reader {
    tell: fn(&str),
}

impl Application for Reader {
    fn handle(&mut self, event: Event, message: Received<'_>, outbox: &mut Outbox<'_>) {
        if let Event::Application { sequence, .. } = event {
            outbox.refuse_type(sequence, message.msg_type());
        }
    }

    fn warn(&mut self, words: &str) {
        (self.tell)(&format!("drop copy: {words}"));
    }
}

/// Whose an order is, in words.
fn text_of(owner: Owner, name: &str) -> String {
    let Owner { user, strategy } = owner;
    let name = if name.is_empty() { String::new() } else { format!(" name={name}") };
    format!("user={} strategy={}{name}", user.0, strategy.0)
}
