//! permessage-deflate (RFC 7692): agreed on in every way, read and written by another library.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use taut_testkit::{Draw, Random, for_each_seed};
use taut_ws::{
    ClientRequest, Closed, Connection, Deflate, DeflateParameters, HandshakeFault, MessageKind,
    Misuse, Role, Seed, Violation, WsConfig, WsError, WsUrl,
};

use crate::rig::{NOW, Seen, close_code, feed, feed_in, frame, pair, sent, small};

const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

fn deflate(parameters: DeflateParameters) -> Deflate {
    Deflate { parameters, threshold_bytes: 0, ..Deflate::default() }
}

fn config(deflate: Deflate) -> WsConfig {
    WsConfig { deflate: Some(deflate), send_bytes_max: 1 << 19, ..small() }
}

fn open(role: Role) -> Connection {
    let (client, server) = pair(&config(deflate(DeflateParameters::default())));
    if role == Role::Client { client } else { server }
}

/// Words of 40 bytes out of a few, so that a match reaches back as far as any window lets it.
fn words(random: &mut Random, count: usize) -> Vec<u8> {
    let word = |number: u64| (0..40).map(move |at| ((number * 7919 + at * 104_729) >> 3) as u8);
    (0..count).flat_map(|_| word(random.below(40))).collect()
}

/// The payloads of frames that a server sent, with their first bytes.
fn payloads(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut all = Vec::new();
    while let [first, second, rest @ ..] = bytes {
        let (length, rest) = match *second {
            126 => (usize::from(u16::from_be_bytes([rest[0], rest[1]])), &rest[2..]),
            127 => (u64::from_be_bytes(*rest.first_chunk().unwrap()) as usize, &rest[8..]),
            short => (usize::from(short), rest),
        };
        all.push((*first, rest[..length].to_vec()));
        bytes = &rest[length..];
    }
    all
}

/// Inflates with a window of so many bits and not a byte more.
fn inflated_within(bits: u8, stream: &[u8]) -> Vec<u8> {
    let (mut state, mut ring) = (Box::<DecompressorOxide>::default(), vec![0; 1 << bits]);
    let (mut rest, mut at, mut all) = (stream, 0, Vec::new());
    loop {
        let flags = TINFL_FLAG_HAS_MORE_INPUT;
        let (status, taken, made) = decompress(&mut state, rest, &mut ring, at, flags);
        assert!(status as i32 >= 0, "{status:?}");
        all.extend_from_slice(&ring[at..at + made]);
        at = (at + made) % ring.len();
        rest = &rest[taken..];
        if rest.is_empty() && made == 0 {
            return all;
        }
    }
}

#[test]
fn the_examples_of_section_7_2_3_are_read() {
    let hello = || Seen::Text("Hello".into());
    let cases: [&[u8]; 6] = [
        &[0xc1, 7, 0xf2, 0x48, 0xcd, 0xc9, 0xc9, 7, 0],
        &[0x41, 3, 0xf2, 0x48, 0xcd, 0x80, 4, 0xc9, 0xc9, 7, 0],
        &[0xc1, 11, 0, 5, 0, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0],
        &[0xc1, 8, 0xf3, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0],
        // The same without the block behind the one that ends the stream.
        &[0xc1, 7, 0xf3, 0x48, 0xcd, 0xc9, 0xc9, 7, 0],
        &[0xc1, 13, 0xf2, 0x48, 5, 0, 0, 0, 0xff, 0xff, 0xca, 0xc9, 0xc9, 7, 0],
    ];
    for case in cases {
        let mut client = open(Role::Client);
        for _ in 0..2 {
            assert_eq!(feed(&mut client, case), [hello()], "{case:x?}");
        }
    }
    // The second message refers to the first one.
    let mut client = open(Role::Client);
    let stream = [cases[0], &[0xc1, 5, 0xf2, 0, 0x11, 0, 0]].concat();
    assert_eq!(feed(&mut client, &stream), [hello(), hello()]);
    let empty = feed(&mut client, &[0xc2, 1, 0, 0xc1, 0]);
    assert_eq!(empty, [Seen::Binary(Vec::new()), Seen::Text(String::new())]);
}

#[test]
fn messages_are_the_same_at_the_other_end_whatever_was_agreed_on() {
    for_each_seed(1..60, |_, mut random| {
        let parameters = DeflateParameters {
            server_no_context_takeover: random.bool(),
            client_no_context_takeover: random.bool(),
            server_max_window_bits: random.u8(8..=15),
            client_max_window_bits: random.u8(8..=15),
        };
        let (level, memory_level) = (random.u8(1..=9), random.u8(1..=9));
        let settings = Deflate { level, memory_level, ..deflate(parameters) };
        let (mut client, mut server) = pair(&config(settings));
        assert_eq!(client.deflate(), Some(parameters));
        assert_eq!(server.deflate(), Some(parameters));
        let (mut context, mut alone) = (Vec::new(), Vec::new());
        for round in 0..4 {
            let count = random.usize(..400);
            let mut message = words(&mut random, count);
            if round == 2 {
                // What cannot be compressed.
                message = (0..random.usize(..40_000)).map(|_| random.u8(..)).collect();
            }
            let cut = random.usize(..=message.len());
            let (first, last) = message.split_at(cut);
            server.outbox().part(MessageKind::Binary, first, false).unwrap();
            server.outbox().ping(b"between").unwrap();
            server.outbox().part(MessageKind::Binary, last, true).unwrap();
            client.outbox().binary(&message).unwrap();
            let bytes = sent(&mut server);
            for (first, payload) in payloads(&bytes).into_iter().filter(|(first, _)| *first != 0x89)
            {
                context.extend(&payload);
                if first & 0x80 != 0 {
                    context.extend(TAIL);
                }
            }
            alone.extend(&message);
            let piece = random.usize(1..2_000);
            let expected = [Seen::Ping(b"between".into()), Seen::Binary(message.clone())];
            assert!(feed_in(&mut client, &bytes, piece) == expected, "to the client");
            let bytes = sent(&mut client);
            let expected = [Seen::Binary(message), Seen::Pong(b"between".into())];
            assert!(feed_in(&mut server, &bytes, piece) == expected, "to the server");
        }
        // Another library reads the server's messages with the window that was agreed on.
        let read = inflated_within(parameters.server_max_window_bits, &context);
        assert!(read == alone, "by another library: {parameters:?}");
        let counters = client.counters();
        assert_eq!(counters.compressed_messages_in, 4);
        assert_eq!(counters.message_bytes_in, alone.len() as u64);
        // What is empty or random may leave as it is.
        assert!(server.counters().compressed_messages_in >= 2);
    });
}

#[test]
fn another_library_writes_and_reads_the_same() {
    for_each_seed(1..40, |seed, mut random| {
        let (mut client, mut server) = pair(&config(deflate(DeflateParameters::default())));
        let mut compress = Compress::new(Compression::new(seed as u32 % 10), false);
        let mut decompress = Decompress::new(false);
        for _ in 0..5 {
            let count = random.usize(1..200);
            let message = words(&mut random, count);
            let mut payload = Vec::with_capacity(2 * message.len() + 100);
            compress.compress_vec(&message, &mut payload, FlushCompress::Sync).unwrap();
            let payload = payload.strip_suffix(&TAIL).unwrap();
            let seen = feed_in(&mut server, &frame(Role::Server, 0xc2, payload), 777);
            assert!(seen == [Seen::Binary(message.clone())]);
            server.outbox().binary(&message).unwrap();
            let bytes = sent(&mut server);
            let made = [&payloads(&bytes)[0].1[..], &TAIL].concat();
            let mut read = Vec::with_capacity(message.len() + 100);
            decompress.decompress_vec(&made, &mut read, FlushDecompress::Sync).unwrap();
            assert!(read == message && feed(&mut client, &bytes) == [Seen::Binary(message)]);
        }
    });
}

#[test]
fn every_two_pieces_and_every_piece_length_give_the_same_events() {
    let text = "κόσμε, κόσμε, κόσμε ".repeat(4);
    for role in [Role::Client, Role::Server] {
        let mut compress = Compress::new(Compression::new(6), false);
        let mut compressed = |bytes: &[u8], is_last: bool| {
            let mut made = Vec::with_capacity(500);
            compress.compress_vec(bytes, &mut made, FlushCompress::Sync).unwrap();
            if is_last {
                made.truncate(made.len() - TAIL.len());
            }
            made
        };
        // The second message's cut is inside a character.
        let stream = [
            frame(role, 0xc1, &compressed(text.as_bytes(), true)),
            frame(role, 0x41, &compressed(&text.as_bytes()[..9], false)),
            frame(role, 0x89, b"?"),
            frame(role, 0x00, &compressed(&text.as_bytes()[9..], false)),
            frame(role, 0x80, &[0]),
            frame(role, 0x81, b"as it is"),
            frame(role, 0xc2, &[0]),
        ]
        .concat();
        let expected = [
            Seen::Text(text.clone()),
            Seen::Ping(b"?".into()),
            Seen::Text(text.clone()),
            Seen::Text("as it is".into()),
            Seen::Binary(Vec::new()),
        ];
        for cut in 0..=stream.len() {
            let mut end = open(role);
            let mut made = feed(&mut end, &stream[..cut]);
            made.extend(feed(&mut end, &stream[cut..]));
            assert_eq!(made, expected, "{role:?} cut at {cut}");
        }
        for piece in 1..30 {
            assert_eq!(feed_in(&mut open(role), &stream, piece), expected, "{role:?} {piece}");
        }
    }
}

#[test]
fn a_bomb_is_refused_at_the_limit_and_takes_no_more_than_it() {
    let mut compress = Compress::new(Compression::new(9), false);
    let mut bomb = Vec::with_capacity(1 << 17);
    compress.compress_vec(&vec![0; 32 << 20], &mut bomb, FlushCompress::Sync).unwrap();
    assert!(bomb.len() < 1 << 15);
    for (extra, is_good) in [(0, true), (1, false)] {
        let (_, mut server) = pair(&config(deflate(DeflateParameters::default())));
        let longest = vec![7; (1 << 17) + extra];
        let mut compress = Compress::new(Compression::new(9), false);
        let mut payload = Vec::with_capacity(1 << 12);
        compress.compress_vec(&longest, &mut payload, FlushCompress::Sync).unwrap();
        payload.truncate(payload.len() - TAIL.len());
        let seen = feed_in(&mut server, &frame(Role::Server, 0xc2, &payload), 100);
        let refused = Seen::Over(Closed::Violation(Violation::MessageBytes));
        assert!(seen == [if is_good { Seen::Binary(longest) } else { refused }]);
    }
    let (_, mut server) = pair(&config(deflate(DeflateParameters::default())));
    let bytes = frame(Role::Server, 0xc2, &bomb);
    let mut seen = Vec::new();
    let counted = allocation_counter::measure(|| seen = feed(&mut server, &bytes));
    assert_eq!(seen, [Seen::Over(Closed::Violation(Violation::MessageBytes))]);
    assert!(counted.bytes_max < (1 << 18) + Deflate::RECEIVING_BYTES_MAX as u64, "{counted:?}");
    assert_eq!(close_code(server), Some(1009));
}

#[test]
fn the_bit_without_an_agreement_or_out_of_its_place_and_what_cannot_be_inflated_end_it() {
    let reserved = Violation::ReservedBits;
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 7, 0];
    let first = frame(Role::Server, 0x41, &hello);
    let cases: [(Vec<u8>, Violation, u16); 6] = [
        (frame(Role::Server, 0xc9, b""), reserved, 1002),
        (frame(Role::Server, 0xc8, b""), reserved, 1002),
        ([&first[..], &frame(Role::Server, 0xc0, &hello)].concat(), reserved, 1002),
        (frame(Role::Server, 0xa1, &hello), reserved, 1002),
        (frame(Role::Server, 0xc1, &[0xff, 0xff]), Violation::Deflate, 1007),
        // 0xff in a text, as a stored block.
        (frame(Role::Server, 0xc1, &[0, 1, 0, 0xfe, 0xff, 0xff, 0]), Violation::Utf8, 1007),
    ];
    for (bytes, violation, code) in cases {
        let mut server = open(Role::Server);
        let seen = feed(&mut server, &bytes);
        assert_eq!(seen, [Seen::Over(Closed::Violation(violation))], "{bytes:x?}");
        assert_eq!(close_code(server), Some(code));
    }
    let (_, mut server) = pair(&small());
    let seen = feed(&mut server, &frame(Role::Server, 0xc1, &hello));
    assert_eq!(seen, [Seen::Over(Closed::Violation(reserved))]);
}

#[test]
fn a_client_falls_back_and_a_side_without_compression_declines() {
    let off = small();
    let on = config(deflate(DeflateParameters::default()));
    for (near, far) in [(&off, &on), (&on, &off), (&off, &off)] {
        let url = WsUrl::parse("ws://venue.test/feed").unwrap();
        let request = ClientRequest::new(&url);
        let mut client = Connection::client(near, &request, Seed::new([7; 16]), NOW).unwrap();
        let mut server = Connection::server(far, NOW).unwrap();
        let asked = sent(&mut client);
        feed(&mut server, &asked);
        let answered = sent(&mut server);
        assert_eq!(feed(&mut client, &answered), [Seen::Opened(None)]);
        assert_eq!((client.deflate(), server.deflate()), (None, None));
        server.outbox().text("a text that would be worth it, as long as it is").unwrap();
        let bytes = sent(&mut server);
        assert_eq!(bytes[0], 0x81);
        assert_eq!(feed(&mut client, &bytes).len(), 1);
    }
    let url = WsUrl::parse("ws://venue.test/feed").unwrap();
    let narrow = DeflateParameters { server_max_window_bits: 9, ..DeflateParameters::default() };
    let request = ClientRequest::new(&url).deflate(narrow).unwrap();
    let start = |config: &WsConfig| Connection::client(config, &request, Seed::new([7; 16]), NOW);
    assert_eq!(start(&off).unwrap_err(), WsError::Misuse(Misuse::Deflate));
    let mut client = start(&on).unwrap();
    let asked = String::from_utf8(sent(&mut client)).unwrap();
    let line = "\r\nSec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=9; \
                client_max_window_bits, permessage-deflate; client_max_window_bits\r\n";
    assert!(asked.contains(line), "{asked}");
    let key = asked.split("Sec-WebSocket-Key: ").nth(1).unwrap().split("\r\n").next().unwrap();
    // A server that knows no windows answers the second offer; one that makes things up is refused.
    let whole = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: ";
    let mut server = Connection::server(&small(), NOW).unwrap();
    feed(&mut server, asked.as_bytes());
    let answer = String::from_utf8(sent(&mut server)).unwrap();
    assert!(answer.starts_with(whole) && !key.is_empty());
    for (extension, is_good) in
        [("permessage-deflate", true), ("permessage-deflate; client_no_context", false)]
    {
        let mut client = start(&on).unwrap();
        sent(&mut client);
        let line = format!("\r\nSec-WebSocket-Extensions: {extension}\r\n\r\n");
        let seen = feed(&mut client, answer.replace("\r\n\r\n", &line).as_bytes());
        let fault = Seen::Over(Closed::Handshake(HandshakeFault::Extension));
        assert_eq!(seen, [if is_good { Seen::Opened(None) } else { fault }]);
    }
    for bad in [
        Deflate { level: 0, ..Deflate::default() },
        Deflate { memory_level: 10, ..Deflate::default() },
        deflate(DeflateParameters { client_max_window_bits: 7, ..DeflateParameters::default() }),
    ] {
        let made = Connection::server(&config(bad), NOW);
        assert_eq!(made.unwrap_err(), WsError::Misuse(Misuse::Deflate));
    }
}

#[test]
fn short_messages_those_that_gain_nothing_and_those_without_room_leave_as_they_are() {
    let alone =
        DeflateParameters { server_no_context_takeover: true, ..DeflateParameters::default() };
    let settings = Deflate { threshold_bytes: 20, ..deflate(alone) };
    let config = WsConfig { send_bytes_max: 1_000, ..config(settings) };
    let (mut client, mut server) = pair(&config);
    let mut random = Random::with_seed(7);
    let noise: Vec<u8> = (0..300).map(|_| random.u8(..)).collect();
    let cases: [(&[u8], u8); 4] =
        [(&[b'a'; 19], 0x82), (&[b'a'; 20], 0xc2), (&noise, 0x82), (&[b'a'; 950], 0x82)];
    for (message, first) in cases {
        server.outbox().binary(message).unwrap();
        let bytes = sent(&mut server);
        assert_eq!(bytes[0], first, "{} bytes", message.len());
        assert_eq!(feed(&mut client, &bytes), [Seen::Binary(message.to_vec())]);
    }
    // A part that has no room is refused, and nothing of it is taken.
    server.outbox().part(MessageKind::Text, &[b'a'; 500], false).unwrap();
    let full = server.outbox().part(MessageKind::Text, &[b'a'; 950], true);
    assert!(matches!(full, Err(WsError::Limit(_))), "{full:?}");
    server.outbox().part(MessageKind::Text, b"", true).unwrap();
    let bytes = sent(&mut server);
    assert_eq!(feed(&mut client, &bytes), [Seen::Text("a".repeat(500))]);
}

#[test]
fn a_direction_takes_what_is_stated_with_its_first_message_and_nothing_later() {
    for (bits, memory_level) in [(15, 8), (15, 9), (9, 1)] {
        let parameters =
            DeflateParameters { server_max_window_bits: bits, ..DeflateParameters::default() };
        let settings = Deflate { memory_level, ..deflate(parameters) };
        let (mut client, mut server) = pair(&config(settings));
        let idle = (client.memory_bytes(), server.memory_bytes());
        let mut random = Random::with_seed(7);
        let message = words(&mut random, 100);
        let play = |client: &mut Connection, server: &mut Connection| {
            server.outbox().binary(&message).unwrap();
            let mut at = 0;
            while at < server.poll_transmit().len() {
                at += client.handle_bytes(NOW, &server.poll_transmit()[at..]).consumed;
            }
            server.transmitted(at);
        };
        let first = allocation_counter::measure(|| play(&mut client, &mut server));
        let sending = settings.sending_bytes_max(bits);
        let stated = (sending + Deflate::RECEIVING_BYTES_MAX) as u64;
        // Beside them stands the message, at its worst.
        assert!(first.bytes_max <= stated + (24 << 10), "{bits}: {first:?} of {stated}");
        assert!(first.bytes_max >= stated / 2, "{bits}: {first:?} of {stated}");
        let later = allocation_counter::measure(|| {
            for _ in 0..50 {
                play(&mut client, &mut server);
            }
        });
        assert_eq!(later.count_total, 0, "{later:?}");
        assert!(client.memory_bytes() >= idle.0 + Deflate::RECEIVING_BYTES_MAX);
        assert!(server.memory_bytes() >= idle.1 + sending);
    }
}

#[test]
fn mutated_compressed_frames_never_panic_and_stay_within_the_limit() {
    for_each_seed(1..1_500, |seed, mut random| {
        let role = if seed % 2 == 0 { Role::Client } else { Role::Server };
        let mut bytes = Vec::new();
        let mut compress = Compress::new(Compression::new(6), false);
        for _ in 0..=random.below(3) {
            let count = random.usize(1..8);
            let mut payload = Vec::with_capacity(1_000);
            let flush = FlushCompress::Sync;
            compress.compress_vec(&words(&mut random, count), &mut payload, flush).unwrap();
            bytes.extend(frame(role, random.pick(&[0xc2, 0x42, 0x80, 0x00, 0xc1]), &payload));
        }
        for _ in 0..random.below(5) {
            let at = random.usize(..bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        let mut end = open(role);
        let piece = random.usize(1..=60);
        let seen = feed_in(&mut end, &bytes, piece);
        let ends = seen.iter().filter(|seen| matches!(seen, Seen::Over(_) | Seen::Agreed(..)));
        assert_eq!(ends.count(), usize::from(end.state() == taut_ws::State::Closed));
        assert!(end.memory_bytes() < (1 << 18) + Deflate::RECEIVING_BYTES_MAX);
    });
}
