//! Two lines of one feed, and the ways back when both have lost a packet.

use taut_types::{Nanos, SequenceNumber};

use crate::event::{Soundness, Staleness};
use crate::feed::line::{Line, LineCounters, Lines};
use crate::feed::request::{RequestPlan, RetransmitRequest};
use crate::feed::restart::{RestartDetector, RestartTimeouts};
use crate::feed::sequencer::{FeedConfig, FeedState, Replay, Sequencer, SnapshotVerdict, Verdict};
use crate::feed::snapshot::SnapshotHead;
use crate::feed::streams::{StreamStanding, Streams};

/// How a feed is followed. Times are spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArbiterConfig {
    /// Room, and whom to listen to.
    pub feed: FeedConfig,
    /// A line that says nothing for so long is silent; when all are, the book is stale.
    pub silence: Nanos,
    /// How long a gap may wait for the other line before something is done about it.
    pub gap_timeout: Nanos,
    /// What is done.
    pub recovery: Recovery,
    /// No line is later than another by so much. A line that repeats itself after that long
    /// without anything new tells of a restart under the same stream. A restart in which it has not
    /// passed when the new numbers reach the old ones goes unnoticed: a venue should give each of
    /// its runs a stream of its own.
    pub lag: Nanos,
    /// A feed that restarts has another stream: so many packets of it, with none of the old one
    /// between them, make it the one to follow. When [`feed`](Self::feed) names the stream, that
    /// one has no successor, except by [`Arbiter::handle_reset`]. A feed may restart with the same
    /// stream, too: so many packets or heartbeats of old numbers, with nothing new between them,
    /// and its new run is followed.
    pub restart_packets: u32,
}

/// What closes a gap that both lines have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The snapshot cycle alone.
    Snapshot,
    /// Requests to a retransmission server, and the snapshot cycle when they do not help.
    Retransmission {
        /// The time between two requests for the same packets; it doubles with each.
        interval: Nanos,
        /// So many requests for the same packets, then the snapshot cycle is left.
        attempts_max: u32,
        /// So many packets in a request.
        packets_max: u16,
    },
    /// Nothing: the missing packets are given up, what follows is applied, and the book is stale
    /// until its owner says that all of it has been replaced ([`Arbiter::refreshed`]).
    NaturalRefresh,
}

impl Default for ArbiterConfig {
    fn default() -> Self {
        Self {
            feed: FeedConfig::default(),
            silence: Nanos::from_secs(3),
            gap_timeout: Nanos::from_micros(500),
            recovery: Recovery::Snapshot,
            lag: Nanos::from_millis(50),
            restart_packets: 3,
        }
    }
}

/// Follows a feed on two lines: whichever brings a packet first is taken, and what neither brings
/// is recovered. It is a [`Sequencer`] that also knows lines and time.
///
/// Contract: after every `handle_*` drain [`poll_replay`](Self::poll_replay), and send what
/// [`poll_request`](Self::poll_request) says; call [`handle_timeout`](Self::handle_timeout) at
/// [`poll_timeout`](Self::poll_timeout).
#[derive(Debug)]
pub struct Arbiter {
    sequencer: Sequencer,
    lines: Lines,
    streams: Streams,
    restart: RestartDetector,
    plan: RequestPlan,
    /// When the feed stopped to be live, while it is not.
    gap_since: Option<Nanos>,
    is_refreshing: bool,
    is_silent: bool,
    config: ArbiterConfig,
}

impl Arbiter {
    /// An arbiter that has heard nothing. Allocates all its memory.
    #[must_use]
    pub fn new(config: ArbiterConfig, now: Nanos) -> Self {
        Self {
            sequencer: Sequencer::new(config.feed),
            lines: Lines::new(now),
            // A stream that was asked for by its number has no successor.
            streams: Streams::new(
                config.feed.stream_id.is_none().then_some(config.restart_packets),
            ),
            restart: RestartDetector::new(now),
            plan: RequestPlan::default(),
            gap_since: None,
            is_refreshing: false,
            is_silent: false,
            config,
        }
    }

    /// Decides about a packet of the incremental channel that a line brought.
    #[inline]
    pub fn handle_packet(
        &mut self,
        now: Nanos,
        line: Line,
        stream_id: u32,
        sequence: SequenceNumber,
        packet: &[u8],
    ) -> Verdict {
        if !self.is_followed(now, stream_id) {
            self.sequencer.note_foreign();
            return Verdict::OtherStream;
        }
        self.hear(now, line);
        let mut verdict = self.sequencer.handle_packet(stream_id, sequence, packet);
        let (timeouts, next) = (self.restart_timeouts(), self.sequencer.next());
        if self.restart.packet(now, timeouts, (line, sequence), next, verdict)
            && self.is_new_run(now, stream_id)
        {
            verdict = self.sequencer.handle_packet(stream_id, sequence, packet);
        }
        self.lines.note(line, verdict);
        self.watch(now);
        verdict
    }

    /// Takes note of the last sequence that was sent, as a line's heartbeat says.
    pub fn handle_heartbeat(
        &mut self,
        now: Nanos,
        line: Line,
        stream_id: u32,
        last_sequence: SequenceNumber,
    ) {
        if self.is_followed(now, stream_id) {
            self.hear(now, line);
            let (timeouts, next) = (self.restart_timeouts(), self.sequencer.next());
            if self.restart.heartbeat(now, timeouts, (line, last_sequence), next) {
                self.is_new_run(now, stream_id);
            }
            self.sequencer.handle_heartbeat(stream_id, last_sequence);
            self.watch(now);
        }
    }

    /// Takes the packet with which a snapshot begins.
    pub fn handle_snapshot_begin(
        &mut self,
        now: Nanos,
        stream_id: u32,
        head: SnapshotHead,
        packet: &[u8],
    ) -> SnapshotVerdict {
        if !self.is_followed(now, stream_id) {
            return SnapshotVerdict::Ignored;
        }
        let verdict = self.sequencer.handle_snapshot_begin(stream_id, head, packet);
        self.conclude(now, verdict)
    }

    /// Takes note of the last sequence that a snapshot contains: see
    /// [`Sequencer::handle_snapshot_sequence`].
    pub fn handle_snapshot_sequence(
        &mut self,
        now: Nanos,
        stream_id: u32,
        last_sequence: SequenceNumber,
    ) -> bool {
        let is_taken = self.is_followed(now, stream_id)
            && self.sequencer.handle_snapshot_sequence(stream_id, last_sequence);
        self.watch(now);
        is_taken
    }

    /// The caller's state is good up to this sequence: see [`Sequencer::rebase`].
    pub fn rebase(&mut self, now: Nanos, last_sequence: SequenceNumber) {
        self.sequencer.rebase(last_sequence);
        self.is_refreshing = false;
        self.watch(now);
    }

    /// As [`Sequencer::keep_applied`].
    pub const fn keep_applied(&mut self, keeps: bool) {
        self.sequencer.keep_applied(keeps);
    }

    /// Whether there is a gap that only a snapshot can close: no line has brought what is missing
    /// in time, and there is nobody to ask for it, or nobody has answered.
    #[must_use]
    pub fn is_gap_hopeless(&self, now: Nanos) -> bool {
        let is_late = |since| now.since(since) >= self.config.gap_timeout;
        self.sequencer.has_gap()
            && self.gap_since.is_some_and(is_late)
            && match self.config.recovery {
                Recovery::Snapshot | Recovery::NaturalRefresh => true,
                Recovery::Retransmission { attempts_max, .. } => {
                    self.plan.is_exhausted(now, self.sequencer.next(), attempts_max)
                }
            }
    }

    /// Takes another packet of a snapshot: see [`Sequencer::handle_snapshot_part`].
    pub fn handle_snapshot_part(
        &mut self,
        now: Nanos,
        stream_id: u32,
        snapshot_id: u32,
        packet_index: u32,
        units: u64,
        packet: &[u8],
    ) -> SnapshotVerdict {
        let verdict = self.sequencer.handle_snapshot_part(
            stream_id,
            snapshot_id,
            packet_index,
            units,
            packet,
        );
        self.conclude(now, verdict)
    }

    /// The venue says that it starts again from sequence 1 with an empty book.
    pub fn handle_reset(&mut self, now: Nanos, stream_id: u32) {
        self.follow(now, Some(stream_id));
        let head = SnapshotHead { id: 0, last_sequence: SequenceNumber(0), units: 0 };
        let _ = self.sequencer.handle_snapshot_begin(stream_id, head, &[]);
        self.watch(now);
    }

    /// Does what is due: a silent line is noticed, a gap is given up or asked for.
    pub fn handle_timeout(&mut self, now: Nanos) {
        self.is_silent = self.lines.check(now, self.config.silence);
        self.watch(now);
        let Some(since) = self.gap_since else { return };
        if now.since(since) < self.config.gap_timeout {
            return;
        }
        match self.config.recovery {
            Recovery::Snapshot => {}
            Recovery::Retransmission { interval, attempts_max, packets_max } => {
                if self.sequencer.has_gap()
                    && let Some(stream_id) = self.sequencer.stream_id()
                {
                    let (first, count) = self.sequencer.first_gap(packets_max);
                    let wanted = RetransmitRequest { stream_id, first, count };
                    self.plan.ask(now, wanted, interval, attempts_max);
                }
            }
            Recovery::NaturalRefresh => {
                if self.sequencer.give_up_gap() {
                    self.is_refreshing = true;
                }
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let silence = self.lines.next_silence(self.config.silence);
        let gap_since = self.gap_since.filter(|_| self.sequencer.has_gap());
        let gap = gap_since.and_then(|since| match self.config.recovery {
            Recovery::Snapshot => None,
            Recovery::NaturalRefresh => Some(since + self.config.gap_timeout),
            Recovery::Retransmission { attempts_max, .. } => {
                let first = since + self.config.gap_timeout;
                self.plan.next(attempts_max).map(|next| next.max(first))
            }
        });
        match (silence, gap) {
            (Some(silence), Some(gap)) => Some(silence.min(gap)),
            (silence, gap) => silence.or(gap),
        }
    }

    /// A request to send to the retransmission server; its answers are packets of
    /// [`Line::Retransmission`].
    pub fn poll_request(&mut self) -> Option<RetransmitRequest> {
        self.plan.take()
    }

    /// The next thing to do on the way back to a sound book.
    #[inline]
    pub fn poll_replay(&mut self) -> Option<Replay<'_>> {
        // What is replayed heals: the caller drains this until there is nothing.
        if self.sequencer.has_replay() { self.sequencer.poll_replay() } else { self.settle() }
    }

    /// Whether a book that has taken everything so far can be trusted.
    #[must_use]
    #[inline]
    pub const fn soundness(&self) -> Soundness {
        match self.sequencer.state() {
            _ if self.is_silent => Soundness::Stale(Staleness::Silent),
            FeedState::Recovering { has_base: false, .. } => Soundness::Stale(Staleness::Joining),
            FeedState::Recovering { .. } => Soundness::Stale(Staleness::Gap),
            FeedState::Live { .. } if self.restart.signs() > 0 => {
                Soundness::Stale(Staleness::Restarting)
            }
            FeedState::Live { .. } if self.is_refreshing => Soundness::Stale(Staleness::Refreshing),
            FeedState::Live { .. } => Soundness::Sound,
        }
    }

    /// All that a given-up gap may have changed has been replaced since: see
    /// [`Recovery::NaturalRefresh`].
    pub const fn refreshed(&mut self) {
        self.is_refreshing = false;
    }

    /// The caller's state cannot be trusted any more: see [`Sequencer::invalidate`].
    pub fn invalidate(&mut self, now: Nanos) {
        self.sequencer.invalidate();
        self.watch(now);
    }

    /// The account of the followed stream.
    #[must_use]
    pub const fn sequencer(&self) -> &Sequencer {
        &self.sequencer
    }

    /// What a line has brought.
    #[must_use]
    pub const fn line(&self, line: Line) -> &LineCounters {
        self.lines.get(line)
    }

    /// How often another stream, or a new run of the same one, was followed, and how many requests
    /// were made.
    #[must_use]
    pub const fn restarts_and_requests(&self) -> (u64, u64) {
        (self.streams.restarts(), self.plan.requests())
    }
}

impl Arbiter {
    #[inline]
    fn hear(&mut self, now: Nanos, line: Line) {
        self.lines.hear(line, now);
        self.is_silent &= line == Line::Retransmission;
    }

    /// Whether packets of this stream count. One packet of another stream is nothing; a run of
    /// them is a restart.
    #[inline]
    fn is_followed(&mut self, now: Nanos, stream_id: u32) -> bool {
        match self.streams.classify(stream_id, self.sequencer.stream_id(), self.is_silent) {
            StreamStanding::Followed => true,
            StreamStanding::Foreign => false,
            StreamStanding::Successor => {
                self.follow(now, Some(stream_id));
                true
            }
        }
    }

    #[inline]
    const fn restart_timeouts(&self) -> RestartTimeouts {
        RestartTimeouts { lag: self.config.lag, silence: self.config.silence }
    }

    /// The stream shows signs of a new run; whether they are enough to follow it.
    #[cold]
    fn is_new_run(&mut self, now: Nanos, stream_id: u32) -> bool {
        let is_new = self.restart.signs() >= self.config.restart_packets;
        if is_new {
            self.streams.note_restart();
            self.follow(now, Some(stream_id));
        }
        is_new
    }

    #[cold]
    fn follow(&mut self, now: Nanos, stream_id: Option<u32>) {
        if self.sequencer.stream_id() != stream_id {
            self.streams.leave(self.sequencer.stream_id());
        }
        self.sequencer.restart(stream_id);
        self.restart = RestartDetector::new(now);
        self.plan.clear();
        self.gap_since = None;
        self.is_refreshing = false;
    }

    /// A snapshot replaces everything that was given up.
    fn conclude(&mut self, now: Nanos, verdict: SnapshotVerdict) -> SnapshotVerdict {
        if verdict == SnapshotVerdict::Complete {
            self.is_refreshing = false;
        }
        self.watch(now);
        verdict
    }

    #[inline]
    fn watch(&mut self, now: Nanos) {
        if !self.sequencer.is_live() {
            self.gap_since.get_or_insert(now);
        } else if self.gap_since.is_some() {
            self.gap_since = None;
            self.plan.clear();
        }
    }

    /// Nothing is left to replay: the feed may be live again.
    #[inline]
    fn settle(&mut self) -> Option<Replay<'_>> {
        let is_over = self.gap_since.is_some()
            && self.sequencer.poll_replay().is_none()
            && self.sequencer.is_live();
        if is_over {
            self.gap_since = None;
            self.plan.clear();
        }
        None
    }
}
