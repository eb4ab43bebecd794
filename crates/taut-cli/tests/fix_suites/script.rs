//! A script of an acceptance suite: what a peer sends, and what must come back.
//!
//! A line's first letter says what it is: `i` and `e` are connections made, broken and expected to
//! break, `I` a message that is sent, `E` one that is expected; `1,` behind it names a connection.
//! In messages `<TIME>`, `<TIME+5>` are UTC, an absent length (9) and sum (10) are filled in, and
//! of what comes back times and sums need only have the right form. Each [`Dialect`] has the rules
//! by which its engine plays and compares.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use taut_fix::{Precision, StampCache};
use taut_types::Nanos;

/// How long an expected message, or the end of a connection, may take.
const DEADLINE: Duration = Duration::from_secs(20);
/// Fields of which only the form counts: the sum, and times.
const SUM: &str = "10";
/// Fields that QuickFIX/J's scripts do not hold to.
const LENGTH: &str = "9";
const TEXT: &str = "58";
const TIMES: [&str; 4] = ["42", "52", "60", "122"];

/// The engine that a script is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// QuickFIX and QuickFIX/Go: times have seconds, messages are compared field by field in their
    /// order.
    QuickFix,
    /// QuickFIX/J: times have this precision, and the seconds beside them are 1.1 s long; fields
    /// come in any order, with a length of their own, and a Text (58) may have other words. A line
    /// that is nothing else is a comment.
    QuickFixJ(Precision),
}

/// A script that was read.
pub struct Script {
    /// Its folder and name.
    pub name: String,
    pub lines: Vec<String>,
    pub dialect: Dialect,
}

/// What a script that ended as it says was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    AsExpected,
    /// Each message as expected, but for the words of a Text (58).
    InOtherWords,
}

/// The numbers that a session has before its script begins: the next outgoing, the next incoming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    pub outgoing: u64,
    pub incoming: u64,
}

impl Script {
    pub fn new(name: String, text: &[u8], dialect: Dialect) -> Self {
        let lines = text.split(|&byte| byte == b'\n').map(|line| {
            let line: String = line.iter().copied().map(char::from).collect();
            line.trim_end_matches('\r').to_owned()
        });
        let lines = lines.filter(|line| !line.trim().is_empty()).collect();
        Self { name, lines, dialect }
    }

    /// What `iSET_SESSION` lines ask for.
    pub fn numbers(&self) -> Option<Numbers> {
        let number = |key: &str| {
            let mut lines = self.lines.iter().filter(|line| line.starts_with("iSET_SESSION"));
            lines.find_map(|line| line.rsplit_once(key)?.1.trim().parse().ok())
        };
        let (outgoing, incoming) = (number("NEXTSENDERSEQNUM="), number("NEXTTARGETSEQNUM="));
        (outgoing.is_some() || incoming.is_some())
            .then(|| Numbers { outgoing: outgoing.unwrap_or(1), incoming: incoming.unwrap_or(1) })
    }

    /// Plays it against an acceptor.
    ///
    /// # Errors
    /// The line that did not come about, and why.
    pub fn play(&self, port: &str) -> Result<Ended, String> {
        let mut connections = BTreeMap::new();
        let mut outcome = Ok(Ended::AsExpected);
        for (at, line) in (1..).zip(&self.lines) {
            match self.step(&mut connections, line, port) {
                Ok(Ended::AsExpected) => {}
                Ok(Ended::InOtherWords) => outcome = Ok(Ended::InOtherWords),
                Err(why) => {
                    outcome = Err(format!("line {at}: {why}").replace('\x01', "|"));
                    break;
                }
            }
        }
        connections.into_values().for_each(Connection::close);
        outcome
    }

    fn step(
        &self,
        connections: &mut BTreeMap<char, Connection>,
        line: &str,
        port: &str,
    ) -> Result<Ended, String> {
        let (kind, rest) = line.split_at(1);
        let (id, rest) = match rest.split_once(',') {
            Some((id, rest)) if id.len() == 1 => (id.chars().next().unwrap_or('1'), rest),
            _ => ('1', rest),
        };
        let named = match kind {
            "I" | "E" | "e" => connections.get_mut(&id).ok_or("there is no such connection"),
            _ => Err("no connection is asked for"),
        };
        match (kind, rest) {
            ("#", _) => {}
            ("i", "CONNECT") => {
                connections.insert(id, Connection::open(port)?);
            }
            ("i", "DISCONNECT") => connections.remove(&id).map_or((), Connection::close),
            ("i", set) if set.starts_with("SET_SESSION") => {}
            ("e", "DISCONNECT") => named?.expect_end()?,
            ("I", message) => named?.send(&self.dialect.completed(message))?,
            ("E", message) => {
                let told = named?.message()?;
                return self.dialect.same(&self.dialect.completed(message), &told);
            }
            _ if self.dialect != Dialect::QuickFix => {}
            _ => return Err(format!("a line of another kind: {line}")),
        }
        Ok(Ended::AsExpected)
    }
}

struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
}

impl Connection {
    fn open(port: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(format!("127.0.0.1:{port}")).map_err(|e| e.to_string())?;
        stream.set_read_timeout(Some(DEADLINE)).map_err(|e| e.to_string())?;
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        Ok(Self { stream, input: Vec::new() })
    }

    fn send(&mut self, message: &str) -> Result<(), String> {
        let bytes: Vec<u8> = message.chars().map(|letter| letter as u32 as u8).collect();
        self.stream.write_all(&bytes).map_err(|error| format!("cannot send: {error}"))
    }

    /// The next message, up to the delimiter behind its sum.
    fn message(&mut self) -> Result<String, String> {
        loop {
            let sum = self.input.windows(4).position(|part| part == b"\x0110=").map(|at| at + 4);
            let end = sum.and_then(|from| {
                let behind = self.input.get(from..)?.iter().position(|&byte| byte == 1)?;
                Some(from + behind + 1)
            });
            if let Some(end) = end {
                return Ok(self.input.drain(..end).map(char::from).collect());
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err("disconnected instead of a message".to_owned()),
                Ok(count) => self.input.extend_from_slice(&bytes[..count]),
                Err(error) => return Err(format!("no message: {error}")),
            }
        }
    }

    fn expect_end(&mut self) -> Result<(), String> {
        let mut bytes = [0; 4096];
        let has_ended = self.input.is_empty()
            && match self.stream.read(&mut bytes) {
                Ok(0) => true,
                Ok(count) => {
                    self.input.extend_from_slice(&bytes[..count]);
                    false
                }
                Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
            };
        let told: String = self.input.iter().copied().map(char::from).collect();
        if has_ended { Ok(()) } else { Err(format!("still connected, and told {told}")) }
    }

    /// Closes it, and waits until the acceptor has: the next script has the same identity.
    fn close(mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        let mut bytes = [0; 4096];
        while matches!(self.stream.read(&mut bytes), Ok(1..)) {}
    }
}

impl Dialect {
    /// The message with its times, its length and its sum.
    fn completed(self, message: &str) -> String {
        let mut text = message.to_owned();
        while let Some(start) = text.find("<TIME") {
            let Some(end) = text[start..].find('>').map(|at| start + at) else { break };
            let offset: i64 = text[start + 5..end].parse().unwrap_or(0);
            text.replace_range(start..=end, &self.utc(offset, message));
        }
        let sum = text.rfind("\x0110=").map(|at| at + 1);
        if let Some(first) = text.find('\x01').filter(|_| text.starts_with("8=")) {
            if !text.contains("\x019=") {
                let length = sum.unwrap_or(text.len()) - first - 1;
                text.insert_str(first + 1, &format!("9={length}\x01"));
            }
        } else if self == Self::QuickFix {
            return text;
        }
        match sum {
            None => {
                let sum = text.chars().fold(0u32, |sum, letter| sum + letter as u32) % 256;
                text += &format!("10={sum:03}\x01");
            }
            Some(_) if self != Self::QuickFix && text.ends_with("\x0110=0\x01") => {
                text.replace_range(text.len() - 2.., "000\x01");
            }
            Some(_) => {}
        }
        text
    }

    /// The time now, and so many seconds on, for this message.
    fn utc(self, offset: i64, message: &str) -> String {
        let is_old = ["8=FIX.4.0", "8=FIX.4.1"].iter().any(|begin| message.starts_with(begin));
        let (precision, second) = match self {
            Self::QuickFix => (Precision::Seconds, 1_000),
            Self::QuickFixJ(_) if is_old => (Precision::Seconds, 1_100),
            Self::QuickFixJ(precision) => (precision, 1_100),
        };
        let now = taut_sys::utc() + Nanos::from_millis(offset * second);
        let text = StampCache::new(precision).text(now);
        String::from_utf8_lossy(text.as_bytes()).into_owned()
    }

    /// Whether a message is the expected one, field by field.
    fn same(self, expected: &str, told: &str) -> Result<Ended, String> {
        let fields = |message: &str| -> Vec<(String, String)> {
            let fields = message.split('\x01').filter(|field| !field.is_empty());
            let split =
                |field: &str| field.split_once('=').map(|(tag, value)| (tag.into(), value.into()));
            fields.filter_map(split).collect()
        };
        let (mut wanted, mut given) = (fields(expected), fields(told));
        let mut ended = Ended::AsExpected;
        if self != Self::QuickFix {
            let length = |fields: &[(String, String)]| {
                let head_and_sum = ["8", "9", "10"];
                let body = fields.iter().filter(|(tag, _)| !head_and_sum.contains(&tag.as_str()));
                body.map(|(tag, value)| tag.len() + value.len() + 2).sum::<usize>().to_string()
            };
            let own = length(&given);
            let says = given.iter().find(|(tag, _)| tag == LENGTH).map(|(_, value)| value.clone());
            if says != Some(own) {
                return Err(format!("told {told} with a length (9) that is not its own"));
            }
            let no_length = |(tag, _): &(String, String)| tag != LENGTH;
            wanted.retain(no_length);
            given.retain(no_length);
            let text = |fields: &[(String, String)]| {
                fields.iter().find(|(tag, _)| tag == TEXT).map(|(_, value)| value.clone())
            };
            let (want, told) = (text(&wanted), text(&given));
            if told != want && (told.is_some() || want.is_some()) {
                ended = Ended::InOtherWords;
            }
            let no_text = |(tag, _): &(String, String)| tag != TEXT;
            wanted.retain(no_text);
            // A time that a script does not name may come.
            let is_wanted = |tag: &str| wanted.iter().any(|(wanted, _)| wanted == tag);
            given.retain(|field| {
                let (tag, _) = field;
                no_text(field) && (is_wanted(tag) || !TIMES.contains(&tag.as_str()))
            });
            wanted.sort();
            given.sort();
        }
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let has_form = |tag: &str, value: &str, wanted: &str| match tag {
            SUM => value.len() == 3 && is_digits(value),
            _ if TIMES.contains(&tag) => {
                let date = value.get(..8).is_some_and(is_digits);
                date && value.as_bytes().get(8) == Some(&b'-') && value.len() >= 17
            }
            _ => value == wanted,
        };
        let alike = wanted.len() == given.len()
            && wanted.iter().zip(&given).all(|((wanted_tag, wanted), (tag, value))| {
                wanted_tag == tag && has_form(tag, value, wanted)
            });
        if alike { Ok(ended) } else { Err(format!("expected {expected}, told {told}")) }
    }
}
