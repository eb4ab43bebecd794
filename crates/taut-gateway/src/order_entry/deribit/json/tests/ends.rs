//! What ends a session, and what does not.

use super::*;

/// What a proxy says in the place of the venue.
const PAGE: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n\
                    <body><center><h1>502 Bad Gateway</h1></center></body>\r\n</html>\r\n";

/// Whatever it was asked for.
#[test]
fn an_error_that_is_about_the_connection_ends_the_session_and_no_other_does() {
    for (code, ends) in [
        // Nobody is authorised, the credits are spent, the token is gone, no raw channels.
        (10_000, true),
        (10_028, true),
        (13_009, true),
        (13_778, true),
        // Settlement, maintenance, a busy engine, "try again", not now.
        (10_041, false),
        (11_051, false),
        (10_047, false),
        (10_040, false),
        (13_028, false),
        // The request's own fault, and what nobody documented.
        (10_009, false),
        (11_044, false),
        (13_021, false),
        (-32_602, false),
        (99_999, false),
    ] {
        type Ask = fn(&mut Line) -> Result<String, NotSent>;
        let all: [Ask; 4] = [Line::create, Line::modify, Line::cancel, Line::ask];
        for (at, ask) in all.into_iter().enumerate() {
            let mut line = Line::up();
            ask(&mut line).unwrap();
            let events = line.fails(code);
            let count = events.iter().filter(|event| **event == VenueEvent::Broken).count();
            assert_eq!(count, usize::from(ends), "{code} to {at}: {events:?}");
            let says = line.handler.last_refusal().starts_with(&code.to_string());
            assert_eq!(says, ends, "{code} to {at}: {:?}", line.handler.last_refusal());
        }
    }
}

/// Whatever is said: nothing of it can be left out.
#[test]
fn an_error_at_any_step_of_the_beginning_ends_the_session_and_says_why() {
    let steps = [
        ("public/auth", r#"{"refresh_token":"again","expires_in":900}"#),
        ("public/set_heartbeat", r#""ok""#),
        ("private/enable_cancel_on_disconnect", r#""ok""#),
        ("private/subscribe", ""),
    ];
    for code in [11_051, 10_041, 13_004, 99_999] {
        for (at, (method, _)) in steps.iter().enumerate() {
            let mut line = Line::new(DeribitOrderSettings::default());
            line.tell_time();
            for (_, answer) in &steps[..at] {
                line.next();
                assert_eq!(line.answer(answer), []);
            }
            assert!(line.next().contains(method));
            assert_eq!(line.fails(code), [VenueEvent::Broken], "{method}: {code}");
            let says = line.handler.last_refusal();
            assert!(says.starts_with(&code.to_string()), "{method}: {says}");
        }
    }
}

#[test]
fn a_page_for_people_says_nothing_of_an_order() {
    let mut line = Line::up();
    line.create().unwrap();
    assert_eq!(line.hear(PAGE), [VenueEvent::Unreadable(None)]);
    assert!(line.handler.is_up());
    // What becomes of it is told by its answer, if that comes.
    let accepted = Some(OrderEvent::Accepted);
    let placed = format!(r#"{{"order":{OPEN},"trades":[]}}"#);
    assert_eq!(said(&line.answer(&placed)), [accepted, accepted]);
}
