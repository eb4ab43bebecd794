//! The decision about every packet, and the way back after a gap.

use taut_types::SequenceNumber;

use crate::feed::counters::Counters;
use crate::feed::slots::{Kept, Slots};
use crate::feed::snapshot::{Assembly, Part, SnapshotHead, Stage};

/// The room that a sequencer takes when it is built, and whom it listens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedConfig {
    /// The stream to follow; with `None` the first one heard.
    pub stream_id: Option<u32>,
    /// How many packets of the incremental channel can be stored while recovering. It should cover
    /// what is sent in two snapshot cycles.
    pub packet_count: usize,
    /// How many packets a snapshot can have.
    pub snapshot_packet_count: usize,
    /// The longest packet of either channel.
    pub packet_bytes: usize,
}

impl Default for FeedConfig {
    /// 8,192 packets and 1,024 of a snapshot, 1,400 bytes each: 13 MB.
    fn default() -> Self {
        Self {
            stream_id: None,
            packet_count: 8_192,
            snapshot_packet_count: 1_024,
            packet_bytes: 1_400,
        }
    }
}

/// A sequence above this is nonsense: at a billion packets a second it is 292 years away. Refusing
/// it keeps a corrupt packet from moving the account to where it cannot count on.
const SEQUENCE_MAX: u64 = i64::MAX.unsigned_abs();

/// A number that is further ahead of what is known than the store is long, and at least so much, is
/// believed when the next one agrees. What is nearer is believed at once: should it be wrong, the
/// feed is stale until it has got there. A true jump costs one packet, which the snapshot covers
/// that it needs anyway.
const JUMP_MIN: u64 = 1_024;

/// Where a feed stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedState {
    /// Packets are missing, or there is no state to apply them to.
    Recovering {
        /// The first sequence that has been neither applied nor recovered.
        first_missing: SequenceNumber,
        /// Whether the state up to there is good, so that late packets alone may heal the gap; if
        /// not, a snapshot has to come.
        has_base: bool,
    },
    /// Everything that is known to have been sent has been applied or recovered.
    Live {
        /// The sequence that comes next.
        next: SequenceNumber,
    },
}

/// What to do with a packet of the incremental channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Apply it now. Unless the feed was live, drain [`Sequencer::poll_replay`] then: it may have
    /// closed a gap.
    Apply,
    /// Ignore it: it has been applied, covered by a snapshot, or stored before.
    Duplicate,
    /// Ignore it for now: it was copied and will come back from [`Sequencer::poll_replay`].
    Stored,
    /// Ignore it: there was no room for it, and a later snapshot covers it; or its sequence is
    /// nonsense.
    Dropped,
    /// Ignore it: it is of another stream (an old incarnation of the venue, or another venue).
    OtherStream,
}

/// What became of a packet of the snapshot channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotVerdict {
    /// It was not needed: the feed is live, the snapshot is too old, or its beginning was missed.
    Ignored,
    /// It was copied; more parts are missing.
    Stored,
    /// It completed the snapshot: drain [`Sequencer::poll_replay`].
    Complete,
}

/// What [`Sequencer::poll_replay`] hands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay<'a> {
    /// Forget the state: a new one follows, as of this sequence.
    Reset {
        /// The last sequence that the snapshot contains.
        last_sequence: SequenceNumber,
    },
    /// A packet of the snapshot, in the order of their indexes.
    SnapshotPart(&'a [u8]),
    /// A stored packet of the incremental channel, in sequence: apply it.
    Packet {
        /// Its sequence.
        sequence: SequenceNumber,
        /// Its bytes.
        bytes: &'a [u8],
    },
}

/// Puts the packets of a feed in order: see the crate's description.
///
/// Contract: after [`Verdict::Apply`] on a feed that was not live and after
/// [`SnapshotVerdict::Complete`], drain [`poll_replay`](Self::poll_replay). Draining after every
/// packet is right too and costs one comparison.
#[derive(Debug)]
pub struct Sequencer {
    /// All sequences below are applied or recovered.
    next: u64,
    /// `next` is above everything known to have been sent, and the state is good.
    live: bool,
    /// The caller's state is good up to `next`.
    has_base: bool,
    stream_id: Option<u32>,
    counters: Counters,
    /// The last number that was heard, while it is too far ahead to be believed.
    doubted: Option<u64>,
    /// A snapshot is complete and its reset has not been handed out.
    reset: bool,
    /// Packets that are applied at once are stored, too.
    keeps_applied: bool,
    assembly: Assembly,
    packets: Slots,
    config: FeedConfig,
}

impl Sequencer {
    /// A sequencer that has heard nothing and waits for a snapshot. Allocates all its memory.
    #[must_use]
    pub fn new(config: FeedConfig) -> Self {
        Self {
            next: 1,
            live: false,
            has_base: false,
            stream_id: config.stream_id,
            counters: Counters::default(),
            doubted: None,
            reset: false,
            keeps_applied: false,
            assembly: Assembly::new(config.snapshot_packet_count, config.packet_bytes),
            packets: Slots::new(config.packet_count, config.packet_bytes),
            config,
        }
    }

    /// Forgets everything, the counters too, and follows this stream (`None`: the next one heard).
    pub fn restart(&mut self, stream_id: Option<u32>) {
        self.next = 1;
        self.live = false;
        self.has_base = false;
        self.stream_id = stream_id;
        self.counters = Counters::default();
        self.doubted = None;
        self.reset = false;
        self.assembly.clear();
        self.packets.clear();
    }

    /// Decides about a packet of the incremental channel. Cost when live: three comparisons; when
    /// recovering, a copy of the packet.
    #[inline]
    pub fn handle_packet(
        &mut self,
        stream_id: u32,
        sequence: SequenceNumber,
        packet: &[u8],
    ) -> Verdict {
        if self.live && sequence.0 == self.next && self.stream_id == Some(stream_id) {
            self.counters.highest_seen = sequence.0;
            if self.keeps_applied {
                self.keep(sequence.0, packet);
            }
            self.apply_next();
            return Verdict::Apply;
        }
        self.handle_out_of_line(stream_id, sequence.0, packet)
    }

    /// Takes note of the last sequence that the publisher has sent: a lost tail is a gap too.
    pub fn handle_heartbeat(&mut self, stream_id: u32, last_sequence: SequenceNumber) {
        let last = last_sequence.0;
        if self.is_ours(stream_id) && last <= SEQUENCE_MAX && self.is_credible(last, false) {
            self.note_sent(last);
            self.update_live();
        }
    }

    /// Takes the packet with which a snapshot begins, its part of index 0.
    pub fn handle_snapshot_begin(
        &mut self,
        stream_id: u32,
        head: SnapshotHead,
        packet: &[u8],
    ) -> SnapshotVerdict {
        if !self.handle_snapshot_sequence(stream_id, head.last_sequence)
            || self.live
            || !self.is_useful(head)
        {
            return SnapshotVerdict::Ignored;
        }
        let part = self.assembly.begin(head, packet);
        self.conclude(part)
    }

    /// Takes note of the last sequence that a snapshot contains, for a caller that puts snapshots
    /// together himself: see [`rebase`](Self::rebase). False when it is nonsense or of another
    /// stream.
    pub fn handle_snapshot_sequence(
        &mut self,
        stream_id: u32,
        last_sequence: SequenceNumber,
    ) -> bool {
        let last = last_sequence.0;
        if !self.is_ours(stream_id) || last > SEQUENCE_MAX || !self.is_credible(last, true) {
            return false;
        }
        self.note_sent(last);
        self.update_live();
        true
    }

    /// Takes another packet of a snapshot: its index, and how many of the units announced by
    /// [`SnapshotHead::units`] it brings. Leave out the parts that you do not need.
    pub fn handle_snapshot_part(
        &mut self,
        stream_id: u32,
        snapshot_id: u32,
        packet_index: u32,
        units: u64,
        packet: &[u8],
    ) -> SnapshotVerdict {
        if self.live || !self.is_ours(stream_id) {
            return SnapshotVerdict::Ignored;
        }
        let part = self.assembly.part(snapshot_id, packet_index, units, packet);
        self.conclude(part)
    }

    /// The next thing to do on the way back to live, or nothing. Cost when live: one comparison.
    #[inline]
    pub fn poll_replay(&mut self) -> Option<Replay<'_>> {
        if self.live { None } else { self.next_replay() }
    }

    /// The caller's state cannot be trusted any more (a packet that was applied turned out to be
    /// malformed, say): a snapshot has to come, and packets are stored until then.
    pub fn invalidate(&mut self) {
        self.has_base = false;
        self.live = false;
        self.reset = false;
        self.assembly.clear();
    }

    /// The caller's state is good up to this sequence, by snapshots that he has put together
    /// himself; what was missing until then is recovered. A sequence that is behind is no news but
    /// that the state is good. Drain [`poll_replay`](Self::poll_replay) then.
    pub fn rebase(&mut self, last_sequence: SequenceNumber) {
        let next = last_sequence.0.saturating_add(1).max(self.next);
        self.counters.recovered += next - self.next;
        self.next = next;
        self.has_base = true;
        self.note_sent(next - 1);
        self.update_live();
    }

    /// Whether packets that are applied at once are stored, too, as those are that come ahead: for
    /// a caller with states that are behind, see [`stored`](Self::stored).
    pub const fn keep_applied(&mut self, keeps: bool) {
        self.keeps_applied = keeps;
    }

    /// A packet that was stored and that no later one has taken the place of.
    #[must_use]
    pub fn stored(&self, sequence: SequenceNumber) -> Option<&[u8]> {
        self.packets.get(sequence.0)
    }

    /// Whether the caller's state is good up to the packets that were applied last.
    #[must_use]
    pub const fn has_base(&self) -> bool {
        self.has_base
    }

    /// Where the feed stands.
    #[must_use]
    pub const fn state(&self) -> FeedState {
        let next = SequenceNumber(self.next);
        if self.live {
            FeedState::Live { next }
        } else {
            FeedState::Recovering { first_missing: next, has_base: self.has_base }
        }
    }

    /// The last sequence that was applied or recovered.
    #[must_use]
    pub const fn last(&self) -> SequenceNumber {
        SequenceNumber(self.next - 1)
    }

    /// Whether everything that is known to have been sent has been applied or recovered.
    #[must_use]
    #[inline]
    pub const fn is_live(&self) -> bool {
        self.live
    }

    /// The account so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many of the sequences `1..=final_sequence` are neither applied nor recovered:
    /// `final_sequence == applied + recovered + lost`.
    #[must_use]
    pub const fn lost(&self, final_sequence: SequenceNumber) -> u64 {
        self.counters.lost(final_sequence.0)
    }

    /// The stream that is followed, when one has been heard or was configured.
    #[must_use]
    pub const fn stream_id(&self) -> Option<u32> {
        self.stream_id
    }

    /// The first packet that is missing, and how many in a row are, at most so many.
    #[must_use]
    pub fn first_gap(&self, count_max: u16) -> (SequenceNumber, u16) {
        let sent = self.counters.highest_seen;
        let is_missing = |&offset: &u16| {
            let sequence = self.next.saturating_add(offset.into());
            sequence <= sent && self.packets.get(sequence).is_none()
        };
        let count = (0..count_max).take_while(is_missing).count();
        (SequenceNumber(self.next), u16::try_from(count).unwrap_or(count_max))
    }

    /// Gives the missing packets up and goes on with what was stored behind them: they stay lost,
    /// and what they changed is not in the caller's state. Drain [`poll_replay`](Self::poll_replay)
    /// then. False when there is no state to go on with.
    pub fn give_up_gap(&mut self) -> bool {
        if !self.has_gap() || self.is_replaying() {
            return false;
        }
        let sent = self.counters.highest_seen;
        let reach = self.packets.count() as u64;
        let last = sent.min(self.next.saturating_add(reach));
        let stored = (self.next..=last).find(|&sequence| self.packets.get(sequence).is_some());
        self.next = stored.unwrap_or(sent.saturating_add(1));
        self.update_live();
        true
    }

    /// Packets are missing from a state that is good up to them.
    pub(crate) const fn has_gap(&self) -> bool {
        !self.live && self.has_base && self.next <= self.counters.highest_seen
    }

    /// The first sequence that has been neither applied nor recovered.
    #[inline]
    pub(crate) const fn next(&self) -> SequenceNumber {
        SequenceNumber(self.next)
    }

    /// Whether [`poll_replay`](Self::poll_replay) has something to hand out.
    pub(crate) fn has_replay(&self) -> bool {
        !self.live
            && (self.reset
                || self.is_replaying()
                || (self.has_base && self.packets.get(self.next).is_some()))
    }

    /// A packet of a stream that nobody follows came.
    pub(crate) const fn note_foreign(&mut self) {
        self.counters.foreign += 1;
    }

    /// What it was built with.
    #[must_use]
    pub const fn config(&self) -> &FeedConfig {
        &self.config
    }
}

impl Sequencer {
    #[cold]
    fn keep(&mut self, sequence: u64, packet: &[u8]) {
        // What stands in its place is older and was applied.
        let _ = self.packets.insert(sequence, self.next, packet);
    }

    #[cold]
    fn handle_out_of_line(&mut self, stream_id: u32, sequence: u64, packet: &[u8]) -> Verdict {
        if !self.is_ours(stream_id) {
            return Verdict::OtherStream;
        }
        if sequence < self.next {
            self.counters.duplicates += 1;
            return Verdict::Duplicate;
        }
        if sequence > SEQUENCE_MAX {
            self.counters.dropped += 1;
            return Verdict::Dropped;
        }
        if !self.is_credible(sequence, false) {
            return Verdict::Dropped;
        }
        self.note_sent(sequence);
        if sequence == self.next && self.has_base && !self.is_replaying() {
            if self.keeps_applied {
                self.keep(sequence, packet);
            }
            self.apply_next();
            self.update_live();
            return Verdict::Apply;
        }
        match self.packets.insert(sequence, self.next, packet) {
            Kept::Stored => {}
            Kept::Evicted => self.counters.dropped += 1,
            Kept::Duplicate => {
                self.counters.duplicates += 1;
                return Verdict::Duplicate;
            }
            Kept::Refused => {
                self.counters.dropped += 1;
                return Verdict::Dropped;
            }
        }
        self.counters.stored += 1;
        Verdict::Stored
    }

    #[cold]
    fn next_replay(&mut self) -> Option<Replay<'_>> {
        if self.reset {
            self.reset = false;
            return Some(Replay::Reset { last_sequence: SequenceNumber(self.next - 1) });
        }
        if let Some(key) = self.assembly.next_part() {
            return self.assembly.get(key).map(Replay::SnapshotPart);
        }
        let sequence = self.next;
        if self.has_base && self.packets.get(sequence).is_some() {
            self.apply_next();
            let sequence = SequenceNumber(sequence);
            return self.packets.get(sequence.0).map(|bytes| Replay::Packet { sequence, bytes });
        }
        self.update_live();
        None
    }

    /// A snapshot that is complete becomes the base if it still helps.
    fn conclude(&mut self, part: Part) -> SnapshotVerdict {
        match part {
            Part::Ignored => SnapshotVerdict::Ignored,
            Part::Stored => SnapshotVerdict::Stored,
            Part::Refused => {
                self.counters.snapshots_refused += 1;
                SnapshotVerdict::Ignored
            }
            Part::Complete(head) if !self.is_useful(head) => {
                self.assembly.clear();
                SnapshotVerdict::Ignored
            }
            Part::Complete(head) => {
                self.counters.recovered += head.last_sequence.0 - (self.next - 1);
                self.counters.snapshots_used += 1;
                self.next = head.last_sequence.0 + 1;
                self.has_base = true;
                self.reset = true;
                SnapshotVerdict::Complete
            }
        }
    }

    /// A snapshot helps if it covers something that is missing; without a base, also one that
    /// stands exactly where the account does.
    const fn is_useful(&self, head: SnapshotHead) -> bool {
        let last_sequence = head.last_sequence.0;
        last_sequence >= self.next || (!self.has_base && last_sequence == self.next - 1)
    }

    const fn is_replaying(&self) -> bool {
        matches!(self.assembly.stage(), Stage::Replaying { .. })
    }

    const fn apply_next(&mut self) {
        self.next += 1;
        self.counters.applied += 1;
    }

    /// The publisher has sent everything up to here.
    fn note_sent(&mut self, sequence: u64) {
        self.counters.highest_seen = self.counters.highest_seen.max(sequence);
        if self.live && sequence >= self.next {
            self.live = false;
            self.counters.gaps += 1;
        }
    }

    fn update_live(&mut self) {
        self.live = self.has_base
            && !self.is_replaying()
            && self.doubted.is_none()
            && self.next > self.counters.highest_seen;
    }

    /// Whether the publisher may well have sent so much. One number that is far ahead of all the
    /// others is not believed, or a corrupt one would keep the feed stale for ever; but it is a
    /// first sign, and the feed is not live until the next number says what is true. A second line
    /// repeats what the first says, so only a snapshot may confirm with the same number again.
    fn is_credible(&mut self, sequence: u64, is_snapshot: bool) -> bool {
        let jump = JUMP_MIN.max(self.packets.count() as u64);
        let known = self.counters.highest_seen.max(self.next - 1);
        if sequence <= known.saturating_add(jump) {
            if sequence.saturating_add(1) >= self.next {
                self.doubted = None;
            }
            return true;
        }
        let agrees = |doubted: u64| {
            sequence.abs_diff(doubted) <= jump && (is_snapshot || sequence != doubted)
        };
        if self.doubted.take().is_some_and(agrees) {
            return true;
        }
        self.doubted = Some(sequence);
        self.counters.doubted += 1;
        self.counters.gaps += u64::from(self.live);
        self.live = false;
        false
    }

    /// Whether this is the stream to follow; the first one heard is, when none was configured.
    fn is_ours(&mut self, stream_id: u32) -> bool {
        let ours = *self.stream_id.get_or_insert(stream_id) == stream_id;
        self.counters.foreign += u64::from(!ours);
        ours
    }
}
