//! The single orders of the books that are followed: what packets say of them, and what is told.

use taut_book::OrderBook;
use taut_types::{InstrumentId, Nanos, SequenceNumber};

use super::Followed;
use crate::event::{MarketSink, Soundness};
use crate::native::queues::{Told, WAITING, changes};
use crate::native::reader::PacketReader;

impl Followed {
    /// Tells the orders of each sound book that does not know them, as far as they are known.
    /// Whether some are to be told when packets are in that their snapshot has overtaken.
    #[cold]
    pub(crate) fn tell_lists(
        &mut self,
        now: Nanos,
        last: SequenceNumber,
        sink: &mut impl MarketSink,
    ) -> bool {
        let mut has_overtaken = false;
        for (orders, book) in self.orders.books.iter_mut().zip(&self.books) {
            let told = match orders.as_of {
                _ if book.soundness != Soundness::Sound => Told::Nothing,
                WAITING => Told::Unknown,
                as_of if as_of > last.0 => {
                    has_overtaken = true;
                    continue;
                }
                _ => Told::All,
            };
            if told != Told::Nothing && told != orders.told {
                orders.tell(&book.origin(now, Nanos::ZERO, last), sink);
            }
            orders.told = told;
        }
        has_overtaken
    }

    /// Applies what a packet says of single orders, and tells it.
    #[cold]
    pub(crate) fn tell_orders(
        &mut self,
        received: Nanos,
        packet: &PacketReader<'_>,
        sink: &mut impl MarketSink,
    ) {
        let header = packet.header();
        let Some(changes) = changes(packet) else { return self.orders.fail_all() };
        for (instrument, kind) in changes {
            let at = self.place(instrument);
            let (Some(orders), Some(book)) = (self.orders.books.get_mut(at), self.books.get(at))
            else {
                continue;
            };
            if header.sequence.0 <= orders.as_of {
                continue;
            }
            match orders.take(&kind) {
                Ok(()) if orders.told == Told::All && book.is_told() => {
                    book.origin(received, header.sending_time, header.sequence).hand(kind, sink);
                }
                Ok(()) => {}
                Err(fault) => self.orders.fail(at, fault),
            }
        }
    }

    /// Applies what a packet that was kept says of the single orders of all books.
    pub(super) fn apply_kept_orders(
        &mut self,
        sequence: SequenceNumber,
        packet: &PacketReader<'_>,
    ) {
        if self.orders.books.is_empty() {
            return;
        }
        let Some(changes) = changes(packet) else { return self.orders.fail_all() };
        for (instrument, kind) in changes {
            let at = self.place(instrument);
            let Some(orders) = self.orders.books.get_mut(at) else { continue };
            if sequence.0 <= orders.as_of {
                continue;
            }
            // What is not told one by one is told anew.
            orders.told = Told::Nothing;
            self.orders.has_news = true;
            if let Err(fault) = orders.take(&kind) {
                self.orders.fail(at, fault);
            }
        }
    }

    /// Applies packets that were kept to the orders of one book, behind its snapshot; where one is
    /// missing they wait for the next snapshot.
    pub(crate) fn catch_up_orders<'k>(
        &mut self,
        at: usize,
        mut kept: impl Iterator<Item = Option<&'k [u8]>>,
    ) {
        let Self { orders, places, .. } = self;
        let Some(of) = orders.books.get_mut(at) else { return };
        let result = kept.try_for_each(|bytes| {
            let packet = bytes.and_then(|bytes| PacketReader::new(bytes).ok());
            let changes = packet.as_ref().and_then(changes).ok_or(None)?;
            let is_ours = |instrument: InstrumentId| {
                places.get(instrument.0 as usize).is_some_and(|place| *place as usize == at)
            };
            let mut changes = changes.filter(|(instrument, _)| is_ours(*instrument));
            changes.try_for_each(|(_, kind)| of.take(&kind)).map_err(Some)
        });
        match result {
            Ok(()) => {}
            Err(None) => of.wait(),
            Err(Some(fault)) => orders.fail(at, fault),
        }
    }

    /// The orders of the instrument that is told under this number, where they were told.
    pub(crate) fn own_orders(&self, instrument: InstrumentId) -> Option<&OrderBook> {
        let place = self.own_places.get(instrument.0 as usize)?;
        self.orders.books.get(*place as usize)?.shown()
    }

    /// The orders of books that wait for a snapshot wait for it, too.
    pub(crate) fn orders_wait_with_books(&mut self) {
        for (orders, book) in self.orders.books.iter_mut().zip(&self.books) {
            if book.is_waiting() {
                orders.wait();
            }
        }
    }
}
