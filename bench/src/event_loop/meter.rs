//! What a client measures: latencies, order, system calls, CPU.

use serde::Serialize;
use taut_io::Calls;
use taut_lat::{Recorder, View};
use taut_report::Figures;
use taut_sys::{Usage, monotonic, thread_usage};
use taut_types::Nanos;

use super::message::Message;

/// What a client reports. The order of the fields is the order of the keys, and part of the
/// interface.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub backend: String,
    pub wait: String,
    pub connections: u32,
    pub rate: u32,
    pub count: u64,
    pub out_of_sequence: u64,
    pub latency_ns: Figures,
    pub intended_ns: Figures,
    pub syscalls_per_message: f64,
    pub idle_calls_per_message: f64,
    pub cpu_percent: f64,
    pub context_switches: u64,
}

/// How often the client looks at what it has used: messages. Asking costs two system calls.
const USAGE_EVERY: u64 = 256;

/// One moment of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    at: Nanos,
    calls: Calls,
    usage: Usage,
    /// Messages so far, counted or not.
    messages: u64,
}

/// A message being put together, and the sequence of its connection.
#[derive(Clone, Debug, Default)]
struct Connection {
    expected: u64,
    partial: Vec<u8>,
}

/// Measures.
pub struct Meter<'m> {
    size: usize,
    warm_up: u64,
    connections: Vec<Connection>,
    latency: Recorder<'m>,
    intended: Recorder<'m>,
    words: [&'m [taut_sync::atomic::AtomicU64]; 2],
    messages: u64,
    count: u64,
    out_of_sequence: u64,
    first: Option<Moment>,
    last: Moment,
}

/// The warm-up of a connection, in messages.
pub const fn warm_up(rate: u32) -> u64 {
    if rate < 100 { 10 } else { 100 }
}

impl<'m> Meter<'m> {
    /// A meter for so many connections; `words` are two empty histograms.
    pub fn new(
        connections: u32,
        rate: u32,
        size: usize,
        words: [&'m [taut_sync::atomic::AtomicU64]; 2],
    ) -> Option<Self> {
        let connection = Connection { expected: 0, partial: Vec::with_capacity(size) };
        Some(Self {
            size,
            warm_up: warm_up(rate),
            connections: vec![connection; connections as usize],
            latency: Recorder::new(words[0])?,
            intended: Recorder::new(words[1])?,
            words,
            messages: 0,
            count: 0,
            out_of_sequence: 0,
            first: None,
            last: Moment::default(),
        })
    }

    /// Bytes arrived on the connection at `index` of the caller's table. `calls` are the system
    /// calls made so far.
    #[inline]
    pub fn received(&mut self, index: usize, mut bytes: &[u8], calls: Calls) {
        let size = self.size;
        let Some(connection) = self.connections.get_mut(index) else { return };
        if !connection.partial.is_empty() {
            let missing = size - connection.partial.len();
            let (head, rest) = bytes.split_at(missing.min(bytes.len()));
            connection.partial.extend_from_slice(head);
            bytes = rest;
            if connection.partial.len() == size {
                let message = Message::read(&connection.partial);
                connection.partial.clear();
                self.note(index, message, calls);
            }
        }
        let mut blocks = bytes.chunks_exact(size);
        for block in &mut blocks {
            self.note(index, Message::read(block), calls);
        }
        if let Some(connection) = self.connections.get_mut(index) {
            connection.partial.extend_from_slice(blocks.remainder());
        }
    }

    fn note(&mut self, index: usize, message: Option<Message>, calls: Calls) {
        let now = monotonic();
        let (Some(message), Some(connection)) = (message, self.connections.get_mut(index)) else {
            return;
        };
        self.messages += 1;
        if message.sequence != connection.expected {
            self.out_of_sequence += 1;
        }
        connection.expected = message.sequence.wrapping_add(1);
        if message.sequence < self.warm_up {
            return;
        }
        self.latency.record(now.since(Nanos(message.sent_ns)).0.unsigned_abs());
        self.intended.record(now.since(Nanos(message.intended_ns)).0.unsigned_abs());
        self.count += 1;
        if self.first.is_none() {
            self.first =
                Some(Moment { at: now, calls, usage: thread_usage(), messages: self.messages });
        }
        if self.count.is_multiple_of(USAGE_EVERY) {
            self.last.usage = thread_usage();
        }
        (self.last.at, self.last.calls, self.last.messages) = (now, calls, self.messages);
    }

    /// Messages so far, those of the warm-up too.
    pub const fn messages(&self) -> u64 {
        self.messages
    }

    /// The report. With a wait that blocks, a look that found nothing is a call like any other.
    pub fn outcome(&self, backend: &str, wait: &str, rate: u32) -> Outcome {
        let summary = |words| View::new(words).map(|view| view.summary()).unwrap_or_default();
        let first = self.first.unwrap_or(self.last);
        let messages = (self.last.messages - first.messages).max(1) as f64;
        let mut io = (self.last.calls.io - first.calls.io) as f64;
        let mut idle = (self.last.calls.idle - first.calls.idle) as f64;
        if wait == "block" {
            io += core::mem::take(&mut idle);
        }
        // The end of the run, when little was counted in between.
        let used = thread_usage();
        let passed = monotonic().since(first.at).0.max(1) as f64;
        let switches = |usage: Usage| usage.voluntary_switches + usage.involuntary_switches;
        Outcome {
            backend: backend.to_owned(),
            wait: wait.to_owned(),
            connections: self.connections.len() as u32,
            rate,
            count: self.count,
            out_of_sequence: self.out_of_sequence,
            latency_ns: summary(self.words[0]).into(),
            intended_ns: summary(self.words[1]).into(),
            syscalls_per_message: io / messages,
            idle_calls_per_message: idle / messages,
            cpu_percent: (used.cpu - first.usage.cpu).0 as f64 * 100.0 / passed,
            context_switches: switches(used) - switches(first.usage),
        }
    }
}
