//! A packet's messages as events.

use taut_types::{Lots, Nanos, OrderId, Price, SequenceNumber, Side};

use super::book::PLACES_MAX;
use super::codec::{
    BookSnapshotDecoder, BookUpdateDecoder, BookUpdateLevelsDecoder, BookUpdateOrdersDecoder,
    DecodeError, Message, OrderSnapshotDecoder, OrderUpdateDecoder, OrderUpdateOrdersDecoder,
    SecurityStatusDecoder, TradeSummaryDecoder,
};
use super::origin::{end, entry_origin, nanos};
use super::statistics;
use crate::error::{Expected, MarketDataError};
use crate::event::{
    Batch, BookOrder, EventKind, LevelPlace, LevelUpdate, MarketSink, Origin, Trade, TradingStatus,
};

const HEAD_BYTES: usize = 12;

/// What stands before a packet's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The packet's number in its channel: what the sequencer wants to know.
    pub sequence: SequenceNumber,
    /// When it was sent, UTC.
    pub sending_time: Nanos,
}

impl Head {
    /// Reads the head of a packet.
    ///
    /// # Errors
    /// [`MarketDataError::Malformed`] when the packet is shorter.
    pub fn read(packet: &[u8]) -> Result<(Self, &[u8]), MarketDataError> {
        let (head, messages) = packet
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or_else(|| wrong(packet.len(), Expected::Bytes))?;
        let [s0, s1, s2, s3, time @ ..] = *head;
        let sequence = SequenceNumber(u32::from_le_bytes([s0, s1, s2, s3]).into());
        Ok((Self { sequence, sending_time: nanos(u64::from_le_bytes(time)) }, messages))
    }
}

/// Reads a packet into events. Each message is looked at twice, so that a malformed packet gives
/// no event at all; nothing is allocated.
///
/// # Errors
/// [`MarketDataError::Malformed`] when the packet or one of its messages is cut short, or a message
/// has a value that its template does not allow.
pub fn decode_packet(
    receive_time: Nanos,
    packet: &[u8],
    sink: &mut impl MarketSink,
) -> Result<Head, MarketDataError> {
    let (head, messages) = Head::read(packet)?;
    let mut rest = messages;
    while !rest.is_empty() {
        let offset = packet.len() - rest.len();
        let (message, behind) = split(rest, offset)?;
        if let Some(message) = message
            && !is_sound(&message)
        {
            return Err(wrong(offset, Expected::Value));
        }
        rest = behind;
    }
    let mut rest = messages;
    while !rest.is_empty() {
        let (message, behind) = split(rest, packet.len() - rest.len())?;
        if let Some(message) = message {
            tell(receive_time, &message, sink);
        }
        rest = behind;
    }
    Ok(head)
}

const fn wrong(offset: usize, expected: Expected) -> MarketDataError {
    MarketDataError::Malformed { offset, expected }
}

/// The first message, if its template is known, and what stands behind it.
fn split(bytes: &[u8], offset: usize) -> Result<(Option<Message<'_>>, &[u8]), MarketDataError> {
    let short = || wrong(offset, Expected::Bytes);
    let size = usize::from(u16::from_le_bytes(*bytes.first_chunk().ok_or_else(short)?));
    let (message, rest) = bytes.split_at_checked(size).ok_or_else(short)?;
    let body = message.get(2..).ok_or_else(short)?;
    match Message::decode_prefix(body) {
        Ok((message, _)) => Ok((Some(message), rest)),
        Err(DecodeError::OtherTemplate { .. } | DecodeError::OtherSchema { .. }) => {
            Ok((None, rest))
        }
        Err(DecodeError::Truncated { offset: at }) => Err(wrong(offset + 2 + at, Expected::Bytes)),
        Err(DecodeError::Malformed { offset: at }) => Err(wrong(offset + 2 + at, Expected::Value)),
        Err(_) => Err(wrong(offset, Expected::Value)),
    }
}

/// Whether a message says only what can be told.
fn is_sound(message: &Message<'_>) -> bool {
    match message {
        Message::BookUpdate(update) => {
            update.levels().into_iter().all(|level| level_event(&level).is_some())
                && update.orders().into_iter().all(|order| order_of(update, &order).is_some())
        }
        Message::OrderUpdate(update) => {
            update.orders().into_iter().all(|order| order_event(&order).is_some())
        }
        Message::TradeSummary(summary) => {
            summary.trades().into_iter().all(|trade| trade.size() >= 0)
        }
        Message::BookSnapshot(book) => book.levels().into_iter().all(|level| {
            let has_both = level.price().is_some() && level.size().is_some_and(|size| size >= 0);
            side(level.entry_type()).is_none() || has_both
        }),
        Message::OrderSnapshot(book) => {
            book.orders().into_iter().all(|order| order.display_qty() >= 0)
        }
        _ => true,
    }
}

fn tell(receive_time: Nanos, message: &Message<'_>, sink: &mut impl MarketSink) {
    let of = |entry, time| entry_origin(time, receive_time, entry);
    match message {
        Message::ChannelReset(reset) => {
            of(None, reset.transact_time()).hand(EventKind::Reset, sink);
        }
        Message::SecurityStatus(status) => tell_status(status, receive_time, sink),
        Message::BookUpdate(update) => tell_book(update, receive_time, sink),
        Message::OrderUpdate(update) => tell_orders(update, receive_time, sink),
        Message::TradeSummary(summary) => tell_trades(summary, receive_time, sink),
        Message::Volume(volume) => statistics::tell_volume(volume, receive_time, sink),
        Message::DailyStatistics(day) => statistics::tell_day(day, receive_time, sink),
        Message::SessionStatistics(session) => {
            statistics::tell_session(session, receive_time, sink);
        }
        Message::BookSnapshot(book) => {
            let of = of(Some((book.security_id(), book.rpt_seq())), book.transact_time());
            tell_book_snapshot(book, &of, sink);
        }
        Message::OrderSnapshot(book) => {
            let of = of(Some((book.security_id(), book.last_sequence())), book.transact_time());
            tell_order_snapshot(book, &of, sink);
        }
    }
}

/// The side of an entry; nothing for implied prices and for what is no level.
const fn side(entry_type: u8) -> Option<Side> {
    match entry_type {
        b'0' => Some(Side::Buy),
        b'1' => Some(Side::Sell),
        _ => None,
    }
}

/// What a level of an update says: nothing when it must not be, `Some(None)` when it is left out.
fn level_event(level: &BookUpdateLevelsDecoder<'_>) -> Option<Option<EventKind>> {
    if level.entry_type() == b'J' {
        return Some(Some(EventKind::Reset));
    }
    let Some(side) = side(level.entry_type()) else { return Some(None) };
    if level.action() == 3 {
        return Some(Some(EventKind::DeleteLevels { side, count: None }));
    }
    // Places count from 1, and no book by price is deeper.
    let at = Some(level.level()).filter(|&at| (1..=PLACES_MAX).contains(&at.into()))?;
    let place = match level.action() {
        0 => LevelPlace::Insert(at),
        1 | 5 => LevelPlace::Change(at),
        2 => LevelPlace::Delete(at),
        4 => return Some(Some(EventKind::DeleteLevels { side, count: Some(at) })),
        _ => return None,
    };
    let is_gone = matches!(place, LevelPlace::Delete(_));
    let lots = if is_gone { 0 } else { level.size().filter(|&size| size >= 0)? };
    let order_count = level.order_count().and_then(|count| u32::try_from(count).ok());
    Some(Some(EventKind::Level(LevelUpdate {
        side,
        price: Price(level.price()?),
        lots: Lots(lots.into()),
        order_count: order_count.unwrap_or(0),
        place,
    })))
}

/// What an order of a book update says, with the level that it refers to.
fn order_of<'a>(
    update: &BookUpdateDecoder<'a>,
    order: &BookUpdateOrdersDecoder<'_>,
) -> Option<(BookUpdateLevelsDecoder<'a>, Option<EventKind>)> {
    let index = usize::from(order.reference()?).checked_sub(1)?;
    let level = update.levels().into_iter().nth(index)?;
    let Some(side) = side(level.entry_type()) else { return Some((level, None)) };
    let state = State {
        order_id: order.order_id(),
        side,
        price: level.price(),
        lots: order.display_qty(),
        priority: order.priority(),
    };
    Some((level, Some(state.event(order.action())?)))
}

fn order_event(order: &OrderUpdateOrdersDecoder<'_>) -> Option<Option<EventKind>> {
    let Some(side) = side(order.entry_type()) else { return Some(None) };
    let state = State {
        order_id: order.order_id()?,
        side,
        price: order.price(),
        lots: order.display_qty(),
        priority: order.priority(),
    };
    state.event(order.action()).map(Some)
}

/// An order as both templates have it.
struct State {
    order_id: u64,
    side: Side,
    price: Option<i64>,
    lots: Option<i32>,
    priority: Option<u64>,
}

impl State {
    fn event(&self, action: u8) -> Option<EventKind> {
        let (order_id, side) = (OrderId(self.order_id), self.side);
        if action == 2 {
            return Some(EventKind::OrderDelete { order_id, side });
        }
        let state = BookOrder {
            order_id,
            side,
            price: Price(self.price?),
            lots: Lots(self.lots.filter(|&lots| lots >= 0)?.into()),
            priority: self.priority.unwrap_or(u64::MAX),
        };
        match action {
            0 => Some(EventKind::OrderAdd(state)),
            1 => Some(EventKind::OrderChange(state)),
            _ => None,
        }
    }
}

fn tell_book(update: &BookUpdateDecoder<'_>, receive_time: Nanos, sink: &mut impl MarketSink) {
    let of = |entry| entry_origin(update.transact_time(), receive_time, entry);
    of(None).hand(EventKind::Begin(Batch::Update), sink);
    for level in update.levels() {
        if let Some(Some(event)) = level_event(&level) {
            of(Some((level.security_id(), level.rpt_seq()))).hand(event, sink);
        }
    }
    for order in update.orders() {
        if let Some((level, Some(event))) = order_of(update, &order) {
            of(Some((level.security_id(), level.rpt_seq()))).hand(event, sink);
        }
    }
    of(None).hand(end(update.event_flags()), sink);
}

fn tell_orders(update: &OrderUpdateDecoder<'_>, receive_time: Nanos, sink: &mut impl MarketSink) {
    let of = |entry| entry_origin(update.transact_time(), receive_time, entry);
    of(None).hand(EventKind::Begin(Batch::Update), sink);
    for order in update.orders() {
        if let Some(Some(event)) = order_event(&order) {
            of(Some((order.security_id(), 0))).hand(event, sink);
        }
    }
    of(None).hand(end(update.event_flags()), sink);
}

/// New trades; corrections and cancellations of earlier ones change no book and are left out.
fn tell_trades(summary: &TradeSummaryDecoder<'_>, receive_time: Nanos, sink: &mut impl MarketSink) {
    let of = |entry| entry_origin(summary.transact_time(), receive_time, entry);
    of(None).hand(EventKind::Begin(Batch::Update), sink);
    for trade in summary.trades().into_iter().filter(|trade| trade.action() == 0) {
        let told = Trade {
            trade_id: trade.trade_id().unwrap_or(0).into(),
            price: Price(trade.price()),
            lots: Lots(trade.size().into()),
            aggressor: match trade.aggressor_side() {
                Some(1) => Some(Side::Buy),
                Some(2) => Some(Side::Sell),
                _ => None,
            },
            resting_order: OrderId(0),
        };
        of(Some((trade.security_id(), trade.rpt_seq()))).hand(EventKind::Trade(told), sink);
    }
    of(None).hand(end(summary.event_flags()), sink);
}

fn tell_status(
    status: &SecurityStatusDecoder<'_>,
    receive_time: Nanos,
    sink: &mut impl MarketSink,
) {
    let entry = status.security_id().map(|security_id| (security_id, 0));
    let origin = entry_origin(status.transact_time(), receive_time, entry);
    origin.hand(EventKind::Status(trading_status(status.trading_status())), sink);
}

const fn trading_status(code: u8) -> TradingStatus {
    match code {
        17 => TradingStatus::Trading,
        15 | 21 | 24 | 25 => TradingStatus::PreOpen,
        2 => TradingStatus::Halted,
        4 | 18 | 26 => TradingStatus::Closed,
        _ => TradingStatus::Other,
    }
}

fn tell_book_snapshot(
    book: &BookSnapshotDecoder<'_>,
    origin: &Origin<'_>,
    sink: &mut impl MarketSink,
) {
    origin.hand(EventKind::Begin(Batch::Snapshot), sink);
    for level in book.levels() {
        let (Some(side), Some(price), Some(size)) =
            (side(level.entry_type()), level.price(), level.size())
        else {
            continue;
        };
        let order_count = level.order_count().and_then(|count| u32::try_from(count).ok());
        let (order_count, place) = (order_count.unwrap_or(0), LevelPlace::ByPrice);
        let (price, lots) = (Price(price), Lots(size.into()));
        let level = LevelUpdate { side, price, lots, order_count, place };
        origin.hand(EventKind::Level(level), sink);
    }
    origin.hand(EventKind::Status(trading_status(book.trading_status())), sink);
    origin.hand(EventKind::End { is_final: true }, sink);
}

/// A book by order may need several messages: the first one begins it, the last one ends it.
fn tell_order_snapshot(
    book: &OrderSnapshotDecoder<'_>,
    origin: &Origin<'_>,
    sink: &mut impl MarketSink,
) {
    let batch = if book.chunk() <= 1 { Batch::Snapshot } else { Batch::Update };
    origin.hand(EventKind::Begin(batch), sink);
    for order in book.orders() {
        let Some(side) = side(order.entry_type()) else { continue };
        let state = BookOrder {
            order_id: OrderId(order.order_id()),
            side,
            price: Price(order.price()),
            lots: Lots(order.display_qty().into()),
            priority: order.priority().unwrap_or(u64::MAX),
        };
        origin.hand(EventKind::OrderAdd(state), sink);
    }
    let is_final = book.chunk() >= book.chunk_count();
    origin.hand(EventKind::End { is_final }, sink);
}
