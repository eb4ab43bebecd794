//! A feed over WebSocket: one connection brings the frames, another one answers who asks for the
//! book.

mod deribit;
mod okx;
mod session;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use taut_fix_engine::BackOff;
use taut_io::{Completion, Handle, Io, Kernel, Operation};
use taut_market_data::Source;
use taut_net::{TlsClientConfig, WsEvent, WsStream};
use taut_sys::{Address, StreamOptions, SysError, random_bytes, utc};
use taut_types::{InstrumentId, Nanos};
use taut_ws::{ClientRequest, Connection, Event, KeepAlive, Seed, WsConfig, WsUrl};

pub use deribit::{DeribitStream, DeribitStreamCounters, DeribitStreamSettings};
pub use okx::{OkxStream, OkxStreamCounters, OkxStreamSettings};
pub use session::{FeedSession, StreamAddress, StreamSession, VenueTerms};

/// From the end of a connection to the next attempt; twice as long each time, up to the longest:
/// Binance takes 300 connections of an address in five minutes.
const RECONNECT: Nanos = Nanos::from_secs(1);
const RECONNECT_MAX: Nanos = Nanos::from_secs(8);
/// A stream that brings data after so long is stable: its end is the first one again.
const STABLE: Nanos = Nanos::from_secs(5);
/// How long an attempt may take.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
/// A snapshot of 5,000 levels a side has some 300 kB.
const FRAME_BYTES_MAX: usize = 1 << 20;

/// The WebSockets of a feed whose frames are messages.
#[derive(Clone, Debug)]
pub struct FeedStreams {
    /// Its messages are the stream's: [`Source::LINE_A`].
    pub stream: StreamAddress,
    /// Its messages are answers to `snapshot_requests`: [`Source::SNAPSHOT`].
    pub snapshot: StreamAddress,
    /// What is sent to ask for the book of each instrument, by their numbers.
    pub snapshot_requests: Vec<String>,
    /// A stream that brings no data for so long is given up, though the venue's pings come.
    pub silence: Nanos,
    /// For `wss://`.
    pub tls: Option<TlsClientConfig>,
}

/// The connections on the loop, and what they brought last.
#[derive(Debug)]
pub(crate) struct Streams {
    config: FeedStreams,
    /// The stream, and the one for snapshots where there is one.
    ends: Vec<End>,
    /// What is said on the stream.
    session: Option<Box<dyn StreamSession>>,
    back_off: BackOff,
    /// The frames of the completion at hand, one behind the other: who handles them needs the loop,
    /// which the connection has until then.
    bytes: Vec<u8>,
    frames: Vec<(Source, usize)>,
    hot: bool,
}

#[derive(Debug)]
struct End {
    source: Source,
    state: State,
    /// Attempts to connect it: each goes to the next of the host's addresses.
    attempts: usize,
    /// When it was connected.
    since: Nanos,
    /// When it was connected, or brought data last.
    heard: Nanos,
}

#[derive(Debug)]
enum State {
    /// Until the next attempt.
    Down(Nanos),
    Connecting(Handle),
    Up(Box<WsStream>),
}

impl Streams {
    pub(crate) fn new(config: FeedStreams, hot: bool) -> Self {
        let never = Nanos::ZERO;
        let state = || State::Down(never);
        let end = |source| End { source, state: state(), attempts: 0, since: never, heard: never };
        Self {
            config,
            ends: vec![end(Source::LINE_A), end(Source::SNAPSHOT)],
            session: None,
            back_off: BackOff::new(RECONNECT, RECONNECT_MAX),
            bytes: Vec::with_capacity(FRAME_BYTES_MAX),
            frames: Vec::with_capacity(64),
            hot,
        }
    }

    /// One stream, on which the venue is told what is wanted.
    pub(crate) fn with_session(feed: FeedSession, hot: bool) -> Self {
        let FeedSession { stream, tls, session, reconnect: (shortest, longest) } = feed;
        let snapshot = stream.clone();
        // The session gives itself up.
        let (snapshot_requests, silence) = (Vec::new(), Nanos::MAX);
        let config = FeedStreams { stream, snapshot, snapshot_requests, silence, tls };
        let mut streams = Self::new(config, hot);
        streams.ends.truncate(1);
        streams.session = Some(session);
        streams.back_off = BackOff::new(shortest, longest);
        streams
    }

    /// Connects what is down and due, and says what is due; the source whose connection was given
    /// up.
    pub(crate) fn handle_timeout(&mut self, io: &mut Io<impl Kernel>) -> Option<Source> {
        let now = io.now();
        let mut given_up = None;
        if let (Some(session), [End { source, state, .. }, ..]) =
            (&mut self.session, &mut *self.ends)
            && matches!(state, State::Up(_))
        {
            session.handle_timeout(now);
            if session.is_broken() {
                session.closed();
                let due = State::Down(now + self.back_off.wait(jitter(now)));
                if let State::Up(ws) = std::mem::replace(state, due) {
                    ws.abort(io);
                }
                given_up = Some(*source);
            } else if session.is_settled() {
                self.back_off.reset();
            }
            if given_up.is_none()
                && let State::Up(ws) = state
            {
                say(io, ws, session.as_mut());
            }
        }
        given_up = given_up.or_else(|| self.give_up_silent(io, now));
        for end in &mut self.ends {
            let State::Down(due) = end.state else { continue };
            if now < due {
                continue;
            }
            let at = Address::Inet(self.config.of(end.source).of_attempt(end.attempts));
            end.attempts = end.attempts.wrapping_add(1);
            let options = StreamOptions { no_delay: true, ..StreamOptions::default() };
            end.state = match io.connect(&at, &options, Some(now + CONNECT_TIMEOUT)) {
                Ok(stream) => State::Connecting(stream),
                Err(_) => State::Down(now + self.back_off.wait(jitter(now))),
            };
        }
        given_up
    }

    /// Ends a stream without data; which one. Who answers questions has none to bring.
    fn give_up_silent(&mut self, io: &mut Io<impl Kernel>, now: Nanos) -> Option<Source> {
        let Self { ends, config, back_off, .. } = self;
        let is_silent = |end: &&mut End| {
            end.source == Source::LINE_A
                && matches!(end.state, State::Up(_))
                && now.since(end.heard) >= config.silence
        };
        let end = ends.iter_mut().find(is_silent)?;
        let due = State::Down(now + back_off.wait(jitter(now)));
        if let State::Up(ws) = std::mem::replace(&mut end.state, due) {
            ws.abort(io);
        }
        Some(end.source)
    }

    /// Takes a completion, if it is one of a connection's: then [`Streams::frame`] has what it
    /// brought, and this the source whose connection it ended.
    pub(crate) fn handle(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
    ) -> Option<Option<Source>> {
        self.bytes.clear();
        self.frames.clear();
        let Self { config, ends, bytes, frames, hot, session, back_off } = self;
        for End { source, state, since, heard, .. } in ends {
            match state {
                State::Down(_) => {}
                State::Connecting(stream) => match *completion {
                    Completion::Connected { stream: at } if at == *stream => {
                        (*since, *heard) = (io.now(), io.now());
                        *state = match open(io, at, config, *source) {
                            Some(ws) => {
                                // A stream that is not hot is received by the loop's wait.
                                let _ = io.set_hot(at, *hot && *source == Source::LINE_A);
                                State::Up(Box::new(ws))
                            }
                            None => {
                                let _ = io.close(at);
                                State::Down(io.now() + back_off.wait(jitter(io.now())))
                            }
                        };
                        return Some(None);
                    }
                    Completion::Failed { source: at, operation: Operation::Connect, .. }
                        if at == *stream =>
                    {
                        return Some(None);
                    }
                    Completion::Closed { source: at, .. } if at == *stream => {
                        *state = State::Down(io.now() + back_off.wait(jitter(io.now())));
                        return Some(Some(*source));
                    }
                    _ => {}
                },
                State::Up(ws) => {
                    let (mut is_gone, mut is_opened) = (false, false);
                    let mut take = |frame: &[u8]| {
                        bytes.extend_from_slice(frame);
                        frames.push((*source, frame.len()));
                    };
                    let is_taken = ws.handle(io, completion, &mut |_, event| match event {
                        WsEvent::Session(Event::Text(text)) => take(text.as_bytes()),
                        WsEvent::Session(Event::Binary(frame)) => take(frame),
                        WsEvent::Session(Event::Opened(_)) => is_opened = true,
                        WsEvent::Session(_) => {}
                        WsEvent::Gone(_) => is_gone = true,
                    });
                    if let Some(session) = session.as_mut().filter(|_| is_taken) {
                        let now = io.now();
                        if is_opened {
                            session.opened(now, utc(), random());
                        }
                        let mut at = 0;
                        for (_, length) in frames.iter() {
                            let frame = bytes.get(at..at + length).unwrap_or_default();
                            session.handle_frame(now, frame);
                            at += length;
                        }
                        match is_gone {
                            true => session.closed(),
                            false => say(io, ws, session.as_mut()),
                        }
                    }
                    if !frames.is_empty() {
                        *heard = io.now();
                        // A session says itself when it is settled.
                        let is_stream = session.is_none() && *source == Source::LINE_A;
                        if is_stream && io.now().since(*since) >= STABLE {
                            back_off.reset();
                        }
                    }
                    if is_gone {
                        *state = State::Down(io.now() + back_off.wait(jitter(io.now())));
                        return Some(Some(*source));
                    }
                    if is_taken {
                        return Some(None);
                    }
                }
            }
        }
        None
    }

    /// The frames that the last completion brought, in their order.
    pub(crate) fn frames(&self) -> impl Iterator<Item = (Source, &[u8])> {
        let mut at = 0;
        self.frames.iter().filter_map(move |&(source, length)| {
            let frame = self.bytes.get(at..at + length)?;
            at += length;
            Some((source, frame))
        })
    }

    /// Asks for the book of an instrument; whether there was somebody to ask.
    pub(crate) fn ask(&mut self, io: &mut Io<impl Kernel>, instrument: InstrumentId) -> bool {
        if let (Some(session), [End { state: State::Up(ws), .. }, ..]) =
            (&mut self.session, &mut *self.ends)
        {
            session.want(io.now(), instrument);
            say(io, ws, session.as_mut());
            return true;
        }
        let requests = &self.config.snapshot_requests;
        let Some(request) = requests.get(instrument.0 as usize) else { return false };
        let [_, End { state: State::Up(ws), .. }] = &mut *self.ends else { return false };
        if !ws.is_open() || ws.outbox().text(request).is_err() {
            return false;
        }
        ws.flush(io);
        true
    }

    /// What the venue said last when it refused a session.
    pub(crate) fn last_refusal(&self) -> &str {
        self.session.as_ref().map_or("", |session| session.last_refusal())
    }

    /// What the venue says of an instrument.
    pub(crate) fn venue_terms(&self, instrument: InstrumentId) -> Option<VenueTerms> {
        self.session.as_ref()?.venue_terms(instrument)
    }

    /// What the venue has said of an instrument since the last time.
    pub(crate) fn poll_terms(&mut self) -> Option<(InstrumentId, VenueTerms)> {
        self.session.as_mut()?.poll_terms()
    }

    /// The host of a stream is at these addresses now.
    pub(crate) fn set_addresses(&mut self, source: Source, addresses: Vec<SocketAddr>) {
        let mut addresses = addresses.into_iter();
        let Some(first) = addresses.next() else { return };
        let FeedStreams { stream, snapshot, .. } = &mut self.config;
        let at = if source == Source::SNAPSHOT { snapshot } else { stream };
        (at.address, at.others) = (first, addresses.collect());
    }

    /// Whether there is somebody to ask for the book.
    pub(crate) fn can_ask(&self) -> bool {
        match &self.session {
            Some(session) => session.is_settled(),
            None => matches!(&*self.ends, [_, End { state: State::Up(ws), .. }] if ws.is_open()),
        }
    }
}

impl FeedStreams {
    fn of(&self, source: Source) -> &StreamAddress {
        if source == Source::SNAPSHOT { &self.snapshot } else { &self.stream }
    }
}

/// A client on a connected stream; nothing when its URL is none, or the loop has no room.
fn open(
    io: &mut Io<impl Kernel>,
    stream: Handle,
    config: &FeedStreams,
    source: Source,
) -> Option<WsStream> {
    let url = WsUrl::parse(&config.of(source).url).ok()?;
    let settings = WsConfig {
        message_bytes_max: FRAME_BYTES_MAX,
        keep_alive: Some(KeepAlive::DEFAULT),
        ..WsConfig::default()
    };
    let seed = seed().ok()?;
    let request = ClientRequest::new(&url);
    let connection = Connection::client(&settings, &request, seed, io.now()).ok()?;
    let tls = config.tls.as_ref().map(|tls| (tls, url.host()));
    WsStream::client(io, stream, tls, connection).ok()
}

/// Sends what the session has to say; what does not fit is said later.
fn say(io: &mut Io<impl Kernel>, ws: &mut WsStream, session: &mut dyn StreamSession) {
    if !ws.is_open() {
        return;
    }
    let mut has_written = false;
    while let Some(text) = session.poll_transmit(io.now()) {
        has_written |= ws.outbox().text(text).is_ok();
    }
    if has_written {
        ws.flush(io);
    }
}

/// Any number will do, so that not all come back at once.
fn jitter(now: Nanos) -> u64 {
    now.0.unsigned_abs().wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// For a nonce; the venue refuses one that it has seen.
fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    let _ = random_bytes(&mut bytes);
    bytes
}

fn seed() -> Result<Seed, SysError> {
    let mut bytes = [0; 16];
    random_bytes(&mut bytes)?;
    Ok(Seed::new(bytes))
}
