//! Two ends of one WebSocket on one loop.

use taut_io::{Completion, Handle, Io, Kernel, WaitStrategy};
use taut_net::{NetError, WsEvent, WsStream};
use taut_types::Nanos;
use taut_ws::{ClientRequest, Closed, Connection, Event, Outbox, Seed, Violation, WsConfig, WsUrl};

pub use crate::shared::{PATIENCE, Pki, Rig};

pub const NAME: &str = "venue.test";
const HTTP: &[&[u8]] = &[b"http/1.1"];

/// How a connection ended, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Agreed(Option<u16>, String),
    Refused(u16, Vec<u8>),
    RefusedByUs,
    Violation(Violation),
    Late,
    Silence,
    Cut,
    Other,
}

/// What one end has seen, and how it answers.
#[derive(Debug, Default)]
pub struct Seen {
    pub opened: bool,
    pub messages: Vec<Vec<u8>>,
    pub bytes: usize,
    pub pongs: usize,
    pub ended: Option<Ended>,
    pub gone: Option<Option<NetError>>,
    /// Sends back what it gets.
    pub echoes: bool,
    /// Leaves requests without an answer.
    pub is_rude: bool,
    /// Refuses requests.
    pub refuses: bool,
}

impl Seen {
    pub fn hear(&mut self, outbox: &mut Outbox, event: WsEvent<'_>) {
        assert!(self.gone.is_none(), "after the last event");
        let event = match event {
            WsEvent::Gone(fault) => return self.gone = Some(fault),
            WsEvent::Session(event) => event,
        };
        assert!(self.ended.is_none(), "after the end of the session");
        match event {
            Event::Requested(_) if self.is_rude => {}
            Event::Requested(_) if self.refuses => {
                outbox.refuse(403, &[("X-Why", "rules")], "not from here").unwrap();
            }
            Event::Requested(request) => {
                assert_eq!((request.path(), request.host()), ("/feed?x=1", NAME));
                outbox.accept(None, &[]).unwrap();
                self.opened = true;
            }
            Event::Opened(_) => self.opened = true,
            Event::Text(text) => self.message(outbox, text.as_bytes()),
            Event::Binary(bytes) => self.message(outbox, bytes),
            Event::Pong(_) => self.pongs += 1,
            Event::Closed(closed) => self.ended = Some(ended(closed)),
            _ => {}
        }
    }

    fn message(&mut self, outbox: &mut Outbox, bytes: &[u8]) {
        if self.echoes {
            outbox.binary(bytes).unwrap();
        }
        self.bytes += bytes.len();
        self.messages.push(bytes.to_vec());
    }
}

fn ended(closed: Closed<'_>) -> Ended {
    match closed {
        Closed::Agreed(frame) => {
            Ended::Agreed(frame.code.map(|code| code.number()), frame.reason.to_owned())
        }
        Closed::Refused(refused) => Ended::Refused(refused.status, refused.body.to_vec()),
        Closed::RefusedByUs { .. } => Ended::RefusedByUs,
        Closed::Violation(violation) => Ended::Violation(violation),
        Closed::HandshakeTimeout | Closed::CloseTimeout => Ended::Late,
        Closed::Silence => Ended::Silence,
        Closed::Cut => Ended::Cut,
        _ => Ended::Other,
    }
}

/// One end.
#[derive(Debug)]
pub struct End {
    pub ws: WsStream,
    pub seen: Seen,
}

impl End {
    fn handle<K: Kernel>(&mut self, io: &mut Io<K>, completion: &Completion<'_>) {
        let Self { ws, seen } = self;
        ws.handle(io, completion, &mut |outbox, event| seen.hear(outbox, event));
    }
}

pub fn config() -> WsConfig {
    WsConfig {
        message_bytes_max: 4 << 20,
        send_bytes_max: 8 << 20,
        handshake_timeout: PATIENCE,
        close_timeout: Nanos::from_secs(2),
        keep_alive: None,
        ..WsConfig::default()
    }
}

impl<K: Kernel> Rig<K> {
    pub fn client(&mut self, stream: Handle, config: &WsConfig, pki: Option<&Pki>) -> End {
        let io = self.events.io();
        let url = format!("ws://{NAME}/feed?x=1");
        let request = ClientRequest::new(&WsUrl::parse(&url).unwrap());
        let connection = Connection::client(config, &request, Seed::new([7; 16]), io.now());
        let tls = pki.map(|pki| pki.client(HTTP));
        let tls = tls.as_ref().map(|tls| (tls, NAME));
        let ws = WsStream::client(io, stream, tls, connection.unwrap()).unwrap();
        End { ws, seen: Seen::default() }
    }

    pub fn server(&mut self, stream: Handle, config: &WsConfig, pki: Option<&Pki>) -> End {
        let io = self.events.io();
        let connection = Connection::server(config, io.now()).unwrap();
        let tls = pki.map(|pki| pki.server(HTTP));
        let ws = WsStream::server(io, stream, tls.as_ref(), connection).unwrap();
        End { ws, seen: Seen::default() }
    }

    /// Both ends, open.
    pub fn pair(&mut self, config: &WsConfig, pki: Option<&Pki>) -> (End, End) {
        let (near, far) = self.streams();
        let mut far = self.server(far, config, pki);
        let mut near = self.client(near, config, pki);
        self.until("open", (&mut near, &mut far), |_, near, far| {
            near.seen.opened && far.seen.opened
        });
        (near, far)
    }

    /// Runs until `done`, which may act.
    pub fn until(
        &mut self,
        what: &str,
        (near, far): (&mut End, &mut End),
        mut done: impl FnMut(&mut Io<K>, &mut End, &mut End) -> bool,
    ) {
        if done(self.events.io(), near, far) {
            return;
        }
        let mut satisfied = false;
        let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
            near.handle(io, &completion);
            far.handle(io, &completion);
            if done(io, near, far) {
                satisfied = true;
                io.stop();
            }
        };
        self.events.run_for(&mut handler, WaitStrategy::Block, PATIENCE).unwrap();
        assert!(satisfied, "not in time: {what}: {:?} {:?}", near.seen.ended, far.seen.ended);
    }

    /// Runs until both streams are gone.
    pub fn until_gone(&mut self, near: &mut End, far: &mut End) {
        self.until("gone", (near, far), |_, near, far| {
            near.seen.gone.is_some() && far.seen.gone.is_some()
        });
    }
}
