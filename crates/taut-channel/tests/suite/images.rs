//! Where an image begins.

use taut_channel::{ChannelUri, Event, Opening, Publication, Subscription};
use taut_sys::monotonic;
use taut_testkit::{DEADLINE, until};

#[test]
fn an_image_in_memory_begins_where_it_begins_and_not_where_it_is_noticed() {
    let process = std::process::id();
    for text in [format!("inproc:images-{process}"), format!("ipc:test-{process}-images")] {
        let uri: ChannelUri = text.parse().expect("a channel");
        let opening = Opening { now: monotonic(), ..Opening::default() };
        let mut first = Subscription::open(&uri, &opening).expect("a subscription");
        let mut publication = Publication::open(&uri, &opening).expect("a publication");
        until("it is connected", DEADLINE, || {
            publication.work(monotonic());
            publication.is_connected()
        });
        let offer = |publication: &mut Publication| {
            publication.offer(monotonic(), b"8 bytes.").expect("there is room")
        };
        let begin = offer(&mut publication);
        // It comes while the publication is at work.
        let mut second = Subscription::open(&uri, &opening).expect("a subscription");
        (0..3).for_each(|_| _ = offer(&mut publication));
        for (subscription, begin, expected) in [(&mut first, 0, 4), (&mut second, begin, 3)] {
            let mut events = Vec::new();
            let mut got = 0;
            until("it has an image", DEADLINE, || {
                got += subscription.poll(monotonic(), 64, |_| {});
                events.extend(std::iter::from_fn(|| subscription.poll_event()));
                subscription.image_count() == 1
            });
            assert_eq!(got, expected, "{text}");
            let [Event::ImageAvailable { position, .. }] = events[..] else {
                panic!("{text}: {events:?}");
            };
            assert_eq!(position, begin, "{text}");
        }
    }
}
