//! A connection: a request and its answer, or a page that is kept up to date.

use taut_io::{EpollKernel, Io};
use taut_net::Wire;
use taut_types::Nanos;
use taut_ws::{CloseCode, Connection, KeepAlive, State, WsConfig, WsError};

use super::access::Role;

/// What may wait for a page; a longer message ends it.
const PENDING_BYTES_MAX: usize = 4 << 20;
/// What a page says is short.
const SAID_BYTES_MAX: usize = 4 << 10;
/// How long a request may take to come.
pub const PATIENCE: Nanos = Nanos::from_secs(10);
/// How long what it is told may take to be read.
const READING: Nanos = Nanos::from_secs(30);
/// The token of what is written to learn that what stood before it has left.
const LEFT: u64 = 1;

#[derive(Debug)]
pub struct Peer {
    pub wire: Wire,
    pub speaks: Speaks,
    /// An HTTP answer, and how much of it has gone.
    output: (Vec<u8>, usize),
    /// Everything is said: it ends when that has left.
    is_ending: bool,
    has_closed: bool,
    is_marked: bool,
    behind: Behind,
    /// The number of the next event that it is told.
    pub next_event: u64,
}

/// Since when a page has not read all that it was told. Some of it does not count: who reads a byte
/// now and then would keep its messages here for ever.
#[derive(Clone, Copy, Debug)]
struct Behind(Option<Nanos>);

#[derive(Debug)]
pub enum Speaks {
    /// With what has come of a request.
    Http(Vec<u8>),
    /// A page, with what its user may do.
    Live(Box<Connection>, Role),
}

impl Peer {
    pub const fn new(wire: Wire) -> Self {
        Self {
            wire,
            speaks: Speaks::Http(Vec::new()),
            output: (Vec::new(), 0),
            is_ending: false,
            has_closed: false,
            is_marked: false,
            behind: Behind(None),
            next_event: 0,
        }
    }

    /// The connection of a page that asks for a WebSocket.
    pub fn upgrade(&mut self, role: Role, now: Nanos) -> Result<(), WsError> {
        let config = WsConfig {
            message_bytes_max: SAID_BYTES_MAX,
            fragments_max: 16,
            send_bytes_max: PENDING_BYTES_MAX,
            head_bytes_max: 16 << 10,
            keep_alive: Some(KeepAlive::DEFAULT),
            ..WsConfig::default()
        };
        self.speaks = Speaks::Live(Box::new(Connection::server(&config, now)?), role);
        Ok(())
    }

    /// Whether it is a page that is told what is new.
    pub fn is_live(&self) -> bool {
        matches!(&self.speaks, Speaks::Live(socket, _) if socket.state() == State::Open)
    }

    /// Whether it takes no more of what it says.
    pub const fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// Answers a request, and ends behind the answer.
    pub fn answer(&mut self, io: &mut Io<EpollKernel>, bytes: Vec<u8>) {
        self.output = (bytes, 0);
        self.is_ending = true;
        // A stale handle is closed already, here and below.
        let stream = self.wire.stream();
        let _ = io.prove(stream);
        let _ = io.set_write_deadline(stream, Some(io.now() + READING));
        self.flush(io);
    }

    /// Tells a page something; false when there is no room for it.
    pub fn tell(&mut self, io: &mut Io<EpollKernel>, text: &str) -> bool {
        let Speaks::Live(socket, _) = &mut self.speaks else { return true };
        let is_told = socket.outbox().text(text).is_ok();
        self.flush(io);
        is_told
    }

    /// Whether all that it was told has gone.
    pub fn is_up_to_date(&self) -> bool {
        matches!(&self.speaks, Speaks::Live(socket, _) if socket.poll_transmit().is_empty())
    }

    /// Whether it has not read for too long what it was told.
    pub fn is_too_slow(&mut self, now: Nanos) -> bool {
        let is_behind = matches!(self.speaks, Speaks::Live(..)) && !self.is_up_to_date();
        self.behind.is_too_long(is_behind, now)
    }

    /// Does what is due of a WebSocket.
    pub fn time_passed(&mut self, io: &mut Io<EpollKernel>) {
        let Speaks::Live(socket, _) = &mut self.speaks else { return };
        if socket.poll_timeout().is_some_and(|due| due <= io.now()) {
            self.is_ending |= socket.handle_timeout(io.now()).event.is_some();
            self.flush(io);
        }
    }

    /// What was written has left, perhaps.
    pub const fn has_room(&mut self, token: u64) {
        if token == LEFT {
            self.is_marked = false;
        }
    }

    /// Writes what there is room for, and ends when all of it is said.
    pub fn flush(&mut self, io: &mut Io<EpollKernel>) {
        let (bytes, gone) = &mut self.output;
        *gone += self.wire.write(io, bytes.get(*gone..).unwrap_or_default());
        let mut is_waiting = *gone < bytes.len();
        if let Speaks::Live(socket, _) = &mut self.speaks {
            while !socket.poll_transmit().is_empty() {
                let taken = self.wire.write(io, socket.poll_transmit());
                socket.transmitted(taken);
                if taken == 0 {
                    break;
                }
            }
            is_waiting |= !socket.poll_transmit().is_empty();
            self.is_ending |= socket.state() == State::Closed;
        }
        if is_waiting && !self.is_marked {
            self.is_marked = io.write(self.wire.stream(), &[], Some(LEFT)).is_ok();
        }
        if self.is_ending && !is_waiting {
            self.close(io);
        }
    }

    /// Says goodbye to a page.
    pub fn go_away(&mut self, io: &mut Io<EpollKernel>) {
        if let Speaks::Live(socket, _) = &mut self.speaks {
            let (now, code) = (io.now(), Some(CloseCode::GOING_AWAY));
            // One that is not open has nothing to be told.
            let _ = socket.outbox().close(now, code, "the desk stops");
            self.flush(io);
        }
    }

    /// Ends it behind what was written, once.
    pub fn close(&mut self, io: &mut Io<EpollKernel>) {
        self.is_ending = true;
        if !std::mem::replace(&mut self.has_closed, true) {
            self.wire.close(io);
        }
    }

    /// Ends it at once.
    pub fn abort(&mut self, io: &mut Io<EpollKernel>) {
        (self.is_ending, self.has_closed) = (true, true);
        self.wire.abort(io);
    }
}

impl Behind {
    fn is_too_long(&mut self, is_behind: bool, now: Nanos) -> bool {
        let since = is_behind.then(|| self.0.unwrap_or(now));
        self.0 = since;
        since.is_some_and(|since| now.since(since) >= READING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_read_all_for_so_long_is_too_slow_and_who_does_begins_anew() {
        let mut behind = Behind(None);
        let second = |at| Nanos::from_secs(at);
        assert!(!behind.is_too_long(true, second(5)));
        assert!(!behind.is_too_long(true, second(34)));
        assert!(!behind.is_too_long(false, second(34)));
        assert!(!behind.is_too_long(true, second(40)));
        assert!(!behind.is_too_long(true, second(69)));
        assert!(behind.is_too_long(true, second(70)));
    }
}
