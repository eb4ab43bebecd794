//! One connection of an acceptor.

use std::net::SocketAddr;

use taut_fix::{FieldIndex, Now};
use taut_io::{Completion, Io, Kernel};
use taut_net::NetError;
use taut_types::Nanos;

use crate::alarm::Alarm;
use crate::application::Application;
use crate::endpoint::Endpoint;
use crate::link::{Link, News, PATIENCE};

/// A connection, first a stranger's, then a session's.
#[derive(Debug)]
pub struct Connection {
    pub link: Link,
    pub peer: Option<SocketAddr>,
    /// What came before the Logon was whole.
    pub first: Vec<u8>,
    pub endpoint: Option<usize>,
    pub alarm: Alarm,
    /// When it must have logged on, or be closed.
    pub deadline: Option<Nanos>,
    /// Its session is free, and its end counted.
    pub is_released: bool,
}

/// What a completion came to.
pub enum Came {
    More,
    /// The peer sends no more.
    Ended,
    /// It is gone.
    Closed(Option<NetError>),
}

impl Connection {
    /// A stranger's, until then.
    pub const fn new(link: Link, peer: Option<SocketAddr>, deadline: Nanos) -> Self {
        Self {
            link,
            peer,
            first: Vec::new(),
            endpoint: None,
            alarm: Alarm::new(),
            deadline: Some(deadline),
            is_released: false,
        }
    }

    /// Whether what the peer says is of no interest any more.
    pub const fn is_ending(&self) -> bool {
        self.link.is_ending()
    }

    /// Hands what came to its session, or keeps it until that is known.
    pub fn receive<K: Kernel, A: Application>(
        &mut self,
        io: &mut Io<K>,
        now: Now,
        completion: &Completion<'_>,
        mut endpoint: Option<&mut Endpoint<A>>,
        index: &mut FieldIndex,
    ) -> Came {
        let (mut came, first) = (Came::More, &mut self.first);
        self.link.handle(io, completion, |output, news| match news {
            News::Ready => {}
            News::Bytes(bytes) => match &mut endpoint {
                Some(endpoint) => endpoint.receive(now, bytes, index, output),
                None => first.extend_from_slice(bytes),
            },
            News::Ended if matches!(came, Came::More) => came = Came::Ended,
            News::Ended => {}
            News::Closed(why) => came = Came::Closed(why),
        });
        came
    }

    /// Sends what there is, ends what is over, and sets the alarm.
    pub fn settle<K: Kernel, A: Application>(
        &mut self,
        io: &mut Io<K>,
        now: Now,
        endpoint: Option<&mut Endpoint<A>>,
        index: &mut FieldIndex,
    ) {
        self.link.flush(io);
        let mut due = None;
        if let Some(endpoint) = endpoint.filter(|_| !self.link.is_ending()) {
            due = self.link.serve(io, now, endpoint, index);
            if endpoint.session().is_closed() || self.link.is_ending() {
                self.deadline.get_or_insert(now.mono + PATIENCE);
            }
        }
        let due = [due, self.deadline].into_iter().flatten().min();
        if self.alarm.set(io, due, self.link.stream().index() as u64).is_err() {
            // Without a timer nobody would notice that the peer is gone.
            self.link.break_off(io, None);
        }
    }
}
