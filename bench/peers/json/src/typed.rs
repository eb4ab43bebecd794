//! The peers: borrowed typed structs, filled by serde_json or by sonic-rs.
//!
//! Which struct a frame is read into is told by the name of its stream, found without a parse, so
//! that the frame is read once. The decimals are read by the same code as taut's: in the form of
//! the one before where it has that form.

use serde::Deserialize;
use taut_types::{DecimalForm, parse_decimal};

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

/// Prices or sizes, mostly in one form: taut's own reader of decimals.
struct Column {
    form: Option<DecimalForm>,
    decimals: u8,
}

impl Column {
    /// A decimal of the frame. Being borrowed from it, it can be read eight bytes at a time,
    /// however short it is.
    #[inline]
    fn read(&mut self, frame: &[u8], text: &str) -> i64 {
        let offset = text.as_ptr().addr().wrapping_sub(frame.as_ptr().addr());
        if let Some(form) = &self.form
            && form.byte_count() == text.len()
            && let Some(value) = frame.get(offset..).and_then(|text| form.read(text))
        {
            return value;
        }
        self.form = DecimalForm::of(text.as_bytes(), self.decimals);
        parse_decimal(text.as_bytes(), self.decimals).expect("a decimal")
    }
}

/// The forms of prices and sizes, kept from frame to frame as taut keeps them.
pub struct Columns {
    price: Column,
    size: Column,
}

impl Columns {
    pub fn new() -> Self {
        let column = |decimals| Column { form: None, decimals };
        Self { price: column(9), size: column(8) }
    }

    #[inline]
    fn quote(&mut self, frame: &[u8], (price, size): (&str, &str)) -> u64 {
        let price = self.price.read(frame, price);
        price.wrapping_add(self.size.read(frame, size)).cast_unsigned()
    }

    fn levels(&mut self, frame: &[u8], pairs: &Pairs<'_>) -> u64 {
        pairs.iter().fold(0, |sum, &pair| sum.wrapping_add(self.quote(frame, pair)))
    }
}

/// The sum of what a frame says.
pub fn sum<R: Reader>(columns: &mut Columns, frame: &[u8]) -> u64 {
    // {"stream":"btcusdt@depth@100ms","data":...
    let head = &frame[..frame.len().min(40)];
    let has = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
    if has(b"@depth") {
        let Envelope::<Depth<'_>> { data, .. } = R::read(frame);
        data.first_id
            .wrapping_add(data.u)
            .wrapping_add(columns.levels(frame, &data.b))
            .wrapping_add(columns.levels(frame, &data.a))
    } else if has(b"@bookTicker") {
        let Envelope::<Ticker<'_>> { data, .. } = R::read(frame);
        let bid = columns.quote(frame, (data.b, data.bid_size));
        let ask = columns.quote(frame, (data.a, data.ask_size));
        data.u.wrapping_mul(2).wrapping_add(bid).wrapping_add(ask)
    } else if has(b"@trade") {
        let Envelope::<Trade<'_>> { data, .. } = R::read(frame);
        let side = u64::from(data.m);
        let quote = columns.quote(frame, (data.p, data.q));
        data.t.wrapping_mul(2).wrapping_add(quote).wrapping_add(side)
    } else {
        let data: Snapshot<'_> = R::read(frame);
        data.last_id
            .wrapping_mul(2)
            .wrapping_add(columns.levels(frame, &data.bids))
            .wrapping_add(columns.levels(frame, &data.asks))
    }
}
