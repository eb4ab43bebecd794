//! The last orders that a gateway sent, each with its own times.

use std::collections::VecDeque;

use taut_gateway::{Regions, SentOrder, SentOrderReader};
use taut_ring::RingError;
use taut_types::RequestId;

use super::model::OrderTimes;

/// So many are kept, and told.
const KEPT: usize = 200;

/// The last orders.
#[derive(Debug, Default)]
pub struct Recent {
    /// The latest first.
    orders: VecDeque<SentOrder>,
    position: Option<u64>,
}

impl Recent {
    /// Takes those that were sent since.
    pub fn read(&mut self, regions: &Regions<'_>) -> Result<(), RingError> {
        let mut reader = match self.position {
            None => SentOrderReader::new(regions)?,
            Some(position) => SentOrderReader::resume(regions, position)?,
        };
        while let Some(order) = reader.poll() {
            self.orders.push_front(order);
            self.orders.truncate(KEPT);
        }
        self.position = Some(reader.position());
        Ok(())
    }

    /// All of them, the latest first.
    pub fn seen(&self) -> Vec<OrderTimes> {
        self.orders.iter().map(times).collect()
    }
}

fn times(order: &SentOrder) -> OrderTimes {
    let text = RequestId::create(order.id).to_text();
    OrderTimes {
        id: String::from_utf8_lossy(&text).into_owned(),
        received_ns: order.origin.0,
        stages_ns: order.offsets.intervals().to_vec(),
        tick_to_trade_ns: order.offsets.total(),
    }
}
