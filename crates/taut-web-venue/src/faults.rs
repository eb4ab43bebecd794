//! Faults on purpose: a venue as it is on a bad day, by a seed.

mod crossed;
mod muted;
mod sequence;
mod stale;
mod strange;
mod words;

use std::collections::{BTreeSet, VecDeque};

use taut_book::OrderBook;
use taut_engine::{Command, Event};
use taut_fix::Now;
use taut_types::Nanos;
use taut_venue::flow::SplitMix64;

use crate::faults::stale::OldBooks;
use crate::front::{Denied, Front, HttpRequest, Listing, Output, Refusal};

pub use words::Faults;

/// How long a message waits to be overtaken.
const OVERTAKEN_WITHIN: Nanos = Nanos::from_millis(100);

/// What is late leaves early when it is more than this.
const LATE_BYTES_MAX: usize = 64 << 20;

/// A message that the next one of its connection overtakes.
#[derive(Debug)]
struct Held {
    connection: u64,
    output: Output,
    /// When it leaves where none comes.
    due: Nanos,
}

/// A venue's interface with faults before it.
#[derive(Debug)]
pub struct Faulty<F> {
    front: F,
    faults: Faults,
    random: SplitMix64,
    /// What is on its way, and when it leaves; in its order.
    late: VecDeque<(Nanos, Output)>,
    late_bytes: usize,
    held: Option<Held>,
    /// Channels that are silent, each on its connection.
    muted: BTreeSet<(u64, String)>,
    /// Connections that say and hear nothing more.
    stalled: BTreeSet<u64>,
    /// Books as they were told the last time.
    old: OldBooks,
    /// How far the venue's clock is off.
    skew: Nanos,
    now: Nanos,
    /// How many messages and requests something was done to.
    pub injected: u64,
}

impl<F: Front> Faulty<F> {
    /// This interface on such a day.
    #[must_use]
    pub fn new(mut front: F, faults: Faults) -> Self {
        if faults.maintenance {
            front.on_maintenance(true);
        }
        if listing(faults) != Listing::default() {
            front.on_listing(listing(faults));
        }
        let random = SplitMix64::new(faults.seed);
        Self {
            front,
            faults,
            random,
            late: VecDeque::new(),
            late_bytes: 0,
            held: None,
            muted: BTreeSet::new(),
            stalled: BTreeSet::new(),
            old: OldBooks::default(),
            skew: Nanos::ZERO,
            now: Nanos::ZERO,
            injected: 0,
        }
    }

    /// From now on the day is like this.
    pub fn set_faults(&mut self, faults: Faults) {
        if faults.maintenance != self.faults.maintenance {
            if self.faults.maintenance && self.faults.restart {
                self.injected += 1;
                self.front.on_restart();
            }
            self.front.on_maintenance(faults.maintenance);
        }
        if listing(faults) != listing(self.faults) {
            self.injected += 1;
            self.front.on_listing(listing(faults));
        }
        if faults.skew == 0 {
            self.skew = Nanos::ZERO;
        }
        self.random = SplitMix64::new(faults.seed);
        self.faults = faults;
    }

    /// How the day is.
    #[must_use]
    pub const fn faults(&self) -> Faults {
        self.faults
    }

    /// How far the venue's clock is off.
    #[must_use]
    pub const fn skew(&self) -> Nanos {
        self.skew
    }

    /// What it stands before.
    #[must_use]
    pub const fn front(&self) -> &F {
        &self.front
    }

    fn happens(&mut self, per_mille: u32) -> bool {
        let does = per_mille > 0 && self.random.below(1_000) < u64::from(per_mille);
        self.injected += u64::from(does);
        does
    }

    /// Whether and why a request is refused before it is served.
    fn refusal(&mut self) -> Option<Refusal> {
        if self.faults.maintenance {
            self.injected += 1;
            return Some(Refusal::Maintenance);
        }
        if self.happens(self.faults.rate_limit) {
            return Some(Refusal::TooMany);
        }
        self.happens(self.faults.reject).then_some(Refusal::Busy)
    }

    /// As [`Faulty::refusal`], for JSON.
    fn json_refusal(&mut self) -> Option<Refusal> {
        if let Some(why) = self.refusal() {
            return Some(why);
        }
        if self.happens(self.faults.unknown) {
            return Some(Refusal::Unknown);
        }
        self.happens(self.faults.expire).then_some(Refusal::Expired)
    }

    /// The time by the venue's clock.
    fn by_its_clock(&self, now: Now) -> Now {
        Now { utc: now.utc + self.skew, ..now }
    }

    /// The text, now and then with a field that nobody documented.
    fn estranged(&mut self, output: Output) -> Output {
        match output {
            Output::Text { connection, text } if self.happens(self.faults.strange) => {
                let is_first = self.random.below(2) == 0;
                Output::Text { connection, text: strange::with_a_field(&text, is_first) }
            }
            other => other,
        }
    }

    /// The message, now and then with wrong numbers.
    fn misnumbered(&mut self, output: Output) -> Output {
        if self.faults.sequence == 0 {
            return output;
        }
        let Some(shifted) = sequence::shifted(&output) else { return output };
        if self.happens(self.faults.sequence) { shifted } else { output }
    }

    /// The message, now and then with a bid above every offer.
    fn crossed(&mut self, output: Output) -> Output {
        match output {
            Output::Text { connection, text } if self.faults.cross > 0 => {
                let crossed = crossed::crossed(&text);
                let text = match crossed {
                    Some(crossed) if self.happens(self.faults.cross) => crossed,
                    _ => text,
                };
                Output::Text { connection, text }
            }
            other => other,
        }
    }

    /// The message, or, where it is a book that was asked for, now and then an older one.
    fn outdated(&mut self, output: Output) -> Output {
        let Some(key) = self.old.asked(&output) else { return output };
        if self.old.has(&key) && self.happens(self.faults.stale) {
            return self.old.instead_of(&key, output);
        }
        self.old.keep(key, &output);
        output
    }

    /// Whether a message is of a channel that is silent, or falls silent with it.
    fn is_muted(&mut self, output: &Output) -> bool {
        if self.faults.mute == 0 && self.muted.is_empty() {
            return false;
        }
        let Output::Text { connection, text } = output else { return false };
        let Some(channel) = muted::book_channel(text) else { return false };
        let key = (*connection, channel.to_owned());
        if !self.muted.contains(&key) && !self.happens(self.faults.mute) {
            return false;
        }
        self.muted.insert(key);
        true
    }

    /// Lets what the interface says through, or not.
    fn take_over(&mut self, output: Output) {
        if self.is_muted(&output) {
            return;
        }
        let output = self.outdated(output);
        let output = self.misnumbered(output);
        let output = self.crossed(output);
        let output = self.estranged(output);
        let due = match self.faults.delay {
            0 => self.now,
            most => self.now + Nanos::from_millis(self.random.below(u64::from(most) + 1) as i64),
        };
        let due = self.late.back().map_or(due, |(last, _)| due.max(*last));
        let connection = match &output {
            Output::Text { connection, .. } | Output::Message { connection, .. } => {
                let connection = *connection;
                if self.stalled.contains(&connection) || self.happens(self.faults.drop) {
                    return;
                }
                if self.happens(self.faults.stall) {
                    self.stalled.insert(connection);
                    return;
                }
                if self.happens(self.faults.duplicate) {
                    self.push_late(due, output.clone());
                }
                connection
            }
            Output::Answer { connection, .. } | Output::Bytes { connection, .. } => *connection,
            Output::Close { connection } | Output::Torn { connection, .. } => {
                self.held.take_if(|held| held.connection == *connection);
                self.push_late(due, output);
                return;
            }
        };
        if self.happens(self.faults.torn) {
            self.held.take_if(|held| held.connection == connection);
            let at = self.random.below(u64::MAX);
            self.push_late(due, Output::Torn { connection, whole: Box::new(output), at });
            return;
        }
        let ends = self.happens(self.faults.disconnect);
        let is_message = matches!(output, Output::Text { .. } | Output::Message { .. });
        if is_message && !ends && self.held.is_none() && self.happens(self.faults.reorder) {
            self.held = Some(Held { connection, output, due: due + OVERTAKEN_WITHIN });
            return;
        }
        self.push_late(due, if ends { Output::Close { connection } } else { output });
        let held = self.held.take_if(|held| held.connection == connection);
        if let Some(held) = held.filter(|_| !ends) {
            self.push_late(due, held.output);
        }
    }

    fn push_late(&mut self, due: Nanos, output: Output) {
        self.late_bytes += output.bytes();
        self.late.push_back((due, output));
    }
}

impl<F: Front> Front for Faulty<F> {
    fn on_book(&mut self, place: usize, book: &OrderBook) {
        self.front.on_book(place, book);
    }

    fn open(&mut self, now: Now, connection: u64, request: &HttpRequest) -> Result<(), Denied> {
        self.skew = match self.faults.skew {
            0 => Nanos::ZERO,
            most => Nanos::from_millis(
                self.random.below(u64::from(most) * 2 + 1) as i64 - i64::from(most),
            ),
        };
        self.front.open(self.by_its_clock(now), connection, request)
    }

    fn text(&mut self, now: Now, connection: u64, text: &str) {
        if self.stalled.contains(&connection) {
            return;
        }
        self.old.text(connection, text);
        if muted::subscribes(text) {
            self.muted.retain(|(on, channel)| *on != connection || !text.contains(&**channel));
        }
        let now = self.by_its_clock(now);
        match self.json_refusal() {
            None => self.front.text(now, connection, text),
            Some(why) => self.front.refuse_text(now, connection, text, why),
        }
    }

    fn request(&mut self, now: Now, connection: u64, request: HttpRequest) {
        self.old.request(connection, &request);
        let now = self.by_its_clock(now);
        match self.json_refusal() {
            None => self.front.request(now, connection, request),
            Some(why) => self.front.refuse_request(now, connection, request, why),
        }
    }

    fn open_fix(&mut self, now: Now, connection: u64) -> bool {
        self.front.open_fix(self.by_its_clock(now), connection)
    }

    fn bytes(&mut self, now: Now, connection: u64, bytes: &[u8], why: Option<Refusal>) {
        let why = why.or_else(|| self.refusal());
        self.front.bytes(self.by_its_clock(now), connection, bytes, why);
    }

    fn has_logged_on(&self, connection: u64) -> bool {
        self.front.has_logged_on(connection)
    }

    fn refuse_text(&mut self, now: Now, connection: u64, text: &str, why: Refusal) {
        self.front.refuse_text(self.by_its_clock(now), connection, text, why);
    }

    fn refuse_request(&mut self, now: Now, connection: u64, request: HttpRequest, why: Refusal) {
        self.front.refuse_request(self.by_its_clock(now), connection, request, why);
    }

    fn closed(&mut self, now: Now, connection: u64) {
        self.muted.retain(|(on, _)| *on != connection);
        self.stalled.remove(&connection);
        self.old.closed(connection);
        self.front.closed(self.by_its_clock(now), connection);
    }

    fn next_command(&mut self, now: Now) -> Option<(usize, Command)> {
        self.front.next_command(self.by_its_clock(now))
    }

    fn on_events(&mut self, now: Now, place: usize, events: &[Event]) {
        self.front.on_events(self.by_its_clock(now), place, events);
    }

    fn on_time(&mut self, now: Now) {
        self.now = now.mono;
        self.front.on_time(self.by_its_clock(now));
    }

    fn due(&self) -> Option<Nanos> {
        let late = self.late.front().map(|(due, _)| *due);
        let held = self.held.as_ref().map(|held| held.due);
        [late, held, self.front.due()].into_iter().flatten().min()
    }

    fn book_changes(&self) -> Option<u64> {
        self.front.book_changes()
    }

    fn change_number(&self, place: usize) -> Option<u64> {
        self.front.change_number(place)
    }

    fn poll_output(&mut self) -> Option<Output> {
        while let Some(output) = self.front.poll_output() {
            self.take_over(output);
        }
        if let Some(held) = self.held.take_if(|held| held.due <= self.now) {
            let last = self.late.back().map_or(held.due, |(last, _)| held.due.max(*last));
            self.push_late(last, held.output);
        }
        let is_full = self.late_bytes > LATE_BYTES_MAX;
        let (_, output) = self.late.pop_front_if(|(due, _)| *due <= self.now || is_full)?;
        self.late_bytes -= output.bytes();
        Some(output)
    }
}

/// How the first instrument is listed on such a day.
const fn listing(faults: Faults) -> Listing {
    Listing { is_delisted: faults.delist, has_larger_step: faults.retick }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says what it is given to say.
    #[derive(Debug, Default)]
    struct Talker(VecDeque<Output>);

    impl Front for Talker {
        fn on_book(&mut self, _: usize, _: &OrderBook) {}
        fn open(&mut self, _: Now, _: u64, _: &HttpRequest) -> Result<(), Denied> {
            Ok(())
        }
        fn text(&mut self, _: Now, _: u64, _: &str) {}
        fn request(&mut self, _: Now, _: u64, _: HttpRequest) {}
        fn refuse_text(&mut self, _: Now, _: u64, _: &str, _: Refusal) {}
        fn refuse_request(&mut self, _: Now, _: u64, _: HttpRequest, _: Refusal) {}
        fn closed(&mut self, _: Now, _: u64) {}
        fn next_command(&mut self, _: Now) -> Option<(usize, Command)> {
            None
        }
        fn on_events(&mut self, _: Now, _: usize, _: &[Event]) {}
        fn on_time(&mut self, _: Now) {}
        fn due(&self) -> Option<Nanos> {
            None
        }
        fn poll_output(&mut self) -> Option<Output> {
            self.0.pop_front()
        }
    }

    #[test]
    fn what_is_late_leaves_early_when_it_is_too_much_to_keep() {
        let mut venue =
            Faulty::new(Talker::default(), Faults { delay: 60_000, ..Faults::default() });
        venue.on_time(Now { mono: Nanos(1), utc: Nanos(1) });
        let text = "x".repeat(1 << 20);
        venue.front.0.extend((0..100).map(|_| Output::Text { connection: 1, text: text.clone() }));
        let early = std::iter::from_fn(|| venue.poll_output()).count();
        assert!((36..46).contains(&early), "{early} of 100 MiB left, 64 MiB may wait");
        assert!(venue.late_bytes <= LATE_BYTES_MAX);
    }

    #[test]
    fn a_message_is_overtaken_by_the_next_one_of_its_connection_or_leaves_in_time() {
        let says = |connection, text: &str| Output::Text { connection, text: text.to_owned() };
        let heard = |venue: &mut Faulty<Talker>, ms| {
            let mono = Nanos::from_millis(ms);
            venue.on_time(Now { mono, utc: mono });
            let all = std::iter::from_fn(|| venue.poll_output());
            let words = all.map(|output| match output {
                Output::Text { text, .. } => text,
                Output::Close { .. } => "close".to_owned(),
                other => panic!("{other:?}"),
            });
            words.collect::<Vec<_>>().join(" ")
        };
        // Every message that can be.
        let faults = Faults { reorder: 1_000, ..Faults::default() };
        let mut venue = Faulty::new(Talker::default(), faults);
        venue.front.0.extend([says(1, "a"), says(2, "b"), says(1, "c"), says(1, "d")]);
        assert_eq!(heard(&mut venue, 1), "b c a");
        assert_eq!(venue.due(), Some(Nanos::from_millis(101)));
        assert_eq!(heard(&mut venue, 100), "");
        assert_eq!(heard(&mut venue, 101), "d");
        // With its connection it is gone.
        venue.front.0.extend([says(1, "e"), Output::Close { connection: 1 }]);
        assert_eq!(heard(&mut venue, 102), "close");
        assert_eq!((heard(&mut venue, 500).as_str(), venue.due()), ("", None));
    }
}
