//! FIX messages that something happened to, into a session that trades: nothing panics, no order
//! leaves that nobody asked for, and the session after it is as good as any.
//!
//! `TAUT_EXECUTIONS=10000000 cargo test --release -p taut-gateway --lib fix_mutated -- --nocapture`
//! makes the messages ten million.

use taut_testkit::{Draw, Random};

use super::fix::Lines;
use super::*;

const SEED: u64 = 44;
/// What a report or a refusal may say; `{N}` are names of requests, `#` is a digit.
const MESSAGES: [&str; 9] = [
    "35=8|11={1}|17=1|37=42|38=0.003|39=0|40=2|14=0|32=0|54=1|55=BTCUSDT|150=0",
    "35=8|11={2}|17=1|37=4#|38=0.003|39=0|40=2|14=0|32=0|54=1|55=BTCUSDT|150=0",
    "35=8|11={1}|37=42|38=0.003|39=1|14=0.00#|31=43000.5|32=0.001|54=1|55=BTCUSDT|136=1|\
     137=0.1|138=BNB|150=F|1003=#|1057=N",
    "35=8|11={2}-R|41={1}|37=42|38=0.003|39=4|14=0.00#|32=0|54=1|55=BTCUSDT|150=4",
    "35=8|11={2}|41={1}|37=42|38=0.002|39=0|14=0|32=0|54=1|55=BTCUSDT|150=5",
    "35=8|11={3}|14=0|32=0|39=8|54=1|55=BTCUSDT|58=no|150=8|25016=-20#0",
    "35=9|11={2}-R|41={1}|37=42|55=BTCUSDT|58=no|434=1|25016=-2011",
    "35=XAR|11={2}|41={1}|38=0.002|55=BTCUSDT|58=no|25016=-20#1",
    "35=3|45=#|372=D|373=99|58=no|25016=-11#0",
];

fn executions() -> u64 {
    let asked = std::env::var("TAUT_EXECUTIONS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(20_000)
}

/// Changes a message behind its type: a character, a field gone, twice, or another's.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut fields: Vec<String> = text.split('|').map(str::to_owned).collect();
    for _ in 0..=random.below(2) {
        let at = 1 + random.below(fields.len() as u64 - 1) as usize;
        match random.below(5) {
            0 if fields.len() > 2 => drop(fields.remove(at)),
            1 => fields.insert(at, fields[at].clone()),
            2 => {
                let tag = random.pick(&["11", "14", "31", "32", "37", "38", "39", "150", "25016"]);
                fields[at] = format!("{tag}={}", random.below(1 << 40));
            }
            _ => {
                let mut bytes = fields[at].clone().into_bytes();
                let place = random.below(bytes.len() as u64) as usize;
                bytes[place] = b' ' + random.below(95) as u8;
                fields[at] = String::from_utf8(bytes).expect("ASCII");
            }
        }
    }
    fields.join("|")
}

#[test]
fn mutated_messages_neither_panic_nor_send_orders() {
    let mut random = Random::with_seed(SEED);
    let (mut lines, mut sessions, mut told, mut may_follow) = (Lines::up(), 1, 0, 0);
    for _ in 0..executions() {
        match random.below(6) {
            0 => _ = lines.create(&terms()),
            1 => {
                let version = 2 + random.below(2) as u16;
                may_follow += usize::from(lines.modify(1, version, &at(43_001, 2)).is_ok());
            }
            2 => _ = lines.cancel(1, 3),
            _ => {}
        }
        let text = random.pick(&MESSAGES).replace('#', &random.below(10).to_string());
        let text = if random.below(4) == 0 { text } else { mutate(&text, &mut random) };
        let events = lines.hear(&text);
        told += events.len();
        let sent = lines.sent();
        // Nothing but the rests of orders that made way.
        let rests = sent.matches("|35=D|").count();
        assert!(rests <= may_follow, "{text}: {sent}");
        may_follow -= rests;
        let is_over =
            |event: &VenueEvent| matches!(event, VenueEvent::Broken | VenueEvent::LoggedOut);
        // One that was no message leaves a gap, which this venue does not fill.
        let has_gap = sent.contains("|35=2|");
        if events.iter().any(is_over) || has_gap || !lines.handler.is_up() {
            (lines, sessions, may_follow) = (Lines::up(), sessions + 1, 0);
        }
    }
    println!("{} messages, {told} events, {sessions} sessions", executions());
    assert!(told as u64 > executions() / 10, "{told} events");
    let mut lines = Lines::up();
    lines.create(&terms()).expect("an order leaves");
    assert!(!lines.report("0", ["{1}", ""], "0").is_empty());
}
