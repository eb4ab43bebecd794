//! Cancels that wait until their budget has them.

use taut_types::{ClientOrderId, Nanos};

/// Orders whose cancel is one too many for now. It leaves as soon as its budget has it: a cancel is
/// never lost, and never refused for a rate.
#[derive(Debug, Default)]
pub(super) struct WaitingCancels {
    /// In the order of their ids, each once.
    orders: Vec<ClientOrderId>,
    /// When the first of them may leave.
    due: Nanos,
}

impl WaitingCancels {
    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.orders.len()
    }

    /// A cancel that may leave then.
    pub(super) fn push(&mut self, order: ClientOrderId, due: Nanos) {
        self.due = if self.orders.is_empty() { due } else { self.due.min(due) };
        if let Err(place) = self.orders.binary_search(&order) {
            self.orders.insert(place, order);
        }
    }

    /// Whether this order's cancel waits.
    pub(super) fn holds(&self, order: ClientOrderId) -> bool {
        self.orders.binary_search(&order).is_ok()
    }

    /// Those whose time has come, if any's has: some of them may have to wait again.
    pub(super) fn take_due(&mut self, now: Nanos) -> Vec<ClientOrderId> {
        if self.due <= now { std::mem::take(&mut self.orders) } else { Vec::new() }
    }
}
