//! A stranger's bytes, in any pieces, before and after the opening handshake, to either side: no
//! panic, everything is consumed, one last event, and what they make us say stays small.
#![no_main]

use libfuzzer_sys::fuzz_target;
use taut_types::Nanos;
use taut_ws::{ClientRequest, Connection, Deflate, Event, Seed, State, WsConfig, WsUrl};

const NOW: Nanos = Nanos(1_000_000_000);

fn connection(choice: u8) -> Connection {
    let deflate = (choice & 16 != 0).then(Deflate::default);
    let config = WsConfig {
        message_bytes_max: 1 << 14,
        send_bytes_max: 1 << 14,
        deflate,
        ..WsConfig::default()
    };
    let url = WsUrl::parse("ws://a.test/x").expect("a URL");
    let request = ClientRequest::new(&url).protocol("one").expect("a token");
    let client = Connection::client(&config, &request, Seed::new([7; 16]), NOW);
    let mut client = client.expect("a client");
    let mut server = Connection::server(&config, NOW).expect("a server");
    if choice & 2 != 0 {
        let asked = client.poll_transmit().to_vec();
        client.transmitted(asked.len());
        let handled = server.handle_bytes(NOW, &asked);
        handled.outbox.accept(Some("one"), &[]).expect("accepted");
        let answer = server.poll_transmit().to_vec();
        server.transmitted(answer.len());
        client.handle_bytes(NOW, &answer);
        assert!(client.outbox().is_open() && server.outbox().is_open());
    }
    if choice & 4 != 0 && choice & 2 != 0 {
        client.outbox().close(NOW, None, "").expect("open");
    }
    if choice & 1 == 0 { client } else { server }
}

fuzz_target!(|data: &[u8]| {
    let [choice, piece, bytes @ ..] = data else { return };
    let mut end = connection(*choice);
    let mut is_over = false;
    for piece in bytes.chunks(usize::from(*piece) + 1) {
        let mut piece = piece.to_vec();
        let mut at = 0;
        while at < piece.len() {
            let handled = if choice & 8 == 0 {
                end.handle_bytes(NOW, &piece[at..])
            } else {
                end.handle_bytes_mut(NOW, &mut piece[at..])
            };
            assert!(handled.consumed > 0);
            at += handled.consumed;
            match handled.event {
                Some(Event::Requested(_)) => handled.outbox.accept(None, &[]).expect("accepted"),
                Some(Event::Text(text)) => drop(handled.outbox.text(text)),
                Some(Event::Closed(_)) => {
                    assert!(!core::mem::replace(&mut is_over, true), "one last event");
                }
                _ => {}
            }
        }
        assert!(at <= piece.len());
        // Head and messages, both ways, and compression.
        let deflate = Deflate::RECEIVING_BYTES_MAX + Deflate::default().sending_bytes_max(15);
        let deflate = if *choice & 16 == 0 { 0 } else { deflate };
        assert!(end.memory_bytes() <= (1 << 14) + (1 << 15) + deflate);
    }
    assert_eq!(is_over, end.state() == State::Closed);
    assert!(end.poll_transmit().len() < (1 << 14) + 400);
    end.handle_timeout(Nanos::MAX);
});
