//! What is wrong with a gateway, in words, each with a code that stays the same.

use taut_runner::service::Status;
use taut_sys::utc;
use taut_types::Nanos;

use super::model::{Counter, GatewaySeen, State, Warning};

/// How long a strategy may be behind, in seconds, and events that are behind it within one packet.
const BEHIND_MAX: f64 = 0.1;
const BURST_MAX: u64 = 64;

fn warning(code: &str, text: String) -> Warning {
    Warning { code: code.to_owned(), text }
}

/// That a gateway does not answer, or is gone.
pub fn of_state(state: State, as_of_ns: i64) -> Option<Warning> {
    let ago = utc().since(Nanos(as_of_ns)).0.max(0) / 1_000_000_000;
    match state {
        State::Up => None,
        State::Silent => Some(warning(
            "no-answer",
            format!("it does not answer; what is shown is {ago} s old. Is its process stopped?"),
        )),
        State::Ended if as_of_ns == 0 => {
            Some(warning("gone", "nobody listens at its control socket".to_owned()))
        }
        State::Ended => Some(warning("gone", format!("it ended {ago} s ago"))),
    }
}

/// What its own words and counters say.
pub fn of_status(status: &Status, counters: &[Counter]) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut say = |code: &str, text: String| found.push(warning(code, text));
    for latch in &status.latches {
        let remedy = "`taut gateway revive` lets orders pass again";
        say("killed", format!("{} is killed ({}); {remedy}", latch.scope, latch.cause));
    }
    if !status.order_entry {
        let said = match status.order_refusal.as_str() {
            "" => String::new(),
            said => format!("; the venue said: {said}"),
        };
        say("orders-down", format!("no order can be sent to {}{said}", status.order_address));
    }
    if status.order_priority > 0 {
        let backup = status.order_priority;
        say("backup-address", format!("orders go to backup address {backup}, not to the primary"));
    }
    if !status.books_sound && status.stale_books.is_empty() {
        say("stale-book", "books cannot be trusted".to_owned());
    }
    for book in &status.stale_books {
        say("stale-book", format!("{}: {}", book.symbol, book.reason));
    }
    for symbol in &status.uncompared {
        let text = format!("{symbol}: halted until the venue says that it has its tick and lot");
        say("halted", text);
    }
    for difference in &status.position_differences {
        say("position-differs", difference.clone());
    }
    for strategy in &status.strategies {
        let name = &strategy.name;
        if strategy.lapped > 0 {
            let lost = strategy.lapped;
            say("lapped", format!("strategy {name} read too slowly and lost {lost} events"));
        }
        if strategy.full > 0 {
            let full = strategy.full;
            say("requests-full", format!("{full} requests of strategy {name} had no room"));
        }
        if strategy.dropped > 0 {
            let text = format!("strategy {name} was dropped {} times", strategy.dropped);
            say("dropped", format!("{text}: it left its replies unread"));
        }
    }
    for (name, code, words) in COUNTED {
        let counter = counters.iter().find(|counter| counter.name == name);
        if let Some(count) = counter.map(|counter| counter.value).filter(|count| *count > 0) {
            say(code, format!("{count} {words}"));
        }
    }
    found
}

/// Who is behind the market, by how fast its events come.
pub fn of_lag(gateway: &GatewaySeen) -> Vec<Warning> {
    let per_second: f64 = gateway.instruments.iter().map(|it| it.events_per_second).sum();
    let behind = |lag: u64| if per_second > 0.0 { lag as f64 / per_second } else { 0.0 };
    let attached = gateway.strategies.iter().filter(|it| it.attached);
    attached
        .filter(|it| it.lag > BURST_MAX && behind(it.lag) > BEHIND_MAX)
        .map(|it| {
            let ms = behind(it.lag) * 1e3;
            let text = format!("strategy {} is {} events, {ms:.0} ms, behind", it.name, it.lag);
            warning("lag", text)
        })
        .collect()
}

/// Counters that should not count: name, code, and what they have counted.
const COUNTED: [(&str, &str, &str); 5] = [
    ("lost_requests", "lost-requests", "requests whose outcome is not known"),
    ("troubles", "quarantine", "troubles with orders, which are in the quarantine"),
    ("unjournalled", "unjournalled", "orders and reports that the journal could not take"),
    ("drop_copies_lost", "drop-copies-lost", "drop copies that were lost"),
    ("checksums_failed", "checksum", "books that had not the venue's checksum"),
];

#[cfg(test)]
mod tests {
    use taut_runner::service::{LatchLine, StaleBook, StrategyLine};

    use super::super::model::InstrumentSeen;
    use super::*;

    #[test]
    fn what_is_wrong_is_said_once_with_its_code() {
        let mut status = Status::default();
        status.order_address = "127.0.0.1:9880".to_owned();
        status.order_refusal = "wrong password".to_owned();
        status.latches = vec![LatchLine { cause: "command".to_owned(), ..LatchLine::default() }];
        status.stale_books =
            vec![StaleBook { symbol: "ONE".to_owned(), reason: "changes are missing".to_owned() }];
        let name = "touch".to_owned();
        status.strategies =
            vec![StrategyLine { name, attached: true, lag: 500, lapped: 7, ..<_>::default() }];
        let counters = [Counter { name: "troubles".to_owned(), value: 2, ..Counter::default() }];
        let found = of_status(&status, &counters);
        let codes: Vec<_> = found.iter().map(|it| it.code.as_str()).collect();
        let expected = ["killed", "orders-down", "stale-book", "lapped", "quarantine"];
        assert_eq!(codes, expected);
        assert!(found[1].text.contains("wrong password"), "{found:?}");
        // 500 events are half a second where 1,000 come in a second.
        let mut gateway =
            GatewaySeen { strategies: status.strategies.clone(), ..GatewaySeen::default() };
        assert_eq!(of_lag(&gateway), []);
        let instrument = InstrumentSeen { events_per_second: 1_000.0, ..<_>::default() };
        gateway.instruments = vec![instrument];
        let found = of_lag(&gateway);
        assert_eq!(found[0].text, "strategy touch is 500 events, 500 ms, behind");
        gateway.instruments[0].events_per_second = 10_000.0;
        assert_eq!(of_lag(&gateway), []);
        // Nothing is wrong with one that is well.
        let (mut well, none) = (Status::default(), &[]);
        (well.order_entry, well.books_sound) = (true, true);
        assert_eq!(of_status(&well, none), []);
        assert_eq!(of_state(State::Up, 0), None);
        let gone = of_state(State::Ended, utc().0).expect("a warning");
        assert_eq!((gone.code.as_str(), gone.text.as_str()), ("gone", "it ended 0 s ago"));
    }
}
