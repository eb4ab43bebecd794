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
    /// What came over FIX.
    pub bytes: BTreeMap<u64, Vec<u8>>,
    /// Answers to HTTP requests.
    pub answers: Vec<Answer>,
    pub closed: Vec<u64>,
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
            bytes: BTreeMap::new(),
            answers: Vec::new(),
            closed: Vec::new(),
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
                    self.inbox.entry(connection).or_default().push(value);
                    self.texts.entry(connection).or_default().push(text);
                }
                Output::Answer { connection, status, headers, body } => {
                    let body: Value = serde_json::from_str(&body).expect("JSON");
                    self.inbox.entry(connection).or_default().push(body.clone());
                    self.answers.push(Answer { status, headers, body });
                }
                Output::Bytes { connection, bytes } => {
                    self.bytes.entry(connection).or_default().extend(bytes);
                }
                Output::Close { connection } => {
                    self.closed.push(connection);
                    self.front.closed(self.now, connection);
                }
            }
        }
    }
}
