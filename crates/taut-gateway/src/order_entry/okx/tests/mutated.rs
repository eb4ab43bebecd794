//! Frames and HTTP bodies that something happened to, into a session that trades: nothing panics,
//! no order leaves that nobody asked for, and the session after it is as good as any.
//!
//! `TAUT_EXECUTIONS=10000000 cargo test --release -p taut-gateway --lib okx::tests::mutated --
//! --nocapture` makes them ten million.

use taut_testkit::{Draw, Random, mutate_json};

use super::*;

const STATES: [&str; 6] = ["live", "partially_filled", "filled", "canceled", "mmp_canceled", "new"];
/// Taken, refused, gone, unknown, limits, sessions, and one of nobody's.
const CODES: [u32; 9] = [0, 0, 51_008, 51_400, 51_603, 50_004, 50_011, 60_011, 77];

fn order(random: &mut Random) -> String {
    let state = format!(r#""state":"{}""#, random.pick(&STATES));
    let filled = format!(r#""accFillSz":"{}""#, random.pick(&["0", "0.1", "0.3", ""]));
    let trade = format!(r#""tradeId":"{}","fillSz":"0.1""#, random.pick(&["", "1", "2", "3"]));
    let amended = random.pick(&[
        r#""reqId":"","amendResult":"""#,
        r#""reqId":"{8}","amendResult":"0""#,
        r#""reqId":"{8}","amendResult":"-1""#,
    ]);
    OPEN.replace(r#""state":"live""#, &state)
        .replace(r#""accFillSz":"0""#, &filled)
        .replace(r#""tradeId":"","fillSz":"0""#, &trade)
        .replace(r#""fillPx":"""#, random.pick(&[r#""fillPx":"""#, r#""fillPx":"43000""#]))
        .replace(r#""reqId":"","amendResult":"""#, amended)
        .replace("{7}", &name(1))
        .replace("{8}", &name(2))
}

/// What the venue says over the WebSocket.
fn frame(line: &Line, random: &mut Random) -> String {
    let (id, code) = (line.handler.last_message(), random.pick(&CODES));
    match random.below(8) {
        0 => format!(r#"{{"event":"error","code":"{code}","msg":"no","connId":"a"}}"#),
        1 => r#"{"event":"notice","code":"64008","msg":"soon"}"#.to_owned(),
        2..=4 => format!(
            r#"{{"id":"{id}","op":"order","code":"1","data":[{{"ordId":"312","sCode":"{code}"}}]}}"#
        ),
        _ => {
            let orders = (0..random.below(3)).map(|_| order(random)).collect::<Vec<_>>().join(",");
            format!(r#"{{"arg":{{"channel":"orders"}},"data":[{orders}]}}"#)
        }
    }
}

/// The body of an answer to a question.
fn body(random: &mut Random) -> String {
    let code = random.pick(&CODES);
    let data = match random.below(3) {
        0 => r#"{"ts":"1554883365000"}"#.to_owned(),
        _ => (0..random.below(3)).map(|_| order(random)).collect::<Vec<_>>().join(","),
    };
    format!(r#"{{"code":"{code}","msg":"no","data":[{data}]}}"#)
}

#[test]
fn mutated_frames_and_bodies_send_nothing_and_leave_a_session_as_good_as_any() {
    let asked = std::env::var("TAUT_EXECUTIONS").ok().and_then(|text| text.parse().ok());
    let (executions, mut random) = (asked.unwrap_or(20_000_u64), Random::with_seed(16));
    let (mut events, mut sessions, mut line) = (0_u64, 1_u64, Line::up());
    for _ in 0..executions {
        if random.per_mille(300) {
            let kind =
                random.pick(&[RequestKind::Create, RequestKind::Modify, RequestKind::Cancel]);
            let _ = line.send(kind, if kind == RequestKind::Create { 1 } else { 2 });
            line.next();
        }
        if random.per_mille(200) {
            let _ = line.ask();
        }
        line.asks();
        let is_answer = random.per_mille(400);
        let text = if is_answer { body(&mut random) } else { frame(&line, &mut random) };
        let mut bytes = text.into_bytes();
        if random.per_mille(600) {
            mutate_json(&mut bytes, &mut random);
        }
        let heard = match is_answer {
            true => {
                line.handler.handle_beside(line.now, &bytes);
                line.events(b"")
            }
            false => line.events(&bytes),
        };
        events += heard.len() as u64;
        let timed = line.pass(Nanos::from_millis(100));
        let sent = line.next();
        assert!(!sent.contains("order") || sent.contains("subscribe"), "nobody asked for {sent}");
        let is_over =
            |event: &VenueEvent| matches!(event, VenueEvent::Broken | VenueEvent::LoggedOut);
        if heard.iter().chain(&timed).any(is_over) {
            line.handler.disconnected(line.now);
            (line, sessions) = (Line::up(), sessions + 1);
        }
        if random.per_mille(50) {
            line.handler.over(ORDER);
        }
    }
    println!("{executions} messages, {events} events, {sessions} sessions");
    assert!(events > executions / 4 && sessions > 1);
}
