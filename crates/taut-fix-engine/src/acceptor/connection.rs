//! One connection of an acceptor.

use std::net::SocketAddr;

use taut_fix::{FieldIndex, Now};
use taut_io::{Completion, Io, Kernel};
use taut_net::NetError;
use taut_types::{Host, Nanos};

use crate::application::Application;
use crate::endpoint::Endpoint;
use crate::lazy_timer::LazyTimer;
use crate::refusal::LogonNames;
use crate::transport::{CLOSE_TIMEOUT, Transport, TransportEvent};

/// A connection; without a session until its Logon came.
#[derive(Debug)]
pub struct Connection {
    pub transport: Transport,
    pub peer: Option<SocketAddr>,
    /// What came before the Logon was whole.
    pub first: Vec<u8>,
    /// Whom its Logon names.
    pub logon: Option<LogonNames>,
    pub endpoint: Option<usize>,
    pub timer: LazyTimer,
    /// When it must be closed.
    pub deadline: Option<Nanos>,
    /// Its session is free, and its end counted.
    pub is_released: bool,
    /// It has logged on, and the listener knows.
    is_proved: bool,
}

/// What a completion left of a stream.
pub enum StreamState {
    Open,
    /// The peer sends no more.
    Ended,
    /// It is gone.
    Closed(Option<NetError>),
}

impl Connection {
    /// Without a session; the listener ends it when it does not get one in time.
    pub const fn new(transport: Transport, peer: Option<SocketAddr>) -> Self {
        Self {
            transport,
            peer,
            first: Vec::new(),
            logon: None,
            endpoint: None,
            timer: LazyTimer::new(),
            deadline: None,
            is_released: false,
            is_proved: false,
        }
    }

    /// The peer's host.
    pub fn host(&self) -> Option<Host> {
        self.peer.map(|peer| Host::of(peer.ip()))
    }

    /// Whether what the peer says is of no interest any more.
    pub const fn is_ending(&self) -> bool {
        self.transport.is_ending()
    }

    /// Hands what came to its session, or keeps it until that is known.
    pub fn receive<K: Kernel, A: Application>(
        &mut self,
        io: &mut Io<K>,
        now: Now,
        completion: &Completion<'_>,
        mut endpoint: Option<&mut Endpoint<A>>,
        index: &mut FieldIndex,
    ) -> StreamState {
        let (mut state, first) = (StreamState::Open, &mut self.first);
        self.transport.handle(io, completion, |event| match event {
            TransportEvent::Ready => {}
            TransportEvent::Bytes(bytes) => match &mut endpoint {
                Some(endpoint) => endpoint.receive(now, bytes, index),
                None => first.extend_from_slice(bytes),
            },
            TransportEvent::Ended if matches!(state, StreamState::Open) => {
                state = StreamState::Ended;
            }
            TransportEvent::Ended => {}
            TransportEvent::Closed(why) => state = StreamState::Closed(why),
        });
        state
    }

    /// Sends what there is, ends what is over, and sets the timer.
    pub fn settle<K: Kernel, A: Application>(
        &mut self,
        io: &mut Io<K>,
        now: Now,
        endpoint: Option<&mut Endpoint<A>>,
        index: &mut FieldIndex,
    ) {
        self.transport.flush(io);
        let mut due = None;
        if let Some(endpoint) = endpoint.filter(|_| !self.transport.is_ending()) {
            if endpoint.has_logged_on() && !std::mem::replace(&mut self.is_proved, true) {
                // A stale handle is closed already.
                let _ = io.prove(self.transport.stream());
            }
            due = self.transport.serve(io, now, endpoint, index);
            if endpoint.session().is_closed() || self.transport.is_ending() {
                self.deadline.get_or_insert(now.mono + CLOSE_TIMEOUT);
            }
        }
        let due = [due, self.deadline].into_iter().flatten().min();
        if self.timer.set(io, due, self.transport.stream().index() as u64).is_err() {
            // Without a timer nobody would notice that the peer is gone.
            self.transport.break_off(io, None);
        }
    }
}
