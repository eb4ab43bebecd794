//! Encodes and decodes 1,024 distinct messages with taut's codec and with the reference's.
//!
//! `peer-sbe time` prints nanoseconds per message, the median of 11 turns; in each the two
//! alternate and the shortest slice counts. `peer-sbe PEER MESSAGE VERB COUNT` does one thing COUNT
//! times, for callgrind.

mod reference;
mod taut;

use std::hint::black_box;
use std::time::Instant;

/// How many distinct messages there are.
const MESSAGES: usize = 1_024;
/// The levels of each side.
pub const LEVELS: usize = 20;
const TURNS: usize = 11;
/// Slices of a turn, in which the two alternate; the shortest counts, because others work on the
/// machine too.
const SLICES: usize = 60;
const ROUNDS: usize = 4;

/// What a message says.
pub struct Source {
    pub time: i64,
    pub id: i64,
    pub levels: [[(i64, i64); LEVELS]; 2],
    pub symbol: String,
}

/// What a message needs at most.
type Buffer = [u8; 704];

pub struct Case {
    pub name: &'static str,
    pub encode: fn(&Source, &mut [u8]) -> usize,
    pub decode: fn(&[u8]) -> i64,
}

fn sources() -> Vec<Source> {
    let mut random = 88_172_645_463_325_252_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 8) as i64
    };
    (0..MESSAGES)
        .map(|at| Source {
            time: next(),
            id: next(),
            levels: std::array::from_fn(|_| std::array::from_fn(|_| (next(), next()))),
            symbol: format!("SYM{at:04}"),
        })
        .collect()
}

fn encode_all(case: &Case, sources: &[Source], buffers: &mut [Buffer], rounds: usize) -> i64 {
    let mut sum = 0;
    for _ in 0..rounds {
        for (source, buffer) in sources.iter().zip(buffers.iter_mut()) {
            sum += (case.encode)(black_box(source), black_box(buffer.as_mut_slice())) as i64;
        }
    }
    black_box(sum)
}

fn decode_all(case: &Case, messages: &[&[u8]], rounds: usize) -> i64 {
    let mut sum = 0_i64;
    for _ in 0..rounds {
        for message in messages {
            sum = sum.wrapping_add((case.decode)(black_box(message)));
        }
    }
    black_box(sum)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Both write the same bytes, and read the same values from them.
fn check(cases: &[Case; 2], sources: &[Source]) -> Vec<Vec<u8>> {
    let [taut, reference] = cases;
    sources
        .iter()
        .map(|source| {
            let (mut ours, mut theirs) = ([0; 704], [0; 704]);
            let length = (taut.encode)(source, &mut ours);
            assert_eq!(length, (reference.encode)(source, &mut theirs), "{}", taut.name);
            assert_eq!(ours[..length], theirs[..length], "{}: the bytes differ", taut.name);
            let message = ours[..length].to_vec();
            assert_eq!((taut.decode)(&message), (reference.decode)(&message));
            message
        })
        .collect()
}

fn time() {
    let sources = sources();
    let mut buffers = vec![[0; 704]; MESSAGES];
    for cases in pairs() {
        let messages = check(&cases, &sources);
        let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        println!("{}: {} bytes, {MESSAGES} messages alike", cases[0].name, messages[0].len());
        for verb in ["encode", "decode"] {
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..TURNS {
                let mut turn = [f64::MAX; 2];
                for _ in 0..SLICES {
                    for (case, shortest) in cases.iter().zip(&mut turn) {
                        let start = Instant::now();
                        if verb == "encode" {
                            encode_all(case, &sources, &mut buffers, ROUNDS);
                        } else {
                            decode_all(case, &slices, ROUNDS);
                        }
                        let each = start.elapsed().as_secs_f64() / (ROUNDS * MESSAGES) as f64;
                        *shortest = shortest.min(each * 1e9);
                    }
                }
                times.iter_mut().zip(turn).for_each(|(times, time)| times.push(time));
            }
            let [ours, theirs] = times.map(median);
            println!(
                "  {verb}: taut {ours:.1} ns, reference {theirs:.1} ns, ratio {:.2}",
                ours / theirs
            );
        }
    }
}

fn pairs() -> [[Case; 2]; 2] {
    [[taut::BEST, reference::BEST], [taut::DEPTH, reference::DEPTH]]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let &[peer, message, verb, count] = words.as_slice() else { return time() };
    let [best, depth] = pairs();
    let [ours, theirs] = if message == "best" { best } else { depth };
    let case = if peer == "taut" { ours } else { theirs };
    let rounds = count.parse::<usize>().expect("a count") / MESSAGES;
    let sources = sources();
    let mut buffers = vec![[0; 704]; MESSAGES];
    let lengths: Vec<usize> =
        sources.iter().zip(&mut buffers).map(|(from, to)| (case.encode)(from, to)).collect();
    if verb == "encode" {
        encode_all(&case, &sources, &mut buffers, rounds);
    } else {
        let slices: Vec<&[u8]> =
            buffers.iter().zip(lengths).map(|(buffer, length)| &buffer[..length]).collect();
        decode_all(&case, &slices, rounds);
    }
}

/// Reads a symbol: its length and its first eight bytes.
#[inline]
pub fn symbol(bytes: &[u8]) -> i64 {
    let length = bytes.len() as i64;
    let add = |sum: i64, &letter: &u8| sum.wrapping_mul(31).wrapping_add(letter.into());
    bytes.iter().take(8).fold(length, add)
}
