//! What happened: the differences between one look and the next, in words.

use std::collections::{BTreeSet, HashMap, VecDeque};

use serde::Serialize;
use taut_sys::utc;

use crate::observed::model::{GatewaySeen, Snapshot, State, Warning};

/// Older ones are forgotten.
const EVENTS_MAX: usize = 500;
/// Counters of which each step is an event.
const COUNTED: [(&str, &str); 4] = [
    ("risk_rejects", "stopped by the risk checks"),
    ("refused", "other requests refused by the gateway"),
    ("order_rejects", "rejected by the venue"),
    ("modify_rejects", "changes refused by the venue"),
];

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Rises by one.
    number: u64,
    /// When it was seen, in ns of UTC since 1970.
    at_ns: i64,
    gateway: String,
    /// `state`, `connection`, `strategy`, `warning`, `cleared`, `kill`, `orders` or `control`.
    kind: &'static str,
    text: String,
}

/// The last events, and what the next look is compared with.
#[derive(Debug, Default)]
pub struct Events {
    events: VecDeque<Event>,
    next: u64,
    before: HashMap<String, Known>,
}

/// What was known of a gateway.
#[derive(Debug, Default)]
struct Known {
    state: State,
    /// What is so, by what it is about: each comes and goes with words of its own.
    facts: BTreeSet<(&'static str, String)>,
    /// The words of warnings, by their code and what of the words stays.
    warnings: HashMap<String, String>,
    counted: [u64; COUNTED.len()],
}

impl Events {
    /// Something happened.
    pub fn add(&mut self, gateway: &str, kind: &'static str, text: String) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        let (number, at_ns) = (self.next, utc().0);
        self.next += 1;
        self.events.push_back(Event { number, at_ns, gateway: gateway.to_owned(), kind, text });
    }

    /// Those from this number on that are kept, and the number of the next one.
    pub fn since(&self, number: u64) -> (Vec<&Event>, u64) {
        (self.events.iter().filter(|it| it.number >= number).collect(), self.next)
    }

    /// Tells a look from the one before.
    pub fn compare(&mut self, seen: &Snapshot) {
        self.before.retain(|name, _| seen.gateways.iter().any(|it| it.name == *name));
        for gateway in &seen.gateways {
            let now = Known::of(gateway);
            let before = self.before.insert(gateway.name.clone(), Known::default());
            let is_new = before.is_none();
            let before = before.unwrap_or_default();
            for (kind, text) in now.differences(&before, is_new) {
                self.add(&gateway.name, kind, text);
            }
            // What a gateway that does not answer was last is no news when it answers again.
            let known = if gateway.state == State::Up {
                now
            } else {
                Known { state: now.state, warnings: now.warnings, ..before }
            };
            self.before.insert(gateway.name.clone(), known);
        }
    }
}

impl Known {
    fn of(gateway: &GatewaySeen) -> Self {
        let mut facts = BTreeSet::new();
        for connection in gateway.connections.iter().filter(|it| it.is_up) {
            facts.insert(("connection", connection.name.clone()));
        }
        for strategy in gateway.strategies.iter().filter(|it| it.attached) {
            facts.insert(("strategy", strategy.name.clone()));
        }
        for latch in &gateway.latches {
            facts.insert(("kill", format!("{} ({})", latch.scope, latch.cause)));
        }
        // Words with a number in them that goes on are the same warning.
        let key = |it: &Warning| {
            let words = it.text.chars().filter(|letter| !letter.is_ascii_digit());
            words.fold(format!("{} ", it.code), |key, letter| key + letter.encode_utf8(&mut [0; 4]))
        };
        let warnings = gateway.warnings.iter().map(|it| (key(it), it.text.clone()));
        Self {
            state: gateway.state,
            facts,
            warnings: warnings.collect(),
            counted: COUNTED.map(|(name, _)| gateway.counter(name).0),
        }
    }

    /// What is other than before, in words.
    fn differences(&self, before: &Self, is_new: bool) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        if is_new {
            all.push(("state", format!("seen for the first time: {}", self.state.name())));
        } else if self.state != before.state {
            let words = format!("{}, was {}", self.state.name(), before.state.name());
            all.push(("state", words));
        }
        let of = |warnings: &HashMap<String, String>, kind, others: &HashMap<String, String>| {
            let mut said: Vec<_> = warnings
                .iter()
                .filter(|(code, _)| !others.contains_key(*code))
                .map(|(_, text)| (kind, text.clone()))
                .collect();
            said.sort();
            said
        };
        all.extend(of(&self.warnings, "warning", &before.warnings));
        let cleared = of(&before.warnings, "cleared", &self.warnings);
        all.extend(cleared.into_iter().map(|(kind, text)| (kind, format!("no more: {text}"))));
        if self.state != State::Up || is_new {
            return all;
        }
        let words = |kind: &str, is_so: bool| match (kind, is_so) {
            ("connection", true) => "up",
            ("connection", false) => "down",
            ("strategy", true) => "attached",
            ("strategy", false) => "left",
            (_, true) => "killed",
            (_, false) => "revived",
        };
        for (facts, others, is_so) in
            [(&self.facts, &before.facts, true), (&before.facts, &self.facts, false)]
        {
            for (kind, what) in facts.difference(others) {
                all.push((kind, format!("{what}: {}", words(kind, is_so))));
            }
        }
        for ((now, before), (_, words)) in self.counted.iter().zip(before.counted).zip(COUNTED) {
            if let Some(more @ 1..) = now.checked_sub(before) {
                all.push(("orders", format!("{more} {words}")));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use taut_runner::service::{LatchLine, StrategyLine};

    use super::*;
    use crate::observed::model::{Connection, Counter};

    fn seen(change: impl FnOnce(&mut GatewaySeen)) -> Snapshot {
        let connection =
            Connection { name: "orders".to_owned(), is_up: true, ..Connection::default() };
        let mut gateway = GatewaySeen {
            name: "a".to_owned(),
            state: State::Up,
            connections: vec![connection],
            ..GatewaySeen::default()
        };
        change(&mut gateway);
        Snapshot { gateways: vec![gateway], ..Snapshot::default() }
    }

    /// What the next look says.
    fn said(events: &mut Events, seen: &Snapshot) -> Vec<String> {
        let (_, next) = events.since(0);
        events.compare(seen);
        let (new, _) = events.since(next);
        new.into_iter().map(|it| format!("{} {}", it.kind, it.text)).collect()
    }

    #[test]
    fn what_differs_is_told_once() {
        let mut events = Events::default();
        let calm = seen(|_| ());
        assert_eq!(said(&mut events, &calm), ["state seen for the first time: up"]);
        assert!(said(&mut events, &calm).is_empty());
        let bad = seen(|it| {
            it.connections.iter_mut().for_each(|it| it.is_up = false);
            let text = "the order connection is down".to_owned();
            it.warnings.push(Warning { code: "orders-down".to_owned(), text });
            it.strategies.push(StrategyLine {
                name: "touch".to_owned(),
                attached: true,
                ..StrategyLine::default()
            });
            it.latches.push(LatchLine { cause: "operator".to_owned(), ..LatchLine::default() });
            let name = "risk_rejects".to_owned();
            it.counters.push(Counter { name, value: 3, per_second: 3.0 });
        });
        let news = [
            "warning the order connection is down",
            "kill everything (operator): killed",
            "strategy touch: attached",
            "connection orders: down",
            "orders 3 stopped by the risk checks",
        ];
        assert_eq!(said(&mut events, &bad), news);
        assert!(said(&mut events, &bad).is_empty());
        let mut silent = bad.clone();
        silent.gateways[0].state = State::Silent;
        assert_eq!(said(&mut events, &silent), ["state silent, was up"]);
        assert_eq!(said(&mut events, &bad), ["state up, was silent"]);
        assert_eq!(said(&mut events, &calm).len(), 4, "all but the counter is over");
    }

    #[test]
    fn so_many_are_kept_and_their_numbers_go_on() {
        let mut events = Events::default();
        for _ in 0..EVENTS_MAX + 7 {
            events.add("a", "state", String::new());
        }
        let (all, next) = events.since(0);
        assert_eq!((all.len(), all[0].number, next), (EVENTS_MAX, 7, EVENTS_MAX as u64 + 7));
        assert_eq!(events.since(next).0.len(), 0);
    }
}
