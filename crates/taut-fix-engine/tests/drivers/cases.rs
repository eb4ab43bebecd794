//! The cases without TLS.

use taut_fix::{DisconnectReason, Event, Role};
use taut_fix_engine::{Acceptor, RefusalCause};
use taut_io::{Admission, Completion, Io, Kernel, WaitStrategy};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;

use crate::rig::{MORNING, Rig, SOURCES_MAX, send_order, session, settings};

const QUICK: &str = "reconnect_seconds = 0.02\nreconnect_seconds_max = 0.05";

fn nowhere() -> &'static std::path::Path {
    std::path::Path::new("")
}

fn to(address: impl std::fmt::Display) -> String {
    format!("{QUICK}\naddresses = [\"{address}\"]")
}

pub fn two_hundred_sessions_share_a_port<K: Kernel>(kernel: K) {
    const COUNT: usize = 200;
    let mut rig = Rig::new(kernel);
    // Half of them are named, the others come by a "*".
    let mut text = session("HOST", "*", "");
    for at in 0..COUNT / 2 {
        text += &session("HOST", &format!("GUEST{at}"), "");
    }
    let address = rig.accept(settings(&text, nowhere(), Role::Acceptor));
    for at in 0..COUNT {
        rig.initiate(&session(&format!("GUEST{at}"), "HOST", &to(address)), nowhere());
    }
    rig.until("all sessions", |rig| (0..COUNT).all(|at| rig.is_up(at)));
    for round in 0..3 {
        for at in 0..COUNT {
            rig.send(at, round, &format!("of {at}"));
        }
    }
    rig.until("all echoes", |rig| {
        rig.initiators.iter_mut().all(|it| it.endpoint().application().messages.len() == 3)
    });
    for initiator in &mut rig.initiators {
        assert_eq!(initiator.endpoint().application().messages, [2, 3, 4]);
        assert_eq!(initiator.attempts(), 1);
    }
    assert_eq!(rig.acceptor.as_mut().expect("it").endpoints().len(), COUNT);
    assert!(rig.strays.is_empty(), "{:?}", rig.strays);
}

pub fn the_second_connection_of_a_live_identity_is_closed_without_a_word<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let host = settings(&session("HOST", "GUEST", ""), nowhere(), Role::Acceptor);
    let address = rig.accept(host);
    let first = rig.initiate(&session("GUEST", "HOST", &to(address)), nowhere());
    rig.until("the first", |rig| rig.is_up(first));
    let second = rig.initiate(&session("GUEST", "HOST", &to(address)), nowhere());
    rig.until("two refusals", |rig| rig.initiators[second].attempts() >= 3);
    assert!(rig.initiators[second].endpoint().application().events.is_empty());
    rig.send(first, 1, "still here");
    rig.until("its echo", |rig| rig.initiators[first].endpoint().application().messages.len() == 1);
    assert!(rig.is_up(first) && rig.initiators[first].attempts() == 1);
}

pub fn an_initiator_goes_on_to_the_second_address_and_comes_back_after_a_cut<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    // A port that was free a moment ago.
    let closed = {
        let io = rig.events.io();
        let any = Address::Inet("127.0.0.1:0".parse().expect("an address"));
        let listener =
            io.listen(&any, &StreamOptions::default(), &Admission::OPEN).expect("a port");
        let address = io.local_address(listener).expect("an address");
        io.close(listener).expect("open");
        address
    };
    let reset = "reset_on_logon = true";
    let host = session("HOST", "GUEST", reset);
    let open = rig.accept(settings(&host, nowhere(), Role::Acceptor));
    let text = format!("{QUICK}\n{reset}\naddresses = [\"{closed}\", \"{open}\"]");
    let guest = rig.initiate(&session("GUEST", "HOST", &text), nowhere());
    rig.until("the session", |rig| rig.is_up(guest));
    assert_eq!(rig.initiators[guest].attempts(), 2);
    let failure = rig.initiators[guest].take_failure().expect("of the first").to_string();
    assert!(failure.starts_with(&format!("{closed}: ")), "{failure}");
    rig.send(guest, 1, "before");
    rig.until("its echo", |rig| rig.initiators[guest].endpoint().application().messages.len() == 1);
    // The acceptor goes away, and comes back at the same address.
    let mut acceptor = rig.acceptor.take().expect("an acceptor");
    acceptor.log_out_all(rig.events.io());
    rig.acceptor = Some(acceptor);
    rig.until("the end", |rig| {
        !rig.is_up(guest) && rig.acceptor.as_ref().is_some_and(Acceptor::is_idle)
    });
    rig.until("failures", |rig| rig.initiators[guest].attempts() >= 4);
    rig.accept_at(open, settings(&host, nowhere(), Role::Acceptor));
    rig.until("the session again", |rig| rig.is_up(guest));
    assert_eq!(rig.initiators[guest].endpoint().application().disconnects, 1);
}

pub fn a_stranger_without_a_logon_is_closed_in_time<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let host = settings(&session("HOST", "GUEST", ""), nowhere(), Role::Acceptor);
    let address = rig.accept(host);
    let io = rig.events.io();
    let stream = io.connect(&Address::Inet(address), &StreamOptions::default(), None);
    let stream = stream.expect("a stream");
    rig.until("it stands", |rig| rig.strays.iter().any(|it| it.starts_with("Connected")));
    rig.events.io().write(stream, b"GET / HTTP/1.1\r\n\r\n", None).expect("room");
    rig.events.io().receive(stream).expect("open");
    // What is no FIX ends at once, and without an answer.
    rig.until("its end", |rig| rig.strays.iter().any(|it| it.starts_with("Ended")));
    assert!(!rig.strays.iter().any(|it| it.starts_with("Received")));
}

pub fn who_fails_to_log_on_too_often_is_not_listened_to<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let secret = |secret: &str| {
        format!(
            "credentials = {{ kind = \"password\", username = \"me\", secret = \"{secret}\" }}\n"
        )
    };
    let knows = secret("hush");
    let guests = session("HOST", "GUEST", &knows) + &session("HOST", "OTHER", &knows);
    let text = format!("failed_logons_per_minute = 3\n{guests}");
    let address = rig.accept(settings(&text, nowhere(), Role::Acceptor));
    let guest = |rig: &mut Rig<K>, name: &str, words: &str| {
        rig.initiate(&session(name, "HOST", &(to(address) + "\n" + words)), nowhere())
    };
    // Strangers that name no session guess nothing, and shut nobody out.
    let nobody = guest(&mut rig, "STRANGER", &knows);
    rig.until("some failures", |rig| rig.initiators[nobody].attempts() >= 6);
    rig.initiators[nobody].stop(rig.events.io());
    let wrong = guest(&mut rig, "GUEST", &secret("wrong"));
    rig.until("some failures", |rig| rig.initiators[wrong].attempts() >= 6);
    rig.initiators[wrong].stop(rig.events.io());
    // It is this CompID at this address that is not listened to any more, whatever it says.
    let right = guest(&mut rig, "GUEST", &knows);
    rig.until("its failures", |rig| rig.initiators[right].attempts() >= 3);
    assert!(!rig.is_up(right));
    rig.initiators[right].stop(rig.events.io());
    // Its neighbour behind the same address is.
    let neighbour = guest(&mut rig, "OTHER", &knows);
    rig.until("its session", |rig| rig.is_up(neighbour));
}

pub fn silent_connections_keep_no_guest_out<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let host = settings(&session("HOST", "GUEST", ""), nowhere(), Role::Acceptor);
    let address = rig.accept(host);
    let to_host = Address::Inet(address);
    // Both ends are on this loop: more than it has places for.
    let mut silent = Vec::new();
    for _ in 0..600 {
        rig.pass(Nanos(1));
        if let Ok(stream) = rig.events.io().connect(&to_host, &StreamOptions::default(), None) {
            silent.push(stream);
        }
        if silent.len() == 200 {
            let oldest = silent.remove(0);
            let _ = rig.events.io().close(oldest);
        }
    }
    // The guest's own end needs a place of this loop, whose strangers may take all of them.
    rig.until("places", |rig| rig.events.io().source_count() + 2 <= SOURCES_MAX);
    let guest = rig.initiate(&session("GUEST", "HOST", &to(address)), nowhere());
    rig.until("its session", |rig| rig.is_up(guest));
    assert_eq!(rig.initiators[guest].attempts(), 1);
}

pub fn a_refused_logon_is_told_on_both_sides_with_its_reason<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let asked = "[sessions.credentials]\nkind = \"password\"\nusername = \"u\"\nsecret = \"right\"";
    let host = session("HOST", "GUEST", asked) + &session("HOST", "OTHER", "");
    let address = rig.accept(settings(&host, nowhere(), Role::Acceptor));
    let password = asked.replace("right", "wrong");
    let fix42 = session("OTHER", "HOST", &to(address)).replace("FIX.4.4", "FIX.4.2");
    for (guest, cause, words) in [
        (
            session("STRANGER", "HOST", &to(address)),
            RefusalCause::UnknownSession,
            "perhaps it has no session FIX.4.4 STRANGER -> HOST",
        ),
        (fix42, RefusalCause::UnknownSession, "perhaps it has no session FIX.4.2 OTHER -> HOST"),
        (
            session("GUEST", "HOST", &format!("{}\n{password}", to(address))),
            RefusalCause::Credentials,
            "the peer refuses our Logon: the credentials are wrong",
        ),
    ] {
        let at = rig.initiate(&guest, nowhere());
        let (mut refusal, mut failure) = (None, None);
        rig.until("both sides' words", |rig| {
            refusal = refusal.or_else(|| rig.acceptor.as_mut().and_then(|it| it.take_refusal()));
            failure = failure.take().or_else(|| rig.initiators[at].take_failure());
            refusal.is_some() && failure.is_some()
        });
        rig.initiators[at].stop(rig.events.io());
        rig.until("its end", |rig| rig.acceptor.as_ref().is_some_and(Acceptor::is_idle));
        // It may have tried once more.
        let _ = rig.acceptor.as_mut().and_then(Acceptor::take_refusal);
        let refusal = refusal.expect("the acceptor's words");
        assert_eq!(refusal.why, cause);
        let logon = refusal.logon.expect("the names of the Logon");
        let told = refusal.to_string();
        let names = format!("{} {} -> HOST: ", logon.begin.as_str(), logon.sender.as_str());
        assert!(told.contains(&names) && told.ends_with(&cause.to_string()), "{told}");
        let failure = failure.expect("the initiator's words").to_string();
        assert!(failure.starts_with(&format!("{address}: ")), "{failure}");
        assert!(failure.contains(words), "{failure}");
    }
}

pub fn a_message_beyond_the_limit_ends_the_session<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let text = session("HOST", "GUEST", "message_bytes_max = 512");
    let address = rig.accept(settings(&text, nowhere(), Role::Acceptor));
    let guest = rig.initiate(&session("GUEST", "HOST", &to(address)), nowhere());
    rig.until("the session", |rig| rig.is_up(guest));
    rig.send(guest, 1, &"x".repeat(600));
    rig.until("its end", |rig| rig.host(0).disconnects == 1);
    let last = rig.host(0).events.last().copied();
    assert_eq!(last, Some(Event::Disconnect(DisconnectReason::MessageTooLarge)));
    assert!(rig.host(0).messages.is_empty());
}

/// A client without a session of its own, which logs on and then reads nothing.
fn deaf_client<K: Kernel>(rig: &mut Rig<K>, address: std::net::SocketAddr) -> taut_io::Handle {
    let stream = connect(rig, address);
    log_on(rig, stream, 1);
    rig.until("its session", |rig| rig.host(0).events == [Event::LoggedOn]);
    stream
}

fn connect<K: Kernel>(rig: &mut Rig<K>, address: std::net::SocketAddr) -> taut_io::Handle {
    let io = rig.events.io();
    let stream = io.connect(&Address::Inet(address), &StreamOptions::default(), None);
    let stream = stream.expect("a stream");
    let connected =
        |rig: &Rig<K>| rig.strays.iter().filter(|it| it.starts_with("Connected")).count();
    let before = connected(rig);
    rig.until("it stands", |rig| connected(rig) > before);
    stream
}

fn log_on<K: Kernel>(rig: &mut Rig<K>, stream: taut_io::Handle, number: u32) {
    let head = format!("35=A\x0134={number}\x0149=GUEST\x0152=20260302-09:00:00\x0156=HOST\x01");
    let message = wire(&(head + "98=0\x01108=30\x01"));
    rig.events.io().write(stream, message.as_bytes(), None).expect("room");
}

pub fn a_session_that_logged_out_logs_on_again_before_its_old_connection_is_closed<K: Kernel>(
    kernel: K,
) {
    let mut rig = Rig::new(kernel);
    let text = session("HOST", "GUEST", "sending_time_tolerance_seconds = 0");
    let address = rig.accept(settings(&text, nowhere(), Role::Acceptor));
    let old = deaf_client(&mut rig, address);
    let head = "35=5\x0134=2\x0149=GUEST\x0152=20260302-09:00:00\x0156=HOST\x01";
    rig.events.io().write(old, wire(head).as_bytes(), None).expect("room");
    rig.until("the logout", |rig| rig.host(0).events.last() == Some(&Event::LoggedOut));
    // The client has our end, and connects anew before it closes the old connection.
    let new = connect(&mut rig, address);
    log_on(&mut rig, new, 3);
    rig.until("the second session", |rig| rig.host(0).events.last() == Some(&Event::LoggedOn));
    assert_eq!(rig.host(0).disconnects, 1);
    // The end of the old connection is none of the new session's.
    rig.events.io().close(old).expect("open");
    rig.pass(taut_types::Nanos::from_millis(50));
    assert_eq!(rig.host(0).disconnects, 1);
}

fn wire(body: &str) -> String {
    let text = format!("8=FIX.4.4\x019={}\x01{body}", body.len());
    let sum = text.bytes().fold(0u8, u8::wrapping_add);
    format!("{text}10={sum:03}\x01")
}

pub fn a_peer_that_does_not_read_is_disconnected_with_a_reason<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let more = "waiting_bytes_max = 100000\nsending_time_tolerance_seconds = 0";
    let text = session("HOST", "GUEST", more);
    let address = rig.accept(settings(&text, nowhere(), Role::Acceptor));
    let stream = deaf_client(&mut rig, address);
    let order = format!("11=1\x0158={}\x01", "x".repeat(4000));
    let mut number = 1;
    rig.until("the end", |rig| {
        if rig.host(0).warnings.is_empty() {
            let stamp = "52=20260302-09:00:00";
            number += 1;
            let head = format!("35=D\x0134={number}\x0149=GUEST\x01{stamp}\x0156=HOST\x01");
            let full = rig.events.io().write(stream, wire(&(head + &order)).as_bytes(), None);
            number -= u64::from(full.is_err());
        }
        rig.host(0).disconnects == 1
    });
    let [words] = &rig.host(0).warnings[..] else { panic!("{:?}", rig.host(0).warnings) };
    assert!(words.contains("reads too slowly") && words.contains("is 100000"), "{words}");
}

pub fn a_resend_of_more_than_fits_goes_out_as_the_peer_takes_it<K: Kernel>(kernel: K) {
    const COUNT: usize = 200;
    let mut rig = Rig::new(kernel);
    let more = "waiting_bytes_max = 400000\nsending_time_tolerance_seconds = 0";
    let text = session("HOST", "GUEST", more);
    let address = rig.accept(settings(&text, nowhere(), Role::Acceptor));
    let stream = deaf_client(&mut rig, address);
    rig.events.io().receive(stream).expect("open");
    // In pieces that the peer reads: 0.8 MB, and then all of it again at once.
    let text = "y".repeat(4000);
    for id in 0..COUNT {
        let acceptor = rig.acceptor.as_mut().expect("it");
        acceptor.with_application(rig.events.io(), 0, |_, outbox| send_order(outbox, id, &text));
        if id % 16 == 0 {
            rig.pass(Nanos::from_millis(1));
        }
    }
    let head = "35=2\x0134=2\x0149=GUEST\x0152=20260302-09:00:00\x0156=HOST\x017=1\x0116=0\x01";
    rig.events.io().write(stream, wire(head).as_bytes(), None).expect("room");
    // The stream is this test's own: count what comes on it.
    let Rig { events, acceptor, .. } = &mut rig;
    let (mut bytes, end) = (Vec::new(), events.io().now() + crate::rig::PATIENCE);
    let last = format!("\x0134={}\x0143=Y\x01", COUNT + 1);
    let (mut seen, mut is_there) = (0, false);
    while !is_there {
        let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
            if let Completion::Received { stream: at, bytes: some } = completion
                && at == stream
            {
                bytes.extend_from_slice(some);
            } else {
                acceptor.as_mut().expect("it").handle(io, &completion);
            }
            io.stop();
        };
        events.run_for(&mut handler, WaitStrategy::Block, Nanos::from_millis(20)).expect("it");
        assert!(events.io().now() < end, "not in time: {} bytes", bytes.len());
        is_there = bytes[seen..].windows(last.len()).any(|part| part == last.as_bytes());
        seen = bytes.len().saturating_sub(last.len());
    }
    assert!(rig.host(0).warnings.is_empty(), "{:?}", rig.host(0).warnings);
    assert_eq!(rig.host(0).disconnects, 0);
}

pub fn strangers_use_no_dynamic_session_up<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let knows = |secret: &str| {
        format!(
            "credentials = {{ kind = \"password\", username = \"me\", secret = \"{secret}\" }}\n"
        )
    };
    let text = "failed_logons_per_minute = 0\ndynamic_sessions_max = 1\n".to_owned()
        + &session("HOST", "*", &knows("hush"));
    let address = rig.accept(settings(&text, nowhere(), Role::Acceptor));
    let guest = |rig: &mut Rig<K>, name: &str, secret: &str| {
        rig.initiate(&session(name, "HOST", &(to(address) + "\n" + &knows(secret))), nowhere())
    };
    for name in ["GUESS1", "GUESS2"] {
        let stranger = guest(&mut rig, name, "wrong");
        rig.until("a refusal", |rig| rig.initiators[stranger].attempts() >= 2);
        rig.initiators[stranger].stop(rig.events.io());
    }
    assert!(rig.acceptor.as_mut().expect("it").endpoints().is_empty());
    let known = guest(&mut rig, "KNOWN", "hush");
    rig.until("the session", |rig| rig.is_up(known));
}

pub fn a_closing_acceptor_logs_out_of_every_session<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let host = settings(&session("HOST", "*", ""), nowhere(), Role::Acceptor);
    let address = rig.accept(host);
    for at in 0..5 {
        rig.initiate(&session(&format!("GUEST{at}"), "HOST", &to(address)), nowhere());
    }
    rig.until("the sessions", |rig| (0..5).all(|at| rig.is_up(at)));
    let mut acceptor = rig.acceptor.take().expect("it");
    acceptor.log_out_all(rig.events.io());
    rig.acceptor = Some(acceptor);
    rig.until("the end", |rig| rig.acceptor.as_ref().is_some_and(Acceptor::is_idle));
    for initiator in &mut rig.initiators {
        let events = &initiator.endpoint().application().events;
        assert_eq!(events[..2], [Event::LoggedOn, Event::LoggedOut]);
    }
}

pub fn closed_hours_are_waited_for<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    if rig.utc() > MORNING + Nanos::from_secs(1) {
        println!("skipped: only a simulated clock can be told the day");
        return;
    }
    let hours = "schedule = { start = \"09:00:02\", end = \"17:00:00\" }";
    let host = settings(&session("HOST", "GUEST", ""), nowhere(), Role::Acceptor);
    let address = rig.accept(host);
    let text = format!("{}\n{hours}", to(address));
    let guest = rig.initiate(&session("GUEST", "HOST", &text), nowhere());
    rig.pass(Nanos::from_millis(1900));
    assert_eq!(rig.initiators[guest].attempts(), 0);
    rig.until("the opening", |rig| rig.is_up(guest));
    assert!(rig.events.io().now() >= Nanos::from_secs(2));
}
