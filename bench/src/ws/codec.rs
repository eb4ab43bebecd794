//! What a frame costs without a socket: the best of many rounds over all distinct messages.

use std::hint::black_box;

use serde::Serialize;
use taut_types::Nanos;
use taut_ws::{ClientRequest, Connection, Event, Seed, WsConfig, WsUrl};

use crate::ping_pong::failed;
use crate::timing::best;
use crate::ws::texts::DISTINCT;
use taut_report::Failure;

const NOW: Nanos = Nanos::from_secs(1);

/// Nanoseconds a frame.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Codec {
    /// A server's text, checked and lent.
    pub parse_ns: f64,
    /// A client's, unmasked into the connection's buffer.
    pub parse_masked_ns: f64,
    /// A server's, into its outbox.
    pub encode_ns: f64,
    /// A client's, masked.
    pub encode_masked_ns: f64,
    /// Of every text that was parsed.
    pub hash: u64,
}

/// Both ends, open.
pub fn pair() -> Result<(Connection, Connection), Failure> {
    let config = WsConfig { send_bytes_max: 1 << 20, keep_alive: None, ..WsConfig::default() };
    let url = WsUrl::parse("ws://127.0.0.1/bench").map_err(failed)?;
    let request = ClientRequest::new(&url);
    let mut client =
        Connection::client(&config, &request, Seed::new([7; 16]), NOW).map_err(failed)?;
    let mut server = Connection::server(&config, NOW).map_err(failed)?;
    let asked = client.poll_transmit().to_vec();
    client.transmitted(asked.len());
    server.handle_bytes(NOW, &asked).outbox.accept(None, &[]).map_err(failed)?;
    let answer = server.poll_transmit().to_vec();
    server.transmitted(answer.len());
    client.handle_bytes(NOW, &answer);
    match client.outbox().is_open() {
        true => Ok((client, server)),
        false => Err(failed("it did not open")),
    }
}

/// Measures all four.
pub fn measure(texts: &[String]) -> Result<Codec, Failure> {
    let (mut client, mut server) = pair()?;
    let (encode_ns, frames) = encode(&mut server, texts)?;
    let (encode_masked_ns, masked) = encode(&mut client, texts)?;
    let (parse_ns, hash) = parse(&mut client, &frames)?;
    let (parse_masked_ns, masked_hash) = parse(&mut server, &masked)?;
    if hash != masked_hash {
        return Err(failed("both ends did not read the same"));
    }
    Ok(Codec { parse_ns, parse_masked_ns, encode_ns, encode_masked_ns, hash })
}

/// Encodes all texts; what a frame costs, and the frames.
fn encode(end: &mut Connection, texts: &[String]) -> Result<(f64, Vec<u8>), Failure> {
    let mut frames = Vec::new();
    let mut result = Ok(());
    let cost = best(texts.len(), || {
        let waiting = end.poll_transmit().len();
        end.transmitted(waiting);
        for text in texts {
            result = result.and(end.outbox().text(black_box(text)));
        }
    });
    result.map_err(failed)?;
    frames.extend_from_slice(end.poll_transmit());
    Ok((cost, frames))
}

/// Parses all frames, which lie behind one another; what one costs, and a hash of the texts.
fn parse(end: &mut Connection, frames: &[u8]) -> Result<(f64, u64), Failure> {
    let count = DISTINCT;
    let (mut hash, mut read) = (0, 0);
    let cost = best(count, || {
        (hash, read) = (0xcbf2_9ce4_8422_2325, 0);
        let mut rest = black_box(frames);
        while !rest.is_empty() {
            let handled = end.handle_bytes(NOW, rest);
            if let Some(Event::Text(text)) = handled.event {
                hash = mix(hash, text);
                read += 1;
            }
            rest = rest.get(handled.consumed..).unwrap_or_default();
        }
    });
    match read == count {
        true => Ok((cost, hash)),
        false => Err(failed(format_args!("{read} of {count} frames were read"))),
    }
}

/// A few bytes of each text: enough that no work can be left out, too few to count.
fn mix(hash: u64, text: &str) -> u64 {
    let last = text.as_bytes().last_chunk::<8>().map_or(0, |last| u64::from_le_bytes(*last));
    let number = text.as_bytes().get(36..44).and_then(<[u8]>::first_chunk::<8>);
    let number = number.map_or(0, |bytes| u64::from_le_bytes(*bytes));
    (hash ^ last ^ number ^ text.len() as u64).wrapping_mul(0x100_0000_01b3)
}
