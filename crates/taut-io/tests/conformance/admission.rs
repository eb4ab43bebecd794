//! Listeners and their strangers.

use taut_io::{Admission, Completion, Handle, IoError, Kernel, LoopConfig, Operation};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;

use crate::cases::CONFIG;
use crate::rig::{Event, Rig, any, received};

const HOUR: Nanos = Nanos::from_secs(3_600);

fn listen<K: Kernel>(rig: &mut Rig<K>, admission: Admission) -> (Handle, Address) {
    let listener = rig.io().listen(&any(), &StreamOptions::default(), &admission).expect("listen");
    (listener, rig.io().local_address(listener).expect("address"))
}

fn is_evicted(log: &[Event], stream: Handle) -> bool {
    log.contains(&Event::Closed(stream, Some(IoError::Evicted)))
}

pub fn a_stranger_gives_way_to_a_newcomer_and_who_has_proved_itself_stays<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel, CONFIG);
    let limits = Admission { connections_max: 3, per_source_max: 3, handshake_timeout: Some(HOUR) };
    let (listener, to) = listen(&mut rig, limits);
    let (_near, proved) = rig.connect(&to);
    rig.io().prove(proved).expect("open");
    let mut strangers = Vec::new();
    for _ in 0..20 {
        strangers.push(rig.connect(&to).1);
        let Some(at) = strangers.len().checked_sub(3) else { continue };
        // The oldest is gone before its successor is there.
        let of = |event: &Event| rig.log.iter().position(|it| it == event);
        let gone = of(&Event::Closed(strangers[at], Some(IoError::Evicted)));
        assert!(gone.expect("evicted") < of(&Event::Accepted(strangers[at + 2])).expect("let in"));
    }
    assert!(!rig.log.iter().any(|it| matches!(it, Event::Closed(gone, _) if *gone == proved)));
    let counters = rig.io().admission_counters(listener).expect("open");
    assert_eq!((counters.admitted, counters.proved, counters.evicted), (21, 1, 18));
    // All slots are taken by proved ones: the next is closed as it comes.
    for stream in &strangers[18..] {
        rig.io().prove(*stream).expect("open");
    }
    let refused = rig.io().connect(&to, &StreamOptions::default(), None).expect("connect");
    rig.until("it stands", |log| log.contains(&Event::Connected(refused)));
    rig.io().receive(refused).expect("open");
    rig.until("its end", |log| {
        let is_over = |it: &Event| match it {
            Event::Ended(stream) | Event::Closed(stream, _) => *stream == refused,
            _ => false,
        };
        log.iter().any(is_over)
    });
    assert_eq!(rig.io().admission_counters(listener).expect("open").refused, 1);
}

pub fn a_strangers_deadline_is_moved_by_no_byte<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel, CONFIG);
    let timeout = Nanos::from_millis(100);
    let (listener, to) = listen(&mut rig, Admission::new(8, timeout));
    let (near, slow) = rig.connect(&to);
    let (_other, proved) = rig.connect(&to);
    rig.io().prove(proved).expect("open");
    rig.io().receive(slow).expect("open");
    let start = rig.io().now();
    rig.io().timer_every(start, Nanos::from_millis(10), 7).expect("room");
    rig.until_with(
        "the end of who only trickles",
        |io, completion| {
            if let Completion::Timer { token: 7, .. } = completion {
                // It is closed at last.
                let _ = io.write(near, b"x", None);
            }
        },
        |log| log.contains(&Event::Closed(slow, Some(IoError::TimedOut))),
    );
    assert!(rig.io().now() <= start + Nanos::from_secs(5), "it was not renewed");
    assert_eq!(rig.io().admission_counters(listener).expect("open").late, 1);
    assert!(!rig.log.iter().any(|it| matches!(it, Event::Closed(gone, _) if *gone == proved)));
}

pub fn the_last_place_of_a_loop_is_kept_for_who_comes_next<K: Kernel>(kernel: K) {
    // A listener, and both ends of three connections.
    let mut rig = Rig::new(kernel, LoopConfig { sources_max: 7, ..CONFIG });
    let (_, to) = listen(&mut rig, Admission::new(64, HOUR));
    let first = rig.connect(&to).1;
    let second = rig.connect(&to).1;
    assert!(!is_evicted(&rig.log, first));
    // It takes the last place, and the oldest stranger leaves one.
    rig.connect(&to);
    assert!(is_evicted(&rig.log, first) && !is_evicted(&rig.log, second));
}

pub fn a_full_loop_takes_the_place_of_another_listeners_stranger<K: Kernel>(kernel: K) {
    // Two listeners, and both ends of three connections.
    let mut rig = Rig::new(kernel, LoopConfig { sources_max: 8, ..CONFIG });
    let (flooded, to_flooded) = listen(&mut rig, Admission::new(64, HOUR));
    let (_, to) = listen(&mut rig, Admission::new(64, HOUR));
    let first = rig.connect(&to_flooded).1;
    let second = rig.connect(&to_flooded).1;
    // It takes the last place, and its own listener has nobody else.
    rig.connect(&to);
    assert!(is_evicted(&rig.log, first) && !is_evicted(&rig.log, second));
    assert_eq!(rig.io().admission_counters(flooded).expect("open").evicted, 1);
}

pub fn a_stream_at_rest_ends_in_its_time_and_strangers_in_theirs<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel, CONFIG);
    let (listener, to) = listen(&mut rig, Admission::new(8, Nanos::from_millis(50)));
    let proved: Vec<_> = (0..2).map(|_| rig.connect(&to).1).collect();
    for (stream, span) in proved.iter().zip([Nanos::from_millis(300), HOUR]) {
        rig.io().prove(*stream).expect("open");
        rig.io().rest(*stream, span).expect("open");
    }
    let stranger = rig.connect(&to).1;
    let timed_out = |stream| Event::Closed(stream, Some(IoError::TimedOut));
    rig.until("the end of the stranger", |log| log.contains(&timed_out(stranger)));
    assert!(!rig.log.contains(&timed_out(proved[0])), "it had longer");
    rig.until("the end of who rests", |log| log.contains(&timed_out(proved[0])));
    assert!(!rig.log.contains(&timed_out(proved[1])), "it has an hour");
    let counters = rig.io().admission_counters(listener).expect("open");
    assert_eq!((counters.proved, counters.late), (2, 2));
}

pub fn a_stranger_that_speaks_is_spared_by_those_who_come_and_say_nothing<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel, CONFIG);
    let limits = Admission { connections_max: 3, per_source_max: 3, handshake_timeout: Some(HOUR) };
    let (_, to) = listen(&mut rig, limits);
    let (near, good) = rig.connect(&to);
    rig.io().receive(good).expect("open");
    rig.io().write(near, b"hello", None).expect("room");
    let heard = |it: &Event| matches!(it, Event::Received(stream, _) if *stream == good);
    rig.until("its word", |log| log.iter().any(heard));
    for _ in 0..20 {
        rig.connect(&to);
    }
    assert!(!is_evicted(&rig.log, good));
}

pub fn many_late_strangers_all_end<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel, CONFIG);
    let (listener, to) = listen(&mut rig, Admission::new(64, Nanos::from_millis(300)));
    let strangers: Vec<_> = (0..20).map(|_| rig.connect(&to).1).collect();
    rig.until("the end of all", |log| {
        let is_over = |it: &Handle| log.contains(&Event::Closed(*it, Some(IoError::TimedOut)));
        strangers.iter().all(is_over)
    });
    assert_eq!(rig.io().admission_counters(listener).expect("open").late, 20);
}

pub fn a_listener_without_a_timer_lets_no_stranger_in<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel, LoopConfig { timers_max: 1, ..CONFIG });
    let (listener, to) = listen(&mut rig, Admission::new(8, HOUR));
    let later = rig.io().now() + HOUR;
    let timer = rig.io().timer_at(later, 1).expect("the only one");
    let near = rig.io().connect(&to, &StreamOptions::default(), None).expect("connect");
    rig.until("it stands", |log| log.contains(&Event::Connected(near)));
    let mut refused = 0;
    let deadline = rig.io().now() + Nanos::from_secs(20);
    while refused == 0 {
        assert!(rig.io().now() < deadline, "not in time: the refusal");
        rig.events.poll(&mut |_: &mut taut_io::Io<K>, _: Completion<'_>| {}).expect("a turn");
        refused = rig.io().admission_counters(listener).expect("open").refused;
    }
    assert!(rig.io().cancel_timer(timer));
    rig.connect(&to);
}

/// Of all that have something to read: proved streams first, then handshakes that go on, then those
/// of which a part of the beginning came, then those that begin.
pub fn who_has_come_further_is_served_first<K: Kernel>(kernel: K) {
    const STRANGERS: usize = 20;
    /// No more than a turn serves.
    const SLOW: usize = 4;
    let mut rig = Rig::new(kernel, CONFIG);
    let (_, to) = listen(&mut rig, Admission::new(4 * STRANGERS, HOUR));
    let mut pairs: Vec<_> = (0..=STRANGERS).map(|_| rig.connect(&to)).collect();
    let last = pairs.pop().expect("some");
    rig.io().prove(last.1).expect("open");
    // Half of the strangers have said something before.
    let (silent, heard) = pairs.split_at(STRANGERS / 2);
    for (near, far) in heard {
        rig.io().receive(*far).expect("open");
        rig.io().write(*near, b"1", None).expect("room");
        rig.until("its first byte", |log| received(log, *far) == b"1");
        rig.io().cancel(*far, Operation::Receive).expect("open");
        let cancelled = Event::Failed(*far, Operation::Receive, None, IoError::Cancelled);
        rig.until("it is not received from", |log| log.contains(&cancelled));
    }
    let (slow, heard) = heard.split_at(SLOW);
    for (_, far) in slow {
        rig.io().has_not_begun(*far).expect("open");
    }
    // The silent write first and the proved one last.
    let in_turn: Vec<_> = silent.iter().chain(slow).chain(heard).chain([&last]).copied().collect();
    for (near, _) in &in_turn {
        rig.io().write(*near, b"2", None).expect("room");
    }
    // On virtual time their bytes are under way for less than this.
    let soon = rig.io().now() + Nanos::from_millis(5);
    rig.io().timer_at(soon, 7).expect("room");
    rig.log.clear();
    let said = |log: &[Event]| -> Vec<Handle> {
        let stream = |event: &Event| match event {
            Event::Received(stream, _) => Some(*stream),
            _ => None,
        };
        log.iter().filter_map(stream).collect()
    };
    rig.until_with(
        "what all have said",
        |io, completion| {
            if let Completion::Timer { token: 7, .. } = completion {
                in_turn.iter().for_each(|(_, far)| io.receive(*far).expect("open"));
            }
        },
        |log| said(log).len() == in_turn.len(),
    );
    let behind = |stream: &Handle| match stream {
        stream if *stream == last.1 => 0,
        stream if heard.iter().any(|(_, far)| far == stream) => 1,
        stream if slow.iter().any(|(_, far)| far == stream) => 2,
        _ => 3,
    };
    let order: Vec<u8> = said(&rig.log).iter().map(behind).collect();
    assert!(order.is_sorted(), "{order:?}");
}

/// Where all slots are taken, nobody gives way to a newcomer while what it sent waits to be read.
/// For kernels whose loopback delivers at once.
pub fn newcomers_wait_until_those_who_are_there_had_a_turn<K: Kernel>(kernel: K) {
    const STRANGERS: usize = 40;
    let mut rig = Rig::new(kernel, CONFIG);
    let limits = Admission {
        connections_max: STRANGERS,
        per_source_max: STRANGERS,
        handshake_timeout: Some(HOUR),
    };
    let (_, to) = listen(&mut rig, limits);
    let pairs: Vec<_> = (0..STRANGERS).map(|_| rig.connect(&to)).collect();
    rig.log.clear();
    for (near, far) in pairs {
        rig.io().receive(far).expect("open");
        rig.io().write(near, b"x", None).expect("room");
        rig.io().connect(&to, &StreamOptions::default(), None).expect("a newcomer");
    }
    let is_heard = |event: &&Event| matches!(event, Event::Received(..));
    rig.until("what all have sent", |log| log.iter().filter(is_heard).count() == STRANGERS);
    let evicted = |event: &Event| matches!(event, Event::Closed(_, Some(IoError::Evicted)));
    assert!(!rig.log.iter().any(evicted));
}
