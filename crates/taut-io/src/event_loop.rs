//! Running: turns of waiting, timers, posts and sources, in that order.

use core::fmt;

use taut_sys::SysError;
use taut_types::Nanos;

use crate::admission::AdmissionCounters;
use crate::config::LoopConfig;
use crate::dispatch::{Dispatch, Handler, earlier};
use crate::error::IoError;
use crate::handle::Handle;
use crate::io::Io;
use crate::kernel::Kernel;
use crate::source::Kind;
use crate::wait::{Step, WaitStrategy, Waiting};

/// One thread's loop.
pub struct EventLoop<K: Kernel> {
    io: Io<K>,
    buffers: K::Buffers,
}

impl<K: Kernel> EventLoop<K> {
    /// A loop over a kernel. All memory is taken here.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn new(mut kernel: K, config: LoopConfig) -> Result<Self, SysError> {
        let buffers = kernel.buffers();
        Ok(Self { io: Io::new(kernel, config)?, buffers })
    }

    /// What a handler is given, for everybody else.
    #[inline]
    pub const fn io(&mut self) -> &mut Io<K> {
        &mut self.io
    }

    /// As [`Io::admission_counters`].
    ///
    /// # Errors
    /// A stale handle.
    pub fn admission_counters(&self, listener: Handle) -> Result<AdmissionCounters, IoError> {
        self.io.admission_counters(listener)
    }

    /// The kernel, for what only it knows.
    pub const fn kernel(&self) -> &K {
        self.io.kernel()
    }

    /// Takes one look and completes what is ready; never waits. Returns how many completed.
    ///
    /// # Errors
    /// What waiting says.
    pub fn poll(&mut self, handler: &mut impl Handler<K>) -> Result<usize, SysError> {
        self.io.stopping = false;
        self.turn(handler, Some(Nanos::ZERO), usize::MAX)
    }

    /// Takes one look and completes at most one thing.
    ///
    /// # Errors
    /// What waiting says.
    pub fn poll_one(&mut self, handler: &mut impl Handler<K>) -> Result<usize, SysError> {
        self.io.stopping = false;
        self.turn(handler, Some(Nanos::ZERO), 1)
    }

    /// Takes one look that waits for at most `span`, and completes what is ready.
    ///
    /// # Errors
    /// What waiting says.
    pub fn wait(&mut self, handler: &mut impl Handler<K>, span: Nanos) -> Result<usize, SysError> {
        self.io.stopping = false;
        self.turn(handler, Some(span), usize::MAX)
    }

    /// Runs until [`Io::stop`], or until nothing is left that could complete: no source and no
    /// timer. (A poster alone keeps no loop alive.)
    ///
    /// # Errors
    /// What waiting says.
    pub fn run(
        &mut self,
        handler: &mut impl Handler<K>,
        strategy: WaitStrategy,
    ) -> Result<(), SysError> {
        self.run_until(handler, strategy, None)
    }

    /// Runs for a span, to the nanosecond.
    ///
    /// # Errors
    /// What waiting says.
    pub fn run_for(
        &mut self,
        handler: &mut impl Handler<K>,
        strategy: WaitStrategy,
        span: Nanos,
    ) -> Result<(), SysError> {
        let end = self.io.kernel.now() + span;
        self.run_until(handler, strategy, Some(end))
    }

    /// Runs warm: after each completion it looks without waiting for `busy`, and only then sleeps.
    /// Near-spin latency within a burst, no CPU between bursts. Ends as [`EventLoop::run`].
    ///
    /// # Errors
    /// What waiting says.
    pub fn run_warm(&mut self, handler: &mut impl Handler<K>, busy: Nanos) -> Result<(), SysError> {
        self.io.stopping = false;
        let mut warm_until = self.io.kernel.now() + busy;
        while !self.is_over() {
            let span = (self.io.now < warm_until).then_some(Nanos::ZERO);
            if self.turn(handler, span, usize::MAX)? > 0 {
                warm_until = self.io.now + busy;
            }
        }
        Ok(())
    }

    fn run_until(
        &mut self,
        handler: &mut impl Handler<K>,
        strategy: WaitStrategy,
        end: Option<Nanos>,
    ) -> Result<(), SysError> {
        self.io.stopping = false;
        let mut waiting = Waiting::new(strategy);
        // A strategy that sleeps does not look twice: the first look may sleep already.
        let mut step = waiting.first();
        loop {
            if self.is_over() || end.is_some_and(|end| self.io.now >= end) {
                return Ok(());
            }
            let span = match step {
                Step::Again => Some(Nanos::ZERO),
                Step::Sleep(span) => Some(span),
                Step::Block => None,
            };
            let left = end.map(|end| end.since(self.io.now));
            let done = self.turn(handler, earlier(span, left), usize::MAX)?;
            step = if done > 0 { waiting.worked() } else { waiting.idle() };
        }
    }

    fn is_over(&self) -> bool {
        let idle = self.io.sources.open() == 0 && self.io.timers.is_empty();
        self.io.stopping || (idle && self.io.posted.is_empty())
    }

    /// One turn: waits for at most `span`, less if something is due before, and completes at most
    /// `most` things.
    fn turn(
        &mut self,
        handler: &mut impl Handler<K>,
        span: Option<Nanos>,
        most: usize,
    ) -> Result<usize, SysError> {
        let span = self.span_until_due(span);
        let sleeps = span != Some(Nanos::ZERO);
        let io = &mut self.io;
        let span = if sleeps && !io.queue.fall_asleep(io.queue_position) {
            Some(Nanos::ZERO)
        } else {
            span
        };
        let sources = &mut io.sources;
        let waited = io.kernel.wait(span, &mut |place, ready| {
            let Some(source) = sources.at(place) else { return };
            if source.kind == Kind::Free {
                return;
            }
            source.readable |= ready.readable;
            source.writable |= ready.writable;
            source.peer_ended |= ready.ended;
            if source.has_work() {
                sources.queue(place);
            }
        });
        if sleeps {
            io.queue.wake();
        }
        waited?;
        io.now = io.kernel.now();
        let buffers = &mut self.buffers;
        let mut dispatch = Dispatch { io, buffers, handler, left: most, done: 0 };
        dispatch.timers();
        dispatch.posts();
        dispatch.sources();
        Ok(dispatch.done)
    }

    fn span_until_due(&mut self, span: Option<Nanos>) -> Option<Nanos> {
        if span == Some(Nanos::ZERO)
            || self.io.sources.any_with_work()
            || !self.io.posted.is_empty()
        {
            return Some(Nanos::ZERO);
        }
        let due = self.io.timers.next_deadline();
        let until_due = due.map(|due| due.since(self.io.kernel.now()));
        earlier(span, until_due)
    }
}

impl<K: Kernel> fmt::Debug for EventLoop<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLoop").field("io", &self.io).finish_non_exhaustive()
    }
}
