//! The peers: borrowed typed structs, filled by serde_json or by sonic-rs.
//!
//! Which struct a frame is read into is told by the name of its stream, found without a parse, so
//! that the frame is read once. The decimals are read by the same code as taut's.

use serde::Deserialize;
use taut_types::{Price, parse_decimal};

#[derive(Deserialize)]
struct Envelope<'a, T> {
    #[serde(borrow)]
    #[allow(dead_code)]
    stream: &'a str,
    data: T,
}

type Pairs<'a> = Vec<(&'a str, &'a str)>;

#[derive(Deserialize)]
struct Snapshot<'a> {
    #[serde(rename = "lastUpdateId")]
    last_id: u64,
    #[serde(borrow)]
    bids: Pairs<'a>,
    #[serde(borrow)]
    asks: Pairs<'a>,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Depth<'a> {
    s: &'a str,
    #[serde(rename = "E")]
    event_time: u64,
    #[serde(rename = "T")]
    time: Option<u64>,
    #[serde(rename = "U")]
    first_id: u64,
    u: u64,
    pu: Option<u64>,
    #[serde(borrow)]
    b: Pairs<'a>,
    #[serde(borrow)]
    a: Pairs<'a>,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Ticker<'a> {
    s: &'a str,
    #[serde(rename = "T")]
    time: Option<u64>,
    u: u64,
    b: &'a str,
    #[serde(rename = "B")]
    bid_size: &'a str,
    a: &'a str,
    #[serde(rename = "A")]
    ask_size: &'a str,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Trade<'a> {
    s: &'a str,
    #[serde(rename = "T")]
    time: u64,
    t: u64,
    p: &'a str,
    q: &'a str,
    m: bool,
}

/// A function that fills a struct from a frame: generic over the struct, so a trait.
pub trait Reader {
    fn read<'a, T: Deserialize<'a>>(frame: &'a [u8]) -> T;
}

pub struct SerdeJson;
pub struct Sonic;

impl Reader for SerdeJson {
    fn read<'a, T: Deserialize<'a>>(frame: &'a [u8]) -> T {
        serde_json::from_slice(frame).expect("a recorded frame")
    }
}

impl Reader for Sonic {
    fn read<'a, T: Deserialize<'a>>(frame: &'a [u8]) -> T {
        sonic_rs::from_slice(frame).expect("a recorded frame")
    }
}

fn quote((price, size): (&str, &str)) -> u64 {
    let price = Price::parse(price.as_bytes()).expect("a price").0;
    let lots = parse_decimal(size.as_bytes(), 8).expect("a size");
    price.wrapping_add(lots).cast_unsigned()
}

fn levels(pairs: &Pairs<'_>) -> u64 {
    pairs.iter().fold(0, |sum, &pair| sum.wrapping_add(quote(pair)))
}

/// The sum of what a frame says.
pub fn sum<R: Reader>(frame: &[u8]) -> u64 {
    // {"stream":"btcusdt@depth@100ms","data":...
    let head = &frame[..frame.len().min(40)];
    let has = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
    if has(b"@depth") {
        let Envelope::<Depth<'_>> { data, .. } = R::read(frame);
        data.first_id
            .wrapping_add(data.u)
            .wrapping_add(levels(&data.b))
            .wrapping_add(levels(&data.a))
    } else if has(b"@bookTicker") {
        let Envelope::<Ticker<'_>> { data, .. } = R::read(frame);
        let quotes = quote((data.b, data.bid_size)).wrapping_add(quote((data.a, data.ask_size)));
        data.u.wrapping_mul(2).wrapping_add(quotes)
    } else if has(b"@trade") {
        let Envelope::<Trade<'_>> { data, .. } = R::read(frame);
        let side = u64::from(data.m);
        data.t.wrapping_mul(2).wrapping_add(quote((data.p, data.q))).wrapping_add(side)
    } else {
        let data: Snapshot<'_> = R::read(frame);
        data.last_id
            .wrapping_mul(2)
            .wrapping_add(levels(&data.bids))
            .wrapping_add(levels(&data.asks))
    }
}
