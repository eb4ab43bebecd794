// The hot messages, each behind one function whose code is looked at: read every field, write every
// field.

#[inline(never)]
pub fn decode_best(bytes: &[u8]) -> Option<i64> {
    let message = sbe::BestBidAskStreamEventDecoder::decode(bytes).ok()?;
    Some(
        message.event_time()
            ^ message.book_update_id()
            ^ i64::from(message.price_exponent())
            ^ i64::from(message.qty_exponent())
            ^ message.bid_price()
            ^ message.bid_qty()
            ^ message.ask_price()
            ^ message.ask_qty()
            ^ message.symbol().len() as i64,
    )
}

#[inline(never)]
pub fn decode_depth(bytes: &[u8]) -> Option<i64> {
    let message = sbe::DepthDiffStreamEventDecoder::decode(bytes).ok()?;
    let bids = message.bids().into_iter().fold(0, |sum, level| sum ^ level.price() ^ level.qty());
    let asks = message.asks().into_iter().fold(0, |sum, level| sum ^ level.price() ^ level.qty());
    let one = message.bids().get(3).map_or(0, |level| level.price());
    Some(message.event_time() ^ bids ^ asks ^ one ^ message.symbol().len() as i64)
}

#[inline(never)]
pub fn decode_snapshot(bytes: &[u8]) -> Option<i64> {
    let message = sbe::DepthSnapshotStreamEventDecoder::decode(bytes).ok()?;
    let bids = message.bids().into_iter().fold(0, |sum, level| sum ^ level.price() ^ level.qty());
    let asks = message.asks().into_iter().fold(0, |sum, level| sum ^ level.price() ^ level.qty());
    Some(message.book_update_id() ^ bids ^ asks ^ message.symbol().len() as i64)
}

#[inline(never)]
pub fn decode_trades(bytes: &[u8]) -> Option<i64> {
    let message = sbe::TradesStreamEventDecoder::decode(bytes).ok()?;
    let trades = message.trades().into_iter().fold(0, |sum, trade| {
        sum ^ trade.id() ^ trade.price() ^ trade.qty() ^ i64::from(trade.is_buyer_maker().raw())
    });
    Some(message.transact_time() ^ trades ^ message.symbol().len() as i64)
}

#[inline(never)]
pub fn decode_any(bytes: &[u8]) -> bool {
    sbe::Message::decode(bytes).is_ok()
}

#[inline(never)]
pub fn encode_depth(buffer: &mut [u8], levels: &[(i64, i64)], symbol: &[u8]) -> Option<usize> {
    let mut to = sbe::DepthDiffStreamEventEncoder::new(buffer).ok()?;
    to.event_time(1).first_book_update_id(2).last_book_update_id(3).price_exponent(-2);
    let to = to
        .bids(levels, |entry, level| {
            entry.price(level.0).qty(level.1);
        })
        .ok()?;
    let to = to
        .asks(levels, |entry, level| {
            entry.price(level.0).qty(level.1);
        })
        .ok()?;
    Some(to.symbol(symbol).ok()?.finish())
}
