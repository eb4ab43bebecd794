//! An acceptor and its initiators on one loop.

use std::net::SocketAddr;
use std::path::Path;

use taut_fix::{Event, Extras, Role};
use taut_fix_engine::{
    Acceptor, Application, Initiator, Outbox, Received, SessionSettings, Settings,
};
use taut_io::{Completion, EventLoop, Io, Kernel, LoopConfig, WaitStrategy};
use taut_types::Nanos;

/// What a test waits for something, at the most.
pub const PATIENCE: Nanos = Nanos::from_secs(30);
/// Places of the loop, for both sides.
pub const SOURCES_MAX: usize = 512;
/// A fixed day, for a simulated loop's time to be added to: Monday 2026-03-02 09:00 UTC.
pub const MORNING: Nanos = Nanos::from_secs(1_772_442_000);

/// Echoes, and remembers.
#[derive(Debug, Default)]
pub struct Recorder {
    pub is_echo: bool,
    pub events: Vec<Event>,
    pub messages: Vec<u64>,
    pub bytes: usize,
    pub disconnects: usize,
    pub warnings: Vec<String>,
}

impl Application for Recorder {
    fn handle(&mut self, event: Event, message: Received<'_>, outbox: &mut Outbox<'_>) {
        if let Event::Application { sequence, .. } = event {
            self.messages.push(sequence);
            self.bytes += message.bytes.len();
            if self.is_echo {
                let (id, text) = (message.value(11), message.value(58));
                let _ = outbox.send(message.msg_type(), Extras::default(), |writer| {
                    writer.text::<11>(id.unwrap_or_default());
                    if let Some(text) = text {
                        writer.text::<58>(text);
                    }
                });
            }
        } else {
            self.events.push(event);
        }
    }

    fn disconnected(&mut self) {
        self.disconnects += 1;
    }

    fn warn(&mut self, words: &str) {
        self.warnings.push(words.to_owned());
    }
}

pub type Make = fn(&SessionSettings) -> Recorder;

/// The acceptor's applications echo.
pub fn echo(_: &SessionSettings) -> Recorder {
    Recorder { is_echo: true, ..Recorder::default() }
}

pub fn session(us: &str, them: &str, more: &str) -> String {
    format!(
        "[[sessions]]\nbegin_string = \"FIX.4.4\"\nsender_comp_id = \"{us}\"\n\
         target_comp_id = \"{them}\"\nsync = \"never\"\n{more}\n"
    )
}

pub fn settings(text: &str, folder: &Path, role: Role) -> Settings {
    Settings::parse(text, folder, role).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn send_order(outbox: &mut Outbox<'_>, id: usize, text: &str) {
    let sent = outbox.send(b"D", Extras::default(), |writer| {
        writer.number::<11>(id as u64);
        writer.text::<58>(text.as_bytes());
    });
    sent.expect("the session is up");
}

/// Both sides on one loop.
pub struct Rig<K: Kernel> {
    pub events: EventLoop<K>,
    pub acceptor: Option<Acceptor<Recorder, Make>>,
    pub initiators: Vec<Initiator<Recorder>>,
    /// Completions that were nobody's.
    pub strays: Vec<String>,
}

impl<K: Kernel> Rig<K> {
    pub fn new(kernel: K) -> Self {
        let config = LoopConfig { sources_max: SOURCES_MAX, ..LoopConfig::default() };
        let events = EventLoop::new(kernel, config).expect("a loop");
        Self { events, acceptor: None, initiators: Vec::new(), strays: Vec::new() }
    }

    /// Listens, and returns where.
    pub fn accept(&mut self, settings: Settings) -> SocketAddr {
        self.accept_at("127.0.0.1:0".parse().expect("an address"), settings)
    }

    /// Listens there.
    pub fn accept_at(&mut self, at: SocketAddr, settings: Settings) -> SocketAddr {
        let io = self.events.io();
        let mut acceptor = Acceptor::open(io, at, settings, echo as Make).expect("an acceptor");
        acceptor.set_clock(clock::<K>());
        let address = acceptor.local_address(io).expect("an address");
        self.acceptor = Some(acceptor);
        address
    }

    /// What the drivers' clock says.
    pub fn utc(&mut self) -> Nanos {
        clock::<K>()(self.events.io().now())
    }

    /// Starts an initiator of one session.
    pub fn initiate(&mut self, text: &str, folder: &Path) -> usize {
        let session = settings(text, folder, Role::Initiator).sessions.remove(0);
        let started = Initiator::start(self.events.io(), session, Recorder::default());
        let mut initiator = started.expect("an initiator");
        initiator.set_clock(clock::<K>());
        self.initiators.push(initiator);
        self.initiators.len() - 1
    }

    /// Runs until `done`.
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let end = self.events.io().now() + PATIENCE;
        while !done(self) {
            assert!(self.events.io().now() < end, "not in time: {what}");
            self.turn();
        }
    }

    /// Runs for a span of the loop's time.
    pub fn pass(&mut self, span: Nanos) {
        let end = self.events.io().now() + span;
        while self.events.io().now() < end {
            self.turn();
        }
    }

    fn turn(&mut self) {
        let Self { events, acceptor, initiators, strays } = self;
        let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
            let mut taken = acceptor.as_mut().is_some_and(|it| it.handle(io, &completion));
            for initiator in initiators.iter_mut() {
                taken = taken || initiator.handle(io, &completion);
            }
            if !taken {
                strays.push(match completion {
                    Completion::Received { bytes, .. } => format!("Received {}", bytes.len()),
                    other => format!("{other:?}"),
                });
            }
            io.stop();
        };
        let span = Nanos::from_millis(20);
        events.run_for(&mut handler, WaitStrategy::Block, span).expect("the loop");
    }

    /// The acceptor's application of a session.
    pub fn host(&mut self, at: usize) -> &mut Recorder {
        let acceptor = self.acceptor.as_mut().expect("an acceptor");
        acceptor.endpoints().get_mut(at).expect("a session").application()
    }

    pub fn is_up(&mut self, at: usize) -> bool {
        self.initiators[at].endpoint().session().is_active()
    }

    pub fn send(&mut self, at: usize, id: usize, text: &str) {
        self.initiators[at]
            .with_application(self.events.io(), |_, outbox| send_order(outbox, id, text));
    }
}

/// A simulated loop starts at 0, a real one at the time since the machine started.
fn clock<K: Kernel>() -> fn(Nanos) -> Nanos {
    if std::any::type_name::<K>().contains("SimKernel") {
        |mono| MORNING + mono
    } else {
        |_| taut_sys::utc()
    }
}
