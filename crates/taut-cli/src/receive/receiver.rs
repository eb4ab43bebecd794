//! The receiving loop.

use taut_channel::{ChannelUri, Event, Subscription, Waiter};
use taut_sys::{Usage, stop_requests, thread_usage};
use taut_types::Nanos;

use super::arguments::Arguments;
use super::csv::Csv;
use super::pong::Pong;
use super::report::Report;
use crate::channel::clock::StampClock;
use crate::channel::counted::Counted;
use crate::channel::sequence::Account;
use crate::channel::stamp::{Stamp, Stamped, read};
use crate::exit::Failure;
use crate::progress::Progress;
use taut_report::Latency;

/// Messages of one poll: their common receive time is read when the last of them is there, so that
/// none is reported earlier than it came.
const LIMIT: usize = 128;
/// How long repairs and what was overtaken may come behind the announced end.
const GRACE: Nanos = Nanos::from_millis(500);
/// How long leaving may take.
const LEAVING: Nanos = Nanos::from_millis(250);

/// The receiver at work.
pub struct Receiver<'a> {
    arguments: &'a Arguments,
    subscription: Subscription,
    clock: StampClock,
    waiter: Waiter,
    csv: Option<Csv>,
    pong: Option<Pong>,
    account: Account,
    raw: u64,
    end_messages: u64,
    latency: Latency,
    intended: Latency,
    first: Option<(Nanos, Usage)>,
    last: Nanos,
    ended_at: Option<Nanos>,
    had_image: bool,
    /// Where the image begins, in the channel's own measure.
    begins_at: Option<u64>,
    measure: Measure,
    progress: Progress,
    /// What a poll brought, in memory that is kept.
    batch: Batch,
}

/// What the positions of a channel count from the beginning of the stream.
#[derive(Clone, Copy, Debug)]
enum Measure {
    Bytes,
    Messages,
    /// ZMTP does not tell a subscriber how much was published before it came.
    Unknown,
}

impl Measure {
    const fn of(uri: &ChannelUri) -> Self {
        match uri {
            ChannelUri::Lease(_) => Self::Messages,
            ChannelUri::Aeron(_) | ChannelUri::Inproc(_) | ChannelUri::Ipc(_) => Self::Bytes,
            _ => Self::Unknown,
        }
    }
}

/// What one poll brought.
#[derive(Debug, Default)]
struct Batch {
    stamps: Vec<Stamp>,
    /// The channel's position behind the first of them, or behind the end alone.
    position: u64,
    raw: u64,
    ends: u64,
    end: Option<u64>,
    failure: Option<Failure>,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.stamps.is_empty() && self.raw == 0 && self.end.is_none() && self.failure.is_none()
    }
}

impl<'a> Receiver<'a> {
    pub fn new(
        arguments: &'a Arguments,
        subscription: Subscription,
        clock: StampClock,
        csv: Option<Csv>,
        pong: Option<Pong>,
    ) -> Self {
        let waiter = Waiter::new(arguments.end.thread.wait.strategy());
        Self {
            arguments,
            subscription,
            clock,
            waiter,
            csv,
            pong,
            account: Account::new(),
            raw: 0,
            end_messages: 0,
            latency: Latency::new(),
            intended: Latency::new(),
            first: None,
            last: Nanos::ZERO,
            ended_at: None,
            had_image: false,
            begins_at: None,
            measure: Measure::Bytes,
            progress: Progress::start(),
            batch: Batch { stamps: Vec::with_capacity(LIMIT), ..Batch::default() },
        }
    }

    /// Receives until the end, and reports.
    pub fn run(mut self, uri: &ChannelUri) -> Result<Report, Failure> {
        self.measure = Measure::of(uri);
        let mut now = self.clock.now();
        while !self.is_over(now) {
            self.poll(now);
            now = self.clock.now();
            if self.batch.is_empty() {
                now = self.idle(now);
            } else {
                self.waiter.worked();
                self.take(now)?;
            }
            self.clock.keep(now);
        }
        let report = self.report(uri);
        self.leave();
        if let Some(csv) = self.csv {
            csv.finish()?;
        }
        Ok(report)
    }

    fn poll(&mut self, now: Nanos) {
        let limit = self.limit();
        let (is_raw, pong, batch) = (self.arguments.raw, &mut self.pong, &mut self.batch);
        self.subscription.poll(now, limit, |message| {
            let stamped = read(message.payload).filter(|_| !is_raw);
            if let Some(pong) = pong
                && !matches!(stamped, Some(Stamped::End(_)))
                && let Err(error) = pong.answer(now, message.payload)
            {
                batch.failure = Some(error);
            }
            match stamped {
                Some(Stamped::Message(stamp)) => {
                    if batch.stamps.is_empty() {
                        batch.position = message.position;
                    }
                    batch.stamps.push(stamp);
                }
                Some(Stamped::End(count)) => {
                    if batch.stamps.is_empty() {
                        batch.position = message.position;
                    }
                    batch.ends += 1;
                    batch.end = Some(count);
                }
                None => batch.raw += 1,
            }
        });
    }

    fn take(&mut self, now: Nanos) -> Result<(), Failure> {
        if let Some(failure) = self.batch.failure.take() {
            return Err(failure);
        }
        if self.first.is_none() {
            self.begin();
        }
        if !self.batch.stamps.is_empty() || self.batch.raw > 0 {
            self.first.get_or_insert_with(|| (now, thread_usage()));
            self.last = now;
        }
        self.raw += std::mem::take(&mut self.batch.raw);
        self.end_messages += std::mem::take(&mut self.batch.ends);
        let received_ns = self.clock.stamp(now);
        for stamp in &self.batch.stamps {
            self.account.note(stamp.sequence);
            // Clocks of two machines may disagree: what would be negative is nothing.
            self.latency.record(received_ns.saturating_sub(stamp.sent_ns));
            self.intended.record(received_ns.saturating_sub(stamp.intended_ns));
            if let Some(csv) = &mut self.csv {
                csv.line(stamp, received_ns)?;
            }
        }
        self.batch.stamps.clear();
        if let Some(count) = self.batch.end.take() {
            self.account.end(count);
            self.ended_at.get_or_insert(now);
        }
        Ok(())
    }

    /// The first messages came: what was sent before the image began is not lost.
    fn begin(&mut self) {
        self.look_at_events();
        let first = self.batch.stamps.first().map(|stamp| stamp.sequence);
        let Some(sequence) = first.or(self.batch.end) else { return };
        let before = match (self.measure, self.begins_at) {
            // What is missing behind the beginning was lost.
            (Measure::Messages, Some(begins_at)) => {
                let missing = self.batch.position.saturating_sub(begins_at + 1);
                sequence.saturating_sub(missing)
            }
            // It heard the stream from its first byte.
            (Measure::Bytes, Some(0)) => 0,
            _ => sequence,
        };
        self.account.begin(before);
    }

    fn look_at_events(&mut self) {
        while let Some(event) = self.subscription.poll_event() {
            if let Event::ImageAvailable { position, .. } = event {
                self.begins_at = Some(position);
            }
        }
    }

    /// Nothing came: looks at what else there is, and waits. Returns the time.
    fn idle(&mut self, now: Nanos) -> Nanos {
        let busy = self.pong.as_mut().map_or(0, |pong| pong.work(now)) > 0;
        self.look_at_events();
        self.had_image |= self.subscription.image_count() > 0;
        if self.had_image && self.first.is_some() && self.subscription.image_count() == 0 {
            // The stream is over, whether its end was heard or not.
            self.ended_at.get_or_insert(now);
        }
        let at = if self.first.is_some() { "receiving" } else { "waiting" };
        self.progress.tell_at(now, at);
        if busy {
            return now;
        }
        let next = [
            self.subscription.next_timeout(),
            self.pong.as_ref().and_then(Pong::next_timeout),
            self.deadline(),
        ];
        let subscription = &mut self.subscription;
        let next = next.into_iter().flatten().min();
        let mut slept = false;
        self.waiter.idle(now, next, |span| {
            slept = true;
            subscription.block(span);
        });
        if slept { self.clock.now() } else { now }
    }

    /// No more than `--count` leaves to come.
    #[inline]
    fn limit(&self) -> usize {
        let Some(count) = self.arguments.count else { return LIMIT };
        let left = count.saturating_sub(self.received() + self.lost());
        usize::try_from(left).map_or(LIMIT, |left| left.clamp(1, LIMIT))
    }

    /// Of raw messages nothing is known to be lost.
    fn lost(&self) -> u64 {
        if self.arguments.raw { 0 } else { self.account.lost() }
    }

    fn received(&self) -> u64 {
        self.account.received() + self.raw
    }

    /// When `--seconds` are over, or the grace after the end.
    fn deadline(&self) -> Option<Nanos> {
        let span = |seconds: f64| Nanos((seconds * 1e9) as i64);
        let seconds = self.arguments.seconds.zip(self.first.as_ref());
        let seconds = seconds.map(|(seconds, (first, _))| *first + span(seconds));
        let grace = self.ended_at.map(|at| at + GRACE);
        seconds.into_iter().chain(grace).min()
    }

    fn is_over(&self, now: Nanos) -> bool {
        let lost = self.lost();
        self.account.is_complete()
            || self.arguments.count.is_some_and(|count| self.received() + lost >= count)
            || self.deadline().is_some_and(|deadline| now >= deadline)
            || stop_requests() > 0
            || self.progress.is_abandoned()
    }

    fn report(&mut self, uri: &ChannelUri) -> Report {
        let (first, before) = self.first.unwrap_or_default();
        let usage = thread_usage();
        let (usage, span) = match self.first {
            Some(_) => (usage, (self.last - first).0 as f64 / 1e9),
            None => (before, 0.0),
        };
        let switches = |usage: &Usage| usage.voluntary_switches + usage.involuntary_switches;
        let spreads = [&mut self.latency, &mut self.intended].map(Latency::spread);
        let [latency_ns, intended_ns] = if self.arguments.raw { [None; 2] } else { spreads };
        let stamped = (!self.arguments.raw).then_some(&self.account);
        let counted = self.arguments.end.counters;
        // The first message is where the time begins.
        let behind_first = self.received().saturating_sub(1) as f64;
        Report {
            channel: uri.to_string(),
            received: self.received(),
            end_messages: self.end_messages,
            lost: stamped.map(Account::lost),
            sent_before: stamped.map(Account::before),
            duplicated: stamped.map(Account::duplicated),
            out_of_order: stamped.map(Account::out_of_order),
            msgs_per_s: if span > 0.0 { (behind_first / span).round() } else { 0.0 },
            latency_ns,
            intended_ns,
            context_switches: switches(&usage).saturating_sub(switches(&before)),
            cpu_seconds: (usage.cpu - before.cpu).0 as f64 / 1e9,
            counters: counted.then(|| Counted(self.subscription.counters())),
        }
    }

    /// Says good-bye, so that the sender need not wait for us.
    fn leave(&mut self) {
        let deadline = self.clock.now() + LEAVING;
        if let Some(pong) = &mut self.pong {
            pong.finish();
        }
        // What was read is told when nothing more is found, or a little later: a sender that ends
        // in good order is waited for.
        while self.subscription.poll(self.clock.now(), LIMIT, |_| {}) > 0
            || (self.ended_at.is_some()
                && self.subscription.image_count() > 0
                && self.clock.now() < deadline)
        {
            self.subscription.block(Nanos::from_micros(200));
        }
        let deadline = self.clock.now() + LEAVING;
        self.subscription.close(self.clock.now());
        while !self.subscription.is_closed() && self.clock.now() < deadline {
            self.subscription.poll(self.clock.now(), LIMIT, |_| {});
            self.subscription.block(Nanos::from_millis(1));
        }
    }
}
