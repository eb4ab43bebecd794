//! A connection to the FIX port: whose session it is, and its bytes.

use std::collections::{BTreeMap, VecDeque};

use taut_fix::{
    BeginString, CompId, DataTags, Delivery, Event, Extras, FieldIndex, Hooks, Link, LinkConfig,
    LogonContext, MESSAGE_BYTES_MAX, MemoryStore, Now, Peek, Precision, Role, Session,
    SessionConfig, Writer, peek,
};
use taut_types::Nanos;

use crate::binance::methods::FixRequest;

/// The venue's CompID.
const SERVER: &str = "SPOT";
/// What the venue calls the process that serves the session: UUID (25037).
const PROCESS: &[u8] = b"4392a152-3481-4499-921a-6d42c50702e2";
/// The longest SenderCompID (49).
const SENDER_BYTES_MAX: usize = 8;
/// HeartBtInt (108) that is taken, in seconds.
const HEARTBEAT_S: std::ops::RangeInclusive<u32> = 5..=60;
/// Messages of a client in ten seconds.
pub const MESSAGES_MAX: u32 = 10_000;
pub const MESSAGES_WITHIN: Nanos = Nanos::from_secs(10);
/// How long a connection may stay without a Logon.
const LOGON: Nanos = Nanos::from_secs(10);
/// Reports of a sweep wait here until they are sent, which is at once.
const OUTBOX_BYTES: usize = 1 << 20;
const FIELDS_MAX: usize = 128;

/// A connection.
#[derive(Debug)]
pub struct FixSession {
    /// What came before the Logon was whole.
    first: Vec<u8>,
    link: Option<Link<MemoryStore, Answering>>,
    index: FieldIndex,
    since: Nanos,
    /// Who has logged on.
    pub logon: Option<FixLogon>,
    /// When its last messages came.
    arrivals: VecDeque<Nanos>,
    is_over: bool,
}

/// Who has logged on, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixLogon {
    pub account: usize,
    pub sender: String,
    /// ResponseMode (25036) ONLY_ACKS.
    pub only_acks: bool,
    /// DropCopyFlag (9406): it only listens.
    pub is_drop_copy: bool,
}

/// What a client said.
#[derive(Debug)]
pub enum Heard {
    Logon(Credentials),
    Request(FixRequest),
    /// A message of a type that is not served.
    Other(FixRequest),
}

/// What a Logon says of who it is.
#[derive(Debug)]
pub struct Credentials {
    pub key: String,
    pub signature: String,
    /// What is signed.
    pub text: String,
    pub sender: String,
    pub only_acks: bool,
    pub is_drop_copy: bool,
    /// What is missing in it or wrong, without its key.
    pub problem: Option<&'static str>,
}

/// Adds to the Logon's answer what the venue says there.
#[derive(Debug)]
struct Answering;

impl Hooks for Answering {
    fn write_logon(&mut self, _context: &LogonContext, writer: &mut Writer<'_>) {
        writer.field(25_037, PROCESS);
    }
}

impl FixSession {
    pub fn new(now: Nanos) -> Self {
        Self {
            first: Vec::new(),
            link: None,
            index: FieldIndex::with_capacity(FIELDS_MAX),
            since: now,
            logon: None,
            arrivals: VecDeque::new(),
            is_over: false,
        }
    }

    /// The next thing that a client says in these bytes, and before them.
    pub fn next(&mut self, now: Now, bytes: &mut &[u8]) -> Option<Heard> {
        if self.link.is_none() {
            self.first.extend_from_slice(std::mem::take(bytes));
            self.begin(now);
        }
        let Self { link, index, .. } = self;
        let link = link.as_mut()?;
        loop {
            let Delivery { event, message, .. } = link.handle_bytes(now, bytes, index)?;
            let value = |tag| {
                let text = message.value(tag).unwrap_or_default();
                String::from_utf8_lossy(text).into_owned()
            };
            match event {
                Event::LoggedOn => {
                    let names = ["A".to_owned(), value(49), value(56), value(34), value(52)];
                    let heartbeat = value(108).parse().ok();
                    let problem = match (value(141).as_str(), value(25_035).as_str(), heartbeat) {
                        (_, _, heartbeat)
                            if !heartbeat.is_some_and(|it| HEARTBEAT_S.contains(&it)) =>
                        {
                            Some("HeartBtInt (108) must be within [5, 60].")
                        }
                        ("Y", "1" | "2", _) => None,
                        ("Y", ..) => Some("MessageHandling (25035) must be 1 or 2."),
                        _ => Some("ResetSeqNumFlag (141) must be Y."),
                    };
                    return Some(Heard::Logon(Credentials {
                        key: value(553),
                        signature: value(96),
                        text: names.join("\u{1}"),
                        sender: value(49),
                        only_acks: value(25_036) == "2",
                        is_drop_copy: value(9406) == "Y",
                        problem,
                    }));
                }
                Event::Application { .. } => {
                    let field = |slot: &taut_fix::Slot| {
                        let value = String::from_utf8_lossy(slot.value(message.bytes));
                        (slot.tag, value.into_owned())
                    };
                    let fields: BTreeMap<i32, String> = message.slots.iter().map(field).collect();
                    let kind = value(35);
                    let is_served =
                        matches!(kind.as_str(), "D" | "F" | "XCN" | "XAK" | "q" | "XLQ");
                    let request = FixRequest { sequence: value(34), kind, fields };
                    return Some(match is_served {
                        true => Heard::Request(request),
                        false => Heard::Other(request),
                    });
                }
                _ => {}
            }
        }
    }

    /// A session for whoever the Logon names; what is no Logon is not answered.
    fn begin(&mut self, now: Now) {
        let names = |sender: &[u8], target: &[u8]| {
            let is_named = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            let is_right = sender.len() <= SENDER_BYTES_MAX
                && sender.iter().all(is_named)
                && target == SERVER.as_bytes();
            CompId::new(sender).filter(|_| is_right).zip(CompId::new(SERVER.as_bytes()))
        };
        let tags = DataTags::STANDARD;
        let names = match peek(&self.first, MESSAGE_BYTES_MAX, &mut self.index, tags) {
            Peek::NeedMore => return,
            Peek::Logon { begin: BeginString::Fix44, sender, target } => names(sender, target),
            _ => None,
        };
        let Some((client, us)) = names else {
            self.is_over = true;
            return;
        };
        let config = SessionConfig {
            reset_on_logon: true,
            precision: Precision::Micros,
            sending_time_tolerance: Nanos::ZERO,
            ..SessionConfig::new(Role::Acceptor, BeginString::Fix44, us, client)
        };
        let sizes = LinkConfig {
            inbox_bytes_max: 1 << 22,
            outbox_bytes_max: OUTBOX_BYTES,
            ..LinkConfig::fixed(2 * MESSAGE_BYTES_MAX, OUTBOX_BYTES, 4_096)
        };
        let session = Session::new(config, MemoryStore::new(1, 256));
        let mut link = Link::with_hooks(session, &sizes, Answering);
        link.connect(now);
        self.is_over |= !link.receive(&std::mem::take(&mut self.first));
        self.link = Some(link);
    }

    /// Whether a message more is one too many.
    pub fn is_too_fast(&mut self, now: Nanos) -> bool {
        while self.arrivals.front().is_some_and(|at| now.since(*at) >= MESSAGES_WITHIN) {
            self.arrivals.pop_front();
        }
        self.arrivals.push_back(now);
        self.arrivals.len() > MESSAGES_MAX as usize
    }

    /// Messages of the last ten seconds.
    pub fn messages(&self) -> usize {
        self.arrivals.len()
    }

    pub fn send(&mut self, now: Now, kind: &str, fields: &[(i32, String)]) {
        let Some(link) = &mut self.link else { return };
        // One that is not up is told nothing.
        let _ = link.outbox(now).send(kind.as_bytes(), Extras::default(), |writer| {
            fields.iter().for_each(|(tag, value)| writer.field(*tag, value.as_bytes()));
        });
    }

    pub fn refuse_logon(&mut self, now: Now, text: &'static str) {
        if let Some(link) = &mut self.link {
            link.outbox(now).refuse_logon(text);
        }
    }

    pub fn log_out(&mut self, now: Now, text: &'static str) {
        if let Some(link) = &mut self.link {
            link.outbox(now).log_out(text);
        }
    }

    /// What leaves now.
    pub fn transmit(&mut self, now: Now) -> Vec<u8> {
        let Some(link) = &mut self.link else { return Vec::new() };
        let bytes = link.poll_transmit(now).to_vec();
        link.transmitted(bytes.len());
        bytes
    }

    /// Whether the connection ends when that has left.
    pub fn is_over(&self) -> bool {
        self.is_over || self.link.as_ref().is_some_and(Link::is_closed)
    }

    pub fn handle_timeout(&mut self, now: Now) {
        if self.due().is_none_or(|due| now.mono < due) {
            return;
        }
        match &mut self.link {
            None => self.is_over = true,
            // Its end shows in `is_over`.
            Some(link) => drop(link.handle_timeout(now)),
        }
    }

    pub fn due(&self) -> Option<Nanos> {
        match &self.link {
            None => Some(self.since + LOGON),
            Some(link) => link.poll_timeout(),
        }
    }
}
