//! Parses, encodes and masks WebSocket's frames.

use std::hint::black_box;

use taut_simd::Level;
use taut_types::Nanos;
use taut_ws::{ClientRequest, Connection, Event, Seed, WsConfig, WsUrl};

use crate::{Outcome, count, one_of};

const WHAT: [&str; 7] =
    ["parse", "parse-masked", "encode", "encode-masked", "mask", "mask-naive", "nothing"];
const NOW: Nanos = Nanos(1);
const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

fn pair() -> (Connection, Connection) {
    let config = WsConfig { keep_alive: None, ..WsConfig::default() };
    let request = ClientRequest::new(&WsUrl::parse("ws://a.test/").expect("a URL"));
    let client = Connection::client(&config, &request, Seed::new([7; 16]), NOW);
    let mut client = client.expect("a client");
    let mut server = Connection::server(&config, NOW).expect("a server");
    let asked = sent(&mut client);
    server.handle_bytes(NOW, &asked).outbox.accept(None, &[]).expect("a request");
    let answered = sent(&mut server);
    client.handle_bytes(NOW, &answered);
    (client, server)
}

fn sent(end: &mut Connection) -> Vec<u8> {
    let bytes = end.poll_transmit().to_vec();
    end.transmitted(bytes.len());
    bytes
}

fn parse(end: &mut Connection, frame: &[u8], count: u64) -> u64 {
    let mut total = 0;
    for _ in 0..count {
        if let Some(Event::Text(text)) = end.handle_bytes(NOW, black_box(frame)).event {
            total += text.len() as u64;
        }
    }
    total
}

fn encode(end: &mut Connection, text: &str, count: u64) -> u64 {
    let mut total = 0;
    for _ in 0..count {
        end.outbox().text(black_box(text)).expect("room");
        let waiting = end.poll_transmit().len();
        total += waiting as u64;
        end.transmitted(waiting);
    }
    total
}

pub fn run(words: &[&str]) -> Outcome {
    let what = one_of(words.first(), &WHAT)?;
    let (bytes, count) = (count(words.get(1))? as usize, count(words.get(2))?);
    let text = "x".repeat(bytes);
    let (mut client, mut server) = pair();
    let mut buffer = text.clone().into_bytes();
    let level = Level::best();
    let done = match what {
        "parse" => {
            server.outbox().text(&text).expect("room");
            parse(&mut client, &sent(&mut server), count)
        }
        "parse-masked" => {
            client.outbox().text(&text).expect("room");
            parse(&mut server, &sent(&mut client), count)
        }
        "encode" => encode(&mut server, &text, count),
        "encode-masked" => encode(&mut client, &text, count),
        "mask" => {
            (0..count).for_each(|_| level.mask(black_box(&mut buffer), KEY));
            u64::from(buffer[0])
        }
        "mask-naive" => {
            (0..count).for_each(|_| {
                let masked = black_box(&mut buffer).iter_mut().enumerate();
                masked.for_each(|(at, byte)| *byte ^= KEY[at % 4]);
            });
            u64::from(buffer[0])
        }
        _ => 0,
    };
    println!("{what} {bytes} bytes, {count} times: {done} ({})", level.name());
    Ok(())
}
