//! Deribit's market data over JSON-RPC: who asks, the subscriptions, the heartbeats.
//!
//! Source: docs.deribit.com (API 2.1.1), "Subscriptions"; `public/auth`, `public/set_heartbeat`.

use std::collections::VecDeque;

use taut_market_data::deribit::{BookChannel, Message, read_message};
use taut_oms::Rate;
use taut_order_entry::deribit::{Request, grants, read_count, read_error, read_instrument};
use taut_order_entry::sign::HmacKey;
use taut_sys::tape;
use taut_types::{InstrumentId, Nanos};

use super::session::{StreamCounters, StreamSession, VenueTerms};
use crate::credits::Credits;
use crate::order_entry::last_words::LastWords;
use crate::venue_clock::VenueClock;

/// Channels of one request: it stays below the 32 kB that the venue takes.
const CHANNELS_MAX: usize = 100;
const OUTBOX_BYTES: usize = 32_000;
/// The venue sends something at least so often.
const HEARTBEAT_S: u64 = 30;
/// How long nothing at all may come: three heartbeats.
const DEAD: Nanos = Nanos::from_secs(90);
/// How often the venue is asked what the instruments are, as they may change in a session: each
/// minute, or so that a question leaves each second, and no less often than each ten minutes.
const TERMS_S: [i64; 2] = [60, 600];
/// How long a subscription may take.
const SUBSCRIBING: Nanos = Nanos::from_secs(10);
/// `public/subscribe` and `public/unsubscribe`: 3.3 a second, a burst of 10.
const SUBSCRIPTIONS: Rate = Rate { per_second: 3, burst: 9 };
/// Of the account's or the address's other requests, what is taken for the terms of instruments.
const QUESTIONS: Rate = Rate { per_second: 5, burst: 10 };
/// What all messages with data begin with.
const DATA: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"subscription\"";
/// The channels of each instrument, its book's first.
const KINDS: [&str; 3] = ["book", "trades", "ticker"];

/// What is followed at Deribit.
#[derive(Clone, Debug)]
pub struct DeribitStreamSettings {
    /// The venue's name of each instrument, in the order of their numbers.
    pub names: Vec<String>,
    /// `raw`, which needs a key, `100ms` or `agg2`.
    pub interval: String,
    /// What books are made of; grouped ones are told `100ms` or `agg2`.
    pub book: BookChannel,
    /// The price step of a grouped book's levels, a whole number; `none` is the instrument's.
    pub group: String,
    /// The levels of a side of a grouped book: 1, 10 or 20.
    pub depth: u8,
    /// Channels of no one instrument, such as `instrument.state.any.any`.
    pub others: Vec<String>,
    /// The client's id and secret.
    pub key: Option<(String, String)>,
    /// When no data come for so long the connection is given up, though the venue is there.
    pub silence: Nanos,
}

impl DeribitStreamSettings {
    /// Books, trades and tickers of these instruments every 100 ms, which everybody may follow.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        Self {
            names,
            interval: "100ms".to_owned(),
            book: BookChannel::Changes,
            group: "none".to_owned(),
            depth: 20,
            others: vec!["instrument.state.any.any".to_owned(), "platform_state".to_owned()],
            key: None,
            silence: Nanos::from_secs(30),
        }
    }

    fn channel_names(&self) -> ChannelNames {
        let Self { interval, group, .. } = self.clone();
        ChannelNames { interval, book: self.book, group, depth: self.depth }
    }
}

/// What the channels of an instrument are called.
#[derive(Debug)]
struct ChannelNames {
    interval: String,
    book: BookChannel,
    group: String,
    depth: u8,
}

impl ChannelNames {
    /// Of an instrument's channel of this kind; the book's kind is `book`.
    fn of(&self, kind: &str, name: &str) -> String {
        let Self { interval, group, depth, .. } = self;
        match (kind, self.book) {
            ("book", BookChannel::Grouped) => format!("book.{name}.{group}.{depth}.{interval}"),
            ("book", BookChannel::Quote) => format!("quote.{name}"),
            _ => format!("{kind}.{name}.{interval}"),
        }
    }
}

/// What is still to be said, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// What time it is there, for the signature.
    Time,
    Authenticate,
    Heartbeat,
    /// Channels from this one on.
    Subscribe(usize),
    /// The channels of an instrument that was added.
    Added(usize),
    Unsubscribe(usize),
    /// The book of an instrument alone.
    Book(usize),
    /// What the venue says of an instrument.
    Terms(usize),
}

/// The session of Deribit's market data.
#[derive(Debug)]
pub struct DeribitStream {
    /// Books, trades and tickers of each instrument, then the others, then those of each instrument
    /// that was added.
    channels: Vec<String>,
    /// Where the channel of each instrument's book stands there: nowhere, of one that was added,
    /// until the venue has said that there is such an instrument. It could refuse all others with
    /// it.
    books: Vec<Option<usize>>,
    names: Vec<String>,
    channel_names: ChannelNames,
    terms: Vec<Option<VenueTerms>>,
    /// Instruments of which the terms have come, and were not looked at.
    news: VecDeque<usize>,
    /// When the venue is asked for the terms of all.
    terms_at: Nanos,
    key: Option<(String, HmacKey)>,
    silence: Nanos,
    tasks: VecDeque<Task>,
    tests: bool,
    /// The request that the next ones wait for, and until when.
    awaited: Option<(u64, Task, Nanos)>,
    credits: Credits,
    questions: Credits,
    last_words: LastWords,
    nonce: [u8; 32],
    utc_offset: Nanos,
    clock: VenueClock,
    last_id: u64,
    heard_at: Nanos,
    data_at: Nanos,
    is_open: bool,
    is_broken: bool,
    counters: StreamCounters,
    outbox: Vec<u8>,
}

impl DeribitStream {
    /// A session that is not open.
    #[must_use]
    pub fn new(settings: &DeribitStreamSettings) -> Self {
        let DeribitStreamSettings { names, others, key, silence, .. } = settings;
        let channel_names = settings.channel_names();
        let called = &channel_names;
        let of_all = |kind: &'static str| names.iter().map(move |name| called.of(kind, name));
        // Books first: a book's channel has the number of its instrument.
        let channels = KINDS.into_iter().flat_map(of_all).chain(others.iter().cloned()).collect();
        Self {
            channels,
            books: (0..names.len()).map(Some).collect(),
            names: names.clone(),
            channel_names,
            terms: vec![None; names.len()],
            news: VecDeque::with_capacity(names.len()),
            terms_at: Nanos::ZERO,
            key: key.as_ref().map(|(id, secret)| {
                let key = HmacKey::new(secret.as_bytes()).through(tape::signature);
                (id.clone(), key)
            }),
            silence: *silence,
            tasks: VecDeque::with_capacity(64),
            tests: false,
            awaited: None,
            credits: Credits::new(SUBSCRIPTIONS),
            questions: Credits::new(QUESTIONS),
            last_words: LastWords::default(),
            nonce: [b'0'; 32],
            utc_offset: Nanos::ZERO,
            clock: VenueClock::default(),
            last_id: 0,
            heard_at: Nanos::ZERO,
            data_at: Nanos::ZERO,
            is_open: false,
            is_broken: false,
            counters: StreamCounters::default(),
            outbox: vec![0; OUTBOX_BYTES],
        }
    }

    /// Without what a session begins with it is of no use; without the terms of an instrument,
    /// which the venue may not know, or its time, it is.
    fn refused(&mut self, task: Task, body: &[u8]) {
        self.counters.refused += 1;
        if let Ok(error) = read_error(body) {
            let message = String::from_utf8_lossy(error.message);
            let name = match task {
                Task::Terms(at) => self.names.get(at).map_or("", String::as_str),
                _ => "a session",
            };
            self.last_words.say(format_args!("{name}: {} {message}", error.code));
        }
        if !matches!(task, Task::Terms(_) | Task::Time) {
            self.give_up();
        }
    }

    /// The venue answers with the channels that it sends, and leaves out what it does not know:
    /// data of these will not come.
    fn granted(&mut self, from: usize, count: usize, body: &[u8]) {
        for channel in self.channels.iter().skip(from).take(count) {
            if !grants(body, channel.as_bytes()) {
                self.counters.not_granted += 1;
                self.last_words.say(format_args!("{channel}: asked for, and not granted"));
            }
        }
    }

    /// What the venue says of each instrument is asked for.
    fn ask_for_terms(&mut self, now: Nanos) {
        let [least, most] = TERMS_S;
        let seconds = (self.names.len() as i64).clamp(least, most);
        self.terms_at = now + Nanos::from_secs(seconds);
        self.tasks.extend((0..self.names.len()).map(Task::Terms));
    }

    /// Before what can wait.
    fn insert(&mut self, tasks: &[Task]) {
        let is_terms = |task: &Task| matches!(task, Task::Terms(_));
        let place = self.tasks.iter().position(is_terms).unwrap_or(self.tasks.len());
        tasks.iter().rev().for_each(|task| self.tasks.insert(place, *task));
    }

    /// The venue says what an instrument is.
    fn told_terms(&mut self, at: usize, body: &[u8]) {
        let told = read_terms(body);
        let Some((terms, book)) = self.terms.get_mut(at).zip(self.books.get_mut(at)) else {
            return;
        };
        *terms = told;
        self.news.push_back(at);
        if told.is_some() && book.is_none() {
            *book = Some(self.channels.len());
            let Self { channels, names, channel_names, .. } = self;
            let name = names.get(at).map_or("", String::as_str);
            channels.extend(KINDS.map(|kind| channel_names.of(kind, name)));
            self.insert(&[Task::Added(at)]);
        }
    }

    fn give_up(&mut self) {
        self.counters.given_up += u64::from(!self.is_broken);
        self.is_broken = true;
    }

    /// Writes a task; how long it is.
    fn write(&mut self, now: Nanos, task: Task) -> Option<usize> {
        let Self { channels, books, outbox, key, nonce, names, .. } = self;
        let id = self.last_id + 1;
        let some = |from: usize, count: usize| -> Vec<&[u8]> {
            channels.iter().skip(from).take(count).map(String::as_bytes).collect()
        };
        let book = |at: usize| *books.get(at)?;
        let is_private = key.is_some();
        let listed;
        let request = match task {
            Task::Authenticate => {
                let (client_id, key) = key.as_ref()?;
                let own_ms = (now + self.utc_offset).0.unsigned_abs() / 1_000_000;
                Request::Authenticate {
                    client_id: client_id.as_bytes(),
                    key,
                    timestamp_ms: self.clock.at(now).unwrap_or(own_ms),
                    nonce,
                    scope: b"",
                }
            }
            Task::Time => Request::Time,
            Task::Heartbeat => Request::Heartbeat { interval_s: HEARTBEAT_S },
            Task::Subscribe(from) => {
                listed = some(from, CHANNELS_MAX);
                Request::Subscribe { is_private, channels: &listed }
            }
            Task::Added(at) => {
                listed = some(book(at)?, KINDS.len());
                Request::Subscribe { is_private, channels: &listed }
            }
            Task::Unsubscribe(at) => {
                listed = some(book(at)?, 1);
                Request::Unsubscribe { is_private, channels: &listed }
            }
            Task::Book(at) => {
                listed = some(book(at)?, 1);
                Request::Subscribe { is_private, channels: &listed }
            }
            Task::Terms(at) => Request::Instrument { instrument: names.get(at)?.as_bytes() },
        };
        let length = request.write(id, outbox)?.len();
        self.last_id = id;
        Some(length)
    }
}

impl StreamSession for DeribitStream {
    fn opened(&mut self, now: Nanos, utc: Nanos, random: [u8; 16]) {
        self.closed();
        for (place, byte) in
            self.nonce.iter_mut().zip(random.iter().flat_map(|it| [it >> 4, it & 15]))
        {
            *place = if byte < 10 { b'0' + byte } else { b'a' + byte - 10 };
        }
        self.utc_offset = utc.since(now);
        (self.heard_at, self.data_at, self.is_open) = (now, now, true);
        if self.key.is_some() {
            self.tasks.extend([Task::Time, Task::Authenticate]);
        }
        self.tasks.push_back(Task::Heartbeat);
        let chunks = (0..self.channels.len()).step_by(CHANNELS_MAX);
        self.tasks.extend(chunks.map(Task::Subscribe));
        self.ask_for_terms(now);
    }

    fn closed(&mut self) {
        self.tasks.clear();
        self.news.clear();
        (self.awaited, self.tests) = (None, false);
        (self.is_open, self.is_broken) = (false, false);
    }

    #[inline]
    fn handle_frame(&mut self, now: Nanos, frame: &[u8]) {
        self.heard_at = now;
        if frame.starts_with(DATA) {
            self.data_at = now;
            return;
        }
        match read_message(frame) {
            Ok(Message::TestRequest) => self.tests = true,
            Ok(Message::Notification { .. }) => self.data_at = now,
            Ok(Message::Answer { id, body, is_error }) => {
                let number = std::str::from_utf8(id).ok().and_then(|id| id.parse().ok());
                let Some((_, task, until)) = self.awaited.take_if(|it| Some(it.0) == number) else {
                    return;
                };
                if is_error {
                    self.refused(task, body);
                } else if task == Task::Time {
                    let told = read_count(body);
                    told.into_iter().for_each(|ms| self.clock.told(ms, until - SUBSCRIBING, now));
                } else if let Task::Terms(at) = task {
                    self.told_terms(at, body);
                }
                let book = |at: usize| self.books.get(at).copied().flatten();
                let asked = match task {
                    Task::Subscribe(from) => Some((from, CHANNELS_MAX)),
                    Task::Added(at) => book(at).map(|from| (from, KINDS.len())),
                    Task::Book(at) => book(at).map(|from| (from, 1)),
                    _ => None,
                };
                if let Some((from, count)) = asked.filter(|_| !is_error) {
                    self.granted(from, count, body);
                }
                if asked.is_some() {
                    self.data_at = now;
                }
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Nanos) {
        let is_late = self.awaited.is_some_and(|(_, _, until)| now >= until);
        let is_silent = now.since(self.heard_at) >= DEAD
            || (self.is_settled() && now.since(self.data_at) >= self.silence);
        if self.is_open && (is_late || is_silent) {
            self.give_up();
        }
        // What was asked for before comes first.
        if self.is_settled() && now >= self.terms_at && self.tasks.is_empty() {
            self.ask_for_terms(now);
        }
    }

    fn want(&mut self, _now: Nanos, instrument: InstrumentId) {
        let at = instrument.0 as usize;
        let is_followed = self.books.get(at).is_some_and(Option::is_some);
        if self.is_settled() && is_followed && !self.tasks.contains(&Task::Book(at)) {
            self.counters.resubscribed += 1;
            self.insert(&[Task::Unsubscribe(at), Task::Book(at)]);
        }
    }

    fn takes_instruments(&self) -> bool {
        true
    }

    fn add_instrument(&mut self, _now: Nanos, name: &str) -> bool {
        let at = self.names.len();
        self.names.push(name.to_owned());
        self.terms.push(None);
        self.books.push(None);
        if self.is_open {
            self.insert(&[Task::Terms(at)]);
        }
        true
    }

    fn is_settled(&self) -> bool {
        let begins = |task: &Task| {
            matches!(task, Task::Time | Task::Authenticate | Task::Heartbeat)
                || matches!(task, Task::Subscribe(_) | Task::Added(_))
        };
        self.is_open
            && !self.tasks.iter().any(begins)
            && !self.awaited.is_some_and(|(_, task, _)| begins(&task))
    }

    fn is_broken(&self) -> bool {
        self.is_broken
    }

    fn last_refusal(&self) -> &str {
        self.last_words.as_str()
    }

    fn counters(&self) -> StreamCounters {
        self.counters
    }

    fn venue_terms(&self, instrument: InstrumentId) -> Option<VenueTerms> {
        *self.terms.get(instrument.0 as usize)?
    }

    fn poll_terms(&mut self) -> Option<(InstrumentId, VenueTerms)> {
        loop {
            let at = self.news.pop_front()?;
            if let Some(terms) = *self.terms.get(at)? {
                return Some((InstrumentId(at as u32), terms));
            }
        }
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<&str> {
        if !self.is_open || self.is_broken {
            return None;
        }
        let length = if std::mem::take(&mut self.tests) {
            self.last_id += 1;
            Request::Test.write(self.last_id, &mut self.outbox)?.len()
        } else {
            let task = *self.tasks.front().filter(|_| self.awaited.is_none())?;
            let is_free = matches!(task, Task::Time | Task::Authenticate | Task::Heartbeat);
            let credits = match task {
                Task::Terms(_) => &mut self.questions,
                _ => &mut self.credits,
            };
            if !is_free && credits.take(now, 0).is_err() {
                return None;
            }
            self.tasks.pop_front();
            let Some(length) = self.write(now, task) else {
                self.give_up();
                return None;
            };
            self.awaited = Some((self.last_id, task, now + SUBSCRIBING));
            length
        };
        std::str::from_utf8(self.outbox.get(..length)?).ok()
    }
}

/// What `public/get_instrument` answers.
fn read_terms(body: &[u8]) -> Option<VenueTerms> {
    let told = read_instrument(body).ok()?;
    let (tick, lot) = (told.tick?, told.amount_min?);
    Some(VenueTerms { tick, steps: told.steps, lot, is_open: told.is_active })
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::{Price, Qty};

    const AT: Nanos = Nanos::from_secs(100);

    fn stream(names: &[&str], key: bool) -> DeribitStream {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let key = key.then(|| ("me".to_owned(), "ABCD".to_owned()));
        let mut stream =
            DeribitStream::new(&DeribitStreamSettings { key, ..DeribitStreamSettings::new(names) });
        stream.opened(AT, Nanos::from_secs(1_554_883_365), [7; 16]);
        stream
    }

    /// What is sent next; the venue grants it.
    fn next(stream: &mut DeribitStream, now: Nanos) -> String {
        let text = stream.poll_transmit(now).unwrap_or_default().to_owned();
        let (id, channels) = (stream.last_id, text.split_once("\"channels\":"));
        let granted = channels.map_or("[]", |(_, list)| list.trim_end_matches('}'));
        stream.handle_frame(now, format!(r#"{{"id":{id},"result":{granted}}}"#).as_bytes());
        text
    }

    #[test]
    fn a_session_begins_with_a_key_heartbeats_and_channels_in_chunks() {
        let names: Vec<String> = (0..70).map(|at| format!("BTC-{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut stream = stream(&names, true);
        // What is signed has the time that the venue says: here two minutes ahead.
        assert!(stream.poll_transmit(AT).unwrap().contains("public/get_time"));
        let told = format!(r#"{{"id":{},"result":1554883485000}}"#, stream.last_id);
        stream.handle_frame(AT, told.as_bytes());
        let signed = next(&mut stream, AT);
        assert!(signed.contains("client_signature") && signed.contains(":1554883485000,"));
        assert!(next(&mut stream, AT).contains("public/set_heartbeat"));
        let mut channels = 0;
        while !stream.is_settled() {
            let text = next(&mut stream, AT);
            assert!(text.contains("private/subscribe"), "{text}");
            channels += text.matches("BTC-").count();
        }
        assert_eq!(channels, 3 * 70);
        // Then it asks what the instruments are, as fast as it may.
        for at in 0..10 {
            let asked = next(&mut stream, AT);
            assert!(asked.contains("public/get_instrument"), "{asked}");
            assert!(asked.contains(&format!("\"BTC-{at}\"")), "{asked}");
        }
        assert_eq!(stream.poll_transmit(AT), None);
    }

    #[test]
    fn books_come_from_the_channel_of_the_settings_and_are_subscribed_to_anew_there() {
        for (book, channel) in [
            (BookChannel::Changes, "book.A.agg2"),
            (BookChannel::Grouped, "book.A.5.10.agg2"),
            (BookChannel::Quote, "quote.A"),
        ] {
            let settings = DeribitStreamSettings {
                interval: "agg2".to_owned(),
                book,
                group: "5".to_owned(),
                depth: 10,
                ..DeribitStreamSettings::new(vec!["A".to_owned()])
            };
            let mut stream = DeribitStream::new(&settings);
            stream.opened(AT, AT, [7; 16]);
            let channel = format!("\"{channel}\"");
            let others = r#","trades.A.agg2","ticker.A.agg2","instrument.state.any.any","#;
            while !stream.is_settled() {
                let text = next(&mut stream, AT);
                let expected = format!("[{channel}{others}");
                assert!(!text.contains("subscribe") || text.contains(&expected), "{text}");
            }
            stream.want(AT, InstrumentId(0));
            for verb in ["unsubscribe", "subscribe"] {
                let asked = format!(r#"/{verb}","params":{{"channels":[{channel}]"#);
                let text = next(&mut stream, AT);
                assert!(text.contains(&asked), "{text}");
            }
        }
    }

    #[test]
    fn a_channel_that_the_venue_leaves_out_is_counted_and_named() {
        let mut stream = stream(&["A", "B"], false);
        next(&mut stream, AT);
        assert!(stream.poll_transmit(AT).unwrap().contains("subscribe"));
        let granted = r#"["book.A.100ms","book.B.100ms","trades.A.100ms","ticker.B.100ms","#;
        let others = r#""instrument.state.any.any","platform_state","ticker.A.100ms"]"#;
        let answer = format!(r#"{{"id":{},"result":{granted}{others}}}"#, stream.last_id);
        stream.handle_frame(AT, answer.as_bytes());
        assert_eq!(stream.counters().not_granted, 1);
        assert_eq!(stream.last_refusal(), "trades.B.100ms: asked for, and not granted");
        assert!(stream.is_settled() && !stream.is_broken(), "the others are followed");
        // All of it is granted in the next session.
        stream.opened(AT, AT, [0; 16]);
        while !next(&mut stream, AT).contains("get_instrument") {}
        stream.want(AT, InstrumentId(0));
        while !next(&mut stream, AT).is_empty() {}
        assert_eq!(stream.counters().not_granted, 1);
    }

    #[test]
    fn the_venue_says_what_an_instrument_is_and_one_that_it_does_not_know_ends_nothing() {
        let mut stream = stream(&["A", "B"], false);
        next(&mut stream, AT);
        next(&mut stream, AT);
        assert!(stream.poll_transmit(AT).unwrap().contains("get_instrument"));
        let terms = r#"{"tick_size":0.5,"min_trade_amount":10,"is_active":true,"other":[1]}"#;
        let answer = format!(r#"{{"id":{},"result":{terms}}}"#, stream.last_id);
        stream.handle_frame(AT, answer.as_bytes());
        let told = stream.venue_terms(InstrumentId(0)).unwrap();
        assert_eq!((told.tick, told.is_open), (Price(500_000_000), true));
        assert_eq!(stream.poll_terms(), Some((InstrumentId(0), told)));
        assert_eq!(stream.poll_terms(), None);
        assert_eq!(told.lot.with_decimals(0), Some(Qty::whole(10)));
        // A book that is wanted comes before what is only good to know.
        stream.want(AT, InstrumentId(1));
        assert!(next(&mut stream, AT).contains("unsubscribe"));
        assert!(next(&mut stream, AT).contains("public/subscribe"));
        assert!(stream.poll_transmit(AT).unwrap().contains("get_instrument"));
        let error = r#"{"code":13020,"message":"instrument_not_found"}"#;
        let answer = format!(r#"{{"id":{},"error":{error}}}"#, stream.last_id);
        stream.handle_frame(AT, answer.as_bytes());
        assert!(!stream.is_broken() && stream.venue_terms(InstrumentId(1)).is_none());
        assert_eq!(stream.last_refusal(), "B: 13020 instrument_not_found");
    }

    #[test]
    fn the_venue_is_asked_again_what_the_instruments_are() {
        let mut stream = stream(&["A"], false);
        let mut now = AT;
        while stream.poll_transmit(now).is_some_and(|text| !text.contains("get_instrument")) {
            let answer = format!(r#"{{"id":{},"result":[]}}"#, stream.last_id);
            stream.handle_frame(now, answer.as_bytes());
        }
        let terms = |stream: &mut DeribitStream, now, tick: &str| {
            let terms = format!(r#"{{"tick_size":{tick},"min_trade_amount":10,"is_active":true}}"#);
            let answer = format!(r#"{{"id":{},"result":{terms}}}"#, stream.last_id);
            stream.handle_frame(now, answer.as_bytes());
            stream.poll_terms().unwrap().1.tick
        };
        assert_eq!(terms(&mut stream, now, "0.5"), Price(500_000_000));
        for _ in 0..6 {
            assert_eq!(stream.poll_transmit(now), None);
            now = now + Nanos::from_secs(10);
            stream.handle_frame(now, DATA);
            stream.handle_timeout(now);
        }
        assert!(stream.poll_transmit(now).unwrap().contains("get_instrument"));
        assert_eq!(terms(&mut stream, now, "1"), Price(1_000_000_000));
    }

    /// Answers what was asked last.
    fn answer(stream: &mut DeribitStream, now: Nanos, result: &str) {
        let id = stream.last_id;
        stream.handle_frame(now, format!(r#"{{"id":{id},{result}}}"#).as_bytes());
    }

    const TERMS: &str = r#""result":{"tick_size":0.5,"min_trade_amount":10,"is_active":true}"#;
    const UNKNOWN: &str = r#""error":{"code":13020,"message":"instrument_not_found"}"#;

    #[test]
    fn an_added_instrument_is_asked_about_then_subscribed_to_and_so_on_the_next_connection() {
        let mut stream = stream(&["A", "B"], false);
        while !next(&mut stream, AT).is_empty() {}
        assert!(stream.takes_instruments() && stream.add_instrument(AT, "C"));
        assert!(stream.is_settled(), "the others are followed");
        stream.want(AT, InstrumentId(2));
        assert!(stream.poll_transmit(AT).unwrap().contains(r#""instrument_name":"C""#));
        answer(&mut stream, AT, TERMS);
        assert_eq!(stream.poll_terms().map(|(id, _)| id), Some(InstrumentId(2)));
        assert!(!stream.is_settled());
        let channels = r#""channels":["book.C.100ms","trades.C.100ms","ticker.C.100ms"]"#;
        assert!(next(&mut stream, AT).contains(channels));
        assert!(stream.is_settled() && stream.poll_transmit(AT).is_none());
        assert_eq!(stream.counters(), StreamCounters::default());
        // It is one of them: its book is subscribed to anew by itself.
        stream.want(AT, InstrumentId(2));
        assert!(next(&mut stream, AT).contains(r#"unsubscribe","params":{"channels":["book.C."#));
        assert!(next(&mut stream, AT).contains(r#"/subscribe","params":{"channels":["book.C."#));
        stream.opened(AT, AT, [0; 16]);
        assert!(next(&mut stream, AT).contains("heartbeat"));
        let all = next(&mut stream, AT);
        assert!(all.contains("platform_state") && all.contains(&channels[12..]), "{all}");
        assert!(stream.is_settled());
    }

    #[test]
    fn an_added_instrument_that_the_venue_does_not_know_harms_no_other() {
        let mut stream = stream(&["A"], false);
        while !next(&mut stream, AT).is_empty() {}
        stream.add_instrument(AT, "C");
        assert!(stream.poll_transmit(AT).unwrap().contains(r#""C""#));
        answer(&mut stream, AT, UNKNOWN);
        assert_eq!(stream.last_refusal(), "C: 13020 instrument_not_found");
        assert!(stream.poll_transmit(AT).is_none() && stream.poll_terms().is_none());
        stream.opened(AT, AT, [0; 16]);
        while !stream.is_settled() {
            assert!(!next(&mut stream, AT).contains(".C."));
        }
        // Once it is listed it is followed.
        assert!(stream.poll_transmit(AT).unwrap().contains(r#""A""#));
        answer(&mut stream, AT, TERMS);
        assert!(stream.poll_transmit(AT).unwrap().contains(r#""C""#));
        answer(&mut stream, AT, TERMS);
        assert!(next(&mut stream, AT).contains(r#"["book.C.100ms","#));
    }

    #[test]
    fn a_book_is_subscribed_to_anew_one_at_a_time_and_within_the_limit() {
        let mut stream = stream(&["A", "B"], false);
        stream.want(AT, InstrumentId(1));
        assert!(next(&mut stream, AT).contains("heartbeat"));
        assert!(
            next(&mut stream, AT)
                .contains(r#""public/subscribe","params":{"channels":["book.A.100ms","#)
        );
        assert!(stream.is_settled());
        for _ in 0..2 {
            let asked = next(&mut stream, AT);
            assert!(asked.contains("get_instrument"), "no book before all is there: {asked}");
        }
        assert_eq!(stream.poll_transmit(AT), None);
        stream.want(AT, InstrumentId(1));
        stream.want(AT, InstrumentId(1));
        stream.want(AT, InstrumentId(9));
        assert!(
            next(&mut stream, AT)
                .contains(r#""public/unsubscribe","params":{"channels":["book.B.100ms"]"#)
        );
        assert!(
            next(&mut stream, AT)
                .contains(r#""public/subscribe","params":{"channels":["book.B.100ms"]"#)
        );
        assert_eq!(stream.counters().resubscribed, 1);
        for _ in 0..20 {
            stream.want(AT, InstrumentId(0));
            next(&mut stream, AT);
        }
        assert_eq!(stream.poll_transmit(AT), None, "the credits are spent");
        assert!(!next(&mut stream, AT + Nanos::from_secs(1)).is_empty());
    }

    #[test]
    fn a_silent_a_refusing_and_a_dead_venue_are_given_up() {
        let heartbeat =
            br#"{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"test_request"}}"#;
        let mut stream = stream(&["A"], false);
        next(&mut stream, AT);
        next(&mut stream, AT);
        stream.handle_frame(AT, heartbeat);
        assert!(stream.poll_transmit(AT).unwrap().contains("public/test"));
        let later = AT + Nanos::from_secs(29);
        stream.handle_frame(later, heartbeat);
        stream.handle_timeout(later);
        assert!(!stream.is_broken());
        // It is there, and sends no data.
        stream.handle_timeout(AT + Nanos::from_secs(30));
        assert!(stream.is_broken() && stream.counters().given_up == 1);
        // A new connection is another matter: one that refuses, and one that does not answer.
        stream.opened(AT, AT, [0; 16]);
        assert!(!stream.is_broken() && !stream.is_settled());
        stream.poll_transmit(AT);
        let id = stream.last_id;
        stream.handle_frame(AT, format!(r#"{{"id":{id},"error":{{"code":1}}}}"#).as_bytes());
        assert!(stream.is_broken() && stream.counters().refused == 1);
        stream.opened(AT, AT, [0; 16]);
        stream.poll_transmit(AT);
        stream.handle_timeout(AT + SUBSCRIBING);
        assert!(stream.is_broken());
    }
}
