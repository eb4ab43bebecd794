//! What a strategy begins with, told piece by piece: nobody waits while one is told.
//!
//! A book is told level by level, best first, while it goes on moving. The replies say where in the
//! market ring each piece belongs; of the events in between, the strategy applies those at prices
//! that it has been told of already, and the others are in what is told later. The single orders of
//! the book follow in the same way, where they are told.

use std::collections::VecDeque;

use taut_book::LevelBook;
use taut_market_data::{Batch, BookOrder, Event, EventKind, LevelPlace, LevelUpdate, Soundness};
use taut_ring::Payload;
use taut_types::{AccountId, ClientOrderId, InstrumentId, Nanos, Price, Side};

use crate::client::GatewayState;
use crate::hub::walk::OrderWalk;
use crate::message::{ACCOUNTS, GatewayEvent, ReplyStamp, at_position, tell_instrument};
use crate::owner::Owner;

/// Pieces that are told in one go: some hundred nanoseconds.
const PIECES_IN_A_ROW: usize = 32;

/// How far a strategy has been told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    Begin,
    Instruments,
    Positions(usize),
    Orders(usize),
    End,
    /// Everything but, perhaps, books.
    #[default]
    Told,
}

/// A book that is being told.
#[derive(Clone, Copy, Debug)]
struct BookPlace {
    instrument: InstrumentId,
    /// The side and the price of the last level that was told; none before the first of the side.
    side: Side,
    price: Option<Price>,
    has_begun: bool,
    /// Where its single orders stand, behind all levels.
    orders: Option<OrderWalk>,
}

/// What is to be told of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Nothing,
    /// Its single orders.
    Orders,
    /// All of it.
    Book,
}

/// What is still to be told.
#[derive(Debug, Default)]
pub struct Download {
    owner: Owner,
    next_number: u64,
    stage: Stage,
    /// The open orders when it began; what they have become meanwhile is what is told.
    orders: Vec<ClientOrderId>,
    /// Orders that were handed over to it since.
    inherited: VecDeque<ClientOrderId>,
    /// By instrument that was told: what of its book is to be told.
    wanted: Vec<Wanted>,
    wanted_count: usize,
    /// Instruments that there are: those behind the ones that were told are to be told.
    instruments: usize,
    /// Where the next book is looked for.
    next: usize,
    book: Option<BookPlace>,
}

/// Takes slots that belong together; false when there is no room for them.
type Push<'a> = dyn FnMut(&[Payload]) -> bool + 'a;

impl Download {
    pub fn from_the_beginning(owner: Owner, next_number: u64) -> Self {
        Self { owner, next_number, stage: Stage::Begin, ..Self::default() }
    }

    /// Whether something comes before the strategy is told what happens.
    pub fn is_beginning(&self) -> bool {
        self.stage != Stage::Told
    }

    pub fn is_done(&self) -> bool {
        let has_books = self.wanted_count > 0 || self.book.is_some();
        let are_told = self.wanted.len() >= self.instruments;
        self.stage == Stage::Told && are_told && self.inherited.is_empty() && !has_books
    }

    /// Orders that are the strategy's from now on are to be told.
    pub fn inherit(&mut self, orders: &[ClientOrderId]) {
        // Before it begins nothing is told: these are among those that it begins with.
        if self.stage != Stage::Begin {
            self.inherited.extend(orders);
        }
    }

    /// There are so many instruments now.
    pub const fn instruments_are(&mut self, count: usize) {
        self.instruments = count;
    }

    /// All books are to be told anew.
    pub fn tell_books(&mut self) {
        self.book = None;
        self.wanted.fill(Wanted::Book);
        self.wanted_count = self.wanted.len();
    }

    /// A book became sound, and is to be told; or stale, and need not be.
    pub fn book_became(&mut self, instrument: InstrumentId, is_sound: bool) {
        if self.book.is_some_and(|book| book.instrument == instrument) {
            self.book = None;
        }
        self.want(instrument, if is_sound { Wanted::Book } else { Wanted::Nothing });
    }

    /// The single orders of a book are others, or not known any more.
    pub fn orders_became(&mut self, instrument: InstrumentId) {
        match &mut self.book {
            Some(BookPlace { instrument: told, orders, .. }) if *told == instrument => {
                // Before the first of them they are told as they are then.
                *orders = orders.map(|_| OrderWalk::START);
            }
            _ if self.wanted.get(instrument.0 as usize) == Some(&Wanted::Nothing) => {
                self.want(instrument, Wanted::Orders);
            }
            _ => {}
        }
    }

    /// Where the instrument is not told yet, its book is told behind it.
    fn want(&mut self, instrument: InstrumentId, what: Wanted) {
        if let Some(wanted) = self.wanted.get_mut(instrument.0 as usize) {
            let before = core::mem::replace(wanted, what);
            self.wanted_count -= usize::from(before != Wanted::Nothing);
            self.wanted_count += usize::from(what != Wanted::Nothing);
        }
    }

    /// Tells some of it, as of `position` of the market ring; whether there was room for any.
    pub fn tell_on(
        &mut self,
        state: &impl GatewayState,
        now: Nanos,
        position: u64,
        push: &mut Push<'_>,
    ) -> bool {
        let stamp = ReplyStamp { position, at: now, published: now };
        for told in 0..PIECES_IN_A_ROW {
            let mut tell = |event: GatewayEvent| push(event.pack(stamp).as_slice());
            let is_told = match self.stage {
                Stage::Begin => {
                    let (owner, next_number) = (self.owner, self.next_number);
                    let is_told = tell(GatewayEvent::DownloadBegin { owner, next_number });
                    if is_told {
                        self.orders.clear();
                        state.visit_orders(owner, &mut |order| self.orders.push(order.id));
                        self.instruments = state.instruments().len();
                        self.wanted = Vec::with_capacity(self.instruments);
                        self.stage = Stage::Instruments;
                    }
                    is_told
                }
                Stage::Instruments => match state.instruments().get(self.wanted.len()) {
                    Some(instrument) => {
                        let is_told = tell_instrument(instrument, stamp, push);
                        self.wanted.extend(is_told.then_some(Wanted::Nothing));
                        is_told
                    }
                    None => self.go_to(Stage::Positions(0)),
                },
                Stage::Positions(at) => match state.instruments().get(at) {
                    Some(instrument) => {
                        let is_told = (0..ACCOUNTS).all(|account| {
                            let account = AccountId(account);
                            let held = state.position(self.owner, instrument.id(), account);
                            let has_none = held.lots.0 == 0 && held.average_price.0 == 0;
                            has_none || tell(GatewayEvent::Position(held))
                        });
                        self.stage = Stage::Positions(at + usize::from(is_told));
                        is_told
                    }
                    None => self.go_to(Stage::Orders(0)),
                },
                Stage::Orders(at) => match self.orders.get(at) {
                    Some(id) => {
                        let is_told = state
                            .order(self.owner, *id)
                            .is_none_or(|order| tell(GatewayEvent::OpenOrder(order)));
                        self.stage = Stage::Orders(at + usize::from(is_told));
                        is_told
                    }
                    None => self.go_to(Stage::End),
                },
                Stage::End => {
                    let is_up = state.is_order_entry_up(InstrumentId(0));
                    // In one go, or all of it again: what changes before the end is not told.
                    let mut has_room = true;
                    state.visit_balances(&mut |it| {
                        has_room = has_room && tell(GatewayEvent::Balance(*it));
                    });
                    let is_told = has_room
                        && tell(GatewayEvent::OrderEntry { is_up })
                        && tell(GatewayEvent::DownloadEnd);
                    if is_told {
                        self.stage = Stage::Told;
                        self.tell_books();
                    }
                    is_told
                }
                Stage::Told if !self.inherited.is_empty() => {
                    let next = self.inherited.front().and_then(|id| state.order(self.owner, *id));
                    let is_told = next.is_none_or(|order| tell(GatewayEvent::OpenOrder(order)));
                    self.inherited.drain(..usize::from(is_told));
                    is_told
                }
                Stage::Told => match state.instruments().get(self.wanted.len()) {
                    // Added meanwhile: its book is told when it is sound.
                    Some(instrument) => {
                        let is_told = tell_instrument(instrument, stamp, push);
                        self.wanted.extend(is_told.then_some(Wanted::Book));
                        self.wanted_count += usize::from(is_told);
                        is_told
                    }
                    None => return self.tell_books_on(state, now, position, push) || told > 0,
                },
            };
            if !is_told {
                return told > 0;
            }
        }
        true
    }

    fn go_to(&mut self, stage: Stage) -> bool {
        self.stage = stage;
        true
    }

    /// Tells some of the books.
    fn tell_books_on(
        &mut self,
        state: &impl GatewayState,
        now: Nanos,
        position: u64,
        push: &mut Push<'_>,
    ) -> bool {
        if self.book.is_none() && self.wanted_count == 0 {
            return false;
        }
        if !push(&[at_position(position)]) {
            return false;
        }
        for _ in 0..PIECES_IN_A_ROW {
            let Some(mut place) = self.book.or_else(|| self.next_book(state)) else { return true };
            self.book = Some(place);
            let Some(book) = state.book(place.instrument) else {
                self.book = None;
                continue;
            };
            let (instrument, exchange_time) = (place.instrument, Nanos::ZERO);
            let event = |kind| Event { instrument, exchange_time, receive_time: now, kind };
            if !place.has_begun && place.orders.is_none() {
                let status = state.trading_status(instrument).map(EventKind::Status);
                if !status.is_none_or(|status| push(&[event(status).to_words(0)])) {
                    return true;
                }
                let statistics = state.statistics(instrument);
                let mut figures = statistics.all().map(|it| event(EventKind::Statistic(it)));
                if !figures.all(|figure| push(&[figure.to_words(0)])) {
                    return true;
                }
            }
            let piece = match &mut place.orders {
                Some(walk) => next_order(state, instrument, walk),
                None => place.advance(state, book),
            };
            if !push(&[event(piece).to_words(0)]) {
                return true;
            }
            let is_last = match piece {
                EventKind::Book(_) if state.tells_orders() => {
                    place.orders = Some(OrderWalk::START);
                    false
                }
                EventKind::Book(_) | EventKind::End { .. } => true,
                _ => false,
            };
            self.book = (!is_last).then_some(place);
        }
        true
    }

    /// The next book that is to be told and can be.
    fn next_book(&mut self, state: &impl GatewayState) -> Option<BookPlace> {
        for _ in 0..self.wanted.len() {
            let at = self.next;
            self.next = if at + 1 < self.wanted.len() { at + 1 } else { 0 };
            let wanted = *self.wanted.get(at)?;
            if wanted == Wanted::Nothing {
                continue;
            }
            let instrument = InstrumentId(u32::try_from(at).ok()?);
            self.want(instrument, Wanted::Nothing);
            if state.soundness(instrument) == Soundness::Sound {
                let (side, price, has_begun) = (Side::Buy, None, false);
                let orders = (wanted == Wanted::Orders).then_some(OrderWalk::START);
                return Some(BookPlace { instrument, side, price, has_begun, orders });
            }
        }
        None
    }
}

/// The next piece of the single orders of a book: a beginning, each of them, an end, which says
/// whether they are known.
fn next_order(
    state: &impl GatewayState,
    instrument: InstrumentId,
    walk: &mut OrderWalk,
) -> EventKind {
    if !walk.has_begun {
        walk.has_begun = true;
        return EventKind::Begin(Batch::Orders);
    }
    let of = state.instruments().get(instrument.0 as usize);
    let Some((of, book)) = of.zip(state.orders(instrument)) else {
        return EventKind::End { is_final: false };
    };
    let next = walk.next(book).and_then(|order| BookOrder::listed(of, &order));
    next.map_or(EventKind::End { is_final: true }, EventKind::OrderAdd)
}

impl BookPlace {
    /// The next piece: a beginning, the levels of both sides, the top, and that it is sound.
    fn advance(&mut self, state: &impl GatewayState, book: &LevelBook) -> EventKind {
        if !self.has_begun {
            self.has_begun = true;
            return EventKind::Begin(Batch::Snapshot);
        }
        loop {
            let depth = self.price.map_or(0, |price| book.levels_down_to(self.side, price));
            if let Some(level) = book.level(self.side, depth) {
                self.price = Some(level.price);
                return EventKind::Level(LevelUpdate {
                    side: self.side,
                    price: level.price,
                    lots: level.lots,
                    order_count: level.order_count,
                    place: LevelPlace::Behind(u32::try_from(depth).unwrap_or(u32::MAX)),
                });
            }
            if self.side == Side::Sell {
                return EventKind::Book(state.soundness(self.instrument));
            }
            (self.side, self.price) = (Side::Sell, None);
        }
    }
}
