//! The connection to order entry, where it goes through TLS or a WebSocket.

use taut_io::{Completion, Io, Kernel};
use taut_market_data::FeedHandler;

use super::Core;
use crate::client::Client;
use crate::observer::Observer;
use crate::order_entry::handler::OrderHandler;

impl<C: Client, F: FeedHandler, O: Observer, H: OrderHandler> Core<'_, C, F, O, H> {
    /// What it brought, if the completion was one of its own.
    pub(super) fn handle_order_wire(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
    ) -> bool {
        let Some(brought) = self.orders.unwrap(io, completion) else { return false };
        let received = self.clock.now();
        if brought.is_open {
            let Self { orders, clock, updates, .. } = self;
            orders.opened(io, clock, updates);
            self.tell_updates(received);
        }
        for bytes in brought.pieces() {
            // One before it may have ended the connection.
            if self.orders.has_stream() {
                let mut bytes = bytes;
                if brought.is_beside {
                    self.orders.hear_beside(&self.clock, received, std::mem::take(&mut bytes));
                }
                self.receive_orders(io, received, bytes);
            }
        }
        if brought.is_gone && self.orders.has_stream() {
            self.order_entry_closed(io);
        } else {
            self.tell_order_entry(received);
        }
        self.orders.put_back(brought);
        true
    }

    /// The connection is over.
    pub(super) fn order_entry_closed(&mut self, io: &mut Io<impl Kernel>) {
        let Self { orders, clock, updates, .. } = self;
        orders.closed(io, clock, updates);
        let now = self.clock.now();
        self.tell_updates(now);
        self.tell_order_entry(now);
    }
}
