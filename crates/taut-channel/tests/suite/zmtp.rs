//! ZeroMQ's wire between ends of ours, over TCP and Unix sockets.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use taut_channel::{
    Action, ChannelError, ChannelUri, Closing, EndReason, Event, OfferError, Opening, Publication,
    Subscription,
};
use taut_sys::monotonic;
use taut_types::Nanos;

fn uri(text: &str) -> ChannelUri {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn opening() -> Opening {
    Opening { now: monotonic(), ..Opening::default() }
}

fn publication(text: &str) -> Publication {
    Publication::open(&uri(text), &opening()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn subscription(text: &str) -> Subscription {
    Subscription::open(&uri(text), &opening()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Where a bound end is, for the other one, with parameters.
fn to(bound: Option<taut_sys::Address>, parameters: &str) -> String {
    format!("tcp://{}{parameters}", bound.expect("a bound address"))
}

/// A free name in the file system.
fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("taut-zmtp-{}-{name}", taut_sys::process_id()))
}

/// Runs both ends until something holds; ten seconds are for a machine that is busy elsewhere.
fn until(what: &str, mut step: impl FnMut(Nanos) -> bool) {
    let deadline = monotonic() + Nanos::from_secs(10);
    while !step(monotonic()) {
        assert!(monotonic() < deadline, "{what}: not within 10 s");
    }
}

/// What a subscription got: topic and payload.
type Got = Vec<(Vec<u8>, Vec<u8>)>;

fn poll(subscription: &mut Subscription, now: Nanos, got: &mut Got) {
    subscription.poll(now, 100, |message| {
        got.push((message.topic.to_vec(), message.payload.to_vec()));
    });
}

fn connect(publication: &mut Publication, subscriptions: &mut [&mut Subscription]) {
    until("connect", |now| {
        publication.work(now);
        for subscription in subscriptions.iter_mut() {
            subscription.poll(now, 1, |_| {});
        }
        publication.subscriber_count() == subscriptions.len()
    });
}

/// Publishes a few messages of many kinds; the subscriber has to get them all, in order.
fn carries_messages(publication: &mut Publication, subscription: &mut Subscription) {
    connect(publication, &mut [subscription]);
    let sizes = [0, 1, 70, 253, 254, 255, 256, 257, 65_535, 65_536, 200_000, 500_000];
    let mut got = Got::new();
    for round in 0..3u8 {
        for size in sizes {
            let message: Vec<u8> = (0..size).map(|at| at as u8 ^ round).collect();
            let topic: &[u8] = if round == 1 { b"topic" } else { b"" };
            until("offer", |now| {
                let offered = match round {
                    2 => publication
                        .offer_vectored(now, &[&message[..size / 2], &message[size / 2..]]),
                    _ => publication.offer_topic(now, topic, &message),
                };
                publication.work(now);
                poll(subscription, now, &mut got);
                !matches!(offered, Err(OfferError::BackPressured))
            });
            let before = got.len();
            until("receive", |now| {
                publication.work(now);
                poll(subscription, now, &mut got);
                got.len() > before || got.last().is_some_and(|(_, last)| *last == message)
            });
            assert_eq!(got.last(), Some(&(topic.to_vec(), message)));
        }
    }
    assert_eq!(got.len(), 3 * sizes.len());
}

#[test]
fn messages_of_every_size_pass_over_tcp_and_unix_sockets_whoever_binds() {
    let mut bound = publication("tcp://127.0.0.1:0?on-full=block");
    let mut connected = subscription(&to(bound.local_address(), ""));
    carries_messages(&mut bound, &mut connected);

    let mut bound = subscription("tcp://127.0.0.1:0?bind");
    let mut connected = publication(&to(bound.local_address(), "?connect&on-full=block"));
    carries_messages(&mut connected, &mut bound);

    let name = path("socket");
    let text = format!("ipc://{}?on-full=block", name.display());
    let mut bound = publication(&text);
    let mut connected = subscription(&text);
    carries_messages(&mut bound, &mut connected);
    drop(bound);
    assert!(!name.exists(), "the name goes with its owner");
    std::os::unix::net::UnixListener::bind(&name).map(drop).expect("a stale name");
    assert!(name.exists());
    let mut bound = publication(&text);
    until("reconnect", |now| {
        bound.work(now);
        connected.poll(now, 1, |_| {});
        bound.subscriber_count() == 1
    });
}

#[test]
fn claimed_messages_are_written_where_they_are_sent_from_and_filtered_as_others_are() {
    let mut publisher = publication("tcp://127.0.0.1:0");
    assert!(publisher.try_claim(monotonic(), 4).is_err(), "nobody is there");
    let at = publisher.local_address();
    let mut all = subscription(&to(at, ""));
    let mut some = subscription(&to(at, "?subscribe=BTC"));
    connect(&mut publisher, &mut [&mut all, &mut some]);
    let now = monotonic();
    let mut place = |text: &[u8]| {
        publisher.try_claim(now, 900).expect("room").fill(0xee);
        let mut claim = publisher.try_claim(now, text.len()).expect("what was let go of");
        claim.copy_from_slice(text);
        assert_eq!(*claim, *text);
        let place = claim.as_ptr().addr();
        claim.commit().expect("room");
        place
    };
    let [one, other] = [place(b"BTC 1"), place(b"ETH 2")];
    assert_eq!(other.wrapping_sub(one), 2 + 5, "one behind the other, with their headers");
    let long = [b"BTC".as_slice(), &[7; 300_000]].concat();
    place(&long);
    let sent = [b"BTC 1".to_vec(), b"ETH 2".to_vec(), long];
    let counters = publisher.counters();
    assert_eq!((counters.sent, counters.sent_bytes), (3, 10 + 300_003));
    let (mut got, mut part) = (Got::new(), Got::new());
    until("both have all that is theirs", |now| {
        publisher.work(now);
        poll(&mut all, now, &mut got);
        poll(&mut some, now, &mut part);
        got.len() == 3 && part.len() == 2
    });
    let texts = |got: Got| got.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    assert_eq!(texts(got), sent);
    assert_eq!(texts(part), [sent[0].clone(), sent[2].clone()]);
}

#[test]
fn each_gets_what_it_subscribed_to_and_a_puller_its_share() {
    let mut publisher = publication("tcp://127.0.0.1:0");
    let at = publisher.local_address();
    let mut first = subscription(&to(at, "?subscribe=BTC&subscribe=ETH"));
    let mut second = subscription(&to(at, "?subscribe=ETH-USD"));
    connect(&mut publisher, &mut [&mut first, &mut second]);
    for topic in ["BTC-EUR", "ETH-USD", "ETH-EUR", "SOL"] {
        publisher.offer_topic(monotonic(), topic.as_bytes(), b"1.5").expect("offer");
    }
    let (mut of_first, mut of_second) = (Got::new(), Got::new());
    until("receive", |now| {
        publisher.work(now);
        poll(&mut first, now, &mut of_first);
        poll(&mut second, now, &mut of_second);
        of_first.len() == 3 && of_second.len() == 1
    });

    let mut pusher = publication("tcp://127.0.0.1:0?pattern=pushpull");
    let at = pusher.local_address();
    assert_eq!(pusher.offer(monotonic(), b"x"), Err(OfferError::NotConnected));
    let mut pullers = [0; 2].map(|_| subscription(&to(at, "?pattern=pushpull")));
    let [one, other] = &mut pullers;
    connect(&mut pusher, &mut [one, other]);
    for number in 0..100u8 {
        pusher.offer(monotonic(), &[number]).expect("offer");
    }
    let mut got = [Got::new(), Got::new()];
    until("shares", |now| {
        pusher.work(now);
        for (puller, got) in pullers.iter_mut().zip(&mut got) {
            poll(puller, now, got);
        }
        got.iter().all(|got| got.len() == 50)
    });
}

#[test]
fn a_publisher_that_blocks_loses_nothing_and_closes_when_all_have_everything() {
    let mut publisher = publication("tcp://127.0.0.1:0?on-full=block&hwm=50&so-sndbuf=4k");
    let mut subscriber = subscription(&to(publisher.local_address(), ""));
    connect(&mut publisher, &mut [&mut subscriber]);
    let (mut next, mut expected, mut pressed) = (0u32, 0u32, 0u32);
    until("send", |now| {
        while next < 200_000 {
            match publisher.offer(now, &next.to_be_bytes()) {
                Ok(_) => next += 1,
                Err(error) => {
                    assert_eq!(error, OfferError::BackPressured);
                    pressed += 1;
                    break;
                }
            }
        }
        publisher.work(now);
        subscriber.poll(now, 37, |message| {
            assert_eq!(message.payload, expected.to_be_bytes());
            expected += 1;
        });
        next == 200_000
    });
    assert!(pressed > 0, "the mark was reached");
    assert!(publisher.unacknowledged_bytes() > 0 || expected > 0);
    publisher.close(monotonic());
    assert_eq!(publisher.offer(monotonic(), b"x"), Err(OfferError::Closed));
    until("close", |now| {
        publisher.work(now);
        subscriber.poll(now, 100, |message| {
            assert_eq!(message.payload, expected.to_be_bytes());
            expected += 1;
        });
        publisher.closing() == Closing::Closed
    });
    assert_eq!(expected, 200_000);
    let events: Vec<Event> = std::iter::from_fn(|| subscriber.poll_event()).collect();
    let ended = matches!(
        events[..],
        [Event::ImageAvailable { .. }, Event::ImageUnavailable { reason: EndReason::Closed, .. },]
    );
    assert!(ended, "{events:?}");
}

#[test]
fn one_slow_subscriber_costs_the_others_nothing_and_its_losses_are_counted() {
    let mut publisher = publication("tcp://127.0.0.1:0?hwm=100&so-sndbuf=4k");
    let at = publisher.local_address();
    let mut slow = subscription(&to(at, "?so-rcvbuf=4k"));
    let mut quick = subscription(&to(at, ""));
    connect(&mut publisher, &mut [&mut slow, &mut quick]);
    let mut got = 0u32;
    for number in 0..20_000u32 {
        let mut message = [0; 70];
        message[..4].copy_from_slice(&number.to_be_bytes());
        publisher.offer(monotonic(), &message).expect("offer");
        until("the quick one", |now| {
            publisher.work(now);
            quick.poll(now, 10, |message| {
                assert_eq!(message.payload[..4], got.to_be_bytes());
                got += 1;
            });
            got > number
        });
    }
    let dropped = publisher.counters().dropped;
    assert!(dropped > 10_000, "{dropped}");
    let mut last = None;
    let mut of_slow = 0;
    until("the slow one", |now| {
        publisher.work(now);
        slow.poll(now, 100, |message| {
            let number = u32::from_be_bytes(message.payload[..4].try_into().expect("a number"));
            assert!(last.is_none_or(|last| number > last), "in order");
            last = Some(number);
            of_slow += 1;
        });
        of_slow + dropped == 20_000
    });
    let counts = publisher.subscribers();
    let dropped_of_each: Vec<u64> = counts.iter().map(|one| one.dropped).collect();
    assert_eq!(dropped_of_each, [dropped, 0], "each has its own count");
    assert!(counts.iter().all(|one| one.is_connected && one.sent + one.dropped == 20_000));
    drop(slow);
    until("the slow one's end", |now| {
        publisher.work(now);
        publisher.subscriber_count() == 1
    });
    let gone = publisher.subscribers().into_iter().find(|one| !one.is_connected);
    assert_eq!(gone.map(|one| one.dropped), Some(dropped), "its count outlives it");
}

#[test]
fn a_subscriber_may_start_first_and_finds_a_publisher_that_comes_back() {
    let probe = publication("tcp://127.0.0.1:0");
    let at = to(probe.local_address(), "");
    drop(probe);
    let mut subscriber = subscription(&at);
    for round in 0..3 {
        for _ in 0..100 {
            subscriber.poll(monotonic(), 1, |_| {});
        }
        let mut publisher = publication(&at);
        connect(&mut publisher, &mut [&mut subscriber]);
        publisher.offer(monotonic(), &[round]).expect("offer");
        let mut got = Got::new();
        until("receive", |now| {
            publisher.work(now);
            poll(&mut subscriber, now, &mut got);
            !got.is_empty()
        });
        assert_eq!(got, [(vec![], vec![round])]);
        drop(publisher);
        until("the end", |now| {
            poll(&mut subscriber, now, &mut got);
            subscriber.image_count() == 0
        });
    }
}

#[test]
fn a_message_that_is_not_taken_comes_again_and_is_counted_once() {
    let mut publisher = publication("tcp://127.0.0.1:0");
    let mut subscriber = subscription(&to(publisher.local_address(), ""));
    connect(&mut publisher, &mut [&mut subscriber]);
    for number in 0..10u8 {
        publisher.offer_topic(monotonic(), b"t", &[number]).expect("offer");
    }
    let (mut seen, mut calls) = (Vec::new(), 0);
    until("receive", |now| {
        publisher.work(now);
        subscriber.poll_controlled(now, 3, |message| {
            calls += 1;
            if calls % 3 == 1 {
                return Action::Abort;
            }
            seen.extend_from_slice(message.payload);
            if calls % 3 == 2 { Action::Break } else { Action::Continue }
        });
        seen.len() == 10
    });
    assert_eq!(seen, (0..10).collect::<Vec<u8>>());
    assert_eq!(subscriber.counters().received, 10);
}

/// A file with a secret, for its owner alone.
fn secret(name: &str, mode: u32, text: &str) -> PathBuf {
    let file = path(name);
    std::fs::write(&file, text).expect("write");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("chmod");
    file
}

/// The two pairs of keys of ZeroMQ's manual.
const SERVER: [&str; 2] =
    ["rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"];
const CLIENT: [&str; 2] =
    ["Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"];

#[test]
fn keys_and_accounts_come_from_files_that_only_their_owner_may_read() {
    let [server, server_secret] = SERVER;
    let [client, client_secret] = CLIENT;
    let certificate = format!(
        "# a ZeroMQ certificate\nmetadata\ncurve\n    public-key = \"{server}\"\n    \
         secret-key = \"{server_secret}\"\nclient-key = {client}\n"
    );
    let of_server = secret("server", 0o600, &certificate);
    let of_client =
        secret("client", 0o600, &format!("secret-key={client_secret}\nserver-key={server}\n"));
    let stranger =
        secret("stranger", 0o600, &format!("secret-key={server_secret}\nserver-key={server}\n"));
    let mut publisher =
        publication(&format!("tcp://127.0.0.1:0?on-full=block&curve={}", of_server.display()));
    let at = publisher.local_address();
    let mut subscriber = subscription(&to(at, &format!("?curve={}", of_client.display())));
    carries_messages(&mut publisher, &mut subscriber);
    let mut refused = subscription(&to(at, &format!("?curve={}", stranger.display())));
    until("refuse", |now| {
        publisher.work(now);
        refused.poll(now, 1, |_| {});
        matches!(refused.poll_event(), Some(Event::Refused { .. }))
    });
    assert_eq!(publisher.subscriber_count(), 1);

    let accounts =
        secret("accounts", 0o400, "user = a\npassword = b\nuser = c\npassword = \"d e\"");
    let account = secret("account", 0o600, "user=c\npassword=d e");
    let mut publisher =
        publication(&format!("tcp://127.0.0.1:0?on-full=block&plain={}", accounts.display()));
    let parameters = format!("?plain={}", account.display());
    let mut subscriber = subscription(&to(publisher.local_address(), &parameters));
    carries_messages(&mut publisher, &mut subscriber);

    let open = secret("open", 0o640, &certificate);
    let text = format!("tcp://127.0.0.1:0?curve={}", open.display());
    let exposed = Publication::open(&uri(&text), &opening()).map(drop);
    assert!(matches!(exposed, Err(ChannelError::Exposed { .. })), "{exposed:?}");
    for wrong in ["secret-key = short", "", "nonsense", &certificate.replace("client-key", "key")] {
        let file = secret("wrong", 0o600, wrong);
        let text = format!("tcp://127.0.0.1:0?curve={}", file.display());
        let error = Publication::open(&uri(&text), &opening()).map(drop);
        assert!(matches!(error, Err(ChannelError::File { .. })), "{wrong}: {error:?}");
    }
    for name in ["server", "client", "stranger", "accounts", "account", "open", "wrong"] {
        let _ = std::fs::remove_file(path(name));
    }
}

#[test]
fn what_an_end_cannot_do_is_refused_when_it_is_opened() {
    for text in ["tcp://127.0.0.1:0?subscribe=a", "tcp://127.0.0.1:0?pattern=pushpull&subscribe=a"]
    {
        let refused = Publication::open(&uri(text), &opening()).map(drop);
        assert!(matches!(refused, Err(ChannelError::Unsupported { .. })), "{text}");
    }
    let text = "tcp://127.0.0.1:0?bind&pattern=pushpull&subscribe=a";
    let refused = Subscription::open(&uri(text), &opening()).map(drop);
    assert!(matches!(refused, Err(ChannelError::Unsupported { .. })));
}

#[test]
fn offering_and_polling_allocate_nothing_once_they_run() {
    let mut publisher = publication("tcp://127.0.0.1:0?on-full=block");
    let mut subscriber = subscription(&to(publisher.local_address(), ""));
    connect(&mut publisher, &mut [&mut subscriber]);
    let mut got = 0u64;
    let mut exchange = |rounds: u64| {
        let goal = got + rounds * 10;
        for _ in 0..rounds {
            for _ in 0..10 {
                until("room", |now| {
                    let taken = publisher.offer_topic(now, b"topic", &[7; 70]).is_ok();
                    publisher.work(now);
                    taken
                });
            }
            subscriber.poll(monotonic(), 100, |_| got += 1);
        }
        until("all", |now| {
            publisher.work(now);
            subscriber.poll(now, 100, |_| got += 1);
            got == goal
        });
    };
    exchange(100);
    let info = allocation_counter::measure(|| exchange(1_000));
    assert_eq!(info.count_total, 0);
}

#[test]
fn a_listener_that_is_only_too_busy_keeps_its_name() {
    let path = path("busy");
    let _ = std::fs::remove_file(&path);
    let busy = std::os::unix::net::UnixListener::bind(&path).expect("a listener");
    let address = taut_sys::Address::unix(path.to_str().expect("a name")).expect("an address");
    // Nobody is taken in: the queue of those who wait fills up, and who calls then is refused.
    let mut waiting = Vec::new();
    while let Ok((socket, _)) = taut_sys::Socket::connect(&address, &Default::default()) {
        waiting.push(socket);
        assert!(waiting.len() < 10_000, "the queue has no end");
    }
    let text = format!("ipc://{}?bind", path.display());
    let refused = Publication::open(&uri(&text), &opening());
    assert!(refused.is_err(), "the name is taken");
    assert!(path.exists(), "and stays");
    drop((busy, waiting));
    // Its owner gone, it is free.
    publication(&text);
    assert!(!path.exists());
}
