//! A script of an acceptance suite: what a peer sends, and what must come back.
//!
//! A line's first letter says what it is: `i` and `e` are connections made, broken and expected to
//! break, `I` a message that is sent, `E` one that is expected; `1,` behind it names a connection.
//! In messages `<TIME>`, `<TIME+5>` are UTC, an absent length (9) and sum (10) are filled in, and
//! of what comes back times and sums need only have the right form.

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
const TIMES: [&str; 4] = ["42", "52", "60", "122"];

/// A script that was read.
pub struct Script {
    /// Its folder and name.
    pub name: String,
    pub lines: Vec<String>,
}

/// The numbers that a session has before its script begins: the next outgoing, the next incoming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    pub outgoing: u64,
    pub incoming: u64,
}

impl Script {
    pub fn new(name: String, text: &[u8]) -> Self {
        let lines = text.split(|&byte| byte == b'\n').map(|line| {
            let line: String = line.iter().copied().map(char::from).collect();
            line.trim_end_matches('\r').to_owned()
        });
        Self { name, lines: lines.filter(|line| !line.trim().is_empty()).collect() }
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
    pub fn play(&self, port: &str) -> Result<(), String> {
        let mut connections = BTreeMap::new();
        let mut outcome = Ok(());
        for (at, line) in (1..).zip(&self.lines) {
            outcome = step(&mut connections, line, port)
                .map_err(|why| format!("line {at}: {why}").replace('\x01', "|"));
            if outcome.is_err() {
                break;
            }
        }
        connections.into_values().for_each(Connection::close);
        outcome
    }
}

fn step(
    connections: &mut BTreeMap<char, Connection>,
    line: &str,
    port: &str,
) -> Result<(), String> {
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
        ("I", message) => named?.send(&completed(message))?,
        ("E", message) => {
            let told = named?.message()?;
            same(&completed(message), &told)?;
        }
        _ => return Err(format!("a line of another kind: {line}")),
    }
    Ok(())
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

/// The message with its times, its length and its sum.
fn completed(message: &str) -> String {
    let mut text = message.to_owned();
    while let Some(start) = text.find("<TIME") {
        let Some(end) = text[start..].find('>').map(|at| start + at) else { break };
        let offset: i64 = text[start + 5..end].parse().unwrap_or(0);
        text.replace_range(start..=end, &utc(offset));
    }
    let Some(first) = text.find('\x01').filter(|_| text.starts_with("8=")) else { return text };
    let sum = text.rfind("\x0110=").map(|at| at + 1);
    if !text.contains("\x019=") {
        let length = sum.unwrap_or(text.len()) - first - 1;
        text.insert_str(first + 1, &format!("9={length}\x01"));
    }
    if sum.is_none() {
        let sum = text.chars().fold(0u32, |sum, letter| sum + letter as u32) % 256;
        text += &format!("10={sum:03}\x01");
    }
    text
}

/// The time now, and so many seconds on.
fn utc(offset: i64) -> String {
    let now = taut_sys::utc() + Nanos::from_secs(offset);
    let text = StampCache::new(Precision::Seconds).text(now);
    String::from_utf8_lossy(text.as_bytes()).into_owned()
}

/// Whether a message is the expected one, field by field.
fn same(expected: &str, told: &str) -> Result<(), String> {
    let fields = |message: &str| -> Vec<(String, String)> {
        let fields = message.split('\x01').filter(|field| !field.is_empty());
        let split =
            |field: &str| field.split_once('=').map(|(tag, value)| (tag.into(), value.into()));
        fields.filter_map(split).collect()
    };
    let (wanted, given) = (fields(expected), fields(told));
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
    if alike { Ok(()) } else { Err(format!("expected {expected}, told {told}")) }
}
