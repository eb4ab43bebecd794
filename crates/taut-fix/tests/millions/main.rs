//! Millions of random inputs for codec and session, from a seed: what the fuzz targets run, without
//! a fuzzer.
//!
//! `TAUT_EXECUTIONS=10000000 cargo test --release -p taut-fix --test millions -- --nocapture`; an
//! ordinary run does twenty thousand. A failure prints the input.
#![forbid(unsafe_code)]

mod codec;
mod session;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use taut_testkit::{Draw, Random};

const SEED: u64 = 0x5EED_F1F0_2026_1120;
/// What random edits start from.
const SAMPLES: [&str; 4] = [
    "8=FIX.4.4|9=145|35=D|34=4|49=BUYER|52=20260302-09:30:00.000|56=VENUE|11=1|21=1|38=100|40=2|\
     44=585.33|54=1|55=AAPL|59=0|60=20260302-09:30:00.000|453=1|448=X|447=D|452=1|10=000|",
    "34=2|49=A|52=20260302-09:30:00|56=B|95=5|96=a\x01b=c|11=1|54=1|55=X|60=20260302-09:30:00|",
    "8=FIX.4.4|9=5|35=0|10=163|8=FIX.4.4|9=5|35=0|10=163|8=FIX.4.4|9=5|35=1|10=164|",
    "34=7|49=A|52=20260302-09:30:00.123456789012|56=B|78=2|79=a|80=1|79=b|80=-1.5|38=.5|44=00|",
];

/// A message or two with some bytes changed, put in or taken out.
fn text(random: &mut Random) -> Vec<u8> {
    let mut bytes = random.pick(&SAMPLES).replace('|', "\x01").into_bytes();
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len() as u64) as usize;
        let usual = random.pick(b"\x01=|019.-8A\xff");
        let byte = if random.bool() { usual } else { random.u8(..) };
        match random.below(4) {
            0 => bytes.insert(at, byte),
            1 if !bytes.is_empty() => drop(bytes.remove(at)),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|place| *place = byte),
        }
    }
    bytes
}

fn operations(random: &mut Random) -> Vec<u8> {
    (0..1 + random.below(60)).map(|_| random.u8(..)).collect()
}

fn executions() -> u64 {
    std::env::var("TAUT_EXECUTIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

/// Runs so many inputs; the one that fails is printed.
fn run(count: u64, mut input: impl FnMut(&mut Random) -> Vec<u8>, run: fn(&[u8])) {
    let mut random = Random::with_seed(SEED);
    for at in 0..count {
        let input = input(&mut random);
        if let Err(cause) = catch_unwind(AssertUnwindSafe(|| run(&input))) {
            println!("execution {at}: {input:?}");
            resume_unwind(cause);
        }
    }
    println!("{count} executions");
}

#[test]
fn the_codec_takes_any_bytes() {
    run(executions() * 4 / 5, text, codec::run);
}

#[test]
fn no_order_is_lost_whatever_the_link_does() {
    run(executions().div_ceil(5), operations, session::run);
}

/// What a fuzzer found: each request is itself a message that the other side misses.
#[test]
fn two_sessions_that_ask_for_one_message_at_a_time_come_to_rest() {
    // A chunk of one, the first Logon is lost; then the far side gets one, and the link breaks.
    let logons = [86, 13].repeat(90);
    session::run(&[&[8, 13][..], &logons].concat());
}
