//! Many sessions on one port: a connection belongs to the session that its Logon names.

use std::net::SocketAddrV4;
use std::os::fd::AsFd;

use taut_fix::{FieldIndex, MemoryStore, Now, Peek, Session, SessionConfig, peek};
use taut_sys::{TcpListener, TcpStream, Wanted, stop_requests, wait_ready};
use taut_types::Nanos;

use crate::exit::Failure;
use crate::fix::echo::{Echo, MESSAGE_BYTES};
use crate::terminal::print;

/// Fields of one message.
const FIELDS_MAX: usize = 4096;
/// Messages and bytes that a session can send again.
const STORE_MESSAGES: usize = 16 * 1024;
const STORE_BYTES: usize = 4 << 20;
/// How long a connection may stay without a Logon, and how long the peer may take to close.
const PATIENCE: Nanos = Nanos::from_secs(10);

/// A session and its application.
struct Place {
    session: Session<MemoryStore>,
    echo: Echo,
    is_connected: bool,
}

/// A TCP connection.
struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    output: Vec<u8>,
    /// The session, once its Logon came.
    place: Option<usize>,
    /// When it came, or when its end was sent.
    since: Nanos,
    /// Our end is sent: only the peer's is waited for.
    is_ending: bool,
    is_over: bool,
}

/// Accepts until it is told to stop.
pub fn run(listen: SocketAddrV4, configs: Vec<SessionConfig>) -> Result<(), Failure> {
    let failed = |error| Failure::run(&format!("cannot listen on {listen}"), error);
    let listener = TcpListener::bind(listen).map_err(failed)?;
    let address = listener.local_address().map_err(failed)?;
    print(format_args!("listening on {address}"))
        .map_err(|error| Failure::run("cannot print", error))?;
    taut_sys::catch_stop_signals().map_err(|error| Failure::run("signals", error))?;
    let mut acceptor = Acceptor::new(configs);
    while stop_requests() == 0 {
        acceptor.wait(&listener)?;
        while let Some(stream) =
            listener.accept().map_err(|error| Failure::run("cannot accept", error))?
        {
            acceptor.connections.push(Connection::new(stream, clock().mono));
        }
        acceptor.work(clock());
    }
    Ok(())
}

fn clock() -> Now {
    Now { mono: taut_sys::monotonic(), utc: taut_sys::utc() }
}

struct Acceptor {
    places: Vec<Place>,
    connections: Vec<Connection>,
    /// Shared by all sessions: one message is in work at a time.
    index: FieldIndex,
}

impl Acceptor {
    fn new(configs: Vec<SessionConfig>) -> Self {
        let places = configs.into_iter().map(|config| Place {
            session: Session::new(config, MemoryStore::new(STORE_MESSAGES, STORE_BYTES)),
            echo: Echo::default(),
            is_connected: false,
        });
        Self {
            places: places.collect(),
            connections: Vec::new(),
            index: FieldIndex::with_capacity(FIELDS_MAX),
        }
    }

    /// Until something can be read or written, or a session's clock is due.
    fn wait(&self, listener: &TcpListener) -> Result<(), Failure> {
        let of = |c: &Connection| {
            c.place.and_then(|place| self.places.get(place)?.session.poll_timeout())
        };
        let limits = self.connections.iter().flat_map(|c| {
            let patient = c.is_ending || c.place.is_none();
            [of(c), patient.then_some(c.since + PATIENCE)]
        });
        let span = limits.flatten().min().map(|due| (due - clock().mono).max(Nanos::ZERO));
        let mut wanted = vec![Wanted { fd: listener.as_fd(), write: false }];
        wanted.extend(self.connections.iter().map(|connection| Wanted {
            fd: connection.stream.as_fd(),
            write: !connection.output.is_empty(),
        }));
        wait_ready(&wanted, span).map_err(|error| Failure::run("cannot wait", error))?;
        Ok(())
    }

    fn work(&mut self, now: Now) {
        for connection in &mut self.connections {
            connection.receive();
            if connection.place.is_none() && !connection.is_ending {
                connection.find_place(now, &mut self.places, &mut self.index);
            }
            if let Some(place) = connection.place.and_then(|at| self.places.get_mut(at)) {
                connection.serve(now, place, &mut self.index);
            }
            connection.flush();
            let is_stale = connection.is_ending || connection.place.is_none();
            connection.is_over |= is_stale && now.mono >= connection.since + PATIENCE;
            if connection.is_over {
                connection.leave(now, &mut self.places);
            }
        }
        self.connections.retain(|connection| !connection.is_over);
    }
}

impl Connection {
    const fn new(stream: TcpStream, now: Nanos) -> Self {
        Self {
            stream,
            input: Vec::new(),
            output: Vec::new(),
            place: None,
            since: now,
            is_ending: false,
            is_over: false,
        }
    }

    fn receive(&mut self) {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.recv(&mut buffer) {
                Ok(None) => return,
                Ok(Some(0)) | Err(_) => {
                    self.is_over = true;
                    return;
                }
                // What comes behind our end is read and forgotten.
                Ok(Some(_)) if self.is_ending => {}
                Ok(Some(bytes)) => {
                    self.input.extend_from_slice(buffer.get(..bytes).unwrap_or_default());
                }
            }
        }
    }

    /// Gives the connection to the session that its Logon names, unless that has one.
    fn find_place(&mut self, now: Now, places: &mut [Place], index: &mut FieldIndex) {
        let (begin, sender, target) = match peek(&self.input, MESSAGE_BYTES, index) {
            Peek::NeedMore => return,
            Peek::Other => return self.end(now),
            Peek::Logon { begin, sender, target } => (begin, sender, target),
        };
        let found = places.iter_mut().enumerate().find(|(_, place)| {
            let config = place.session.config();
            config.begin == begin
                && config.target_comp_id.as_bytes() == sender
                && config.sender_comp_id.as_bytes() == target
        });
        match found {
            Some((at, place)) if !place.is_connected => {
                place.is_connected = true;
                place.session.connect(now);
                self.place = Some(at);
            }
            _ => self.end(now),
        }
    }

    /// Hands the session what came and what is due, and takes what it wants sent.
    fn serve(&mut self, now: Now, place: &mut Place, index: &mut FieldIndex) {
        if let Some(event) = place.session.handle_timeout(now) {
            place.echo.handle(now, &mut place.session, event, (&[], index), &mut self.output);
        }
        self.transmit(now, place);
        let input = std::mem::take(&mut self.input);
        let mut at = 0;
        while self.step(now, place, input.get(at..).unwrap_or_default(), index, &mut at) {
            self.serve_held(now, place, index);
        }
        self.input = input;
        self.input.drain(..at);
        if place.session.is_closed() && !self.is_ending {
            self.flush();
            self.end(now);
        }
    }

    /// One message; whether there was one.
    fn step(
        &mut self,
        now: Now,
        place: &mut Place,
        bytes: &[u8],
        index: &mut FieldIndex,
        at: &mut usize,
    ) -> bool {
        let made = place.session.handle_bytes(now, bytes, index);
        *at += made.consumed;
        if let Some(event) = made.event {
            let message = bytes.get(..made.consumed).unwrap_or_default();
            place.echo.handle(now, &mut place.session, event, (message, index), &mut self.output);
        }
        self.transmit(now, place);
        made.consumed > 0
    }

    /// Messages that came before their turn, and whose turn it is now.
    fn serve_held(&mut self, now: Now, place: &mut Place, index: &mut FieldIndex) {
        let mut scratch = [0; taut_fix::MESSAGE_BYTES_MAX];
        while let Some(bytes) = place.session.take_held(&mut scratch) {
            let mut at = 0;
            self.step(now, place, scratch.get(..bytes).unwrap_or_default(), index, &mut at);
        }
    }

    fn transmit(&mut self, now: Now, place: &mut Place) {
        let mut out = vec![0; MESSAGE_BYTES];
        while let Some(range) = place.session.poll_transmit(now, &mut out) {
            self.output.extend_from_slice(out.get(range).unwrap_or_default());
        }
    }

    fn flush(&mut self) {
        while !self.output.is_empty() && !self.is_over {
            match self.stream.send(&self.output) {
                Ok(0) => return,
                Ok(bytes) => drop(self.output.drain(..bytes)),
                Err(_) => self.is_over = true,
            }
        }
    }

    /// Sends our end; what the peer still says is not lost on the way to it.
    fn end(&mut self, now: Now) {
        self.is_ending = true;
        self.since = now.mono;
        self.is_over |= self.stream.shutdown_write().is_err();
    }

    /// The session is free for another connection.
    fn leave(&mut self, now: Now, places: &mut [Place]) {
        if let Some(place) = self.place.take().and_then(|at| places.get_mut(at)) {
            place.session.transport_closed(now);
            place.echo.forget();
            place.is_connected = false;
        }
    }
}
