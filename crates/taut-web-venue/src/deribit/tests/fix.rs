//! FIX: sessions, orders, market data, and what is asked for.

use base64ct::{Base64, Encoding};
use sha2::{Digest, Sha256};

use super::rig::{PERPETUAL, Rig};
use crate::rig::{FixClient, value, values};

type Client = FixClient;

/// A nonce of 32 bytes.
const NONCE: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// Connects, and says a Logon of this client with these fields beside the signed ones.
fn connect(
    rig: &mut Rig,
    connection: u64,
    (id, secret): (&str, &str),
    more: &str,
) -> (Client, String) {
    let mut client = Client::open(rig, connection, "ME", "DERIBITSERVER");
    let raw = format!("{}.{NONCE}", 1_790_000_000_000 + connection);
    let hash = Sha256::digest(format!("{raw}{secret}"));
    let password = Base64::encode_string(&hash);
    let length = raw.len();
    let logon = format!("98=0|108=30|95={length}|96={raw}|553={id}|554={password}|{more}");
    let answer = client.say(rig, "A", &logon);
    (client, answer.concat())
}

pub fn log_on(rig: &mut Rig, connection: u64, id: &str, more: &str) -> Client {
    let (client, answer) = connect(rig, connection, (id, "ABCD"), more);
    assert_eq!(value(&answer, "35"), "A", "{answer}");
    client
}

fn place(client: &mut Client, rig: &mut Rig, name: &str, fields: &str) -> Vec<String> {
    client.say(rig, "D", &format!("11={name}|55={PERPETUAL}|{fields}"))
}

/// Two contracts of ten dollars to buy.
const LIMIT: &str = "54=1|38=20|854=0|44=60000|40=2|59=1|";
const SALE: &str = "54=2|38=1|44=60000|40=2|59=1|";

#[test]
fn a_logon_is_signed_and_its_time_increases() {
    let mut rig = Rig::new();
    let mut client = log_on(&mut rig, 7, "one", "");
    let answer = client.say(&mut rig, "1", "112=hello|").concat();
    assert_eq!(values(&answer, ["35", "112"]), ["0", "hello"]);
    let (_, answer) = connect(&mut rig, 8, ("one", "wrong"), "");
    assert_eq!(values(&answer, ["35", "58"]), ["5", "invalid_credentials"]);
    let (_, answer) = connect(&mut rig, 9, ("one", "ABCD"), "9002=Y|");
    assert_eq!(value(&answer, "58"), "UseWordsafeTags (9002) is not served here");
    // The time of the first Logon again.
    let (_, answer) = connect(&mut rig, 6, ("one", "ABCD"), "");
    assert_eq!(value(&answer, "58"), "timestamp of RawData (96) must increase");
    assert_eq!(rig.closed, [8, 9, 6]);
    let answer = client.say(&mut rig, "5", "").concat();
    assert_eq!((value(&answer, "35"), rig.closed.last()), ("5", Some(&7)));
}

#[test]
fn an_order_is_named_the_other_way_round_and_counted_in_contracts() {
    let mut rig = Rig::new();
    let mut client = log_on(&mut rig, 7, "one", "9015=Y|");
    let mut other = log_on(&mut rig, 8, "two", "");
    let new = place(&mut client, &mut rig, "mine", LIMIT).concat();
    let id = value(&new, "11").to_owned();
    assert_eq!(value(&new, "37"), id);
    let told = values(&new, ["35", "41", "150", "39", "38", "151", "14", "44", "854", "231"]);
    assert_eq!(told, ["8", "mine", "I", "0", "2", "2", "0", "60000", "1", "10"]);
    // Somebody sells a contract; who does not ask for reports of trades has them in the answer.
    let sold = place(&mut other, &mut rig, "theirs", SALE);
    assert_eq!(sold.len(), 1);
    let told = values(&sold[0], ["150", "39", "14", "1362", "1364", "1365", "1443"]);
    assert_eq!(told, ["I", "2", "1", "1", "60000", "1", "2"]);
    let trade = client.take(&mut rig).concat();
    let told = values(&trade, ["150", "39", "41", "32", "31", "14", "151", "851"]);
    assert_eq!(told, ["F", "1", "mine", "1", "60000", "1", "1", "1"]);
    assert_eq!(value(&trade, "880"), value(&sold[0], "1363"));
    // Who takes hears of it behind the answer.
    place(&mut other, &mut rig, "offer", "54=2|38=1|44=60001|40=2|");
    let bought = place(&mut client, &mut rig, "taker", "54=1|38=1|44=60001|40=2|");
    assert_eq!(bought.iter().map(|it| value(it, "150")).collect::<Vec<_>>(), ["I", "F"]);
    let told = other.take(&mut rig).concat();
    assert_eq!(values(&told, ["150", "39", "58"]), ["I", "2", "notification"]);
    // Changed by the venue's name, cancelled by ours.
    let changed = client.say(&mut rig, "G", &format!("41={id}|38=5|44=59999.5|54=1|")).concat();
    let told = values(&changed, ["150", "39", "41", "38", "14", "151", "44"]);
    assert_eq!(told, ["I", "1", "mine", "5", "1", "4", "59999.5"]);
    let cancelled = client.say(&mut rig, "F", &format!("11=mine|55={PERPETUAL}|"));
    assert_eq!(cancelled.len(), 1);
    assert_eq!(values(&cancelled[0], ["150", "39", "11", "151"]), ["I", "4", &id, "0"]);
}

#[test]
fn what_is_refused_is_told_by_its_kind() {
    let mut rig = Rig::new();
    let mut client = log_on(&mut rig, 7, "one", "");
    let refused = place(&mut client, &mut rig, "a", "54=1|38=15|854=0|44=60000|40=2|").concat();
    assert_eq!(values(&refused, ["35", "41", "150", "39"]), ["8", "a", "8", "8"]);
    let unknown = client.say(&mut rig, "D", &format!("11=a|55=NONE|{LIMIT}")).concat();
    assert_eq!(values(&unknown, ["39", "58"]), ["8", "invalid_instrument"]);
    let gone = client.say(&mut rig, "F", "41=80000009999|").concat();
    assert_eq!(values(&gone, ["35", "41", "102", "434"]), ["9", "80000009999", "1", "1"]);
    let new = place(&mut client, &mut rig, "b", LIMIT).concat();
    let id = value(&new, "11").to_owned();
    client.say(&mut rig, "F", &format!("41={id}|"));
    let late = client.say(&mut rig, "G", &format!("41={id}|38=1|44=60000|")).concat();
    assert_eq!(values(&late, ["35", "39", "102", "434"]), ["9", "4", "0", "2"]);
    let post_only = "54=2|38=1|44=59000|40=2|18=6A|";
    place(&mut client, &mut rig, "bid", LIMIT);
    let mut other = log_on(&mut rig, 8, "two", "");
    let refused = place(&mut other, &mut rig, "p", post_only).concat();
    assert_eq!(values(&refused, ["150", "58"]), ["8", "post_only_reject"]);
    let strange = client.say(&mut rig, "i", "117=1|").concat();
    assert_eq!(values(&strange, ["35", "372"]), ["3", "i"]);
    let mut reader = log_on(&mut rig, 9, "reader", "");
    let refused = place(&mut reader, &mut rig, "r", LIMIT).concat();
    assert_eq!(values(&refused, ["150", "58"]), ["8", "forbidden"]);
}

#[test]
fn questions_about_orders_are_counted_and_all_are_cancelled_at_once() {
    let mut rig = Rig::new();
    let mut client = log_on(&mut rig, 7, "one", "");
    let none = client.say(&mut rig, "AF", "584=q|585=7|").concat();
    assert_eq!(values(&none, ["39", "103", "584", "911"]), ["8", "5", "q", "0"]);
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "y")] {
        place(&mut client, &mut rig, name, &format!("{LIMIT}100010={label}|"));
    }
    let all = client.say(&mut rig, "AF", "584=q|585=7|");
    let told: Vec<_> = all.iter().map(|it| values(it, ["41", "911", "912"])).collect();
    assert_eq!(told, [["a", "3", "N"], ["b", "3", "N"], ["c", "3", "Y"]]);
    let one = client.say(&mut rig, "AF", &format!("55={PERPETUAL}|584=b|585=7|9014=1|"));
    assert_eq!(one.len(), 1);
    assert_eq!(values(&one[0], ["41", "584", "150"]), ["b", "b", "I"]);
    let labelled = client.say(&mut rig, "q", "11=m|530=10|100010=y|");
    let (report, cancelled) = labelled.split_first().expect("a report");
    assert_eq!(values(report, ["35", "11", "531", "533"]), ["r", "m", "10", "2"]);
    assert!(cancelled.iter().all(|it| value(it, "39") == "4"), "{cancelled:?}");
    let rest = client.say(&mut rig, "q", "11=n|530=7|");
    assert_eq!(values(&rest[0], ["35", "533"]), ["r", "1"]);
}

#[test]
fn a_book_and_its_changes_are_the_exchanges() {
    let mut rig = Rig::new();
    let mut client = log_on(&mut rig, 7, "one", "");
    let mut reader = log_on(&mut rig, 9, "reader", "");
    place(&mut client, &mut rig, "a", LIMIT);
    let request = format!("262=v|263=1|264=0|265=1|267=3|269=0|269=1|269=2|146=1|55={PERPETUAL}|");
    let whole = reader.say(&mut rig, "V", &request).concat();
    assert_eq!(values(&whole, ["35", "262", "55", "268"]), ["W", "v", PERPETUAL, "1"]);
    assert!(whole.contains("|268=1|269=0|270=60000|271=2|"), "{whole}");
    place(&mut client, &mut rig, "b", "54=2|38=3|44=60000.5|40=2|");
    let change = reader.take(&mut rig).concat();
    assert!(change.contains("|268=1|279=0|269=1|270=60000.5|271=3|"), "{change}");
    let mut other = log_on(&mut rig, 8, "two", "");
    place(&mut other, &mut rig, "c", "54=2|38=2|44=60000|40=2|");
    let trade = reader.take(&mut rig).concat();
    assert!(trade.contains("|268=2|279=2|269=0|270=60000|271=0|279=0|269=2|270=60000|271=2|"));
    assert_eq!((value(&trade, "54"), value(&trade, "100009").is_empty()), ("2", false));
    // The best level of each side, again with each change.
    let top = format!("262=t|263=1|264=1|265=0|267=2|269=0|269=1|146=1|55={PERPETUAL}|");
    let top = reader.say(&mut rig, "V", &top).concat();
    assert!(top.contains("|268=1|269=1|270=60000.5|271=3|"), "{top}");
    let again = reader.say(&mut rig, "V", &request).concat();
    assert_eq!(values(&again, ["35", "262", "281"]), ["Y", "v", "1"]);
    let wrong = format!("262=w|263=1|264=7|265=0|267=1|269=0|146=1|55={PERPETUAL}|");
    assert_eq!(value(&reader.say(&mut rig, "V", &wrong).concat(), "281"), "5");
    let none = "262=w|263=0|267=1|269=0|146=1|55=NONE|";
    assert_eq!(value(&reader.say(&mut rig, "V", none).concat(), "281"), "0");
    for id in ["v", "t"] {
        assert!(reader.say(&mut rig, "V", &format!("262={id}|263=2|267=1|269=0|")).is_empty());
    }
    place(&mut client, &mut rig, "d", LIMIT);
    assert!(reader.take(&mut rig).is_empty());
}

#[test]
fn instruments_positions_and_the_account_are_told() {
    let mut rig = Rig::new();
    let mut client = log_on(&mut rig, 7, "one", "");
    let list = client.say(&mut rig, "x", "320=s|559=0|167=FUT|").concat();
    assert_eq!(values(&list, ["35", "320", "146", "55", "231"]), ["y", "s", "1", PERPETUAL, "10"]);
    let all = client.say(&mut rig, "x", "320=s|559=4|").concat();
    assert_eq!(value(&all, "146"), "3");
    let status = client.say(&mut rig, "e", &format!("324=u|55={PERPETUAL}|")).concat();
    assert_eq!(values(&status, ["35", "324", "965"]), ["f", "u", "1"]);
    rig.set_phase(0, taut_engine::Phase::Halted);
    let status = client.say(&mut rig, "e", &format!("324=u|55={PERPETUAL}|")).concat();
    assert_eq!(values(&status, ["35", "965", "326"]), ["f", "2", "2"]);
    rig.set_phase(0, taut_engine::Phase::Continuous);
    place(&mut client, &mut rig, "a", LIMIT);
    let mut other = log_on(&mut rig, 8, "two", "");
    place(&mut other, &mut rig, "b", SALE);
    client.take(&mut rig);
    let positions = client.say(&mut rig, "AN", "710=p|724=0|").concat();
    let told = values(&positions, ["35", "710", "702", "704", "730"]);
    assert_eq!(told, ["AP", "p", "1", "1", "60000"]);
    let short = other.say(&mut rig, "AN", "710=p|724=0|").concat();
    assert_eq!(values(&short, ["702", "705"]), ["1", "1"]);
    let account = client.say(&mut rig, "BE", "923=r|924=4|553=one|15=BTC|").concat();
    assert_eq!(values(&account, ["35", "923", "926", "100002"]), ["BF", "r", "1", "10"]);
}

#[test]
fn orders_end_with_the_connection_where_that_was_asked_for() {
    for (more, logout, is_left) in
        [("9001=Y|", None, false), ("", None, true), ("9001=Y|", Some("9003=Y|"), true)]
    {
        use crate::front::Front as _;
        let mut rig = Rig::new();
        let mut client = log_on(&mut rig, 7, "one", more);
        place(&mut client, &mut rig, "a", LIMIT);
        match logout {
            Some(fields) => _ = client.say(&mut rig, "5", fields),
            None => rig.front.closed(rig.now, 7),
        }
        rig.pump();
        let mut next = log_on(&mut rig, 8, "one", "");
        let open = next.say(&mut rig, "AF", "584=q|585=7|").concat();
        assert_eq!(value(&open, "41") == "a", is_left, "{more} {logout:?}: {open}");
    }
}

/// As the crate deribit-fix does, and the venue lets it.
#[test]
fn fields_may_be_sorted_by_their_tags() {
    let mut rig = Rig::new();
    let client = Client::open(&mut rig, 7, "GUEST", "DERIBITSERVER");
    let raw = format!("1790000000000.{NONCE}");
    let password = Base64::encode_string(&Sha256::digest(format!("{raw}ABCD")));
    let body = format!(
        "34=1|35=A|49=GUEST|52=20261123-22:14:31.129|56=DERIBITSERVER|95={}|96={raw}|108=30|\
         553=one|554={password}|9001=N|",
        raw.len()
    );
    let body = body.replace('|', "\u{1}");
    let mut message = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len());
    let sum = message.bytes().fold(0_u8, |sum, byte| sum.wrapping_add(byte));
    message.push_str(&format!("10={sum:03}\u{1}"));
    let answer = client.bytes(&mut rig, message.as_bytes()).concat();
    assert_eq!(values(&answer, ["35", "56"]), ["A", "GUEST"]);
}
