//! A publication that is closed does not wait for who has gone.

use taut_channel::{Closing, Publication};
use taut_sys::monotonic;
use taut_types::Nanos;

use super::ends::{PATIENCE, unicast};
use super::raw::{BEGIN, RawReceiver};

/// How long a closed publication takes, by its own clock, which goes on a little in each turn.
fn time_to_close(publication: &mut Publication, begin: Nanos) -> Nanos {
    let mut now = begin;
    publication.close(now);
    while publication.closing() != Closing::Closed {
        now = now + Nanos::from_millis(1);
        publication.work(now);
        assert!(now - begin < PATIENCE);
    }
    now - begin
}

#[test]
fn a_subscription_that_is_dropped_behind_the_last_message_is_not_waited_for() {
    let (mut publication, mut subscription) = unicast("", 0.0, 0.0);
    let (begun, mut got) = (monotonic(), 0);
    while got < 10 {
        let _ = publication.offer(monotonic(), b"message");
        publication.work(monotonic());
        got += subscription.poll(monotonic(), 64, |_| {});
        assert!(monotonic() - begun < PATIENCE, "{got}");
    }
    drop(subscription);
    let span = time_to_close(&mut publication, monotonic());
    assert!(span < Nanos::from_secs(1), "{span:?}");
}

#[test]
fn a_receiver_that_was_killed_is_not_waited_for_and_what_it_lacks_is_told() {
    let mut receiver = RawReceiver::new(3);
    let mut publication = receiver.publication("");
    let setup = receiver.setup(&mut publication, BEGIN);
    receiver.say(&mut publication, BEGIN, &setup, (65_536, None));
    publication.offer(BEGIN, b"message").expect("it is connected");
    drop(receiver);
    let span = time_to_close(&mut publication, BEGIN + Nanos::from_millis(1));
    assert!(span < Nanos::from_secs(1), "{span:?}");
    assert_eq!(publication.unacknowledged_bytes(), 64);
}
