//! One connection of a door: its bytes both ways, and how much of them there may be.

use taut_fix::Now;
use taut_io::{Io, Kernel};
use taut_net::Wire;
use taut_types::Nanos;
use taut_ws::{
    CloseCode, Connection, Event as WsEvent, KeepAlive, Limit, Outbox, State, WsConfig, WsError,
};

use crate::front::{Front, HttpRequest};
use crate::http::{self, Parsed};

/// No further request is taken while so much of the answers has not left.
const PAUSE_BYTES: usize = 256 << 10;
/// Requests of one connection that wait for their answer.
const PIPELINED_MAX: usize = 16;
/// A larger buffer goes back when it is empty.
const KEPT_BYTES_MAX: usize = 64 << 10;

#[derive(Debug)]
pub struct Client {
    pub wire: Wire,
    pub speaks: Speaks,
    /// Bytes that are not parsed.
    pub input: Vec<u8>,
    /// Bytes that have not left.
    pub output: Vec<u8>,
    /// HTTP requests without an answer.
    waiting: usize,
    /// An HTTP request came, or the last answer was given, since the loop was told.
    has_changed: bool,
    /// It is not read from.
    is_paused: bool,
    pub is_ending: bool,
    has_closed: bool,
    /// Its upgrade or its Logon was accepted, and the loop knows.
    pub is_proved: bool,
    is_upgraded: bool,
    /// What it took when it was last counted.
    pub memory_bytes: usize,
    /// What it may leave unread.
    unread_bytes_max: usize,
}

#[derive(Debug)]
pub enum Speaks {
    Http,
    WebSocket(Box<Connection>),
    Fix,
}

impl Client {
    pub fn new(wire: Wire, speaks: Speaks, unread_bytes_max: usize) -> Self {
        Self {
            wire,
            speaks,
            input: Vec::new(),
            output: Vec::new(),
            waiting: 0,
            has_changed: false,
            is_paused: false,
            is_ending: false,
            has_closed: false,
            is_proved: false,
            is_upgraded: false,
            memory_bytes: 0,
            unread_bytes_max,
        }
    }

    /// Whether another request is taken now.
    fn has_room(&self) -> bool {
        self.waiting < PIPELINED_MAX && self.output.len() < PAUSE_BYTES
    }

    pub fn take_requests(&mut self, now: Now, connection: u64, front: &mut impl Front) {
        while matches!(self.speaks, Speaks::Http) && !self.is_ending && self.has_room() {
            match http::parse(&self.input) {
                Parsed::Partial => return,
                Parsed::Bad(status) => {
                    self.output.extend_from_slice(&http::answer(status, &[], "{}"));
                    self.is_ending = true;
                }
                Parsed::Request(request, length) => {
                    self.input.drain(..length);
                    self.waiting += 1;
                    self.has_changed = true;
                    front.request(now, connection, request);
                }
                Parsed::Upgrade(request) => self.upgrade(now, connection, &request, front),
            }
        }
    }

    fn upgrade(
        &mut self,
        now: Now,
        connection: u64,
        request: &HttpRequest,
        front: &mut impl Front,
    ) {
        let config = WsConfig {
            message_bytes_max: 1 << 20,
            send_bytes_max: self.unread_bytes_max,
            head_bytes_max: 16 << 10,
            keep_alive: Some(KeepAlive {
                interval: Nanos::from_secs(20),
                timeout: Nanos::from_secs(600),
            }),
            ..WsConfig::default()
        };
        if let Err(denied) = front.open(now, connection, request) {
            self.output.extend_from_slice(&http::answer(denied.status, &[], &denied.body));
            self.is_ending = true;
            return;
        }
        match Connection::server(&config, now.mono) {
            Ok(socket) => {
                self.speaks = Speaks::WebSocket(Box::new(socket));
                let bytes = std::mem::take(&mut self.input);
                self.take_frames(now, connection, &bytes, front);
            }
            Err(_) => self.is_ending = true,
        }
    }

    pub fn take_frames(&mut self, now: Now, connection: u64, bytes: &[u8], front: &mut impl Front) {
        let Speaks::WebSocket(socket) = &mut self.speaks else { return };
        let mut rest = bytes;
        while !rest.is_empty() {
            let handled = socket.handle_bytes(now.mono, rest);
            match handled.event {
                Some(WsEvent::Requested(_)) => {
                    self.is_upgraded |= handled.outbox.accept(None, &[]).is_ok();
                }
                Some(WsEvent::Text(text)) => front.text(now, connection, text),
                Some(WsEvent::Closed(_)) => self.is_ending = true,
                _ => {}
            }
            let consumed = handled.consumed;
            rest = rest.get(consumed..).unwrap_or(&[]);
            if consumed == 0 && self.is_ending {
                return;
            }
        }
    }

    /// An HTTP request has its answer.
    pub fn answered(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
        self.has_changed = true;
    }

    /// Says something on a WebSocket. One that has left too much unread is told with a close code
    /// behind that, once; whether it was.
    pub fn say(
        &mut self,
        now: Nanos,
        say: impl FnOnce(&mut Outbox) -> Result<(), WsError>,
    ) -> bool {
        let Speaks::WebSocket(socket) = &mut self.speaks else { return false };
        if say(socket.outbox()) != Err(WsError::Limit(Limit::SendBytes)) {
            return false;
        }
        socket.outbox().close(now, Some(CloseCode::POLICY), "it reads too slowly").is_ok()
    }

    /// Bytes that wait to leave.
    pub fn unsent(&self) -> usize {
        let frames = match &self.speaks {
            Speaks::WebSocket(socket) => socket.poll_transmit().len(),
            Speaks::Http | Speaks::Fix => 0,
        };
        self.output.len() + frames
    }

    /// Of what waits beyond so many bytes a part leaves, and the connection ends behind it.
    pub fn tear(&mut self, before: usize, at: u64) {
        if let Speaks::WebSocket(socket) = &self.speaks {
            self.output.extend_from_slice(socket.poll_transmit());
            self.speaks = Speaks::Http;
        }
        let added = self.output.len().saturating_sub(before);
        let part = 1 + at % (added as u64).saturating_sub(1).max(1);
        self.output.truncate(before + part as usize);
        self.is_ending = true;
    }

    /// Sends what there is room for, and tells the loop whether it may give way. Whether it was cut
    /// off, as it reads too slowly.
    pub fn flush<K: Kernel>(&mut self, io: &mut Io<K>, idle_timeout: Nanos) -> bool {
        let taken = self.wire.write(io, &self.output);
        self.output.drain(..taken);
        if self.output.is_empty()
            && let Speaks::WebSocket(socket) = &mut self.speaks
        {
            while !socket.poll_transmit().is_empty() {
                let taken = self.wire.write(io, socket.poll_transmit());
                socket.transmitted(taken);
                if taken == 0 {
                    break;
                }
            }
        }
        if self.is_upgraded && !self.is_proved {
            self.prove(io);
        } else if std::mem::take(&mut self.has_changed) && matches!(self.speaks, Speaks::Http) {
            // A stale handle is closed already.
            let _ = io.prove(self.wire.stream());
            if self.waiting == 0 {
                let _ = io.rest(self.wire.stream(), idle_timeout);
            }
        }
        let is_too_slow = self.output.len() > self.unread_bytes_max;
        if is_too_slow {
            self.abort(io);
        } else if self.is_ending && self.is_flushed() {
            self.close(io);
        }
        is_too_slow
    }

    /// Its upgrade or its Logon was accepted.
    pub fn prove<K: Kernel>(&mut self, io: &mut Io<K>) {
        self.is_proved = true;
        // A stale handle is closed already.
        let _ = io.prove(self.wire.stream());
    }

    /// Takes requests that came while there was no room for them; whether there were any.
    pub fn take_waiting<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Now,
        connection: u64,
        front: &mut impl Front,
    ) -> bool {
        let before = self.waiting;
        if self.is_paused && self.has_room() {
            self.take_requests(now, connection, front);
        }
        self.pause_or_resume(io);
        self.waiting > before
    }

    /// Who has so many requests that wait, or answers that it does not read, is not read from.
    pub fn pause_or_resume<K: Kernel>(&mut self, io: &mut Io<K>) {
        let must_pause = matches!(self.speaks, Speaks::Http) && !self.is_ending && !self.has_room();
        if must_pause != self.is_paused {
            self.is_paused = must_pause;
            if must_pause { self.wire.pause(io) } else { self.wire.resume(io) }
        }
    }

    /// Gives back what is empty, and counts the rest.
    pub fn count_memory<K: Kernel>(&mut self, io: &mut Io<K>) -> usize {
        for buffer in [&mut self.input, &mut self.output] {
            if buffer.is_empty() && buffer.capacity() > KEPT_BYTES_MAX {
                *buffer = Vec::new();
            }
        }
        let messages = match &self.speaks {
            Speaks::Http | Speaks::Fix => 0,
            Speaks::WebSocket(socket) => socket.memory_bytes(),
        };
        let unsent = io.unsent_bytes(self.wire.stream()).unwrap_or(0);
        self.input.capacity() + self.output.capacity() + messages + unsent
    }

    /// Ends it behind what was written, once.
    pub fn close<K: Kernel>(&mut self, io: &mut Io<K>) {
        if !std::mem::replace(&mut self.has_closed, true) {
            self.wire.close(io);
        }
    }

    /// Ends it at once.
    pub fn abort<K: Kernel>(&mut self, io: &mut Io<K>) {
        (self.is_ending, self.has_closed) = (true, true);
        self.output = Vec::new();
        self.wire.abort(io);
    }

    fn is_flushed(&self) -> bool {
        let is_empty = match &self.speaks {
            Speaks::Http | Speaks::Fix => true,
            Speaks::WebSocket(socket) => {
                socket.poll_transmit().is_empty() || socket.state() == State::Closed
            }
        };
        self.output.is_empty() && is_empty
    }
}
