//! Submissions that fail.

use std::println;

use super::*;

/// A notifier with a stream at place 0, and the stream's other end.
fn stream() -> Option<(UringNotifier, Socket, Socket)> {
    let Ok((mut notifier, _)) = UringNotifier::new(4) else {
        println!("skipped: this kernel refuses io_uring");
        return None;
    };
    let (near, far) = Socket::pair().unwrap();
    notifier.attach(0, &near, Class::Stream).unwrap();
    Some((notifier, near, far))
}

/// Acts where the ring takes no submission: its queue is full, and only its own thread empties it.
fn with_a_full_queue(
    mut notifier: UringNotifier,
    act: impl FnOnce(&mut UringNotifier) + Send + 'static,
) -> UringNotifier {
    let elsewhere = std::thread::spawn(move || {
        while notifier.ring.cancel(IGNORED << 56, IGNORED << 56).is_ok() {}
        act(&mut notifier);
        notifier
    });
    elsewhere.join().unwrap()
}

fn receives(notifier: &mut UringNotifier, far: &Socket) -> bool {
    far.send(b"here").unwrap();
    let mut readable = false;
    for _ in 0..20 {
        let span = Some(Nanos::from_millis(10));
        let report = &mut |place, ready: Readiness| readable |= place == 0 && ready.readable;
        notifier.wait(span, &mut Calls::default(), report).unwrap();
    }
    readable && matches!(notifier.take(0), Some(Ok(Received::Some { .. })))
}

#[test]
fn a_receive_that_could_not_be_submitted_can_be_started_again() {
    let Some((notifier, _near, far)) = stream() else { return };
    let mut notifier =
        with_a_full_queue(notifier, |notifier| assert!(notifier.start_receiving(0).is_err()));
    notifier.start_receiving(0).unwrap();
    assert!(receives(&mut notifier, &far));
}

#[test]
fn a_receive_that_ended_goes_on_although_it_could_not_be_submitted_at_once() {
    let Some((mut notifier, _near, far)) = stream() else { return };
    notifier.places[0].receiving = true;
    let mut notifier = with_a_full_queue(notifier, |notifier| {
        // The kernel ended the multishot for a reason of its own.
        assert!(!notifier.received(0, Ok(1), None, false));
    });
    assert!(receives(&mut notifier, &far));
}
