//! Millions of random inputs for codec and session, from a seed: what the fuzz targets run, without
//! a fuzzer.
//!
//! `TAUT_EXECUTIONS=10000000 cargo test --release -p taut-fix --test millions -- --nocapture`; an
//! ordinary run does twenty thousand. A failure prints the input.
#![forbid(unsafe_code)]

mod codec;
mod session;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const SEED: u64 = 0x5EED_F1F0_2026_1120;
/// What random edits start from.
const SAMPLES: [&str; 4] = [
    "8=FIX.4.4|9=145|35=D|34=4|49=BUYER|52=20260302-09:30:00.000|56=VENUE|11=1|21=1|38=100|40=2|\
     44=585.33|54=1|55=AAPL|59=0|60=20260302-09:30:00.000|453=1|448=X|447=D|452=1|10=000|",
    "34=2|49=A|52=20260302-09:30:00|56=B|95=5|96=a\x01b=c|11=1|54=1|55=X|60=20260302-09:30:00|",
    "8=FIX.4.4|9=5|35=0|10=163|8=FIX.4.4|9=5|35=0|10=163|8=FIX.4.4|9=5|35=1|10=164|",
    "34=7|49=A|52=20260302-09:30:00.123456789012|56=B|78=2|79=a|80=1|79=b|80=-1.5|38=.5|44=00|",
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// A message or two with some bytes changed, put in or taken out.
    fn text(&mut self) -> Vec<u8> {
        let mut bytes = SAMPLES[self.below(SAMPLES.len())].replace('|', "\x01").into_bytes();
        for _ in 0..self.below(6) {
            let (at, random) = (self.below(bytes.len()), self.next());
            let usual = b"\x01=|019.-8A\xff"[self.below(11)];
            let byte = if random & 1 == 0 { usual } else { (random >> 8) as u8 };
            match random >> 1 & 3 {
                0 => bytes.insert(at, byte),
                1 if !bytes.is_empty() => drop(bytes.remove(at)),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|place| *place = byte),
            }
        }
        bytes
    }

    fn operations(&mut self) -> Vec<u8> {
        (0..1 + self.below(60)).map(|_| (self.next() >> 24) as u8).collect()
    }
}

fn executions() -> u64 {
    std::env::var("TAUT_EXECUTIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

/// Runs so many inputs; the one that fails is printed.
fn run(count: u64, mut input: impl FnMut(&mut Random) -> Vec<u8>, run: fn(&[u8])) {
    let mut random = Random(SEED);
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
    run(executions() * 4 / 5, Random::text, codec::run);
}

#[test]
fn no_order_is_lost_whatever_the_link_does() {
    run(executions().div_ceil(5), Random::operations, session::run);
}
