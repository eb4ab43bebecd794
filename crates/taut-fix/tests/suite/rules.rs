//! Rules of the session layer, one by one: what comes in, what goes out, where it ends.

use taut_fix::{
    DisconnectReason, Event, ExecType, FixError, Limit, Misuse, Now, OrderFlow, RejectReason, Role,
    SessionConfig, State,
};
use taut_types::{Nanos, OrderType, Qty, Side, TimeInForce};

use crate::support::{
    Driver, Told, acceptor, at, cancel, comp_id, config, initiator, message, order, report, sent,
    told,
};

const HEADER: &str = "49=BUYER|52=20260302-09:30:00.000|56=VENUE";

fn now() -> Now {
    at(0.0)
}

/// A message of the buyer.
fn from_buyer(msg_type: &str, sequence: u64, rest: &str) -> Vec<u8> {
    message(&format!("35={msg_type}|34={sequence}|{HEADER}|{rest}"))
}

fn venue() -> Driver {
    logged_on(config(Role::Acceptor))
}

fn logged_on(config: SessionConfig) -> Driver {
    let mut venue = Driver::new(config);
    venue.connect(now());
    venue.handle_bytes(now(), &from_buyer("A", 1, "98=0|108=30|"));
    assert_eq!(answers(&mut venue), ["35=A|34=1|98=0|108=30|"]);
    venue
}

/// What is sent, without CompIDs and SendingTime.
fn answers(session: &mut Driver) -> Vec<String> {
    let header = "|49=VENUE|52=20260302-09:30:00.000|56=BUYER|";
    sent(session, now()).iter().map(|body| body.replace(header, "|")).collect()
}

/// What a logged-on venue answers to this, and the event.
fn answer_of(bytes: &[u8]) -> (Vec<String>, Option<String>) {
    let mut venue = venue();
    let event = venue.handle_bytes(now(), bytes).event.map(|event| told(&event));
    (answers(&mut venue), event)
}

fn first_event(bytes: &[u8]) -> (Vec<String>, Option<String>, State) {
    let mut venue = acceptor();
    venue.connect(now());
    let event = venue.handle_bytes(now(), bytes).event.map(|event| told(&event));
    (answers(&mut venue), event, venue.state())
}

#[test]
fn refuses_every_wrong_first_message_without_a_word() {
    let reason = |reason: DisconnectReason| Some(format!("disconnect: {reason:?}"));
    let logon = "98=0|108=30|";
    let cases = [
        (from_buyer("0", 1, ""), DisconnectReason::InvalidLogon),
        (from_buyer("5", 1, ""), DisconnectReason::InvalidLogon),
        (from_buyer("A", 1, "98=0|"), DisconnectReason::InvalidLogon),
        (from_buyer("A", 1, "98=1|108=30|"), DisconnectReason::InvalidLogon),
        (from_buyer("A", 1, "98=0|108=-1|"), DisconnectReason::InvalidLogon),
        (from_buyer("A", 1, "98=0|108=30|108=30|"), DisconnectReason::InvalidLogon),
        (message(&format!("35=A|{HEADER}|{logon}")), DisconnectReason::MissingSequence),
        (
            message(&format!("35=A|34=1|49=BUYER|52=20260302-09:30:00|56=OTHER|{logon}")),
            DisconnectReason::WrongCompId,
        ),
        (
            message(&format!("35=A|34=1|49=BUYER|52=20260302-09:27:59|56=VENUE|{logon}")),
            DisconnectReason::SendingTimeAccuracy,
        ),
        (message(&format!("35=A|34=1|4x=1|{HEADER}|{logon}")), DisconnectReason::GarbledLogon),
        (b"GET / HTTP/1.1\r\n".to_vec(), DisconnectReason::GarbledLogon),
    ];
    for (bytes, expected) in cases {
        let outcome = first_event(&bytes);
        assert_eq!(outcome, (vec![], reason(expected), State::Closed));
    }
    let foreign = String::from_utf8(from_buyer("A", 1, logon)).expect("text");
    let foreign = rewrap(&foreign.replace("FIX.4.4", "FIX.4.2"));
    assert_eq!(
        first_event(&foreign),
        (vec![], reason(DisconnectReason::WrongBeginString), State::Closed)
    );
}

/// Corrects the sum of an edited message.
fn rewrap(text: &str) -> Vec<u8> {
    let summed = &text[..text.rfind("10=").expect("a sum")];
    let sum = summed.bytes().fold(0u8, u8::wrapping_add);
    format!("{summed}10={sum:03}\x01").into_bytes()
}

#[test]
fn an_acceptor_takes_only_the_name_that_it_is_told() {
    let mut config = config(Role::Acceptor);
    config.target_comp_id = comp_id("OTHER");
    let mut venue = Driver::new(config);
    venue.connect(now());
    let logon = from_buyer("A", 1, "98=0|108=30|");
    let event = venue.handle_bytes(now(), &logon).event;
    assert_eq!(event, Some(Told::Disconnect(DisconnectReason::WrongCompId)));
}

#[test]
fn an_initiator_hears_why_its_logon_was_refused() {
    let mut buyer = initiator(30);
    buyer.connect(now());
    sent(&mut buyer, now());
    let bytes = message("35=5|34=1|49=VENUE|52=20260302-09:30:00|56=BUYER|58=not today|");
    let event = buyer.handle_bytes(now(), &bytes).event;
    assert_eq!(event, Some(Told::LoggedOut { text: b"not today" }));
    assert!(buyer.is_closed());
}

#[test]
fn a_logon_with_a_number_too_high_is_answered_and_the_gap_asked_for() {
    let mut venue = acceptor();
    venue.connect(now());
    venue.handle_bytes(now(), &from_buyer("A", 5, "98=0|108=30|"));
    assert_eq!(answers(&mut venue), ["35=A|34=1|98=0|108=30|", "35=2|34=2|7=1|16=0|"]);
    assert!(venue.is_active());
}

#[test]
fn without_reset_the_numbers_go_on_and_a_low_logon_is_told_so() {
    let mut config = config(Role::Acceptor);
    config.reset_on_logon = false;
    let mut venue = Driver::new(config);
    for (sequence, expected) in [
        (1, "35=A|34=1|98=0|108=30|"),
        (2, "35=A|34=2|98=0|108=30|"),
        (1, "35=5|34=3|58=MsgSeqNum too low, expecting 3 but received 1|"),
    ] {
        venue.connect(now());
        venue.handle_bytes(now(), &from_buyer("A", sequence, "98=0|108=30|"));
        assert_eq!(answers(&mut venue), [expected]);
        venue.transport_closed(now());
    }
    venue.connect(now());
    venue.handle_bytes(now(), &from_buyer("A", 1, "98=0|108=30|141=Y|"));
    assert_eq!(answers(&mut venue), ["35=A|34=1|98=0|108=30|141=Y|"]);
}

#[test]
fn application_messages_wait_for_the_session_and_for_the_logon_reply() {
    let mut out = [0; 512];
    let mut venue = acceptor();
    let report = report(&order(1, now()), now());
    let mut try_it = |venue: &mut Driver| venue.send(now(), &report, &mut out).err();
    assert_eq!(try_it(&mut venue), Some(FixError::Misuse(Misuse::NotLoggedOn)));
    venue.connect(now());
    assert_eq!(try_it(&mut venue), Some(FixError::Misuse(Misuse::NotLoggedOn)));
    venue.handle_bytes(now(), &from_buyer("A", 1, "98=0|108=30|"));
    assert_eq!(try_it(&mut venue), Some(FixError::Misuse(Misuse::LogonNotSent)));
    answers(&mut venue);
    assert_eq!(try_it(&mut venue), None);
    assert_eq!(venue.next_outgoing(), 3);
}

#[test]
fn a_message_that_does_not_fit_uses_up_no_number() {
    let mut buyer = initiator(30);
    buyer.connect(now());
    sent(&mut buyer, now());
    let reply = message("35=A|34=1|49=VENUE|52=20260302-09:30:00|56=BUYER|98=0|108=30|141=Y|");
    buyer.handle_bytes(now(), &reply);
    let mut out = [0; 512];
    let full = buyer.send(now(), &cancel(2, 1, now()), &mut out).expect("room").end;
    for size in 0..full {
        let made = buyer.send(now(), &cancel(2, 1, now()), &mut out[..size]);
        assert_eq!(made, Err(FixError::Limit(Limit::BufferBytes)));
    }
    assert_eq!(buyer.next_outgoing(), 3);
}

#[test]
fn each_broken_field_is_rejected_with_its_tag_and_reason() {
    let good = "11=1|38=100|40=2|44=1.5|54=1|55=A|60=20260302-09:30:00|";
    let reject = |edit: &str, with: &str| {
        let rest = good.replace(edit, with);
        let (answers, event) = answer_of(&from_buyer("D", 2, &rest));
        assert_eq!((answers.len(), event), (1, None), "{edit} {with}");
        let note = answers[0].clone();
        note.strip_prefix("35=3|34=2|45=2|58=").unwrap_or(&note).to_string()
    };
    let missing = RejectReason::RequiredTagMissing.as_str();
    assert_eq!(reject("11=1|", ""), format!("{missing}|371=11|372=D|373=1|"));
    assert_eq!(reject("55=A|", ""), format!("{missing}|371=55|372=D|373=1|"));
    assert_eq!(reject("60=20260302-09:30:00|", ""), format!("{missing}|371=60|372=D|373=1|"));
    let ends = |note: String, end: &str| assert!(note.ends_with(end), "{note} {end}");
    ends(reject("55=A|", "55=|"), "|371=55|372=D|373=4|");
    ends(reject("54=1|", "54=9|"), "|371=54|372=D|373=5|");
    ends(reject("40=2|", "40=P|"), "|371=40|372=D|373=5|");
    ends(reject("54=1|", "54=1|59=8|"), "|371=59|372=D|373=5|");
    ends(reject("38=100|", "38=0|"), "|371=38|372=D|373=5|");
    ends(reject("38=100|", "38=-5|"), "|371=38|372=D|373=5|");
    ends(reject("38=100|", "38=1.5.5|"), "|371=38|372=D|373=6|");
    ends(reject("44=1.5|", "44=1e5|"), "|371=44|372=D|373=6|");
    ends(reject("60=20260302-09:30:00|", "60=2026|"), "|371=60|372=D|373=6|");
    ends(reject("11=1|", "11=123456789012345678901234|"), "|371=11|372=D|373=5|");
    ends(reject("54=1|", "54=1|54=1|"), "|371=54|372=D|373=13|");
    ends(reject("54=1|", "54=1|97=Y|"), "|371=97|372=D|373=14|");
}

#[test]
fn conditionally_required_fields_are_the_applications_business() {
    let rest = "11=1|40=1|54=1|55=A|60=20260302-09:30:00|";
    let expected = "35=j|34=2|45=2|58=Conditionally Required Field Missing|372=D|380=5|";
    assert_eq!(answer_of(&from_buyer("D", 2, rest)), (vec![expected.into()], None));
    let rest = "11=1|38=5|40=2|54=1|55=A|60=20260302-09:30:00|";
    assert_eq!(answer_of(&from_buyer("D", 2, rest)), (vec![expected.into()], None));
}

#[test]
fn a_rejected_message_uses_up_its_number() {
    let mut venue = venue();
    venue.handle_bytes(now(), &from_buyer("D", 2, "11=1|"));
    assert_eq!(venue.next_expected(), 3);
    assert_eq!(venue.counters().rejected, 1);
}

#[test]
fn market_orders_and_every_time_in_force_are_read() {
    for (code, time_in_force) in [
        ("59=0|", TimeInForce::Day),
        ("", TimeInForce::Day),
        ("59=1|", TimeInForce::GoodTillCancel),
        ("59=3|", TimeInForce::ImmediateOrCancel),
        ("59=4|", TimeInForce::FillOrKill),
    ] {
        let rest = format!("60=20260302-09:30:00|55=A|54=2|40=1|38=100.0|{code}11=1|9999=x|");
        let bytes = from_buyer("D", 2, &rest);
        let mut config = config(Role::Acceptor);
        config.rules.user_defined = false;
        let event = logged_on(config).handle_bytes(now(), &bytes).event;
        let Some(Told::Flow(OrderFlow::NewOrderSingle(order))) = event else { panic!("{event:?}") };
        assert_eq!((order.order_type, order.side), (OrderType::Market, Side::Sell));
        assert_eq!((order.price, order.qty), (None, Qty::whole(100)));
        assert_eq!(order.time_in_force, time_in_force);
    }
}

#[test]
fn unknown_types_are_rejected_and_unsupported_ones_left_to_the_business() {
    let (answers, _) = answer_of(&from_buyer("*", 2, ""));
    assert_eq!(answers, ["35=3|34=2|45=2|58=Invalid MsgType|372=*|373=11|"]);
    let (answers, _) = answer_of(&from_buyer("Y", 2, "262=x|"));
    assert_eq!(answers, ["35=j|34=2|45=2|58=Unsupported Message Type|372=Y|380=3|"]);
}

#[test]
fn a_garbled_message_is_ignored_and_its_number_asked_for_with_the_next() {
    let mut venue = venue();
    assert_eq!(venue.handle_bytes(now(), &from_buyer("D", 2, "4garbled9=x|")).event, None);
    assert_eq!(venue.next_expected(), 2);
    venue.handle_bytes(now(), &from_buyer("0", 3, ""));
    assert_eq!(answers(&mut venue), ["35=2|34=2|7=2|16=0|"]);
    assert_eq!(venue.counters().garbled, 1);
}

#[test]
fn a_header_that_lies_is_rejected_and_ends_the_session() {
    let bytes = message("35=0|34=2|49=THIEF|52=20260302-09:30:00|56=VENUE|");
    let comp_id =
        vec!["35=3|34=2|45=2|58=CompID problem|372=0|373=9|".to_string(), "35=5|34=3|".to_string()];
    assert_eq!(answer_of(&bytes), (comp_id, None));
    let mut venue = venue();
    let bytes = message("35=0|34=2|49=BUYER|52=20260302-09:32:01|56=VENUE|");
    venue.handle_bytes(now(), &bytes);
    let time = ["35=3|34=2|45=2|58=SendingTime accuracy problem|372=0|373=10|", "35=5|34=3|"];
    assert_eq!(answers(&mut venue), time);
    assert_eq!(venue.state(), State::LogoutSent);
    let event = venue.handle_bytes(now(), &from_buyer("5", 3, "")).event.map(|e| told(&e));
    assert_eq!(event, Some("logged out []".into()));
}

#[test]
fn the_sending_time_check_can_be_switched_off() {
    let mut config = config(Role::Acceptor);
    config.sending_time_tolerance = Nanos::ZERO;
    let mut venue = Driver::new(config);
    venue.connect(now());
    let logon = message("35=A|34=1|49=BUYER|52=19990101-00:00:00|56=VENUE|98=0|108=30|");
    venue.handle_bytes(now(), &logon);
    assert_eq!(venue.state(), State::Active);
}

#[test]
fn a_missing_or_misplaced_header_field_is_rejected() {
    let (answers, _) = answer_of(&message("35=0|34=2|49=BUYER|52=20260302-09:30:00|"));
    assert_eq!(answers, ["35=3|34=2|45=2|58=Required tag missing|371=56|372=0|373=1|"]);
    let (answers, _) = answer_of(&message(&format!("35=D|11=1|34=2|{HEADER}|55=A|")));
    assert_eq!(
        answers,
        ["35=3|34=2|45=2|58=Tag specified out of required order|371=34|372=D|373=14|"]
    );
    let (answers, event) = answer_of(&message(&format!("35=0|{HEADER}|")));
    assert_eq!(answers, ["35=5|34=2|58=a message had no usable MsgSeqNum|"]);
    assert_eq!(event, Some("disconnect: MissingSequence".into()));
}

#[test]
fn a_foreign_version_in_session_is_logged_out() {
    let bytes = from_buyer("0", 2, "");
    let foreign = rewrap(&String::from_utf8(bytes).expect("text").replace("FIX.4.4", "FIX.4.1"));
    let (answers, event) = answer_of(&foreign);
    assert_eq!(answers, ["35=5|34=2|58=Incorrect BeginString|"]);
    assert_eq!(event, Some("disconnect: WrongBeginString".into()));
}

#[test]
fn a_number_too_low_ends_the_session_unless_it_is_a_duplicate() {
    let (answers, event) = answer_of(&from_buyer("0", 1, ""));
    assert_eq!(answers, ["35=5|34=2|58=MsgSeqNum too low, expecting 2 but received 1|"]);
    assert_eq!(event, Some("disconnect: expected 2, received 1".into()));
    let again = "43=Y|122=20260302-09:29:00|";
    assert_eq!(answer_of(&from_buyer("0", 1, again)), (vec![], None));
    let (answers, _) = answer_of(&from_buyer("0", 1, "43=Y|"));
    assert_eq!(answers, ["35=3|34=2|45=1|58=Required tag missing|371=122|372=0|373=1|"]);
    let (answers, _) = answer_of(&from_buyer("0", 1, "43=Y|122=20260302-09:30:10|"));
    let expected = ["35=3|34=2|45=1|58=SendingTime accuracy problem|372=0|373=10|", "35=5|34=3|"];
    assert_eq!(answers, expected);
}

#[test]
fn a_second_logon_without_a_reset_ends_the_session() {
    let (answers, event) = answer_of(&from_buyer("A", 2, "98=0|108=30|"));
    assert_eq!(answers, ["35=5|34=2|58=a second Logon without ResetSeqNumFlag|"]);
    assert_eq!(event, Some("disconnect: UnexpectedLogon".into()));
}

#[test]
fn resend_requests_are_filled_to_where_they_ask_and_refused_beyond() {
    for (rest, expected) in [
        ("7=1|16=0|", "35=4|34=1|43=Y|122=20260302-09:30:00.000|36=2|123=Y|"),
        ("7=1|16=1|", "35=4|34=1|43=Y|122=20260302-09:30:00.000|36=2|123=Y|"),
        ("7=1|16=99|", "35=4|34=1|43=Y|122=20260302-09:30:00.000|36=2|123=Y|"),
    ] {
        assert_eq!(answer_of(&from_buyer("2", 2, rest)).0, [expected]);
    }
    let wrong = "58=Value is incorrect (out of range) for this tag";
    for (rest, tag) in [("7=0|16=0|", 7), ("7=2|16=0|", 7)] {
        let expected = format!("35=3|34=2|45=2|{wrong}|371={tag}|372=2|373=5|");
        assert_eq!(answer_of(&from_buyer("2", 2, rest)).0, [expected]);
    }
    // A number too high is answered first, then the own gap is asked for.
    let (answers, _) = answer_of(&from_buyer("2", 4, "7=1|16=0|"));
    assert_eq!(answers.len(), 2);
    assert!(answers[0].starts_with("35=4|34=1|") && answers[1] == "35=2|34=2|7=2|16=0|");
}

#[test]
fn a_partial_resend_request_is_filled_to_its_end() {
    let mut venue = venue();
    for sequence in 2..=4 {
        venue.handle_bytes(now(), &from_buyer("1", sequence, "112=x|"));
    }
    answers(&mut venue);
    venue.handle_bytes(now(), &from_buyer("2", 5, "7=2|16=3|"));
    assert_eq!(answers(&mut venue), ["35=4|34=2|43=Y|122=20260302-09:30:00.000|36=4|123=Y|"]);
    venue.handle_bytes(now(), &from_buyer("2", 6, "7=3|16=2|"));
    assert!(answers(&mut venue)[0].ends_with("|371=16|372=2|373=5|"));
}

#[test]
fn sequence_resets_move_the_expected_number_forward_only() {
    for (rest, sequence, expected) in
        [("36=9|123=Y|", 2, 9), ("36=9|", 77, 9), ("36=9|123=N|", 1, 9), ("36=2|", 0, 2)]
    {
        let mut venue = venue();
        venue.handle_bytes(now(), &from_buyer("4", sequence, rest));
        assert_eq!((venue.next_expected(), answers(&mut venue)), (expected, vec![]), "{rest}");
    }
    for (rest, sequence, expected) in [("36=2|123=Y|", 2, 3), ("36=1|", 5, 2)] {
        let mut venue = venue();
        venue.handle_bytes(now(), &from_buyer("4", sequence, rest));
        assert_eq!(venue.next_expected(), expected, "{rest}");
        assert!(answers(&mut venue)[0].ends_with("|372=4|373=5|"));
    }
    let (answers, _) = answer_of(&from_buyer("4", 5, "36=9|123=Y|"));
    assert_eq!(answers, ["35=2|34=2|7=2|16=0|"]);
    let (_, event) = answer_of(&from_buyer("4", 1, "36=9|123=Y|"));
    assert_eq!(event, Some("disconnect: expected 2, received 1".into()));
    let far = format!("36={}|123=Y|", u64::MAX);
    assert_eq!(answer_of(&from_buyer("4", 2, &far)).0, Vec::<String>::new());
}

#[test]
fn the_queue_full_stops_reading_until_it_is_drained() {
    let mut venue = venue();
    let mut stream = Vec::new();
    for sequence in 2..50 {
        stream.extend(from_buyer("1", sequence, "112=x|"));
    }
    let mut at = 0;
    loop {
        let consumed = venue.handle_bytes(now(), &stream[at..]).consumed;
        at += consumed;
        if consumed == 0 {
            break;
        }
    }
    assert!(at < stream.len());
    let mut count = answers(&mut venue).len();
    while at < stream.len() {
        at += venue.handle_bytes(now(), &stream[at..]).consumed;
        count += answers(&mut venue).len();
    }
    assert_eq!(count, 48);
}

#[test]
fn a_test_request_id_of_512_bytes_is_repeated_and_a_longer_one_rejected() {
    for length in [1, 63, 64, 300, 512] {
        let id = "x".repeat(length);
        let (answers, _) = answer_of(&from_buyer("1", 2, &format!("112={id}|")));
        assert_eq!(answers, [format!("35=0|34=2|112={id}|")]);
    }
    let (answers, _) = answer_of(&from_buyer("1", 2, &format!("112={}|", "x".repeat(513))));
    assert!(answers[0].ends_with("|371=112|372=1|373=5|"));
}

#[test]
fn test_requests_with_long_ids_are_answered_one_by_one() {
    let mut venue = venue();
    let ids = [300, 70, 3, 512].map(|length| "x".repeat(length));
    let of = |(sequence, id): (u64, &String)| from_buyer("1", sequence, &format!("112={id}|"));
    let stream: Vec<u8> = (2..).zip(&ids).flat_map(of).collect();
    let (mut at, mut told) = (0, Vec::new());
    while at < stream.len() {
        at += venue.handle_bytes(now(), &stream[at..]).consumed;
        told.extend(answers(&mut venue));
    }
    let expected: Vec<_> =
        (2..).zip(&ids).map(|(sequence, id)| format!("35=0|34={sequence}|112={id}|")).collect();
    assert_eq!(told, expected);
}

#[test]
fn what_789_wants_again_is_filled_up_to_the_acceptors_own_logon() {
    let config =
        SessionConfig { next_expected: true, reset_on_logon: false, ..config(Role::Acceptor) };
    let mut venue = Driver::new(config);
    venue.connect(now());
    venue.handle_bytes(now(), &from_buyer("A", 1, "98=0|108=30|789=1|"));
    assert_eq!(answers(&mut venue), ["35=A|34=1|98=0|108=30|789=2|"]);
    for sequence in 2..12 {
        venue.handle_bytes(now(), &from_buyer("1", sequence, "112=x|"));
        assert_eq!(answers(&mut venue).len(), 1);
    }
    venue.transport_closed(now());
    venue.connect(now());
    // It has all up to 4, and we have sent 11.
    venue.handle_bytes(now(), &from_buyer("A", 12, "98=0|108=30|789=5|"));
    let stamp = "122=20260302-09:30:00.000";
    assert_eq!(
        answers(&mut venue),
        [
            "35=A|34=12|98=0|108=30|789=13|".to_owned(),
            format!("35=4|34=5|43=Y|{stamp}|36=13|123=Y|")
        ]
    );
}

#[test]
fn what_789_wants_again_is_sent_again_and_the_rest_filled_up_to_the_own_logon() {
    let config =
        SessionConfig { next_expected: true, reset_on_logon: false, ..config(Role::Acceptor) };
    let mut venue = Driver::new(config);
    venue.connect(now());
    venue.handle_bytes(now(), &from_buyer("A", 1, "98=0|108=30|789=1|"));
    assert_eq!(answers(&mut venue).len(), 1);
    // A report, 2, is kept; the answers 3 to 5 are not.
    let mut out = [0; 1024];
    venue.send(now(), &report(&order(1, now()), now()), &mut out).expect("a report");
    for sequence in 2..5 {
        venue.handle_bytes(now(), &from_buyer("1", sequence, "112=x|"));
        assert_eq!(answers(&mut venue).len(), 1);
    }
    venue.transport_closed(now());
    venue.connect(now());
    venue.handle_bytes(now(), &from_buyer("A", 5, "98=0|108=30|789=2|"));
    let again = answers(&mut venue);
    assert_eq!(again.len(), 3, "{again:?}");
    assert_eq!(again[0], "35=A|34=6|98=0|108=30|789=6|");
    assert!(again[1].starts_with("35=8|34=2|43=Y|"), "{again:?}");
    let stamp = "122=20260302-09:30:00.000";
    assert_eq!(again[2], format!("35=4|34=3|43=Y|{stamp}|36=7|123=Y|"));
}

/// A venue that asks for at most this many at once, and has seen number 9 where 2 comes next.
fn venue_with_a_gap(resend_chunk: u64) -> Driver {
    let config = SessionConfig { resend_chunk, ..config(Role::Acceptor) };
    let mut venue = logged_on(config);
    venue.handle_bytes(now(), &from_buyer("0", 9, ""));
    venue
}

#[test]
fn a_part_that_was_filled_up_to_its_last_number_is_asked_for_again_from_there() {
    let mut venue = venue_with_a_gap(5);
    assert_eq!(answers(&mut venue), ["35=2|34=2|7=2|16=6|"]);
    // To this peer 6 is where the part ends.
    venue.handle_bytes(now(), &from_buyer("4", 2, "43=Y|36=6|123=Y|"));
    assert_eq!(answers(&mut venue), ["35=2|34=3|7=6|16=8|"]);
    venue.handle_bytes(now(), &from_buyer("4", 6, "43=Y|36=9|123=Y|"));
    assert_eq!(answers(&mut venue), [""; 0]);
    assert!(venue.take_held().is_some());
}

#[test]
fn a_gap_that_stands_still_ends_the_session_unless_it_may_for_ever() {
    let default = SessionConfig::new(
        Role::Acceptor,
        config(Role::Acceptor).begin,
        comp_id("VENUE"),
        comp_id("BUYER"),
    );
    assert_eq!(default.resend_timeout, Nanos::from_secs(30));
    let mut venue = venue_with_a_gap(0);
    // Each message that comes again gives it time.
    for (second, sequence) in [(20.0, 2), (40.0, 3), (60.0, 4)] {
        let header = HEADER.replace("52=", "43=Y|122=20260302-09:30:00.000|52=");
        let again = message(&format!("35=0|34={sequence}|{header}|"));
        assert_eq!(venue.handle_bytes(at(second), &again).event, None);
        assert_ne!(venue.handle_timeout(at(second + 1.0)).map(told_of), Some(true));
    }
    assert_eq!(venue.handle_timeout(at(91.0)).map(told_of), Some(true));
    // With 0 it may stand still: the heartbeats show that the peer lives.
    let for_ever = SessionConfig { resend_timeout: Nanos::ZERO, ..config(Role::Acceptor) };
    let mut venue = logged_on(for_ever);
    venue.handle_bytes(now(), &from_buyer("0", 9, ""));
    for (second, sequence) in [(25.0, 10), (50.0, 11), (75.0, 12), (100.0, 13)] {
        venue.handle_bytes(at(second), &from_buyer("0", sequence, ""));
        assert_eq!(venue.handle_timeout(at(second + 1.0)), None, "{second}");
        sent(&mut venue, at(second + 1.0));
    }
}

fn told_of(event: Event) -> bool {
    event == Event::Disconnect(DisconnectReason::ResendTimeout)
}

#[test]
fn an_oversized_message_ends_the_session() {
    let bytes = from_buyer("0", 2, &format!("58={}|", "x".repeat(9000)));
    let (answers, event) = answer_of(&bytes);
    assert_eq!(answers, ["35=5|34=2|58=a message exceeded the size limit|"]);
    assert_eq!(event, Some("disconnect: MessageTooLarge".into()));
}

#[test]
fn rejects_of_the_peer_reach_the_driver() {
    let bytes = from_buyer("3", 2, "45=7|58=why|371=55|372=8|373=5|");
    let mut venue = venue();
    let Some(Told::Flow(OrderFlow::Reject(reject))) = venue.handle_bytes(now(), &bytes).event
    else {
        panic!("no event")
    };
    assert_eq!((reject.ref_sequence, reject.ref_tag), (7, Some(55)));
    assert_eq!(reject.reason, Some(RejectReason::ValueIncorrect));
    assert_eq!(reject.text, b"why");
}

#[test]
fn poss_resend_is_told_to_the_application() {
    let mut venue = venue();
    let rest = "97=Y|11=1|38=1|40=1|54=1|55=A|60=20260302-09:30:00|";
    let bytes = from_buyer("D", 2, rest);
    let handled = venue.handle_bytes(now(), &bytes);
    assert!(matches!(handled.event, Some(Told::Flow(OrderFlow::NewOrderSingle(_)))));
    assert_eq!(handled.info, Some((2, false, true)));
}

#[test]
fn a_closed_session_neither_reads_nor_speaks() {
    let mut venue = venue();
    venue.handle_bytes(now(), &from_buyer("5", 2, ""));
    assert_eq!(answers(&mut venue), ["35=5|34=2|"]);
    assert!(venue.is_closed());
    let late = from_buyer("1", 3, "112=x|");
    let handled = venue.handle_bytes(now(), &late);
    assert_eq!((handled.consumed, handled.event), (0, None));
    assert_eq!(venue.handle_timeout(at(1e6)), None);
    assert_eq!(venue.logout(now(), "again"), None);
    assert_eq!(answers(&mut venue), Vec::<String>::new());
}

#[test]
fn a_logout_before_the_logon_ends_at_once() {
    let mut buyer = initiator(30);
    buyer.connect(now());
    let event = buyer.logout(now(), "");
    assert_eq!(event, Some(Event::Disconnect(DisconnectReason::LoggedOutBeforeLogon)));
}

#[test]
fn a_delimiter_in_a_text_is_refused() {
    let mut venue = venue();
    let mut report = report(&order(1, now()), now());
    report.text = b"a\x01150=8";
    report.exec_type = ExecType::New;
    let mut out = [0; 512];
    let made = venue.send(now(), &report, &mut out);
    assert_eq!(made, Err(FixError::Misuse(Misuse::DelimiterInText)));
    assert_eq!(venue.logout(now(), "bye\x0134=9"), None);
    assert_eq!(answers(&mut venue), ["35=5|34=2|"]);
}
