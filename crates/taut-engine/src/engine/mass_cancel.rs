//! Cancelling many orders at once.

use taut_types::{OrderId, Side};

use super::resting_book::BookKind;
use super::standing::Standing;
use super::state::Engine;
use crate::command::MassCancel;
use crate::event::{CancelReason, Event, EventSink};

impl Engine {
    /// Cancels every order that matches: displayed bids, best first, then offers, then those that
    /// are not displayed, wait for a trigger, wait for anything else. Cost: linear in the orders.
    pub(super) fn mass_cancel(
        &mut self,
        filter: &MassCancel,
        reason: CancelReason,
        sink: &mut impl EventSink,
    ) {
        let matches = |standing: &Standing| {
            let session = standing.note.order.terms.session;
            filter.owner.is_none_or(|owner| owner == standing.owner)
                && filter.side.is_none_or(|side| side == standing.side)
                && filter.session.is_none_or(|wanted| wanted == session)
        };
        let ids = self.select(matches);
        let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        sink.on_event(Event::MassCancelled { count });
        self.cancel_all(ids, reason, sink);
        self.finish(Side::Buy, sink);
    }

    /// Cancels a session's orders; session zero has none.
    pub(super) fn disconnect(&mut self, session: u32, sink: &mut impl EventSink) {
        let ids =
            self.select(|standing| session != 0 && standing.note.order.terms.session == session);
        let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        sink.on_event(Event::MassCancelled { count });
        self.cancel_all(ids, CancelReason::Disconnect, sink);
        self.finish(Side::Buy, sink);
    }

    /// The ids of the waiting orders that match, in the engine's own memory: give it back to
    /// [`cancel_all`](Self::cancel_all).
    pub(super) fn select(
        &mut self,
        matches: impl Fn(&Standing) -> bool,
    ) -> alloc::vec::Vec<OrderId> {
        let mut ids = core::mem::take(&mut self.ids);
        ids.clear();
        for book_kind in BookKind::ALL {
            for side in Side::BOTH {
                let handles = self.resting(book_kind).book.handles(side);
                let standing = handles.map(|handle| self.describe(book_kind, handle));
                ids.extend(standing.filter(|standing| matches(standing)).map(|order| order.id));
            }
        }
        ids
    }

    pub(super) fn cancel_all(
        &mut self,
        ids: alloc::vec::Vec<OrderId>,
        reason: CancelReason,
        sink: &mut impl EventSink,
    ) {
        for &id in &ids {
            if let Some(standing) = self.locate(id) {
                self.cancel_standing(&standing, reason, sink);
            }
        }
        self.ids = ids;
    }
}
