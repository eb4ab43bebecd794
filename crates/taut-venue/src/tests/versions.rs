//! Clients in every version of FIX: the same orders, each in the words of its version.

use std::fs;
use std::path::Path;

use taut_fix::{
    Charges, Currency, DataTags, ExecType, ExecutionReport, FieldIndex, Framed, Liquidity,
    MassCancelType, MassStatusType, MemoryStore, OrdStatus, OrderCancelReplaceRequest,
    OrderMassCancelRequest, OrderMassStatusRequest, OrderStatusRequest, Precision, Rules, Session,
    ShortText, StampCache, TypedMessage, Writer, frame,
};
use taut_types::{Lots, Nanos, OrderId, Price, Qty, Side};

use crate::listing::Listings;
use crate::orders::DoneOrder;
use crate::reports::Reporter;
use crate::tests::client::{Client, cancel, limit};
use crate::tests::journaled::{START, image, lasting};
use crate::tests::rig::{Rig, config, instrument, text};
use crate::{FixVersion, Flow, InVersion, VenueConfig};

/// What tells the versions apart, in this order.
const TOLD: [&str; 10] = ["20", "150", "39", "32", "103", "102", "434", "531", "533", "1369"];

fn field<'a>(message: &'a str, tag: &str) -> Option<&'a str> {
    message.split('\u{1}').find_map(|field| field.strip_prefix(tag)?.strip_prefix('='))
}

/// MsgType and fields of what the venue answered, message by message.
fn said(client: &Client) -> Vec<String> {
    let of_application = |message: &&String| !"012345A".contains(field(message, "35").expect("35"));
    let words = |message: &String| {
        let tags = ["35"].into_iter().chain(TOLD);
        let fields = tags.filter_map(|tag| Some(format!("{tag}={}", field(message, tag)?)));
        fields.collect::<Vec<_>>().join(" ")
    };
    client.heard.iter().filter(of_application).map(words).collect()
}

fn is_told(count: usize) -> impl Fn(&Client) -> bool {
    move |client| said(client).len() >= count
}

/// A client that is logged on, in a session that goes on.
fn log_on(rig: &mut Rig, session: Session<MemoryStore>) -> Client {
    let mut client = Client::resume(rig.orders_at, session, rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut client, Client::is_logged_on);
    client
}

/// A day of a client of this version; its words, and the exchange behind what all versions have.
fn day(version: FixVersion, folder: &Path) -> (Vec<String>, Vec<u8>, Vec<String>) {
    let (mut rig, _) = Rig::journaled(&lasting(), Flow::None, folder, START);
    let mut maker = log_on(&mut rig, Client::session("MAKER", false));
    let mut client = log_on(&mut rig, Client::session_in(version, "ALPHA", false));
    let now = rig.now;
    client.order(now, &limit(1, Side::Buy, 5, "100.00"));
    rig.until(&mut client, is_told(1));
    maker.order(now, &limit(1, Side::Sell, 2, "100.00"));
    rig.until(&mut client, is_told(2));
    let order = limit(2, Side::Buy, 6, "100.00");
    client.request(now, &OrderCancelReplaceRequest { orig_cl_ord_id: 1.into(), order });
    client.order(now, &limit(3, Side::Buy, 1, "100.001"));
    let unknown =
        taut_fix::NewOrderSingle { symbol: text("ZZZ"), ..limit(4, Side::Buy, 1, "1.00") };
    client.order(now, &unknown);
    client.cancel(now, &cancel(5, 99, Side::Buy));
    client.cancel(now, &cancel(6, 1, Side::Buy));
    let symbol = order.symbol;
    let question =
        OrderStatusRequest { cl_ord_id: 2.into(), symbol, side: Side::Buy, request_id: None };
    client.request(now, &question);
    client.cancel(now, &cancel(7, 2, Side::Buy));
    client.order(now, &limit(8, Side::Buy, 1, "99.00"));
    rig.until(&mut client, is_told(10));
    maker.order(now, &limit(2, Side::Sell, 1, "99.00"));
    rig.until(&mut client, is_told(11));
    let behind = image(&mut rig.venue);
    let traded = *client.exec_ids.last().expect("a trade");
    assert_eq!(rig.venue.bust(now, traded), Ok(true));
    rig.until(&mut client, is_told(12));
    let (request_id, scope) = (9.into(), MassStatusType::All);
    client.request(now, &OrderMassStatusRequest { request_id, scope, symbol: None });
    let gone = OrderMassCancelRequest {
        cl_ord_id: 10.into(),
        scope: MassCancelType::All,
        symbol: None,
        side: None,
        transact_time: Nanos::ZERO,
    };
    client.request(now, &gone);
    client.order(now, &limit(11, Side::Buy, 3, "98.00"));
    rig.until(&mut client, is_told(15));
    // It misses a trade, and the venue is killed.
    let (words, mut heard) = (said(&client), std::mem::take(&mut client.heard));
    let session = client.break_off(now);
    rig.until_venue(|venue| venue.connection_count() == 1);
    maker.order(now, &limit(3, Side::Sell, 1, "98.00"));
    rig.until(&mut maker, |maker| maker.is_answered(3));
    let (mut rig, recovered) = Rig::journaled_again(&lasting(), Flow::None, folder, rig);
    assert_eq!((recovered.clients, recovered.open_orders), (2, 1));
    let mut client = log_on(&mut rig, session);
    rig.until(&mut client, is_told(1));
    assert_eq!(client.duplicates, [true], "it was not sent again");
    client.cancel(rig.now, &cancel(12, 11, Side::Buy));
    rig.until(&mut client, is_told(2));
    let words = words.into_iter().chain(said(&client)).collect();
    heard.append(&mut client.heard);
    (words, behind, heard)
}

/// FIX 4.2 has no mass status request and no mass cancel, and says trades by ExecTransType.
const IN_FIX42: [&str; 17] = [
    "35=8 20=0 150=0 39=0",
    "35=8 20=0 150=1 39=1 32=2",
    "35=8 20=0 150=5 39=1",
    "35=8 20=0 150=8 39=8",
    "35=8 20=0 150=8 39=8 103=1",
    "35=9 39=8 102=1 434=1",
    "35=9 39=1 434=1",
    "35=8 20=3 150=1 39=1",
    "35=8 20=0 150=4 39=4",
    "35=8 20=0 150=0 39=0",
    "35=8 20=0 150=2 39=2 32=1",
    "35=8 20=1 150=4 39=4 32=1",
    "35=j",
    "35=j",
    "35=8 20=0 150=0 39=0",
    "35=8 20=0 150=1 39=1 32=1",
    "35=8 20=0 150=4 39=4",
];

const IN_FIX44: [&str; 17] = [
    "35=8 150=0 39=0",
    "35=8 150=F 39=1 32=2",
    "35=8 150=5 39=1",
    "35=8 150=8 39=8 103=99",
    "35=8 150=8 39=8 103=1",
    "35=9 39=8 102=1 434=1",
    "35=9 39=1 102=99 434=1",
    "35=8 150=I 39=1",
    "35=8 150=4 39=4",
    "35=8 150=0 39=0",
    "35=8 150=F 39=2 32=1",
    "35=8 150=H 39=4 32=1",
    "35=8 150=I 39=8 103=5",
    "35=r 531=7 533=0",
    "35=8 150=0 39=0",
    "35=8 150=F 39=1 32=1",
    "35=8 150=4 39=4",
];

#[test]
fn a_client_of_each_version_trades_and_comes_back_in_its_own_words_and_the_exchange_is_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let days = FixVersion::ALL.map(|version| {
        let folder = folder.path().join(version.as_str());
        fs::create_dir(&folder).expect("a folder");
        day(version, &folder)
    });
    let [(in_44, behind_44, _), (in_42, behind_42, heard_42), (in_50, behind_50, heard_50)] = days;
    assert_eq!(in_44, IN_FIX44);
    assert_eq!(in_42, IN_FIX42);
    let mass_report = "35=r 531=7 533=0 1369=10";
    let in_sp2 = IN_FIX44.map(|it| if it.starts_with("35=r") { mass_report } else { it });
    assert_eq!(in_50, in_sp2);
    assert!(behind_44 == behind_42 && behind_44 == behind_50, "the exchange is another one");
    assert!(heard_42.iter().all(|message| message.starts_with("8=FIX.4.2\u{1}")));
    assert!(heard_50.iter().all(|message| message.starts_with("8=FIXT.1.1\u{1}")));
    check_by_the_reference(&heard_42);
}

/// Every message against QuickFIX's dictionary of FIX 4.2.
fn check_by_the_reference(heard: &[String]) {
    let at = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fix/dictionaries/FIX42.xml");
    if !Path::new(at).exists() {
        println!("skipped: {at} is not there");
        return;
    }
    let dictionary = taut_fix_engine::dictionary::load(at.as_ref()).expect("a dictionary");
    let mut index = FieldIndex::with_capacity(128);
    for message in heard {
        let Ok(Framed::Message(frame)) = frame(message.as_bytes(), 1 << 16) else {
            panic!("no message: {message}");
        };
        index.fill_with(&frame, DataTags::STANDARD).expect("fields");
        let checked = dictionary.check(message.as_bytes(), index.slots(), Rules::ALL);
        assert_eq!(checked, Ok(()), "{}", message.replace('\u{1}', "|"));
    }
}

/// The Text (58) of the Logout that answers a Logon.
fn refused(rig: &mut Rig, session: Session<MemoryStore>) -> String {
    let mut client = Client::resume(rig.orders_at, session, rig.now);
    rig.advance(Nanos::from_millis(2));
    rig.until(&mut client, |client| client.is_closed);
    let [logout] = &client.heard[..] else { panic!("{:?}", client.heard) };
    assert_eq!(field(logout, "35"), Some("5"));
    field(logout, "58").expect("a text").to_owned()
}

#[test]
fn a_version_that_is_not_spoken_is_answered_by_a_logout_that_names_those_that_are() {
    let mut rig = Rig::empty();
    let all = "this venue speaks FIX.4.4, FIX.4.2, FIX.5.0SP2";
    let session = |begin, version| Client::session_with(begin, version, "ALPHA", true);
    assert_eq!(refused(&mut rig, session(taut_fix::BeginString::Fix43, None)), all);
    assert_eq!(refused(&mut rig, session(taut_fix::BeginString::Fixt11, Some(b'7'))), all);
    let fix_versions = vec![FixVersion::Fix44];
    let mut rig = Rig::new(&VenueConfig { fix_versions, ..config() }, Flow::None);
    let old = Client::session_in(FixVersion::Fix42, "ALPHA", true);
    assert_eq!(refused(&mut rig, old), "this venue speaks FIX.4.4");
    assert_eq!(rig.venue.counters().session_refusals, 1);
    rig.log_on("ALPHA");
}

#[test]
fn a_session_goes_on_in_its_version_and_a_reset_begins_one_of_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut rig, _) = Rig::journaled(&lasting(), Flow::None, folder.path(), START);
    let mut client = log_on(&mut rig, Client::session("ALPHA", false));
    client.order(rig.now, &limit(1, Side::Buy, 5, "100.00"));
    rig.until(&mut client, is_told(1));
    drop(client.break_off(rig.now));
    rig.until_venue(|venue| venue.connection_count() == 0);
    let old = |is_reset| Client::session_in(FixVersion::Fix42, "ALPHA", is_reset);
    let why = "CompID ALPHA has a session of FIX.4.4 here: ResetSeqNumFlag (141) Y ends that one";
    assert_eq!(refused(&mut rig, old(false)), why);
    let client = log_on(&mut rig, old(true));
    let mut session = client.break_off(rig.now);
    session.set_reset_on_logon(false);
    let (mut rig, _) = Rig::journaled_again(&lasting(), Flow::None, folder.path(), rig);
    let mut client = log_on(&mut rig, session);
    client.cancel(rig.now, &cancel(2, 1, Side::Buy));
    rig.until(&mut client, is_told(1));
    assert_eq!(said(&client), ["35=8 20=0 150=4 39=4"]);
}

/// The report of a trade, in a version.
fn traded(version: FixVersion) -> String {
    let text = |text: &[u8]| ShortText::new(text).expect("a text");
    let listings = Listings::new(&[instrument()]);
    let of = &listings.all()[0];
    let order = DoneOrder {
        order_id: OrderId(7),
        status: OrdStatus::Filled,
        place: 0,
        side: Side::Buy,
        lots: Lots(2),
        traded: Lots(2),
        avg_price: Price(1),
    };
    let report = ExecutionReport {
        exec_type: ExecType::Trade,
        last_qty: Qty::whole(2),
        charges: Charges {
            commission: Some(Price(5)),
            comm_currency: Currency::new(b"USD"),
            liquidity: Some(Liquidity::Taker),
            ..Charges::NONE
        },
        ..Reporter::done(Nanos(0), of, text(b"1"), &order)
    };
    let (mut bytes, mut stamps) = ([0; 1_024], StampCache::new(Precision::Millis));
    let begin = version.begin();
    let mut writer = Writer::begin_version(&mut bytes, &mut stamps, begin, b"8");
    InVersion::new(version, &report).encode_body(&mut writer);
    let range = writer.finish().expect("it fits");
    String::from_utf8_lossy(&bytes[range]).replace('\u{1}', "|")
}

#[test]
fn fix42_says_a_commission_and_no_more_of_what_a_trade_costs() {
    let (old, usual) = (traded(FixVersion::Fix42), traded(FixVersion::Fix44));
    let has = |message: &str, field: &str| message.contains(&format!("|{field}"));
    for field in ["12=0.000000005|", "13=3|"] {
        assert!(has(&old, field) && has(&usual, field), "{old} {usual}");
    }
    for field in ["479=USD|", "851=2|"] {
        assert!(!has(&old, field) && has(&usual, field), "{old} {usual}");
    }
}
