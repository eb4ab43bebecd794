//! `tcp://H:P` and `ipc://PATH`: ZMTP.

use std::fmt;
use std::path::PathBuf;

use taut_types::Nanos;

use crate::uri::endpoint::{ENDPOINT, Endpoint};
use crate::uri::error::UriError;
use crate::uri::parameters::Parameters;
use crate::uri::value;

const PARAMETERS: &[&str] = &[
    "bind",
    "connect",
    "pattern",
    "subscribe",
    "hwm",
    "on-full",
    "curve",
    "plain",
    "heartbeat",
    "cache",
    "so-sndbuf",
    "so-rcvbuf",
];

/// Where a ZMTP channel is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZmtpAddress {
    /// TCP.
    Tcp(Endpoint),
    /// A Unix socket; a path that begins with `@` is in the abstract name space.
    Unix(String),
}

/// Who binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZmtpEnd {
    /// This end binds, and takes any number of peers.
    Bind,
    /// This end connects, and again when the connection is lost.
    Connect,
}

/// The messaging pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// Every subscriber gets what it subscribed to.
    #[default]
    PubSub,
    /// Every message goes to one of the pullers, in turn.
    PushPull,
}

/// What happens to a message when a subscriber's queue is at its high-water mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFull {
    /// The publisher is told that there is no room.
    Block,
    /// The message is not queued, and counted.
    #[default]
    DropNewest,
    /// The oldest message of the queue makes room, and is counted.
    DropOldest,
    /// Only the newest message is kept; the others are counted.
    Conflate,
}

/// A ZMTP channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZmtpUri {
    /// Where it is.
    pub address: ZmtpAddress,
    /// Who binds; by default the publishing end.
    pub end: Option<ZmtpEnd>,
    /// The pattern.
    pub pattern: Pattern,
    /// Prefixes that a subscriber asks for; none given means everything.
    pub subscribe: Vec<Vec<u8>>,
    /// Messages that wait for one subscriber at most.
    pub hwm: Option<usize>,
    /// What happens at that mark.
    pub on_full: OnFull,
    /// A file of mode 0600 with CURVE's keys.
    pub curve: Option<PathBuf>,
    /// A file of mode 0600 with PLAIN's user and password.
    pub plain: Option<PathBuf>,
    /// The heartbeat's interval; 0 turns it off.
    pub heartbeat: Option<Nanos>,
    /// Topics whose last message a late joiner gets.
    pub cache: Option<usize>,
    /// SO_SNDBUF.
    pub send_buffer_bytes: Option<usize>,
    /// SO_RCVBUF.
    pub receive_buffer_bytes: Option<usize>,
}

impl ZmtpUri {
    /// What follows `tcp://`.
    pub(crate) fn tcp(rest: &str) -> Result<Self, UriError> {
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let wrong = || UriError::Name { found: format!("tcp://{place}"), wanted: ENDPOINT };
        // As libzmq writes it, a star is every address.
        let place = place.replacen('*', "0.0.0.0", usize::from(place.starts_with("*:")));
        let endpoint = Endpoint::parse(&place).ok_or_else(wrong)?;
        Self::with(ZmtpAddress::Tcp(endpoint), query)
    }

    /// What follows `ipc://`.
    pub(crate) fn unix(rest: &str) -> Result<Self, UriError> {
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if path.is_empty() || path.len() > taut_sys::UNIX_NAME_BYTES_MAX {
            let wanted = "ipc://PATH with a path of 1 to 107 bytes";
            return Err(UriError::Name { found: format!("ipc://{path}"), wanted });
        }
        Self::with(ZmtpAddress::Unix(path.to_owned()), query)
    }

    fn with(address: ZmtpAddress, query: &str) -> Result<Self, UriError> {
        let given = Parameters::split(query, &['&'], PARAMETERS, &["subscribe"])?;
        let end = match (flag(&given, "bind")?, flag(&given, "connect")?) {
            (true, true) => return Err(UriError::Conflict { name: "bind", other: "connect" }),
            (true, false) => Some(ZmtpEnd::Bind),
            (false, true) => Some(ZmtpEnd::Connect),
            (false, false) => None,
        };
        if given.has("curve") && given.has("plain") {
            return Err(UriError::Conflict { name: "curve", other: "plain" });
        }
        let prefix = |text: &str| {
            let wanted = "a prefix whose odd bytes are written as %XX";
            let found = || UriError::Value { name: "subscribe", found: text.to_owned(), wanted };
            value::unescaped(text).ok_or_else(found)
        };
        let count = |text: &str| usize::try_from(value::whole(text)?).ok().filter(|n| *n > 0);
        let bytes = |text: &str| usize::try_from(value::size(text)?).ok().filter(|n| *n > 0);
        let file = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
        Ok(Self {
            address,
            end,
            pattern: given.value("pattern", "pubsub or pushpull", pattern)?.unwrap_or_default(),
            subscribe: given.texts("subscribe").map(prefix).collect::<Result<_, _>>()?,
            hwm: given.value("hwm", "a number of messages, at least 1", count)?,
            on_full: given.value("on-full", ON_FULL, on_full)?.unwrap_or_default(),
            curve: given.value("curve", "a file", file)?,
            plain: given.value("plain", "a file", file)?,
            heartbeat: given.value("heartbeat", value::SPAN, value::span)?,
            cache: given.value("cache", "a number of topics, at least 1", count)?,
            send_buffer_bytes: given.value("so-sndbuf", value::SIZE, bytes)?,
            receive_buffer_bytes: given.value("so-rcvbuf", value::SIZE, bytes)?,
        })
    }
}

const ON_FULL: &str = "block, drop-newest, drop-oldest or conflate";

fn on_full(text: &str) -> Option<OnFull> {
    Some(match text {
        "block" => OnFull::Block,
        "drop-newest" => OnFull::DropNewest,
        "drop-oldest" => OnFull::DropOldest,
        "conflate" => OnFull::Conflate,
        _ => return None,
    })
}

fn pattern(text: &str) -> Option<Pattern> {
    match text {
        "pubsub" => Some(Pattern::PubSub),
        "pushpull" => Some(Pattern::PushPull),
        _ => None,
    }
}

/// `?bind` alone means true.
fn flag(given: &Parameters<'_>, name: &'static str) -> Result<bool, UriError> {
    let read = |text: &str| if text.is_empty() { Some(true) } else { value::switch(text) };
    Ok(given.value(name, value::SWITCH, read)?.unwrap_or(false))
}

impl fmt::Display for ZmtpUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            ZmtpAddress::Tcp(endpoint) => write!(f, "tcp://{endpoint}"),
            ZmtpAddress::Unix(path) => write!(f, "ipc://{path}"),
        }
    }
}
