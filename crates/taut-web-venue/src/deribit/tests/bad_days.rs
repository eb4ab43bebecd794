//! A venue on a bad day: what was sent twice, never or refused, and that the engine knows better.

use serde_json::json;
use taut_fix::Now;
use taut_types::Nanos;

use super::rig::{PERPETUAL, Rig, settings};
use crate::deribit::Deribit;
use crate::faults::{Faults, Faulty};
use crate::front::{Front, HttpRequest, Output};

/// What a client of such a day is sent for these texts, one each millisecond.
fn day(words: &str, texts: &[String]) -> (Vec<Output>, u64) {
    let front = Deribit::new(&settings()).expect("settings");
    let mut front = Faulty::new(front, Faults::parse(words).expect("faults"));
    let mut rig = Rig::new();
    let request = HttpRequest { path: "/ws/api/v2".to_owned(), ..HttpRequest::default() };
    let mut now = Now { mono: Nanos(1), utc: rig.now.utc };
    assert_eq!(front.open(now, 1, &request), Ok(()));
    let mut sent = Vec::new();
    for nth in 0..texts.len() + 100 {
        now.mono = now.mono + Nanos::from_millis(1);
        if let Some(text) = texts.get(nth) {
            front.text(now, 1, text);
        }
        while let Some((place, command)) = front.next_command(now) {
            let mut events = Vec::new();
            rig.engines[place].execute(command, &mut |event| events.push(event));
            front.on_events(now, place, &events);
        }
        front.on_time(now);
        sent.extend(std::iter::from_fn(|| front.poll_output()));
    }
    (sent, front.injected)
}

fn asks(method: &str, count: usize) -> Vec<String> {
    let one = |id| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}}).to_string();
    (0..count).map(one).collect()
}

#[test]
fn messages_are_lost_doubled_and_late_by_the_seed() {
    let texts = asks("public/test", 50);
    let (plain, _) = day("", &texts);
    assert_eq!(plain.len(), 50);
    let (lost, injected) = day("drop=300,seed=3", &texts);
    assert!(injected > 0 && lost.len() + injected as usize == 50);
    assert_eq!(day("drop=300,seed=3", &texts).0, lost, "the same seed");
    let (doubled, injected) = day("duplicate=300,seed=3", &texts);
    assert!(injected > 0 && doubled.len() == 50 + injected as usize);
    assert_eq!(day("delay=40,seed=3", &texts).0, plain, "late, in its order");
    let (cut, _) = day("disconnect=1000", &texts);
    assert!(cut.iter().all(|it| matches!(it, Output::Close { connection: 1 })));
}

#[test]
fn requests_are_refused_by_their_codes() {
    let codes = |words: &str, method: &str| -> Vec<String> {
        let (sent, _) = day(words, &asks(method, 3));
        let text = |it: Output| match it {
            Output::Text { text, .. } => Some(text),
            _ => None,
        };
        sent.into_iter().filter_map(text).collect()
    };
    assert!(codes("maintenance", "public/test").iter().all(|it| it.contains("11051")));
    assert!(codes("reject=1000", "private/buy").iter().all(|it| it.contains("10047")));
    assert!(codes("reject=1000", "public/test").iter().all(|it| it.contains("version")));
    assert!(codes("rate-limit=1000", "public/test").iter().all(|it| it.contains("10028")));
}

/// A login, an order, and the question about it.
fn login_order_and_question() -> [String; 3] {
    let auth = json!({"jsonrpc": "2.0", "id": 1, "method": "public/auth", "params":
        {"grant_type": "client_credentials", "client_id": "one", "client_secret": "ABCD"}});
    let buy = json!({"jsonrpc": "2.0", "id": 2, "method": "private/buy", "params":
        {"instrument_name": PERPETUAL, "amount": 10, "price": 59_000, "label": "mine"}});
    let ask = json!({"jsonrpc": "2.0", "id": 3, "method": "private/get_open_orders_by_label",
        "params": {"currency": "BTC", "label": "mine"}});
    [auth, buy, ask].map(|it| it.to_string())
}

/// The texts of such a day.
fn said(words: &str, texts: &[String]) -> Vec<String> {
    let text = |it: Output| match it {
        Output::Text { text, .. } => Some(text),
        _ => None,
    };
    day(words, texts).0.into_iter().filter_map(text).collect()
}

#[test]
fn an_order_that_is_answered_with_an_error_stands_in_the_book() {
    let said = said("unknown=1000", &login_order_and_question());
    assert!(said[0].contains("access_token"), "{said:?}");
    assert!(said[1].contains("11094") && said[2].contains("\"label\":\"mine\""), "{said:?}");
}

#[test]
fn a_login_is_over_with_a_request_that_needs_it_and_with_no_other() {
    let said = said("expire=1000", &login_order_and_question());
    assert!(said[0].contains("access_token"), "{said:?}");
    assert!(said[1..].iter().all(|it| it.contains("13009")), "{said:?}");
}

#[test]
fn a_connection_that_stalls_says_and_hears_nothing_more() {
    let (sent, injected) = day("stall=100,seed=3", &asks("public/test", 50));
    assert!(injected == 1 && !sent.is_empty() && sent.len() < 50, "{injected} {}", sent.len());
}

#[test]
fn the_clock_is_off_as_far_as_it_may_be() {
    let ours = Rig::new().now.utc.0 / 1_000_000;
    let off: Vec<i64> = (0..8)
        .map(|seed| {
            let said = said(&format!("skew=600000,seed={seed}"), &asks("public/get_time", 1));
            let answer: serde_json::Value = serde_json::from_str(&said[0]).expect("JSON");
            answer["result"].as_i64().expect("a time") - ours
        })
        .collect();
    assert!(off.iter().all(|it| it.abs() <= 601_000), "{off:?}");
    assert!(off.iter().any(|it| *it < -1_000) && off.iter().any(|it| *it > 1_000), "{off:?}");
}

#[test]
fn an_order_whose_answer_is_lost_stands_in_the_book() {
    let texts = login_order_and_question();
    // A seed by which the answer to the order is lost, and the two others are not.
    let is_it = |seed: &u64| {
        let (sent, _) = day(&format!("drop=400,seed={seed}"), &texts);
        let has = |id: &str| {
            sent.iter().any(|it| matches!(it, Output::Text { text, .. } if text.contains(id)))
        };
        has("\"id\":1,") && !has("\"id\":2,") && has("\"id\":3,")
    };
    let seed = (0..100).find(is_it).expect("such a seed");
    let (sent, _) = day(&format!("drop=400,seed={seed}"), &texts);
    let answer = sent
        .iter()
        .find(|it| matches!(it, Output::Text { text, .. } if text.contains("\"id\":3,")));
    assert!(
        matches!(answer, Some(Output::Text { text, .. }) if text.contains("\"label\":\"mine\""))
    );
}
