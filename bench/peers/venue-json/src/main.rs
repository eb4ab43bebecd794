//! A venue's JSON, both ways: recorded frames to an updated book, and orders to bytes; taut beside
//! serde_json, sonic-rs and simd-json with typed structs.
//!
//! `peer-venue-json FRAMES CAPTURES [ROW]` prints nanoseconds per frame or order and the ratios to
//! taut, the medians of eleven turns in which all alternate; of the rows that begin so. Before
//! anything is timed, all must have come to equal books, or to JSON of equal values.

mod binance;
mod deribit;
mod follow;
mod frames;
mod orders;
mod peers;
mod turns;

fn main() {
    let folders: Vec<String> = std::env::args().skip(1).collect();
    let [frames, captures, ..] = &folders[..] else {
        panic!("peer-venue-json FRAMES CAPTURES [ROW]")
    };
    println!("{}", turns::HEAD);
    deribit::recorded(frames);
    deribit::generated();
    binance::recorded(frames);
    binance::captured(captures);
    orders::all();
}
