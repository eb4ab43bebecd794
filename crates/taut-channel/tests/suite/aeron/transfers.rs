//! Whole transfers: unicast, groups, destinations, with loss on either side.

use taut_channel::{Closing, Event, OfferError, Publication, Subscription};
use taut_sys::monotonic;
use taut_testkit::own_address;

use super::ends::{PATIENCE, message, opening, unicast, uri};

/// Sends `count` messages and checks that each subscription gets every one in order, then the end.
fn transfer(publication: &mut Publication, subscriptions: &mut [Subscription], count: u64) {
    let begun = monotonic();
    let mut next = vec![None; subscriptions.len()];
    let mut offered = 0;
    // A group's receivers join one by one: nothing is sent before all are there.
    while subscriptions.iter().any(|subscription| subscription.image_count() == 0)
        || publication.subscriber_count() < subscriptions.len()
    {
        turn(publication, subscriptions, &mut next);
        assert!(monotonic() - begun < PATIENCE, "connected in time");
    }
    while next.iter().any(|next| next.unwrap_or(0) < count) {
        for _ in 0..32 {
            if offered < count {
                match publication.offer(monotonic(), &message(offered)) {
                    Ok(_) => offered += 1,
                    Err(OfferError::BackPressured) => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
        turn(publication, subscriptions, &mut next);
        assert!(monotonic() - begun < PATIENCE, "{offered} sent, {next:?} received");
    }
    publication.close(monotonic());
    while publication.closing() != Closing::Closed
        || subscriptions.iter().any(|subscription| subscription.image_count() > 0)
    {
        turn(publication, subscriptions, &mut next);
        assert!(monotonic() - begun < PATIENCE, "closed in time");
    }
    assert_eq!(publication.unacknowledged_bytes(), 0);
}

fn turn(
    publication: &mut Publication,
    subscriptions: &mut [Subscription],
    next: &mut [Option<u64>],
) {
    publication.work(monotonic());
    for (subscription, next) in subscriptions.iter_mut().zip(next) {
        subscription.poll(monotonic(), 64, |got| {
            let sequence = u64::from_le_bytes(*got.payload.first_chunk().expect("a sequence"));
            assert_eq!(sequence, next.unwrap_or(sequence), "in order and whole");
            assert_eq!(got.payload, message(sequence));
            *next = Some(sequence + 1);
        });
        while subscription.poll_event().is_some() {}
    }
    while publication.poll_event().is_some() {}
}

#[test]
fn every_message_arrives_in_order_with_loss_on_either_side_while_terms_rotate() {
    for (send_loss, receive_loss) in [(0.0, 0.0), (0.01, 0.0), (0.0, 0.05), (0.05, 0.05)] {
        let (mut publication, subscription) = unicast("|term-length=64k", send_loss, receive_loss);
        let mut subscriptions = [subscription];
        transfer(&mut publication, &mut subscriptions, 20_000);
        let lost =
            publication.counters().injected_losses + subscriptions[0].counters().injected_losses;
        assert_eq!(lost > 0, send_loss + receive_loss > 0.0);
    }
}

#[test]
fn ipv6_jumbo_datagrams_and_cubic_work_too() {
    let listen = uri("aeron:udp?endpoint=[::1]:0|stream-id=7|mtu=8192|cc=cubic|rcv-wnd=64k");
    let subscription = Subscription::open(&listen, &opening(0.01, 5)).expect("listen");
    let port = subscription.local_address().expect("an address").port();
    let send = uri(&format!("aeron:udp?endpoint=[::1]:{port}|stream-id=7|mtu=8192"));
    let mut publication = Publication::open(&send, &opening(0.0, 0)).expect("send");
    transfer(&mut publication, &mut [subscription], 5_000);
}

#[test]
fn a_group_reaches_several_subscriptions_and_source_specific_ones_beside_them() {
    let port = 20_000 + taut_sys::process_id() % 20_000;
    let group = format!("endpoint=224.0.1.{{}}:{port}|interface=127.0.0.1|stream-id=7");
    let cases = [("65", ""), ("66", "|source=127.0.0.1")];
    for (last, source) in cases {
        let group = group.replace("{}", last);
        let listen = uri(&format!("aeron:udp?{group}{source}"));
        let mut subscriptions: Vec<_> = (0..3)
            .map(|seed| Subscription::open(&listen, &opening(0.02, seed)).expect("listen"))
            .collect();
        let send = uri(&format!("aeron:udp?{group}|fc=min,g:/3"));
        let mut publication = Publication::open(&send, &opening(0.0, 0)).expect("send");
        transfer(&mut publication, &mut subscriptions, 5_000);
    }
}

#[test]
fn destinations_ask_at_the_control_address_or_are_added_by_hand() {
    let control = 40_000 + taut_sys::process_id() % 20_000;
    let listen = format!("aeron:udp?endpoint=127.0.0.1:0|control=127.0.0.1:{control}|stream-id=7");
    let mut subscriptions: Vec<_> = (0..2)
        .map(|seed| Subscription::open(&uri(&listen), &opening(0.01, seed)).expect("listen"))
        .collect();
    let send = format!(
        "aeron:udp?control=127.0.0.1:{control}|control-mode=dynamic|stream-id=7|fc=min,g:/2"
    );
    let mut publication = Publication::open(&uri(&send), &opening(0.0, 0)).expect("send");
    transfer(&mut publication, &mut subscriptions, 5_000);

    let listen = uri("aeron:udp?endpoint=127.0.0.1:0|stream-id=7");
    let mut subscriptions: Vec<_> = (0..2)
        .map(|seed| Subscription::open(&listen, &opening(0.01, seed)).expect("listen"))
        .collect();
    let send = uri("aeron:udp?control-mode=manual|stream-id=7|fc=min,g:/2");
    let mut publication = Publication::open(&send, &opening(0.0, 0)).expect("send");
    for subscription in &subscriptions {
        let address = subscription.local_address().and_then(|at| at.inet()).expect("an address");
        assert!(publication.add_destination(address).expect("manual"));
    }
    transfer(&mut publication, &mut subscriptions, 5_000);
}

#[test]
fn what_one_line_loses_the_other_one_brings_and_no_message_comes_twice() {
    let addresses = [0; 2].map(|_| own_address());
    let [one, other] = addresses;
    let listen = format!("aeron:udp?endpoint={one},{other}|stream-id=7");
    let mut subscription = Subscription::open(&uri(&listen), &opening(0.0, 0)).expect("listen");
    // Two publishers of one session, as of a feed's two lines, each with its own loss.
    let same = "session-id=77|init-term-id=5|term-id=5|term-offset=0|stream-id=7";
    let mut lines: Vec<_> = addresses
        .iter()
        .map(|at| {
            let send = uri(&format!("aeron:udp?endpoint={at}|{same}"));
            Publication::open(&send, &opening(0.05, u64::from(at.port()))).expect("send")
        })
        .collect();
    let (begun, mut offered, mut next) = (monotonic(), [0u64; 2], 0u64);
    let count = 5000;
    // A line may still be unanswered when the other one has brought everything.
    while !lines.iter().all(|line| line.is_connected()) {
        lines.iter_mut().for_each(|line| _ = line.work(monotonic()));
        subscription.poll(monotonic(), 64, |_| {});
        assert!(monotonic() - begun < PATIENCE, "both lines are answered");
    }
    while next < count {
        for (line, offered) in lines.iter_mut().zip(&mut offered) {
            let is_ahead = *offered > next + 200;
            if *offered < count && !is_ahead && subscription.image_count() > 0 {
                *offered += u64::from(line.offer(monotonic(), &message(*offered)).is_ok());
            }
            line.work(monotonic());
        }
        subscription.poll(monotonic(), 64, |got| {
            let sequence = u64::from_le_bytes(*got.payload.first_chunk().expect("a sequence"));
            assert_eq!((sequence, got.payload), (next, &message(next)[..]), "in order, once");
            next += 1;
        });
        assert!(subscription.image_count() <= 1, "one image");
        assert!(monotonic() - begun < PATIENCE, "{next}: {:?}", subscription.counters());
    }
    assert!(subscription.counters().duplicated > 100, "both lines were heard");
}

#[test]
fn without_repairs_loss_costs_its_share_is_reported_and_never_stalls() {
    let (mut publication, mut subscription) = unicast("|reliable=false", 0.0, 0.003);
    let (begun, count) = (monotonic(), 50_000u64);
    let (mut offered, mut received, mut last, mut skipped) = (0u64, 0u64, 0, 0);
    while last + 1 < count {
        while offered < count && offered < last + 500 {
            // One message to a datagram: loss of datagrams is loss of messages.
            match publication.offer(monotonic(), &offered.to_le_bytes()) {
                Ok(_) => offered += 1,
                Err(_) => break,
            }
            publication.work(monotonic());
        }
        publication.work(monotonic());
        subscription.poll(monotonic(), 1000, |got| {
            received += 1;
            last = u64::from_le_bytes(*got.payload.first_chunk().expect("a sequence"));
        });
        while let Some(event) = subscription.poll_event() {
            if let Event::Gap { length, .. } = event {
                skipped += length;
            }
        }
        if offered == count && received > count / 100 * 95 && last + 10 > count {
            break;
        }
        assert!(monotonic() - begun < PATIENCE, "{received} of {offered}");
    }
    let lost = count - received;
    assert!(lost > 0 && lost < count / 100, "{lost}");
    assert!(skipped >= lost.saturating_sub(10) * 64, "{skipped} bytes for {lost} messages");
}

#[test]
fn a_restarted_publisher_is_a_new_image_and_the_old_one_ends() {
    let (mut first, subscription) = unicast("", 0.0, 0.0);
    let port = subscription.local_address().expect("an address").port();
    let mut subscriptions = [subscription];
    let begun = monotonic();
    let mut next = [None];
    while subscriptions[0].image_count() == 0 || !first.is_connected() {
        turn(&mut first, &mut subscriptions, &mut next);
        assert!(monotonic() - begun < PATIENCE);
    }
    first.offer(monotonic(), &message(0)).expect("room");
    while next[0].is_none() {
        turn(&mut first, &mut subscriptions, &mut next);
    }
    drop(first);
    let send = uri(&format!("aeron:udp?endpoint=127.0.0.1:{port}|stream-id=7"));
    let mut second = Publication::open(&send, &opening(0.0, 0)).expect("send");
    let mut again = [None];
    while subscriptions[0].image_count() < 2 {
        turn(&mut second, &mut subscriptions, &mut again);
        assert!(monotonic() - begun < PATIENCE);
    }
}

#[test]
fn what_is_not_there_is_an_error_that_says_what_to_do() {
    for (text, word) in [
        ("aeron:udp?endpoint=127.0.0.1:4000|stream-id=7|fc=tagged", "fc=tagged,g:TAG"),
        ("aeron:udp?endpoint=224.0.1.66:4000|stream-id=7|interface=nope-0", "nope-0"),
        ("aeron:udp?endpoint=127.0.0.1:4000,127.0.0.1:4001|stream-id=7", "control-mode=manual"),
    ] {
        let error = Publication::open(&uri(text), &opening(0.0, 0)).expect_err(text).to_string();
        assert!(error.contains(word), "{text}: {error}");
    }
    let text = "aeron:udp?endpoint=224.0.1.66:4000|stream-id=7";
    let error = Subscription::open(&uri(text), &opening(0.0, 0)).expect_err(text).to_string();
    assert!(error.contains("odd"), "{text}: {error}");
}

#[test]
fn claimed_messages_are_written_in_the_log_and_arrive_in_order_under_loss() {
    let (mut publication, mut subscription) = unicast("", 0.02, 0.02);
    let (begun, count) = (monotonic(), 5_000u64);
    let (mut claimed, mut next) = (0, 0u64);
    while next < count {
        let sent = message(claimed);
        if claimed < count && publication.try_claim(monotonic(), sent.len()).is_ok() {
            // That one was let go of, and leaves no trace.
            let mut claim = publication.try_claim(monotonic(), sent.len()).expect("the same room");
            claim.fill(0xee);
            claim.copy_from_slice(&sent);
            claim.commit().expect("there was room");
            claimed += 1;
        }
        publication.work(monotonic());
        subscription.poll(monotonic(), 64, |got| {
            assert_eq!(got.payload, message(next), "{next}");
            next += 1;
        });
        assert!(monotonic() - begun < PATIENCE, "{next} of {claimed}");
    }

    let mut place = |bytes| {
        let claim = publication.try_claim(monotonic(), bytes).expect("room");
        let place = claim.as_ptr().addr();
        claim.commit().expect("room");
        place
    };
    let [one, other] = [place(70), place(70)];
    assert_eq!(other.wrapping_sub(one), 128, "a frame of 32 + 70 bytes, aligned to 32");
    let [one, other] = [place(4_000), place(4_000)];
    assert_eq!(one, other, "longer than a frame: the buffer of the publication");
}
