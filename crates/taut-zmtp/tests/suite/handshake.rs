//! Greeting and handshake: every mechanism, every split, every refusal.

use taut_zmtp::{
    Account, CloseReason, ConnectionConfig, PublicKey, PublisherConfig, SecretKey, Security,
    SocketType, Violation,
};

use crate::wire::Pair;

fn account(user: &str, password: &str) -> Account {
    Account::new(user, password).expect("an account")
}

fn secret(number: u8) -> SecretKey {
    SecretKey::new([number; 32])
}

fn pair(server: Security, client: Security) -> Pair {
    let mut publisher = PublisherConfig::new(SocketType::Pub);
    publisher.connection.security = server;
    let mut subscriber = ConnectionConfig::new(SocketType::Sub);
    subscriber.security = client;
    Pair::new(publisher, subscriber)
}

fn plain(accounts: Vec<Account>) -> Pair {
    let client = Security::PlainClient(account("trader", "secret"));
    pair(Security::PlainServer(accounts), client)
}

fn curve(clients: Option<Vec<PublicKey>>, server: PublicKey) -> Pair {
    let client = Security::CurveClient { secret: secret(9), server };
    pair(Security::CurveServer { secret: secret(5), clients }, client)
}

/// Every mechanism, and messages over it, in steps of this many bytes.
fn run_in_steps(make: impl Fn() -> Pair, step: usize) -> (Vec<String>, Vec<Vec<Vec<u8>>>) {
    let mut pair = make();
    pair.subscriber.subscribe(b"a").expect("subscribe");
    pair.run(step);
    assert_eq!(pair.closed, None, "step {step}");
    assert!(pair.active, "the barrier is passed");
    let long = [b'a'; 300];
    for parts in [&[&b"abc"[..]][..], &[b"a", b"", b"tail"], &[&long], &[b"other"]] {
        pair.publisher.offer(parts).expect("offer");
    }
    pair.run(step);
    (pair.events, pair.messages)
}

#[test]
fn any_split_gives_the_same_events_and_messages_with_every_mechanism() {
    let server = secret(5).public();
    let makers: [(&str, &dyn Fn() -> Pair); 4] = [
        ("NULL", &|| pair(Security::Null, Security::Null)),
        ("PLAIN", &|| plain(vec![account("nobody", ""), account("trader", "secret")])),
        ("CURVE", &|| curve(None, server)),
        ("CURVE, known clients", &|| curve(Some(vec![secret(9).public()]), server)),
    ];
    for (name, make) in makers {
        let (events, messages) = run_in_steps(make, usize::MAX);
        assert_eq!(messages.len(), 3, "{name}");
        assert_eq!(messages[1], [b"a".to_vec(), b"".to_vec(), b"tail".to_vec()]);
        assert_eq!(events.len(), 3, "two establishments and a subscription: {events:?}");
        for step in 1..=130 {
            let (mut in_steps, of_steps) = run_in_steps(make, step);
            // The two sides' events have no order between them.
            let mut expected = events.clone();
            expected.sort();
            in_steps.sort();
            assert_eq!((in_steps, &of_steps), (expected, &messages), "{name}, step {step}");
        }
    }
}

#[test]
fn wrong_credentials_are_refused_and_the_peer_is_told_no_more_than_that() {
    let wrong = [
        vec![],
        vec![account("trader", "Secret")],
        vec![account("trader", "secret2")],
        vec![account("trade", "rsecret")],
    ];
    for accounts in wrong {
        let mut pair = plain(accounts);
        pair.run(usize::MAX);
        let Some(CloseReason::PeerError(text)) = pair.closed else {
            panic!("the client was told {:?}", pair.closed);
        };
        assert_eq!(text.as_str(), "400");
        assert_eq!(pair.publisher.counters().violations, 1);
    }
    let mut pair = curve(Some(vec![secret(8).public()]), secret(5).public());
    pair.run(usize::MAX);
    assert!(matches!(pair.closed, Some(CloseReason::PeerError(_))), "an unknown client");
    assert_eq!(pair.publisher.established_count(), 0);
}

#[test]
fn a_client_with_another_server_key_gets_no_further_than_its_first_word() {
    let mut pair = curve(None, secret(6).public());
    pair.run(usize::MAX);
    assert_eq!(pair.closed, Some(CloseReason::Violation(Violation::Cryptography)));
}

#[test]
fn mechanisms_must_be_equal_and_socket_types_legal() {
    let mut unequal = pair(Security::Null, Security::PlainClient(account("a", "b")));
    unequal.run(usize::MAX);
    assert_eq!(unequal.closed, Some(CloseReason::Violation(Violation::Mechanism)));
    for (ours, theirs) in [(SocketType::Push, SocketType::Sub), (SocketType::Pub, SocketType::Pull)]
    {
        let mut pair = Pair::new(PublisherConfig::new(ours), ConnectionConfig::new(theirs));
        pair.run(usize::MAX);
        assert_eq!(pair.closed, Some(CloseReason::Violation(Violation::SocketType)));
    }
}

#[test]
fn an_encrypted_wire_shows_nothing_repeats_nothing_and_leaves_nothing_out() {
    // In order; the first one twice; the second one without the first.
    for (order, count) in [([0, 1], 2), ([0, 0], 1), ([1, 0], 0)] {
        let mut pair = curve(None, secret(5).public());
        pair.subscriber.subscribe(b"").expect("subscribe");
        pair.run(usize::MAX);
        let mut wire = Vec::new();
        for _ in 0..2 {
            pair.publisher.offer(&[b"the same words"]).expect("offer");
            let bytes = pair.publisher.poll_transmit(pair.peer);
            wire.push(bytes.to_vec());
            let count = bytes.len();
            pair.publisher.transmitted(pair.peer, count);
        }
        assert!(wire.iter().all(|bytes| !bytes.windows(4).any(|window| window == b"same")));
        assert_ne!(wire[0][18..], wire[1][18..]);
        let handled = order.map(|at| {
            let handled = pair.subscriber.handle_bytes(pair.link, crate::wire::NOW, &wire[at]);
            format!("{:?}", handled.event)
        });
        let is_ended = handled.iter().any(|event| event.contains("Closed(Violation(Nonce))"));
        assert_eq!(is_ended, count < 2, "{order:?}: {handled:?}");
        let messages = handled.iter().filter(|event| event.contains("Message")).count();
        assert_eq!(messages, count, "{order:?}");
    }
}
