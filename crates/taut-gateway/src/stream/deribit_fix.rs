//! Deribit's market data over FIX 4.4: the signed Logon, what is subscribed to, the numbers.
//!
//! Source: docs.deribit.com, "FIX API": MarketDataRequest (V) with 263=1, 264=0 and 265=1 brings
//! the whole book (W) and then each change and trade (X).

use std::collections::VecDeque;

use taut_fix::{CompId, Event, LongText, Now, Received, ShortText, TypedMessage, Writer};
use taut_fix_engine::Credentials;
use taut_oms::Rate;
use taut_types::{InstrumentId, Nanos};

use super::session::{StreamCounters, StreamSession};
use crate::credits::Credits;
use crate::error::GatewayError;
use crate::order_entry::fix::{FixLink, FixSettings, Logon};
use crate::order_entry::last_words::LastWords;

/// A whole book of some ten thousand levels.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
const FIELDS_MAX: usize = 1 << 16;
/// What is taken of the requests that do not go to the matching engine: the venue gives an account
/// twenty a second, a hundred at once.
const REQUESTS: Rate = Rate { per_second: 10, burst: 50 };

/// What is followed at Deribit over FIX.
#[derive(Clone, Debug)]
pub struct DeribitFixStreamSettings {
    /// The venue's name of each instrument, in the order of their numbers; up to 39 letters.
    pub names: Vec<String>,
    /// SenderCompID (49): ours.
    pub sender: CompId,
    /// TargetCompID (56): DERIBITSERVER.
    pub target: CompId,
    /// Who logs on.
    pub credentials: Credentials,
    /// HeartBtInt (108).
    pub heartbeat_interval: Nanos,
    /// When no data come for so long the connection is given up, though the venue is there.
    pub silence: Nanos,
}

/// What is still to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// The book and the trades of an instrument.
    Follow(usize),
    /// No more of them.
    Leave(usize),
}

/// An instrument, and how often its book was asked for.
#[derive(Clone, Copy, Debug)]
struct Followed {
    symbol: LongText,
    asked: u32,
}

/// The session of Deribit's market data over FIX. Each message that the venue numbers comes to the
/// feed handler once and in its turn; where one is missing, the session is given up, and the next
/// one begins with whole books.
#[derive(Debug)]
pub struct DeribitFixStream {
    link: FixLink,
    followed: Box<[Followed]>,
    tasks: VecDeque<Task>,
    credits: Credits,
    silence: Nanos,
    /// From the loop's time to UTC.
    utc_offset: Nanos,
    /// The time of the last call.
    now: Nanos,
    data_at: Nanos,
    /// As the link counted last.
    missed: u64,
    is_open: bool,
    is_broken: bool,
    counters: StreamCounters,
    last_words: LastWords,
    /// What leaves now.
    text: String,
}

impl DeribitFixStream {
    /// A session that is not open.
    ///
    /// # Errors
    /// [`GatewayError::InstrumentName`] when a name is longer than 39 letters.
    pub fn new(settings: &DeribitFixStreamSettings) -> Result<Self, GatewayError> {
        let followed = |name: &String| {
            let symbol = LongText::new(name.as_bytes()).ok_or(GatewayError::InstrumentName);
            symbol.map(|symbol| Followed { symbol, asked: 0 })
        };
        let link = FixSettings {
            sender: settings.sender,
            target: settings.target,
            heartbeat_interval: settings.heartbeat_interval,
            store: None,
            reset_on_logon: true,
            logon: Logon::new(Some(settings.credentials.clone())),
        };
        Ok(Self {
            link: FixLink::with_room(link, MESSAGE_BYTES_MAX, FIELDS_MAX)?,
            followed: settings.names.iter().map(followed).collect::<Result<_, _>>()?,
            tasks: VecDeque::with_capacity(2 * settings.names.len()),
            credits: Credits::new(REQUESTS),
            silence: settings.silence,
            utc_offset: Nanos::ZERO,
            now: Nanos::ZERO,
            data_at: Nanos::ZERO,
            missed: 0,
            is_open: false,
            is_broken: false,
            counters: StreamCounters::default(),
            last_words: LastWords::default(),
            text: String::new(),
        })
    }

    /// The time, as a session of FIX is told it.
    fn at(&mut self, now: Nanos) -> Now {
        self.now = now;
        Now { mono: now, utc: now + self.utc_offset }
    }

    fn give_up(&mut self) {
        self.counters.given_up += u64::from(!self.is_broken);
        self.is_broken = true;
    }

    /// Leaves the requests in the outbox for which there are credits.
    fn ask(&mut self, now: Now) {
        while self.link.is_up()
            && let Some(&task) = self.tasks.front()
            && self.credits.take(now.mono, 0).is_ok()
        {
            self.tasks.pop_front();
            let (Task::Follow(at) | Task::Leave(at)) = task;
            let Some(followed) = self.followed.get_mut(at) else { continue };
            let follows = matches!(task, Task::Follow(_));
            // A name is not used again, whatever became of what it stood for.
            followed.asked += u32::from(follows);
            let Some(id) = request_id(at, followed.asked) else { continue };
            let request = MarketDataRequest { id, follows, symbol: followed.symbol };
            if self.link.send(now, &request).is_err() {
                return self.give_up();
            }
        }
    }
}

impl StreamSession for DeribitFixStream {
    fn opened(&mut self, now: Nanos, utc: Nanos, random: [u8; 16]) {
        self.closed();
        self.utc_offset = utc.since(now);
        (self.data_at, self.is_open) = (now, true);
        let at = self.at(now);
        // The venue wants 32 bytes that it has not seen.
        let mut nonce = [0; 32];
        nonce.iter_mut().zip(random.iter().cycle()).for_each(|(to, byte)| *to = *byte);
        self.link.connected(at, nonce, 0);
        self.missed = self.link.missed();
    }

    fn closed(&mut self) {
        let at = self.at(self.now);
        self.link.disconnected(at);
        self.tasks.clear();
        self.text.clear();
        (self.is_open, self.is_broken) = (false, false);
    }

    /// It has no messages but those of its bytes.
    fn handle_frame(&mut self, _now: Nanos, _frame: &[u8]) {}

    fn handle_bytes(&mut self, now: Nanos, bytes: &[u8], deliver: &mut dyn FnMut(&[u8])) {
        let at = self.at(now);
        let mut bytes = bytes;
        let Self { link, last_words, counters, followed, .. } = self;
        let (mut is_up, mut has_data, mut is_over) = (false, false, false);
        while let Some((event, message, mut outbox)) = link.handle_bytes(at, &mut bytes) {
            match event {
                Event::LoggedOn => is_up = true,
                Event::Application { sequence, .. } => match message.msg_type() {
                    b"W" | b"X" => {
                        has_data = true;
                        deliver(message.bytes);
                    }
                    b"Y" | b"j" => refused(&message, followed, counters, last_words),
                    other => outbox.refuse_type(sequence, other),
                },
                Event::Rejected => refused(&message, followed, counters, last_words),
                Event::LoggedOut => {
                    say(&message, last_words);
                    is_over = true;
                }
                Event::Disconnect(reason) => {
                    last_words.say(format_args!("{}", reason.as_str()));
                    is_over = true;
                }
                _ => {}
            }
        }
        if is_up {
            self.tasks.clear();
            self.tasks.extend((0..self.followed.len()).map(Task::Follow));
        }
        if is_up || has_data {
            self.data_at = now;
        }
        let missed = self.link.missed();
        // What was missing may have been of any book.
        if is_over || std::mem::replace(&mut self.missed, missed) != missed {
            self.give_up();
        }
    }

    fn handle_timeout(&mut self, now: Nanos) {
        if !self.is_open {
            return;
        }
        let at = self.at(now);
        if let Some(Event::Disconnect(reason)) = self.link.handle_timeout(at) {
            self.last_words.say(format_args!("{}", reason.as_str()));
            self.give_up();
        }
        if self.is_settled() && now.since(self.data_at) >= self.silence {
            self.give_up();
        }
    }

    fn want(&mut self, _now: Nanos, instrument: InstrumentId) {
        let at = instrument.0 as usize;
        let is_known = at < self.followed.len() && !self.tasks.contains(&Task::Follow(at));
        if self.is_settled() && is_known {
            self.counters.resubscribed += 1;
            self.tasks.extend([Task::Leave(at), Task::Follow(at)]);
        }
    }

    fn is_settled(&self) -> bool {
        self.link.is_up() && self.tasks.is_empty()
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

    fn poll_transmit(&mut self, now: Nanos) -> Option<&str> {
        if !self.is_open {
            return None;
        }
        let at = self.at(now);
        self.ask(at);
        self.text.clear();
        // All of ours is printable, but for what stands behind each field. What the venue has
        // repeated, the id of a test, may be anything: without that message its numbers would have
        // a gap.
        let text =
            std::str::from_utf8(self.link.poll_transmit(at)).map(|it| self.text.push_str(it));
        self.link.clear_unsent();
        if text.is_err() {
            self.last_words.say(format_args!("TestReqID (112): not text"));
            self.give_up();
        }
        (!self.text.is_empty()).then_some(self.text.as_str())
    }
}

/// MDReqID (262): the instrument's number, and how often its book was asked for.
fn request_id(at: usize, asked: u32) -> Option<ShortText> {
    ShortText::new(format!("{at}.{asked}").as_bytes())
}

/// A request was refused, of an instrument where its name is one of ours.
fn refused(
    message: &Received<'_>,
    followed: &[Followed],
    counters: &mut StreamCounters,
    last_words: &mut LastWords,
) {
    counters.refused += 1;
    let number = message.value(262).and_then(|id| id.split(|byte| *byte == b'.').next());
    let at = number.and_then(|it| std::str::from_utf8(it).ok()?.parse::<usize>().ok());
    match at.and_then(|at| followed.get(at)) {
        Some(Followed { symbol, .. }) => {
            let text = String::from_utf8_lossy(message.value(58).unwrap_or(b"refused"));
            last_words.say(format_args!("{}: {text}", symbol.as_str()));
        }
        None => say(message, last_words),
    }
}

/// Notes what the venue says in Text (58).
fn say(message: &Received<'_>, last_words: &mut LastWords) {
    if let Some(text) = message.value(58) {
        last_words.say(format_args!("{}", String::from_utf8_lossy(text)));
    }
}

/// MarketDataRequest (V): bids, offers and trades of an instrument, or no more of them.
#[derive(Clone, Copy, Debug)]
struct MarketDataRequest {
    id: ShortText,
    follows: bool,
    symbol: LongText,
}

impl TypedMessage for MarketDataRequest {
    const MSG_TYPE: &'static [u8] = b"V";

    fn encode_body(&self, writer: &mut Writer<'_>) {
        writer.short::<262, 23>(&self.id);
        writer.byte::<263>(if self.follows { b'1' } else { b'2' });
        // Whole books, then their changes.
        writer.byte::<264>(b'0');
        writer.byte::<265>(b'1');
        writer.byte::<267>(b'3');
        for entry in *b"012" {
            writer.byte::<269>(entry);
        }
        writer.byte::<146>(b'1');
        writer.short::<55, 39>(&self.symbol);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Nanos = Nanos::from_secs(100);
    const UTC: Nanos = Nanos::from_secs(1_790_000_000);

    /// A session and the numbers of its venue's messages.
    struct Rig {
        stream: DeribitFixStream,
        next: u64,
        now: Nanos,
        /// What came for the feed handler.
        heard: Vec<String>,
    }

    impl Rig {
        fn new(names: &[&str]) -> Self {
            let name = |name: &[u8]| CompId::new(name).unwrap();
            let stream = DeribitFixStream::new(&DeribitFixStreamSettings {
                names: names.iter().map(|&name| name.to_owned()).collect(),
                sender: name(b"ME"),
                target: name(b"DERIBITSERVER"),
                credentials: Credentials::Deribit {
                    client_id: "me".to_owned(),
                    secret: "ABCD".to_owned(),
                },
                heartbeat_interval: Nanos::from_secs(30),
                silence: Nanos::from_secs(60),
            });
            Self { stream: stream.unwrap(), next: 1, now: AT, heard: Vec::new() }
        }

        /// A rig whose session is up: what it asks for.
        fn up(names: &[&str]) -> (Self, String) {
            let mut rig = Self::new(names);
            let logon = rig.open();
            assert!(logon.contains("|35=A|") && logon.contains("|553=me|"), "{logon}");
            rig.hear("A", "98=0|108=30|141=Y|");
            let asked = rig.said();
            (rig, asked)
        }

        fn open(&mut self) -> String {
            (self.next, self.now) = (1, self.now + Nanos::from_secs(1));
            self.stream.opened(self.now, UTC, [7; 16]);
            self.said()
        }

        /// All that is sent now; `|` stands for SOH.
        fn said(&mut self) -> String {
            let mut said = String::new();
            while let Some(text) = self.stream.poll_transmit(self.now) {
                said.push_str(&text.replace('\u{1}', "|"));
            }
            said
        }

        fn message(&mut self, kind: &str, fields: &str) -> Vec<u8> {
            let (next, names) = (self.next, "49=DERIBITSERVER|56=ME|52=20260921-14:13:20.000");
            self.next += 1;
            let body = format!("35={kind}|34={next}|{names}|{fields}").replace('|', "\u{1}");
            let mut message = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len());
            let sum = message.bytes().fold(0_u8, |sum, byte| sum.wrapping_add(byte));
            message.push_str(&format!("10={sum:03}\u{1}"));
            message.into_bytes()
        }

        fn hear(&mut self, kind: &str, fields: &str) {
            let message = self.message(kind, fields);
            self.bytes(&message);
        }

        fn bytes(&mut self, bytes: &[u8]) {
            let heard = &mut self.heard;
            self.stream.handle_bytes(self.now, bytes, &mut |message| {
                heard.push(String::from_utf8_lossy(message).replace('\u{1}', "|"));
            });
        }

        fn wait(&mut self, span: Nanos) -> String {
            self.now = self.now + span;
            self.stream.handle_timeout(self.now);
            self.said()
        }
    }

    #[test]
    fn a_session_asks_for_the_book_and_the_trades_of_each_instrument() {
        let (mut rig, asked) = Rig::up(&["BTC-PERPETUAL", "ETH-PERPETUAL"]);
        let entries = "264=0|265=1|267=3|269=0|269=1|269=2|146=1";
        assert!(asked.contains(&format!("|262=0.1|263=1|{entries}|55=BTC-PERPETUAL|")), "{asked}");
        assert!(asked.contains(&format!("|262=1.1|263=1|{entries}|55=ETH-PERPETUAL|")), "{asked}");
        assert!(rig.stream.is_settled());
        // However the bytes are cut, each message comes whole and once.
        let whole = rig.message("W", "55=BTC-PERPETUAL|262=0.1|268=0|");
        let change = rig.message("X", "55=BTC-PERPETUAL|262=0.1|268=0|");
        let both = [whole, change].concat();
        both.chunks(7).for_each(|piece| rig.bytes(piece));
        assert_eq!(rig.heard.len(), 2);
        assert!(rig.heard[0].contains("|35=W|34=2|") && rig.heard[1].contains("|35=X|34=3|"));
        // A book that is wanted again has another name.
        rig.stream.want(AT, InstrumentId(1));
        rig.stream.want(AT, InstrumentId(1));
        rig.stream.want(AT, InstrumentId(9));
        let asked = rig.said();
        let (leave, follow) = asked.split_once("|262=1.2|263=1|").expect("asked anew");
        assert!(leave.contains("|262=1.1|263=2|") && follow.contains("|55=ETH-PERPETUAL|"));
        assert_eq!((rig.stream.counters().resubscribed, rig.said().as_str()), (1, ""));
    }

    #[test]
    fn many_instruments_are_asked_for_as_fast_as_the_venue_lets_us() {
        let names: Vec<String> = (0..70).map(|at| format!("BTC-{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (mut rig, asked) = Rig::up(&names);
        assert_eq!(asked.matches("|35=V|").count(), 50);
        assert!(!rig.stream.is_settled());
        let later = rig.wait(Nanos::from_secs(2));
        assert_eq!(later.matches("|35=V|").count(), 20);
        assert!(rig.stream.is_settled() && later.contains("|55=BTC-69|"));
    }

    #[test]
    fn a_message_that_is_missing_ends_the_session_and_what_is_behind_it_is_not_heard() {
        let (mut rig, _) = Rig::up(&["A"]);
        rig.hear("W", "55=A|262=0.1|268=0|");
        rig.next += 1;
        rig.hear("X", "55=A|262=0.1|268=0|");
        assert_eq!((rig.heard.len(), rig.stream.is_broken()), (1, true));
        assert_eq!(rig.stream.counters().given_up, 1);
        // The next one begins anew.
        let logon = rig.open();
        assert!(logon.contains("|35=A|34=1|"), "{logon}");
        assert!(!rig.stream.is_broken());
        rig.hear("A", "98=0|108=30|141=Y|");
        assert!(rig.said().contains("|262=0.2|263=1|"));
        // One that is told to pass over numbers has missed as much.
        rig.hear("4", "123=Y|36=9|");
        assert!(rig.stream.is_broken());
        rig.open();
        rig.hear("A", "98=0|108=30|141=Y|");
        // A number that was there before is no session's.
        rig.next = 1;
        rig.hear("X", "55=A|262=0.3|268=0|");
        assert!(rig.stream.is_broken() && rig.heard.len() == 1);
        assert_eq!(rig.stream.last_refusal(), "MsgSeqNum was lower than expected");
    }

    #[test]
    fn what_is_refused_is_named_and_ends_nothing() {
        let (mut rig, _) = Rig::up(&["A", "B"]);
        rig.hear("Y", "262=1.1|281=0|58=Symbol (55) is unknown|");
        assert_eq!(rig.stream.last_refusal(), "B: Symbol (55) is unknown");
        rig.hear("3", "45=3|372=V|58=too_many_requests|");
        assert_eq!(rig.stream.last_refusal(), "too_many_requests");
        assert_eq!(rig.stream.counters().refused, 2);
        assert!(!rig.stream.is_broken() && rig.stream.is_settled());
        rig.hear("5", "58=good night|");
        assert!(rig.stream.is_broken());
        assert_eq!(rig.stream.last_refusal(), "good night");
    }

    #[test]
    fn an_id_that_cannot_be_repeated_ends_the_session() {
        let (mut rig, _) = Rig::up(&["A"]);
        rig.hear("1", "112=are you there|");
        assert!(rig.said().contains("|35=0|") && !rig.stream.is_broken());
        let mut message = rig.message("1", "112=x|");
        let at = message.windows(5).position(|it| it == b"112=x").unwrap() + 4;
        let tail = message.len() - 4..message.len() - 1;
        message[at] = 0xff;
        let sum = message[..tail.start - 3].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        message[tail].copy_from_slice(format!("{sum:03}").as_bytes());
        rig.bytes(&message);
        assert_eq!(rig.said(), "");
        assert!(rig.stream.is_broken());
    }

    #[test]
    fn a_silent_venue_and_one_that_does_not_answer_are_given_up() {
        let (mut rig, _) = Rig::up(&["A"]);
        rig.hear("W", "55=A|262=0.1|268=0|");
        // It is there, and sends no data.
        for _ in 0..2 {
            rig.wait(Nanos::from_secs(29));
            rig.hear("0", "");
            assert!(!rig.stream.is_broken());
        }
        rig.wait(Nanos::from_secs(2));
        assert!(rig.stream.is_broken());
        rig.open();
        rig.wait(Nanos::from_secs(9));
        assert!(!rig.stream.is_broken());
        rig.wait(Nanos::from_secs(2));
        assert!(rig.stream.is_broken());
        assert_eq!(rig.stream.last_refusal(), "no Logon in time");
    }

    #[test]
    fn a_name_that_is_too_long_is_refused() {
        let (rig, name) = (Rig::new(&[]), "A".repeat(40));
        let settings = DeribitFixStreamSettings {
            names: vec![name],
            sender: CompId::new(b"ME").unwrap(),
            target: CompId::new(b"DERIBITSERVER").unwrap(),
            credentials: Credentials::Deribit { client_id: String::new(), secret: String::new() },
            heartbeat_interval: Nanos::from_secs(30),
            silence: Nanos::from_secs(60),
        };
        let refused = DeribitFixStream::new(&settings).err();
        assert_eq!(refused, Some(GatewayError::InstrumentName));
        drop(rig);
    }
}
