//! taut's generated codec.

#[allow(missing_docs)]
mod stream {
    include!(concat!(env!("OUT_DIR"), "/stream.rs"));
}

use stream::{
    BestBidAskStreamEventDecoder, BestBidAskStreamEventEncoder, DecodeError,
    DepthDiffStreamEventDecoder, DepthDiffStreamEventEncoder, EncodeError,
};

use crate::{Case, Source};

pub const BEST: Case = Case {
    name: "best bid/ask",
    encode: |source, buffer| encode_best(source, buffer).expect("it fits"),
    decode: |message| decode_best(message).expect("a message"),
};

pub const DEPTH: Case = Case {
    name: "depth diff 20 x 20",
    encode: |source, buffer| encode_depth(source, buffer).expect("it fits"),
    decode: |message| decode_depth(message).expect("a message"),
};

fn encode_best(source: &Source, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let mut to = BestBidAskStreamEventEncoder::new(buffer)?;
    let [bids, asks] = &source.levels;
    to.event_time(source.time)
        .book_update_id(source.id)
        .price_exponent(-2)
        .qty_exponent(-8)
        .bid_price(bids[0].0)
        .bid_qty(bids[0].1)
        .ask_price(asks[0].0)
        .ask_qty(asks[0].1);
    Ok(to.symbol(&source.symbol)?.finish())
}

fn decode_best(bytes: &[u8]) -> Result<i64, DecodeError> {
    let message = BestBidAskStreamEventDecoder::decode(bytes)?;
    let symbol = message.symbol();
    Ok(message
        .event_time()
        .wrapping_add(message.book_update_id())
        .wrapping_add(message.price_exponent().into())
        .wrapping_add(message.qty_exponent().into())
        .wrapping_add(message.bid_price())
        .wrapping_add(message.bid_qty())
        .wrapping_add(message.ask_price())
        .wrapping_add(message.ask_qty())
        .wrapping_add(crate::symbol(symbol)))
}

fn encode_depth(source: &Source, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let mut to = DepthDiffStreamEventEncoder::new(buffer)?;
    let [bids, asks] = &source.levels;
    to.event_time(source.time)
        .first_book_update_id(source.id)
        .last_book_update_id(source.id)
        .price_exponent(-2)
        .qty_exponent(-8);
    let to = to.bids(bids, |entry, level| {
        entry.price(level.0).qty(level.1);
    })?;
    let to = to.asks(asks, |entry, level| {
        entry.price(level.0).qty(level.1);
    })?;
    Ok(to.symbol(&source.symbol)?.finish())
}

fn decode_depth(bytes: &[u8]) -> Result<i64, DecodeError> {
    let message = DepthDiffStreamEventDecoder::decode(bytes)?;
    let mut sum = message
        .event_time()
        .wrapping_add(message.first_book_update_id())
        .wrapping_add(message.last_book_update_id())
        .wrapping_add(message.price_exponent().into())
        .wrapping_add(message.qty_exponent().into());
    for level in message.bids() {
        sum = sum.wrapping_add(level.price()).wrapping_sub(level.qty());
    }
    for level in message.asks() {
        sum = sum.wrapping_add(level.price()).wrapping_sub(level.qty());
    }
    Ok(sum.wrapping_add(crate::symbol(message.symbol())))
}
