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

/// A book in which nothing changes is told all the same after some 60 seconds, without levels.
const SILENCE: Nanos = Nanos::from_secs(90);
/// Instruments of one request: it stays below the 4,096 bytes that the venue has taken from the
/// first.
const INSTRUMENTS_MAX: usize = 12;
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
/// What all messages with data begin with today: others are taken apart.
const DATA: &[u8] = b"{\"arg\":{\"channel\":\"";
const TERMS: &[u8] = b"instruments";

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
        Self { names, books: "books".to_owned(), silence: SILENCE }
    }
}

/// What is still to be said, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Books and trades of the instruments from this one on.
    Subscribe(usize),
    /// The same of an instrument that was added.
    Added(usize),
    /// The end of the channel of what instruments of this kind are, and its beginning: then all of
    /// them are told.
    LeaveTerms(&'static str),
    Terms(&'static str),
    /// The end of a book's channel, and its beginning.
    Leave(usize),
    Book(usize),
}

/// The session of OKX's market data.
#[derive(Debug)]
pub struct OkxStream {
    names: Vec<String>,
    /// Whether each is subscribed to: one that was added is once the venue has said that there is
    /// such an instrument. It could refuse all others with it.
    are_followed: Vec<bool>,
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
            are_followed: vec![true; names.len()],
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
            Task::Subscribe(from) => self.channels(from, INSTRUMENTS_MAX).count(),
            Task::Added(at) => self.channels(at, 1).count(),
            Task::LeaveTerms(_) | Task::Terms(_) | Task::Leave(_) | Task::Book(_) => 1,
        }
    }

    /// Of so many instruments those that are followed.
    fn some(&self, from: usize, count: usize) -> impl Iterator<Item = &str> {
        let all = self.names.iter().zip(&self.are_followed).skip(from).take(count);
        all.filter(|(_, is_followed)| **is_followed).map(|(name, _)| name.as_str())
    }

    /// The channels of those: books, trades, and the figures that there are.
    fn channels(&self, from: usize, count: usize) -> impl Iterator<Item = Channel<'_>> {
        let books = self.books.as_str();
        self.some(from, count).flat_map(move |name| {
            let all = [books, "trades"].into_iter().chain(figures_of(name).iter().copied());
            all.map(move |channel| Channel::Of {
                channel: channel.as_bytes(),
                instrument: name.as_bytes(),
            })
        })
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
                write_subscription(false, self.channels(from, INSTRUMENTS_MAX), &mut outbox)
            }
            Task::Added(at) => write_subscription(false, self.channels(at, 1), &mut outbox),
            Task::LeaveTerms(kind) | Task::Terms(kind) => {
                let channel = Channel::Instruments(kind.as_bytes());
                let leaves = task == Task::LeaveTerms(kind);
                write_subscription(leaves, std::iter::once(channel), &mut outbox)
            }
            Task::Leave(at) => write_subscription(true, one(at).into_iter(), &mut outbox),
            Task::Book(at) => write_subscription(false, one(at).into_iter(), &mut outbox),
        };
        let length = written.map(<[u8]>::len);
        self.outbox = outbox;
        length
    }

    /// Data came on the channel whose name this begins with.
    #[inline]
    fn told_data(&mut self, now: Nanos, channel: &[u8], frame: &[u8]) {
        // Figures come though a market is silent.
        if !FIGURES.iter().any(|figure| channel.starts_with(figure.as_bytes())) {
            self.data_at = now;
        }
        if channel.starts_with(TERMS) {
            self.told_terms(frame);
        }
    }

    fn told_terms(&mut self, frame: &[u8]) {
        let Ok(message) = read_message(frame) else { return };
        let Self { names, terms, news, are_followed, tasks, .. } = self;
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
            if let Some(is_followed) = are_followed.get_mut(at).filter(|it| !**it) {
                *is_followed = true;
                tasks.push_back(Task::Added(at));
            }
        });
    }
}

impl StreamSession for OkxStream {
    fn opened(&mut self, now: Nanos, _utc: Nanos, _random: [u8; 16]) {
        self.closed();
        (self.heard_at, self.data_at, self.ping_at) = (now, now, now + PING);
        self.is_open = true;
        // Of those without one that is followed nothing could be asked.
        for from in (0..self.names.len()).step_by(INSTRUMENTS_MAX) {
            if self.some(from, INSTRUMENTS_MAX).next().is_some() {
                self.tasks.push_back(Task::Subscribe(from));
            }
        }
        for kind in KINDS {
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
            self.told_data(now, channel, frame);
            return;
        }
        let Ok(message) = read_message(frame) else { return };
        match message.event {
            b"" if !message.channel.is_empty() => self.told_data(now, message.channel, frame),
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
        let is_followed = self.are_followed.get(at) == Some(&true);
        if self.is_settled() && is_followed && !self.tasks.contains(&Task::Book(at)) {
            self.counters.resubscribed += 1;
            self.tasks.extend([Task::Leave(at), Task::Book(at)]);
        }
    }

    fn takes_instruments(&self) -> bool {
        true
    }

    /// The venue is not asked about options: those are subscribed to at once.
    fn add_instrument(&mut self, _now: Nanos, name: &str) -> bool {
        let (at, kind) = (self.names.len(), kind_of(name));
        let is_told = KINDS.contains(&kind);
        let was_told = self.names.iter().any(|name| kind_of(name) == kind);
        self.names.push(name.to_owned());
        self.terms.push(None);
        self.are_followed.push(!is_told);
        if !self.is_open {
            return is_told;
        }
        match is_told {
            false => self.tasks.push_back(Task::Added(at)),
            // It is told with the others that are to be told.
            true if self.tasks.contains(&Task::Terms(kind)) => {}
            true if was_told => self.tasks.extend([Task::LeaveTerms(kind), Task::Terms(kind)]),
            true => self.tasks.push_back(Task::Terms(kind)),
        }
        is_told
    }

    fn is_settled(&self) -> bool {
        let begins = |task: &Task| matches!(task, Task::Subscribe(_) | Task::Added(_));
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

/// Channels of figures: the first is every derivative's, the second a perpetual's.
const FIGURES: [&str; 2] = ["mark-price", "funding-rate"];

/// Kinds of instruments that the venue is asked about.
const KINDS: [&str; 3] = ["SPOT", "SWAP", "FUTURES"];

/// The channels of an instrument's figures.
fn figures_of(name: &str) -> &'static [&'static str] {
    match kind_of(name) {
        "SWAP" => &FIGURES,
        "FUTURES" => &FIGURES[..1],
        _ => &[],
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
    fn derivatives_have_figures_which_say_nothing_of_a_market_that_is_silent() {
        let mut stream = stream(&["A-B", "A-B-SWAP", "A-B-260925"]);
        let text = next(&mut stream);
        for (name, figures) in [("A-B", ""), ("A-B-SWAP", "mf"), ("A-B-260925", "m")] {
            for (channel, letter) in [("mark-price", 'm'), ("funding-rate", 'f')] {
                let asked = format!(r#"{{"channel":"{channel}","instId":"{name}"}}"#);
                assert_eq!(text.contains(&asked), figures.contains(letter), "{asked}: {text}");
            }
        }
        while !next(&mut stream).is_empty() {}
        assert!(stream.is_settled());
        let mark = br#"{"arg":{"channel":"mark-price","instId":"A-B-SWAP"},"data":[]}"#;
        let book = br#"{"arg":{"channel":"books","instId":"A-B-SWAP"},"data":[]}"#;
        let silence = stream.silence;
        stream.handle_frame(AT + silence, book);
        stream.handle_timeout(AT + silence);
        assert!(!stream.is_broken());
        stream.handle_frame(AT + silence + silence, mark);
        stream.handle_timeout(AT + silence + silence);
        assert!(stream.is_broken());
    }

    #[test]
    fn data_are_data_wherever_the_venue_names_their_channel() {
        let mut stream = stream(&["BTC-USDT"]);
        while !next(&mut stream).is_empty() {}
        let silence = stream.silence;
        let book = br#"{"new":1,"action":"update","data":[],"arg":{"channel":"books"}}"#;
        stream.handle_frame(AT + silence, book);
        stream.handle_timeout(AT + silence);
        assert!(!stream.is_broken());
        let terms = concat!(
            r#"{"new":1,"arg":{"instType":"SPOT","channel":"instruments"},"data":[{"#,
            r#""instId":"BTC-USDT","tickSz":"0.1","lotSz":"0.01","state":"live"}]}"#
        );
        stream.handle_frame(AT, terms.as_bytes());
        assert_eq!(stream.poll_terms().map(|(id, _)| id), Some(InstrumentId(0)));
    }

    #[test]
    fn an_instrument_that_the_venue_changes_is_told_again() {
        let mut stream = stream(&["BTC-USDT"]);
        while !next(&mut stream).is_empty() {}
        let told = |lot: &str, state: &str| {
            format!(
                "{{\"arg\":{{\"channel\":\"instruments\",\"instType\":\"SPOT\"}},\"data\":[{{\
                 \"instId\":\"BTC-USDT\",\"tickSz\":\"0.1\",\"lotSz\":\"{lot}\",\
                 \"state\":\"{state}\"}}]}}"
            )
        };
        for (lot, state, decimals, is_open) in
            [("0.01", "live", 2, true), ("0.1", "live", 1, true), ("0.1", "suspend", 1, false)]
        {
            stream.handle_frame(AT, told(lot, state).as_bytes());
            let (id, terms) = stream.poll_terms().unwrap();
            assert_eq!((id, terms.is_open), (InstrumentId(0), is_open), "{lot} {state}");
            assert_eq!(terms.lot, Qty { mantissa: 1, decimals });
        }
        assert_eq!(stream.poll_terms(), None);
    }

    #[test]
    fn an_added_instrument_is_asked_about_then_subscribed_to_and_so_on_the_next_connection() {
        let mut stream = stream(&["A-B"]);
        while !next(&mut stream).is_empty() {}
        assert!(stream.takes_instruments());
        // Another one of the same kind: all of that kind are told anew.
        assert!(stream.add_instrument(AT, "C-D") && stream.add_instrument(AT, "E-F"));
        stream.want(AT, InstrumentId(1));
        let spot = r#""args":[{"channel":"instruments","instType":"SPOT"}]}"#;
        assert_eq!(next(&mut stream), format!(r#"{{"op":"unsubscribe",{spot}"#));
        assert_eq!(next(&mut stream), format!(r#"{{"op":"subscribe",{spot}"#));
        let told = |name: &str| {
            let head = r#"{"arg":{"channel":"instruments","instType":"SPOT"},"data":[{"instId":"#;
            let terms = r#""tickSz":"0.1","lotSz":"0.001","minSz":"0.001","state":"live"}]}"#;
            format!(r#"{head}"{name}",{terms}"#)
        };
        stream.handle_frame(AT, told("C-D").as_bytes());
        assert_eq!(stream.poll_terms().map(|(id, _)| id), Some(InstrumentId(1)));
        assert!(!stream.is_settled());
        let both = r#"[{"channel":"books","instId":"C-D"},{"channel":"trades","instId":"C-D"}]"#;
        assert_eq!(next(&mut stream), format!(r#"{{"op":"subscribe","args":{both}}}"#));
        assert!(stream.is_settled() && stream.poll_transmit(AT).is_none());
        // One of another kind, and an option, about which the venue is not asked.
        assert!(stream.add_instrument(AT, "C-D-SWAP"));
        assert!(
            next(&mut stream).contains(r#""subscribe","args":[{"channel":"instruments","inst"#)
        );
        assert!(!stream.add_instrument(AT, "BTC-USD-260925-100000-C"));
        assert!(next(&mut stream).contains("BTC-USD-260925-100000-C"));
        stream.opened(AT, AT, [0; 16]);
        let all = next(&mut stream);
        for (name, count) in [("A-B", 2), ("C-D\"", 2), ("100000-C", 2), ("E-F", 0), ("SWAP", 0)] {
            assert_eq!(all.matches(name).count(), count, "{name}: {all}");
        }
        assert!(stream.is_settled(), "what the venue has not told harms no other");
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
        stream.handle_frame(AT + SILENCE, b"pong");
        stream.handle_timeout(AT + SILENCE);
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
