//! Binance's drop copies: reports of all orders of the account, to whoever only listens.

use taut_fix::Received;
use taut_order_entry::binance::ExecutionKind as Kind;
use taut_types::RequestId;

use super::super::known::KnownOrders;
use super::super::name::{Named, read};
use super::super::reading::{Reading, unversioned};
use super::reading::execution;
use crate::order_entry::handler::{VenueEvent, VenueReport};

/// Reads what copies say of orders of ours. Those of others of the account are left out: their
/// trades the order session tells, too.
#[derive(Debug)]
pub(crate) struct CopyReading {
    reading: Reading,
    /// None: what a report says of its order stands in its names.
    known: KnownOrders,
}

impl CopyReading {
    pub(crate) fn new() -> Self {
        Self { reading: Reading::new(), known: KnownOrders::with_capacity(0) }
    }

    /// Reads a message; what it says is [told](Self::next) then.
    pub(crate) fn hear(&mut self, message: &Received<'_>) {
        if message.msg_type() != b"8" {
            return;
        }
        let named = |tag| read(message.value(tag)?);
        let Some(one) = named(11).or_else(|| named(41)) else { return };
        let Some(execution) = execution(message) else {
            let (Named::Plain { request, .. } | Named::End(request, _)) = one;
            self.reading.push(VenueEvent::Unreadable(Some(unversioned(request.order))));
            return;
        };
        match (execution.kind, read(execution.name)) {
            (Kind::New, Some(Named::Plain { request, .. }))
                if request == RequestId::create(request.order) =>
            {
                self.reading.accepted(request.order, execution.id);
            }
            (Kind::New | Kind::Replaced, Some(Named::Plain { request, .. })) => {
                self.reading.replaced(request, Some(execution.id));
            }
            // A step of a request of ours: the order goes on, or its session says that it does not.
            (Kind::Canceled, Some(Named::End(..))) | (Kind::New | Kind::Replaced, _) => {}
            // What nobody documented.
            (Kind::Other, _) => {}
            // Nothing follows of what is not known.
            _ => drop(self.reading.execution(&execution, &mut self.known)),
        }
    }

    /// The next thing that was said.
    pub(crate) fn next(&mut self) -> Option<VenueEvent> {
        Some(match self.reading.next()? {
            // The order session may have said it before.
            VenueEvent::Report(report) => {
                VenueEvent::Report(VenueReport { is_resend: true, ..report })
            }
            other => other,
        })
    }
}
