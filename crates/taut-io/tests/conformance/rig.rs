//! What the cases share: a loop whose handler writes down what completes and acts by rules.

use std::net::SocketAddr;

use taut_io::{
    Admission, Completion, EventLoop, Handle, Io, IoError, Kernel, LoopConfig, Operation,
    WaitStrategy,
};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;

/// A completion, kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Accepted(Handle),
    Connected(Handle),
    Received(Handle, Vec<u8>),
    Datagram(Handle, Vec<u8>, Option<SocketAddr>),
    Ended(Handle),
    Written(Handle, u64),
    Ready(Handle, bool, bool),
    Failed(Handle, Operation, Option<u64>, IoError),
    Closed(Handle, Option<IoError>),
    Timer(u64, Nanos, u64),
    Posted(u64),
}

pub fn keep(completion: &Completion<'_>) -> Event {
    match *completion {
        Completion::Accepted { stream, .. } => Event::Accepted(stream),
        Completion::Connected { stream } => Event::Connected(stream),
        Completion::Received { stream, bytes } => Event::Received(stream, bytes.to_vec()),
        Completion::Datagram { socket, bytes, info } => {
            Event::Datagram(socket, bytes.to_vec(), info.from)
        }
        Completion::Ended { stream } => Event::Ended(stream),
        Completion::Written { stream, token } => Event::Written(stream, token),
        Completion::Failed { source, operation, token, error } => {
            Event::Failed(source, operation, token, error)
        }
        Completion::Ready { source, readable, writable } => {
            Event::Ready(source, readable, writable)
        }
        Completion::Closed { source, reason } => Event::Closed(source, reason),
        Completion::Timer { token, deadline, missed, .. } => Event::Timer(token, deadline, missed),
        Completion::Posted { payload } => Event::Posted(payload[0]),
        _ => unreachable!("a completion that the suite does not know"),
    }
}

/// A loop and what it has completed.
pub struct Rig<K: Kernel> {
    pub events: EventLoop<K>,
    pub log: Vec<Event>,
}

/// Nothing in a case takes longer; a case that hangs fails instead.
const PATIENCE: Nanos = Nanos::from_secs(20);

pub fn any() -> Address {
    Address::Inet("127.0.0.1:0".parse().unwrap())
}

impl<K: Kernel> Rig<K> {
    pub fn new(kernel: K, config: LoopConfig) -> Self {
        Self { events: EventLoop::new(kernel, config).expect("a loop"), log: Vec::new() }
    }

    pub fn io(&mut self) -> &mut Io<K> {
        self.events.io()
    }

    /// Runs until the log satisfies `done`.
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&[Event]) -> bool) {
        self.until_with(what, |_, _| {}, |log| done(log));
    }

    /// As `until`, and lets `act` answer each completion.
    pub fn until_with(
        &mut self,
        what: &str,
        mut act: impl FnMut(&mut Io<K>, &Completion<'_>),
        mut done: impl FnMut(&[Event]) -> bool,
    ) {
        let log = &mut self.log;
        if done(log) {
            return;
        }
        let mut satisfied = false;
        let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
            log.push(keep(&completion));
            act(io, &completion);
            if done(log) {
                satisfied = true;
                io.stop();
            }
        };
        self.events.run_for(&mut handler, WaitStrategy::Block, PATIENCE).expect("run");
        assert!(satisfied, "not in time: {what}: {:?}", self.log.iter().rev().take(20));
    }

    /// Two connected streams: the connecting end and the accepted one.
    pub fn pair(&mut self) -> (Handle, Handle) {
        let listener =
            self.io().listen(&any(), &StreamOptions::default(), &Admission::OPEN).expect("listen");
        let to = self.io().local_address(listener).expect("address");
        let pair = self.connect(&to);
        self.io().close(listener).expect("close");
        self.until("the listener closes", |log| {
            log.contains(&Event::Closed(listener, Some(IoError::Cancelled)))
        });
        pair
    }

    pub fn connect(&mut self, to: &Address) -> (Handle, Handle) {
        let from = self.log.len();
        let near = self.io().connect(to, &StreamOptions::default(), None).expect("connect");
        let accepted = |log: &[Event]| {
            log[from..].iter().find_map(|event| match event {
                Event::Accepted(stream) => Some(*stream),
                _ => None,
            })
        };
        self.until("both ends stand", |log| {
            log.contains(&Event::Connected(near)) && accepted(log).is_some()
        });
        (near, accepted(&self.log).expect("accepted"))
    }

    /// Everything that arrived on a stream.
    pub fn received(&self, stream: Handle) -> Vec<u8> {
        received(&self.log, stream)
    }
}

pub fn received(log: &[Event], stream: Handle) -> Vec<u8> {
    let bytes = log.iter().filter_map(|event| match event {
        Event::Received(on, bytes) if *on == stream => Some(&bytes[..]),
        _ => None,
    });
    bytes.collect::<Vec<_>>().concat()
}

pub fn received_length(log: &[Event], stream: Handle) -> usize {
    let lengths = log.iter().filter_map(|event| match event {
        Event::Received(on, bytes) if *on == stream => Some(bytes.len()),
        _ => None,
    });
    lengths.sum()
}
