//! One visit to a source: whatever it has to do completes.
//!
//! The handler may do anything to any source in between, so that after each completion the source
//! is looked up again by its handle.

use taut_types::Nanos;

use crate::completion::{Completion, Operation};
use crate::error::IoError;
use crate::handle::Handle;
use crate::io::{Io, Purpose};
use crate::kernel::{Kernel, Received};
use crate::source::{ARRIVALS, Kind, QUEUES, Sending, share};

/// Who is told what completes.
pub trait Handler<K: Kernel> {
    /// Something completed. Bytes in it are borrowed from the loop until this returns.
    fn complete(&mut self, io: &mut Io<K>, completion: Completion<'_>);
}

impl<K: Kernel, F: FnMut(&mut Io<K>, Completion<'_>)> Handler<K> for F {
    fn complete(&mut self, io: &mut Io<K>, completion: Completion<'_>) {
        self(io, completion);
    }
}

/// A handler with the loop's insides, while completions are handed out.
pub(crate) struct Dispatch<'l, K: Kernel, H> {
    pub io: &'l mut Io<K>,
    pub buffers: &'l mut K::Buffers,
    pub handler: &'l mut H,
    /// Completions that may still be handed out.
    pub left: usize,
    pub done: usize,
}

impl<K: Kernel, H: Handler<K>> Dispatch<'_, K, H> {
    fn tell(&mut self, completion: Completion<'_>) {
        self.left = self.left.saturating_sub(1);
        self.done += 1;
        self.handler.complete(self.io, completion);
    }

    /// Something was done that nobody is told of. It counts: a turn has an end.
    const fn pass(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.done += 1;
    }

    fn may_go_on(&self) -> bool {
        self.left > 0 && !self.io.stopping
    }

    /// Timers that are due, in order. A timer that is armed for now by a handler waits for the next
    /// turn.
    pub fn timers(&mut self) {
        let due = self.io.now;
        let mut most = self.io.timers.len();
        while most > 0 && self.may_go_on() {
            most -= 1;
            let Some(expired) = self.io.timers.expire(due) else { return };
            match expired.value {
                Purpose::User(token) => self.tell(Completion::Timer {
                    timer: expired.timer,
                    token,
                    deadline: expired.deadline,
                    missed: expired.missed,
                }),
                Purpose::Receive(handle) => self.timed_out(handle, Operation::Receive),
                Purpose::Write(handle) => self.timed_out(handle, Operation::Write),
                // It stands, and is told of behind the timers: who looked late was late himself.
                Purpose::Life(handle) if self.is_connected(handle) => self.pass(),
                Purpose::Life(handle) => {
                    let _ = self.io.close_because(handle, Some(IoError::TimedOut));
                }
                Purpose::Handshakes(listener) => {
                    self.io.end_late_strangers(listener);
                    self.pass();
                }
            }
        }
    }

    /// Whether the kernel has an answer to a connect that nobody has looked at.
    fn is_connected(&mut self, handle: Handle) -> bool {
        let source = self.io.sources.get(handle);
        source.is_ok_and(|source| source.kind == Kind::Connecting && source.writable)
    }

    fn timed_out(&mut self, handle: Handle, operation: Operation) {
        let _ = self.io.fail(handle, operation, IoError::TimedOut);
    }

    /// Messages that were posted before this turn.
    pub fn posts(&mut self) {
        let local = self.io.posted.len();
        for _ in 0..local {
            if !self.may_go_on() {
                return;
            }
            let Some(payload) = self.io.posted.pop_front() else { break };
            self.tell(Completion::Posted { payload });
        }
        for _ in 0..self.io.config.posts_max {
            if !self.may_go_on() {
                return;
            }
            let mut position = self.io.queue_position;
            let Some(payload) = self.io.queue.pop(&mut position) else { return };
            self.io.queue_position = position;
            self.tell(Completion::Posted { payload });
        }
    }

    /// Sources that have something to do, by priority, and strangers behind them: each class up to
    /// its share of the turn.
    pub fn sources(&mut self) {
        for queue in 0..QUEUES {
            // A newcomer would take the slot of who is next.
            if queue == ARRIVALS && self.io.sources.arrivals_wait() {
                break;
            }
            let share = share(queue, self.io.config.completions_per_turn);
            let before = self.done;
            while self.may_go_on() && self.done - before < share {
                let Some(place) = self.io.sources.pop(queue) else { break };
                self.visit(place);
            }
        }
        self.io.sources.resume_postponed();
    }

    fn visit(&mut self, place: u32) {
        let handle = self.io.sources.handle(place);
        let Ok(source) = self.io.sources.get(handle) else { return };
        if source.closing.is_some() {
            return self.finish(handle);
        }
        match source.kind {
            Kind::Connecting if source.writable => self.connected(handle),
            Kind::Listener => self.accept(handle),
            Kind::Stream | Kind::Datagram if source.watched => self.ready(handle),
            Kind::Stream => {
                self.flush(handle);
                self.sent(handle);
                self.receive_failed(handle);
                self.receive(handle);
            }
            Kind::Datagram => {
                self.receive_failed(handle);
                self.receive(handle);
            }
            Kind::Free | Kind::Connecting => {}
        }
        if self.io.sources.get(handle).is_ok_and(|source| source.has_work()) {
            self.io.sources.queue(place);
        }
    }

    fn connected(&mut self, handle: Handle) {
        match self.io.kernel.connect_result(handle.index) {
            Err(error) => {
                let _ = self.io.close_because(handle, Some(error.into()));
            }
            Ok(()) => {
                let Ok(source) = self.io.sources.get(handle) else { return };
                source.kind = Kind::Stream;
                source.writable = false;
                if let Some(timer) = source.life_deadline.take() {
                    self.io.timers.cancel(timer);
                }
                self.tell(Completion::Connected { stream: handle });
            }
        }
    }

    fn accept(&mut self, listener: Handle) {
        for _ in 0..self.io.config.receives_per_visit {
            let Ok(source) = self.io.sources.get(listener) else { return };
            let wanted = source.readable && source.closing.is_none();
            let (options, priority) = (source.options, source.priority);
            if !wanted || !self.may_go_on() {
                return;
            }
            let Some(place) = self.io.sources.vacant() else {
                return self.stop_accepting(listener);
            };
            match self.io.kernel.accept(listener.index, place, &options) {
                Ok(Some(peer)) => {
                    let stream = self.io.open(Kind::Stream);
                    if let Ok(source) = self.io.sources.get(stream) {
                        source.peer = Some(peer);
                        source.priority = priority;
                    }
                    let from = peer.inet().map(|address| address.ip());
                    let Some(evicted) = self.io.admit(listener, stream, from) else {
                        let _ = self.io.discard(stream);
                        self.pass();
                        continue;
                    };
                    // Who gives way is gone first: no owner has more than it admits.
                    evicted.into_iter().flatten().for_each(|victim| self.finish(victim));
                    self.tell(Completion::Accepted { listener, stream, peer });
                }
                Ok(None) => {
                    if let Ok(source) = self.io.sources.get(listener) {
                        source.readable = false;
                    }
                }
                // The next connection has its turn now.
                Err(error) if error.is_of_a_connection() => self.pass(),
                Err(error) => {
                    // Out of descriptors, for one.
                    self.stop_accepting(listener);
                    self.tell(failed(listener, Operation::Accept, None, error.into()));
                    return;
                }
            }
        }
    }

    /// There is no room: connections wait in the kernel until a source closes.
    fn stop_accepting(&mut self, listener: Handle) {
        if let Ok(source) = self.io.sources.get(listener) {
            source.readable = false;
            self.io.accept_waits = true;
        }
    }

    /// Sends what waits.
    fn flush(&mut self, handle: Handle) {
        let Ok(source) = self.io.sources.get(handle) else { return };
        if source.writable && source.blocked && source.write_fault.is_none() {
            source.writable = false;
            match self.io.kernel.send(handle.index, &source.out.parts()) {
                Ok(taken) => {
                    source.out.advance(taken.unwrap_or(0));
                    source.blocked = !source.out.is_empty();
                    // Part of it went: the kernel may take more at once.
                    source.writable = source.blocked && taken.is_some();
                }
                Err(error) => source.write_fault = Some(error.into()),
            }
            self.io.end_sending(handle.index);
            self.io.close_if_over(handle.index);
        }
    }

    /// Tells of writes that are sent, or have failed.
    fn sent(&mut self, handle: Handle) {
        while self.may_go_on() {
            let Ok(source) = self.io.sources.get(handle) else { return };
            match source.out.pop_sent() {
                Some(Some(token)) => self.tell(Completion::Written { stream: handle, token }),
                Some(None) => {}
                None => break,
            }
        }
        let Ok(source) = self.io.sources.get(handle) else { return };
        if let Some(error) = source.write_fault.filter(|_| !source.out.has_sent()) {
            // What comes after it on this stream would have a hole: the stream is over.
            source.closing.get_or_insert(Some(error));
        }
    }

    /// Tells the owner of a watched source what it can do.
    fn ready(&mut self, handle: Handle) {
        let Ok(source) = self.io.sources.get(handle) else { return };
        let readable = source.readable;
        let writable = source.blocked && source.writable;
        if writable {
            (source.blocked, source.writable) = (false, false);
        }
        if !readable && !writable {
            return;
        }
        if readable && source.is_stranger {
            self.io.hear(handle);
        }
        let calls = self.io.kernel.calls();
        self.tell(Completion::Ready { source: handle, readable, writable });
        // Who only takes note reads after the turn, and is told again when it has not.
        if self.io.kernel.calls() == calls
            && self.io.sources.get(handle).is_ok_and(|source| source.has_work())
        {
            self.io.sources.postpone(handle.index);
        }
    }

    fn receive_failed(&mut self, handle: Handle) {
        let Ok(source) = self.io.sources.get(handle) else { return };
        if let Some(error) = source.receive_fault.take() {
            self.tell(failed(handle, Operation::Receive, None, error));
        }
    }

    fn receive(&mut self, handle: Handle) {
        let mut visits = self.io.config.receives_per_visit;
        loop {
            let Ok(source) = self.io.sources.get(handle) else { return };
            let wanted = source.readable && source.receiving && source.closing.is_none();
            let is_datagram = source.kind == Kind::Datagram;
            if !wanted || visits == 0 || !self.may_go_on() {
                return;
            }
            // A receive that fails counts too: it may fail each time.
            visits -= 1;
            let Ok(source) = self.io.sources.get(handle) else { return };
            match self.io.kernel.receive(handle.index, self.buffers) {
                Ok(Received::Some { lease, more }) => {
                    source.readable = more;
                    if source.is_stranger {
                        self.io.hear(handle);
                    }
                    let bytes = K::bytes(self.buffers, &lease);
                    self.left = self.left.saturating_sub(1);
                    self.done += 1;
                    if is_datagram {
                        let info = K::info(self.buffers, &lease).unwrap_or_default();
                        let completion =
                            Completion::Datagram { socket: handle, bytes, info: &info };
                        self.handler.complete(self.io, completion);
                    } else {
                        let completion = Completion::Received { stream: handle, bytes };
                        self.handler.complete(self.io, completion);
                    }
                    self.io.kernel.release(lease);
                }
                Ok(Received::Nothing) => source.readable = false,
                Ok(Received::End) => {
                    source.readable = false;
                    source.receiving = false;
                    source.ended = true;
                    if let Some(timer) = source.receive_deadline.take() {
                        self.io.timers.cancel(timer);
                    }
                    self.tell(Completion::Ended { stream: handle });
                    self.io.close_if_over(handle.index);
                }
                Err(error) => self.receive_broke(handle, error.into(), is_datagram),
            }
        }
    }

    fn receive_broke(&mut self, handle: Handle, error: IoError, is_datagram: bool) {
        let Ok(source) = self.io.sources.get(handle) else { return };
        if is_datagram {
            // An ICMP error of an earlier send, say: the socket goes on.
            self.tell(failed(handle, Operation::Receive, None, error));
        } else {
            source.readable = false;
            let _ = self.io.close_because(handle, Some(error));
        }
    }

    fn cancel_deadlines(&mut self, handle: Handle) {
        let Ok(source) = self.io.sources.get(handle) else { return };
        for timer in [
            source.receive_deadline.take(),
            source.write_deadline.take(),
            source.life_deadline.take(),
        ] {
            timer.map(|timer| self.io.timers.cancel(timer));
        }
    }

    /// Completes everything that is under way, then the source.
    fn finish(&mut self, handle: Handle) {
        let Ok(source) = self.io.sources.get(handle) else { return };
        let Some(reason) = source.closing else { return };
        let error = reason.unwrap_or(IoError::Cancelled);
        let (kind, receiving) = (source.kind, source.receiving || source.receive_fault.is_some());
        let receive_error = source.receive_fault.unwrap_or(error);
        let write_error = source.write_fault.unwrap_or(error);
        source.receiving = false;
        source.receive_fault = None;
        source.sending = Sending::ShutDown;
        self.cancel_deadlines(handle);
        self.io.kernel.close(handle.index);
        match kind {
            Kind::Connecting => self.tell(failed(handle, Operation::Connect, None, error)),
            Kind::Listener => self.tell(failed(handle, Operation::Accept, None, error)),
            _ if receiving => self.tell(failed(handle, Operation::Receive, None, receive_error)),
            _ => {}
        }
        while let Ok(source) = self.io.sources.get(handle) {
            if let Some(token) = source.out.pop_sent() {
                if let Some(token) = token {
                    self.tell(Completion::Written { stream: handle, token });
                }
            } else if let Some(token) = source.out.pop() {
                self.tell(failed(handle, Operation::Write, token, write_error));
            } else {
                break;
            }
        }
        // What the handler armed when it heard of these.
        self.cancel_deadlines(handle);
        // The place is free before the handler hears of it, and its handle stale.
        self.io.sources.remove_queued(handle.index);
        if core::mem::take(&mut self.io.accept_waits) {
            self.io.sources.wake_listeners();
        }
        self.tell(Completion::Closed { source: handle, reason });
    }
}

const fn failed(
    source: Handle,
    operation: Operation,
    token: Option<u64>,
    error: IoError,
) -> Completion<'static> {
    Completion::Failed { source, operation, token, error }
}

/// The earlier of two ends of waiting, none being for ever.
pub(crate) fn earlier(a: Option<Nanos>, b: Option<Nanos>) -> Option<Nanos> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
