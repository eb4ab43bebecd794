//! For tests: an interface, an engine for each of its markets, and a clock.

use std::collections::BTreeMap;

use serde_json::Value;
use taut_engine::{Engine, EngineConfig};
use taut_fix::Now;
use taut_types::Nanos;

use crate::front::{Front, Output};

/// An answer to an HTTP request.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Value,
}

pub struct Rig<F> {
    pub front: F,
    pub engines: Vec<Engine>,
    pub now: Now,
    pub next_id: u64,
    /// What came for each connection, in order, and was not taken.
    pub inbox: BTreeMap<u64, Vec<Value>>,
    /// The same as text.
    pub texts: BTreeMap<u64, Vec<String>>,
    /// Binary messages.
    pub messages: BTreeMap<u64, Vec<Vec<u8>>>,
    /// What came over FIX.
    pub bytes: BTreeMap<u64, Vec<u8>>,
    /// Answers to HTTP requests.
    pub answers: Vec<Answer>,
    pub closed: Vec<u64>,
    /// Looks at every WebSocket message.
    pub look: fn(&Value),
}

impl<F: Front> Rig<F> {
    pub fn of(front: F, markets: usize) -> Self {
        let sizes = EngineConfig { order_capacity: 256, level_capacity: 128 };
        Self {
            front,
            engines: (0..markets).map(|_| Engine::new(sizes)).collect(),
            now: Now { mono: Nanos(1), utc: Nanos::from_secs(1_790_000_000) },
            next_id: 1,
            inbox: BTreeMap::new(),
            texts: BTreeMap::new(),
            messages: BTreeMap::new(),
            bytes: BTreeMap::new(),
            answers: Vec::new(),
            closed: Vec::new(),
            look: |_| {},
        }
    }

    pub fn pass(&mut self, millis: i64) {
        let span = Nanos::from_millis(millis);
        self.now = Now { mono: self.now.mono + span, utc: self.now.utc + span };
        self.pump();
    }

    /// Serves everything and takes what is sent.
    pub fn pump(&mut self) {
        while let Some((place, command)) = self.front.next_command(self.now) {
            let mut events = Vec::new();
            self.engines[place].execute(command, &mut |event| events.push(event));
            self.front.on_events(self.now, place, &events);
        }
        self.front.on_time(self.now);
        while let Some(output) = self.front.poll_output() {
            match output {
                Output::Text { connection, text } => {
                    let value = serde_json::from_str(&text).expect("JSON");
                    (self.look)(&value);
                    self.inbox.entry(connection).or_default().push(value);
                    self.texts.entry(connection).or_default().push(text);
                }
                Output::Message { connection, bytes } => {
                    self.messages.entry(connection).or_default().push(bytes);
                }
                Output::Answer { connection, status, headers, body } => {
                    let body: Value = serde_json::from_str(&body).expect("JSON");
                    self.inbox.entry(connection).or_default().push(body.clone());
                    self.answers.push(Answer { status, headers, body });
                }
                Output::Bytes { connection, bytes } => {
                    self.bytes.entry(connection).or_default().extend(bytes);
                }
                Output::Close { connection } | Output::Torn { connection, .. } => {
                    self.closed.push(connection);
                    self.front.closed(self.now, connection);
                }
            }
        }
    }
}

/// SendingTime (52) of every message.
pub const STAMP: &str = "20260921-14:13:20.000";

/// A client of a FIX port, which counts its messages; `|` stands for SOH.
pub struct FixClient {
    pub connection: u64,
    pub name: &'static str,
    server: &'static str,
    next: u64,
}

impl FixClient {
    pub fn open<F: Front>(
        rig: &mut Rig<F>,
        connection: u64,
        name: &'static str,
        server: &'static str,
    ) -> Self {
        assert!(rig.front.open_fix(rig.now, connection));
        Self { connection, name, server, next: 1 }
    }

    /// The next message, as bytes.
    pub fn message(&mut self, kind: &str, fields: &str) -> Vec<u8> {
        let Self { name, server, next, .. } = *self;
        self.next += 1;
        let body = format!("35={kind}|34={next}|49={name}|52={STAMP}|56={server}|{fields}");
        let body = body.replace('|', "\u{1}");
        let mut message = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len());
        let sum = message.bytes().fold(0_u8, |sum, byte| sum.wrapping_add(byte));
        message.push_str(&format!("10={sum:03}\u{1}"));
        message.into_bytes()
    }

    /// Says a message; what comes, message by message.
    pub fn say<F: Front>(&mut self, rig: &mut Rig<F>, kind: &str, fields: &str) -> Vec<String> {
        let message = self.message(kind, fields);
        self.bytes(rig, &message)
    }

    pub fn bytes<F: Front>(&self, rig: &mut Rig<F>, bytes: &[u8]) -> Vec<String> {
        rig.front.bytes(rig.now, self.connection, bytes, None);
        rig.pump();
        self.take(rig)
    }

    /// What has come since.
    pub fn take<F: Front>(&self, rig: &mut Rig<F>) -> Vec<String> {
        let bytes = rig.bytes.remove(&self.connection).unwrap_or_default();
        let text = String::from_utf8(bytes).expect("text").replace('\u{1}', "|");
        let parts = text.split("8=FIX.4.4|").filter(|part| !part.is_empty());
        parts.map(|part| format!("|{part}")).collect()
    }
}

/// The value of this tag, empty without it.
pub fn value<'a>(message: &'a str, tag: &str) -> &'a str {
    let start = format!("{tag}=");
    message.split('|').find_map(|field| field.strip_prefix(&start)).unwrap_or_default()
}

/// The values of these tags.
pub fn values<'a, const N: usize>(message: &'a str, tags: [&str; N]) -> [&'a str; N] {
    tags.map(|tag| value(message, tag))
}
