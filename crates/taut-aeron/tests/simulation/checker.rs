//! What must hold: within one image nothing is lost, duplicated or reordered, and what an image did
//! not deliver was reported.

use std::collections::BTreeMap;

use taut_aeron::{ImageEnd, SubscriptionEvent};

/// What publications were given: per session the messages by the position behind them.
#[derive(Default)]
pub struct Sent {
    sessions: BTreeMap<i32, Vec<Entry>>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: i64,
    end: i64,
    sequence: u64,
}

/// The bytes of a message follow from its session and number.
pub fn message(session_id: i32, sequence: u64, bytes: usize) -> Vec<u8> {
    let mut message = sequence.to_le_bytes().to_vec();
    let mix = sequence.wrapping_mul(31) ^ session_id as u64;
    message.extend((message.len()..bytes).map(|at| (mix ^ at as u64) as u8));
    message
}

impl Sent {
    pub fn add(&mut self, session_id: i32, start: i64, end: i64, sequence: u64) {
        self.sessions.entry(session_id).or_default().push(Entry { start, end, sequence });
    }

    pub fn last_end(&self, session_id: i32) -> i64 {
        self.sessions.get(&session_id).and_then(|sent| sent.last()).map_or(0, |last| last.end)
    }

    fn between(&self, session_id: i32, from: i64, to: i64) -> impl Iterator<Item = &Entry> {
        let sent = self.sessions.get(&session_id).map_or(&[][..], Vec::as_slice);
        sent.iter().filter(move |entry| entry.start >= from && entry.end <= to)
    }
}

/// One image as an application saw it.
struct Seen {
    session_id: i32,
    join_position: i64,
    delivered: Vec<(u64, i64)>,
    skipped: Vec<(i64, i64)>,
    end: Option<(i64, ImageEnd)>,
}

/// One subscription's account.
#[derive(Default)]
pub struct Account {
    images: Vec<Seen>,
    pub is_reliable: bool,
}

impl Account {
    pub fn new(is_reliable: bool) -> Self {
        Self { images: Vec::new(), is_reliable }
    }

    pub fn event(&mut self, event: SubscriptionEvent) {
        match event {
            SubscriptionEvent::ImageAvailable { session_id, join_position, .. } => {
                let (delivered, skipped) = (Vec::new(), Vec::new());
                let seen = Seen { session_id, join_position, delivered, skipped, end: None };
                self.images.push(seen);
            }
            SubscriptionEvent::ImageUnavailable { session_id, position, end } => {
                let open = self
                    .images
                    .iter_mut()
                    .find(|seen| seen.session_id == session_id && seen.end.is_none());
                open.expect("an image ends once").end = Some((position, end));
            }
            SubscriptionEvent::Skipped { session_id, position, bytes } => {
                assert!(!self.is_reliable, "a reliable stream skips nothing");
                // While one image drains, its successor may have begun, at higher positions.
                let is_its = |seen: &&mut Seen| {
                    seen.session_id == session_id && seen.join_position <= position
                };
                let seen = self.images.iter_mut().rfind(is_its);
                seen.expect("an image").skipped.push((position, position + bytes));
            }
            _ => {}
        }
    }

    pub fn message(&mut self, session_id: i32, position: i64, bytes: &[u8]) {
        let sequence = u64::from_le_bytes(*bytes.first_chunk().expect("a sequence"));
        assert_eq!(bytes, message(session_id, sequence, bytes.len()), "the bytes that were sent");
        let mut of_session = self
            .images
            .iter_mut()
            .filter(|seen| seen.session_id == session_id && seen.end.is_none());
        // While one image drains, its successor may have begun, at higher positions.
        let delivered_to =
            |seen: &Seen| seen.delivered.last().map_or(seen.join_position, |last| last.1);
        let seen = of_session.rfind(|seen| delivered_to(seen) < position);
        let seen = seen.expect("a message of an image, above all before it");
        seen.delivered.push((sequence, position));
    }

    /// The restarted application forgets its images where they are.
    pub fn abandon(&mut self) {
        for seen in &mut self.images {
            let last = seen.delivered.last().map_or(seen.join_position, |last| last.1);
            seen.end.get_or_insert((last, ImageEnd::Refused));
        }
    }

    pub fn is_live(&self, session_id: i32) -> bool {
        self.images.iter().any(|seen| seen.session_id == session_id && seen.end.is_none())
    }

    pub fn has_ended(&self, session_id: i32) -> bool {
        let mut all = self.images.iter().rev();
        let last = all.find(|seen| seen.session_id == session_id);
        last.is_some_and(|seen| matches!(seen.end, Some((_, ImageEnd::EndOfStream))))
    }

    /// Checks every image against what was sent.
    pub fn check(&self, sent: &Sent) {
        for seen in &self.images {
            let last = seen.delivered.last().map_or(seen.join_position, |last| last.1);
            let end = seen.end.map_or(last, |(position, _)| position);
            assert!(end >= last, "the reported position covers what was delivered");
            let mut delivered = seen.delivered.iter();
            let mut next = delivered.next();
            for entry in sent.between(seen.session_id, seen.join_position, end) {
                if next.is_some_and(|next| *next == (entry.sequence, entry.end)) {
                    next = delivered.next();
                    continue;
                }
                let is_reported = |(from, to): &(i64, i64)| *from < entry.end && entry.start < *to;
                let is_reported = seen.skipped.iter().any(is_reported);
                assert!(
                    is_reported && !self.is_reliable,
                    "message {} of session {} [{}, {}) is missing between {} and {end}",
                    entry.sequence,
                    seen.session_id,
                    entry.start,
                    entry.end,
                    seen.join_position,
                );
            }
            assert_eq!(next, None, "nothing but what was sent, in order");
        }
    }
}
