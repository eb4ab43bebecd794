//! A feed over WebSocket: one connection brings the frames, another one answers who asks for the
//! book.

mod added;
mod binance;
mod bytes;
mod deribit;
mod deribit_fix;
mod end;
mod okx;
mod session;
mod snapshots;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use taut_fix_engine::BackOff;
use taut_io::{Completion, Io, Kernel};
use taut_market_data::{FeedRequest, Source};
use taut_net::TlsClientConfig;
use taut_sys::random_bytes;
use taut_types::{InstrumentId, Nanos};

use added::Added;
pub use added::SymbolStreams;
pub use deribit::{DeribitStream, DeribitStreamSettings};
pub use deribit_fix::{DeribitFixStream, DeribitFixStreamSettings};
use end::{End, Frames, Took};
pub use okx::{OkxStream, OkxStreamSettings};
pub use session::{FeedSession, StreamAddress, StreamCounters, StreamSession, VenueTerms};
use snapshots::SnapshotBudget;
pub use snapshots::SnapshotLimits;

/// From the end of a connection to the next attempt; twice as long each time, up to the longest:
/// Binance takes 300 connections of an address in five minutes.
const RECONNECT: Nanos = Nanos::from_secs(1);
const RECONNECT_MAX: Nanos = Nanos::from_secs(8);
/// A stream that brings data after so long is stable: its end is the first one again.
const STABLE: Nanos = Nanos::from_secs(5);
/// Figures come each second at the best: without any a connection for them stays so long.
const FIGURES_SILENCE: Nanos = Nanos::from_secs(30);
/// So long after the first frame of the second connection, the first one ends: what is still on its
/// way by then has come.
const OVERLAP: Nanos = Nanos::from_secs(5);

/// The WebSockets of a feed whose frames are messages.
#[derive(Clone, Debug)]
pub struct FeedStreams {
    /// Its messages are the stream's: [`Source::LINE_A`], or [`Source::LINE_B`] where they come by
    /// the second connection that takes the place of an old one.
    pub stream: StreamAddress,
    /// Its messages are answers to `snapshot_requests`: [`Source::SNAPSHOT`].
    pub snapshot: StreamAddress,
    /// Its messages are figures of instruments, where the venue has these apart from their books:
    /// [`Source::FIGURES`]. It is made again when it ends.
    pub figures: Option<StreamAddress>,
    /// What is sent to ask for the book of each instrument, by their numbers.
    pub snapshot_requests: Vec<String>,
    /// The stream of each instrument's book, by their numbers: it is subscribed to anew when it
    /// brings nothing while others do. One that is not named here is not.
    pub books: Vec<String>,
    /// What these may cost.
    pub snapshot_limits: SnapshotLimits,
    /// How symbols are followed that are added; without it none are.
    pub symbols: Option<SymbolStreams>,
    /// A stream that brings no data for so long is given up, though the venue's pings come.
    pub silence: Nanos,
    /// A stream of this age, or one whose end the venue announces, gets a second connection beside
    /// it. When that one has brought data for five seconds, the old one ends.
    pub renewed_after: Nanos,
    /// For `wss://`.
    pub tls: Option<TlsClientConfig>,
}

impl FeedStreams {
    /// Half an hour before Binance ends a connection.
    pub const RENEWED_AFTER: Nanos = Nanos::from_secs(23 * 3_600 + 1_800);
}

/// The connections on the loop, and what they brought last.
#[derive(Debug)]
pub(crate) struct Streams {
    config: FeedStreams,
    /// The stream, and, of one without a session, the one for snapshots, the stream's next, and the
    /// one for figures, if there is one.
    ends: Vec<End>,
    /// What is said on the stream.
    session: Option<Box<dyn StreamSession>>,
    /// What was added since the stream's URL was made.
    added: Added,
    snapshots: SnapshotBudget,
    back_off: BackOff,
    frames: Frames,
    /// Pieces of the bytes that frames are made of.
    pieces: Frames,
    hot: bool,
    /// Connections that ended unasked, or could not be made.
    disconnects: u64,
}

impl Streams {
    pub(crate) fn new(config: FeedStreams, hot: bool) -> Self {
        let mut ends = vec![
            End::new(Source::LINE_A, Nanos::ZERO),
            End::new(Source::SNAPSHOT, Nanos::ZERO),
            End::new(Source::LINE_B, Nanos::MAX),
        ];
        ends.extend(config.figures.as_ref().map(|_| End::new(Source::FIGURES, Nanos::ZERO)));
        Self {
            snapshots: SnapshotBudget::new(config.snapshot_limits),
            config,
            ends,
            session: None,
            added: Added::default(),
            back_off: BackOff::new(RECONNECT, RECONNECT_MAX),
            frames: Frames::new(),
            pieces: Frames::empty(),
            hot,
            disconnects: 0,
        }
    }

    /// One stream, on which the venue is told what is wanted.
    pub(crate) fn with_session(feed: FeedSession, hot: bool) -> Self {
        let FeedSession { stream, tls, session, reconnect: (shortest, longest) } = feed;
        let config = FeedStreams {
            snapshot: stream.clone(),
            stream,
            figures: None,
            snapshot_requests: Vec::new(),
            books: Vec::new(),
            snapshot_limits: SnapshotLimits::of_levels(0),
            symbols: None,
            // The session gives itself up.
            silence: Nanos::MAX,
            renewed_after: Nanos::MAX,
            tls,
        };
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
        let mut given_up = self.look_after_session(io, now);
        given_up = given_up.or_else(|| self.give_up_silent(io, now));
        given_up = given_up.or_else(|| self.renew(io, now));
        given_up = given_up.or_else(|| self.ask_for_added(io, now));
        let Self { ends, config, back_off, .. } = self;
        for end in ends {
            if end.connect_if_due(io, config.of(end.source), now) {
                end.end(io, now + back_off.wait(jitter(now)));
            }
        }
        given_up
    }

    /// Does what is due on a stream with a session; its source if the session is broken.
    fn look_after_session(&mut self, io: &mut Io<impl Kernel>, now: Nanos) -> Option<Source> {
        let Self { session: Some(session), ends, back_off, disconnects, .. } = self else {
            return None;
        };
        let end = ends.first_mut().filter(|end| end.is_up())?;
        session.handle_timeout(now);
        if session.is_broken() {
            *disconnects += 1;
            session.closed();
            end.end(io, now + back_off.wait(jitter(now)));
            return Some(end.source);
        }
        if session.is_settled() {
            back_off.reset();
        }
        say(io, end, session.as_mut());
        None
    }

    /// Ends a stream without data; which one. Who answers questions has none to bring.
    fn give_up_silent(&mut self, io: &mut Io<impl Kernel>, now: Nanos) -> Option<Source> {
        let Self { ends, config, back_off, .. } = self;
        let is_silent = |end: &&mut End| {
            let longest = match end.source {
                Source::SNAPSHOT => return false,
                Source::FIGURES => config.silence.max(FIGURES_SILENCE),
                _ => config.silence,
            };
            end.is_up() && now.since(end.heard) >= longest
        };
        let end = ends.iter_mut().find(is_silent)?;
        self.disconnects += 1;
        end.end(io, now + back_off.wait(jitter(now)));
        Some(end.source)
    }

    /// Has a second connection made beside a stream that is old or about to end, and ends the
    /// first when the second has brought data for long enough; then which one ended.
    fn renew(&mut self, io: &mut Io<impl Kernel>, now: Nanos) -> Option<Source> {
        let Self { ends, config, .. } = self;
        let [stream, _, next, ..] = &mut **ends else { return None };
        let is_old = stream.is_ending || now.since(stream.since) >= config.renewed_after;
        if stream.is_up() && is_old && next.is_idle() {
            *next = End::new(other(stream.source), now);
        }
        next.delivered.filter(|at| now.since(*at) >= OVERLAP)?;
        let source = stream.source;
        stream.end(io, Nanos::MAX);
        ends.swap(0, 2);
        Some(source)
    }

    /// Asks the streams that stand for what was added since they were connected; one that does not
    /// answer is given up: the next one has all of it in its URL.
    fn ask_for_added(&mut self, io: &mut Io<impl Kernel>, now: Nanos) -> Option<Source> {
        let Self { ends, added, back_off, disconnects, .. } = self;
        for end in ends.iter_mut().filter(|end| is_line(end.source)) {
            if end.is_up() && end.asked.is_late(now) {
                *disconnects += 1;
                end.end(io, now + back_off.wait(jitter(now)));
                return Some(end.source);
            }
            if end.is_open()
                && let Some(request) = added.poll_request(&mut end.asked, now)
                && let Some(ws) = end.ws()
                && ws.outbox().text(&request).is_ok()
            {
                ws.flush(io);
            }
        }
        None
    }

    /// Takes a completion, if it is one of a connection's: then [`Streams::frames`] has what it
    /// brought, and this the source whose connection it ended.
    pub(crate) fn handle(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
        utc: Nanos,
    ) -> Option<Option<Source>> {
        self.frames.clear();
        let Self { config, ends, added, frames, hot, .. } = self;
        let mut taken = None;
        for (place, end) in ends.iter_mut().enumerate() {
            let is_hot = *hot && is_line(end.source);
            let at = (config.of(end.source), config.tls.as_ref());
            let was_up = end.is_up();
            let took = end.handle(io, completion, at, is_hot, frames);
            if !was_up && end.is_up() {
                end.asked = added.connected();
            }
            if took != Took::NotOurs {
                taken = Some((place, took));
                break;
            }
        }
        let (place, took) = taken?;
        self.talk(io, place, took, utc);
        self.note(io.now(), place);
        let is_over = matches!(took, Took::Ended | Took::Failed);
        Some(if is_over { self.ended(io, place) } else { None })
    }

    /// Tells the session, where there is one, what happened on its stream.
    fn talk(&mut self, io: &mut Io<impl Kernel>, place: usize, took: Took, utc: Nanos) {
        let Self { session: Some(session), ends, frames, pieces, .. } = self else { return };
        let Some(end) = ends.get_mut(place) else { return };
        let now = io.now();
        if took == Took::Opened {
            session.opened(now, utc, random());
        }
        if end.bytes().is_some() {
            std::mem::swap(frames, pieces);
            frames.clear();
            for (source, piece) in pieces.iter() {
                session.handle_bytes(now, piece, &mut |message| frames.push(source, message));
            }
        } else {
            frames.iter().for_each(|(_, frame)| session.handle_frame(now, frame));
        }
        if took == Took::Ended {
            session.closed();
        } else {
            say(io, end, session.as_mut());
        }
    }

    /// Notes what the frames at hand say of their connection.
    fn note(&mut self, now: Nanos, place: usize) {
        let Self { session: None, ends, added, frames, back_off, snapshots, .. } = self else {
            // A session says itself when it is settled.
            return;
        };
        for (_, frame) in frames.iter().filter(|(source, _)| *source == Source::SNAPSHOT) {
            snapshots.handle_answer(now, frame);
        }
        // Only Binance's feeds have streams without a session.
        if let Some(end) = ends.get_mut(place) {
            end.is_ending |= frames.iter().any(|(_, frame)| binance::announces_end(frame));
        }
        let of_stream = frames.iter().filter(|(source, _)| *source != Source::SNAPSHOT);
        for (_, answer) in of_stream.filter(|(_, frame)| added::is_answer(frame)) {
            let end = ends.get_mut(place);
            end.into_iter().for_each(|end| added.answered(&mut end.asked, answer));
        }
        let is_stable = |end: &&End| place == 0 && now.since(end.since) >= STABLE;
        if !frames.is_empty() && ends.get(place).filter(is_stable).is_some() {
            back_off.reset();
        }
    }

    /// A connection is over: when it is made again, and which source has ended.
    fn ended(&mut self, io: &mut Io<impl Kernel>, place: usize) -> Option<Source> {
        let now = io.now();
        let wait = self.back_off.wait(jitter(now));
        let end = self.ends.get_mut(place)?;
        self.disconnects += 1;
        let source = end.source;
        if source == Source::SNAPSHOT {
            self.snapshots.bar(now + end.wait_min);
        }
        let mut due = now + wait.max(end.wait_min);
        if source == Source::SNAPSHOT {
            due = due.max(self.snapshots.barred_until());
        }
        end.end(io, due);
        if place == 0
            && let [stream, _, next, ..] = &mut *self.ends
            && next.delivered.is_some()
        {
            stream.end(io, Nanos::MAX);
            self.ends.swap(0, 2);
        }
        Some(source)
    }

    /// The frames that the last completion brought, in their order; of a stream without a session
    /// the data alone.
    pub(crate) fn frames(&self) -> impl Iterator<Item = (Source, &[u8])> {
        let has_session = self.session.is_some();
        let is_data = move |(source, frame): &(Source, &[u8])| {
            has_session || *source == Source::SNAPSHOT || !added::is_answer(frame)
        };
        self.frames.iter().filter(is_data)
    }

    /// Whether instruments may be added.
    pub(crate) fn takes_instruments(&self) -> bool {
        match &self.session {
            Some(session) => session.takes_instruments(),
            None => self.config.symbols.is_some(),
        }
    }

    /// Follows one more instrument behind the others, by the venue's name of it. Whether the venue
    /// is asked what it is.
    pub(crate) fn add_instrument(&mut self, io: &mut Io<impl Kernel>, name: &str) -> bool {
        let now = io.now();
        let Self { session, ends, config, added, .. } = self;
        if let Some(session) = session {
            let asks = session.add_instrument(now, name);
            if let Some(end) = ends.first_mut().filter(|end| end.is_up()) {
                say(io, end, session.as_mut());
            }
            return asks;
        }
        let FeedStreams { stream, snapshot_requests, books, symbols: Some(symbols), .. } = config
        else {
            return false;
        };
        books.extend(symbols.streams_of(name).next());
        snapshot_requests.push(symbols.snapshot_request_of(snapshot_requests.len(), name));
        for name in symbols.streams_of(name) {
            stream.url.push('/');
            stream.url.push_str(&name);
            added.push(name);
        }
        false
    }

    /// Asks for what the feed needs; whether there was somebody to ask.
    pub(crate) fn ask(&mut self, io: &mut Io<impl Kernel>, request: FeedRequest) -> bool {
        match request {
            FeedRequest::Snapshot(instrument) => self.ask_for_book(io, instrument),
            FeedRequest::Channel(instrument) => {
                self.subscribe_anew(io.now(), instrument);
                true
            }
            FeedRequest::Packets(_) => false,
        }
    }

    fn ask_for_book(&mut self, io: &mut Io<impl Kernel>, instrument: InstrumentId) -> bool {
        let now = io.now();
        if let (Some(session), [end, ..]) = (&mut self.session, &mut *self.ends) {
            if !end.is_up() {
                return false;
            }
            session.want(now, instrument);
            say(io, end, session.as_mut());
            return true;
        }
        let requests = &self.config.snapshot_requests;
        let Some(request) = requests.get(instrument.0 as usize) else { return false };
        let Some(ws) = self.ends.get_mut(1).and_then(End::ws) else { return false };
        if !ws.is_open() || ws.outbox().text(request).is_err() {
            return false;
        }
        self.snapshots.spend(now);
        ws.flush(io);
        true
    }

    /// Has the stream of an instrument's book subscribed to anew, on each connection that stands.
    fn subscribe_anew(&mut self, now: Nanos, instrument: InstrumentId) {
        let Self { session, ends, config, added, .. } = self;
        if let Some(session) = session {
            return session.want(now, instrument);
        }
        let Some(stream) = config.books.get(instrument.0 as usize) else { return };
        for end in ends.iter_mut().filter(|end| is_line(end.source) && end.is_up()) {
            added.resubscribed += u64::from(end.asked.anew(stream));
        }
    }

    /// What the venue said last when it refused a session, or a WebSocket.
    pub(crate) fn last_refusal(&self) -> &str {
        let of_added = self.added.last_words.as_str();
        let said = self.session.as_ref().map_or(of_added, |session| session.last_refusal());
        let mut all = std::iter::once(said).chain(self.ends.iter().map(|end| end.refusal.as_str()));
        all.find(|said| !said.is_empty()).unwrap_or_default()
    }

    /// Connections that ended unasked, or could not be made.
    pub(crate) const fn disconnects(&self) -> u64 {
        self.disconnects
    }

    /// What was not the rule on the stream.
    pub(crate) fn counters(&self) -> StreamCounters {
        let Added { refused, resubscribed, .. } = self.added;
        let of_added = StreamCounters { refused, resubscribed, ..StreamCounters::default() };
        self.session.as_ref().map_or(of_added, |session| session.counters())
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
    pub(crate) fn set_addresses(&mut self, source: Source, addresses: &[SocketAddr]) {
        let Some((first, others)) = addresses.split_first() else { return };
        let FeedStreams { stream, snapshot, figures, .. } = &mut self.config;
        // Figures are at the stream's host.
        let at = match source {
            Source::SNAPSHOT => [Some(snapshot), None],
            _ => [Some(stream), figures.as_mut()],
        };
        for at in at.into_iter().flatten() {
            (at.address, at.others) = (*first, others.to_vec());
        }
    }

    /// Whether there is somebody to ask for the book, and a request may leave.
    pub(crate) fn can_ask(&self, now: Nanos) -> bool {
        match &self.session {
            Some(session) => session.is_settled(),
            None => self.ends.get(1).is_some_and(End::is_open) && self.snapshots.has_room(now),
        }
    }
}

impl FeedStreams {
    fn of(&self, source: Source) -> &StreamAddress {
        match source {
            Source::SNAPSHOT => &self.snapshot,
            Source::FIGURES => self.figures.as_ref().unwrap_or(&self.stream),
            _ => &self.stream,
        }
    }
}

/// Whether it brings books and trades: figures come by themselves, and snapshots are asked for.
fn is_line(source: Source) -> bool {
    !matches!(source, Source::SNAPSHOT | Source::FIGURES)
}

/// The line that a second connection is, beside one that is this.
fn other(line: Source) -> Source {
    if line == Source::LINE_A { Source::LINE_B } else { Source::LINE_A }
}

/// Sends what the session has to say; what does not fit is said later.
fn say(io: &mut Io<impl Kernel>, end: &mut End, session: &mut dyn StreamSession) {
    if !end.is_open() {
        return;
    }
    if let Some(bytes) = end.bytes() {
        while let Some(text) = session.poll_transmit(io.now()) {
            bytes.write(io, text.as_bytes());
        }
        return;
    }
    let Some(ws) = end.ws() else { return };
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
