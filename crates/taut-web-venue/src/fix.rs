//! A connection to a venue's FIX port: the session, and its messages as fields.

use taut_fix::{
    BeginString, CompId, DataTags, Delivery, Event, Extras, FieldIndex, FixError, Hooks, Link,
    LinkConfig, LogonContext, MESSAGE_BYTES_MAX, MemoryStore, Now, Peek, Precision, Role, Session,
    SessionConfig, StampCache, Writer, lead_with_msg_type, peek,
};
use taut_types::Nanos;

/// How long a connection may stay without a Logon.
const LOGON: Nanos = Nanos::from_secs(10);
/// Reports of a sweep wait here until they are sent, which is at once.
const OUTBOX_BYTES: usize = 1 << 20;
/// The longest message: a whole book.
const SENT_BYTES_MAX: usize = 1 << 18;
const FIELDS_MAX: usize = 128;

/// How a venue speaks FIX 4.4.
#[derive(Debug)]
pub struct FixDialect {
    /// The venue's CompID.
    pub server: &'static str,
    /// The longest SenderCompID (49), of letters, digits, - and _.
    pub sender_bytes_max: usize,
    /// Of SendingTime (52).
    pub precision: Precision,
    /// MsgType (35) need not be the third field.
    pub msg_type_anywhere: bool,
    /// What a Logon is answered with, behind the session's own fields.
    pub logon_answer: &'static [(i32, &'static [u8])],
}

/// A message of a client, without what frames it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixMessage {
    /// MsgType (35).
    pub kind: String,
    /// Its fields in their order, groups as they came.
    pub fields: Vec<(i32, String)>,
}

impl FixMessage {
    /// The first field with this tag.
    pub fn get(&self, tag: i32) -> Option<&str> {
        self.all(tag).next()
    }

    /// Its text, empty without it.
    pub fn text(&self, tag: i32) -> &str {
        self.get(tag).unwrap_or_default()
    }

    /// The fields with this tag, which a group repeats.
    pub fn all(&self, tag: i32) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(it, _)| *it == tag).map(|(_, value)| value.as_str())
    }

    pub fn has(&self, tag: i32) -> bool {
        self.get(tag).is_some()
    }

    /// The fields of it that its answer repeats.
    pub fn same(&self, tags: &[i32]) -> Vec<(i32, String)> {
        tags.iter().filter_map(|tag| Some((*tag, self.get(*tag)?.to_owned()))).collect()
    }
}

/// What a client said.
#[derive(Debug)]
pub enum Heard {
    /// To be [refused](FixSession::refuse_logon), or else it is up.
    Logon(FixMessage),
    Message(FixMessage),
    Logout(FixMessage),
}

/// A connection; `L` is who has logged on.
#[derive(Debug)]
pub struct FixSession<L> {
    dialect: &'static FixDialect,
    /// What came before the Logon was whole.
    first: Vec<u8>,
    link: Option<Link<MemoryStore, Answering>>,
    index: FieldIndex,
    since: Nanos,
    pub logon: Option<L>,
    is_over: bool,
    /// That was said.
    has_ended: bool,
}

/// Adds to the Logon's answer what the venue says there.
#[derive(Debug)]
struct Answering(&'static FixDialect);

impl Hooks for Answering {
    fn write_logon(&mut self, _context: &LogonContext, writer: &mut Writer<'_>) {
        self.0.logon_answer.iter().for_each(|(tag, value)| writer.field(*tag, value));
    }
}

impl<L> FixSession<L> {
    pub fn new(dialect: &'static FixDialect, now: Nanos) -> Self {
        Self {
            dialect,
            first: Vec::new(),
            link: None,
            index: FieldIndex::with_capacity(FIELDS_MAX),
            since: now,
            logon: None,
            is_over: false,
            has_ended: false,
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
            let field = |slot: &taut_fix::Slot| {
                let value = String::from_utf8_lossy(slot.value(message.bytes));
                (slot.tag, value.into_owned())
            };
            let read = || FixMessage {
                kind: String::from_utf8_lossy(message.value(35).unwrap_or_default()).into_owned(),
                fields: message.slots.iter().map(field).collect(),
            };
            match event {
                Event::LoggedOn => return Some(Heard::Logon(read())),
                Event::LoggedOut => return Some(Heard::Logout(read())),
                Event::Application { .. } => return Some(Heard::Message(read())),
                _ => {}
            }
        }
    }

    /// A session for whoever the Logon names; what is no Logon is not answered.
    fn begin(&mut self, now: Now) {
        let FixDialect { server, sender_bytes_max, precision, msg_type_anywhere, .. } =
            *self.dialect;
        let names = |sender: &[u8], target: &[u8]| {
            let is_named = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            let is_right = sender.len() <= sender_bytes_max
                && sender.iter().all(is_named)
                && target == server.as_bytes();
            CompId::new(sender).filter(|_| is_right).zip(CompId::new(server.as_bytes()))
        };
        if msg_type_anywhere {
            lead_with_msg_type(&mut self.first);
        }
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
            precision,
            sending_time_tolerance: Nanos::ZERO,
            ..SessionConfig::new(Role::Acceptor, BeginString::Fix44, us, client)
        };
        let sizes = LinkConfig {
            inbox_bytes_max: 1 << 22,
            outbox_bytes_max: OUTBOX_BYTES,
            msg_type_anywhere,
            ..LinkConfig::fixed(2 * MESSAGE_BYTES_MAX, OUTBOX_BYTES, SENT_BYTES_MAX)
        };
        let session = Session::new(config, MemoryStore::new(1, 256));
        let mut link = Link::with_hooks(session, &sizes, Answering(self.dialect));
        link.connect(now);
        self.is_over |= !link.receive(&std::mem::take(&mut self.first));
        self.link = Some(link);
    }

    pub fn send(&mut self, now: Now, kind: &str, fields: &[(i32, String)]) {
        let Some(link) = &mut self.link else { return };
        // One that is not up is told nothing.
        let sent = link.outbox(now).send(kind.as_bytes(), Extras::default(), |writer| {
            fields.iter().for_each(|(tag, value)| writer.field(*tag, value.as_bytes()));
        });
        // A message that does not fit would be missed: the end is better.
        self.is_over |= matches!(sent, Err(FixError::Limit(_)));
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

    /// Whether the connection ends when that has left; says so once.
    pub fn ends(&mut self) -> bool {
        let is_over = self.is_over || self.link.as_ref().is_some_and(Link::is_closed);
        is_over && !std::mem::replace(&mut self.has_ended, true)
    }

    pub fn handle_timeout(&mut self, now: Now) {
        if self.due().is_none_or(|due| now.mono < due) {
            return;
        }
        match &mut self.link {
            None => self.is_over = true,
            // Its end shows in `ends`.
            Some(link) => drop(link.handle_timeout(now)),
        }
    }

    pub fn due(&self) -> Option<Nanos> {
        match &self.link {
            _ if self.has_ended => None,
            None => Some(self.since + LOGON),
            Some(link) => link.poll_timeout(),
        }
    }
}

/// A time of UTC in milliseconds, as FIX writes it.
pub fn timestamp(ms: i64, precision: Precision) -> String {
    let text = StampCache::new(precision).text(Nanos::from_millis(ms));
    String::from_utf8_lossy(text.as_bytes()).into_owned()
}
