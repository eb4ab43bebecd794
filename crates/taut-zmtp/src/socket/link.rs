//! One connection of a socket, with what waits both ways.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::connection::machine::Connection;
use crate::error::CloseReason;
use crate::socket::inbox::Inbox;

#[derive(Debug)]
pub struct Link {
    pub connection: Connection,
    pub inbox: Inbox,
    /// As a ROUTER knows it: its own name, or one that it was given.
    pub routing_id: Vec<u8>,
    /// Its transport is closed, and whole messages of it wait to be received.
    pub is_gone: bool,
    /// The socket wants it gone.
    pub doomed: Option<CloseReason>,
    /// Bytes that left so far, and where each message that waits ends, counted with them.
    left: u64,
    ends: VecDeque<u64>,
}

impl Link {
    pub fn new(connection: Connection) -> Self {
        let (routing_id, is_gone, doomed, left) = (Vec::new(), false, None, 0);
        let (inbox, ends) = (Inbox::new(), VecDeque::new());
        Self { connection, inbox, routing_id, is_gone, doomed, left, ends }
    }

    /// Whether messages pass.
    pub fn is_up(&self) -> bool {
        self.doomed.is_none() && !self.is_gone && self.connection.is_established()
    }

    /// Messages that wait to be sent.
    pub fn waiting(&self) -> usize {
        self.ends.len()
    }

    /// Bytes that wait both ways.
    pub fn queued_bytes(&self) -> usize {
        let waiting = if self.is_gone { 0 } else { self.connection.poll_transmit().len() };
        self.inbox.bytes() + waiting
    }

    /// Whether another message may wait.
    pub fn has_room(&self, hwm: usize, bytes_max: usize) -> bool {
        self.waiting() < hwm && self.connection.poll_transmit().len() < bytes_max
    }

    /// A message is queued behind the others.
    pub fn send<'p>(&mut self, parts: impl Iterator<Item = &'p [u8]>) {
        let mut parts = parts.peekable();
        while let Some(part) = parts.next() {
            self.connection.send_part(part, parts.peek().is_some());
        }
        self.ends.push_back(self.left + self.connection.poll_transmit().len() as u64);
    }

    /// The first bytes that waited have left.
    pub fn transmitted(&mut self, bytes: usize) {
        self.connection.transmitted(bytes);
        self.left += bytes as u64;
        while self.ends.front().is_some_and(|end| *end <= self.left) {
            self.ends.pop_front();
        }
    }
}
