//! Flow control: how far the sender may go, by what its receivers say.

use alloc::vec::Vec;
use core::net::SocketAddr;

use taut_types::{Host, Nanos};

/// A stock receiver that repeats itself for so long, while nothing was sent and nothing asked for,
/// has what was sent: it says where it is five times a second.
const SETTLING: Nanos = Nanos::from_millis(450);
/// A status message that was sent before its receiver left comes no later than this behind the
/// last word of it, unless it names a position of before.
const OVERTAKEN: Nanos = Nanos::from_millis(200);

/// Which receivers set the sender's limit (`fc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowControl {
    /// The fastest one: others may lose what they are too slow for.
    Max,
    /// The slowest one. Below `group_min` receivers nothing is sent.
    Min {
        /// How many receivers there must be.
        group_min: usize,
    },
    /// The slowest of those that carry the tag.
    Tagged {
        /// `gtag` of the receivers that count.
        tag: i64,
        /// How many of them there must be.
        group_min: usize,
    },
    /// The slowest one, but one that holds the others back for longer than this is dropped.
    Evict {
        /// How long.
        after: Nanos,
    },
}

/// A receiver, as far as it has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverStatus {
    /// Its id.
    pub receiver_id: i64,
    /// Where its status messages come from.
    pub address: SocketAddr,
    /// Up to where it has consumed the stream.
    pub position: i64,
    /// Messages that were taken since it was first heard of.
    pub messages: u64,
}

/// One receiver.
#[derive(Clone, Copy, Debug)]
struct Receiver {
    id: i64,
    address: SocketAddr,
    position: i64,
    edge: i64,
    /// Messages that were taken before it was heard of.
    messages_before: u64,
    heard: Nanos,
    /// Since when it has been what holds the sender.
    holding_since: Option<Nanos>,
    /// How far it may be ahead of what it says.
    slack: i64,
    /// What was sent when it last said something, and since when that and its position stand.
    sent: i64,
    stands_since: Nanos,
    /// It has what was sent, as far as its slack goes.
    is_settled: bool,
}

impl Receiver {
    /// Up to where it has the stream.
    fn acknowledged(&self) -> i64 {
        match self.is_settled {
            true => (self.position + self.slack).min(self.sent).max(self.position),
            false => self.position,
        }
    }

    /// It said something.
    fn settle(&mut self, now: Nanos, report: &Report) {
        if (self.position, self.sent) != (report.position, report.sent) {
            self.stands_since = now;
        }
        self.is_settled = now.since(self.stands_since) >= SETTLING;
        self.slack = report.slack();
        self.sent = report.sent;
    }
}

/// A receiver that left: what it said before may still be under way.
#[derive(Clone, Copy, Debug)]
struct Left {
    id: i64,
    position: i64,
    at: Nanos,
}

/// A status message, with its position worked out.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub receiver_id: i64,
    pub from: SocketAddr,
    pub position: i64,
    pub window: i64,
    pub group_tag: Option<i64>,
    pub has_ended: bool,
    /// Its position is where it is; without, it may be a quarter of its window further.
    pub is_exact: bool,
    /// Up to where the stream was sent.
    pub sent: i64,
    /// Messages that were taken so far.
    pub messages: u64,
}

impl Report {
    const fn slack(&self) -> i64 {
        if self.is_exact { 0 } else { self.window / 4 }
    }
}

/// The receivers that are alive, and the limit that they set.
#[derive(Debug)]
pub struct Receivers {
    strategy: FlowControl,
    entries: Vec<Receiver>,
    left: Vec<Left>,
    count_max: usize,
    per_host_max: usize,
    timeout: Nanos,
    limit: i64,
    acknowledged: i64,
    ended: bool,
}

impl Receivers {
    pub fn new(
        strategy: FlowControl,
        (count_max, per_host_max): (usize, usize),
        timeout: Nanos,
        start: i64,
    ) -> Self {
        Self {
            strategy,
            entries: Vec::with_capacity(count_max),
            left: Vec::with_capacity(count_max),
            count_max,
            per_host_max,
            timeout,
            limit: start,
            acknowledged: start,
            ended: false,
        }
    }

    /// The sender's limit.
    #[inline]
    pub const fn limit(&self) -> i64 {
        self.limit
    }

    /// How many are alive.
    pub const fn count(&self) -> usize {
        self.entries.len()
    }

    /// Each of them, when so many messages were taken.
    pub fn statuses(&self, messages: u64) -> impl Iterator<Item = ReceiverStatus> {
        self.entries.iter().map(move |entry| ReceiverStatus {
            receiver_id: entry.id,
            address: entry.address,
            position: entry.position,
            messages: messages.saturating_sub(entry.messages_before),
        })
    }

    /// What every receiver has consumed.
    pub const fn acknowledged(&self) -> i64 {
        self.acknowledged
    }

    /// A receiver said that it has everything, and none is left.
    pub fn all_ended(&self) -> bool {
        self.ended && self.entries.is_empty()
    }

    /// Enough receivers are there.
    pub fn is_connected(&self) -> bool {
        let wanted = match self.strategy {
            FlowControl::Min { group_min } | FlowControl::Tagged { group_min, .. } => group_min,
            FlowControl::Max | FlowControl::Evict { .. } => 1,
        };
        self.entries.len() >= wanted.max(1)
    }

    /// Takes a status message; false when its receiver is not (or no more) one that counts.
    pub fn handle_status(&mut self, now: Nanos, report: &Report) -> bool {
        if !self.counts(report) {
            return false;
        }
        let known = self.entries.iter().position(|entry| entry.id == report.receiver_id);
        if report.has_ended {
            self.leave(now, report.receiver_id, report.position);
            let last = known.map(|at| self.entries.swap_remove(at));
            let slack = last.map_or(0, |entry| entry.slack).max(report.slack());
            let slack = if report.is_exact { 0 } else { slack };
            let has = (report.position + slack).min(report.sent).max(report.position);
            self.ended = true;
            self.acknowledged = self.acknowledged.max(has);
            self.update();
            return true;
        }
        let edge = report.position + report.window;
        match known.and_then(|at| self.entries.get_mut(at)) {
            // Status messages overtake each other.
            Some(entry) if report.position < entry.position => entry.heard = now,
            Some(entry) => {
                entry.settle(now, report);
                // Who repeats itself holds the others as before.
                if edge > entry.edge {
                    entry.holding_since = None;
                }
                (entry.position, entry.edge, entry.heard) = (report.position, edge, now);
                entry.address = report.from;
            }
            None => {
                if self.is_overtaken(now, report) {
                    return false;
                }
                // Without receivers the limit is that of one that has gone.
                let is_behind = !self.entries.is_empty() && edge + report.window < self.limit;
                let is_held = !matches!(self.strategy, FlowControl::Max);
                if !self.has_room(report.from) || (is_held && is_behind) {
                    return false;
                }
                self.left.retain(|left| left.id != report.receiver_id);
                self.entries.push(Receiver {
                    id: report.receiver_id,
                    address: report.from,
                    position: report.position,
                    edge,
                    messages_before: report.messages,
                    heard: now,
                    holding_since: None,
                    slack: report.slack(),
                    sent: report.sent,
                    stands_since: now,
                    is_settled: false,
                });
            }
        }
        self.ended = false;
        self.update();
        true
    }

    /// Somebody asks for something again: what stock receivers have is not known.
    pub fn unsettle(&mut self, now: Nanos) {
        for entry in &mut self.entries {
            (entry.stands_since, entry.is_settled) = (now, false);
        }
        self.update();
    }

    /// Nobody is there any more.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.ended = true;
        self.update();
    }

    /// A receiver refused the stream, from the address where its status messages come from. False
    /// when there is no such receiver: who hears a group knows the ids of all its receivers.
    pub fn refuse(&mut self, now: Nanos, receiver_id: i64, from: SocketAddr) -> bool {
        let is_it = |entry: &&Receiver| entry.id == receiver_id && entry.address == from;
        let Some(position) = self.entries.iter().find(is_it).map(|entry| entry.position) else {
            return false;
        };
        self.leave(now, receiver_id, position);
        self.remove(receiver_id);
        true
    }

    /// Without receivers the stream went on up to a position: one that joins begins there.
    pub fn pass(&mut self, position: i64) {
        self.limit = self.limit.max(position);
        if self.entries.is_empty() {
            self.acknowledged = self.acknowledged.max(position);
        }
    }

    /// Forgets receivers that were not heard for the timeout; true when there was one.
    pub fn expire(&mut self, now: Nanos) -> bool {
        let (before, timeout) = (self.entries.len(), self.timeout);
        self.left.retain(|left| now.since(left.at) <= timeout);
        self.entries.retain(|entry| now.since(entry.heard) <= timeout);
        let has_expired = self.entries.len() < before;
        if has_expired {
            self.update();
        }
        has_expired
    }

    /// When the next receiver may time out.
    pub fn next_expiry(&self) -> Nanos {
        let heard = self.entries.iter().map(|entry| entry.heard).min();
        heard.map_or(Nanos::MAX, |heard| heard + self.timeout + Nanos(1))
    }

    /// The sender is at its limit and has more to send: drops the receiver that has held it there
    /// for too long, and says which.
    pub fn evict(&mut self, now: Nanos) -> Option<i64> {
        let FlowControl::Evict { after } = self.strategy else { return None };
        let limit = self.limit;
        // The last receiver is not in anybody's way.
        if self.entries.len() < 2 || !self.entries.iter().any(|entry| entry.edge > limit) {
            return None;
        }
        let slow = self.entries.iter_mut().filter(|entry| entry.edge == limit);
        let mut evicted = None;
        for entry in slow {
            let since = *entry.holding_since.get_or_insert(now);
            if now.since(since) > after {
                evicted = Some(entry.id);
            }
        }
        self.remove(evicted?);
        evicted
    }

    fn remove(&mut self, receiver_id: i64) {
        self.entries.retain(|entry| entry.id != receiver_id);
        self.update();
    }

    /// Remembers who left: who says so again has left when it said so first.
    fn leave(&mut self, now: Nanos, id: i64, position: i64) {
        let known = self.left.iter().any(|left| left.id == id && left.position >= position);
        if known {
            return;
        }
        self.left.retain(|left| left.id != id);
        if self.left.len() >= self.count_max {
            self.left.remove(0);
        }
        self.left.push(Left { id, position, at: now });
    }

    /// A receiver said this before it left. One that comes back begins where the stream is then,
    /// and repeats itself.
    fn is_overtaken(&self, now: Nanos, report: &Report) -> bool {
        let left = self.left.iter().find(|left| left.id == report.receiver_id);
        left.is_some_and(|left| {
            let is_same = report.position == left.position;
            report.position < left.position || (is_same && now.since(left.at) < OVERTAKEN)
        })
    }

    fn has_room(&self, from: SocketAddr) -> bool {
        let is_of_host = |entry: &&Receiver| Host::of(entry.address.ip()) == Host::of(from.ip());
        let of_host = self.entries.iter().filter(is_of_host).count();
        self.entries.len() < self.count_max && of_host < self.per_host_max
    }

    fn counts(&self, report: &Report) -> bool {
        match self.strategy {
            FlowControl::Tagged { tag, .. } => report.group_tag == Some(tag),
            _ => true,
        }
    }

    fn update(&mut self) {
        let edges = self.entries.iter().map(|entry| entry.edge);
        let is_enough = self.is_connected();
        match self.strategy {
            FlowControl::Max => self.limit = edges.fold(self.limit, i64::max),
            _ if is_enough => self.limit = edges.min().unwrap_or(self.limit),
            _ => {}
        }
        let positions = self.entries.iter().map(Receiver::acknowledged);
        self.acknowledged = positions.min().unwrap_or(self.acknowledged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};

    fn report(receiver_id: i64, position: i64, window: i64) -> Report {
        let from = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), receiver_id as u16);
        Report {
            receiver_id,
            from,
            position,
            window,
            group_tag: None,
            has_ended: false,
            is_exact: true,
            sent: 10_000,
            messages: 0,
        }
    }

    fn receivers(strategy: FlowControl) -> Receivers {
        Receivers::new(strategy, (4, 4), Nanos::from_secs(5), 0)
    }

    #[test]
    fn max_follows_the_fastest_and_min_the_slowest() {
        for (strategy, limit) in [(FlowControl::Max, 300), (FlowControl::Min { group_min: 0 }, 200)]
        {
            let mut receivers = receivers(strategy);
            receivers.handle_status(Nanos(0), &report(1, 200, 100));
            receivers.handle_status(Nanos(0), &report(2, 100, 100));
            assert_eq!((receivers.limit(), receivers.acknowledged()), (limit, 100));
        }
    }

    #[test]
    fn below_its_minimum_a_group_sends_nothing_and_is_not_connected() {
        let mut receivers = receivers(FlowControl::Min { group_min: 2 });
        receivers.handle_status(Nanos(0), &report(1, 0, 100));
        assert_eq!((receivers.limit(), receivers.is_connected()), (0, false));
        receivers.handle_status(Nanos(0), &report(2, 0, 50));
        assert_eq!((receivers.limit(), receivers.is_connected()), (50, true));
        assert!(receivers.expire(Nanos::from_secs(6)));
        assert_eq!((receivers.limit(), receivers.is_connected()), (50, false));
    }

    #[test]
    fn only_receivers_with_the_tag_count() {
        let mut receivers = receivers(FlowControl::Tagged { tag: 7, group_min: 0 });
        assert!(!receivers.handle_status(Nanos(0), &report(1, 0, 100)));
        let tagged = Report { group_tag: Some(7), ..report(2, 0, 200) };
        assert!(receivers.handle_status(Nanos(0), &tagged));
        assert_eq!(receivers.limit(), 200);
    }

    #[test]
    fn a_receiver_more_than_a_window_behind_cannot_join_and_hold_the_others_back() {
        let mut receivers = receivers(FlowControl::Min { group_min: 0 });
        receivers.handle_status(Nanos(0), &report(1, 1000, 100));
        assert!(!receivers.handle_status(Nanos(0), &report(2, 800, 100)));
        assert!(receivers.handle_status(Nanos(0), &report(3, 900, 100)));
        assert_eq!(receivers.limit(), 1000);
    }

    #[test]
    fn after_the_last_receiver_went_one_with_a_smaller_window_can_join() {
        let mut receivers = receivers(FlowControl::Min { group_min: 0 });
        receivers.handle_status(Nanos(0), &report(1, 1000, 1000));
        assert!(receivers.expire(Nanos::from_secs(6)) && !receivers.is_connected());
        assert!(receivers.handle_status(Nanos::from_secs(6), &report(2, 1000, 100)));
        assert_eq!((receivers.limit(), receivers.is_connected()), (1100, true));
    }

    #[test]
    fn the_slow_one_is_evicted_after_its_time_and_the_last_one_never() {
        let mut receivers = receivers(FlowControl::Evict { after: Nanos(50) });
        receivers.handle_status(Nanos(0), &report(1, 100, 100));
        assert_eq!(receivers.evict(Nanos(1000)), None);
        receivers.handle_status(Nanos(0), &report(2, 50, 100));
        assert_eq!((receivers.evict(Nanos(10)), receivers.evict(Nanos(60))), (None, None));
        assert_eq!(receivers.evict(Nanos(61)), Some(2));
        assert_eq!((receivers.limit(), receivers.evict(Nanos(9999))), (200, None));
    }

    #[test]
    fn a_slow_one_that_repeats_its_report_is_evicted_all_the_same() {
        let ms = Nanos::from_millis;
        let mut receivers = receivers(FlowControl::Evict { after: ms(1000) });
        let mut evicted = None;
        for now in (0..3000).step_by(200) {
            receivers.handle_status(ms(now), &report(1, 100 + now, 100));
            receivers.handle_status(ms(now), &report(2, 50, 100));
            evicted = evicted.or_else(|| receivers.evict(ms(now)).map(|id| (id, now)));
        }
        assert_eq!(evicted, Some((2, 1200)), "it stands; it is not dead");
    }

    #[test]
    fn a_receiver_that_has_everything_is_done_and_an_old_status_changes_nothing() {
        let mut receivers = receivers(FlowControl::Min { group_min: 0 });
        receivers.handle_status(Nanos(0), &report(1, 100, 100));
        receivers.handle_status(Nanos(0), &report(1, 50, 100));
        assert_eq!(receivers.limit(), 200);
        let end = Report { has_ended: true, ..report(1, 150, 100) };
        receivers.handle_status(Nanos(0), &end);
        assert!(receivers.all_ended() && !receivers.is_connected());
        assert_eq!(receivers.acknowledged(), 150);
    }

    #[test]
    fn a_stock_receiver_that_repeats_itself_has_a_quarter_of_its_window_more() {
        let ms = Nanos::from_millis;
        for (is_exact, sent, expected) in
            [(false, 1100, 1100), (false, 1300, 1256), (true, 1100, 1000)]
        {
            let mut receivers = receivers(FlowControl::Max);
            let report = Report { is_exact, sent, ..report(1, 1000, 1024) };
            for now in [0, 200, 400] {
                receivers.handle_status(ms(now), &report);
                assert_eq!(receivers.acknowledged(), 1000, "it may be under way");
            }
            receivers.handle_status(ms(600), &report);
            assert_eq!(receivers.acknowledged(), expected);
            receivers.unsettle(ms(700));
            receivers.handle_status(ms(800), &report);
            assert_eq!(receivers.acknowledged(), 1000, "it asked for something");
            receivers.handle_status(ms(1000), &Report { sent: sent + 32, ..report });
            receivers.handle_status(ms(1200), &Report { sent: sent + 32, ..report });
            assert_eq!(receivers.acknowledged(), 1000, "something was sent");
            receivers.handle_status(ms(1300), &Report { has_ended: true, ..report });
            assert_eq!((receivers.acknowledged(), receivers.all_ended()), (expected, true));
        }
    }

    #[test]
    fn a_status_message_that_the_last_word_of_its_receiver_overtook_brings_it_back_no_more() {
        let ms = Nanos::from_millis;
        let gone = |how: fn(&mut Receivers)| {
            let mut receivers = receivers(FlowControl::Min { group_min: 0 });
            receivers.handle_status(ms(0), &report(1, 100, 100));
            receivers.handle_status(ms(0), &report(2, 100, 100));
            how(&mut receivers);
            assert_eq!(receivers.count(), 1);
            receivers
        };
        let ended = |receivers: &mut Receivers| {
            let end = Report { has_ended: true, ..report(1, 150, 100) };
            receivers.handle_status(Nanos::from_millis(1), &end);
            receivers.handle_status(Nanos::from_millis(150), &end);
        };
        let refused = |receivers: &mut Receivers| {
            receivers.handle_status(Nanos::from_millis(0), &report(1, 150, 100));
            assert!(receivers.refuse(Nanos::from_millis(1), 1, report(1, 0, 0).from));
        };
        for how in [ended, refused] {
            let mut receivers = gone(how);
            for position in [100, 150] {
                assert!(!receivers.handle_status(ms(190), &report(1, position, 100)));
            }
            assert!(!receivers.handle_status(ms(300), &report(1, 100, 100)), "of before");
            assert_eq!((receivers.count(), receivers.limit()), (1, 200));
            assert!(receivers.handle_status(ms(300), &report(1, 150, 100)), "it joined again");
            assert_eq!(receivers.count(), 2);
            let mut receivers = gone(how);
            assert!(receivers.handle_status(ms(10), &report(1, 160, 100)), "where the stream is");
            receivers.handle_status(ms(11), &Report { has_ended: true, ..report(1, 160, 100) });
            assert!(!receivers.handle_status(ms(12), &report(1, 160, 100)), "and left again");
        }
    }

    #[test]
    fn who_is_elsewhere_than_a_receiver_refuses_nothing_for_it() {
        let mut receivers = receivers(FlowControl::Max);
        receivers.handle_status(Nanos(0), &report(1, 0, 100));
        receivers.handle_status(Nanos(0), &report(2, 0, 100));
        for (id, from) in [(1, 2), (2, 9), (9, 9)] {
            assert!(!receivers.refuse(Nanos(1), id, report(from, 0, 0).from), "{id} {from}");
        }
        assert_eq!(receivers.count(), 2);
        assert!(receivers.refuse(Nanos(1), 2, report(2, 0, 0).from));
        assert_eq!(receivers.count(), 1);
    }

    #[test]
    fn one_host_takes_no_more_than_its_share_of_the_places() {
        let mut receivers = Receivers::new(FlowControl::Max, (4, 2), Nanos::from_secs(5), 0);
        for id in 1..=9 {
            assert_eq!(receivers.handle_status(Nanos(0), &report(id, 0, 100)), id <= 2);
        }
        let from = "10.0.0.1:1".parse().unwrap();
        assert!(receivers.handle_status(Nanos(0), &Report { from, ..report(10, 0, 100) }));
        assert_eq!(receivers.count(), 3);
    }
}
