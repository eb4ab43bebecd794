//! One connection of a feed: an attempt, its frames, its end.

use taut_io::{Completion, Handle, Io, Kernel, Operation};
use taut_market_data::Source;
use taut_net::{NetError, TlsClientConfig, WsEvent, WsStream};
use taut_sys::{Address, StreamOptions, SysError, random_bytes};
use taut_types::Nanos;
use taut_ws::{ClientRequest, Closed, Connection, Event, KeepAlive, Seed, WsConfig, WsUrl};

use super::added::Asked;
use super::bytes::{ByteStream, Heard, authority};
use super::session::StreamAddress;
use crate::ended::wait_after;
use crate::order_entry::tunnel::no_way;
use crate::through::Through;

/// How long an attempt may take.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
/// A snapshot of 5,000 levels a side has some 300 kB.
pub(super) const FRAME_BYTES_MAX: usize = 1 << 20;
/// So much is kept of what is said with a refusal.
const REFUSAL_BYTES_MAX: usize = 200;

/// A connection, and what is known of it.
#[derive(Debug)]
pub(super) struct End {
    pub source: Source,
    state: State,
    /// Attempts to connect it: each goes to the next of the host's addresses.
    attempts: usize,
    /// When it was connected.
    pub since: Nanos,
    /// When it was connected, or brought data last.
    pub heard: Nanos,
    /// When it brought its first frame.
    pub delivered: Option<Nanos>,
    /// Whether the venue has said that it will end it.
    pub is_ending: bool,
    /// How long to wait at the least before the next attempt, as its end says.
    pub wait_min: Nanos,
    /// What the venue said when it refused the WebSocket; empty once one is open.
    pub refusal: String,
    /// How far it was asked for what was added since it was connected.
    pub asked: Asked,
}

#[derive(Debug)]
enum State {
    /// Until the next attempt.
    Down(Nanos),
    Connecting(Handle),
    Up(Line),
}

/// What the frames come over.
#[derive(Debug)]
enum Line {
    WebSocket(Box<WsStream>),
    Bytes(Box<ByteStream>),
}

/// What a completion was to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Took {
    /// It is another one's.
    NotOurs,
    Taken,
    /// From now on messages pass.
    Opened,
    /// It is over.
    Ended,
    /// It could not be made.
    Failed,
}

/// The frames of the completion at hand, one behind the other: who handles them needs the loop,
/// which the connection has until then.
#[derive(Debug)]
pub(super) struct Frames {
    bytes: Vec<u8>,
    ends: Vec<(Source, usize)>,
}

impl Frames {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::with_capacity(FRAME_BYTES_MAX), ends: Vec::with_capacity(64) }
    }

    /// Without room: it takes what it needs.
    pub(super) const fn empty() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(super) fn push(&mut self, source: Source, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push((source, frame.len()));
    }

    /// In the order in which they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Source, &[u8])> {
        let mut at = 0;
        self.ends.iter().filter_map(move |&(source, length)| {
            let frame = self.bytes.get(at..at + length)?;
            at += length;
            Some((source, frame))
        })
    }
}

impl End {
    /// A connection that is to be made now, or when it is told to.
    pub(super) fn new(source: Source, due: Nanos) -> Self {
        Self {
            source,
            state: State::Down(due),
            attempts: 0,
            since: Nanos::ZERO,
            heard: Nanos::ZERO,
            delivered: None,
            is_ending: false,
            wait_min: Nanos::ZERO,
            refusal: String::new(),
            asked: Asked::default(),
        }
    }

    pub(super) const fn is_up(&self) -> bool {
        matches!(self.state, State::Up(_))
    }

    /// Whether nobody wants it.
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self.state, State::Down(Nanos::MAX))
    }

    pub(super) const fn ws(&mut self) -> Option<&mut WsStream> {
        match &mut self.state {
            State::Up(Line::WebSocket(ws)) => Some(ws),
            _ => None,
        }
    }

    /// The connection, where it carries bytes: its frames are pieces of them.
    pub(super) const fn bytes(&mut self) -> Option<&mut ByteStream> {
        match &mut self.state {
            State::Up(Line::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Whether messages pass.
    pub(super) fn is_open(&self) -> bool {
        match &self.state {
            State::Up(Line::WebSocket(ws)) => ws.is_open(),
            State::Up(Line::Bytes(bytes)) => bytes.is_open(),
            _ => false,
        }
    }

    /// There is no connection; the next attempt is made then.
    pub(super) fn end(&mut self, io: &mut Io<impl Kernel>, due: Nanos) {
        match self.down_until(due) {
            State::Up(Line::WebSocket(ws)) => ws.abort(io),
            State::Up(Line::Bytes(bytes)) => bytes.abort(io),
            // A handle that is stale already closes nothing.
            State::Connecting(stream) => {
                let _ = io.close(stream);
            }
            State::Down(_) => {}
        }
    }

    fn down_until(&mut self, due: Nanos) -> State {
        (self.delivered, self.is_ending) = (None, false);
        self.wait_min = Nanos::ZERO;
        std::mem::replace(&mut self.state, State::Down(due))
    }

    /// Makes an attempt if one is due; whether it failed at once.
    pub(super) fn connect_if_due(
        &mut self,
        io: &mut Io<impl Kernel>,
        at: &StreamAddress,
        now: Nanos,
    ) -> bool {
        let State::Down(due) = self.state else { return false };
        if now < due {
            return false;
        }
        let at = Address::Inet(at.of_attempt(self.attempts));
        self.attempts = self.attempts.wrapping_add(1);
        let options = StreamOptions { no_delay: true, ..StreamOptions::default() };
        match io.connect(&at, &options, Some(now + CONNECT_TIMEOUT)) {
            Ok(stream) => self.state = State::Connecting(stream),
            Err(_) => return true,
        }
        false
    }

    /// Takes a completion if it is this connection's, with the frames that it brought. After
    /// [`Took::Ended`] or [`Took::Failed`] say when it is due again ([`End::end`]).
    pub(super) fn handle(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
        (at, tls): (&StreamAddress, Option<&TlsClientConfig>),
        is_hot: bool,
        frames: &mut Frames,
    ) -> Took {
        let source = self.source;
        match &mut self.state {
            State::Down(_) => Took::NotOurs,
            State::Connecting(stream) => {
                match *completion {
                    Completion::Connected { stream: made } if made == *stream => {
                        (self.since, self.heard) = (io.now(), io.now());
                        let Some(line) = open(io, made, at, tls) else {
                            let _ = io.close(made);
                            self.state = State::Down(Nanos::MAX);
                            return Took::Failed;
                        };
                        // A stream that is not hot is received by the loop's wait.
                        let _ = io.set_hot(made, is_hot);
                        self.state = State::Up(line);
                        // What has nothing to agree on with its peer is open now.
                        if self.is_open() { Took::Opened } else { Took::Taken }
                    }
                    Completion::Failed {
                        source: failed, operation: Operation::Connect, ..
                    } if failed == *stream => Took::Taken,
                    Completion::Closed { source: closed, .. } if closed == *stream => {
                        self.state = State::Down(Nanos::MAX);
                        Took::Failed
                    }
                    _ => Took::NotOurs,
                }
            }
            State::Up(Line::Bytes(bytes)) => {
                let mut take = |bytes: &[u8]| frames.push(source, bytes);
                let heard = bytes.handle(io, completion, &mut take);
                if !frames.is_empty() {
                    self.heard = io.now();
                    self.delivered = self.delivered.or(Some(self.heard));
                }
                match heard {
                    Heard::NotOurs => Took::NotOurs,
                    Heard::Taken => Took::Taken,
                    Heard::Opened => {
                        self.refusal.clear();
                        Took::Opened
                    }
                    Heard::Gone => {
                        if let Some(fault) = bytes.proxy_fault() {
                            self.refusal = no_way(fault);
                        }
                        self.end(io, Nanos::MAX);
                        Took::Ended
                    }
                }
            }
            State::Up(Line::WebSocket(ws)) => {
                let (mut is_gone, mut is_opened, mut wait_min) = (false, false, None);
                let refusal = &mut self.refusal;
                let is_taken = ws.handle(io, completion, &mut |_, event| match event {
                    WsEvent::Session(Event::Text(text)) => frames.push(source, text.as_bytes()),
                    WsEvent::Session(Event::Binary(frame)) => frames.push(source, frame),
                    WsEvent::Session(Event::Opened(_)) => is_opened = true,
                    WsEvent::Session(Event::Closed(closed)) => {
                        wait_min = Some(wait_after(&closed));
                        refusal.clear();
                        refusal.push_str(&refusal_of(&closed));
                    }
                    WsEvent::Session(_) => {}
                    WsEvent::Gone(fault) => {
                        is_gone = true;
                        if let Some(NetError::Proxy(fault)) = fault {
                            *refusal = no_way(fault);
                        }
                    }
                });
                self.wait_min = wait_min.unwrap_or(self.wait_min);
                if !frames.is_empty() {
                    self.heard = io.now();
                    self.delivered = self.delivered.or(Some(self.heard));
                }
                match (is_gone, is_opened, is_taken) {
                    (true, ..) => {
                        self.state = State::Down(Nanos::MAX);
                        Took::Ended
                    }
                    (_, true, _) => {
                        self.refusal.clear();
                        Took::Opened
                    }
                    (_, _, true) => Took::Taken,
                    _ => Took::NotOurs,
                }
            }
        }
    }
}

/// What the venue said when it answered the request for a WebSocket with another status; nothing
/// after any other end.
#[cold]
fn refusal_of(closed: &Closed<'_>) -> String {
    let Closed::Refused(refused) = closed else { return String::new() };
    let body = refused.body.get(..REFUSAL_BYTES_MAX).unwrap_or(refused.body);
    let said = format!("HTTP {} {} ", refused.status, refused.reason);
    let said = said + &String::from_utf8_lossy(body);
    said.trim_end().chars().filter(|letter| !letter.is_control()).collect()
}

/// A client on a connected stream; nothing when its URL or a header is none, or the loop has no
/// room.
fn open(
    io: &mut Io<impl Kernel>,
    stream: Handle,
    at: &StreamAddress,
    tls: Option<&TlsClientConfig>,
) -> Option<Line> {
    if let Some(authority) = authority(&at.url) {
        let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        let tls = tls.map(|tls| (tls, host));
        let bytes = ByteStream::open(io, stream, tls, at.through.as_ref())?;
        return Some(Line::Bytes(Box::new(bytes)));
    }
    let url = WsUrl::parse(&at.url).ok()?;
    let settings = WsConfig {
        message_bytes_max: FRAME_BYTES_MAX,
        keep_alive: Some(KeepAlive::DEFAULT),
        ..WsConfig::default()
    };
    let seed = seed().ok()?;
    let mut request = ClientRequest::new(&url);
    for (name, value) in &at.headers {
        request = request.header(name, value).ok()?;
    }
    let connection = Connection::client(&settings, &request, seed, io.now()).ok()?;
    let tls = tls.map(|tls| (tls, url.host()));
    let ws = match at.through.as_ref().map(Through::tunnel) {
        None => WsStream::client(io, stream, tls, connection),
        Some(tunnel) => WsStream::client_through(io, stream, tunnel, tls, connection),
    };
    Some(Line::WebSocket(Box::new(ws.ok()?)))
}

fn seed() -> Result<Seed, SysError> {
    let mut bytes = [0; 16];
    random_bytes(&mut bytes)?;
    Ok(Seed::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_ws::Refused;

    #[test]
    fn what_the_venue_says_with_a_refusal_is_kept_in_part() {
        let body = [b"{\"code\":\n-2015}\x1b[2J".as_slice(), &[b'x'; 500]].concat();
        let refused = |body| {
            let (reason, location, retry_after) = ("Unauthorized", None, None);
            Refused { status: 401, reason, body, location, retry_after }
        };
        let said = refusal_of(&Closed::Refused(refused(&body)));
        assert!(said.starts_with("HTTP 401 Unauthorized {\"code\":-2015}[2Jxx"), "{said}");
        assert!(said.len() < 250, "{said}");
        assert_eq!(refusal_of(&Closed::Refused(refused(b""))), "HTTP 401 Unauthorized");
        assert_eq!(refusal_of(&Closed::Cut), "");
    }
}
