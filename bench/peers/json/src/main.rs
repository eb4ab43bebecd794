//! Recorded Binance frames to normalized events: taut's decoder, serde_json, sonic-rs.
//!
//! `peer-json time CAPTURE` prints nanoseconds per frame, the median of 11 turns in which the three
//! alternate, and the ratios, as one JSON line. `peer-json count PEER KIND CAPTURE ROUNDS` reads
//! the frames of a kind again and again, for callgrind. All three must come to the same sum.

mod typed;

use std::hint::black_box;
use std::io::Read;
use std::time::Instant;

use taut_market_data::binance::{BinanceJson, DepthBook};
use taut_market_data::{Batch, Context, Event, EventKind};
use taut_types::{Nanos, Side};

use typed::{SerdeJson, Sonic};

const TURNS: usize = 11;
/// Pieces of a turn, in which the three alternate; the shortest counts, because others work on the
/// machine too.
const SLICES: usize = 15;
/// Frames of a slice: a sample of the capture that stays in the cache.
const FRAMES: usize = 512;
const PEERS: [&str; 3] = ["taut", "serde_json", "sonic-rs"];
const KINDS: [(&str, &str); 4] =
    [("all", ""), ("depth", "@depth"), ("bookTicker", "@bookTicker"), ("trade", "@trade")];

fn frames(path: &str) -> Vec<Vec<u8>> {
    let file = std::fs::File::open(path).expect("the capture can be read");
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).expect("gzip");
    text.lines().map(|line| line.split_once(' ').expect("a time").1.as_bytes().to_vec()).collect()
}

/// The sum of what a frame says, as the peers compute it.
#[inline]
fn sum_event(sum: &mut u64, context: &Context<'_>, event: &Event) {
    let add = |value: i64| value.cast_unsigned();
    *sum = sum.wrapping_add(match event.kind {
        EventKind::Begin(Batch::Update | Batch::Snapshot | Batch::BestLevels)
        | EventKind::Status(_) => context.sequence.first.wrapping_add(context.sequence.last),
        EventKind::Level(level) => add(level.price.0.wrapping_add(level.lots.0)),
        EventKind::Top(top) => {
            let (bid, ask) = (top.bid.unwrap_or_default(), top.ask.unwrap_or_default());
            add(bid.0.0)
                .wrapping_add(add(bid.1.0))
                .wrapping_add(add(ask.0.0))
                .wrapping_add(add(ask.1.0))
                .wrapping_add(context.sequence.last.wrapping_mul(2))
        }
        EventKind::Trade(trade) => add(trade.price.0.wrapping_add(trade.lots.0))
            .wrapping_add(trade.trade_id.wrapping_mul(2))
            .wrapping_add(u64::from(trade.aggressor == Some(Side::Sell))),
        _ => 0,
    });
}

fn sum_taut(decoder: &mut BinanceJson, frames: &[&[u8]]) -> u64 {
    let mut sum = 0;
    for frame in frames {
        let mut sink = |context: &Context<'_>, event: &Event| sum_event(&mut sum, context, event);
        decoder.decode(Nanos(0), black_box(frame), &mut sink).expect("a recorded frame");
    }
    black_box(sum)
}

fn sum_typed<R: typed::Reader>(frames: &[&[u8]]) -> u64 {
    let mut columns = typed::Columns::new();
    let sums = frames.iter().map(|frame| typed::sum::<R>(&mut columns, black_box(frame)));
    black_box(sums.fold(0, u64::wrapping_add))
}

fn sum(peer: &str, decoder: &mut BinanceJson, frames: &[&[u8]]) -> u64 {
    match peer {
        "taut" => sum_taut(decoder, frames),
        "serde_json" => sum_typed::<SerdeJson>(frames),
        "sonic-rs" => sum_typed::<Sonic>(frames),
        _ => panic!("the peers are {PEERS:?}"),
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Frames of a kind, evenly out of the whole capture.
fn sample<'a>(frames: &'a [Vec<u8>], stream: &str) -> Vec<&'a [u8]> {
    let is_of = |frame: &&[u8]| {
        let head = String::from_utf8_lossy(&frame[..frame.len().min(40)]);
        head.starts_with("{\"stream\"") && head.contains(stream)
    };
    let all: Vec<&[u8]> = frames.iter().map(Vec::as_slice).filter(is_of).collect();
    let step = (all.len() / FRAMES).max(1);
    all.into_iter().step_by(step).take(FRAMES).collect()
}

fn time(capture: &str) {
    let frames = frames(capture);
    let mut decoder = BinanceJson::default();
    let mut kinds = Vec::new();
    for (kind, stream) in KINDS {
        let frames = sample(&frames, stream);
        let sums = PEERS.map(|peer| sum(peer, &mut decoder, &frames));
        assert!(sums.iter().all(|&sum| sum == sums[0]), "{kind}: the sums differ: {sums:?}");
        let mut medians: [Vec<f64>; 3] = Default::default();
        for _ in 0..TURNS {
            let mut best = [f64::INFINITY; 3];
            for _ in 0..SLICES {
                for (at, peer) in PEERS.iter().enumerate() {
                    let start = Instant::now();
                    black_box(sum(peer, &mut decoder, &frames));
                    let each = start.elapsed().as_nanos() as f64 / frames.len() as f64;
                    best[at] = best[at].min(each);
                }
            }
            for (all, best) in medians.iter_mut().zip(best) {
                all.push(best);
            }
        }
        let [taut, serde, sonic] = medians.map(median);
        let bytes: usize = frames.iter().map(|frame| frame.len()).sum();
        kinds.push(format!(
            "\"{kind}\":{{\"bytes\":{},\"taut_ns\":{taut:.1},\"serde_json_ns\":{serde:.1},\
             \"sonic_rs_ns\":{sonic:.1},\"serde_json_ratio\":{:.2},\"sonic_rs_ratio\":{:.2}}}",
            bytes / frames.len(),
            serde / taut,
            sonic / taut
        ));
    }
    println!("{{\"frame_to_events\":{{{}}},{}}}", kinds.join(","), book(&frames));
}

/// From the frame to the updated book, over the whole capture in its order.
fn book(frames: &[Vec<u8>]) -> String {
    let mut decoder = BinanceJson::default();
    let mut times = Vec::new();
    let mut updates = 0u64;
    for _ in 0..5 {
        let mut book = DepthBook::new(1 << 16, 1 << 10);
        updates = 0;
        let start = Instant::now();
        for frame in frames {
            let mut sink = |context: &Context<'_>, event: &Event| {
                book.on_event(context, event, &mut |_| updates += 1);
            };
            decoder.decode(Nanos(0), frame, &mut sink).expect("a recorded frame");
        }
        times.push(start.elapsed().as_nanos() as f64 / frames.len() as f64);
    }
    format!(
        "\"frame_to_book\":{{\"frames\":{},\"updates\":{updates},\"taut_ns\":{:.1}}}",
        frames.len(),
        median(times)
    )
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["time", capture] => time(capture),
        ["count", peer, kind, capture, rounds] => {
            let frames = frames(capture);
            let stream = KINDS.iter().find(|(name, _)| *name == kind).expect("a kind").1;
            let frames = sample(&frames, stream);
            let mut decoder = BinanceJson::default();
            for _ in 0..rounds.parse().expect("a number") {
                black_box(sum(peer, &mut decoder, &frames));
            }
        }
        _ => panic!("peer-json time CAPTURE | count PEER KIND CAPTURE ROUNDS"),
    }
}
