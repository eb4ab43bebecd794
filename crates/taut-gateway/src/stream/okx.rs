//! OKX's market data: the subscriptions, and that the venue is there.
//!
//! Source: okx.com/docs-v5, "WebSocket: Connect", "Subscribe", "Instruments channel", "Order book
//! channel".

use std::collections::VecDeque;

use taut_oms::Rate;
use taut_order_entry::deribit::TickSteps;
use taut_order_entry::okx::{Channel, read_instruments, read_message, write_subscription};
use taut_types::{InstrumentId, Nanos};

use super::session::{StreamCounters, StreamSession, VenueTerms};
use crate::credits::Credits;
use crate::order_entry::last_words::LastWords;

/// Instruments of one request: it stays below the 4,096 bytes that the venue has taken from the
/// first.
const INSTRUMENTS_MAX: usize = 20;
const OUTBOX_BYTES: usize = 4_096;
/// The venue ends a connection on which nothing is said for half a minute.
const PING: Nanos = Nanos::from_secs(20);
/// How long nothing at all may come.
const DEAD: Nanos = Nanos::from_secs(50);
/// How long a subscription may take.
const SUBSCRIBING: Nanos = Nanos::from_secs(10);
/// Requests of a connection: 480 in an hour, says the venue. One a second behind a burst is more in
/// an hour; it is for a bad minute.
const SUBSCRIPTIONS: Rate = Rate { per_second: 1, burst: 60 };
/// What all messages with data begin with.
const DATA: &[u8] = b"{\"arg\":{\"channel\":\"";
const TERMS: &[u8] = b"instruments\"";

/// What is followed at OKX.
#[derive(Clone, Debug)]
pub struct OkxStreamSettings {
    /// The venue's name of each instrument, in the order of their numbers.
    pub names: Vec<String>,
    /// The channel of books: `books`, or a faster one that a key may have.
    pub books: String,
    /// When no data come for so long the connection is given up, though the venue is there.
    pub silence: Nanos,
}

impl OkxStreamSettings {
    /// Books of 400 levels every 100 ms, and trades.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        Self { names, books: "books".to_owned(), silence: Nanos::from_secs(30) }
    }
}

/// What is still to be said, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Books and trades of the instruments from this one on.
    Subscribe(usize),
    /// What instruments of this kind are.
    Terms(&'static str),
    /// The end of a book's channel, and its beginning.
    Leave(usize),
    Book(usize),
}

/// The session of OKX's market data.
#[derive(Debug)]
pub struct OkxStream {
    names: Vec<String>,
    books: String,
    silence: Nanos,
    terms: Vec<Option<VenueTerms>>,
    /// Instruments of which the terms have come, and were not looked at.
    news: VecDeque<usize>,
    tasks: VecDeque<Task>,
    /// Answers to the last request that have not come, and until when they must.
    awaited: Option<(usize, Task, Nanos)>,
    credits: Credits,
    last_words: LastWords,
    heard_at: Nanos,
    data_at: Nanos,
    ping_at: Nanos,
    is_open: bool,
    is_broken: bool,
    counters: StreamCounters,
    outbox: Vec<u8>,
}

impl OkxStream {
    /// A session that is not open.
    #[must_use]
    pub fn new(settings: &OkxStreamSettings) -> Self {
        let OkxStreamSettings { names, books, silence } = settings.clone();
        Self {
            terms: vec![None; names.len()],
            news: VecDeque::with_capacity(names.len()),
            tasks: VecDeque::with_capacity(64),
            names,
            books,
            silence,
            awaited: None,
            credits: Credits::new(SUBSCRIPTIONS),
            last_words: LastWords::default(),
            heard_at: Nanos::ZERO,
            data_at: Nanos::ZERO,
            ping_at: Nanos::ZERO,
            is_open: false,
            is_broken: false,
            counters: StreamCounters::default(),
            outbox: vec![0; OUTBOX_BYTES],
        }
    }

    const fn give_up(&mut self) {
        self.is_broken = true;
        self.counters.given_up += 1;
    }

    /// How many answers a request has: one for each channel.
    fn answers(&self, task: Task) -> usize {
        match task {
            Task::Subscribe(from) => 2 * self.some(from).len(),
            Task::Terms(_) | Task::Leave(_) | Task::Book(_) => 1,
        }
    }

    /// The instruments of a request for several.
    fn some(&self, from: usize) -> &[String] {
        let end = self.names.len().min(from + INSTRUMENTS_MAX);
        self.names.get(from..end).unwrap_or_default()
    }

    /// Writes a request; how long it is.
    fn write(&mut self, task: Task) -> Option<usize> {
        let mut outbox = std::mem::take(&mut self.outbox);
        let one = |at: usize| {
            let instrument = self.names.get(at)?.as_bytes();
            Some(Channel::Of { channel: self.books.as_bytes(), instrument })
        };
        let written = match task {
            Task::Subscribe(from) => {
                let books = self.books.as_bytes();
                let channels = self.some(from).iter().flat_map(|name| {
                    [books, b"trades"]
                        .map(|channel| Channel::Of { channel, instrument: name.as_bytes() })
                });
                write_subscription(false, channels, &mut outbox)
            }
            Task::Terms(kind) => {
                let channel = Channel::Instruments(kind.as_bytes());
                write_subscription(false, std::iter::once(channel), &mut outbox)
            }
            Task::Leave(at) => write_subscription(true, one(at).into_iter(), &mut outbox),
            Task::Book(at) => write_subscription(false, one(at).into_iter(), &mut outbox),
        };
        let length = written.map(<[u8]>::len);
        self.outbox = outbox;
        length
    }

    fn told_terms(&mut self, frame: &[u8]) {
        let Ok(message) = read_message(frame) else { return };
        let Self { names, terms, news, .. } = self;
        // Data that cannot be read say nothing, and the feed's handler counts them.
        let _ = read_instruments(message.data, |told| {
            let Some(at) = names.iter().position(|name| name.as_bytes() == told.name) else {
                return;
            };
            let Some((tick, lot)) = told.tick.zip(told.lot) else { return };
            let told = VenueTerms { tick, steps: TickSteps::default(), lot, is_open: told.is_live };
            if let Some(place) = terms.get_mut(at) {
                *place = Some(told);
                news.push_back(at);
            }
        });
    }
}

impl StreamSession for OkxStream {
    fn opened(&mut self, now: Nanos, _utc: Nanos, _random: [u8; 16]) {
        self.closed();
        (self.heard_at, self.data_at, self.ping_at) = (now, now, now + PING);
        self.is_open = true;
        self.tasks.extend((0..self.names.len()).step_by(INSTRUMENTS_MAX).map(Task::Subscribe));
        for kind in ["SPOT", "SWAP", "FUTURES"] {
            if self.names.iter().any(|name| kind_of(name) == kind) {
                self.tasks.push_back(Task::Terms(kind));
            }
        }
    }

    fn closed(&mut self) {
        self.tasks.clear();
        self.news.clear();
        self.awaited = None;
        (self.is_open, self.is_broken) = (false, false);
    }

    #[inline]
    fn handle_frame(&mut self, now: Nanos, frame: &[u8]) {
        (self.heard_at, self.ping_at) = (now, now + PING);
        if let Some(channel) = frame.strip_prefix(DATA) {
            self.data_at = now;
            if channel.starts_with(TERMS) {
                self.told_terms(frame);
            }
            return;
        }
        let Ok(message) = read_message(frame) else { return };
        match message.event {
            b"subscribe" | b"unsubscribe" => {
                if let Some((missing, _, _)) = &mut self.awaited {
                    *missing = missing.saturating_sub(1);
                }
                self.awaited.take_if(|(missing, _, _)| *missing == 0);
                self.data_at = now;
            }
            // A notice says that the connection is to end.
            b"error" | b"notice" | b"channel-conn-count-error" => {
                self.counters.refused += 1;
                let words = String::from_utf8_lossy(message.words);
                self.last_words.say(format_args!("{} {words}", message.code.unwrap_or(0)));
                self.give_up();
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
    }

    fn want(&mut self, _now: Nanos, instrument: InstrumentId) {
        let at = instrument.0 as usize;
        let is_known = at < self.names.len() && !self.tasks.contains(&Task::Book(at));
        if self.is_settled() && is_known {
            self.counters.resubscribed += 1;
            self.tasks.extend([Task::Leave(at), Task::Book(at)]);
        }
    }

    fn is_settled(&self) -> bool {
        let begins = |task: &Task| matches!(task, Task::Subscribe(_));
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
        let at = self.news.pop_front()?;
        Some((InstrumentId(at as u32), (*self.terms.get(at)?)?))
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<&str> {
        if !self.is_open || self.is_broken {
            return None;
        }
        if now >= self.ping_at {
            self.ping_at = now + PING;
            return Some("ping");
        }
        let task = *self.tasks.front().filter(|_| self.awaited.is_none())?;
        self.credits.take(now, 0).ok()?;
        self.tasks.pop_front();
        let Some(length) = self.write(task) else {
            self.give_up();
            return None;
        };
        self.awaited = Some((self.answers(task), task, now + SUBSCRIBING));
        str::from_utf8(self.outbox.get(..length)?).ok()
    }
}

/// What kind of instrument a name is of: `BTC-USDT`, `BTC-USDT-SWAP`, `BTC-USD-220527`. The venue
/// lists options by what they are of, and is not asked about them.
fn kind_of(name: &str) -> &'static str {
    match name.split('-').count() {
        0..=2 => "SPOT",
        3 if name.ends_with("-SWAP") => "SWAP",
        3 => "FUTURES",
        _ => "OPTION",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::{Price, Qty};

    const AT: Nanos = Nanos::from_secs(100);

    fn stream(names: &[&str]) -> OkxStream {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let mut stream = OkxStream::new(&OkxStreamSettings::new(names));
        stream.opened(AT, AT, [0; 16]);
        stream
    }

    /// What is sent next; the venue grants each channel of it.
    fn next(stream: &mut OkxStream) -> String {
        let text = stream.poll_transmit(AT).unwrap_or_default().to_owned();
        for _ in 0..text.matches("\"channel\"").count() {
            let granted = br#"{"event":"subscribe","arg":{"channel":"x"},"connId":"a"}"#;
            stream.handle_frame(AT, granted);
        }
        text
    }

    #[test]
    fn books_and_trades_are_subscribed_to_in_chunks_then_the_terms() {
        let names: Vec<String> = (0..45).map(|at| format!("A{at}-USDT-SWAP")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).chain(["BTC-USDT"]).collect();
        let mut stream = stream(&names);
        let mut books = 0;
        while !stream.is_settled() {
            let text = next(&mut stream);
            assert!(text.len() <= OUTBOX_BYTES && text.contains(r#""channel":"trades""#));
            books += text.matches(r#""channel":"books""#).count();
        }
        assert_eq!(books, 46);
        assert!(next(&mut stream).contains(r#""instType":"SPOT""#));
        assert!(next(&mut stream).contains(r#""instType":"SWAP""#));
        assert_eq!(stream.poll_transmit(AT), None);
        // The rest of a kind is not ours.
        let told = concat!(
            r#"{"arg":{"channel":"instruments","instType":"SPOT"},"data":[{"instId":"X-USDT","#,
            r#""tickSz":"1"},{"instId":"BTC-USDT","tickSz":"0.1","lotSz":"0.00000001","#,
            r#""minSz":"0.00001","state":"live"}]}"#
        );
        stream.handle_frame(AT, told.as_bytes());
        let (id, terms) = stream.poll_terms().unwrap();
        assert_eq!((id, terms.tick, terms.is_open), (InstrumentId(45), Price(100_000_000), true));
        assert_eq!(terms.lot, Qty { mantissa: 1, decimals: 8 });
        assert_eq!((stream.poll_terms(), stream.venue_terms(id)), (None, Some(terms)));
    }

    #[test]
    fn a_book_is_subscribed_to_anew() {
        let mut stream = stream(&["A-B", "C-D"]);
        stream.want(AT, InstrumentId(1));
        while !next(&mut stream).is_empty() {}
        assert_eq!(stream.counters().resubscribed, 0, "no book before all is there");
        stream.want(AT, InstrumentId(1));
        stream.want(AT, InstrumentId(1));
        let one = r#""args":[{"channel":"books","instId":"C-D"}]}"#;
        assert_eq!(next(&mut stream), format!(r#"{{"op":"unsubscribe",{one}"#));
        assert_eq!(next(&mut stream), format!(r#"{{"op":"subscribe",{one}"#));
        assert_eq!(stream.poll_transmit(AT), None);
        assert_eq!(stream.counters().resubscribed, 1);
    }

    #[test]
    fn a_silent_and_a_refusing_venue_are_given_up() {
        let mut stream = stream(&["A-B"]);
        while !next(&mut stream).is_empty() {}
        assert_eq!(stream.poll_transmit(AT + PING), Some("ping"));
        stream.handle_frame(AT + PING, b"pong");
        stream.handle_timeout(AT + PING);
        assert!(!stream.is_broken());
        // It is there, and sends no data.
        stream.handle_timeout(AT + Nanos::from_secs(30));
        assert!(stream.is_broken() && stream.poll_transmit(AT).is_none());
        stream.opened(AT, AT, [0; 16]);
        assert!(!stream.poll_transmit(AT).unwrap().is_empty());
        let error = br#"{"event":"error","code":"60018","msg":"no channel","connId":"a"}"#;
        stream.handle_frame(AT, error);
        assert!(stream.is_broken() && stream.last_refusal() == "60018 no channel");
        stream.opened(AT, AT, [0; 16]);
        stream.poll_transmit(AT);
        stream.handle_timeout(AT + SUBSCRIBING);
        assert!(stream.is_broken() && stream.counters().given_up == 3);
    }
}
