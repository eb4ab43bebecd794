//! WebSocket frames of 128 bytes (or as many as the argument says), from bytes that arrive to texts
//! that are checked: taut-ws, nexus-web and tungstenite, turn by turn in one run.
//!
//! Each turn hands a peer 64 frames as a socket would: they are copied into its receive buffer
//! once, and that copy is counted for all three. Nanoseconds per frame are the median of the turns'
//! best; all peers must come to the same sum. `--count PEER KIND ROUNDS` repeats one of them, for
//! callgrind.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::time::Instant;

use nexus_web::ws::{FrameReader, Message, Role as NexusRole};
use taut_types::Nanos;
use taut_ws::{ClientRequest, Connection, Event, Seed, WsConfig, WsUrl};
use tungstenite::WebSocket;
use tungstenite::protocol::Role;

const FRAMES: usize = 64;
const TURNS: usize = 21;
const ROUNDS: usize = 200;
const NOW: Nanos = Nanos(1);
const PEERS: [&str; 3] = ["taut", "nexus-web", "tungstenite"];
const KINDS: [&str; 2] = ["server's", "client's"];

/// Both ends, open.
fn pair() -> (Connection, Connection) {
    let config = WsConfig { keep_alive: None, send_bytes_max: 1 << 22, ..WsConfig::default() };
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

fn mix(sum: &mut u64, text: &str) {
    let last = text.as_bytes().last_chunk::<8>().map_or(0, |last| u64::from_le_bytes(*last));
    *sum = sum.wrapping_mul(31).wrapping_add(last ^ text.len() as u64);
}

/// Reads frames that arrive together.
trait Peer {
    fn read(&mut self, bytes: &[u8]) -> u64;
}

struct Taut {
    end: Connection,
    input: Vec<u8>,
}

impl Peer for Taut {
    fn read(&mut self, bytes: &[u8]) -> u64 {
        let input = &mut self.input[..bytes.len()];
        input.copy_from_slice(bytes);
        let (mut sum, mut at) = (0, 0);
        while at < input.len() {
            let handled = self.end.handle_bytes_mut(NOW, &mut input[at..]);
            if let Some(Event::Text(text)) = handled.event {
                mix(&mut sum, text);
            }
            at += handled.consumed;
        }
        sum
    }
}

struct Nexus(FrameReader);

impl Peer for Nexus {
    fn read(&mut self, bytes: &[u8]) -> u64 {
        self.0.read(bytes).expect("room");
        let mut sum = 0;
        while let Some(message) = self.0.next().expect("frames") {
            if let Message::Text(text) = message {
                mix(&mut sum, text);
            }
        }
        sum
    }
}

/// What a socket would hand over.
#[derive(Default)]
struct Arrived {
    bytes: Vec<u8>,
    at: usize,
}

impl Read for Arrived {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = rest.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&rest[..taken]);
        self.at += taken;
        Ok(taken)
    }
}

impl Write for Arrived {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Tungstenite(WebSocket<Arrived>);

impl Peer for Tungstenite {
    fn read(&mut self, bytes: &[u8]) -> u64 {
        let stream = self.0.get_mut();
        // Not counted as a copy of its own: the bytes are the same in every turn.
        if stream.bytes != bytes {
            stream.bytes = bytes.to_vec();
        }
        stream.at = 0;
        let mut sum = 0;
        while let Ok(message) = self.0.read() {
            if let tungstenite::Message::Text(text) = message {
                mix(&mut sum, &text);
            }
        }
        sum
    }
}

fn peer(name: &str, kind: &str) -> Box<dyn Peer> {
    let is_client = kind == KINDS[0];
    let (client, server) = pair();
    let end = if is_client { client } else { server };
    match name {
        "taut" => Box::new(Taut { end, input: vec![0; 1 << 20] }),
        "nexus-web" => {
            let role = if is_client { NexusRole::Client } else { NexusRole::Server };
            Box::new(Nexus(FrameReader::builder().role(role).buffer_capacity(1 << 20).build()))
        }
        _ => {
            let role = if is_client { Role::Client } else { Role::Server };
            Box::new(Tungstenite(WebSocket::from_raw_socket(Arrived::default(), role, None)))
        }
    }
}

/// The frames that an end of this kind reads.
fn frames(kind: &str, payload_bytes: usize) -> Vec<u8> {
    let (mut client, mut server) = pair();
    let sender = if kind == KINDS[0] { &mut server } else { &mut client };
    for number in 0..FRAMES {
        let text = format!("{number:0payload_bytes$}");
        sender.outbox().text(&text).expect("room");
    }
    sent(sender)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, kind, bytes, rounds] = &arguments[..]
        && flag == "--count"
    {
        let kind = KINDS[usize::from(kind == "client")];
        let frames = frames(kind, bytes.parse().expect("bytes"));
        let mut peer = peer(name, kind);
        let rounds: usize = rounds.parse().expect("rounds");
        let sum = (0..rounds).fold(0, |sum, _| sum ^ peer.read(black_box(&frames)));
        println!("{name} {kind}: {sum:x}");
        return;
    }
    let payload_bytes = arguments.first().map_or(128, |bytes| bytes.parse().expect("bytes"));
    for kind in KINDS {
        let frames = frames(kind, payload_bytes);
        let mut peers = PEERS.map(|name| peer(name, kind));
        let sums = peers.each_mut().map(|peer| peer.read(&frames));
        assert!(sums.iter().all(|sum| *sum == sums[0]), "the peers differ: {sums:?}");
        let mut best: [Vec<f64>; 3] = Default::default();
        for _ in 0..TURNS {
            for (peer, best) in peers.iter_mut().zip(&mut best) {
                let spans = (0..ROUNDS).map(|_| {
                    let start = Instant::now();
                    black_box(peer.read(black_box(&frames)));
                    start.elapsed().as_nanos() as f64
                });
                best.push(spans.fold(f64::MAX, f64::min) / FRAMES as f64);
            }
        }
        for (name, best) in PEERS.iter().zip(&mut best) {
            best.sort_by(f64::total_cmp);
            let median = best[TURNS / 2];
            println!("{kind} frames of {payload_bytes} bytes, {name}: {median:.1} ns a frame");
        }
    }
}
