//! Orders as words, for snapshots and journals.

use taut_types::{HalfTicks, Lots, Nanos, OrderId, OrderType, Side, TimeInForce};

use crate::order::NewOrder;
use crate::terms::{AuctionOnly, Peg, PostOnly, SelfTrade, Terms, Trigger, feature as f};

/// How many words an order takes.
pub(crate) const ORDER_WORDS: usize = 11;

pub(crate) fn order_to_words(order: &NewOrder) -> [u64; ORDER_WORDS] {
    let terms = &order.terms;
    [
        order.order_id.0,
        order.price.0.cast_unsigned(),
        order.lots.0.cast_unsigned(),
        pair(
            order.owner,
            bytes([order.side as u8, order.order_type as u8, order.time_in_force as u8, 0]),
        ),
        terms.trigger_price.0.cast_unsigned(),
        terms.display.0.cast_unsigned(),
        terms.minimum.0.cast_unsigned(),
        terms.expires.0.cast_unsigned(),
        pair(terms.offset.cast_unsigned(), terms.protection),
        pair(terms.group, terms.session),
        pair(
            terms.features | (terms.self_trade as u32) << 24,
            bytes([
                terms.trigger as u8,
                terms.peg as u8,
                terms.post_only as u8,
                terms.auction as u8,
            ]),
        ),
    ]
}

/// The order in these words, if they are one.
pub(crate) fn order_from_words(words: &[u64; ORDER_WORDS]) -> Option<NewOrder> {
    let (owner, kinds) = unpair(words[3]);
    let [side, order_type, time_in_force, _] = kinds.to_le_bytes();
    let (offset, protection) = unpair(words[8]);
    let (group, session) = unpair(words[9]);
    let (features, kinds) = unpair(words[10]);
    let [trigger, peg, post_only, auction] = kinds.to_le_bytes();
    let terms = Terms {
        trigger_price: HalfTicks(words[4].cast_signed()),
        display: Lots(words[5].cast_signed()),
        minimum: Lots(words[6].cast_signed()),
        expires: Nanos(words[7].cast_signed()),
        offset: offset.cast_signed(),
        protection,
        group,
        session,
        features: features & 0x00ff_ffff,
        trigger: *TRIGGERS.get(usize::from(trigger))?,
        peg: *PEGS.get(usize::from(peg))?,
        post_only: *POST_ONLY.get(usize::from(post_only))?,
        auction: *AUCTIONS.get(usize::from(auction))?,
        self_trade: *SELF_TRADE.get((features >> 24) as usize)?,
    };
    let order = NewOrder {
        order_id: OrderId(words[0]),
        price: HalfTicks(words[1].cast_signed()),
        lots: Lots(words[2].cast_signed()),
        owner,
        side: Side::from_index(side)?,
        order_type: OrderType::from_index(order_type)?,
        time_in_force: TimeInForce::from_index(time_in_force)?,
        terms,
    };
    is_consistent(&terms).then_some(order)
}

const TRIGGERS: [Trigger; 4] =
    [Trigger::None, Trigger::Stop, Trigger::TakeProfit, Trigger::Trailing];
const PEGS: [Peg; 4] = [Peg::None, Peg::Primary, Peg::Market, Peg::Midpoint];
const POST_ONLY: [PostOnly; 3] = [PostOnly::No, PostOnly::Reject, PostOnly::Slide];
const AUCTIONS: [AuctionOnly; 3] = [AuctionOnly::No, AuctionOnly::Open, AuctionOnly::Close];
const SELF_TRADE: [SelfTrade; 7] = [
    SelfTrade::Default,
    SelfTrade::Allow,
    SelfTrade::CancelNewest,
    SelfTrade::CancelOldest,
    SelfTrade::CancelBoth,
    SelfTrade::Decrement,
    SelfTrade::Transfer,
];

/// Whether the set of features is the one that the terms' setters would have made.
fn is_consistent(terms: &Terms) -> bool {
    let known = f::SESSION * 2 - 1;
    terms.features & !known == 0
        && terms.has(f::STOP) == (terms.trigger != Trigger::None)
        && terms.has(f::TRAILING) == (terms.trigger == Trigger::Trailing)
        && (terms.has(f::PEG) || terms.peg == Peg::None)
        && (terms.has(f::POST) || terms.post_only == PostOnly::No)
        && (terms.has(f::AUCTION) || terms.auction == AuctionOnly::No)
        && (terms.has(f::SELF_TRADE) || terms.self_trade == SelfTrade::Default)
        && (terms.has(f::ICEBERG) || terms.display == Lots::ZERO)
        && (terms.has(f::MINIMUM) || terms.minimum == Lots::ZERO)
}

/// Two halves as a word, the first in the high bits.
pub(crate) const fn pair(high: u32, low: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

pub(crate) const fn unpair(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

const fn bytes(bytes: [u8; 4]) -> u32 {
    u32::from_le_bytes(bytes)
}
