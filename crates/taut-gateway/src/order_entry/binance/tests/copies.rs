//! What drop copies say of our orders.

use taut_fix::{FieldIndex, Framed, MESSAGE_BYTES_MAX, Received, frame};

use super::*;

/// What is told of a message. Names are written `{VERSION}`.
fn told(fields: &str) -> Vec<VenueEvent> {
    let named = |text: String, it| text.replace(&format!("{{{it}}}"), &named(it));
    let fields = (1..9).fold(fields.to_owned(), named);
    let (kind, rest) = fields.split_once('|').unwrap();
    let head = format!("{kind}|34=7|49=SPOT|52=20231114-22:13:20.000001|56=COPIES");
    let body = format!("{head}|{rest}|").replace('|', "\x01");
    let mut message = format!("8=FIX.4.4\x019={}\x01{body}", body.len()).into_bytes();
    let sum = message.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    message.extend_from_slice(format!("10={sum:03}\x01").as_bytes());
    let Ok(Framed::Message(whole)) = frame(&message, MESSAGE_BYTES_MAX) else { panic!("{fields}") };
    let mut index = FieldIndex::with_capacity(64);
    index.fill(&whole).unwrap();
    let mut reading = CopyReading::new();
    reading.hear(&Received::new(&message, &index));
    std::iter::from_fn(|| reading.next()).collect()
}

/// What is told of a report: what happened (150), under which names (11, 41), and where the order
/// is (39).
fn report(what: &str, [c, original]: [&str; 2], status: &str, more: &str) -> Vec<VenueEvent> {
    let original = match original {
        "" => String::new(),
        original => format!("41={original}|"),
    };
    told(&format!(
        "35=8|11={c}|17=144|37=42|38=0.00300000|39={status}|40=2|{original}{more}\
         44=43000.50000000|54=1|55=BTCUSDT|59=1|60=20231114-22:13:19.999000|150={what}|25001=1"
    ))
}

const NOTHING: &str = "14=0.00000000|32=0.00000000|";
const TRADED: &str = concat!(
    "14=0.00100000|31=43000.25000000|32=0.00100000|",
    "136=1|137=0.00000120|138=BNB|139=4|1003=9|1057=N|"
);

#[test]
fn copies_say_what_the_session_says_under_the_same_names() {
    // A trade counts once: it has one name, and leaves the same total.
    let trade = only(report("F", ["{1}", ""], "1", TRADED));
    let mut line = Line::resting(None);
    let said = only(line.trade("{1}", 9, "0.00100000", "0.00100000", "PARTIALLY_FILLED"));
    assert_eq!((trade.last.with_decimals(8), trade.exec_id), (Some(said.last), said.exec_id));
    assert_eq!(trade, VenueReport { is_resend: true, last: trade.last, ..said });
    for (what, names, status, version, event) in [
        ("0", ["{1}", ""], "0", 1, OrderEvent::Accepted),
        // Another order takes its place, with a name of its own; or it is amended.
        ("0", ["{3}", ""], "0", 3, OrderEvent::Replaced),
        ("0", ["{3}-186a0", ""], "0", 3, OrderEvent::Replaced),
        ("5", ["{2}", "{1}"], "0", 2, OrderEvent::Replaced),
        ("4", ["{2}", "{1}"], "4", 2, OrderEvent::Cancelled),
        ("4", ["web", "{1}"], "4", 0, OrderEvent::Cancelled),
        ("C", ["{1}", ""], "C", 0, OrderEvent::Expired),
        ("8", ["{1}", ""], "8", 1, OrderEvent::Rejected),
    ] {
        let told = only(report(what, names, status, NOTHING));
        assert_eq!(told.request, Some(request(version)), "{what} {names:?}");
        assert_eq!((told.event, told.is_resend), (Some(event), true), "{what} {names:?}");
        assert!(!told.is_answer);
    }
    // Of one for the rest what had traded before is in the name.
    let rest = only(report("F", ["{3}-186a0", ""], "1", TRADED));
    assert_eq!(rest.total, qty(200_000));
}

#[test]
fn steps_of_a_request_and_orders_of_others_are_left_out() {
    for (what, names, status) in [
        // The first half of a replacement, or what makes way for the rest.
        ("4", ["{2}-R", "{1}"], "4"),
        ("4", ["{2}-W", "{1}"], "4"),
        ("0", ["web", ""], "0"),
        ("4", ["web", "other"], "4"),
        ("Z", ["{1}", ""], "0"),
    ] {
        assert_eq!(report(what, names, status, NOTHING), [], "{what} {names:?}");
    }
    assert_eq!(report("F", ["web", ""], "1", TRADED), []);
    assert_eq!(told("35=B|148=Your connection is about to be closed."), []);
    assert_eq!(told("35=N|11={1}|66=1"), []);
}

#[test]
fn a_copy_that_cannot_be_read_names_its_order() {
    let unreadable = [VenueEvent::Unreadable(Some(request(0)))];
    assert_eq!(report("F", ["{1}", ""], "1", "14=much|"), unreadable);
    assert_eq!(told("35=8|11={2}|41={1}"), unreadable);
    assert_eq!(told("35=8|11=web"), [], "nobody's");
}
