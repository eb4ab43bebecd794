//! One connection of a feed: an attempt, its frames, its end.

use taut_io::{Completion, Handle, Io, Kernel, Operation};
use taut_market_data::Source;
use taut_net::{TlsClientConfig, WsEvent, WsStream};
use taut_sys::{Address, StreamOptions, SysError, random_bytes};
use taut_types::Nanos;
use taut_ws::{ClientRequest, CloseCode, Closed, Connection, Event, KeepAlive, Seed};
use taut_ws::{WsConfig, WsUrl};

use super::session::StreamAddress;

/// How long an attempt may take.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
/// A snapshot of 5,000 levels a side has some 300 kB.
pub(super) const FRAME_BYTES_MAX: usize = 1 << 20;
/// What a venue says on a stream that it is about to end.
const SHUTDOWN: &[u8] = b"serverShutdown";
/// That message is no longer; those with data mostly are.
const SHUTDOWN_BYTES_MAX: usize = 128;

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
}

#[derive(Debug)]
enum State {
    /// Until the next attempt.
    Down(Nanos),
    Connecting(Handle),
    Up(Box<WsStream>),
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

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn push(&mut self, source: Source, frame: &[u8]) {
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
            State::Up(ws) => Some(ws),
            _ => None,
        }
    }

    /// Whether messages pass.
    pub(super) fn is_open(&self) -> bool {
        matches!(&self.state, State::Up(ws) if ws.is_open())
    }

    /// There is no connection; the next attempt is made then.
    pub(super) fn end(&mut self, io: &mut Io<impl Kernel>, due: Nanos) {
        match self.down_until(due) {
            State::Up(ws) => ws.abort(io),
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
                        let Some(ws) = open(io, made, at, tls) else {
                            let _ = io.close(made);
                            self.state = State::Down(Nanos::MAX);
                            return Took::Failed;
                        };
                        // A stream that is not hot is received by the loop's wait.
                        let _ = io.set_hot(made, is_hot);
                        self.state = State::Up(Box::new(ws));
                        Took::Taken
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
            State::Up(ws) => {
                let (mut is_gone, mut is_opened, mut wait_min) = (false, false, None);
                let is_taken = ws.handle(io, completion, &mut |_, event| match event {
                    WsEvent::Session(Event::Text(text)) => frames.push(source, text.as_bytes()),
                    WsEvent::Session(Event::Binary(frame)) => frames.push(source, frame),
                    WsEvent::Session(Event::Opened(_)) => is_opened = true,
                    WsEvent::Session(Event::Closed(closed)) => wait_min = Some(wait_after(&closed)),
                    WsEvent::Session(_) => {}
                    WsEvent::Gone(_) => is_gone = true,
                });
                self.wait_min = wait_min.unwrap_or(self.wait_min);
                if !frames.is_empty() {
                    self.heard = io.now();
                    self.delivered = self.delivered.or(Some(self.heard));
                    self.is_ending |= frames.iter().any(|(_, frame)| is_shutdown(frame));
                }
                match (is_gone, is_opened, is_taken) {
                    (true, ..) => {
                        self.state = State::Down(Nanos::MAX);
                        Took::Ended
                    }
                    (_, true, _) => Took::Opened,
                    (_, _, true) => Took::Taken,
                    _ => Took::NotOurs,
                }
            }
        }
    }
}

fn is_shutdown(frame: &[u8]) -> bool {
    frame.len() <= SHUTDOWN_BYTES_MAX && frame.windows(SHUTDOWN.len()).any(|it| it == SHUTDOWN)
}

/// How long to wait at the least after a connection has ended so. A venue that restarts
/// (1012) or goes away (1001, 1006) is called again as after any end; one that says "later" is
/// left alone for as long as that takes.
fn wait_after(closed: &Closed<'_>) -> Nanos {
    const LATER: Nanos = Nanos::from_secs(10);
    const LIMITED: Nanos = Nanos::from_secs(60);
    const BANNED: Nanos = Nanos::from_secs(120);
    match closed {
        Closed::Agreed(frame) if frame.code == Some(CloseCode::TRY_LATER) => LATER,
        Closed::Refused(refused) => match refused.status {
            418 => BANNED,
            429 => LIMITED,
            503 => LATER,
            _ => Nanos::ZERO,
        },
        _ => Nanos::ZERO,
    }
}

/// A client on a connected stream; nothing when its URL is none, or the loop has no room.
fn open(
    io: &mut Io<impl Kernel>,
    stream: Handle,
    at: &StreamAddress,
    tls: Option<&TlsClientConfig>,
) -> Option<WsStream> {
    let url = WsUrl::parse(&at.url).ok()?;
    let settings = WsConfig {
        message_bytes_max: FRAME_BYTES_MAX,
        keep_alive: Some(KeepAlive::DEFAULT),
        ..WsConfig::default()
    };
    let seed = seed().ok()?;
    let request = ClientRequest::new(&url);
    let connection = Connection::client(&settings, &request, seed, io.now()).ok()?;
    let tls = tls.map(|tls| (tls, url.host()));
    WsStream::client(io, stream, tls, connection).ok()
}

fn seed() -> Result<Seed, SysError> {
    let mut bytes = [0; 16];
    random_bytes(&mut bytes)?;
    Ok(Seed::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_ws::{CloseFrame, Refused};

    #[test]
    fn the_next_attempt_waits_as_the_end_of_the_connection_says() {
        let frame = |code| Closed::Agreed(CloseFrame { code, reason: "" });
        let refused =
            |status| Closed::Refused(Refused { status, reason: "", body: b"", location: None });
        for (closed, seconds) in [
            (frame(None), 0),
            (frame(Some(CloseCode::GOING_AWAY)), 0),
            (frame(Some(CloseCode::RESTART)), 0),
            (frame(Some(CloseCode::TRY_LATER)), 10),
            (Closed::Cut, 0),
            (refused(403), 0),
            (refused(503), 10),
            (refused(429), 60),
            (refused(418), 120),
        ] {
            assert_eq!(wait_after(&closed), Nanos::from_secs(seconds), "{closed:?}");
        }
    }

    #[test]
    fn an_announced_end_is_told_from_data() {
        assert!(is_shutdown(br#"{"e":"serverShutdown","E":1770123456789}"#));
        let combined = br#"{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":177}}"#;
        assert!(is_shutdown(combined));
        assert!(!is_shutdown(br#"{"stream":"btcusdt@trade","data":{"e":"trade"}}"#));
    }
}
