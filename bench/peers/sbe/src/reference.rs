//! The reference generator's codec, used as its documentation says.

use spot_stream::best_bid_ask_stream_event_codec::{
    BestBidAskStreamEventDecoder, BestBidAskStreamEventEncoder, SBE_TEMPLATE_ID as BEST_ID,
};
use spot_stream::depth_diff_stream_event_codec::encoder::{AsksEncoder, BidsEncoder};
use spot_stream::depth_diff_stream_event_codec::{
    DepthDiffStreamEventDecoder, DepthDiffStreamEventEncoder, SBE_TEMPLATE_ID as DEPTH_ID,
};
use spot_stream::message_header_codec::{ENCODED_LENGTH, MessageHeaderDecoder};
use spot_stream::{Encoder, ReadBuf, SbeResult, WriteBuf};

use crate::{Case, LEVELS, Source};

pub const BEST: Case = Case { name: "best bid/ask", encode: encode_best, decode: decode_best };

pub const DEPTH: Case = Case {
    name: "depth diff 20 x 20",
    encode: |source, buffer| encode_depth(source, buffer).expect("it fits"),
    decode: |message| decode_depth(message).expect("a message"),
};

fn encode_best(source: &Source, buffer: &mut [u8]) -> usize {
    let to = BestBidAskStreamEventEncoder::default();
    let to = to.wrap(WriteBuf::new(buffer), ENCODED_LENGTH);
    let mut to = to.header(0).parent().expect("it has a parent");
    let [bids, asks] = &source.levels;
    to.event_time(source.time);
    to.book_update_id(source.id);
    to.price_exponent(-2);
    to.qty_exponent(-8);
    to.bid_price(bids[0].0);
    to.bid_qty(bids[0].1);
    to.ask_price(asks[0].0);
    to.ask_qty(asks[0].1);
    to.symbol(&source.symbol);
    to.get_limit()
}

fn decode_best(bytes: &[u8]) -> i64 {
    let header = MessageHeaderDecoder::default().wrap(ReadBuf::new(bytes), 0);
    if header.template_id() != BEST_ID {
        return 0;
    }
    let mut message = BestBidAskStreamEventDecoder::default().header(header, 0);
    let sum = message
        .event_time()
        .wrapping_add(message.book_update_id())
        .wrapping_add(message.price_exponent().into())
        .wrapping_add(message.qty_exponent().into())
        .wrapping_add(message.bid_price())
        .wrapping_add(message.bid_qty())
        .wrapping_add(message.ask_price())
        .wrapping_add(message.ask_qty());
    let coordinates = message.symbol_decoder();
    sum.wrapping_add(crate::symbol(message.symbol_slice(coordinates)))
}

fn encode_depth(source: &Source, buffer: &mut [u8]) -> SbeResult<usize> {
    let to = DepthDiffStreamEventEncoder::default();
    let mut to = to.wrap(WriteBuf::new(buffer), ENCODED_LENGTH).header(0).parent()?;
    let [bids, asks] = &source.levels;
    to.event_time(source.time);
    to.first_book_update_id(source.id);
    to.last_book_update_id(source.id);
    to.price_exponent(-2);
    to.qty_exponent(-8);
    let mut group = to.bids_encoder(LEVELS as u16, BidsEncoder::default());
    for level in bids {
        group.advance()?;
        group.price(level.0);
        group.qty(level.1);
    }
    let mut group = group.parent()?.asks_encoder(LEVELS as u16, AsksEncoder::default());
    for level in asks {
        group.advance()?;
        group.price(level.0);
        group.qty(level.1);
    }
    let mut to = group.parent()?;
    to.symbol(&source.symbol);
    Ok(to.get_limit())
}

fn decode_depth(bytes: &[u8]) -> SbeResult<i64> {
    let header = MessageHeaderDecoder::default().wrap(ReadBuf::new(bytes), 0);
    if header.template_id() != DEPTH_ID {
        return Ok(0);
    }
    let message = DepthDiffStreamEventDecoder::default().header(header, 0);
    let mut sum = message
        .event_time()
        .wrapping_add(message.first_book_update_id())
        .wrapping_add(message.last_book_update_id())
        .wrapping_add(message.price_exponent().into())
        .wrapping_add(message.qty_exponent().into());
    let mut bids = message.bids_decoder();
    while bids.advance()?.is_some() {
        sum = sum.wrapping_add(bids.price()).wrapping_sub(bids.qty());
    }
    let mut asks = bids.parent()?.asks_decoder();
    while asks.advance()?.is_some() {
        sum = sum.wrapping_add(asks.price()).wrapping_sub(asks.qty());
    }
    let mut message = asks.parent()?;
    let coordinates = message.symbol_decoder();
    Ok(sum.wrapping_add(crate::symbol(message.symbol_slice(coordinates))))
}
