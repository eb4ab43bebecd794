//! FIX order entry and drop copy.

use super::rig::{Rig, SYMBOL, sign_ed25519};
use crate::rig::{FixClient, STAMP, value, values};

type Client = FixClient;

impl Client {
    /// Connects, and says a Logon with these fields beside the signed ones.
    fn connect(rig: &mut Rig, connection: u64, name: &'static str, more: &str) -> (Self, String) {
        let mut client = Self::open(rig, connection, name, "SPOT");
        let text = format!("A\u{1}{name}\u{1}SPOT\u{1}1\u{1}{STAMP}");
        let signature = sign_ed25519(&text);
        let logon = format!("95=88|96={signature}|98=0|108=30|141=Y|553=ed|{more}");
        let answer = client.say(rig, "A", &logon);
        (client, answer.concat())
    }

    fn log_on(rig: &mut Rig, connection: u64, name: &'static str) -> Self {
        let (client, answer) = Self::connect(rig, connection, name, "25035=2|");
        assert!(answer.contains("|35=A|") && answer.contains("|25037="), "{answer}");
        client
    }

    fn place(&mut self, rig: &mut Rig, name: &str, fields: &str) -> Vec<String> {
        self.say(rig, "D", &format!("11={name}|55={SYMBOL}|{fields}"))
    }
}

const LIMIT: &str = "38=0.002|40=2|44=50000|54=1|59=1|";

#[test]
fn a_session_logs_on_with_a_key_and_says_what_its_limits_are() {
    let mut rig = Rig::new();
    let mut client = Client::log_on(&mut rig, 7, "ME");
    let answer = client.say(&mut rig, "1", "112=hello|").concat();
    assert_eq!(values(&answer, ["35", "112"]), ["0", "hello"]);
    client.place(&mut rig, "a", LIMIT);
    let limits = client.say(&mut rig, "XLQ", "6136=q|").concat();
    let expected = "|6136=q|25003=3|25004=2|25005=2|25006=10000|25007=10|25008=s|25004=1|25005=1|\
                    25006=100|25007=10|25008=s|25004=1|25005=1|25006=200000|25007=1|25008=d|";
    assert!(limits.contains(expected), "{limits}");
    let answer = client.say(&mut rig, "5", "").concat();
    assert_eq!(value(&answer, "35"), "5");
    assert_eq!(rig.closed, [7]);
}

#[test]
fn a_logon_that_is_not_right_is_refused() {
    for (more, why) in [("", "MessageHandling (25035)"), ("25035=3|", "MessageHandling (25035)")] {
        let mut rig = Rig::new();
        let (_, answer) = Client::connect(&mut rig, 7, "ME", more);
        assert_eq!(value(&answer, "35"), "5", "{answer}");
        assert!(value(&answer, "58").starts_with(why), "{answer}");
        assert_eq!(rig.closed, [7]);
    }
    // Another one has the name; and a name that is too long.
    let mut rig = Rig::new();
    Client::log_on(&mut rig, 7, "ME");
    let (_, answer) = Client::connect(&mut rig, 8, "ME", "25035=2|");
    assert!(value(&answer, "58").starts_with("SenderCompID (49) is in use"), "{answer}");
    let (_, answer) = Client::connect(&mut rig, 9, "NINECHARS", "25035=2|");
    assert_eq!((answer.as_str(), rig.closed.as_slice()), ("", &[8, 9][..]));
    // What is signed is another time.
    let mut rig = Rig::new();
    let mut client = Client::open(&mut rig, 7, "ME", "SPOT");
    let signature = sign_ed25519("A\u{1}ME\u{1}SPOT\u{1}1\u{1}20260921-14:13:19.000");
    let logon = format!("95=88|96={signature}|98=0|108=30|141=Y|553=ed|25035=1|");
    let answer = client.say(&mut rig, "A", &logon).concat();
    assert!(value(&answer, "58").starts_with("Invalid API-key"), "{answer}");
}

#[test]
fn an_order_trades_and_its_reports_are_those_of_the_other_interfaces() {
    let mut rig = Rig::new();
    let mut client = Client::log_on(&mut rig, 7, "ME");
    let new = client.place(&mut rig, "a", LIMIT);
    assert_eq!(new.len(), 1);
    let told = values(&new[0], ["35", "11", "150", "39", "38", "44", "151", "14", "636", "55"]);
    let expected = [
        "8",
        "a",
        "0",
        "0",
        "0.00200000",
        "50000.00000000",
        "0.00200000",
        "0.00000000",
        "Y",
        SYMBOL,
    ];
    assert_eq!(told, expected);
    assert_eq!(value(&new[0], "60"), "20260921-14:13:20.000000");
    // Somebody else sells, over REST.
    rig.limit("two", "SELL", "0.001", "50000");
    let trade = client.take(&mut rig).concat();
    let told =
        values(&trade, ["150", "39", "31", "32", "14", "151", "1057", "136", "137", "138", "139"]);
    let expected = [
        "F",
        "1",
        "50000.00000000",
        "0.00100000",
        "0.00100000",
        "0.00100000",
        "N",
        "1",
        "0.00000100",
        "BTC",
        "4",
    ];
    assert_eq!(told, expected);
    assert!(!value(&trade, "1003").is_empty());
    let cancelled = client.say(&mut rig, "F", &format!("11=c|41=a|55={SYMBOL}|")).concat();
    let told = values(&cancelled, ["35", "11", "41", "150", "39", "14", "151"]);
    assert_eq!(told, ["8", "c", "a", "4", "4", "0.00100000", "0.00000000"]);
    // What was placed elsewhere is told here, too.
    rig.limit("one", "BUY", "0.001", "40000");
    assert_eq!(value(&client.take(&mut rig).concat(), "150"), "0");
}

#[test]
fn an_order_is_amended_and_replaced() {
    let mut rig = Rig::new();
    let mut client = Client::log_on(&mut rig, 7, "ME");
    client.place(&mut rig, "a", LIMIT);
    let amended = client.say(&mut rig, "XAK", &format!("11=b|41=a|38=0.001|55={SYMBOL}|")).concat();
    let told = values(&amended, ["35", "150", "39", "11", "41", "38"]);
    assert_eq!(told, ["8", "5", "0", "b", "a", "0.00100000"]);
    let refused = client.say(&mut rig, "XAK", &format!("11=c|41=b|38=0.001|55={SYMBOL}|")).concat();
    assert_eq!(values(&refused, ["35", "11", "41", "25016"]), ["XAR", "c", "b", "-2038"]);
    let replace = |mode: &str, orig: &str, price: &str, name: &str| {
        format!(
            "11={name}|41={orig}|38=0.001|40=2|44={price}|54=1|55={SYMBOL}|59=1|25002=1|\
             25033={mode}|25034={name}-R|"
        )
    };
    let both = client.say(&mut rig, "XCN", &replace("1", "b", "50001", "d"));
    assert_eq!(values(&both[0], ["150", "11", "41"]), ["4", "d-R", "b"]);
    assert_eq!(values(&both[1], ["150", "11", "44"]), ["0", "d", "50001.00000000"]);
    // It has traded: neither half.
    rig.limit("two", "SELL", "0.0005", "50001");
    client.take(&mut rig);
    let neither = client.say(&mut rig, "XCN", &replace("1", "d", "50002", "e"));
    assert_eq!(
        values(&neither[0], ["35", "11", "41", "434", "25016"]),
        ["9", "e-R", "d", "1", "-2011"]
    );
    assert_eq!(values(&neither[1], ["35", "11", "150", "39"]), ["8", "e", "8", "8"]);
    // Cancelled, and the new one is more than there is money for: nothing is done, as filters and
    // counts come first, then the cancel, then the balance.
    client.place(&mut rig, "f", LIMIT);
    let wide = replace("1", "f", "50000", "g").replace("38=0.001", "38=100");
    let half = client.say(&mut rig, "XCN", &wide);
    assert_eq!(values(&half[0], ["150", "11", "41"]), ["4", "g-R", "f"]);
    assert_eq!(values(&half[1], ["150", "11", "25016"]), ["8", "g", "-2010"]);
}

#[test]
fn all_orders_of_a_symbol_are_cancelled() {
    let mut rig = Rig::new();
    let mut client = Client::log_on(&mut rig, 7, "ME");
    client.place(&mut rig, "a", LIMIT);
    client.place(&mut rig, "b", LIMIT);
    let cancelled = client.say(&mut rig, "q", &format!("11=q|55={SYMBOL}|530=1|"));
    assert_eq!(cancelled.len(), 3);
    assert_eq!(values(&cancelled[0], ["150", "41"]), ["4", "a"]);
    assert_eq!(values(&cancelled[2], ["35", "11", "531", "533"]), ["r", "q", "1", "2"]);
    let none = client.say(&mut rig, "q", &format!("11=r|55={SYMBOL}|530=1|")).concat();
    assert_eq!(values(&none, ["35", "531", "25016"]), ["r", "0", "-2011"]);
}

#[test]
fn what_is_refused_says_so_in_the_message_of_its_kind() {
    let mut rig = Rig::new();
    let mut client = Client::log_on(&mut rig, 7, "ME");
    let too_small = client.place(&mut rig, "a", "38=0.00001|40=2|44=50000|54=1|59=1|").concat();
    assert_eq!(
        values(&too_small, ["35", "150", "39", "11", "25016"]),
        ["8", "8", "8", "a", "-1013"]
    );
    let stop = "38=0.001|40=3|54=2|1100=4|1101=1|1102=40000|1107=2|1109=D|";
    assert_eq!(value(&client.place(&mut rig, "s", stop).concat(), "25016"), "-2010");
    let unknown = client.say(&mut rig, "D", &format!("11=a|55=NONE|{LIMIT}")).concat();
    assert_eq!(values(&unknown, ["35", "45", "372", "25016"]), ["3", "4", "D", "-1121"]);
    let missing = client.place(&mut rig, "a", "38=0.001|40=2|54=1|59=1|").concat();
    assert_eq!(values(&missing, ["35", "25016"]), ["3", "-1102"]);
    let gone = client.say(&mut rig, "F", &format!("11=c|41=none|55={SYMBOL}|")).concat();
    assert_eq!(values(&gone, ["35", "11", "41", "25016"]), ["9", "c", "none", "-2011"]);
    assert_eq!(value(&gone, "58"), "Unknown order sent.");
    let list = client.say(&mut rig, "E", "25014=l|").concat();
    assert_eq!(values(&list, ["35", "372"]), ["3", "E"]);
    // Too late for its window.
    rig.pass(3_000);
    let late = client.place(&mut rig, "a", &format!("25000=2000|{LIMIT}")).concat();
    assert_eq!(values(&late, ["35", "373", "25016"]), ["3", "10", "-1021"]);
    let in_time = client.place(&mut rig, "a", &format!("25000=4000|{LIMIT}")).concat();
    assert_eq!(value(&in_time, "150"), "0");
}

#[test]
fn messages_that_come_at_once_are_served_one_after_the_other() {
    let mut rig = Rig::new();
    let mut client = Client::log_on(&mut rig, 7, "ME");
    let mut all = Vec::new();
    let mut keep = |client: &mut Client, kind: &str, fields: &str| {
        all.extend(client.message(kind, fields));
    };
    for name in ["a", "b", "c"] {
        keep(&mut client, "D", &format!("11={name}|55={SYMBOL}|{LIMIT}"));
    }
    keep(&mut client, "F", &format!("11=d|41=b|55={SYMBOL}|"));
    // Cut anywhere.
    let (first, second) = all.split_at(all.len() / 2 + 7);
    let mut told = client.bytes(&mut rig, first);
    told.extend(client.bytes(&mut rig, second));
    let told: Vec<_> = told.iter().map(|it| values(it, ["11", "150"])).collect();
    assert_eq!(told, [["a", "0"], ["b", "0"], ["c", "0"], ["d", "4"]]);
}

#[test]
fn a_drop_copy_and_a_session_of_acknowledgements_hear_what_they_asked_for() {
    let mut rig = Rig::new();
    let mut client = Client::log_on(&mut rig, 7, "ME");
    let (mut copy, answer) = Client::connect(&mut rig, 8, "COPY", "25035=2|9406=Y|");
    assert_eq!(value(&answer, "35"), "A");
    let (mut acks, _) = Client::connect(&mut rig, 9, "ACKS", "25035=2|25036=2|");
    client.place(&mut rig, "a", LIMIT);
    assert_eq!(values(&copy.take(&mut rig).concat(), ["11", "150"]), ["a", "0"]);
    assert!(acks.take(&mut rig).is_empty());
    let refused = copy.place(&mut rig, "b", LIMIT).concat();
    assert_eq!(values(&refused, ["35", "372"]), ["3", "D"]);
    let own = acks.place(&mut rig, "c", LIMIT).concat();
    assert_eq!(values(&own, ["11", "150"]), ["c", "0"]);
    rig.limit("two", "SELL", "0.001", "50000");
    assert_eq!(value(&client.take(&mut rig)[1], "150"), "F");
    assert!(acks.take(&mut rig).is_empty());
}

#[test]
fn a_session_that_says_nothing_is_asked_and_then_ended() {
    let mut rig = Rig::new();
    let client = Client::log_on(&mut rig, 7, "ME");
    let mut kinds = Vec::new();
    for _ in 0..10 {
        rig.pass(10_000);
        kinds.extend(client.take(&mut rig).iter().map(|it| value(it, "35").to_owned()));
    }
    assert!(kinds.contains(&"0".to_owned()) && kinds.contains(&"1".to_owned()), "{kinds:?}");
    assert_eq!(rig.closed, [7]);
    // One that never logs on.
    Client::open(&mut rig, 8, "ME", "SPOT");
    rig.pass(11_000);
    assert_eq!(rig.closed, [7, 8]);
}
