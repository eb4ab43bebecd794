//! Exchanges that model what our orders would do in a recorded book, which stays as it is.

use taut_types::Side;

use super::matching::Matching;
use crate::order::{Order, Request, RequestKind};
use crate::{BacktestError, Latency};

/// How an order enters such an exchange, and how one that rests is modified there.
pub trait Modelled {
    /// Where an own order stands among the others at its price.
    type Place: Copy;
    /// How long its responses take.
    type Latency: Latency;

    /// The own orders.
    fn matching_mut(&mut self) -> &mut Matching<Self::Place, Self::Latency>;

    /// An order comes, new or by a modification that enters it anew.
    fn enter(&mut self, order: Order, kind: RequestKind, at: i64) -> Result<(), BacktestError>;

    /// An own order that rests, the one with this index of its side, is to be modified.
    fn modify(
        &mut self,
        own: (Side, usize),
        request: &Request,
        at: i64,
    ) -> Result<(), BacktestError>;

    /// Does what a request asks for.
    fn serve(&mut self, request: Request, at: i64) -> Result<(), BacktestError> {
        let own = self.matching_mut().find(request.order.id);
        match (request.kind, own) {
            (RequestKind::New, _) => {
                let float_leaves = self.matching_mut().units(request.order.leaves);
                let order = Order { float_leaves, ..request.order };
                self.enter(order, RequestKind::New, at)
            }
            (RequestKind::Modify, Some(own)) => {
                let filled = self.matching_mut().filled(own);
                match request.arrived(filled) {
                    Some(request) => self.modify(own, &request, at),
                    None => {
                        self.matching_mut().cancel(own, RequestKind::Modify, at);
                        Ok(())
                    }
                }
            }
            (RequestKind::Cancel, Some(own)) => {
                self.matching_mut().cancel(own, RequestKind::Cancel, at);
                Ok(())
            }
            (_, None) => {
                self.matching_mut().refuse(request, at);
                Ok(())
            }
        }
    }
}
